/* tools.h - the socket on which tools call a server: who may, and their connections.
 *
 * It lies in a folder of the user's own, beside the entry by which it is found
 * (pmix_ext/rendezvous.h), or, of the system's server, in root's; the kernel says who calls,
 * and only the user's own processes and root's are served, by the system's server everybody's.
 * Others are hung up on without a word, and so is a user who has an eighth of all connections
 * to the system's server. */
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
    pid_t           pid;         /* of the launcher (or proxy), which names the entry */
    const char     *hostname, *nspace;   /* of the server; its job's id, or its name */
    bool            system, resident;    /* as in struct rendezvous */
    /* A tool has come: serve it elsewhere; the descriptor is taken.  NULL: it is served by
     * server, with buffer. */
    void          (*enter)(void *host, int fd, const struct party *who);
    void           *host;
    /* The tool that tools_call has called hangs up.  NULL: none is called. */
    void          (*lost)(void *host);
};

/* NULL and e. */
struct tools *tools_new(const struct tools_args *args, struct err *e);
/* Bytes that tools have not taken yet. */
size_t        tools_unsent(const struct tools *t);
void          tools_free(struct tools *t);       /* NULL is fine */
/* Its entry: where the socket is, and whose. */
const struct rendezvous *tools_entry(const struct tools *t);
/* Call a tool that listens at the socket of that path; it is served as if it had called.  0, or
 * -1 and e. */
int           tools_call(struct tools *t, const char *path, struct err *e);
/* Those that come now wait until another has gone. */
bool          tools_full(const struct tools *t);
/* Serve one that has come by another way; fd is taken. */
void          tools_enter(struct tools *t, int fd, const struct party *who);

#endif
