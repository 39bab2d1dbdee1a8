/* sealed.h - a TCP connection after its login: what goes over it is sealed (wire/seal.h),
 * and at this end it is a plain socket.
 *
 * The end of the stream is announced inside it, so that a connection that was cut is
 * told from one that has ended. */
#ifndef MPIEXEC_LITE_SEALED_H
#define MPIEXEC_LITE_SEALED_H

#include "wire/seal.h"

#include <ev.h>

struct sealed;

/* Both are over; why is "" where the stream has ended as it should.  The object frees
 * itself after that. */
typedef void sealed_over(void *host, struct sealed *s, const char *why);

/* tcp: taken, and made non-blocking.  early: bytes that have come behind the login
 * (consumed).  *plain: the caller's end of the stream.  NULL: no memory or descriptors
 * (errno); tcp is closed. */
struct sealed *sealed_new(struct ev_loop *loop, int tcp, const struct seal_keys *keys,
                          struct buf *early, int *plain, sealed_over *over, void *host);
/* The same with the other end of a plain socket that the caller has (taken). */
struct sealed *sealed_new_on(struct ev_loop *loop, int tcp, int plain,
                             const struct seal_keys *keys, struct buf *early,
                             sealed_over *over, void *host);
/* Without a call of over. */
void sealed_free(struct sealed *s);
/* The same when the caller has closed its end: what it has written goes out first, with
 * the end of the stream, as far as that is possible at once. */
void sealed_finish(struct sealed *s);

#endif
