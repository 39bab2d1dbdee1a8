/* glance.h - looks at files, each by a process of its own: a file system that does not
 * answer holds up that process, and nobody else. */
#ifndef MPIEXEC_LITE_GLANCE_H
#define MPIEXEC_LITE_GLANCE_H

#include <stdbool.h>
#include <sys/queue.h>
#include <time.h>

struct ev_loop;

struct glance_seen {
    bool            there;
    long long       size;
    struct timespec accessed, modified;
};

struct glance;
struct glances {
    TAILQ_HEAD(, glance) list;           /* owned: that have not answered */
    struct ev_loop *loop;                /* borrowed */
    /* What the look with that number has found.  Not called where it could not be done. */
    void (*seen)(void *host, unsigned number, const struct glance_seen *what);
    void  *host;
};

void glances_init(struct glances *g, struct ev_loop *loop,
                  void (*seen)(void *, unsigned, const struct glance_seen *), void *host);
void glances_clear(struct glances *g);   /* what has not answered is ended */
void glance_at(struct glances *g, unsigned number, const char *path);

#endif
