/* rundir.c - see rundir.h */
#include "pmix_ext/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PRIVATE "pmi2_link-"           /* names of private folders begin so, and with a pid */

bool rundir_is_safe(const char *path, bool roots_too)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && !(st.st_mode & 022) &&
           (st.st_uid == geteuid() || (roots_too && st.st_uid == 0));
}

int rundir_check(const char *path, mode_t mode, struct err *e)
{
    struct stat st;

    if (mkdir(path, mode) == 0)
        return chmod(path, mode) == 0 ? 0
               : err_set(e, ERR_OTHER, "%.180s: %s", path, strerror(errno));
    if (errno != EEXIST || lstat(path, &st) < 0)
        return err_set(e, ERR_OTHER, "cannot make %.180s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_OTHER, "%.180s is no folder", path);
    if (st.st_uid != geteuid())
        return err_set(e, ERR_OTHER, "%.180s belongs to uid %u", path, (unsigned)st.st_uid);
    if (st.st_mode & 0777 & ~mode)
        return err_set(e, ERR_OTHER, "%.180s has mode %04o, at most %04o is safe", path,
                       (unsigned)(st.st_mode & 0777), (unsigned)mode);
    return 0;
}

/* The user's own runtime folder number i, 0 or 1.  False: there is no such. */
static bool user_base(int i, char *base, size_t size)
{
    const char *given = getenv("XDG_RUNTIME_DIR");

    if (i == 0 && (!given || *given != '/' || strlen(given) >= size))
        return false;
    if (i == 0)
        snprintf(base, size, "%s", given);
    else
        snprintf(base, size, "/run/user/%u", (unsigned)geteuid());
    return rundir_is_safe(base, false);
}

/* The user's own folder number i, without "/socket".  False: there is no such. */
static bool user_folder(int i, char *path, size_t size)
{
    char base[RUNDIR_PATH];

    if (i == 2)
        return snprintf(path, size, "/tmp/pmi2_server-%u", (unsigned)geteuid()) < (int)size;
    return user_base(i, base, sizeof base) &&
           snprintf(path, size, "%s/pmi2_server", base) < (int)size;
}

/* Where private folders are made: the user's own folders, and /tmp. */
static bool private_base(int i, char *base, size_t size)
{
    return i < 2 ? user_base(i, base, size) : snprintf(base, size, "/tmp") > 0;
}

int rundir_private(char *path, size_t size, struct err *e)
{
    char base[RUNDIR_PATH];

    for (int i = 0; i < 3; i++)
        if (private_base(i, base, sizeof base) &&
            snprintf(path, size, "%s/" PRIVATE "%d-XXXXXX", base, (int)getpid()) < (int)size &&
            mkdtemp(path))
            return 0;
    return err_set(e, ERR_OTHER, "no folder for a socket: %s", strerror(errno));
}

/* Remove the private folders in base whose name begins so and that pass (NULL: all). */
static void sweep(const char *base, const char *prefix,
                  bool (*pass)(const char *name, const char *path, const char *socket))
{
    char path[PATH_MAX], socket[PATH_MAX + 8];
    DIR *dir = opendir(base);
    struct dirent *d;

    while (dir && (d = readdir(dir))) {
        if (strncmp(d->d_name, prefix, strlen(prefix)))
            continue;
        snprintf(path, sizeof path, "%s/%s", base, d->d_name);
        if (!rundir_is_safe(path, false))       /* anybody can make one in /tmp, or a link */
            continue;
        snprintf(socket, sizeof socket, "%s/socket", path);
        if (pass && !pass(d->d_name, path, socket))
            continue;
        unlink(socket);
        rmdir(path);
    }
    if (dir)
        closedir(dir);
}

/* Nobody listens at this socket, as its process is gone. */
static bool is_refused(const char *path)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused = false;

    if (fd >= 0 && strlen(path) < sizeof to.sun_path) {
        memcpy(to.sun_path, path, strlen(path) + 1);
        refused = connect(fd, (struct sockaddr *)&to, sizeof to) < 0 && errno == ECONNREFUSED;
    }
    if (fd >= 0)
        close(fd);
    return refused;
}

