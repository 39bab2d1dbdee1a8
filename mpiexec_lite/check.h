/* check.h - --check: ask every host of a job whether it could run there.
 *
 * Hosts are reached as for a job, by the same command with "--check" behind it, a window of
 * them at a time, and given up as late; this host is asked by a fork. */
#ifndef MPIEXEC_LITE_CHECK_H
#define MPIEXEC_LITE_CHECK_H

#include "mpiexec_lite/plan.h"

#include <stdio.h>

/* Tell on out what was found.  0: nothing will fail; 1: something will, which was told; or
 * the exit status and e.  envp: ours. */
int check_run(const struct plan *p, char *const *envp, FILE *out, struct err *e);

#endif
