/* event_system.c - events that the launcher itself raises: what becomes of jobs, processes
 * and nodes.  (PMIx standard, "Event notification"; PROTOCOL.md, "Events of the launcher".)
 *
 * What is no failure is not for default handlers, many of which end their process.  Ends as
 * they should be are as many as there are processes, and are not kept. */
#include "pmix_ext/serve_event.h"

#include "pmix_ext/lite_keys.h"
#include "pmix_ext/pmix_ext_keys.h"
#include "pmix_ext/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct failure {                         /* of a job: its first */
    TAILQ_ENTRY(failure) in_ext;
    char          job[LIMIT_JOBID];
    pmix_status_t status;                /* the event of that process */
    pmix_proc_t   who;
    unsigned      told;                  /* events of processes that have failed */
};

/* Of the failures of one job's processes only the first are kept: most of them are the
 * consequences of one, and as many as there are processes. */
enum { FAILURES_KEPT = 64 };

/* An event that is being put together. */
struct told {
    pmix_status_t status;
    pmix_proc_t   source;
    int           at;                    /* the source's node */
    bool          harmless, passing;     /* not for default handlers; not kept */
    pmix_info_t   infos[9];
    size_t        n;
};

/* --- put together ------------------------------------------------------ */

static pmix_proc_t proc_of(const char *job, uint32_t rank)
{
    pmix_proc_t p = { .rank = rank };

    snprintf(p.nspace, sizeof p.nspace, "%s", job);
    return p;
}

static struct told tell_of(pmix_status_t status, pmix_proc_t source)
{
    return (struct told){ .status = status, .source = source, .at = EVENT_NOWHERE };
}

static struct told tell_of_rank(pmix_status_t status, const struct ext_rank *r)
{
    struct told t = tell_of(status, proc_of(r->job, (uint32_t)r->rank));

    t.at = r->node;
    return t;
}

static void add(struct told *t, const char *key, const pmix_value_t *value)
{
    pmix_info_t *info = &t->infos[t->n++];

    snprintf(info->key, sizeof info->key, "%s", key);
    info->value = *value;
}

/* Values are borrowed until the event is raised. */
static void add_proc(struct told *t, pmix_proc_t *p)
{
    add(t, PMIX_EVENT_AFFECTED_PROC, &(pmix_value_t){ .type = PMIX_PROC, .data.proc = p });
}

static void add_text(struct told *t, const char *key, const char *text)
{
    add(t, key, &(pmix_value_t){ .type = PMIX_STRING, .data.string = (char *)text });
}

static void add_int(struct told *t, const char *key, int n)
{
    add(t, key, &(pmix_value_t){ .type = PMIX_INT, .data.integer = n });
}

static void add_status(struct told *t, const char *key, pmix_status_t status)
{
    add(t, key, &(pmix_value_t){ .type = PMIX_STATUS, .data.status = status });
}

static void add_state(struct told *t, pmix_proc_state_t state)
{
    add(t, PMIX_PROC_STATE_STATUS, &(pmix_value_t){ .type = PMIX_PROC_STATE,
                                                    .data.state = state });
}

static void add_host(struct ext *x, struct told *t)
{
    struct fact_node node;

    if (t->at >= 0 && x->ops.facts->node(x->host, t->at, &node))
        add_text(t, PMIX_HOSTNAME, node.name);
}

/* Who has no memory for it does without. */
static void raise_told(struct ext *x, struct told *t)
{
    struct infos infos = { t->infos, 0 };
    struct err e = { 0 };
    pmix_status_t why;
    struct event *ev;
    struct job *j;

    x->told++;                           /* also of what nobody hears: a gap is a gap */
    if (t->passing && TAILQ_EMPTY(&x->listening))
        return;
    j = job_named(x->server, t->source.nspace);
    add(t, PMIX_EVENT_TIMESTAMP, &(pmix_value_t){ .type = PMIX_TIME,
                                                  .data.time = (time_t)x->ops.now(x->host) });
    add(t, LITE_EVENT_SEQ, &(pmix_value_t){ .type = PMIX_UINT64, .data.uint64 = x->told });
    if (t->harmless)
        add(t, PMIX_EVENT_NON_DEFAULT, &(pmix_value_t){ .type = PMIX_BOOL, .data.flag = true });
    infos.n = t->n;
    ev = event_new(&infos, PMIX_RANGE_SESSION, &why, &e);
    if (!ev)
        return;
    ev->status = t->status;
    ev->source = t->source;
    ev->at = t->at;
    ev->launcher = true;
    ev->keep = !t->passing;
    if (j && j->spawner)
        snprintf(ev->spawner, sizeof ev->spawner, "%s", j->spawner);
    events_raise(x, ev);
}

