/* serve_spawn.c - pmix-spawn: further jobs, started as those of PMI's spawn are.
 * (PMIx standard, PMIx_Spawn.)
 *
 * What the standard's keys mean is put into the words of a spawn (pmi2/spawn.h), which the
 * launcher knows.  The table below is all that is accepted, and what a query for it is told. */
#include "pmix_ext/serve_spawn.h"

#include "pmix_ext/serve.h"
#include "pmix_ext/spawn_daemons.h"
#include "pmix_ext/spawn_planned.h"
#include "pmix_ext/value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tool's jobs, once it has gone: go on; end, being its daemons, or are nobody's daemons; end if they
 * are still held, as nobody else knows that they are to be let go on. */
enum tie { TIE_NONE, TIE_DAEMONS, TIE_DAEMONS_STAY, TIE_HELD };

struct starter {                         /* a spawn that is under way */
    TAILQ_ENTRY(starter) in_ext;
    struct ext    *ext;
    struct spawn  *spawn;
    unsigned       channels;             /* of its output that the caller is to have */
    bool           tool;                 /* the caller is one */
    enum tie       tie;                  /* what its end means to what it starts */
    bool           planned;              /* nobody has asked for it now: spawn_planned.h */
    const struct session *owner;         /* borrowed: then, whose they are; NULL: nobody's */
    char           target[LIMIT_JOBID];  /* and what they are for */
    struct plans   plans;                /* owned: daemons for what is started */
    struct waiters waiters;
};

/* --- the answer -------------------------------------------------------- */

enum { SPAWN_NSPACE_OUT = 1 };

static void starter_free(struct starter *s)
{
    if (s->spawn)
        spawn_drop(s->spawn);
    ext_abandon(&s->waiters);
    planned_clear(&s->plans);
    TAILQ_REMOVE(&s->ext->starters, s, in_ext);
    free(s);
}

/* The first process that could not be started says why; what was not tried is ECANCELED. */
static int first_code(const int *codes, size_t n)
{
    int code = 0;

    for (size_t i = 0; i < n; i++) {
        if (codes[i] && codes[i] != ECANCELED)
            return codes[i];
        code = codes[i] ? codes[i] : code;
    }
    return code;
}

static pmix_status_t status_of(int code, const struct err *why)
{
    switch (code) {
    case 0:                              /* too many to have codes */
        return why && why->code == ERR_INVALID_VAL ? PMIX_ERR_BAD_PARAM
                                                   : PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    case ENOENT:
        return why && why->code == ERR_INVALID_ARG ? PMIX_ERR_JOB_WDIR_NOT_FOUND
                                                   : PMIX_ERR_JOB_EXE_NOT_FOUND;
    case ENOTDIR:
        return PMIX_ERR_JOB_WDIR_NOT_FOUND;
    case EACCES:
    case EPERM:
    case ENOEXEC:
    case EISDIR:
        return PMIX_ERR_JOB_APP_NOT_EXECUTABLE;
    case EINVAL:
        return PMIX_ERR_BAD_PARAM;
    case EAGAIN:
    case ENOMEM:
    case E2BIG:
        return PMIX_ERR_JOB_INSUFFICIENT_RESOURCES;
    case ECANCELED:
        return PMIX_ERR_JOB_CANCELED;
    case EHOSTUNREACH:
        return PMIX_ERR_JOB_FAILED_TO_MAP;
    default:
        return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    }
}

static void tie(struct starter *s, const struct session *owner, const char *job);

static void told(void *who, const char *jobid, const int *codes, size_t n,
                 const struct err *why)
{
    struct starter *s = who;
    struct request *rq = ext_waiting(&s->waiters);
    struct job *child = jobid ? job_named(s->ext->server, jobid) : NULL;

    s->spawn = NULL;
    if (jobid)
        tie(s, rq ? session_of(rq, NULL) : s->owner, jobid);
    if (child)
        push_feeds(s->ext, rq ? session_of(rq, NULL) : s->owner, child);
    if (s->planned && !jobid && first_code(codes, n) != ECANCELED)   /* the job is over before them */
        daemons_failed(s->ext, s->target, why);
    if (jobid)
        planned_start_all(s->ext, &s->plans, jobid);
    if (rq && jobid) {
        reply_text(rq, SPAWN_NSPACE_OUT, jobid, strlen(jobid));
        request_finish(rq, REPLY, NULL);
    } else if (rq) {
        ext_finish(&s->waiters, status_of(first_code(codes, n), why), why);
    }
    starter_free(s);
}

/* From the first byte on. */
static void begun(void *who, struct job *child)
{
    struct starter *s = who;
    struct request *rq = ext_waiting(&s->waiters);

    if (rq && s->channels)
        iof_forward(rq, child, s->channels);
}

