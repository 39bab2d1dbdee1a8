/* serve_push.c - pmix-iof-push: bytes for the stdin of ranks that a tool feeds.  (PMIx
 * standard, PMIx_IOF_push.)
 *
 * A job's stdin can be pushed if its spawn said for whom (PMIX_STDIN_TGT).  Pushes of a job
 * are written one after the other, and each is answered when the ranks have taken it: so a
 * caller that waits for its answers never has more on its way than it has asked for.  When the
 * connection goes that has pushed last, or that has started the job, so does the stdin: nobody
 * else may know that the job waits for it. */
#include "pmix_ext/serve.h"

#include "pmix_ext/base64.h"

#include <stdlib.h>
#include <string.h>

enum { PUSH_NSPACE, PUSH_DATA, PUSH_END };

enum { WAITING = 64 };                   /* pushes of all callers at once */

struct push {
    TAILQ_ENTRY(push) in_ext;
    char           nspace[LIMIT_JOBID];
    struct waiters waiters;              /* who wants to hear of it */
    bool           given;                /* the host has it */
    bool           end;
    size_t         len;
    unsigned char  data[];
};

static void finish(struct ext *x, struct push *p, pmix_status_t status, const struct err *e)
{
    TAILQ_REMOVE(&x->pushes, p, in_ext);
    ext_finish(&p->waiters, status, e);
    free(p);
}

static struct push *first_of(struct ext *x, const char *nspace)
{
    struct push *p;

    TAILQ_FOREACH(p, &x->pushes, in_ext)
        if (!strcmp(p->nspace, nspace))
            return p;
    return NULL;
}

/* Give the host what is next for that job, if anything is. */
static void give_next(struct ext *x, const char *nspace)
{
    struct push *p = first_of(x, nspace);
    struct err e = { 0 };

    if (!p || p->given)
        return;
    p->given = true;
    if (x->ops.push(x->host, nspace, p->end ? NULL : (const char *)p->data, p->len))
        return;
    err_set(&e, ERR_OTHER, "no rank of %s reads what is pushed", nspace);
    finish(x, p, PMIX_ERR_NOT_SUPPORTED, &e);
    give_next(x, nspace);
}

void ext_pushed(struct ext *x, const char *nspace)
{
    struct push *p = first_of(x, nspace);

    if (!p || !p->given)
        return;
    finish(x, p, PMIX_SUCCESS, NULL);
    give_next(x, nspace);
}

void push_job_gone(struct ext *x, const struct job *j)
{
    struct err e = { 0 };
    struct push *p;

    err_set(&e, ERR_OTHER, "the job has ended");
    while ((p = first_of(x, j->id)))
        finish(x, p, PMIX_ERR_LOST_CONNECTION, &e);
}

void pushes_clear(struct ext *x)
{
    struct push *p;

    while ((p = TAILQ_FIRST(&x->pushes))) {
        TAILQ_REMOVE(&x->pushes, p, in_ext);
        ext_abandon(&p->waiters);
        free(p);
    }
}

static size_t count(const struct ext *x)
{
    const struct push *p;
    size_t n = 0;

    TAILQ_FOREACH(p, &x->pushes, in_ext)
        n++;
    return n;
}

/* Nobody hears what becomes of it. */
static void push_end(struct ext *x, const struct job *j)
{
    struct push *p = calloc(1, sizeof *p);

    if (!p)
        return;
    p->end = true;
    memcpy(p->nspace, j->id, sizeof p->nspace);
    waiters_init(&p->waiters);
    TAILQ_INSERT_TAIL(&x->pushes, p, in_ext);
    give_next(x, j->id);
}

void push_feeds(struct ext *x, const struct session *s, struct job *j)
{
    struct ext_job *kept = s ? ext_job_of(j) : NULL;

    if (kept)
        kept->feeder = s;
    else
        push_end(x, j);
}

void push_forget(const struct session *s)
{
    struct job *j;

    TAILQ_FOREACH(j, &s->ext->server->jobs, in_server) {
        struct ext_job *kept = j->layer;

        if (!kept || kept->feeder != s)
            continue;
        kept->feeder = NULL;
        push_end(s->ext, j);
    }
}

/* Who has pushed its end has nothing more to end. */
static void remember(struct request *rq, struct job *j, bool end)
{
    struct ext_job *kept = ext_job_of(j);

    if (kept)
        kept->feeder = end ? NULL : session_of(rq, NULL);
}

enum outcome ext_iof_push(struct request *rq, struct err *e)
{
    const struct value *data = &rq->arg[PUSH_DATA];
    struct ext *x = ext_of(rq);
    pmix_status_t status = PMIX_SUCCESS;
    struct job *j = ext_job_for(rq, rq->arg[PUSH_NSPACE].s, &status, e);
    char nspace[LIMIT_JOBID];
    struct push *p;
    long n;

    if (!j)
        return ext_refuse(rq, status);
    if (count(x) >= WAITING)
        return ext_fail(rq, e, PMIX_ERR_OUT_OF_RESOURCE, "%d pushes are waiting", WAITING);
    p = malloc(sizeof *p + base64_room(data->len));
    if (!p)
        return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for %zu bytes", data->len);
    *p = (struct push){ .end = rq->arg[PUSH_END].n };
    n = data->s ? base64_decode(data->s, data->len, p->data) : 0;
    if (n < 0 || (!n && !p->end)) {
        free(p);
        return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, n < 0 ? "data: not base64"
                                                         : "data: nothing to push");
    }
    if (n && p->end) {
        free(p);
        return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "data: the end is pushed alone");
    }
    p->len = (size_t)n;
    memcpy(p->nspace, j->id, sizeof p->nspace);
    waiters_init(&p->waiters);
    if (!request_park(rq, &p->waiters, e)) {
        free(p);
        return ext_refuse(rq, PMIX_ERR_OUT_OF_RESOURCE);
    }
    remember(rq, j, p->end);
    memcpy(nspace, p->nspace, sizeof nspace);
    TAILQ_INSERT_TAIL(&x->pushes, p, in_ext);
    give_next(x, nspace);
    return PARKED;
}
