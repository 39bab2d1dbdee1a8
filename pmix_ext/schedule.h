/* schedule.h - what the layer asks of the scheduler that its host belongs to, and is told.
 *
 * The host asks it (ext_ops.schedule) and says by ext_scheduled what came of it: once, later,
 * and not much after the time that was given.  A question lies in the struct of who waits,
 * and is borrowed until it is answered or stopped. */
#ifndef PMIX_EXT_SCHEDULE_H
#define PMIX_EXT_SCHEDULE_H

#include "pmix_ext/pmix_ext_common.h"
#include "wire/err.h"

#include <stdbool.h>
#include <sys/queue.h>

struct ext;

enum { SCHED_NAME = 64, SCHED_ID = 24 }; /* bytes of a queue's name, an allocation's id */

enum sched_kind { SCHED_QUEUES, SCHED_NEW, SCHED_EXTEND, SCHED_RELEASE };

struct sched_ask {                       /* texts are borrowed, and whatever a peer has said */
    enum sched_kind kind;
    double      seconds;                 /* that it may take */
    const char *id;                      /* SCHED_EXTEND, SCHED_RELEASE: the allocation; NULL,
                                            to extend: the one that the launcher runs in */
    const char *queue, *nodes;           /* SCHED_NEW: NULL: any */
    uint64_t    nnodes, ncpus;           /* likewise; 0: not said */
    uint32_t    time;                    /* seconds: SCHED_NEW: of it, 0: not said;
                                            SCHED_EXTEND: more of it */
};

struct sched_queue {
    char     name[SCHED_NAME];
    bool     up;                         /* it takes jobs */
    uint32_t nodes, idle;                /* all, and those that do nothing */
    uint64_t cpus;
    uint32_t limit;                      /* seconds that a job may last; 0: there is no limit */
};

struct sched_answer {                    /* borrowed while it is told */
    pmix_status_t status;
    const char   *why;                   /* where that is no success */
    const struct sched_queue *queues;    /* SCHED_QUEUES */
    size_t        nqueues;
    const char   *id, *nodes;            /* SCHED_NEW; nodes NULL: not known */
    uint32_t      time;                  /* seconds that are left of it; 0: not known */
};

struct sched_call {
    TAILQ_ENTRY(sched_call) in_ext;
    struct ext *ext;                     /* NULL: it is not asked */
    unsigned    number;
    void      (*told)(void *who, const struct sched_answer *a);
    void       *who;
};
TAILQ_HEAD(sched_calls, sched_call);

/* Ask.  PMIX_SUCCESS: told is called once, later; or why not, and e. */
pmix_status_t sched_start(struct sched_call *c, struct ext *x, const struct sched_ask *ask,
                          void (*told)(void *, const struct sched_answer *), void *who,
                          struct err *e);
/* Nobody waits any more, and what would have been allocated is given back; fine for one that
 * is not asked. */
void sched_stop(struct sched_call *c);
/* Give an allocation back; nobody waits for the answer. */
void sched_release(struct ext *x, const char *id);

#endif
