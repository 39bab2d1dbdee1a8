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
    s->at = s->who.tool || !x->ops.where ? 0 : x->ops.where(x->host, s->who.nspace, s->who.rank);
    TAILQ_INIT(&s->registrations);
    TAILQ_INIT(&s->monitors);
    c->layer = s;
    TAILQ_INSERT_TAIL(&x->sessions, s, in_ext);
    return s;
}

static void session_free(struct session *s)
{
    iof_forget(s);
    parts_forget(s);
    monitors_forget(s);
    events_forget(s);
    s->conn->layer = NULL;
    TAILQ_REMOVE(&s->ext->sessions, s, in_ext);
    free(s);
}

static void conn_gone(void *layer, struct conn *c)
{
    (void)layer;
    if (c->layer)
        session_free(c->layer);
}

static void conn_has_room(void *layer, struct conn *c)
{
    (void)layer;
    if (!c->layer)
        return;
    iof_drained(c->layer);
    parts_room(c->layer);
    events_go_on(c->layer);
}

static void job_gone(void *layer, struct job *j)
{
    struct ext *x = layer;

    surveys_forget_job(x, j->id);        /* who waited for one may now begin to answer */
    queries_forget_job(x, j->id);
}

static void timer_due(void *layer, unsigned id)
{
    afters_due(layer, id);
}

static const struct layer_ops layer_ops = { conn_gone, conn_has_room, job_gone, timer_due };

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
    if (server_add_commands(s, ext_commands, ext_command_count, e) < 0) {
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
    server_set_layer(x->server, NULL, NULL);
    buf_clear(&x->text);
    free(x);
}
