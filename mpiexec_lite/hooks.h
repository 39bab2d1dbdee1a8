/* hooks.h - what set-up providers do for one job, at one place (RFC0012).
 *
 * Either for the job as a whole, where the launcher is, before any server is started for it:
 *
 *     describe, setup-application                        -> ready: what they have said
 *
 * or for its part on a node:
 *
 *     describe, setup-local, setup-child of each rank    -> ready: ranks may be started
 *     child-finished of each rank, once
 *     local-finished, once, after all of these           -> over
 *
 * Every provider has a process of its own (hook_run.h).  All are asked at the same time, and
 * a step is over when all have answered; what they say counts in their order.  A rank that
 * was set up and never ran is finished as well, so that a provider can give back whatever it
 * has taken.
 *
 * Until `ready`, a failure of any is told by `failed`, and there will be no ready.  Later
 * it is a warning, and that provider is not asked any more.
 *
 * Operations are called from the loop, never from within a function of this header, and must
 * not free it.  Not thread-safe. */
#ifndef MPIEXEC_LITE_HOOKS_H
#define MPIEXEC_LITE_HOOKS_H

#include "mpiexec_lite/hook_run.h"

#include <sys/queue.h>

struct hooks;
TAILQ_HEAD(all_hooks, hooks);            /* of one server */

struct hooks_ops {
    void (*ready)(void *host);
    /* Once; to be escaped where it is shown.  cancelled: by hooks_cancel. */
    void (*failed)(void *host, const char *why, bool cancelled);
    void (*over)(void *host);                            /* NULL: nobody wants to know */
    void (*warn)(void *host, const char *text);
};

struct hooks_args {                      /* borrowed */
    struct ev_loop         *loop;
    struct all_hooks       *all;         /* which it becomes part of, until it is freed */
    const struct strlist   *providers;   /* absolute paths */
    bool                    root_fails;  /* one that needs root, and we are not, is a failure;
                                            else it is left out */
    const struct inherited *user;
    struct hook_job         job;
    /* For a node: */
    int                     node;        /* of the plan's hosts */
    const struct setup     *setup;       /* what was said of the job */
    const int              *ranks;       /* those here, in rising order; copied */
    int                     nranks;
};

/* Both begin at once.  NULL and e: it could not be begun. */
struct hooks *hooks_application(const struct hooks_args *a, const struct hooks_ops *ops,
                                void *host, struct err *e);
struct hooks *hooks_local(const struct hooks_args *a, const struct hooks_ops *ops, void *host,
                          struct err *e);
/* Ends what still runs, unasked.  NULL is fine. */
void hooks_free(struct hooks *h);

/* Ranks may be started (or, of the job as a whole, the result is there). */
bool hooks_ready(const struct hooks *h);
/* What was said of the job as a whole, to be moved from there; warnings are about it. */
struct setup *hooks_result(struct hooks *h);
/* Indexes of providers that take part on nodes, as bits by their number. */
bool hooks_wants_node(const struct hooks *h, size_t provider);
/* What was said of the i-th rank here. */
const struct setup *hooks_child(const struct hooks *h, int i);

/* A rank has ended, or (started false) will never run. */
void hooks_child_finished(struct hooks *h, int rank, bool started, int wstatus);
/* It is not wanted any more: `failed` follows, unless it is ready already. */
void hooks_cancel(struct hooks *h);
/* No rank lives any more, nor will: what is left to do follows; then `over`.  Any number of
 * times.  Before `ready` it is given up first. */
void hooks_finish(struct hooks *h);
bool hooks_over(const struct hooks *h);

/* A child has ended; false: it is none of theirs. */
bool all_hooks_reaped(struct all_hooks *all, pid_t pid);
/* Their processes, for who kills all others: how many, of which the first `most` are
 * written. */
size_t all_hooks_pids(const struct all_hooks *all, pid_t *pids, size_t most);

#endif
