/* serve_debug.c - ranks that wait for a debugger: what they and tools say of it, by events.
 * (PMIx standard, "Tools and debuggers"; RFC0023.)
 *
 * A rank that waits at a place of its own says PMIX_READY_FOR_DEBUG, which is for the launcher
 * alone: that raises the event once, when all of the job wait.  PMIX_DEBUGGER_RELEASE goes to
 * whom its range names, as events do; those of them that are held at exec or in init, and so
 * hear nothing, are let go by the launcher. */
#include "pmix_ext/serve_event.h"

#include "pmix_ext/commands.h"
#include "pmix_ext/directives.h"
#include "pmix_ext/lite_keys.h"
#include "pmix_ext/pmix_ext_keys.h"
#include "pmix_ext/serve_spawn.h"

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

/* --- a launcher that waits --------------------------------------------- */

static pmix_status_t no_infos(struct err *e)
{
    err_set(e, ERR_INVALID_VAL, PMIX_LAUNCH_DIRECTIVES " is no array of PMIX_INFO");
    return PMIX_ERR_TYPE_MISMATCH;
}

/* Those that come with an event; borrowed from it. */
static pmix_status_t find_directives(const struct infos *infos, struct infos *out, struct err *e)
{
    const pmix_info_t *info = info_find(infos, PMIX_LAUNCH_DIRECTIVES);
    const pmix_data_array_t *a = info && info->value.type == PMIX_DATA_ARRAY
                                 ? info->value.data.darray : NULL;

    *out = (struct infos){ 0 };
    if (!info)
        return PMIX_SUCCESS;
    if (!a || (a->size && a->type != PMIX_INFO))
        return no_infos(e);
    *out = (struct infos){ a->size ? a->array : NULL, a->size };
    return PMIX_SUCCESS;
}

typedef int order_fn(void *host, const struct spawn_command *directives, struct err *e);

/* Into the words of a spawn, and daemons. */
static pmix_status_t take_directives(const struct session *s, const struct infos *infos,
                                     struct spawn_command *c, struct plans *plans, struct err *e)
{
    pmix_status_t status = PMIX_SUCCESS;

    for (size_t i = 0; i < infos->n && status == PMIX_SUCCESS; i++)
        status = strcmp(infos->v[i].key, LITE_DAEMONS)
                 ? spawn_directives(&infos->v[i], 1, c, e)
                 : planned_take(&infos->v[i], s, plans, e);
    return status;
}

/* Done: true; it does not wait, or that went wrong: *status. */
static bool give(const struct session *s, order_fn *order, const struct infos *infos,
                pmix_status_t *status, struct err *e)
{
    struct spawn_request words = { 0 };
    struct spawn_command *c = spawn_add_command(&words);
    struct plans plans = PLANS_INIT(plans);
    struct planned *last = TAILQ_LAST(&s->ext->plans, plans);
    int rc;

    *status = c ? take_directives(s, infos, c, &plans, e) : PMIX_ERR_NOMEM;
    planned_move(&s->ext->plans, &plans);        /* before the job can be there */
    rc = *status == PMIX_SUCCESS ? order(s->ext->host, c, e) : 0;
    if (rc < 0)
        *status = e->code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_BAD_PARAM;
    if (rc <= 0)
        planned_take_back(s->ext, last);
    else if (spawn_info(c, "hold"))
        daemons_tie_main(s);
    spawn_clear(&words);
    return rc > 0;
}

pmix_status_t debug_go(const struct session *s, pmix_status_t code, const struct infos *infos,
                       bool *went, struct err *e)
{
    struct infos directives;
    pmix_status_t status;

    *went = false;
    if (code != PMIX_DEBUGGER_RELEASE || !s->who.tool || !s->ext->ops.go)
        return PMIX_SUCCESS;
    status = find_directives(infos, &directives, e);
    if (status == PMIX_SUCCESS)
        *went = give(s, s->ext->ops.go, &directives, &status, e);
    return status;
}

enum outcome ext_launch_directives(struct request *rq, struct err *e)
{
    struct session *s = session_of(rq, e);
    pmix_status_t status = PMIX_SUCCESS;
    struct infos infos = { 0 };
    bool done = false;

    if (!s)
        return ext_refuse(rq, PMIX_ERR_NOMEM);
    if (s->who.tool && s->ext->ops.direct) {
        status = directives_read(&infos, rq->arg[0].s, rq->arg[0].len, "infos", e);
        if (status == PMIX_SUCCESS)
            done = give(s, s->ext->ops.direct, &infos, &status, e);
        infos_clear(&infos);
    }
    if (status != PMIX_SUCCESS)
        return ext_refuse(rq, status);
    s->directs |= done;
    return done ? REPLY : ext_fail(rq, e, PMIX_ERR_INVALID_OPERATION,
                                   "no launcher waits for directives here");
}

void debug_forget(const struct session *s)
{
    if (s->directs && s->ext->ops.left)
        s->ext->ops.left(s->ext->host);
}
