/* proxy.h - the server of a node that is not the launcher's own.
 *
 * Started by the guard (pmi2_proxy), it says who it is, gets the job over its stream,
 * starts the servers below and the ranks here, serves them, and passes on what goes up
 * and down.  When the stream ends, for whatever reason, it kills all that descends from
 * it and ends. */
#ifndef MPIEXEC_LITE_PROXY_H
#define MPIEXEC_LITE_PROXY_H

#include "mpiexec_lite/child.h"

struct proxy_args {
    int in, out;                     /* the stream to the server above; taken */
    int guard;                       /* read end of a pipe that ends with the guard */
    const struct inherited *user;
};

/* Run until the stream ends.  The exit status. */
int proxy_run(const struct proxy_args *args);

#endif
