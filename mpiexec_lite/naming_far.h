/* naming_far.h - streams to a pmi2_server of another host (--listen): dialled, logged in by
 * munge, and sealed.  Its uid must be our own or root's.  Not thread-safe. */
#ifndef MPIEXEC_LITE_NAMING_FAR_H
#define MPIEXEC_LITE_NAMING_FAR_H

#include "wire/err.h"

struct ev_loop;
struct name_line;

/* fd (taken) is the stream; or -1, and why. */
typedef void name_line_done(void *host, int fd, const struct err *why);

/* where: "HOST:PORT", whose addresses are looked up now.  munge_socket: NULL: the usual
 * one; borrowed.  NULL and e. */
struct name_line *name_line_new(struct ev_loop *loop, const char *where, const char *munge_socket,
                    name_line_done *done, void *host, struct err *e);
/* One address after the other, HANDSHAKE_SECONDS each.  done is called, maybe at once;
 * until then this must not be called again. */
void name_line_dial(struct name_line *f);
/* Before that: the stream is carried to this socket (taken), and done gets its number only.
 * over: it has ended; why is "" where it has ended as it should. */
void name_line_onto(struct name_line *f, int plain, void (*over)(void *host, const char *why));
/* What streams have been given goes out as far as possible.  NULL is fine. */
void name_line_free(struct name_line *f);

#endif
