/* mapping.h - PMI_process_mapping: which ranks are on which node, as text.
 *
 *     (vector,(first,nodes,ranks),...)
 *
 * gives `ranks` consecutive ranks to each of `nodes` consecutive nodes from
 * `first` on (MPICH; only triples are written, as older clients know no more).
 * No I/O; thread-safe. */
#ifndef PMI2_MAPPING_H
#define PMI2_MAPPING_H

#include "wire/buf.h"

struct mapping_block {
    int first, nodes, ranks;     /* node ids from 0; nodes and ranks 1 and up */
};

/* Append the text of n blocks to out (whose failed flag tells of no memory). */
void mapping_format(const struct mapping_block *blocks, size_t n, struct buf *out);

/* Of n blocks, how many are repeated over and over (the last time perhaps in part):
 * MPICH begins anew where a text ends before the ranks do.  n if they are not. */
size_t mapping_period(const struct mapping_block *blocks, size_t n);

/* Read the text back into at most max blocks.  The number of blocks, or -1 and e. */
int mapping_parse(const char *text, struct mapping_block *blocks, size_t max,
                  struct err *e);

#endif
