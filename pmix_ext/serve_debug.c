/* serve_debug.c - ranks that wait for a debugger: what they and tools say of it, by events.
 * (PMIx standard, "Tools and debuggers"; RFC0023.)
 *
 * A rank that waits at a place of its own says PMIX_READY_FOR_DEBUG, which is for the launcher
 * alone: that raises the event once, when all of the job wait.  PMIX_DEBUGGER_RELEASE goes to
 * whom its range names, as events do; those of them that are held at exec or in init, and so
 * hear nothing, are let go by the launcher. */
#include "pmix_ext/serve_event.h"

#include <string.h>

bool debug_waits(const struct session *s, pmix_status_t status)
{
    const struct ext *x = s->ext;

    return status == PMIX_READY_FOR_DEBUG && !s->who.tool && x->ops.waits &&
           x->ops.waits(x->host, s->who.nspace, (int)s->who.rank);
}

/* A rank has a say in its own job, and in those that it is connected to. */
static bool may_release(const struct session *s, const char *job)
{
    struct job *mine, *other;

    if (s->who.tool || !strcmp(s->who.nspace, job))
        return true;
    mine = job_named(s->ext->server, s->who.nspace);
    other = job_named(s->ext->server, job);
    return mine && other && job_minds(mine, other);
}

static void release(const struct session *s, const char *job, int rank)
{
    const struct ext_order order = { .kind = EXT_RELEASE, .who = s->who.nspace };
    struct ext *x = s->ext;

    if (may_release(s, job))
        x->ops.order(x->host, job, rank, &order);
}

/* Those of a job that the event's range names. */
static void release_targets(const struct session *s, const struct event *ev,
                            const struct fact_job *j)
{
    for (size_t i = 0; i < ev->targets.n; i++) {
        const pmix_proc_t *t = &ev->targets.v[i];

        if (*t->nspace && strcmp(t->nspace, j->nspace))
            continue;
        if (t->rank == PMIX_RANK_WILDCARD)
            release(s, j->nspace, -1);
        else if (t->rank < (uint32_t)j->size)
            release(s, j->nspace, (int)t->rank);
    }
}

void debug_release(const struct session *s, const struct event *ev)
{
    struct ext *x = s->ext;
    struct fact_job j;

    if (ev->status != PMIX_DEBUGGER_RELEASE || !x->ops.order)
        return;
    for (size_t i = 0; x->ops.facts->job(x->host, i, &j); i++)
        if (ev->range == PMIX_RANGE_CUSTOM)
            release_targets(s, ev, &j);
        else if (ev->range == PMIX_RANGE_SESSION || ev->range == PMIX_RANGE_GLOBAL ||
                 (ev->range == PMIX_RANGE_NAMESPACE && !strcmp(s->who.nspace, j.nspace)))
            release(s, j.nspace, -1);
}