/* --- the command ------------------------------------------------------- */

enum { SPAWN_INFOS, SPAWN_APPS };

/* plans: of daemons for it, which are taken. */
static enum outcome start(struct request *rq, struct spawn_request *want, unsigned channels,
                          enum tie what, struct plans *plans, struct err *e)
{
    struct ext *x = ext_of(rq);
    struct starter *s = calloc(1, sizeof *s);
    struct spawn_call call = { .parent = rq->conn->job, .told = told, .begun = begun,
                               .who = s };
    struct party who;

    if (!s)
        return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for a spawn");
    conn_party(rq->conn, &who);
    call.rank = who.tool ? -1 : (int)who.rank;
    s->ext = x;
    s->channels = channels;
    s->tool = who.tool;
    s->tie = who.tool ? what : TIE_NONE;
    TAILQ_INIT(&s->plans);
    planned_move(&s->plans, plans);
    waiters_init(&s->waiters);
    TAILQ_INSERT_TAIL(&x->starters, s, in_ext);
    if (!request_park(rq, &s->waiters, e)) {
        starter_free(s);
        return ext_refuse(rq, PMIX_ERR_OUT_OF_RESOURCE);
    }
    s->spawn = spawn_ask_for(x->server, &call, want, e);
    if (!s->spawn) {
        ext_finish(&s->waiters, e->code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_NOT_SUPPORTED,
                   e);
        starter_free(s);
    }
    return PARKED;
}

/* The job itself: rest are its apps. */
static pmix_status_t translate(struct request *rq, const struct infos *infos,
                               const struct daemons *daemons, const pmix_app_t *rest, size_t n,
                               struct spawn_request *want, struct err *e)
{
    pmix_status_t status = spawn_translate(infos, rest, n, want, e);

    return status == PMIX_SUCCESS && daemons->are ? daemons_place(ext_of(rq), daemons, want, e)
                                                  : status;
}

/* Into apps of the job and daemons for it. */
static pmix_status_t split(struct request *rq, const pmix_app_t *apps, size_t n,
                           const struct daemons *daemons, struct plans *plans, pmix_app_t *rest,
                           size_t *nrest, struct err *e)
{
    const struct session *s = session_of(rq, e);

    if (!s || !rest)
        return PMIX_ERR_NOMEM;
    if (!daemons->are)
        return planned_split(apps, n, s, plans, rest, nrest, e);
    memcpy(rest, apps, n * sizeof *rest);        /* all are daemons, whatever each says */
    *nrest = n;
    return PMIX_SUCCESS;
}

static enum tie tie_of(const struct daemons *d, const struct spawn_request *want)
{
    if (d->are)
        return d->nohup ? TIE_DAEMONS_STAY : TIE_DAEMONS;
    if (d->nohup)
        return TIE_NONE;
    return want->n && spawn_info(&want->commands[0], "hold") ? TIE_HELD : TIE_NONE;
}

enum outcome ext_spawn(struct request *rq, struct err *e)
{
    const struct value *arg = rq->arg;
    struct infos infos = { 0 };
    struct spawn_request want = { 0 };
    struct plans plans = PLANS_INIT(plans);
    struct daemons daemons;
    pmix_app_t *apps = NULL, *rest;
    pmix_status_t status;
    size_t n = 0, nrest = 0;
    enum outcome o;

    if (value_decode_array(PMIX_APP, arg[SPAWN_APPS].s, arg[SPAWN_APPS].len, "apps",
                           (void **)&apps, &n, e) < 0)
        return ext_refuse(rq, PMIX_ERR_BAD_PARAM);
    rest = calloc(n + 1, sizeof *rest);
    status = directives_read(&infos, arg[SPAWN_INFOS].s, arg[SPAWN_INFOS].len, "infos", e);
    if (status == PMIX_SUCCESS)
        status = daemons_read(&infos, &daemons, e);
    if (status == PMIX_SUCCESS)
        status = split(rq, apps, n, &daemons, &plans, rest, &nrest, e);
    if (status == PMIX_SUCCESS)
        status = translate(rq, &infos, &daemons, rest, nrest, &want, e);
    o = status == PMIX_SUCCESS ? start(rq, &want, spawn_forwards(&infos),
                                       tie_of(&daemons, &want), &plans, e)
                              : ext_refuse(rq, status);
    planned_clear(&plans);
    spawn_clear(&want);
    infos_clear(&infos);
    free(rest);
    value_free_array(PMIX_APP, apps, n);
    return o;
}

/* --- daemons and their tool -------------------------------------------- */

