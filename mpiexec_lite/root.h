/* root.h - the root: the server process of the launcher, a fork of the front end.
 *
 * It runs the PMI server core and the launcher's decisions on libev, starts the
 * ranks of this node and the servers of others, forwards output, and sees to it that
 * no rank outlives the job.  It has a session of its own, so that neither Ctrl-C nor a kill of
 * the group takes front end and root together; when the front end is gone, it
 * kills everything and ends. */
#ifndef MPIEXEC_LITE_ROOT_H
#define MPIEXEC_LITE_ROOT_H

#include "mpiexec_lite/child.h"
#include "mpiexec_lite/place.h"

#include <sys/types.h>

struct root_args {
    struct plan      *plan;          /* hosts that come later are added to it */
    const struct placement *place;
    char *const       *programs;     /* the resolved program of each block that has ranks
                                        on this host; else NULL */
    const struct inherited *user;    /* what the launcher was started with */
    int                control;      /* socket to the front end */
    int                input;        /* the stdin that a rank gets itself; -1: forwarded */
    int                trace;        /* descriptor of the wire trace, or -1 */
    int                timeline;     /* descriptor of the timeline, or -1 */
    pid_t              program;      /* that runs already and is the only rank; 0: none */
};

/* Run the job.  Its exit status. */
int root_run(const struct root_args *args);

#endif
