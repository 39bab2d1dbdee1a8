/* moments.h - when what befell the ranks of a host, for -timeline: kept where it happens, in
 * records of fixed size, and handed to the root at the end of the run.
 *
 * Times are of the clock of the host that kept them (CLOCK_MONOTONIC).  Numbers are
 * little-endian.  Pure: the time comes from who calls. */
#ifndef MPIEXEC_LITE_MOMENTS_H
#define MPIEXEC_LITE_MOMENTS_H

#include "wire/buf.h"

#include <stdint.h>

enum moment_kind {
    MOMENT_EXEC,             /* it executes its program; value: its pid */
    MOMENT_HELLO,            /* its first word of PMI */
    MOMENT_INIT,             /* PMI is initialized */
    MOMENT_ENTER,            /* a fence of the whole job: entered, and left */
    MOMENT_LEAVE,
    MOMENT_OUTPUT,           /* the first bytes on its stdout, and on its stderr */
    MOMENT_FINALIZE,
    MOMENT_EXIT,             /* value: its wait status */
    MOMENT_KINDS
};

/* A fence that a host may keep in records; a job that has more is told to have had them.
 * Six megabytes: what ranks do once is kept beside it, always. */
enum { MOMENT_SIZE = 24, MOMENTS_FENCES = 262144 };

struct moment {
    int64_t when;            /* ns */
    int     job, rank;       /* number of the job */
    enum moment_kind kind;
    int     value;           /* 0 where no use is named above */
};

struct moments {
    struct buf bytes;        /* owned: records */
    size_t     fences;       /* records of fences */
    size_t     dropped;      /* such that were not kept */
};

void moments_clear(struct moments *all);
void moments_add(struct moments *all, const struct moment *x);
/* Take the first one off data: 1; 0: none is left; -1 and e. */
int  moments_next(const char **data, size_t *len, struct moment *x, struct err *e);

#endif