/* --- jobs -------------------------------------------------------------- */

static struct failure *failure_of(struct ext *x, const char *job)
{
    struct failure *f;

    TAILQ_FOREACH(f, &x->failures, in_ext)
        if (!strcmp(f->job, job))
            return f;
    return NULL;
}

/* The first is what counts.  NULL: no memory. */
static struct failure *note_failure(struct ext *x, const char *job, const struct told *t)
{
    struct failure *f = failure_of(x, job);

    if (f || !(f = calloc(1, sizeof *f)))
        return f;
    snprintf(f->job, sizeof f->job, "%s", job);
    f->status = t->status;
    f->who = t->source;
    TAILQ_INSERT_TAIL(&x->failures, f, in_ext);
    return f;
}

void failures_clear(struct ext *x)
{
    struct failure *f;

    while ((f = TAILQ_FIRST(&x->failures))) {
        TAILQ_REMOVE(&x->failures, f, in_ext);
        free(f);
    }
}

static void tell_job(struct ext *x, const char *job, pmix_status_t status)
{
    struct told t = tell_of(status, proc_of(job, PMIX_RANK_WILDCARD));

    t.harmless = true;
    add_text(&t, PMIX_NSPACE, job);
    raise_told(x, &t);
}

void ext_launcher_ready(struct ext *x)
{
    pmix_proc_t server;
    struct told t;

    events_server(x, &server);
    t = tell_of(PMIX_LAUNCHER_READY, server);
    t.harmless = true;
    raise_told(x, &t);
}

void ext_job_created(struct ext *x, const char *job)
{
    tell_job(x, job, PMIX_EXT_JOB_CREATED);
}

void ext_job_released(struct ext *x, const char *job)
{
    tell_job(x, job, PMIX_EXT_JOB_RELEASED);
}

void ext_job_started(struct ext *x, const char *job)
{
    tell_job(x, job, PMIX_EVENT_JOB_START);
}

void ext_job_launched(struct ext *x, const char *job)
{
    tell_job(x, job, PMIX_LAUNCH_COMPLETE);
    planned_start(x, job);
}

void ext_job_ready(struct ext *x, const char *job, const char *where)
{
    struct told t = tell_of(PMIX_READY_FOR_DEBUG, proc_of(job, PMIX_RANK_WILDCARD));

    t.harmless = true;
    add_text(&t, PMIX_NSPACE, job);
    add_text(&t, PMIX_BREAKPOINT, where);
    add_proc(&t, &t.source);
    raise_told(x, &t);
}

/* What a job has failed with, by its first process that has. */
static pmix_status_t job_status(const struct failure *f)
{
    switch (f ? f->status : PMIX_SUCCESS) {
    case PMIX_ERR_PROC_REQUESTED_ABORT: return PMIX_ERR_JOB_ABORTED;
    case PMIX_ERR_PROC_ABORTED_BY_SIG:  return PMIX_ERR_JOB_ABORTED_BY_SIG;
    case PMIX_ERR_PROC_KILLED_BY_CMD:   return PMIX_ERR_JOB_KILLED_BY_CMD;
    case PMIX_ERR_PROC_TERM_WO_SYNC:    return PMIX_ERR_JOB_TERM_WO_SYNC;
    case PMIX_ERR_EXIT_NONZERO_TERM:    return PMIX_ERR_JOB_NON_ZERO_TERM;
    case PMIX_ERR_PROC_FAILED_TO_START: return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    case PMIX_ERR_LOST_CONNECTION:      return PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT;
    default:                            return PMIX_ERR_JOB_CANCELED;
    }
}

static void add_job_end(struct told *t, const char *job, pmix_status_t status, int code,
                        struct failure *f)
{
    add_text(t, PMIX_NSPACE, job);
    add_status(t, PMIX_JOB_TERM_STATUS, status);
    add_int(t, PMIX_EXIT_CODE, code);
    if (f)
        add_proc(t, &f->who);
}

void ext_job_ended(struct ext *x, const char *job, int code)
{
    struct failure *f = failure_of(x, job);
    pmix_status_t status = code ? job_status(f) : PMIX_SUCCESS;
    pmix_proc_t source = proc_of(job, PMIX_RANK_WILDCARD);
    struct told failed = tell_of(status, source), ended = tell_of(PMIX_EVENT_JOB_END, source);

    if (status != PMIX_SUCCESS) {
        add_job_end(&failed, job, status, code, f);
        raise_told(x, &failed);
    }
    add_job_end(&ended, job, status, code, f);
    ended.harmless = true;
    raise_told(x, &ended);
    ends_told(x, job, -1);
    if (f)
        TAILQ_REMOVE(&x->failures, f, in_ext);
    free(f);
}

