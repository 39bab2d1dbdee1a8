/* topo_fetch.h - struct topo of this node: read once, by a child that is waited for. */
#ifndef MPIEXEC_LITE_TOPO_FETCH_H
#define MPIEXEC_LITE_TOPO_FETCH_H

#include "mpiexec_lite/topo.h"

/* With or without devices, which take longer.  Takes tens of milliseconds, and at most
 * HWLOC_CHILD_PATIENCE.  0, or -1 and e; t is to be cleared either way. */
int topo_fetch(struct topo *t, bool devices, struct err *e);

/* The same, kept for later: what is asked for with devices is there without, too. */
struct topo_here {
    struct topo topo;            /* owned */
    bool read, devices;
};
/* Valid until the next call or topo_here_clear.  NULL and e. */
const struct topo *topo_here(struct topo_here *h, bool devices, struct err *e);
void topo_here_clear(struct topo_here *h);

#endif
