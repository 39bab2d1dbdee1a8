/* scheduler.h - the scheduler of this host, asked by its own commands as the user of the
 * launcher: Slurm (slurm.h).
 *
 * Each question is an errand, or two: nothing here waits.  A new allocation has a name that
 * nothing else has; where nobody wants it any more, whether it has an id yet or not, all of
 * that name is cancelled. */
#ifndef MPIEXEC_LITE_SCHEDULER_H
#define MPIEXEC_LITE_SCHEDULER_H

#include "mpiexec_lite/child.h"
#include "pmix_ext/schedule.h"

struct ev_loop;
struct sched_job;

struct scheduler {
    TAILQ_HEAD(, sched_job) jobs;        /* owned: questions under way */
    struct ev_loop *loop;                /* borrowed, as are the next two */
    char *const    *envp;
    const struct inherited *user;
    unsigned        names;               /* of allocations so far */
    /* What came of a question, from the loop. */
    void (*answered)(void *host, unsigned number, const struct sched_answer *a);
    void  *host;
};

void scheduler_init(struct scheduler *s, struct ev_loop *loop, char *const *envp,
                    const struct inherited *user,
                    void (*answered)(void *, unsigned, const struct sched_answer *), void *host);
/* Ends all commands, whatever they were doing. */
void scheduler_clear(struct scheduler *s);

/* Whether allocations can be asked for: there is a salloc. */
bool scheduler_allocates(void);
/* As ext_ops has them (pmix_ext/ext.h). */
pmix_status_t scheduler_ask(struct scheduler *s, unsigned number, const struct sched_ask *ask,
                            struct err *e);
void          scheduler_forget(struct scheduler *s, unsigned number);

/* A child has ended; false: none of these. */
bool   scheduler_reaped(struct scheduler *s, pid_t pid, int wstatus);
/* The commands that run: how many, and the first `most` of their pids. */
size_t scheduler_pids(const struct scheduler *s, pid_t *pids, size_t most);

#endif
