/* check_here.c - --check: what would stop the launcher itself, before it has asked a host. */
#include "mpiexec_lite/check_impl.h"

#include "mpiexec_lite/place.h"
#include "mpiexec_lite/providers.h"
#include "mpiexec_lite/quota.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void check_crowd(const struct plan *p, const struct placement *place, json_t *list)
{
    struct err e = { 0 };
    int usable;

    if (!place_is_limited(p))
        return;
    if (p->hosts_given || p->in_allocation) {
        if (place_check(p, place, &e) < 0)
            check_problem(list, "%s", e.text);
        return;
    }
    usable = usable_processors();
    if (place->size > usable && place->size > 1)
        check_problem(list, "%d processes share %d processor%s: -nooversubscribe", place->size,
                      usable, usable > 1 ? "s" : "");
}

/* The folder of a file, without what is a rank's own; a slash is in it. */
static void cut_last(char *path)
{
    char *slash = strrchr(path, '/');

    slash[slash == path] = '\0';
}

/* Folders that are missing are made, in the last one that is there. */
static void check_output(const char *pattern, json_t *list)
{
    char path[PATH_MAX];
    struct stat st;
    int why;

    if (!pattern || snprintf(path, sizeof path, *pattern == '/' ? "%s" : "./%s", pattern) >=
                        (int)sizeof path)
        return;
    if (!strchr(path, '%') && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        check_problem(list, "%.300s: %s", pattern, strerror(EISDIR));
        return;
    }
    *strchrnul(path, '%') = '\0';
    do {
        cut_last(path);
        why = stat(path, &st) < 0 ? errno : !S_ISDIR(st.st_mode) ? ENOTDIR :
              access(path, W_OK | X_OK) < 0 ? errno : 0;
    } while (why == ENOENT && path[1]);
    if (why)
        check_problem(list, "%.300s: nothing can be written in %.300s: %s", pattern, path,
                      strerror(why));
}

static void check_providers(const struct plan *p, json_t *list)
{
    struct strlist files = { 0 };
    char real[PATH_MAX];
    struct err e = { 0 };

    if (providers_list(p->no_providers, &p->provider_dirs, &p->provider_files, &files, &e) < 0)
        check_problem(list, "%s", e.text);
    for (size_t i = 0; i < files.n; i++)
        if (provider_check(files.v[i], real, &e) < 0)
            check_problem(list, "provider %s", e.text);
        else if (!provider_is_object(files.v[i]) && faccessat(AT_FDCWD, real, X_OK, AT_EACCESS) < 0)
            check_problem(list, "provider %.300s: %s", real, strerror(errno));
    strlist_clear(&files);
}

/* A socket that was named must be there; that of another host is not called. */
static void check_nameserver(const char *given, json_t *list)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd;

    if (!given || *given != '/' || strlen(given) >= sizeof at.sun_path)
        return;
    memcpy(at.sun_path, given, strlen(given));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || (connect(fd, (struct sockaddr *)&at, sizeof at) < 0 && errno != EAGAIN))
        check_problem(list, "-nameserver: %.300s: %s", given, strerror(errno));
    if (fd >= 0)
        close(fd);
}

void check_here(const struct plan *p, const struct placement *place, json_t *list)
{
    check_crowd(p, place, list);
    check_output(p->outfile, list);
    check_output(p->errfile, list);
    check_output(p->timeline, list);
    check_output(p->trace, list);
    check_nameserver(p->nameserver, list);
    if (p->stdin_mode == STDIN_FILE && access(p->stdin_file, R_OK) < 0)
        check_problem(list, "-stdin: %.300s: %s", p->stdin_file, strerror(errno));
    check_providers(p, list);
}
