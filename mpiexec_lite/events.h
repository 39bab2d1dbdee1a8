/* events.h - what proxies tell the root about ranks, as records of fixed size.
 *
 * Many ends go in one message: a launcher of 100,000 ranks reads four thousand, not a
 * hundred thousand.  Numbers are little-endian.  Pure. */
#ifndef MPIEXEC_LITE_EVENTS_H
#define MPIEXEC_LITE_EVENTS_H

#include "wire/buf.h"

#include <stdbool.h>

enum { RANK_NEVER_RAN = -1 };        /* as a wait status */

struct rank_end {
    int rank, wstatus, pid;
    int pmi;                         /* enum pmi_phase, when it ended */
    int job;                         /* number of the job */
    bool fenced;                     /* it waited in a fence when its job was ended */
};

void events_add(struct buf *out, const struct rank_end *x);
/* Take the first one off data: 1; 0: none is left; -1 and e. */
int  events_next(const char **data, size_t *len, struct rank_end *x, struct err *e);

#endif
