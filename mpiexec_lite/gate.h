/* gate.h - a TCP port at which callers log in (login.h), and their streams afterwards.
 *
 * Everybody can connect; nobody gets anything before munge has said who it is.  Callers
 * that have not logged in are 64 at most and have 10 seconds each; when there are more,
 * the oldest that has said nothing for 2 seconds is closed.  So a connection that does not
 * log in costs itself only. */
#ifndef MPIEXEC_LITE_GATE_H
#define MPIEXEC_LITE_GATE_H

#include "mpiexec_lite/handshake.h"

struct gate_ops {
    /* Logged in: fd (taken) is its stream, opened; from: its address. */
    void (*accepted)(void *host, int node, uid_t uid, const char *from, int fd);
    /* A true proxy that cannot be let in: it will not come.  NULL: it is only logged. */
    void (*refused)(void *host, int node, const char *why);
    /* Does munge work here?  "" if so.  Called once, later, for each time that it listens. */
    void (*tried)(void *host, const char *why);
    /* A line; 3 a second at most, as strangers can make them. */
    void (*log)(void *host, const char *text);
};

struct gate_args {
    const char       *name;          /* of the port, for lines.  Borrowed, as all texts */
    const char       *munge_socket;  /* NULL: the usual one */
    struct login_conf conf;          /* but for the address */
};

struct gate;

/* fd is taken: bound; it will listen.  ops and host are borrowed.  NULL and e. */
struct gate *gate_new(struct ev_loop *loop, int fd, const struct gate_args *args,
                      const struct gate_ops *ops, void *host, struct err *e);
/* After gate_stop: listen again, at fd (taken), for so many nodes (conf.nodes), and see
 * again whether munge works.  0, or -1 and e. */
int  gate_open(struct gate *g, int fd, int nodes, struct err *e);
/* There are more nodes: they may come too. */
void gate_expect(struct gate *g, int nodes);
bool gate_is_open(const struct gate *g);
/* Nobody else is expected: close the port.  Streams that are open stay. */
void gate_stop(struct gate *g);
/* NULL is fine. */
void gate_free(struct gate *g);

#endif
