/* spawn_planned.c - see spawn_planned.h */
#include "pmix_ext/spawn_planned.h"

#include "pmix_ext/lite_keys.h"
#include "pmix_ext/serve.h"
#include "pmix_ext/serve_spawn.h"
#include "pmix_ext/spawn_daemons.h"
#include "pmix_ext/value.h"
#include "wire/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct planned {                         /* a program, and so a job of daemons */
    TAILQ_ENTRY(planned) in_ext;
    void          *app;                  /* owned: an array of one pmix_app_t */
    struct daemons daemons;              /* its texts are the app's */
    const struct session *owner;         /* borrowed: whose they are; NULL: it has gone */
};

static void drop(struct planned *p)
{
    value_free_array(PMIX_APP, p->app, 1);
    free(p);
}

void planned_clear(struct plans *plans)
{
    struct planned *p;

    while ((p = TAILQ_FIRST(plans))) {
        TAILQ_REMOVE(plans, p, in_ext);
        drop(p);
    }
}

/* --- what is wanted ---------------------------------------------------- */

/* The request, as far as it is known without the job. */
static pmix_status_t translate(const struct planned *p, struct spawn_request *want, struct err *e)
{
    const struct infos none = { 0 };

    return spawn_translate(&none, p->app, 1, want, e);
}

/* Whatever job it names, it is that of the launcher. */
static pmix_status_t read_daemons(struct planned *p, struct err *e)
{
    static const pmix_proc_t later = { .rank = PMIX_RANK_WILDCARD };
    pmix_app_t *app = p->app;
    const struct infos infos = { app->info, app->ninfo };

    p->daemons = (struct daemons){ .are = true, .target = &later };
    return daemons_complete(&infos, &p->daemons, e);
}

static pmix_status_t add(const pmix_app_t *app, const struct session *owner, struct plans *to,
                         struct err *e)
{
    struct planned *p = calloc(1, sizeof *p);
    struct spawn_request want = { 0 };
    pmix_status_t status;

    if (!p || value_copy_array(PMIX_APP, app, 1, &p->app, e) < 0) {
        free(p);
        err_set(e, ERR_NOMEM, "no memory for daemons");
        return PMIX_ERR_NOMEM;
    }
    p->owner = owner;
    TAILQ_INSERT_TAIL(to, p, in_ext);
    status = read_daemons(p, e);
    if (status == PMIX_SUCCESS)
        status = translate(p, &want, e);
    spawn_clear(&want);
    return status;
}

/* Each of them is a job; there are no more of those to wait for than programs in a spawn. */
static pmix_status_t check_room(const struct plans *to, const struct session *owner, size_t n,
                                struct err *e)
{
    const struct plans *waiting[] = { to, &owner->ext->plans };
    const struct planned *p;
    size_t all = n;

    for (size_t i = 0; i < 2; i++)
        TAILQ_FOREACH(p, waiting[i], in_ext)
            all++;
    if (all <= LIMIT_COMMANDS)
        return PMIX_SUCCESS;
    err_set(e, ERR_NUM_ARGS, "%zu programs wait to be started beside a job, at most %d can", all,
            LIMIT_COMMANDS);
    return PMIX_ERR_BAD_PARAM;
}

pmix_status_t planned_take(const pmix_info_t *info, const struct session *owner, struct plans *to,
                           struct err *e)
{
    const pmix_data_array_t *a = info->value.type == PMIX_DATA_ARRAY ? info->value.data.darray
                                                                     : NULL;
    pmix_status_t status;

    if (strcmp(info->key, LITE_DAEMONS))
        return PMIX_SUCCESS;
    if (!a || a->type != PMIX_APP || !a->size) {
        err_set(e, ERR_INVALID_VAL, LITE_DAEMONS " is no array of PMIX_APP");
        return PMIX_ERR_TYPE_MISMATCH;
    }
    status = check_room(to, owner, a->size, e);
    for (size_t i = 0; i < a->size && status == PMIX_SUCCESS; i++)
        status = add((const pmix_app_t *)a->array + i, owner, to, e);
    if (status != PMIX_SUCCESS)
        err_context(e, LITE_DAEMONS);
    return status;
}

