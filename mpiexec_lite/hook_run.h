/* hook_run.h - the process of one set-up provider for one job on this node: started, asked
 * line by line, ended.
 *
 * It answers in the order it was asked; each answer has its time, counted from the one
 * before.  A process that ends, takes too long, says too much or something unasked has
 * failed: it is killed with its group, and op `failed` is told once, with what it last wrote
 * to stderr.  Nothing else of its stderr is shown.
 *
 * Operations are called from the loop and must not free the run. */
#ifndef MPIEXEC_LITE_HOOK_RUN_H
#define MPIEXEC_LITE_HOOK_RUN_H

#include "mpiexec_lite/child.h"
#include "mpiexec_lite/hook_text.h"
#include "mpiexec_lite/providers.h"

#include <ev.h>

struct hook_run;

struct hook_run_ops {
    /* An answer to the oldest question. */
    void (*answer)(void *host, struct hook_run *r, enum hook to, int rank, const char *line,
                   size_t len);
    void (*failed)(void *host, struct hook_run *r, const char *why);
    /* It has ended as hook_run_close wanted. */
    void (*closed)(void *host, struct hook_run *r);
};

struct question { enum hook hook; int rank; };

struct hook_run {
    const struct hook_run_ops *ops;      /* borrowed, as are the next two */
    void           *host;
    struct ev_loop *loop;
    char            name[PROVIDER_NAME];
    double          timeout;             /* the host's to change */
    pid_t           pid;                 /* 0: reaped, or not started */
    int             in, out, err;        /* owned: our ends of its 0, 1, 2; -1: closed */
    ev_io           writable, readable, worded;
    ev_timer        overdue;
    struct buf      to, from, words;     /* owned; wiped */
    struct question *asked;              /* owned: those that wait for answers, oldest first */
    size_t          first, n, cap;
    bool            closing, over;       /* over: failed, or closed */
};

/* Start it.  0, or -1 and e; to be cleared either way. */
int  hook_run_start(struct hook_run *r, struct ev_loop *loop, const char *path,
                    const struct inherited *user, const struct hook_run_ops *ops, void *host,
                    struct err *e);
/* Kills it, if it lives. */
void hook_run_clear(struct hook_run *r);

/* A question has been appended to r->to. */
void hook_run_asked(struct hook_run *r, enum hook hook, int rank);
/* Nothing more will be asked: once all is answered, its stdin is closed. */
void hook_run_close(struct hook_run *r);
/* It is of no use: killed; nobody is told. */
void hook_run_kill(struct hook_run *r);
/* A child has ended; false: not this one. */
bool hook_run_reaped(struct hook_run *r, pid_t pid);

#endif