/* --- processes --------------------------------------------------------- */

static void tell_failed(struct ext *x, const char *job, struct told *t)
{
    struct failure *f = note_failure(x, job, t);

    t->passing = !f || f->told++ >= FAILURES_KEPT;
    raise_told(x, t);
}

void ext_rank_not_started(struct ext *x, const struct ext_rank *r, const char *why)
{
    struct told t = tell_of_rank(PMIX_ERR_PROC_FAILED_TO_START, r);

    add_proc(&t, &t.source);
    add_state(&t, PMIX_PROC_STATE_FAILED_TO_START);
    add_text(&t, PMIX_EVENT_TEXT_MESSAGE, why);
    tell_failed(x, r->job, &t);
}

void ext_rank_aborts(struct ext *x, const struct ext_rank *r, int code, const char *text)
{
    struct told t = tell_of_rank(PMIX_ERR_PROC_REQUESTED_ABORT, r);
    struct buf safe = BUF_INIT;          /* it may be of any encoding */

    buf_escaped(&safe, text, strlen(text));
    add_proc(&t, &t.source);
    add_int(&t, PMIX_EXIT_CODE, code);
    if (safe.len && !safe.failed)
        add_text(&t, PMIX_EVENT_TEXT_MESSAGE, buf_bytes(&safe));
    tell_failed(x, r->job, &t);
    buf_clear(&safe);
}

void ext_rank_lost(struct ext *x, const struct ext_rank *r)
{
    struct told t = tell_of_rank(PMIX_ERR_LOST_CONNECTION, r);

    add_proc(&t, &t.source);
    add_state(&t, PMIX_PROC_STATE_COMM_FAILED);
    add_host(x, &t);
    tell_failed(x, r->job, &t);
    ends_told(x, r->job, r->rank);
}

pmix_proc_state_t ext_end_state(const struct ext_end *how)
{
    if (how->aborted)
        return PMIX_PROC_STATE_CALLED_ABORT;
    if (WIFSIGNALED(how->wstatus))
        return how->commanded ? PMIX_PROC_STATE_KILLED_BY_CMD : PMIX_PROC_STATE_ABORTED_BY_SIG;
    if (!WIFEXITED(how->wstatus))
        return PMIX_PROC_STATE_UNDEF;    /* no end at all: nothing fits */
    if (WEXITSTATUS(how->wstatus))
        return PMIX_PROC_STATE_TERM_NON_ZERO;
    return how->inside ? PMIX_PROC_STATE_TERM_WO_SYNC : PMIX_PROC_STATE_TERMINATED;
}

static pmix_status_t event_of_end(pmix_proc_state_t state)
{
    switch (state) {
    case PMIX_PROC_STATE_CALLED_ABORT:    return PMIX_ERR_PROC_ABORTED;
    case PMIX_PROC_STATE_KILLED_BY_CMD:   return PMIX_ERR_PROC_KILLED_BY_CMD;
    case PMIX_PROC_STATE_ABORTED_BY_SIG:  return PMIX_ERR_PROC_ABORTED_BY_SIG;
    case PMIX_PROC_STATE_TERM_NON_ZERO:   return PMIX_ERR_EXIT_NONZERO_TERM;
    case PMIX_PROC_STATE_TERM_WO_SYNC:    return PMIX_ERR_PROC_TERM_WO_SYNC;
    default:                              return PMIX_EVENT_PROC_TERMINATED;
    }
}

void ext_rank_ended(struct ext *x, const struct ext_rank *r, const struct ext_end *how)
{
    pmix_proc_state_t state = ext_end_state(how);
    pmix_status_t status = event_of_end(state);
    struct told t = tell_of_rank(status, r);

    t.harmless = t.passing = status == PMIX_EVENT_PROC_TERMINATED;
    add_proc(&t, &t.source);
    add_status(&t, PMIX_PROC_TERM_STATUS, t.harmless ? PMIX_SUCCESS : status);
    add_int(&t, PMIX_EXIT_CODE, WIFSIGNALED(how->wstatus) ? 128 + WTERMSIG(how->wstatus)
                                                          : WEXITSTATUS(how->wstatus));
    add_state(&t, state);
    add_host(x, &t);
    if (t.harmless)
        raise_told(x, &t);
    else
        tell_failed(x, r->job, &t);
    ends_told(x, r->job, r->rank);
}

/* --- nodes ------------------------------------------------------------- */

void ext_node_lost(struct ext *x, const char *node)
{
    pmix_proc_t server;
    struct told t;

    events_server(x, &server);
    t = tell_of(PMIX_EVENT_NODE_DOWN, server);
    add_text(&t, PMIX_HOSTNAME, node);
    raise_told(x, &t);
}
