/* serve.c - connections: from the bytes of a peer to the handler of a command.
 *
 * conn_input cuts frames; serve() parses one, finds its row, checks its arguments
 * and runs the handler; request.c turns the outcome into a reply.  Replies to the
 * connection being read are gathered and sent in one go. */
#include "pmi2/core.h"

#include "wire/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- connections ------------------------------------------------------- */

struct conn *conn_new(struct server *s, struct job *j, struct member *m, void *link)
{
    struct conn *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->server = s;
    c->job = j;
    c->member = m;
    c->link = link;
    framer_init(&c->framer, LIMIT_LINE);
    TAILQ_INIT(&c->order);
    if (m)
        m->conn = c;
    return c;
}

static void drop_requests(struct conn *c)
{
    struct request *rq;

    while ((rq = TAILQ_FIRST(&c->order)))
        request_free(rq);
}

void conn_free(struct conn *c)
{
    if (!c)
        return;
    drop_requests(c);
    if (c->server->layer_ops)
        c->server->layer_ops->conn_gone(c->server->layer, c);
    relay_end(c);
    free(c->tool);
    blocks_free(c->blocks);
    if (c->member && c->member->conn == c)
        c->member->conn = NULL;
    framer_clear(&c->framer);
    buf_clear(&c->later);
    free(c);
}

struct member *conn_member(const struct conn *c) { return c->member; }

struct conn *conn_new_tool(struct server *s, const struct party *who, void *link)
{
    struct conn *c = conn_new(s, NULL, NULL, link);

    if (!c || !(c->tool = malloc(sizeof *c->tool))) {
        free(c);
        return NULL;
    }
    *c->tool = *who;
    c->tool->tool = true;
    c->wide = c->ours = true;
    return c;
}

void conn_party(const struct conn *c, struct party *out)
{
    if (c->tool) {
        *out = *c->tool;
        return;
    }
    *out = (struct party){ .uid = c->server->options.uid, .gid = c->server->options.gid };
    memcpy(out->nspace, c->job->id, sizeof out->nspace);
    out->rank = (uint32_t)(c->member ? c->member->rank : c->via_rank);
}

/* Enough is waiting, in one direction or the other.  Too many open requests of a tool, whose
 * end is seen by reading alone, and of a rank of another node, which would go on sending, are
 * refused instead (request_park). */
static bool must_pause(const struct conn *c)
{
    bool open = c->parked >= LIMIT_PARKED && !c->tool && !c->via;

    return !c->draining && (open || c->queued > LIMIT_QUEUED);
}

bool conn_full(const struct conn *c)
{
    return must_pause(c) || c->later.len;
}

int conn_claim(struct conn *c, long long rank, struct err *e)
{
    struct member *m;

    if (rank < 0 || rank >= c->job->size)
        return err_set(e, ERR_INVALID_ARG, "rank %lld, want 0..%d", rank, c->job->size - 1);
    m = job_member(c->job, (int)rank);
    if (!m)
        return err_set(e, ERR_INVALID_ARG, "rank %lld is on another node", rank);
    if (m->conn || m->initialized || m->gone)
        return err_set(e, ERR_INVALID_ARG, "rank %lld is taken", rank);
    c->member = m;
    m->conn = c;
    return 0;
}

static size_t send_out(struct conn *c, const char *data, size_t len)
{
    struct server *s = c->server;

    return c->via ? relay_send(c, data, len) : s->ops.send(s->host, c->link, data, len);
}

/* Send what was gathered while the connection was read. */
static void send_batch(struct conn *c)
{
    struct server *s = c->server;

    if (s->batch.len)
        c->queued = send_out(c, buf_bytes(&s->batch), s->batch.len);
    buf_reset(&s->batch);
}

void conn_fail(struct conn *c, const char *why)
{
    if (c->state == CONN_FAILED)
        return;
    if (c->reading)
        send_batch(c);
    c->state = CONN_FAILED;
    drop_requests(c);
    if (c->via)
        relay_fail(c, why);
    else
        c->server->ops.fail(c->server->host, c->link, c->member, why);
}

void conn_eof(struct conn *c)
{
    drop_requests(c);
}

void conn_send(struct conn *c, const char *data, size_t len)
{
    struct server *s = c->server;

    if (!len || c->draining || c->state == CONN_FAILED)
        return;
    if (s->ops.trace)
        s->ops.trace(s->host, c->member, false, data, len);
    if (c->reading)
        buf_add(&s->batch, data, len);
    else
        c->queued = send_out(c, data, len);
}

void conn_flush(struct conn *c)
{
    if (c->reading)
        send_batch(c);
}

