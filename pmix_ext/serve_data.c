/* serve_data.c - pmix-put, pmix-commit, pmix-get: values that ranks put for each other.
 * (PMIx standard, "Key/value management".)
 *
 * All of them are kept here, at the root, so that a get of any rank's value is one question.
 * One that has not been put yet is waited for until its rank commits, or can no more. */
#include "pmix_ext/serve.h"

#include "pmix_ext/data.h"
#include "pmix_ext/directives.h"
#include "pmix_ext/info.h"
#include "pmix_ext/support.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

struct getting {                         /* what somebody wants */
    struct job  *job;                    /* whose rank's value it is */
    pmix_rank_t  rank;                   /* or PMIX_RANK_UNDEF: of any */
    const char  *key;
    struct party by;
    int          at;                     /* where he is */
    int          timeout;                /* seconds; 0: none */
    bool         immediate, optional;
    int          wait;                   /* PMIX_WAIT: for a later commit as well */
    pmix_scope_t scope;
    bool         of_session, of_job, of_app, of_node;    /* of a reserved key: which realm */
    uint32_t     node, app;              /* and whose there; UINT32_MAX: not said */
    const char  *host;                   /* likewise; borrowed while it is read; or NULL */
};

struct get_wait {
    TAILQ_ENTRY(get_wait) in_ext;
    struct awaited awaited;
    struct getting want;                 /* its key is owned */
    struct after   timer;
};

/* --- put and commit ---------------------------------------------------- */

enum { PUT_KEY, PUT_VALUE, PUT_SCOPE };

static enum outcome check_key(struct request *rq, const struct value *key, struct err *e)
{
    if (!key->len || key->len > PMIX_MAX_KEYLEN)
        return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "key: %zu bytes, want 1 to %d", key->len,
                        PMIX_MAX_KEYLEN);
    return REPLY;
}

static pmix_status_t why_not(const struct err *e)
{
    return e->code == ERR_NOMEM ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_ERR_BAD_PARAM;
}

static enum outcome read_scope(struct request *rq, pmix_scope_t *scope, struct err *e)
{
    const struct value *arg = &rq->arg[PUT_SCOPE];

    *scope = PMIX_GLOBAL;
    if (arg->s && value_decode(PMIX_SCOPE, arg->s, arg->len, "scope", scope, e) < 0)
        return ext_refuse(rq, PMIX_ERR_BAD_PARAM);
    if (*scope < PMIX_LOCAL || *scope > PMIX_INTERNAL)
        return ext_fail(rq, e, PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED,
                        "scope: there is no scope %u here", *scope);
    return REPLY;
}

static struct data *data_of(struct job *j)
{
    struct ext_job *x = ext_job_of(j);

    if (x && !x->data)
        x->data = data_new(j->server->seed, j->size);
    return x ? x->data : NULL;
}

/* The caller's job's, as a rank. */
static enum outcome own_data(struct request *rq, struct data **d, int *rank, struct err *e)
{
    struct party who;

    conn_party(rq->conn, &who);
    if (who.tool)
        return ext_fail(rq, e, PMIX_ERR_NOT_SUPPORTED, "a tool has no values of its own");
    *rank = (int)who.rank;
    *d = data_of(rq->conn->job);
    return *d ? REPLY : ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for values");
}

enum outcome ext_put(struct request *rq, struct err *e)
{
    const struct value *key = &rq->arg[PUT_KEY], *value = &rq->arg[PUT_VALUE];
    pmix_scope_t scope;
    pmix_value_t v;
    struct data *d;
    int rank;

    if (check_key(rq, key, e) == FAILED || read_scope(rq, &scope, e) == FAILED)
        return FAILED;
    if (!strncmp(key->s, "pmix.", 5))
        return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "key: %.64s is reserved", key->s);
    if (value_decode(PMIX_VALUE, value->s, value->len, "value", &v, e) < 0)
        return ext_refuse(rq, why_not(e));
    value_clear(PMIX_VALUE, &v);
    if (own_data(rq, &d, &rank, e) == FAILED)
        return FAILED;
    if (data_put(d, rank, key->s, scope, value->s, value->len, e) < 0)
        return ext_refuse(rq, PMIX_ERR_OUT_OF_RESOURCE);
    return REPLY;
}

