/* handshake.h - a login (login.h) over a TCP connection: what both sides say is carried,
 * munge is asked, and there is a time for all of it.  Nothing here waits. */
#ifndef MPIEXEC_LITE_HANDSHAKE_H
#define MPIEXEC_LITE_HANDSHAKE_H

#include "mpiexec_lite/login.h"

#include <ev.h>

enum { HANDSHAKE_ADDRESS = 64, HANDSHAKE_SECONDS = 10 };

struct handshake;

/* It has come to an end; h->login.e says why it was not accepted.  If it was: h->fd (may
 * be taken: set it to -1), h->login and h->in (what has come behind the login) are the
 * caller's to use.  To be followed, here, by handshake_clear, after which the struct may
 * be freed. */
typedef void handshake_over(struct handshake *h, bool accepted);

struct handshake {               /* part of its owner's struct */
    struct ev_loop *loop;            /* borrowed, as munger */
    struct munger  *munger;
    handshake_over *over;
    int             fd;              /* owned */
    char            address[HANDSHAKE_ADDRESS];
    struct login    login;
    struct buf      in, out;         /* owned */
    ev_io           readable, writable;
    ev_timer        deadline;
    bool            accepted;        /* once all that is due to the peer has been sent */
};

/* fd is taken: connected, or connecting, and non-blocking.  conf: copied; its texts and
 * host outlive this, but for the address, which is copied.  over is called once, maybe
 * before this returns. */
void handshake_start(struct handshake *h, struct ev_loop *loop, struct munger *munger, int fd,
                     enum login_side side, const struct login_conf *conf, handshake_over *over);
/* Without a call of over.  Safe twice, and on a zeroed struct. */
void handshake_clear(struct handshake *h);

#endif