pmix_status_t daemons_start(struct ext *x, const struct session *owner, const char *job,
                            struct spawn_request *want, bool follow, struct err *e)
{
    struct starter *s = calloc(1, sizeof *s);
    struct spawn_call call = { .rank = -1, .told = told, .begun = begun, .who = s };

    if (!s) {
        err_set(e, ERR_NOMEM, "no memory for a spawn");
        return PMIX_ERR_NOMEM;
    }
    s->ext = x;
    s->tool = s->planned = true;
    s->owner = owner;
    s->tie = follow ? TIE_DAEMONS : TIE_DAEMONS_STAY;
    snprintf(s->target, sizeof s->target, "%s", job);
    TAILQ_INIT(&s->plans);
    waiters_init(&s->waiters);
    TAILQ_INSERT_TAIL(&x->starters, s, in_ext);
    s->spawn = spawn_ask_for(x->server, &call, want, e);
    if (s->spawn)
        return PMIX_SUCCESS;
    starter_free(s);
    return PMIX_ERR_NOT_SUPPORTED;
}

/* They belong to the job: without them it is not what was asked for. */
void daemons_failed(struct ext *x, const char *job, const struct err *why)
{
    const struct ext_order order = { .kind = EXT_KILL, .who = job };
    char text[sizeof why->text + 120];

    snprintf(text, sizeof text, "the tool's daemons of job %s cannot be started: %s", job,
             why && *why->text ? why->text : "no reason is known");
    if (planned_is_main(x, job) && x->ops.broken) {
        x->ops.broken(x->host, text);
        return;
    }
    server_log(x->server, LOG_ERROR, NULL, "%s", text);
    if (x->ops.order)
        x->ops.order(x->host, job, -1, &order);
}

/* --- a tool's jobs and its end ------------------------------------------ */

struct tied {
    TAILQ_ENTRY(tied) in_ext;
    const struct session *owner;         /* borrowed: the tool that they end with */
    enum tie what;
    char job[LIMIT_JOBID];
};

/* Whether ranks of it wait, and nobody has let any go on. */
static bool waits(struct ext *x, const char *job)
{
    struct fact_job j;

    for (size_t i = 0; x->ops.facts->job(x->host, i, &j); i++)
        if (!strcmp(j.nspace, job))
            return !j.running && !j.ending;
    return false;
}

/* False: there is nothing to end, or it has ended already. */
static bool end_tied(struct ext *x, enum tie what, const char *job)
{
    const struct ext_order order = { .kind = what == TIE_DAEMONS ? EXT_LEAVE : EXT_TERMINATE,
                                     .who = "its tool, which has gone while it was held" };

    if (!x->ops.order || what == TIE_DAEMONS_STAY || (what == TIE_HELD && !waits(x, job)))
        return false;
    if (x->ops.order(x->host, job, -1, &order))
        return true;
    if (what == TIE_HELD && planned_is_main(x, job) && x->ops.broken)    /* it is just beginning */
        x->ops.broken(x->host, "the tool that wanted ranks to be held has gone");
    return false;
}

static void tie_to(struct ext *x, const struct session *owner, enum tie what, const char *job)
{
    struct tied *t = owner ? calloc(1, sizeof *t) : NULL;

    if (!t) {                            /* without a tool, or memory to remember it */
        end_tied(x, what, job);
        return;
    }
    t->owner = owner;
    t->what = what;
    snprintf(t->job, sizeof t->job, "%s", job);
    TAILQ_INSERT_TAIL(&x->tied, t, in_ext);
}

static void tie(struct starter *s, const struct session *owner, const char *job)
{
    if (s->tie != TIE_NONE)
        tie_to(s->ext, owner, s->tie, job);
}

void daemons_tie_main(const struct session *owner)
{
    struct ext *x = owner->ext;
    struct fact_job j;

    for (size_t i = 0; x->ops.facts->job(x->host, i, &j); i++)
        if (j.number == 0)
            tie_to(x, owner, TIE_HELD, j.nspace);
}

bool ext_daemons_tool(const struct ext *x, const char *job, char *who, size_t size)
{
    const struct tied *t;

    TAILQ_FOREACH(t, &x->tied, in_ext)
        if (t->what != TIE_HELD && !strcmp(t->job, job)) {
            if (size)
                snprintf(who, size, "tool %.100s, pid %lld", t->owner->who.nspace,
                         (long long)t->owner->who.pid);
            return true;
        }
    return false;
}

static void untie(struct ext *x, struct tied *t)
{
    TAILQ_REMOVE(&x->tied, t, in_ext);
    free(t);
}