/* The process in the name is gone.  It may be one of another container that has the folder
 * too, so what it listens at must be dead as well; or was never there in all that time. */
static bool is_stale(const char *name, const char *path, const char *socket)
{
    enum { MINUTE = 60 };
    long pid = strtol(name + strlen(PRIVATE), NULL, 10);
    struct stat st;

    if (pid < 1 || pid > INT_MAX || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
        return false;
    if (lstat(socket, &st) == 0)
        return S_ISSOCK(st.st_mode) && is_refused(socket);
    return lstat(path, &st) == 0 && st.st_mtime < time(NULL) - MINUTE;
}

void rundir_sweep(pid_t pid)
{
    char base[RUNDIR_PATH], prefix[40];

    snprintf(prefix, sizeof prefix, PRIVATE "%d-", (int)pid);
    for (int i = 0; i < 3; i++)
        if (private_base(i, base, sizeof base))
            sweep(base, prefix, NULL);
}

void rundir_tidy(void)
{
    char base[RUNDIR_PATH];

    for (int i = 0; i < 3; i++)
        if (private_base(i, base, sizeof base)) {
            sweep(base, PRIVATE, is_stale);
            return;
        }
}

int rundir_make(bool system, char *path, size_t size, struct err *e)
{
    if (system) {
        snprintf(path, size, "%s", RUNDIR_SYSTEM);
        return rundir_check(path, 0755, e);
    }
    for (int i = 0; i < 3; i++)
        if (user_folder(i, path, size))
            return rundir_check(path, 0700, e);
    return err_set(e, ERR_OTHER, "there is no folder for the socket");
}

void rundir_folder(bool system, char *path, size_t size)
{
    if (system) {
        snprintf(path, size, "%s", rundir_is_safe(RUNDIR_SYSTEM, true) ? RUNDIR_SYSTEM : "");
        return;
    }
    for (int i = 0; i < 3; i++)
        if (user_folder(i, path, size) && rundir_is_safe(path, false))
            return;
    *path = 0;
}

static bool has_socket(const char *folder, char *path, size_t size)
{
    struct stat st;

    return rundir_is_safe(folder, true) && snprintf(path, size, "%s/socket", folder) < (int)size &&
           stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

bool rundir_find(char *path, size_t size)
{
    char folder[RUNDIR_PATH];

    for (int i = 0; i < 3; i++)
        if (user_folder(i, folder, sizeof folder) && has_socket(folder, path, size))
            return true;
    return has_socket(RUNDIR_SYSTEM, path, size);
}

/* Why nobody listens there. */
static const char *refused(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return "no server runs there any more";
    switch (st.st_mode & S_IFMT) {
    case S_IFSOCK: return "no server runs there any more";
    case S_IFDIR:  return "it is a directory, no socket";
    case S_IFIFO:  return "it is a FIFO, no socket";
    case S_IFREG:  return "it is a file, no socket";
    default:       return "it is no socket";
    }
}

static int connect_to(const char *path, bool told, struct err *e)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    struct ucred peer;
    socklen_t len = sizeof peer;
    int fd;

    if (strlen(path) >= sizeof to.sun_path)
        return err_set(e, ERR_LENGTH, "%.60s...: the path of a socket is at most %zu bytes", path,
                       sizeof to.sun_path - 1);
    memcpy(to.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_set(e, ERR_OTHER, "no socket: %s", strerror(errno));
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
        err_set(e, ERR_OTHER, "%.108s: %s", path,
                errno == EAGAIN ? "it is too busy" :
                errno == ECONNREFUSED ? refused(path) : strerror(errno));
        close(fd);
        return -1;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
        (peer.uid != geteuid() && peer.uid != 0 && !(told && geteuid() == 0))) {
        close(fd);
        return err_set(e, ERR_OTHER, "%.108s is served by another user, who is not trusted",
                       path);
    }
    return fd;
}

int rundir_connect(const char *path, struct err *e)
{
    return connect_to(path, false, e);
}

int rundir_connect_told(const char *path, struct err *e)
{
    return connect_to(path, true, e);
}