static void wake(struct ext *x, struct job *j, int rank);

enum outcome ext_commit(struct request *rq, struct err *e)
{
    struct data *d;
    int rank;

    if (own_data(rq, &d, &rank, e) == FAILED)
        return FAILED;
    if (data_commit(d, rank, e) < 0)
        return ext_refuse(rq, PMIX_ERR_OUT_OF_RESOURCE);
    wake(ext_of(rq), rq->conn->job, rank);
    return REPLY;
}

/* --- what there is of a value ------------------------------------------ */

enum look {
    FOUND,
    NOT_YET,                             /* it may be put later */
    HIDDEN,                              /* put for others */
    NEVER
};

static bool is_own(const struct getting *g, int rank)
{
    return !g->by.tool && g->by.rank == (pmix_rank_t)rank && !strcmp(g->by.nspace, g->job->id);
}

static int node_of(struct ext *x, const struct job *j, int rank)
{
    struct info_of of;

    return info_of_job(x, j->id, &of) ? info_node_of(x, &of.job, (pmix_rank_t)rank) : -1;
}

static bool may_see(struct ext *x, const struct getting *g, const struct datum *d)
{
    bool near = g->at == node_of(x, g->job, d->rank);

    if (g->scope != PMIX_SCOPE_UNDEF && g->scope != d->scope)
        return false;
    if (is_own(g, d->rank) || d->scope == PMIX_GLOBAL)
        return true;
    if (g->by.tool)
        return d->scope != PMIX_INTERNAL;
    return d->scope == (near ? PMIX_LOCAL : PMIX_REMOTE);
}

static enum look look_at(struct ext *x, const struct getting *g, int rank, struct datum *found)
{
    const struct ext_job *kept = g->job->layer;
    const struct data *d = kept ? kept->data : NULL;

    if (d && data_get(d, rank, g->key, found))
        return may_see(x, g, found) ? FOUND : HIDDEN;
    if (ext_rank_gone(g->job, rank))
        return NEVER;
    if (g->wait)
        return NOT_YET;
    return is_own(g, rank) || (d && data_committed(d, rank)) ? NEVER : NOT_YET;
}

/* Of any rank: the first one that can be seen. */
static enum look look_for(struct ext *x, const struct getting *g, struct datum *found)
{
    enum look best = NEVER;

    if (g->rank != PMIX_RANK_UNDEF)
        return look_at(x, g, (int)g->rank, found);
    for (int i = 0; i < g->job->size; i++) {
        enum look here = look_at(x, g, i, found);

        if (here < best)
            best = here;
        if (best == FOUND)
            break;
    }
    return best;
}

/* What PMI's kvs-put has put, as a string: 1 and x->text; 0; -1: no memory. */
static int find_pmi(struct ext *x, const struct getting *g)
{
    pmix_value_t v = { .type = PMIX_STRING };
    struct kvs_entry found;

    if (!share_find(g->job, g->key, &found) ||
        (g->rank != PMIX_RANK_UNDEF && found.src != (int)g->rank))
        return 0;
    v.data.string = (char *)found.value;
    buf_reset(&x->text);
    return value_encode(PMIX_VALUE, &v, "value", &x->text, NULL) < 0 ? -1 : 1;
}

/* --- get --------------------------------------------------------------- */

enum { GET_NSPACE, GET_RANK, GET_KEY, GET_INFOS };
enum { GET_VALUE_OUT = 1 };

