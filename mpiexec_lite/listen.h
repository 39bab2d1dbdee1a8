/* listen.h - PMI over a TCP port of the loopback interface (PMI_PORT), for
 * clients that cannot inherit a descriptor.  Off unless -pmi-port asks for it.
 *
 * Whoever connects must be a process of our user (or root): the kernel is asked
 * who owns the other end before a byte of it is read. */
#ifndef MPIEXEC_LITE_LISTEN_H
#define MPIEXEC_LITE_LISTEN_H

#include "mpiexec_lite/plan.h"

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

struct listener;

struct listen_ops {
    void (*accepted)(void *host, int fd);        /* a peer of our user; fd is given away */
    void (*refused)(void *host, const char *why);
};

/* Listen on a free port of 127.0.0.1, of these (ports.h).  NULL and e on failure. */
struct listener *listen_start(struct ev_loop *loop, const struct port_range *ports,
                              const struct listen_ops *ops, void *host, struct err *e);
/* The user who owns the socket that is bound to `port` of 127.0.0.1 and connected to
 * `to`: 0 and *uid, or -1: it is not there, or closed. */
int         listen_owner(unsigned port, unsigned to, uid_t *uid);

const char *listen_address(const struct listener *l);    /* "127.0.0.1:PORT" */
void        listen_accept(struct listener *l);           /* all that are waiting */
void        listen_stop(struct listener *l);             /* NULL is fine */

#endif
