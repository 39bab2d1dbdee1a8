/* trace.h - the wire trace: dialogues that a person can read and a test replay.
 *
 *     RANK C>S |text|     RANK S>C |text|     (newline \n, backslash \\, \xNN)
 *
 * One message a line; see wire/FORMAT. */
#ifndef MPIEXEC_LITE_TRACE_H
#define MPIEXEC_LITE_TRACE_H

#include "wire/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Open the file for the trace.  The descriptor, or -1 and e. */
int  trace_open(const char *name, struct err *e);
/* Write one line.  rank -1: not known yet, shown as '?'. */
void trace_line(int fd, int rank, bool from_client, const char *data, size_t len);

#endif
