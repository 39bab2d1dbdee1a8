/* registry_jobs.c - the registry's jobs, and names that come back from the store. */
#include "mpiexec_lite/registry_impl.h"

#include <stdlib.h>
#include <string.h>

/* --- jobs -------------------------------------------------------------- */

static struct job *job_new(const struct reg_job *from)
{
    struct job *x = malloc(sizeof *x + strlen(from->id) + strlen(from->host) +
                           strlen(from->command) + strlen(from->tools) + 4);
    char *at = (char *)(x + 1);

    if (!x)
        return NULL;
    *x = (struct job){ .j = *from };
    x->j.id = registry_put_text(&at, from->id);
    x->j.host = registry_put_text(&at, from->host);
    x->j.command = registry_put_text(&at, from->command);
    x->j.tools = registry_put_text(&at, from->tools);
    return x;
}

static struct job *find_job(const struct registry *r, uid_t owner, const char *id)
{
    struct job *j;

    TAILQ_FOREACH(j, &r->jobs, in_all)
        if (j->j.owner == owner && !strcmp(j->j.id, id))
            return j;
    return NULL;
}

bool registry_runs(const struct registry *r, uid_t owner, const char *id)
{
    return *id && find_job(r, owner, id);
}

void *registry_client(const struct registry *r, uid_t owner, const char *id)
{
    const struct job *j = find_job(r, owner, id);

    return j ? j->j.client : NULL;
}

static int count_jobs(const struct registry *r, uid_t owner)
{
    const struct job *j;
    int n = 0;

    TAILQ_FOREACH(j, &r->jobs, in_all)
        n += j->j.owner == owner;
    return n;
}

int registry_job(struct registry *r, const struct reg_job *j, struct err *e)
{
    struct job *old = find_job(r, j->owner, j->id), *x;

    if (!old && count_jobs(r, j->owner) >= REGISTRY_JOBS)
        return err_set(e, ERR_NOMEM, "more than %d jobs of one user", REGISTRY_JOBS);
    x = job_new(j);
    if (!x)
        return registry_no_memory(e);
    if (old) {
        if (old->j.client == j->client)
            x->j.since = old->j.since;   /* it says more of it */
        TAILQ_REMOVE(&r->jobs, old, in_all);
        free(old);
        r->njobs--;
    }
    x->j.serial = ++r->serial;
    TAILQ_INSERT_TAIL(&r->jobs, x, in_all);
    r->njobs++;
    return 0;
}

static bool ends_with_job(const struct name *x)
{
    return x->n.persistence != PERSIST_INDEFINITE || x->n.range == RANGE_JOB;
}

static void end_job(struct registry *r, struct job *j)
{
    struct name *x, *next;

    for (x = TAILQ_FIRST(&r->names); x; x = next) {
        next = TAILQ_NEXT(x, in_all);
        if (x->n.owner == j->j.owner && ends_with_job(x) && !strcmp(x->n.job, j->j.id))
            registry_drop(r, x);
    }
    TAILQ_REMOVE(&r->jobs, j, in_all);
    free(j);
    r->njobs--;
}

void registry_job_end(struct registry *r, const void *client, const char *id)
{
    struct job *j, *next;

    for (j = TAILQ_FIRST(&r->jobs); j; j = next) {
        next = TAILQ_NEXT(j, in_all);
        if (j->j.client == client && (!id || !strcmp(j->j.id, id)))
            end_job(r, j);
    }
}

/* --- from the store ---------------------------------------------------- */

int registry_load(struct registry *r, const struct reg_name *n)
{
    struct name *x = registry_name_new(n);

    if (!x || registry_add(r, x) < 0) {
        free(x);
        return -1;
    }
    if (n->serial > r->serial)
        r->serial = n->serial;
    return 0;
}

void registry_loaded(struct registry *r, double now)
{
    r->return_by = now + REGISTRY_RETURN;
}

void registry_drop_lost(struct registry *r)
{
    struct name *x, *next;

    r->return_by = 0;
    for (x = TAILQ_FIRST(&r->names); x; x = next) {
        next = TAILQ_NEXT(x, in_all);
        if (ends_with_job(x) && !find_job(r, x->n.owner, x->n.job))
            registry_drop(r, x);
    }
}
