/* lib_find.c - see lib_find.h
 *
 * A launcher has a socket tools.PID in the user's folder for them, $XDG_RUNTIME_DIR/pmi2_server,
 * /run/user/UID/pmi2_server or /tmp/pmi2_server-UID.  A folder counts if it is the user's own
 * or root's and no other can write to it. */
#include "pmix_ext/lib_find.h"

#include "pmix_ext/lib.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define URI_PREFIX "unix:"

static const char *const selectors[] = { PMIX_SERVER_PIDINFO, PMIX_SERVER_URI };

bool find_is_told(const pmix_info_t *infos, size_t n)
{
    for (size_t i = 0; i < sizeof selectors / sizeof *selectors; i++)
        if (info_find(infos, n, selectors[i]))
            return true;
    return false;
}

/* --- calling ----------------------------------------------------------- */

static bool is_ours(uid_t uid)
{
    return uid == geteuid() || uid == 0;
}

/* Whoever serves it must be of our own uid, or root. */
static int call(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    struct ucred who;
    socklen_t len = sizeof who;
    int fd;

    if (strlen(path) >= sizeof a.sun_path)
        return -1;
    memcpy(a.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && is_ours(who.uid))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* --- looking ----------------------------------------------------------- */

struct search {
    long long pid;           /* only this one's; 0: any */
    int       fd;            /* the one found, or -1 */
    unsigned  found;
};

static bool is_safe(const char *folder)
{
    struct stat s;

    return lstat(folder, &s) == 0 && S_ISDIR(s.st_mode) && is_ours(s.st_uid) &&
           !(s.st_mode & (S_IWGRP | S_IWOTH));
}

static void try(struct search *s, const char *folder, const char *name)
{
    struct sockaddr_un a;
    char path[sizeof a.sun_path], *end;
    int fd;

    if (strncmp(name, "tools.", 6) || (s->pid && strtoll(name + 6, &end, 10) != s->pid) ||
        snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return;
    fd = call(path);
    if (fd < 0)                          /* left behind by one that was killed */
        return;
    if (s->found++)
        close(fd);
    else
        s->fd = fd;
}

static void look(struct search *s, const char *folder)
{
    DIR *d = is_safe(folder) ? opendir(folder) : NULL;
    struct dirent *x;

    while (d && (x = readdir(d)))
        try(s, folder, x->d_name);
    if (d)
        closedir(d);
}

static void look_all(struct search *s)
{
    const char *run = getenv("XDG_RUNTIME_DIR");
    char folder[256];

    if (run && snprintf(folder, sizeof folder, "%s/pmi2_server", run) < (int)sizeof folder)
        look(s, folder);
    if (s->found)
        return;
    snprintf(folder, sizeof folder, "/run/user/%u/pmi2_server", (unsigned)geteuid());
    look(s, folder);
    if (s->found)
        return;
    snprintf(folder, sizeof folder, "/tmp/pmi2_server-%u", (unsigned)geteuid());
    look(s, folder);
}

static int find_uri(const char *uri, pmix_status_t *status)
{
    int fd = -1;

    *status = PMIX_ERR_BAD_PARAM;
    if (!strncmp(uri, URI_PREFIX, sizeof URI_PREFIX - 1)) {
        *status = PMIX_ERR_UNREACH;
        fd = call(uri + sizeof URI_PREFIX - 1);
    }
    if (fd >= 0)
        *status = PMIX_SUCCESS;
    return fd;
}

int find_server(const pmix_info_t *infos, size_t n, pmix_status_t *status)
{
    const pmix_value_t *uri = info_find(infos, n, PMIX_SERVER_URI);
    const pmix_value_t *pid = info_find(infos, n, PMIX_SERVER_PIDINFO);
    const char *env = getenv("PMIX_SERVER_URI");
    struct search s = { .fd = -1 };

    *status = PMIX_ERR_BAD_PARAM;
    if (uri)
        return uri->type == PMIX_STRING && uri->data.string ? find_uri(uri->data.string, status)
                                                            : -1;
    if (pid) {
        pmix_status_t bad;

        PMIX_VALUE_GET_NUMBER(bad, pid, s.pid, long long);
        if (bad != PMIX_SUCCESS || s.pid <= 0)
            return -1;
    } else if (env) {
        return find_uri(env, status);
    }
    look_all(&s);
    *status = s.found == 1 ? PMIX_SUCCESS : s.found ? PMIX_ERR_BAD_PARAM : PMIX_ERR_UNREACH;
    if (s.found == 1)
        return s.fd;
    if (s.found)
        close(s.fd);
    return -1;
}
