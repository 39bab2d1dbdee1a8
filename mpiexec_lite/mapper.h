/* mapper.h - which processors each process of a job gets on a node: the decision.
 *
 * - A place is what is asked for (a core, two sockets, what is near a GPU ...), less the
 *   processors that may not be used; what has none left is no place.
 * - map says how far apart the places of successive processes are: each goes to the next
 *   of those objects, and to the next place in it when the turn comes again.  Without it
 *   places follow each other.
 * - Objects that belong together (core:4) do not cross what map names, or another end,
 *   unless nothing else is left; what remains beside full ones stays empty.
 * - Places that others use already come last, and slow ones of a hybrid machine after fast
 *   ones.
 * - When all have been given, it begins again.
 *
 * Pure; the same input gives the same places. */
#ifndef MPIEXEC_LITE_MAPPER_H
#define MPIEXEC_LITE_MAPPER_H

#include "mpiexec_lite/mapspec.h"

struct map_request {                     /* all borrowed */
    const struct mapspec *bind;          /* not SPEC_NONE */
    const struct mapspec *map;           /* SPEC_NONE or SPEC_OBJECT, or as bind; NULL: none */
    const struct cpus    *busy;          /* what others use; NULL: nothing */
    int  n;                              /* processes: 1 and up */
    int  each;                           /* so many to one object of map before the next one
                                            (ppr:N:socket); 0: one */
    bool in_order;                       /* processes are numbered as the hardware is */
};

struct seats {
    struct cpus *sets;                   /* owned; none is empty */
    size_t       n;                      /* process i has set i % n */
    bool         crowded;                /* there are more processes than processors in them */
    size_t       fewer;                  /* core:9, and there are only so many; 0: there are 9 */
};

/* 0, or -1 and e: there is no such object, none may be used, or no memory; s is to be
 * cleared either way. */
int  mapper_seats(const struct topo *t, const struct map_request *q, struct seats *s,
                  struct err *e);
void seats_clear(struct seats *s);
const struct cpus *seat_of(const struct seats *s, int process);

#endif
