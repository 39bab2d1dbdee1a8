/* single.h - a program that runs already and wants a launcher: the singleton.
 *
 * A PMI-1 client that was started by itself, and first needs a server, listens on a
 * port and starts `mpiexec -pmi_args PORT ...`.  We connect, and from then on that
 * connection is the PMI_FD of rank 0 of a job of one.  Our libpmi2 listens nowhere: it
 * starts `mpiexec_lite -singleton-fd FD:JOBID ...` with a connection of which it has the
 * other end.
 *
 * The program is not ours: it is never signalled, and its exit status is not known. */
#ifndef MPIEXEC_LITE_SINGLE_H
#define MPIEXEC_LITE_SINGLE_H

#include "mpiexec_lite/plan.h"

#include <sys/types.h>

/* As soon as the launcher knows that this is its work: leave the program's session, so
 * that a Ctrl-C is the program's alone, and find out which process it is (1: it has
 * ended already).  0, or -1 and e: -singleton-fd is no connection. */
int single_begin(const struct plan *p, pid_t *program, struct err *e);

/* The connection to the program.  With -pmi_args it must belong to our user, and is told
 * the id of its job; blocks for some seconds at most.  Or -1 and e. */
int single_connect(const struct plan *p, const char *jobid, struct err *e);

#endif
