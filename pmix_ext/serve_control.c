/* serve_control.c - pmix-job-control: signal, stop, continue and end processes.  (PMIx
 * standard, "Job control".)
 *
 * A rank may give orders to its own job and to jobs that it is connected to, a tool to all
 * jobs here: both are of one user, or the tool is root's.  All directives are understood
 * before the first is carried out.  Who orders an end, and is no rank, is answered when it is
 * true. */
#include "pmix_ext/serve_cleanup.h"

#include "pmix_ext/support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTROL_TARGETS, CONTROL_DIRECTIVES };
enum { CONTROL_RESULTS_OUT = 1 };

enum { ORDERS = 16 };                    /* directives that do something, of one request */

struct control {                         /* one pmix-job-control */
    struct session  *s;
    pmix_proc_t     *targets;            /* owned */
    size_t           ntargets;
    struct infos     directives;
    struct ext_order orders[ORDERS];
    size_t           norders;
    struct ext_cleanup cleanup;
    bool             ends;               /* an order is to end them */
    int              timeout;            /* s that a tool waits for that; 0: no limit */
    char             who[LIMIT_JOBID + 40];
};

/* --- directives -------------------------------------------------------- */

static const char *const known[] = { PMIX_JOB_CTRL_ID, PMIX_TIMEOUT, NULL };

/* What would have to be done and cannot be; what only describes the job or the request is
 * fine. */
static const char *const unsupported[] = {
    PMIX_JOB_CTRL_RESTART, PMIX_JOB_CTRL_CHECKPOINT, PMIX_JOB_CTRL_CHECKPOINT_EVENT,
    PMIX_JOB_CTRL_CHECKPOINT_SIGNAL, PMIX_JOB_CTRL_CHECKPOINT_METHOD, PMIX_JOB_CTRL_PROVISION,
    PMIX_JOB_CTRL_PROVISION_IMAGE, PMIX_JOB_CTRL_PREEMPTIBLE, NULL
};

static pmix_status_t add_order(struct control *c, enum ext_order_kind kind, int signo,
                               struct err *e)
{
    if (c->norders == ORDERS) {
        err_set(e, ERR_LENGTH, "more than %d directives", ORDERS);
        return PMIX_ERR_BAD_PARAM;
    }
    c->orders[c->norders++] = (struct ext_order){ kind, signo, c->who };
    c->ends |= kind == EXT_TERMINATE || kind == EXT_KILL;
    return PMIX_SUCCESS;
}

static pmix_status_t take_flag(struct control *c, const pmix_info_t *info,
                               enum ext_order_kind kind, struct err *e)
{
    if (info->value.type != PMIX_BOOL && info->value.type != PMIX_UNDEF) {
        err_set(e, ERR_INVALID_VAL, "%s is no PMIX_BOOL", info->key);
        return PMIX_ERR_TYPE_MISMATCH;
    }
    return info_is_true(info) ? add_order(c, kind, 0, e) : PMIX_SUCCESS;
}

static pmix_status_t take_signal(struct control *c, const pmix_info_t *info,
                                 enum ext_order_kind kind, struct err *e)
{
    long long signo;

    if (info_number(info, 1, SIGRTMAX, &signo, e) < 0)
        return PMIX_ERR_BAD_PARAM;
    return add_order(c, kind, (int)signo, e);
}

static pmix_status_t take_timeout(struct control *c, const pmix_info_t *info, struct err *e)
{
    long long seconds;

    if (info_number(info, 0, INT32_MAX, &seconds, e) < 0)
        return PMIX_ERR_BAD_PARAM;
    c->timeout = (int)seconds;
    return PMIX_SUCCESS;
}

