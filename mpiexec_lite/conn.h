/* conn.h - libev watchers around one PMI connection: bytes to the server core,
 * replies back.  The core's link is a struct pmi_conn. */
#ifndef MPIEXEC_LITE_CONN_H
#define MPIEXEC_LITE_CONN_H

#include "pmi2/server.h"

#include <ev.h>

struct pmi_conn;

struct pmi_conn_ops {
    /* The stream is over: the peer closed it, or it was failed.  The connection
     * is closed; it may be freed here.  m: whose it was, or NULL. */
    void (*closed)(void *host, struct pmi_conn *c, struct member *m);
    /* Replies can no longer be sent, for a reason of this side; it will be closed. */
    void (*broken)(void *host, struct pmi_conn *c, const char *why);
    /* The peer, which is no rank, broke the protocol; it is going to be closed. */
    void (*refused)(void *host, struct pmi_conn *c, const char *why);
    /* A peer speaks for the first time.  NULL: nobody wants to know. */
    void (*spoke)(void *host, struct pmi_conn *c);
};

struct pmi_conn_env {            /* what all connections of a server share */
    struct ev_loop *loop;
    struct server  *server;
    char           *buffer;      /* for reads, size bytes */
    size_t          size;
    const struct pmi_conn_ops *ops;
    void           *host;
};

struct pmi_conn {
    const struct pmi_conn_env *env;      /* borrowed; outlives the connection */
    struct conn *core;           /* owned; NULL once closed */
    int          fd;             /* owned; -1 once closed */
    ev_io        readable, writable;
    struct buf   out;            /* owned: replies not yet sent */
    double       heard;          /* when something came last (ev_now); 0: never */
    bool         held;           /* not read for now */
    bool         failed;         /* the core gave it up: close when that is safe */
    void        *user;           /* the host's */
};

/* fd is taken.  m NULL: a PMI_PORT peer of job j.  0, or -1 (no memory). */
int  pmi_conn_init(struct pmi_conn *c, const struct pmi_conn_env *env, struct job *j,
                   struct member *m, int fd);
/* The same for a tool, at the root; who is copied. */
int  pmi_conn_init_tool(struct pmi_conn *c, const struct pmi_conn_env *env,
                        const struct party *who, int fd);
/* Close without a call of closed.  Safe twice. */
void pmi_conn_close(struct pmi_conn *c);

/* Serve what has arrived up to now. */
void pmi_conn_serve(struct pmi_conn *c);
/* The same, for the last time: the process behind it has ended. */
void pmi_conn_drain(struct pmi_conn *c);

/* The host operations send and fail of the core end here. */
size_t pmi_conn_send(struct pmi_conn *c, const char *data, size_t len);
void   pmi_conn_fail(struct pmi_conn *c);

#endif
