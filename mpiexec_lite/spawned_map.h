/* spawned_map.h - how the ranks of a job that is spawned are spread over its nodes, where it
 * says so (spawned.h, map and rank; PMIx standard, PMIX_MAPBY, PMIX_PPR, PMIX_RANKBY).
 * Thread-safe. */
#ifndef MPIEXEC_LITE_SPAWNED_MAP_H
#define MPIEXEC_LITE_SPAWNED_MAP_H

#include "mpiexec_lite/place.h"
#include "mpiexec_lite/spawned_info.h"

/* What a command says: into its block.  0, or -1 and e. */
int spawned_map_read(struct app *a, const struct spawned_info *info, struct err *e);
/* As place_ranks, where blocks may say how; ERR_INVALID_VAL: they do not fit so. */
int spawned_map_place(const struct plan *p, const long *used, struct placement *out,
                      struct err *e);

#endif
