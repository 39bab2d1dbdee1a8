/* front.h - the front end: what the user, the shell and a debugger see.
 *
 * It hands signals and stdin to the root and gives the root's exit status to the
 * shell.  Nothing else depends on it: stopped, it holds up only stdin.  If the
 * root dies, it kills all that is left of the job. */
#ifndef MPIEXEC_LITE_FRONT_H
#define MPIEXEC_LITE_FRONT_H

#include "mpiexec_lite/child.h"
#include "mpiexec_lite/plan.h"

#include <sys/types.h>

struct front_args {
    const struct plan *plan;
    pid_t root;
    int   control;           /* socket to the root */
    const struct inherited *user;    /* borrowed */
    bool  forward_input;     /* stdin is read here and sent on */
};

/* Run until the root has ended and nothing of the job is left.  The exit status;
 * *signo is the signal to end by instead, or 0. */
int front_run(const struct front_args *args, int *signo);

#endif
