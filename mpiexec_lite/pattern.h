/* pattern.h - the patterns of labels and output file names.
 *
 * %r rank, %g job number, %p node number, %h host, %t whole seconds since the
 * start, %% a percent sign; nothing else may follow a '%'.  No I/O. */
#ifndef MPIEXEC_LITE_PATTERN_H
#define MPIEXEC_LITE_PATTERN_H

#include "wire/buf.h"

struct pattern_vars {
    int         rank;
    int         job;         /* 0: the job of the command line */
    int         node;
    const char *host;        /* borrowed */
    long        seconds;     /* since the start of the job */
};

/* 0, or -1 and ERR_INVALID_VAL in e: a '%' is followed by something unknown. */
int pattern_check(const char *text, struct err *e);

/* Append text, expanded, to out.  text must have passed pattern_check. */
void pattern_expand(const char *text, const struct pattern_vars *vars, struct buf *out);

#endif
