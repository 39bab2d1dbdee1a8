/* ranges.h - names of hosts as a short list, "node[08-11],login".  No I/O.
 *
 * Read back by hosts_add_list and by Slurm: in a range all numbers have as many digits. */
#ifndef MPIEXEC_LITE_RANGES_H
#define MPIEXEC_LITE_RANGES_H

#include "wire/buf.h"

struct ranges {
    struct buf  text;            /* owned: what is complete */
    const char *first;           /* borrowed: of the names that follow each other */
    size_t      stem;            /* its length without the number at its end */
    unsigned long long last;     /* the number of the last of them */
    bool        several;
};

/* One more name, which outlives r.  r begins zeroed. */
void ranges_add(struct ranges *r, const char *name);
/* The list; it lives as long as r.  NULL: no memory. */
const char *ranges_text(struct ranges *r);
void ranges_clear(struct ranges *r);

#endif
