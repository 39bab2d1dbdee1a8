/* serve_ends.c - requests that are answered when processes have ended: an order to end them, and a
 * tool's leave, with which its daemons end.  So the answer is true when it comes. */
#include "pmix_ext/serve.h"

#include <stdlib.h>
#include <string.h>

struct ending {
    TAILQ_ENTRY(ending) in_ext;
    struct awaited awaited;
    pmix_proc_t   *procs;                /* owned: those that have not ended */
    size_t         n;
    struct after   limit;
};

static void ending_free(struct ending *w)
{
    after_stop(&w->limit);
    awaited_end(&w->awaited);
    TAILQ_REMOVE(&w->awaited.ext->endings, w, in_ext);
    free(w->procs);
    free(w);
}

static void nobody_waits(struct awaited *a)
{
    ending_free((struct ending *)((char *)a - offsetof(struct ending, awaited)));
}

static void too_late(void *who)
{
    struct ending *w = who;
    struct err e = { 0 };

    err_set(&e, ERR_OTHER, "%zu of those that are to end have not in time", w->n);
    ext_finish(&w->awaited.waiters, PMIX_ERR_TIMEOUT, &e);
    ending_free(w);
}

enum outcome ends_await(struct request *rq, const pmix_proc_t *procs, size_t n, double seconds,
                        struct err *e)
{
    struct ext *x = ext_of(rq);
    struct ending *w;

    if (!n)
        return REPLY;
    w = calloc(1, sizeof *w);
    if (w)
        w->procs = calloc(n, sizeof *w->procs);
    if (!w || !w->procs) {
        free(w);
        return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory to wait for %zu ends", n);
    }
    w->n = n;
    memcpy(w->procs, procs, n * sizeof *w->procs);
    awaited_begin(&w->awaited, x, nobody_waits);
    TAILQ_INSERT_TAIL(&x->endings, w, in_ext);
    if (request_park(rq, &w->awaited.waiters, e)) {
        if (seconds > 0)
            after_start(&w->limit, x, seconds, too_late, w);
        return PARKED;
    }
    ending_free(w);
    return ext_refuse(rq, PMIX_ERR_NOMEM);
}

/* Whether that end is what this process, or job, was waited for. */
static bool is_it(const pmix_proc_t *p, const char *job, int rank)
{
    return !strcmp(p->nspace, job) && (rank < 0 || p->rank == (pmix_rank_t)rank);
}

/* Whether nobody else is waited for. */
static bool take_away(struct ending *w, const char *job, int rank)
{
    size_t left = 0;

    for (size_t i = 0; i < w->n; i++)
        if (!is_it(&w->procs[i], job, rank))
            w->procs[left++] = w->procs[i];
    w->n = left;
    return !left;
}

/* An answer may be a connection's last: then others of it are gone, too. */
void ends_told(struct ext *x, const char *job, int rank)
{
    struct ending *w = TAILQ_FIRST(&x->endings);

    while (w)
        if (take_away(w, job, rank)) {
            ext_finish(&w->awaited.waiters, PMIX_SUCCESS, NULL);
            ending_free(w);
            w = TAILQ_FIRST(&x->endings);
        } else {
            w = TAILQ_NEXT(w, in_ext);
        }
}

void ends_clear(struct ext *x)
{
    while (!TAILQ_EMPTY(&x->endings))
        ending_free(TAILQ_FIRST(&x->endings));
}
