/* topo_hwloc.h - struct topo of this machine, or of one that is described: by hwloc.
 * Loads libhwloc (hwloc_lib.h). */
#ifndef MPIEXEC_LITE_TOPO_HWLOC_H
#define MPIEXEC_LITE_TOPO_HWLOC_H

#include "mpiexec_lite/topo.h"

struct topo_source {             /* of xml and synthetic at most one; borrowed */
    const char *xml;             /* hwloc's XML; NULL: none */
    const char *synthetic;       /* "socket:2 core:4 pu:2"; NULL: none */
    bool        devices;         /* with devices, which takes longer */
    const char *library;         /* instead of the usual one; or NULL */
};

/* Processors that cgroups or the description keep back are there and not allowed; of
 * this machine also those that this process may not use.  NULL, or why not; t is to be
 * cleared either way. */
const char *topo_from_hwloc(struct topo *t, const struct topo_source *from);

#endif
