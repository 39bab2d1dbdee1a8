/* tools.h - the socket on which tools call the launcher: who may, and their connections.
 *
 * It lies in a folder of the user's own, beside the entry by which it is found
 * (pmix_ext/rendezvous.h); the kernel says who calls, and only the user's own processes and
 * root's are served. */
#ifndef MPIEXEC_LITE_TOOLS_H
#define MPIEXEC_LITE_TOOLS_H

#include "mpiexec_lite/conn.h"
#include "pmix_ext/rendezvous.h"

struct tools;

struct tools_args {
    struct ev_loop *loop;
    struct server  *server;
    char           *buffer;      /* for reads, size bytes */
    size_t          size;
    void          (*tell)(void *host, const char *text);     /* a warning */
    void           *host;
    pid_t           pid;         /* of the launcher, which names the entry */
    const char     *hostname, *nspace;   /* of the launcher; its job's id */
};

/* NULL and e. */
struct tools *tools_new(const struct tools_args *args, struct err *e);
/* Bytes that tools have not taken yet. */
size_t        tools_unsent(const struct tools *t);
void          tools_free(struct tools *t);       /* NULL is fine */

#endif
