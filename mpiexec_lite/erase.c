/* erase.c - see erase.h */
#include "mpiexec_lite/erase.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 128 };                    /* folders in folders: each keeps two descriptors */
enum { FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* Whether a list, with commas, has this name. */
static bool has_name(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strcspn(at, ",") == n && !memcmp(at, name, n))
            return true;
    return false;
}

static bool is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

/* --- inside a folder --------------------------------------------------- */

static void empty_folder(const struct erase *x, int fd, dev_t device, int depth);

static void erase_inside(const struct erase *x, int parent, const char *name, dev_t device,
                         int depth)
{
    struct stat st;
    int fd;

    if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (!S_ISDIR(st.st_mode)) {
        if (!x->empty)
            unlinkat(parent, name, 0);
        return;
    }
    if (!x->recursive || depth == DEPTH)
        return;
    fd = openat(parent, name, FOLDER);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_dev == device)
        empty_folder(x, fd, device, depth + 1);
    else
        close(fd);
    unlinkat(parent, name, AT_REMOVEDIR);        /* fails where something was to stay */
}

/* fd is taken. */
static void empty_folder(const struct erase *x, int fd, dev_t device, int depth)
{
    DIR *dir = fdopendir(fd);
    struct dirent *d;

    if (!dir) {
        close(fd);
        return;
    }
    while ((d = readdir(dir)))
        if (!is_dots(d->d_name) && !has_name(x->ignore, d->d_name))
            erase_inside(x, dirfd(dir), d->d_name, device, depth);
    closedir(dir);
}

/* --- paths ------------------------------------------------------------- */

/* The folder that a path's last part is in, opened; name: that part.  -1: it makes no sense,
 * or goes through a link. */
static int open_parent(char *path, char **name)
{
    char *rest = path, *part, *next;
    int fd = *path == '/' ? open("/", FOLDER) : -1;

    for (part = strtok_r(rest, "/", &rest); part && fd >= 0; part = next) {
        int inner;

        next = strtok_r(NULL, "/", &rest);
        *name = part;
        if (is_dots(part))
            break;
        if (!next)
            return fd;
        inner = openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(fd);
        fd = inner;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static void erase_file(const struct erase *x, int parent, const char *name)
{
    (void)x;
    unlinkat(parent, name, 0);
}

static void erase_folder(const struct erase *x, int parent, const char *name)
{
    int fd = openat(parent, name, FOLDER);
    struct stat st;

    if (fd < 0)
        return;
    if (fstat(fd, &st) < 0) {
        close(fd);
        return;
    }
    empty_folder(x, fd, st.st_dev, 0);
    if (!x->leave_top)
        unlinkat(parent, name, AT_REMOVEDIR);
}

static void each(const struct erase *x, const char *list,
                 void (*run)(const struct erase *x, int parent, const char *name))
{
    char path[PATH_MAX], *name;

    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t n = strcspn(at, ",");
        int parent;

        if (n >= sizeof path)
            continue;
        memcpy(path, at, n);
        path[n] = 0;
        parent = open_parent(path, &name);
        if (parent < 0)
            continue;
        run(x, parent, name);
        close(parent);
    }
}

void erase(const struct erase *x)
{
    each(x, x->files, erase_file);
    each(x, x->folders, erase_folder);
}
