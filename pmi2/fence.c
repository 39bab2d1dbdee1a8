/* fence.c - collective calls: the fence (PMI-1 barrier and PMI-2 fence are one),
 * group barriers of PMI-1.2, and the ring.
 *
 * A fence exists from the first entry until all its members are in.  A member
 * may enter the next round before others have left this one (threads): entered[]
 * counts each member's entries, epoch the rounds that are complete. */
#include "pmi2/core.h"

#include <stdlib.h>
#include <string.h>

struct fence {
    TAILQ_ENTRY(fence) in_job;
    struct job     *job;             /* borrowed */
    enum fence_kind kind;
    long long       tag;
    int            *ranks;           /* owned, sorted; NULL: all of the job */
    size_t          n;               /* members */
    unsigned       *entered;         /* owned, by member */
    unsigned        epoch;           /* rounds complete */
    size_t          arrived;         /* members in the present round */
    struct waiters  waiters;
};

static void fence_free(struct fence *f)
{
    if (!f)
        return;
    free(f->ranks);
    free(f->entered);
    free(f);
}

void fences_free(struct job *j)
{
    struct fence *f;

    while ((f = TAILQ_FIRST(&j->fences))) {
        TAILQ_REMOVE(&j->fences, f, in_job);
        fence_free(f);
    }
}

static bool same(const struct fence *f, const struct fence_id *id)
{
    if (f->kind != id->kind || f->tag != id->tag || !f->ranks != !id->ranks)
        return false;
    return !f->ranks ||
           (f->n == id->n && !memcmp(f->ranks, id->ranks, id->n * sizeof *id->ranks));
}

static struct fence *fence_new(struct job *j, const struct fence_id *id)
{
    struct fence *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    f->job = j;
    f->kind = id->kind;
    f->tag = id->tag;
    f->n = id->ranks ? id->n : (size_t)j->size;
    waiters_init(&f->waiters);
    f->entered = calloc(f->n, sizeof *f->entered);
    if (id->ranks && (f->ranks = malloc(f->n * sizeof *f->ranks)))
        memcpy(f->ranks, id->ranks, f->n * sizeof *f->ranks);
    if (!f->entered || (id->ranks && !f->ranks)) {
        fence_free(f);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&j->fences, f, in_job);
    return f;
}

static struct fence *find_or_make(struct job *j, const struct fence_id *id, struct err *e)
{
    struct fence *f;
    int open = 0;

    TAILQ_FOREACH(f, &j->fences, in_job) {
        if (same(f, id))
            return f;
        open++;
    }
    if (open >= LIMIT_GROUPS)
        err_set(e, ERR_NOMEM, "more than %d group barriers are open", LIMIT_GROUPS);
    else if (!(f = fence_new(j, id)))
        err_set(e, ERR_NOMEM, "no memory for a fence");
    return f;
}

