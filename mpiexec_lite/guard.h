/* guard.h - what the launcher program starts on another node: it forks the proxy, and
 * then only waits.
 *
 * Both are subreapers; the death of either makes the other kill all that is left. */
#ifndef MPIEXEC_LITE_GUARD_H
#define MPIEXEC_LITE_GUARD_H

#include "mpiexec_lite/child.h"

struct dial_args;

/* Be the guard, with the stream on stdin and stdout, or (call) one that is dialled; user:
 * what ranks get back.  The exit status. */
int guard_run(const struct inherited *user, const struct dial_args *call);

#endif
