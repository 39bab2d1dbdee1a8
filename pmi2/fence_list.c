/* fence_list.c - the open fences of a job: found, made and dropped. */
#include "pmi2/fence_impl.h"

#include <stdlib.h>
#include <string.h>

static void fence_free(struct fence *f)
{
    if (!f)
        return;
    free(f->ranks);
    free(f->here);
    free(f->entered);
    buf_clear(&f->ring);
    free(f);
}

void fence_drop(struct fence *f)
{
    TAILQ_REMOVE(&f->job->fences, f, in_job);
    fence_free(f);
}

void fences_free(struct job *j)
{
    struct fence *f;

    while ((f = TAILQ_FIRST(&j->fences)))
        fence_drop(f);
    buf_clear(&j->failed);
}

struct fence_id fence_id_of(const struct fence *f)
{
    return (struct fence_id){ f->kind, f->tag, f->ranks, f->ranks ? f->n : 0 };
}

/* Which of the members are here. */
static int find_here(struct fence *f)
{
    const struct job *j = f->job;

    f->nhere = (size_t)j->nlocal;
    if (!f->ranks)
        return 0;
    f->here = malloc(f->n * sizeof *f->here);
    if (!f->here)
        return -1;
    f->nhere = 0;
    for (size_t i = 0; i < f->n; i++)
        if (job_member(f->job, f->ranks[i]))
            f->here[f->nhere++] = f->ranks[i];
    return 0;
}

static struct fence *fence_new(struct job *j, const struct fence_id *id)
{
    struct fence *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    f->job = j;
    f->kind = id->kind;
    f->tag = id->tag;
    f->waiting = -1;
    f->n = id->ranks ? id->n : (size_t)(id->kind == FENCE_NODE ? j->nlocal : j->size);
    waiters_init(&f->waiters);
    if (id->ranks && (f->ranks = malloc(f->n * sizeof *f->ranks)))
        memcpy(f->ranks, id->ranks, f->n * sizeof *f->ranks);
    if ((id->ranks && !f->ranks) || find_here(f) < 0 ||
        !(f->entered = calloc(f->nhere ? f->nhere : 1, sizeof *f->entered))) {
        fence_free(f);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&j->fences, f, in_job);
    return f;
}

static bool same(const struct fence *f, const struct fence_id *id)
{
    if (f->kind != id->kind || f->tag != id->tag || !f->ranks != !id->ranks)
        return false;
    return !f->ranks ||
           (f->n == id->n && !memcmp(f->ranks, id->ranks, id->n * sizeof *id->ranks));
}

struct fence *fence_find(struct job *j, const struct fence_id *id)
{
    struct fence *f;

    TAILQ_FOREACH(f, &j->fences, in_job)
        if (same(f, id))
            return f;
    return NULL;
}

struct fence *fence_need(struct job *j, const struct fence_id *id, struct err *e)
{
    struct fence *f = fence_find(j, id);
    int open = 0;

    if (f)
        return f;
    TAILQ_FOREACH(f, &j->fences, in_job)
        open++;
    if (open >= LIMIT_GROUPS)
        err_set(e, ERR_NOMEM, "more than %d group barriers are open", LIMIT_GROUPS);
    else if (!(f = fence_new(j, id)))
        err_set(e, ERR_NOMEM, "no memory for a fence");
    return f;
}
