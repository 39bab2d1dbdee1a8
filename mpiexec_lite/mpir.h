/* mpir.h - the MPIR process acquisition interface (MPIR 1.0 and 1.1): what debuggers that
 * know no other interface read in the launcher's memory.
 *
 * The variables are in the front end, as that is the process a debugger has started or
 * attached to; it may stop it for as long as it likes, since nothing depends on it.  They are
 * global because this ABI is: a debugger finds them by name.  mpir.c alone touches them. */
#ifndef MPIEXEC_LITE_MPIR_H
#define MPIEXEC_LITE_MPIR_H

#include "pmi2/spawn.h"

#include <stdbool.h>
#include <sys/types.h>

/* Whether a debugger holds us now (it may come and go). */
bool mpir_being_debugged(void);

/* The table: room for so many ranks, none of which is there yet.  0; -1: no memory. */
int  mpir_begin(int size);
/* One of them; copies the texts.  0; -1: no memory. */
int  mpir_add(int rank, const char *host, const char *program, pid_t pid);
/* All size of them are there, of a job of this name: tell the debugger, if there is one.  Comes back when
 * it lets us go on. */
void mpir_spawned(int size, const char *jobid);
/* The program that the debugger wants on every node of the job, as a command of one process.  1; 0: it
 * wants none; -1: no memory.  want is to be cleared either way. */
int  mpir_daemons(struct spawn_request *want);
/* A debugger that has attached wants such programs as well when a byte comes from this descriptor: a pipe
 * whose other end it finds under /proc (MPIR_attach_fifo), so that nothing is left in any folder.  -1:
 * there can be none. */
int  mpir_attach_fifo(void);
/* The job is aborting, as text says. */
void mpir_aborting(const char *text);

#endif