void daemons_forget(const struct session *s)
{
    struct starter *starter;
    struct tied *t, *next;

    planned_forget(s, &s->ext->plans);
    TAILQ_FOREACH(starter, &s->ext->starters, in_ext) {
        planned_forget(s, &starter->plans);
        if (starter->owner == s)
            starter->owner = NULL;
    }
    for (t = TAILQ_FIRST(&s->ext->tied); t; t = next) {
        next = TAILQ_NEXT(t, in_ext);
        if (t->owner == s) {
            end_tied(s->ext, t->what, t->job);
            untie(s->ext, t);
        }
    }
}

bool daemons_leave(struct request *rq)
{
    const struct session *s = rq->conn->layer;
    struct ext *x = ext_of(rq);
    pmix_proc_t *jobs;
    struct err e = { 0 };
    struct tied *t;
    size_t n = 0;
    bool parked;

    TAILQ_FOREACH(t, &x->tied, in_ext)
        n += s && t->owner == s;
    jobs = n ? calloc(n, sizeof *jobs) : NULL;
    if (!jobs)
        return false;                    /* without memory they end with its connection */
    n = 0;
    TAILQ_FOREACH(t, &x->tied, in_ext)
        if (t->owner == s && end_tied(x, t->what, t->job)) {
            snprintf(jobs[n].nspace, sizeof jobs[n].nspace, "%s", t->job);
            jobs[n++].rank = PMIX_RANK_WILDCARD;
        }
    parked = ends_await(rq, jobs, n, 0, &e) == PARKED;
    free(jobs);
    return parked;
}

void daemons_job_gone(struct ext *x, const char *job)
{
    struct tied *t, *next;

    for (t = TAILQ_FIRST(&x->tied); t; t = next) {
        next = TAILQ_NEXT(t, in_ext);
        if (!strcmp(t->job, job))
            untie(x, t);
    }
}

/* What is started is started; only nobody waits for it any more.  Of a tool's the end of its
 * stdin remains to be told. */
void spawns_conn_gone(struct ext *x)
{
    struct starter *s, *next;

    for (s = TAILQ_FIRST(&x->starters); s; s = next) {
        next = TAILQ_NEXT(s, in_ext);
        if (!s->tool && !ext_waiting(&s->waiters))
            starter_free(s);
    }
}

void spawns_clear(struct ext *x)
{
    struct starter *s;

    while ((s = TAILQ_FIRST(&x->starters)))
        starter_free(s);
    planned_clear(&x->plans);
    while (!TAILQ_EMPTY(&x->tied))
        untie(x, TAILQ_FIRST(&x->tied));
}

/* --- connected jobs ---------------------------------------------------- */

typedef int link_fn(struct job *own, struct job *other, struct err *e);

static int link_jobs(struct job *own, struct job *other, struct err *e)
{
    return job_connect(own, other, e);
}

static int unlink_jobs(struct job *own, struct job *other, struct err *e)
{
    if (own != other && !job_linked(own, other))
        return err_set(e, ERR_INVALID_ARG, "job %.64s is not connected to this one", other->id);
    job_disconnect(own, other);
    return 0;
}

/* Each job of procs with the caller's own. */
static enum outcome each_job(struct request *rq, const pmix_proc_t *procs, size_t n,
                             link_fn *run, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        struct job *other = job_named(rq->conn->server, procs[i].nspace);

        if (!other)
            return ext_fail(rq, e, PMIX_ERR_INVALID_NAMESPACE,
                            "procs[%zu]: there is no job %.64s here", i, procs[i].nspace);
    }
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (k < i && strcmp(procs[k].nspace, procs[i].nspace))
            k++;
        if (k == i && run(rq->conn->job, job_named(rq->conn->server, procs[i].nspace), e) < 0) {
            err_context(e, "procs[%zu]", i);
            return ext_refuse(rq, e->code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_BAD_PARAM);
        }
    }
    return REPLY;
}

static enum outcome link_procs(struct request *rq, link_fn *run, struct err *e)
{
    pmix_proc_t *procs = NULL;
    enum outcome o;
    size_t n = 0;

    if (rq->conn->tool)
        return ext_fail(rq, e, PMIX_ERR_NOT_SUPPORTED, "a tool has no job to be connected");
    if (value_decode_array(PMIX_PROC, rq->arg[0].s, rq->arg[0].len, "procs", (void **)&procs, &n,
                           e) < 0)
        return ext_refuse(rq, PMIX_ERR_BAD_PARAM);
    o = n ? each_job(rq, procs, n, run, e)
          : ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "procs: there are none");
    value_free_array(PMIX_PROC, procs, n);
    return o;
}

enum outcome ext_connect(struct request *rq, struct err *e)
{
    return link_procs(rq, link_jobs, e);
}

enum outcome ext_disconnect(struct request *rq, struct err *e)
{
    return link_procs(rq, unlink_jobs, e);
}
