/* tail.h - the end of what somebody has written: the last bytes, and of these whole lines.
 * Bounded, and without memory before the first byte.  Pure. */
#ifndef MPIEXEC_LITE_TAIL_H
#define MPIEXEC_LITE_TAIL_H

#include "wire/buf.h"

enum { TAIL_SIZE = 2048, TAIL_LINES = 5 };

struct tail {
    char  *ring;             /* owned: TAIL_SIZE bytes; NULL: nothing was written yet */
    size_t total;            /* bytes that were */
};

void tail_clear(struct tail *t);
/* Without memory nothing is kept. */
void tail_add(struct tail *t, const char *data, size_t len);
/* Append the last lines, at most TAIL_LINES; of one that is longer than the ring its end. */
void tail_text(const struct tail *t, struct buf *out);

#endif
