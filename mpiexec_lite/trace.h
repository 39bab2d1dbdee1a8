/* trace.h - the wire trace: dialogues that a person can read and a test replay.
 *
 *     RANK C>S |text|     RANK S>C |text|     (newline \n, backslash \\, \xNN)
 *
 * One message a line; see wire/FORMAT. */
#ifndef MPIEXEC_LITE_TRACE_H
#define MPIEXEC_LITE_TRACE_H

#include "wire/buf.h"

/* Open the file for the trace.  The descriptor, or -1 and e. */
int  trace_open(const char *name, struct err *e);
/* Append one line, without newline.  job: its number; RANK is JOB.RANK where that is not 0.
 * rank -1: not known yet, shown as '?'. */
void trace_format(struct buf *line, int job, int rank, bool from_client, const char *data,
                  size_t len);
/* Write a line and a newline.  0, or -1 with errno: then the trace should end. */
int  trace_write(int fd, const struct buf *line);

#endif
