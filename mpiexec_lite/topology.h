/* topology.h - hwloc's XML of this node, made when it is first asked for.
 *
 * The text is in memory that only we own (memfd), and its path leads there through
 * /proc: the ranks of this node, which are the same user's, can open it, nobody can
 * change it, and it is gone when we are, however we end. */
#ifndef MPIEXEC_LITE_TOPOLOGY_H
#define MPIEXEC_LITE_TOPOLOGY_H

#include "mpiexec_lite/hwloc_xml.h"

#include <ev.h>
#include <stdbool.h>

struct topology;

/* It is there; or path is NULL, and why says why not. */
typedef void topology_done(struct topology *t, const char *path, const char *why);

struct topology {
    void           *host;        /* the caller's */
    topology_done  *done;        /* NULL: nobody has asked yet */
    struct ev_loop *loop;        /* borrowed */
    const char     *library;     /* instead of the usual one; or NULL */
    int             xml, said;   /* owned: the text; what the child says; -1: none */
    ev_io           readable;
    char            path[64];    /* "": not there */
};

void topology_init(struct topology *t, void *host);
void topology_clear(struct topology *t);         /* done is not called any more */

/* The path, once it is there.  NULL with *later: done is going to be called; else there
 * is none, and *why says why, the first time. */
const char *topology_find(struct topology *t, struct ev_loop *loop, topology_done *done,
                          bool *later, const char **why);

#endif
