/* noise.h - what other hosts print unasked, login scripts and ssh: kept until all have
 * had their say, so that a line that many print is shown once.  Not thread-safe. */
#ifndef MPIEXEC_LITE_NOISE_H
#define MPIEXEC_LITE_NOISE_H

#include <stddef.h>

enum { NOISE_LINES = 64 };       /* different ones that are kept at most */

struct noise_line {
    char       *text;            /* owned */
    const char *first, *last;    /* borrowed: names of hosts that have said it */
    int         more;            /* hosts after the first */
};

struct noise {
    void      (*tell)(void *host, const char *text);
    void       *host;            /* borrowed */
    int         n;
    struct noise_line v[NOISE_LINES];
};

/* A host (named by the same pointer each time, which lives as long as n) has said this;
 * line breaks at its end and empty lines do not count. */
void noise_add(struct noise *n, const char *host, const char *line, size_t len);
/* Tell what was kept: "node1: line", or "node1 and 63 more: line". */
void noise_show(struct noise *n);
void noise_clear(struct noise *n);       /* forget it */

#endif
