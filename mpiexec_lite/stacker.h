/* stacker.h - stacks of processes of this host, each time by a process of its own
 * (stack_helper.h), which has some seconds: a server itself never waits. */
#ifndef MPIEXEC_LITE_STACKER_H
#define MPIEXEC_LITE_STACKER_H

#include "wire/buf.h"

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

struct ev_loop;
struct stacking;

struct stack_ask {
    unsigned id;                         /* of the survey */
    int      number;                     /* of the job */
    unsigned what;                       /* FACT_..., with stacks */
};

struct stacker {
    TAILQ_HEAD(, stacking) list;         /* owned: that go on */
    struct ev_loop *loop;                /* borrowed */
    /* What was found, as crew_stacks takes it; not all, where time was up. */
    void (*done)(void *host, const struct stack_ask *ask, const char *data, size_t len);
    void  *host;
};

void stacker_init(struct stacker *s, struct ev_loop *loop,
                  void (*done)(void *, const struct stack_ask *, const char *, size_t), void *host);
void stacker_clear(struct stacker *s);   /* what goes on is ended */
/* 0, and done follows; or -1: it could not be begun. */
int  stacker_ask(struct stacker *s, const struct stack_ask *ask, const pid_t *pids, size_t n);

#endif