static bool is_marked(const pmix_app_t *app)
{
    for (size_t i = 0; i < app->ninfo; i++)
        if (!strcmp(app->info[i].key, PMIX_DEBUGGER_DAEMONS))
            return app->info[i].value.type == PMIX_UNDEF ||
                   (app->info[i].value.type == PMIX_BOOL && app->info[i].value.data.flag);
    return false;
}

/* What is for daemons alone, and would mean nothing to others. */
static pmix_status_t check_unmarked(const pmix_app_t *app, struct err *e)
{
    for (size_t i = 0; i < app->ninfo; i++)
        if (daemons_know(app->info[i].key)) {
            err_set(e, ERR_INVALID_ARG, "info[%zu]: %.64s is for an app with "
                    PMIX_DEBUGGER_DAEMONS, i, app->info[i].key);
            return PMIX_ERR_BAD_PARAM;
        }
    return PMIX_SUCCESS;
}

pmix_status_t planned_split(const pmix_app_t *apps, size_t n, const struct session *owner,
                            struct plans *to, pmix_app_t *rest, size_t *nrest, struct err *e)
{
    pmix_status_t status = check_room(to, owner, n, e);

    *nrest = 0;
    for (size_t i = 0; i < n && status == PMIX_SUCCESS; i++) {
        status = is_marked(&apps[i]) ? add(&apps[i], owner, to, e) : check_unmarked(&apps[i], e);
        if (status != PMIX_SUCCESS)
            err_context(e, "apps[%zu]", i);
        else if (!is_marked(&apps[i]))
            rest[(*nrest)++] = apps[i];
    }
    if (status != PMIX_SUCCESS || *nrest || !n)
        return status;
    err_set(e, ERR_INVALID_ARG, "apps: all are daemons, which the infos of the job are to say");
    return PMIX_ERR_BAD_PARAM;
}

/* --- they are started -------------------------------------------------- */

void planned_move(struct plans *to, struct plans *from)
{
    TAILQ_CONCAT(to, from, in_ext);
}

void planned_take_back(struct ext *x, struct planned *last)
{
    struct planned *p;

    while ((p = last ? TAILQ_NEXT(last, in_ext) : TAILQ_FIRST(&x->plans))) {
        TAILQ_REMOVE(&x->plans, p, in_ext);
        drop(p);
    }
}

static pmix_status_t start(struct ext *x, struct planned *p, const char *job, struct err *e)
{
    pmix_proc_t target = { .rank = PMIX_RANK_WILDCARD };
    struct spawn_request want = { 0 };
    pmix_status_t status;

    snprintf(target.nspace, sizeof target.nspace, "%s", job);
    p->daemons.target = &target;
    status = translate(p, &want, e);
    if (status == PMIX_SUCCESS)
        status = daemons_place(x, &p->daemons, &want, e);
    if (status == PMIX_SUCCESS)
        status = daemons_start(x, p->owner, job, &want, !p->daemons.nohup, e);
    spawn_clear(&want);
    return status;
}

bool planned_is_main(struct ext *x, const char *job)
{
    struct fact_job j;

    for (size_t i = 0; x->ops.facts->job(x->host, i, &j); i++)
        if (!strcmp(j.nspace, job))
            return j.number == 0;
    return false;
}

void planned_start_all(struct ext *x, struct plans *plans, const char *job)
{
    struct planned *p;

    while ((p = TAILQ_FIRST(plans))) {
        struct err e = { 0 };

        TAILQ_REMOVE(plans, p, in_ext);
        if (start(x, p, job, &e) != PMIX_SUCCESS)
            daemons_failed(x, job, &e);
        drop(p);
    }
}

void planned_start(struct ext *x, const char *job)
{
    if (!TAILQ_EMPTY(&x->plans) && planned_is_main(x, job))
        planned_start_all(x, &x->plans, job);
}

void planned_forget(const struct session *s, struct plans *plans)
{
    struct planned *p, *next;

    for (p = TAILQ_FIRST(plans); p; p = next) {
        next = TAILQ_NEXT(p, in_ext);
        if (p->owner != s)
            continue;
        p->owner = NULL;
        if (!p->daemons.nohup) {
            TAILQ_REMOVE(plans, p, in_ext);
            drop(p);
        }
    }
}
