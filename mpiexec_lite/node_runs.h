/* node_runs.h - the runs of a placement by node, for all nodes in one pass.  Pure. */
#ifndef MPIEXEC_LITE_NODE_RUNS_H
#define MPIEXEC_LITE_NODE_RUNS_H

#include "mpiexec_lite/place.h"
#include "wire/buf.h"

struct node_runs {
    size_t *first;           /* owned; of node i: order[first[i]] up to order[first[i + 1]] */
    size_t *order;           /* owned: numbers of runs, of each node in order of rank */
};

/* nodes: how many there are.  0, or -1: no memory; to is to be cleared either way. */
int  node_runs_init(struct node_runs *to, const struct placement *pl, size_t nodes);
void node_runs_clear(struct node_runs *n);
/* How many ranks a node has. */
long node_ranks(const struct node_runs *n, const struct placement *pl, size_t node);
/* The ranks of a node as "0-3,8". */
void node_ranks_print(const struct node_runs *n, const struct placement *pl, size_t node,
                      struct buf *out);

#endif