static const struct {
    const char         *key;
    pmix_status_t     (*take)(struct control *c, const pmix_info_t *info,
                              enum ext_order_kind kind, struct err *e);
    enum ext_order_kind kind;
} kinds[] = {
    { PMIX_JOB_CTRL_SIGNAL, take_signal, EXT_SIGNAL },
    { PMIX_JOB_CTRL_PAUSE, take_flag, EXT_PAUSE },
    { PMIX_JOB_CTRL_RESUME, take_flag, EXT_RESUME },
    { PMIX_JOB_CTRL_TERMINATE, take_flag, EXT_TERMINATE },
    { PMIX_JOB_CTRL_KILL, take_flag, EXT_KILL },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

bool control_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    const size_t nknown = sizeof known / sizeof *known - 1;

    if (i >= KINDS + nknown)
        return cleanup_attribute(i - KINDS - nknown, key, type);
    if (i >= KINDS)
        return attribute_at(known, i - KINDS, key, type);
    attribute_standard(kinds[i].key, key, type);
    return true;
}

static bool is_among(const char *key, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(*list, key))
            return true;
    return false;
}

/* PMIX_SUCCESS, or what is wrong and e. */
static pmix_status_t take_directive(struct control *c, const pmix_info_t *info, struct err *e)
{
    for (size_t i = 0; i < KINDS; i++)
        if (!strcmp(info->key, kinds[i].key))
            return kinds[i].take(c, info, kinds[i].kind, e);
    if (!strcmp(info->key, PMIX_JOB_CTRL_CANCEL)) {
        err_set(e, ERR_OTHER, "there is nothing to cancel: orders are carried out at once");
        return PMIX_ERR_NOT_FOUND;
    }
    if (!strcmp(info->key, PMIX_TIMEOUT))
        return take_timeout(c, info, e);
    if (cleanup_is(info->key))
        return cleanup_take(&c->cleanup, info, e);
    if (is_among(info->key, known) ||
        (!(info->flags & PMIX_INFO_REQD) &&
         !is_among(info->key, unsupported)))
        return PMIX_SUCCESS;
    err_set(e, ERR_OTHER, "%s is not supported", info->key);
    return PMIX_ERR_NOT_SUPPORTED;
}

static pmix_status_t take_directives(struct control *c, struct err *e)
{
    for (size_t i = 0; i < c->directives.n; i++) {
        pmix_status_t status = take_directive(c, &c->directives.v[i], e);

        if (status != PMIX_SUCCESS)
            return status;
    }
    if (c->norders || cleanup_asked(&c->cleanup))
        return PMIX_SUCCESS;
    err_set(e, ERR_INVALID_ARG, "no directive says what to do");
    return PMIX_ERR_BAD_PARAM;
}

/* --- targets ----------------------------------------------------------- */

static pmix_status_t check_target(const struct control *c, pmix_proc_t *t, struct err *e)
{
    struct server *server = c->s->ext->server;
    struct job *mine = c->s->who.tool ? NULL : job_named(server, c->s->who.nspace), *wanted;

    if (!*t->nspace && mine)
        memcpy(t->nspace, c->s->who.nspace, sizeof c->s->who.nspace);
    wanted = job_named(server, t->nspace);
    if (!wanted) {
        err_set(e, ERR_INVALID_ARG, "there is no job %.64s", t->nspace);
        return PMIX_ERR_NOT_FOUND;
    }
    if (!c->s->who.tool && wanted != mine && !job_minds(mine, wanted)) {
        err_set(e, ERR_OTHER, "job %.64s is not connected to this one", t->nspace);
        return PMIX_ERR_NO_PERMISSIONS;
    }
    if (t->rank != PMIX_RANK_WILDCARD && t->rank >= (uint32_t)wanted->size) {
        err_set(e, ERR_INVALID_ARG, "job %.64s has no rank %u", t->nspace, t->rank);
        return t->rank >= PMIX_RANK_VALID ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_NOT_FOUND;
    }
    return PMIX_SUCCESS;
}

static pmix_status_t check_targets(struct control *c, struct err *e)
{
    for (size_t i = 0; i < c->ntargets; i++) {
        pmix_status_t status = check_target(c, &c->targets[i], e);

        if (status != PMIX_SUCCESS) {
            err_context(e, "targets[%zu]", i);
            return status;
        }
    }
    return PMIX_SUCCESS;
}

/* --- carried out ------------------------------------------------------- */

