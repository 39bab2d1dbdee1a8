/* ext.c - the layer itself: its state, sessions, what handlers share.  See serve.h. */
#include "pmix_ext/serve.h"

#include "pmix_ext/commands.h"
#include "pmix_ext/serve_event.h"
#include "pmix_ext/serve_monitor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- sessions ---------------------------------------------------------- */

struct session *session_of(struct request *rq, struct err *e)
{
    struct conn *c = rq->conn;
    struct ext *x = ext_of(rq);
    struct session *s = c->layer;

    if (s)
        return s;
    s = calloc(1, sizeof *s);
    if (!s) {
        err_set(e, ERR_NOMEM, "no memory for a session");
        return NULL;
    }
    s->ext = x;
    s->conn = c;
    TAILQ_INIT(&s->parts);
    conn_party(c, &s->who);
    TAILQ_INIT(&s->registrations);
    TAILQ_INIT(&s->monitors);
    STAILQ_INIT(&s->own_names);
    c->layer = s;
    TAILQ_INSERT_TAIL(&x->sessions, s, in_ext);
    return s;
}

void session_audit(const struct session *s, const char *what)
{
    const struct party *who = &s->who;

    if (who->tool)
        server_log(s->ext->server, LOG_DEBUG, NULL, "tool %s, pid %lld, uid %lld, %s",
                   who->nspace, (long long)who->pid, (long long)who->uid, what);
    else
        server_log(s->ext->server, LOG_DEBUG, NULL, "rank %u of %s, uid %lld, %s", who->rank,
                   who->nspace, (long long)who->uid, what);
}

static void session_free(struct session *s)
{
    iof_forget(s);
    own_names_clear(s);
    parts_forget(s);
    part_forget(s);
    monitors_forget(s);
    events_forget(s);
    allocs_forget(s);
    daemons_forget(s);
    debug_forget(s);
    s->conn->layer = NULL;
    TAILQ_REMOVE(&s->ext->sessions, s, in_ext);
    free(s);
}

void awaited_begin(struct awaited *a, struct ext *x, void (*free)(struct awaited *a))
{
    a->ext = x;
    a->free = free;
    waiters_init(&a->waiters);
    TAILQ_INSERT_TAIL(&x->awaited, a, in_ext);
}

void awaited_end(struct awaited *a)
{
    ext_abandon(&a->waiters);
    TAILQ_REMOVE(&a->ext->awaited, a, in_ext);
}

static void awaited_conn_gone(struct ext *x)
{
    struct awaited *a, *next;

    for (a = TAILQ_FIRST(&x->awaited); a; a = next) {
        next = TAILQ_NEXT(a, in_ext);
        if (!ext_waiting(&a->waiters))
            a->free(a);
    }
}

static void conn_gone(void *layer, struct conn *c)
{
    awaited_conn_gone(layer);
    names_conn_gone(layer, c);
    spawns_conn_gone(layer);
    if (c->layer) {
        push_forget(c->layer);
        session_free(c->layer);
    }
}

static void conn_has_room(void *layer, struct conn *c)
{
    (void)layer;
    if (!c->layer)
        return;
    events_go_on(c->layer);
    iof_drained(c->layer);
    parts_room(c->layer);
    events_go_on(c->layer);
}

static void job_gone(void *layer, struct job *j)
{
    struct ext *x = layer;

    surveys_forget_job(x, j->id);        /* who waited for one may now begin to answer */
    queries_forget_job(x, j->id);
    data_job_gone(x, j);
    fences_job_gone(x, j);
    push_job_gone(x, j);
    daemons_job_gone(x, j->id);
    ends_told(x, j->id, -1);
}

static void rank_ended(void *layer, struct job *j, int rank)
{
    data_rank_ended(layer, j, rank);
    fences_rank_ended(layer, j, rank);
}

static void timer_due(void *layer, unsigned id)
{
    afters_due(layer, id);
}

static bool leaves(void *layer, struct request *rq)
{
    (void)layer;
    return daemons_leave(rq);
}

static const struct layer_ops layer_ops = {
    .leaves = leaves, .conn_gone = conn_gone, .conn_drained = conn_has_room, .job_gone = job_gone,
    .rank_ended = rank_ended, .timer = timer_due,
};

/* --- jobs and ranks ---------------------------------------------------- */

struct ext_job *ext_job_of(struct job *j)
{
    if (!j->layer)
        j->layer = calloc(1, sizeof(struct ext_job));
    return j->layer;
}

struct job *ext_job_for(struct request *rq, const char *nspace, pmix_status_t *status,
                        struct err *e)
{
    struct conn *c = rq->conn;
    struct job *j = nspace && *nspace ? job_named(c->server, nspace) : c->job;

