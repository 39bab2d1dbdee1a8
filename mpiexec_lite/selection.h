/* selection.h - the objects or devices of a node that a text means (mapspec.h), as ranges of
 * its processors.  Pure. */
#ifndef MPIEXEC_LITE_SELECTION_H
#define MPIEXEC_LITE_SELECTION_H

#include "mpiexec_lite/mapspec.h"

struct selection {
    struct range *v;             /* owned */
    size_t n, cap;
};

/* Those of which a processor may be used.  Objects: in the order of the hardware, of those
 * inside each other the smallest.  Devices: in their order, some perhaps with the same
 * processors.  At least one: 0; else -1 and e: there is none, none may be used, or no
 * memory.  to is to be cleared either way. */
int  selection_of(const struct topo *t, const struct mapspec *s, struct selection *to,
                  struct err *e);
/* 0, or -1: no memory. */
int  selection_add(struct selection *to, struct range r);
void selection_clear(struct selection *r);

static inline int range_end(struct range r) { return r.first + r.n; }

#endif