static int by_rank(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* Position of a rank among the members, or -1. */
static long index_of(const struct fence *f, int rank)
{
    const int *at;

    if (!f->ranks)
        return rank;
    at = bsearch(&rank, f->ranks, f->n, sizeof rank, by_rank);
    return at ? at - f->ranks : -1;
}

static struct member *member_at(const struct fence *f, size_t i)
{
    return &f->job->members[f->ranks ? f->ranks[i] : (int)i];
}

/* A waiting request of the round that is complete, or NULL. */
static struct request *next_released(const struct fence *f)
{
    struct request *rq;

    TAILQ_FOREACH(rq, &f->waiters.list, in_wait)
        if (rq->epoch == f->epoch)
            return rq;
    return NULL;
}

static void release_plain(struct fence *f)
{
    struct request *rq;

    while ((rq = next_released(f))) {
        if (rq->tagged || rq->conn->subversion > 1)
            reply_int(rq, 0, f->tag);
        request_finish(rq, REPLY, NULL);
    }
}

/* Take the texts out of the requests, as one neighbour may be answered, and its
 * request gone, before the other. */
static char *(*take_ring_texts(struct fence *f))[2]
{
    char *(*text)[2] = calloc(f->n, sizeof *text);
    struct request *rq;

    if (!text)
        return NULL;
    TAILQ_FOREACH(rq, &f->waiters.list, in_wait)
        if (rq->epoch == f->epoch)
            for (int side = 0; side < 2; side++) {
                text[rq->conn->member->rank][side] = rq->text[side];
                rq->text[side] = NULL;
            }
    return text;
}

static void release_ring(struct fence *f)
{
    char *(*text)[2] = take_ring_texts(f);
    const char *left, *right;
    struct request *rq;
    struct err e;

    err_set(&e, text ? ERR_OTHER : ERR_NOMEM, text ? "a neighbour has left" : "no memory for the ring");
    while ((rq = next_released(f))) {
        size_t r = (size_t)rq->conn->member->rank;

        reply_int(rq, 0, (long long)r);
        left = text ? text[(r + f->n - 1) % f->n][1] : NULL;
        right = text ? text[(r + 1) % f->n][0] : NULL;
        if (left && right) {
            reply_text(rq, 1, left, strlen(left));
            reply_text(rq, 2, right, strlen(right));
        }
        request_finish(rq, left && right ? REPLY : FAILED, &e);
    }
    for (size_t i = 0; text && i < f->n; i++) {
        free(text[i][0]);
        free(text[i][1]);
    }
    free(text);
}

static void release_rounds(struct fence *f)
{
    while (f->arrived == f->n) {
        f->epoch++;
        f->arrived = 0;
        for (size_t i = 0; i < f->n; i++)
            f->arrived += f->entered[i] > f->epoch;
        if (f->kind == FENCE_RING)
            release_ring(f);
        else
            release_plain(f);
    }
}

/* The fence misses a member that has ended. */
static void stuck(struct fence *f, struct member *missing)
{
    struct server *s = f->job->server;
    struct request *rq = TAILQ_FIRST(&f->waiters.list);
    struct err e;

    if (!rq)
        return;
    if (!s->options.fault_tolerant) {
        s->ops.stuck(s->host, missing, rq->conn->member);
        return;
    }
    err_set(&e, ERR_OTHER, "rank %d has ended", missing->rank);
    while ((rq = TAILQ_FIRST(&f->waiters.list)))
        request_finish(rq, FAILED, &e);
    TAILQ_REMOVE(&f->job->fences, f, in_job);
    fence_free(f);
}

static struct member *missing_member(const struct fence *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->entered[i] <= f->epoch && member_at(f, i)->gone)
            return member_at(f, i);
    return NULL;
}

enum outcome fence_enter(struct request *rq, const struct fence_id *id, struct err *e)
{
    struct job *j = request_job(rq);
    struct fence *f = find_or_make(j, id, e);
    struct member *missing;
    struct request *kept;
    long i;

    if (!f)
        return FAILED;
    i = index_of(f, rq->conn->member->rank);
    kept = i < 0 ? NULL : request_park(rq, &f->waiters, e);
    if (kept) {
        kept->epoch = ++f->entered[i];
        f->arrived += kept->epoch == f->epoch + 1;
        rq->text[0] = rq->text[1] = NULL;        /* the parked one has them */
        release_rounds(f);
    } else if (i < 0) {
        err_set(e, ERR_INVALID_ARG, "rank %d is not in the group", rq->conn->member->rank);
    }
    if (!f->arrived) {
        TAILQ_REMOVE(&j->fences, f, in_job);
        fence_free(f);
    } else if (j->gone && (missing = missing_member(f))) {
        stuck(f, missing);
    }
    return kept ? PARKED : FAILED;
}

void fences_member_ended(struct member *m)
{
    struct fence *f, *next;

    for (f = TAILQ_FIRST(&m->job->fences); f; f = next) {
        long i = index_of(f, m->rank);

        next = TAILQ_NEXT(f, in_job);
        if (i >= 0 && f->entered[i] <= f->epoch)
            stuck(f, m);
    }
}
