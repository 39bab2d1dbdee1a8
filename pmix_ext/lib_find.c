/* lib_find.c - see lib_find.h
 *
 * A launcher has a socket tools.PID in the user's folder (rundir.h). */
#include "pmix_ext/lib_find.h"

#include "pmix_ext/lib.h"
#include "pmix_ext/rundir.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* --- looking ----------------------------------------------------------- */

struct search {
    long long pid;           /* only this one's; 0: any */
    int       fd;            /* the one found, or -1 */
    unsigned  found;
};

static void try(struct search *s, const char *folder, const char *name)
{
    char path[RUNDIR_PATH], *end;
    int fd;

    if (strncmp(name, "tools.", 6) || (s->pid && strtoll(name + 6, &end, 10) != s->pid) ||
        snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return;
    fd = rundir_connect(path, NULL);
    if (fd < 0)                          /* left behind by one that was killed */
        return;
    if (s->found++)
        close(fd);
    else
        s->fd = fd;
}

static void look(struct search *s)
{
    char folder[RUNDIR_PATH];
    struct dirent *x;
    DIR *d;

    rundir_folder(false, folder, sizeof folder);
    d = *folder ? opendir(folder) : NULL;
    while (d && (x = readdir(d)))
        try(s, folder, x->d_name);
    if (d)
        closedir(d);
}

static int find_uri(const char *uri, pmix_status_t *status)
{
    int fd = -1;

    *status = PMIX_ERR_BAD_PARAM;
    if (!strncmp(uri, URI_PREFIX, sizeof URI_PREFIX - 1)) {
        *status = PMIX_ERR_UNREACH;
        fd = rundir_connect(uri + sizeof URI_PREFIX - 1, NULL);
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
    look(&s);
    *status = s.found == 1 ? PMIX_SUCCESS : s.found ? PMIX_ERR_RESOURCE_BUSY : PMIX_ERR_UNREACH;
    if (s.found == 1)
        return s.fd;
    if (s.found)
        close(s.fd);
    return -1;
}
