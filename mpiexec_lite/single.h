/* single.h - a program that runs already and wants a launcher: the singleton.
 *
 * A PMI-1 client that was started by itself, and first needs a server, listens on a
 * port and starts `mpiexec -pmi_args PORT ...`.  We connect, and from then on that
 * connection is the PMI_FD of rank 0 of a job of one. */
#ifndef MPIEXEC_LITE_SINGLE_H
#define MPIEXEC_LITE_SINGLE_H

#include "wire/err.h"

/* Connect to the program on this port of 127.0.0.1, which must belong to our user, and
 * tell it the id of its job.  The connection, or -1 and e.  Blocks for some seconds at
 * most. */
int single_join(int port, const char *jobid, struct err *e);

#endif