static const struct directive_rule get_rules[] = {
    DIRECTIVE(PMIX_TIMEOUT, PMIX_INT, struct getting, timeout),
    DIRECTIVE(PMIX_IMMEDIATE, PMIX_BOOL, struct getting, immediate),
    DIRECTIVE(PMIX_OPTIONAL, PMIX_BOOL, struct getting, optional),
    DIRECTIVE(PMIX_WAIT, PMIX_INT, struct getting, wait),
    DIRECTIVE(PMIX_DATA_SCOPE, PMIX_SCOPE, struct getting, scope),
    DIRECTIVE(PMIX_SESSION_INFO, PMIX_BOOL, struct getting, of_session),
    DIRECTIVE(PMIX_JOB_INFO, PMIX_BOOL, struct getting, of_job),
    DIRECTIVE(PMIX_APP_INFO, PMIX_BOOL, struct getting, of_app),
    DIRECTIVE(PMIX_NODE_INFO, PMIX_BOOL, struct getting, of_node),
    DIRECTIVE(PMIX_NODEID, PMIX_UINT32, struct getting, node),
    DIRECTIVE(PMIX_HOSTNAME, PMIX_STRING, struct getting, host),
    DIRECTIVE(PMIX_APPNUM, PMIX_UINT32, struct getting, app),
    DIRECTIVE_KNOWN(PMIX_GET_REFRESH_CACHE, PMIX_BOOL),      /* there is no cache */
    DIRECTIVE_KNOWN(PMIX_GET_STATIC_VALUES, PMIX_BOOL),      /* of the library */
    DIRECTIVE_KNOWN(PMIX_GET_POINTER_VALUES, PMIX_BOOL),
    { 0 }
};

bool get_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    return directive_at(get_rules, i, key, type);
}

/* Whether the answer is made, with the value that is there or the status that says why there
 * is none. */
static bool settle(struct ext *x, struct request *rq, const struct getting *g, enum look look,
                   const struct datum *found, enum outcome *o, struct err *e)
{
    int pmi = look == FOUND ? 0 : find_pmi(x, g);

    *o = REPLY;
    if (look == FOUND)
        reply_text(rq, GET_VALUE_OUT, found->text, found->len);
    else if (pmi > 0)
        reply_text(rq, GET_VALUE_OUT, buf_bytes(&x->text), x->text.len);
    else if (pmi < 0)
        *o = ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for a value");
    else if (look == HIDDEN)
        *o = ext_fail(rq, e, PMIX_ERR_EXISTS_OUTSIDE_SCOPE, "%.64s was put for others", g->key);
    else if (look == NEVER || g->immediate || g->optional)
        *o = ext_fail(rq, e, PMIX_ERR_NOT_FOUND, "%.64s was not put%s", g->key,
                      look == NEVER ? "" : " yet");
    else
        return false;
    return true;
}

static void wait_free(struct get_wait *w)
{
    after_stop(&w->timer);
    awaited_end(&w->awaited);
    TAILQ_REMOVE(&w->awaited.ext->gets, w, in_ext);
    free((char *)w->want.key);
    free(w);
}

static void nobody_waits(struct awaited *a)
{
    wait_free((struct get_wait *)((char *)a - offsetof(struct get_wait, awaited)));
}

static void refuse(struct get_wait *w, pmix_status_t status, const char *why)
{
    struct err e;

    err_set(&e, ERR_OTHER, "%.64s: %s", w->want.key, why);
    ext_finish(&w->awaited.waiters, status, &e);
    wait_free(w);
}

static void time_out(void *who)
{
    refuse(who, PMIX_ERR_TIMEOUT, "not put in time");
}

static enum outcome wait_for(struct request *rq, const struct getting *g, struct err *e)
{
    struct ext *x = ext_of(rq);
    struct get_wait *w = calloc(1, sizeof *w);
    char *key = strdup(g->key);

    if (!w || !key) {
        free(w);
        free(key);
        return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory to wait for a value");
    }
    w->want = *g;
    w->want.key = key;
    w->want.host = NULL;                 /* what is waited for is no reserved key's */
    awaited_begin(&w->awaited, x, nobody_waits);
    TAILQ_INSERT_TAIL(&x->gets, w, in_ext);
    if (g->timeout && !after_start(&w->timer, x, g->timeout, time_out, w)) {
        wait_free(w);
        return ext_fail(rq, e, PMIX_ERR_NOT_SUPPORTED, "there are no time-outs here");
    }
    if (request_park(rq, &w->awaited.waiters, e))
        return PARKED;
    wait_free(w);
    return ext_refuse(rq, PMIX_ERR_OUT_OF_RESOURCE);
}

