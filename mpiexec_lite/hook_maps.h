/* hook_maps.h - where the ranks of a job are that another resource manager runs.
 *
 *     nodes   "a,b"          PMIX_NODE_MAP, as PMIx_generate_regex of ours leaves it
 *     ranks   "0-1,4;2-3"    PMIX_PROC_MAP: of each node, with ';' between
 *
 * Pure; thread-safe. */
#ifndef MPIEXEC_LITE_HOOK_MAPS_H
#define MPIEXEC_LITE_HOOK_MAPS_H

#include "mpiexec_lite/place.h"

enum { MAP_RANKS = 1 << 24 };            /* most ranks of a job */

/* Add the nodes to p's hosts, and say where the ranks are: every one from 0 up, on one node.
 * "" and "": nothing is known.  0, or -1 and e. */
int maps_read(const char *nodes, const char *ranks, struct plan *p, struct placement *place,
              struct err *e);
/* The node that host is, by its name with or without domain; -1: none. */
int maps_node(const struct plan *p, const char *host);

#endif
