/* foreign.h - links to other launchers of the same user, which a resident server
 * (resident.h) has introduced: sockets, proofs and time limits.  What is said over them is
 * the core's (pmi2/PEERS, "Launchers").
 *
 * Who is looked for opens a socket, in a new folder of its own, for one caller and for
 * FOREIGN_PATIENCE seconds; it is gone from the file system as soon as somebody of our own
 * uid has called.  Each side then shows the other one of the two secrets that the server
 * has told them both.  Not thread-safe. */
#ifndef MPIEXEC_LITE_FOREIGN_H
#define MPIEXEC_LITE_FOREIGN_H

#include "pmi2/server.h"

#define FOREIGN_PATIENCE 5.0         /* seconds, for each step */

struct ev_loop;
struct foreign;
struct naming;

/* All borrowed; tell: a line for the user at -v.  NULL: no memory. */
struct foreign *foreign_new(struct ev_loop *loop, struct server *server, struct naming *naming,
                            void (*tell)(void *host, const char *text), void *host);
/* Closes all links, once what waits to be sent has been, as far as it can be at once.
 * Before the server.  NULL is fine. */
void foreign_free_links(struct foreign *f);

/* Host operations introduce and far_send of the core; link is a link of these. */
bool foreign_introduce(struct foreign *f, struct far_ask *a);
void foreign_send(void *link, const char *frame, size_t len);

#endif
