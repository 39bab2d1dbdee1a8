/* sweep.h - leave no process behind.
 *
 * The launcher's two processes are subreapers: whatever their descendants start,
 * even in sessions of its own, becomes their child when its parent dies.  So a
 * process that has no children has no descendants, and killing them all is a
 * loop that ends when wait says ECHILD. */
#ifndef MPIEXEC_LITE_SWEEP_H
#define MPIEXEC_LITE_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Make the calling process a subreaper.  0, or -1 and errno. */
int sweep_prepare(void);

/* True if the calling process has a child, alive or not yet reaped. */
bool sweep_any(void);

/* Kill (SIGKILL) and reap every descendant; zombies are reaped too.  Blocks for
 * at most `seconds` (a process in uninterruptible sleep cannot be waited for).
 * The number of processes left: 0 when it worked. */
int sweep_all(double seconds);

/* The same but for these children and what descends from them (n may be 0); and of the
 * other children, unless jobid is NULL, only those whose environment has it as
 * PMI_JOBID, and their descendants. */
int sweep_but(double seconds, const pid_t *spared, size_t n, const char *jobid);

#endif