static enum info_realm realm_of(const struct getting *g)
{
    return g->of_node ? INFO_NODE : g->of_app ? INFO_APP : g->of_job ? INFO_JOB
         : g->of_session ? INFO_SESSION : INFO_REALMS;
}

/* The node that is named; -1: none is.  False: there is no such. */
static bool find_node(struct ext *x, const struct getting *g, int *node)
{
    struct fact_node found;

    *node = g->host ? info_node_named(x, g->host) : -1;
    if (g->host || g->node == UINT32_MAX)
        return !g->host || *node >= 0;
    *node = g->node > INT32_MAX ? -1 : (int)g->node;
    return *node >= 0 && x->ops.facts->node(x->host, *node, &found);
}

/* The program that is named; of who asks for one and names none, its own; -1: neither. */
static int find_app(struct ext *x, const struct getting *g, const struct info_of *of)
{
    struct fact_app app;

    if (g->app != UINT32_MAX)
        return g->app > INT32_MAX ? INT32_MAX : (int)g->app;
    return g->of_app && !g->by.tool && !strcmp(g->by.nspace, g->job->id) &&
           g->rank >= (pmix_rank_t)g->job->size ? info_app_of(x, &of->job, g->by.rank, &app) : -1;
}

/* What a key of info.h says of what is meant. */
static pmix_status_t look_up(struct ext *x, const struct getting *g, pmix_value_t *v)
{
    struct info_of of;

    *v = (pmix_value_t){ .type = PMIX_UNDEF };
    if (!info_of_job(x, g->job->id, &of))
        return PMIX_ERR_INVALID_NAMESPACE;
    of.rank = g->rank;
    of.viewer = g->at;
    of.realm = realm_of(g);
    if (!find_node(x, g, &of.node))
        return PMIX_ERR_NOT_FOUND;
    of.app = find_app(x, g, &of);
    return info_get(x, &of, g->key, v);
}

/* The job's own, which the standard reserves "pmix." for, and what set-up providers have said
 * of it, under any key. */
static enum outcome get_of_job(struct request *rq, const struct getting *g, const char *unknown,
                               struct err *e)
{
    struct ext *x = ext_of(rq);
    pmix_value_t v;
    pmix_status_t status = look_up(x, g, &v);
    int bad;

    if (status != PMIX_SUCCESS)
        return ext_fail(rq, e, status, "%.64s is %s", g->key, unknown);
    buf_reset(&x->text);
    bad = value_encode(PMIX_VALUE, &v, "value", &x->text, e);
    value_clear(PMIX_VALUE, &v);
    if (bad)
        return ext_refuse(rq, PMIX_ERR_NOMEM);
    if (value_is_long(rq, &(struct datum){ .text = buf_bytes(&x->text), .len = x->text.len }))
        return reply_long_text(rq, &x->text, e);
    reply_text(rq, GET_VALUE_OUT, buf_bytes(&x->text), x->text.len);
    return REPLY;
}

static enum outcome get(struct request *rq, struct getting *g, struct err *e)
{
    struct ext *x = ext_of(rq);
    struct datum found;
    enum outcome o;
    enum look look;

    if (g->timeout < 0)
        return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, PMIX_TIMEOUT ": %d seconds", g->timeout);
    if (!strncmp(g->key, "pmix.", 5))
        return get_of_job(rq, g, "not known", e);
    if (g->rank == PMIX_RANK_WILDCARD)
        return get_of_job(rq, g, "of ranks, not of a job", e);
    if (g->rank != PMIX_RANK_UNDEF && g->rank >= (pmix_rank_t)g->job->size)
        return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "rank: there is no rank %u, %.64s has %d",
                        g->rank, g->job->id, g->job->size);
    look = look_for(x, g, &found);
    if (look == FOUND && value_is_long(rq, &found))
        return reply_long(rq, false, g->job, g->key, &found, e);
    if (settle(x, rq, g, look, &found, &o, e))
        return o;
    return wait_for(rq, g, e);
}

