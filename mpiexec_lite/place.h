/* place.h - which rank runs on which node.
 *
 * Blocks of the command line are placed one after the other.  Each fills the
 * slots of its nodes in order (-host: only those) and, when ranks remain, begins
 * again at its first node: a slot is a hint, not a limit.  A later block goes on
 * where slots are still free.  With -map-by node each node in turn gets one rank, while
 * it has slots; -rank-by changes only who has which number.  Pure; thread-safe. */
#ifndef MPIEXEC_LITE_PLACE_H
#define MPIEXEC_LITE_PLACE_H

#include "mpiexec_lite/plan.h"
#include "pmi2/mapping.h"

struct run { int node, n, first; };  /* n ranks from first on, on one node */

struct placement {
    struct run *runs;            /* owned; in order of rank; neighbours differ in node */
    size_t      nruns;
    struct mapping_block *map;   /* owned; the same as PMI_process_mapping has it: nodes with
                                    ranks are numbered as they come, from 0, as MPICH takes
                                    the last number for the number of nodes */
    size_t      nmap;
    int         size;            /* ranks */
};

/* 0, or -1 and e.  The plan's counts are set and its hosts are not empty.  used: ranks
 * that each host has already, NULL: none. */
int  place_ranks(const struct plan *p, const long *used, struct placement *out,
                 struct err *e);
/* The same from its runs, of which node and n are set (at least one, in order):
 * what a bundle carries.  Copies them. */
int  place_runs(const struct run *runs, size_t n, struct placement *out, struct err *e);
void placement_clear(struct placement *pl);
/* No node has more ranks than slots: 0; else -1 and e, which names one. */
int  place_check(const struct plan *p, const struct placement *pl, struct err *e);

/* The node of a rank. */
int  placement_node(const struct placement *pl, int rank);
/* The ranks of a node in rising order: malloc'ed *ranks (NULL if none) and how
 * many; -1: no memory. */
int  placement_ranks(const struct placement *pl, int node, int **ranks);

#endif