    *status = PMIX_SUCCESS;
    if (j && (c->tool || job_minds(c->job, j)))
        return j;
    if (!nspace || !*nspace) {
        err_set(e, ERR_INVALID_ARG, "a tool has to say which nspace");
        *status = PMIX_ERR_BAD_PARAM;
    } else if (!j) {
        err_set(e, ERR_INVALID_ARG, "there is no job %.64s here", nspace);
        *status = PMIX_ERR_INVALID_NAMESPACE;
    } else {
        err_set(e, ERR_INVALID_ARG, "job %.64s is not connected to this one", nspace);
        *status = PMIX_ERR_NO_PERMISSIONS;
    }
    return NULL;
}

bool ext_rank_gone(const struct job *j, int rank)
{
    return j->ranks && (j->ranks[rank] & RANK_GONE);
}

/* --- replies ----------------------------------------------------------- */

void reply_status(struct request *rq, int status)
{
    reply_int(rq, STATUS_OUT, status);
}

enum outcome ext_fail(struct request *rq, struct err *e, int status, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    err_set(e, ERR_OTHER, "%s", text);
    reply_status(rq, status);
    return FAILED;
}

enum outcome ext_refuse(struct request *rq, int status)
{
    reply_status(rq, status);
    return FAILED;
}

struct request *ext_waiting(struct waiters *w)
{
    return TAILQ_FIRST(&w->list);
}

void ext_finish(struct waiters *w, pmix_status_t status, const struct err *e)
{
    struct request *rq;

    while ((rq = TAILQ_FIRST(&w->list))) {
        reply_status(rq, status);
        request_finish(rq, status < 0 ? FAILED : REPLY, e);
    }
}

void ext_abandon(struct waiters *w)
{
    struct request *rq;

    TAILQ_FOREACH(rq, &w->list, in_wait)
        rq->waits = NULL;
    waiters_init(w);
}

static int add_text(const char *text, size_t len, void *buf)
{
    buf_add(buf, text, len);
    return 0;
}

enum outcome reply_json(struct request *rq, int field, json_t *value, struct err *e)
{
    struct buf *text = &ext_of(rq)->text;
    int bad = !value;

    buf_reset(text);
    if (!bad)
        bad = json_dump_callback(value, add_text, text, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(value);
    if (bad || text->failed) {
        err_set(e, ERR_NOMEM, "no memory for a reply");
        return FAILED;
    }
    reply_text(rq, field, buf_bytes(text), text->len);
    return REPLY;
}

/* --- the layer --------------------------------------------------------- */

static int add_rows(struct ext *x, struct err *e)
{
    if (x->ops.known_jobs && !(x->rows = ext_resident_rows()))
        return err_set(e, ERR_NOMEM, "no memory for extended commands");
    return server_add_commands(x->server, x->rows ? x->rows : ext_commands, ext_command_count, e);
}

struct ext *ext_new(struct server *s, const struct ext_ops *ops, void *host, struct err *e)
{
    struct ext *x = calloc(1, sizeof *x);

    if (!x) {
        err_set(e, ERR_NOMEM, "no memory for extended commands");
        return NULL;
    }
    *x = (struct ext){ .server = s, .ops = *ops, .host = host };
    TAILQ_INIT(&x->sessions);
    TAILQ_INIT(&x->surveys);
    TAILQ_INIT(&x->queries);
    TAILQ_INIT(&x->listening);
    TAILQ_INIT(&x->kept);
    TAILQ_INIT(&x->failures);
    TAILQ_INIT(&x->afters);
    TAILQ_INIT(&x->pulls);
    TAILQ_INIT(&x->wholes);
    TAILQ_INIT(&x->pushes);
    TAILQ_INIT(&x->gets);
    TAILQ_INIT(&x->gatherings);
    TAILQ_INIT(&x->publishings);
    TAILQ_INIT(&x->lookups);
    TAILQ_INIT(&x->starters);
    TAILQ_INIT(&x->tied);
    TAILQ_INIT(&x->endings);
    TAILQ_INIT(&x->awaited);
    TAILQ_INIT(&x->plans);
    TAILQ_INIT(&x->allocs);
    TAILQ_INIT(&x->sched_calls);
    if (add_rows(x, e) < 0) {
        free(x->rows);
        free(x);
        return NULL;
    }
    server_set_layer(s, &layer_ops, x);
    return x;
}

void ext_free(struct ext *x)
{
    struct session *s;

    if (!x)
        return;
    while ((s = TAILQ_FIRST(&x->sessions)))
        session_free(s);
    events_clear(x);
    failures_clear(x);
    data_clear(x);
    fences_clear(x);
    names_clear(x);
    spawns_clear(x);
    ends_clear(x);
    allocs_clear(x);
    pushes_clear(x);
    server_set_layer(x->server, NULL, NULL);
    buf_clear(&x->text);
    free(x->rows);
    free(x);
}