enum outcome ext_get(struct request *rq, struct err *e)
{
    const struct value *arg = rq->arg;
    struct getting g = { .rank = PMIX_RANK_UNDEF, .key = arg[GET_KEY].s, .node = UINT32_MAX,
                         .app = UINT32_MAX };
    struct session *s = session_of(rq, e);
    struct infos infos = { 0 };
    pmix_status_t status;
    enum outcome o;

    if (!s)
        return ext_refuse(rq, PMIX_ERR_NOMEM);
    g.by = s->who;
    g.at = session_node(s);
    if (check_key(rq, &arg[GET_KEY], e) == FAILED)
        return FAILED;
    if (arg[GET_RANK].s && value_decode(PMIX_PROC_RANK, arg[GET_RANK].s, arg[GET_RANK].len,
                                        "rank", &g.rank, e) < 0)
        return ext_refuse(rq, PMIX_ERR_BAD_PARAM);
    g.job = ext_job_for(rq, arg[GET_NSPACE].s, &status, e);
    if (!g.job)
        return ext_refuse(rq, status);
    status = directives_read(&infos, arg[GET_INFOS].s, arg[GET_INFOS].len, "infos", e);
    if (status == PMIX_SUCCESS)
        status = directives_take(&infos, "infos", get_rules, &g, e);
    o = status == PMIX_SUCCESS ? get(rq, &g, e) : ext_refuse(rq, status);
    infos_clear(&infos);
    return o;
}

/* --- what happens ------------------------------------------------------ */

/* Whether nothing is known to be to come: all ranks have committed, or ended. */
static bool all_said(const struct job *j)
{
    const struct ext_job *kept = j->layer;
    int said = j->gone_all + (kept && kept->data ? data_committers(kept->data) : 0);

    return said >= j->size;
}

/* What is to be said of what somebody waits for, as something has changed with a rank.  Of
 * all ranks only where that may be the end of it, as a commit is to cost little. */
static enum look look_again(struct ext *x, const struct getting *g, int rank,
                            struct datum *found)
{
    enum look look = look_at(x, g, rank, found);

    if (g->rank != PMIX_RANK_UNDEF || look == FOUND)
        return look;
    return all_said(g->job) ? look_for(x, g, found) : NOT_YET;
}

/* Answer who waits, if that can be done as something has changed with a rank. */
static void try_again(struct ext *x, struct get_wait *w, struct request *rq, int rank)
{
    const struct getting *g = &w->want;
    struct err e = { 0 };
    struct datum found;
    enum look look = look_again(x, g, rank, &found);
    enum outcome o;

    if (look == FOUND && value_is_long(rq, &found))
        o = reply_long(rq, true, g->job, g->key, &found, &e);
    else if (!settle(x, rq, g, look, &found, &o, &e))
        return;
    if (o != PARKED)
        request_finish(rq, o, &e);
    wait_free(w);
}

static void wake(struct ext *x, struct job *j, int rank)
{
    struct get_wait *w, *next;

    for (w = TAILQ_FIRST(&x->gets); w; w = next) {
        struct request *rq = ext_waiting(&w->awaited.waiters);
        const struct getting *g = &w->want;

        next = TAILQ_NEXT(w, in_ext);
        if (rq && g->job == j && (g->rank == PMIX_RANK_UNDEF || g->rank == (pmix_rank_t)rank))
            try_again(x, w, rq, rank);
    }
}

void data_rank_ended(struct ext *x, struct job *j, int rank)
{
    wake(x, j, rank);
}

void data_job_gone(struct ext *x, struct job *j)
{
    struct get_wait *w, *next;

    for (w = TAILQ_FIRST(&x->gets); w; w = next) {
        next = TAILQ_NEXT(w, in_ext);
        if (w->want.job == j)
            refuse(w, PMIX_ERR_NOT_FOUND, "its job has ended");
    }
    if (j->layer)
        data_free(((struct ext_job *)j->layer)->data);
    free(j->layer);
    j->layer = NULL;
}

void data_clear(struct ext *x)
{
    struct get_wait *w;
    struct job *j;

    while ((w = TAILQ_FIRST(&x->gets)))
        wait_free(w);
    TAILQ_FOREACH(j, &x->server->jobs, in_server)
        data_job_gone(x, j);
}
