/* flow.h - what goes next over a stream, and what may: the decisions of a link, without
 * I/O.
 *
 * Pieces wait in three classes: control goes first, then data, then bulk; within its
 * class everything stays in order.  Control is free.  Data and bulk cost credit, each
 * its own: what was sent and is not dealt with at the other end never costs more than a
 * window.  Who has dealt with something grants it again; that is told in quarters of
 * the window.
 *
 * - Data without credit lets bulk pass.  It can do nothing before credit comes, and bulk
 *   delays it by one piece then: bulk goes only when nothing else is being written.
 *   Would bulk wait instead, a server that cannot take data would stop all output.
 * - Bulk without credit is in nobody's way: it is last.
 * - What costs nothing keeps its place behind what waits in its class.
 *
 * A piece cannot be cut up.  One of more than three quarters of the window costs so
 * much: it goes when all before it is dealt with, even if the last quarter of that is
 * not told yet.
 *
 * One struct is one end: what it sends, and what came to it.  Not thread-safe. */
#ifndef MPIEXEC_LITE_FLOW_H
#define MPIEXEC_LITE_FLOW_H

#include "wire/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

enum link_class { LINK_CONTROL, LINK_DATA, LINK_BULK, LINK_CLASSES };

struct piece {                       /* something that waits; the first part of more */
    STAILQ_ENTRY(piece) next;
    enum link_class class;
    size_t          cost;            /* credit that it takes */
};
STAILQ_HEAD(pieces, piece);

struct account {                     /* of one class; bytes */
    size_t credit;                   /* may still be sent */
    size_t queued;                   /* costs of what waits */
    size_t open;                     /* came and was not dealt with yet */
    size_t owed;                     /* dealt with and not granted again yet */
};

struct flow {
    size_t         window;
    struct pieces  wait[LINK_CLASSES];   /* borrowed */
    struct account of[LINK_CLASSES];     /* of LINK_CONTROL: not used */
};

void flow_init(struct flow *f, size_t window);

/* What a payload of len bytes costs. */
size_t flow_cost(const struct flow *f, enum link_class c, size_t len);
/* A piece with len bytes of payload waits. */
void   flow_add(struct flow *f, enum link_class c, struct piece *p, size_t len);
/* What goes now: it waits no more and has paid.  NULL: nothing can.  busy: something is
 * being written, and it would go behind that. */
struct piece *flow_next(struct flow *f, bool busy);
/* Something that waits, unpaid: to be freed.  NULL: nothing waits. */
struct piece *flow_drop(struct flow *f);
bool   flow_idle(const struct flow *f);
/* How much more may be added before it has to wait for credit. */
size_t flow_room(const struct flow *f, enum link_class c);
/* The other end has granted so much.  0, or -1 and e: more than it can have. */
int    flow_credit(struct flow *f, enum link_class c, size_t n, struct err *e);

/* A payload has come.  0, or -1 and e: it came without credit, or bulk is in too large
 * a piece. */
int    flow_take(struct flow *f, enum link_class c, size_t len, struct err *e);
/* What cost so much is dealt with.  How much credit the other end is to be told now; 0:
 * nothing yet. */
size_t flow_grant(struct flow *f, enum link_class c, size_t cost);

#endif
