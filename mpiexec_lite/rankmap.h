/* rankmap.h - what -rankmap says: on which node each rank is.
 *
 *     1,1,0                    a node for each rank
 *     (first,nodes,ranks),...  as in PMI_process_mapping (pmi2/mapping.h); the whole may
 *                              be (vector,...)
 *
 * Nodes are numbered from 0.  Syntax of Hydra.  No I/O. */
#ifndef MPIEXEC_LITE_RANKMAP_H
#define MPIEXEC_LITE_RANKMAP_H

#include "pmi2/mapping.h"
#include "wire/err.h"

#include <stdbool.h>
#include <stddef.h>

/* The blocks of text, of nodes below `nodes`: *out, malloc'ed, has *n of them, 1 or more.
 * 0, or -1 and e. */
int rankmap_read(const char *text, size_t nodes, struct mapping_block **out, size_t *n,
                 struct err *e);

#endif