void conn_drained(struct conn *c, size_t queued)
{
    conn_resume(c, queued);
    if (c->state == CONN_FAILED || queued > LIMIT_BATCH)
        return;
    if (!queued)
        relay_taken(c);
    if (c->server->layer_ops)
        c->server->layer_ops->conn_drained(c->server->layer, c);
}

/* --- serving one message ----------------------------------------------- */

static const struct pair *find_arg(const struct msg *m, const struct arg *a, enum wire w)
{
    const struct pair *p = *a->name[w] ? msg_find(m, a->name[w]) : NULL;

    return p || !*a->also[w] ? p : msg_find(m, a->also[w]);
}

static int take_text(const struct arg *a, const struct pair *p, struct value *v,
                     struct err *e)
{
    if (a->max && p->len > (size_t)a->max)
        return err_set(e, a->too_long ? a->too_long : ERR_LENGTH,
                       "%s is %zu bytes, at most %lld", p->key, p->len, a->max);
    if (a->type == ARG_TEXT && !utf8_valid(p->val, p->len))
        return err_set(e, ERR_INVALID_VAL, "%s is not UTF-8", p->key);
    *v = (struct value){ .s = p->val, .len = p->len };
    return 0;
}

static int take_arg(const struct arg *a, const struct pair *p, struct value *v,
                    struct err *e)
{
    bool yes = false;

    if (a->type == ARG_TEXT || a->type == ARG_BYTES)
        return take_text(a, p, v, e);
    v->s = p->val;
    if (a->type == ARG_INT)
        return pair_int(p, a->min, a->max, &v->n, e);
    if (pair_bool(p, &yes, e) < 0)
        return -1;
    v->n = yes;
    return 0;
}

static int take_args(struct request *rq, const struct msg *m, struct err *e)
{
    enum wire w = rq->conn->framer.wire;
    const struct arg *a = rq->cmd->args;

    for (int i = 0; a && (*a[i].name[0] || *a[i].name[1]); i++) {
        const struct pair *p = find_arg(m, &a[i], w);

        assert(i < ARGS_MAX);
        if (p && take_arg(&a[i], p, &rq->arg[i], e) < 0) {
            if (!(rq->cmd->flags & NO_REPLY))
                return -1;
            rq->arg[i] = (struct value){ 0 };    /* nobody to tell: as if absent */
        }
        if (!p && (a[i].required & ON(w)))
            return err_set(e, ERR_INVALID_ARG, "no %s", a[i].name[w]);
    }
    return 0;
}

static int take_thrid(struct request *rq, const struct msg *m, struct err *e)
{
    const struct pair *p = msg_find(m, "thrid");

    if (rq->conn->framer.wire == WIRE_1 || !p)
        return 0;
    if (p->len > LIMIT_THRID)
        return err_set(e, ERR_LENGTH, "thrid is %zu bytes, at most %d", p->len, LIMIT_THRID);
    memcpy(rq->thrid, p->val, p->len + 1);
    rq->tagged = p->len > 0;
    return 0;
}

static int check_state(const struct request *rq, struct err *e)
{
    const struct conn *c = rq->conn;
    const char *const name[] = {
        [CONN_NEW] = "before init",
        [CONN_GREETED] = c->tool ? "before the tool's hello" : "before fullinit",
        [CONN_READY] = c->tool ? "after the tool's hello" : "after init",
        [CONN_FINAL] = "after finalize", [CONN_FAILED] = "after an error",
    };

    if (!(rq->cmd->when & IN(c->state)))
        return err_set(e, ERR_INIT, "not %s", name[c->state]);
    if ((c->tool || c->via) && !(rq->cmd->flags & FROM_TOOL))
        return err_set(e, ERR_OTHER, "not from a %s", c->tool ? "tool" : "rank of another node");
    if (!c->member && !(rq->cmd->flags & (NO_MEMBER | FROM_TOOL)))
        return err_set(e, ERR_INIT, "this connection has not said which rank it is");
    return 0;
}

/* A reply for a command that has no row. */
static void reply_unknown(struct request *rq, const struct msg *m, const struct err *e)
{
    static const struct command unknown = { .name = { "unknown", "unknown" } };
    struct buf name = BUF_INIT;

    buf_escaped(&name, *m->cmd ? m->cmd : "error", strnlen(*m->cmd ? m->cmd : "error", 64));
    buf_str(&name, rq->conn->framer.wire == WIRE_1 ? "_result" : "-response");
    rq->cmd = &unknown;
    rq->reply_name = name.failed ? "error" : buf_bytes(&name);
    request_answer(rq, FAILED, e);
    buf_clear(&name);
}

static void trace_in(struct conn *c, const struct frame *f)
{
    struct server *s = c->server;

    if (s->ops.trace)
        s->ops.trace(s->host, c->member, true, f->raw, f->raw_len);
}

