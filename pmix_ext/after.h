/* after.h - something is to be done after some seconds.
 *
 * An `after` lies in the struct of who waits, and is borrowed until it is due or stopped.
 * The host has the clock (host operation timer of the core). */
#ifndef PMIX_EXT_AFTER_H
#define PMIX_EXT_AFTER_H

#include <stdbool.h>
#include <sys/queue.h>

struct ext;

struct after {
    TAILQ_ENTRY(after) in_ext;
    struct ext *ext;                     /* NULL: it is not running */
    unsigned    id;
    void      (*due)(void *who);
    void       *who;
};
TAILQ_HEAD(afters, after);

/* Call due(who) once after so many seconds (over 0); one that runs already begins anew.
 * False: the host has no timers. */
bool after_start(struct after *a, struct ext *x, double seconds, void (*due)(void *), void *who);
/* Not any more; fine for one that never ran. */
void after_stop(struct after *a);

/* For ext.c: the host says so. */
void afters_due(struct ext *x, unsigned id);

#endif