/* How many of the targets there are no more. */
static size_t give(const struct control *c, const struct ext_order *order)
{
    struct ext *x = c->s->ext;
    size_t gone = 0;

    for (size_t i = 0; i < c->ntargets; i++) {
        const pmix_proc_t *t = &c->targets[i];
        int rank = t->rank == PMIX_RANK_WILDCARD ? -1 : (int)t->rank;

        gone += !x->ops.order(x->host, t->nspace, rank, order);
    }
    return gone;
}

static pmix_status_t carry_out(const struct control *c, struct err *e)
{
    size_t gone = 0, all = c->norders * c->ntargets;

    if (!c->s->ext->ops.order) {
        err_set(e, ERR_OTHER, "not here");
        return PMIX_ERR_NOT_SUPPORTED;
    }
    for (size_t i = 0; i < c->norders; i++)
        gone += give(c, &c->orders[i]);
    if (!gone)
        return PMIX_SUCCESS;
    err_set(e, ERR_OTHER, "%zu of %zu orders found nobody: the processes have ended", gone, all);
    return gone == all ? PMIX_ERR_NOT_FOUND : PMIX_ERR_PARTIAL_SUCCESS;
}

/* Without targets a rank means its own job. */
static pmix_status_t default_targets(struct control *c, pmix_proc_t *own, struct err *e)
{
    if (c->ntargets)
        return PMIX_SUCCESS;
    if (c->s->who.tool) {
        err_set(e, ERR_INVALID_ARG, "targets: a tool has no job of its own");
        return PMIX_ERR_BAD_PARAM;
    }
    *own = (pmix_proc_t){ .rank = PMIX_RANK_WILDCARD };
    c->targets = own;
    c->ntargets = 1;
    return PMIX_SUCCESS;
}

/* A tool hears that it is done when they have ended; a rank may be one of them. */
static enum outcome answer(const struct control *c, struct request *rq, pmix_status_t status,
                           struct err *e)
{
    if (status != PMIX_SUCCESS)
        return ext_refuse(rq, status);
    return c->ends && c->s->who.tool ? ends_await(rq, c->targets, c->ntargets, c->timeout, e)
                                     : REPLY;
}

static pmix_status_t run(struct control *c, struct err *e)
{
    pmix_proc_t own, *given = c->targets;
    pmix_status_t status = take_directives(c, e);

    if (status == PMIX_SUCCESS)
        status = default_targets(c, &own, e);
    if (status == PMIX_SUCCESS)
        status = check_targets(c, e);
    if (status == PMIX_SUCCESS && cleanup_asked(&c->cleanup))
        status = cleanup_begin(c->s, &c->cleanup, c->targets, c->ntargets, e);
    if (status == PMIX_SUCCESS && c->norders)
        status = carry_out(c, e);
    c->targets = given;
    return status;
}

static void name_who(struct control *c)
{
    if (c->s->who.tool)
        snprintf(c->who, sizeof c->who, "%s", c->s->who.nspace);
    else
        snprintf(c->who, sizeof c->who, "rank %u of %s", c->s->who.rank, c->s->who.nspace);
}

enum outcome ext_job_control(struct request *rq, struct err *e)
{
    const struct value *targets = &rq->arg[CONTROL_TARGETS];
    const struct value *directives = &rq->arg[CONTROL_DIRECTIVES];
    struct control c = { .s = session_of(rq, e) };
    pmix_status_t status;
    enum outcome o;

    if (!c.s)
        return ext_refuse(rq, PMIX_ERR_NOMEM);
    name_who(&c);
    status = ext_take_procs(c.s, targets, "targets", &c.targets, &c.ntargets, e);
    if (status == PMIX_SUCCESS)
        status = directives_read(&c.directives, directives->s, directives->len, "directives", e);
    if (status == PMIX_SUCCESS)
        status = run(&c, e);
    reply_text(rq, CONTROL_RESULTS_OUT, "[]", 2);
    o = answer(&c, rq, status, e);
    infos_clear(&c.directives);
    free(c.targets);
    return o;
}