/* Everything about a request that its handler need not look at. */
static int check_request(struct request *rq, const struct msg *m, struct err *e)
{
    if (check_state(rq, e) < 0 || take_args(rq, m, e) < 0)
        return err_context(e, "%s", rq->cmd->name[rq->conn->framer.wire]);
    return 0;
}

/* A request that should not have been sent is worth a warning, but for a tool's, which is
 * told itself and is no part of the job; one that could not be served is between the server
 * and the program. */
static enum log_level level_of_wrong(const struct conn *c)
{
    return c->tool ? LOG_INFO : LOG_WARN;
}

static void run(struct request *rq, const struct msg *m)
{
    struct conn *c = rq->conn;
    struct err e = { 0 };
    enum outcome o = FAILED;

    if (check_request(rq, m, &e) < 0) {
        server_log(c->server, level_of_wrong(c), c->member, "%s", e.text);
    } else {
        o = rq->cmd->run(rq, &e);
        if (o == FAILED)
            server_log(c->server, LOG_INFO, c->member, "%s: %s", m->cmd, e.text);
    }
    if (o == NOT_FOUND && !e.code)
        err_set(&e, ERR_OTHER, "key not found");
    if (o == FAILED && (rq->cmd->flags & NO_REPLY))
        return;
    if (o == REPLY || o == NOT_FOUND || o == FAILED)
        request_answer(rq, o, &e);
}

/* A message that has no row, or could not be parsed (e says how, then). */
static void serve_unknown(struct request *rq, const struct msg *m, struct err *e)
{
    struct conn *c = rq->conn;

    if (!e->code)
        err_set(e, ERR_OTHER, c->framer.wire == WIRE_1 ? "command_not_supported"
                                                       : "unknown_command");
    server_log(c->server, level_of_wrong(c), c->member, "%.64s: %s", m->cmd, e->text);
    reply_unknown(rq, m, e);
}

void conn_serve(struct conn *c, char *text, size_t len)
{
    struct msg *m = &c->server->in;
    enum wire w = c->framer.wire;
    struct request rq = { .conn = c };
    struct err e = { 0 };

    msg_start(m, "");
    if (codec_of(w)->parse(m, text, len, &e) == 0)
        rq.cmd = server_find(c->server, w, m->cmd);
    if (take_thrid(&rq, m, &e) < 0) {
        conn_fail(c, e.text);            /* no reply could repeat it */
    } else if (rq.cmd) {
        run(&rq, m);
        c->framer.wire = c->next_wire;
    } else {
        serve_unknown(&rq, m, &e);
    }
}

static void serve(struct conn *c, struct frame *f)
{
    enum wire w = f->kind == FRAME_BODY ? WIRE_2 : WIRE_1;

    trace_in(c, f);
    if (relay_takes(c, f)) {
        relay_up(c, f);
        return;
    }
    if (w != c->framer.wire) {           /* an init line on a PMI-2 stream */
        static const char no[] = "cmd=response_to_init rc=1 pmi_version=2 pmi_subversion=0\n";

        server_log(c->server, LOG_WARN, c->member, "init: PMI-2 is initialised already");
        conn_send(c, no, sizeof no - 1);
        return;
    }
    conn_serve(c, f->text, f->len);
}

/* The frames of data, up to where the connection has to pause.  What framer_next
 * said last; data and len are moved past what was served. */
static int serve_frames(struct conn *c, char **data, size_t *len, struct err *e)
{
    struct frame f;
    int got = 0;

    while (c->state != CONN_FAILED && !must_pause(c) &&
           (got = framer_next(&c->framer, data, len, &f, e)) > 0) {
        serve(c, &f);
        if (c->server->batch.len > LIMIT_BATCH)
            send_batch(c);
    }
    return got;
}

void conn_input(struct conn *c, char *data, size_t len)
{
    struct err e = { 0 };
    int got = 0;

    if (c->state == CONN_FAILED)
        return;
    c->reading = true;
    if (!c->later.len)
        got = serve_frames(c, &data, &len, &e);
    if (got < 0) {
        reply_unknown(&(struct request){ .conn = c }, &(struct msg){ .cmd = "" }, &e);
        conn_fail(c, e.text);
    } else if (len) {
        buf_add(&c->later, data, len);
    }
    if (c->server->batch.failed || c->later.failed)
        conn_fail(c, "no memory for a reply");
    c->reading = false;
    send_batch(c);
}

void conn_drain(struct conn *c)
{
    c->draining = true;
    conn_resume(c, 0);
}

void conn_resume(struct conn *c, size_t queued)
{
    struct buf input = c->later;

    c->queued = queued;
    if (must_pause(c) || !input.len)
        return;
    c->later = (struct buf)BUF_INIT;
    conn_input(c, buf_bytes(&input), input.len);
    buf_clear(&input);
}
