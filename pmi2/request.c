/* request.c - from the outcome of a command to the bytes of its reply.
 *
 * A reply is built by the row of its command: name, thread id, rc, companions,
 * fields.  Replies without a thread id go out in the order of their requests: a
 * request that cannot be answered yet is parked in conn->order, and a later one
 * that is answered at once waits there too, with its reply made, for its turn. */
#include "pmi2/core.h"

#include <stdlib.h>
#include <string.h>

void request_free(struct request *rq)
{
    TAILQ_REMOVE(&rq->conn->order, rq, in_conn);
    rq->conn->parked--;
    if (rq->waits)
        TAILQ_REMOVE(&rq->waits->list, rq, in_wait);
    buf_clear(&rq->reply);
    free(rq->text[0]);
    free(rq->text[1]);
    free(rq);
}

void waiters_init(struct waiters *w)
{
    TAILQ_INIT(&w->list);
}

struct request *request_park(struct request *rq, struct waiters *w, struct err *e)
{
    struct conn *c = rq->conn;
    struct request *kept;

    if (c->parked >= LIMIT_PARKED) {
        err_set(e, ERR_NOMEM, "more than %d requests are waiting", LIMIT_PARKED);
        return NULL;
    }
    kept = malloc(sizeof *kept);
    if (!kept) {
        err_set(e, ERR_NOMEM, "no memory for a waiting request");
        return NULL;
    }
    *kept = *rq;
    memset(kept->arg, 0, sizeof kept->arg);      /* they lie in the input */
    kept->reply = (struct buf)BUF_INIT;
    kept->waits = w;
    TAILQ_INSERT_TAIL(&c->order, kept, in_conn);
    c->parked++;
    if (w)
        TAILQ_INSERT_TAIL(&w->list, kept, in_wait);
    return kept;
}

void request_await(struct request *rq, struct waiters *w)
{
    if (rq->waits)
        TAILQ_REMOVE(&rq->waits->list, rq, in_wait);
    rq->waits = w;
    TAILQ_INSERT_TAIL(&w->list, rq, in_wait);
}

void reply_text(struct request *rq, int field, const char *s, size_t len)
{
    rq->field[field] = (struct value){ .s = s, .len = len };
}

void reply_int(struct request *rq, int field, long long n)
{
    rq->field[field] = (struct value){ .n = n, .number = true };
}

/* An error's sentence as one wire can carry it: safe UTF-8; on PMI-1 one token. */
static const char *error_text(enum wire w, const struct err *e, struct buf *out)
{
    buf_escaped(out, e->text, strlen(e->text));
    if (out->failed)
        return "no_memory";
    if (w == WIRE_1)
        for (char *p = buf_bytes(out); *p; p++)
            if (*p == ' ' || *p == '=')
                *p = '_';
    return buf_bytes(out);
}

/* A value that this client is known not to take: its own limit, never cut. */
static int check_client_limit(const struct request *rq, struct err *e)
{
    if (rq->conn->wide)
        return 0;
    for (int i = 0; i < FIELDS_MAX; i++)
        if (rq->field[i].len > LIMIT_VALUE_OLD)
            return err_set(e, ERR_VAL_LENGTH, "value of %zu bytes, this client can take %d",
                           rq->field[i].len, LIMIT_VALUE_OLD);
    return 0;
}

static void add_fields(struct msg *m, const struct request *rq, enum wire w, bool failed)
{
    const struct field *f = rq->cmd->fields;

    for (int i = 0; f && (*f[i].name[0][0] || *f[i].name[1][0]); i++) {
        const struct value *v = &rq->field[i];
        const char *none = failed && *f[i].failed ? f[i].failed : f[i].always;

        for (int k = 0; k < 2 && *f[i].name[w][k]; k++)
            if (v->number)
                msg_int(m, f[i].name[w][k], v->n);
            else if (v->s)
                msg_bytes(m, f[i].name[w][k], v->s, v->len);
            else if (*none)
                msg_str(m, f[i].name[w][k], none);
    }
}

static void build_reply(struct msg *m, const struct request *rq, enum outcome o,
                        const struct err *e, struct buf *text)
{
    enum wire w = rq->conn->framer.wire;
    const struct command *cmd = rq->cmd;
    bool failed = o == FAILED;
    long long rc = failed ? (long long)e->code : 0;

    if (o == NOT_FOUND && (w == WIRE_1 || (cmd->flags & MISS_IS_FAIL)))
        rc = 1;
    msg_start(m, rq->reply_name ? rq->reply_name : cmd->reply[w]);
    if (*rq->thrid && w == WIRE_2)
        msg_str(m, "thrid", rq->thrid);
    msg_int(m, "rc", rc);
    if (w == WIRE_1 && (cmd->flags & HAS_INFO))
        msg_str(m, "info", rc ? "fail" : "ok");
    if (w == WIRE_2 && (cmd->flags & HAS_FOUND) && !(failed && !(cmd->flags & MISS_IS_FAIL)))
        msg_str(m, "found", o == REPLY ? "TRUE" : "FALSE");
    if (rc)
        msg_str(m, w == WIRE_1 ? "msg" : "errmsg", error_text(w, e, text));
    add_fields(m, rq, w, failed);
}

/* Append the reply to out; a reply that cannot be written becomes an error. */
static void format_reply(struct request *rq, enum outcome o, const struct err *e,
                         struct buf *out)
{
    struct server *s = rq->conn->server;
    enum wire w = rq->conn->framer.wire;
    const struct codec *codec = codec_of(w);
    size_t max = LIMIT_REPLY_RANK;
    struct buf text = BUF_INIT;
    struct err why = { 0 };

    if (check_client_limit(rq, &why) == 0) {
        build_reply(&s->out, rq, o, e, &text);
        if (codec->format(&s->out, max, out, &why) == 0) {
            buf_clear(&text);
            return;
        }
    }
    memset(rq->field, 0, sizeof rq->field);      /* what could not be written */
    buf_clear(&text);
    build_reply(&s->out, rq, FAILED, &why, &text);
    if (codec->format(&s->out, max, out, NULL) < 0)
        out->failed = true;
    buf_clear(&text);
}

/* Send the replies whose turn has come. */
static void flush_in_order(struct conn *c)
{
    struct request *rq, *next;

    for (rq = TAILQ_FIRST(&c->order); rq; rq = next) {
        next = TAILQ_NEXT(rq, in_conn);
        if (rq->tagged)
            continue;                    /* waits, but holds nobody up */
        if (!rq->answered)
            return;
        conn_send(c, buf_bytes(&rq->reply), rq->reply.len);
        request_free(rq);
    }
}

static bool must_wait(const struct request *rq)
{
    const struct request *other;

    if (rq->tagged)
        return false;
    TAILQ_FOREACH(other, &rq->conn->order, in_conn)
        if (other != rq && !other->tagged)
            return true;
    return false;
}

/* A reply that can be neither sent nor kept; where nobody reads it, no harm. */
static void give_up(struct conn *c, const char *why)
{
    if (!c->draining)
        conn_fail(c, why);
}

/* Answer a request that was never parked; it may have to wait for its turn. */
void request_answer(struct request *rq, enum outcome o, const struct err *e)
{
    struct conn *c = rq->conn;
    struct buf *made = &c->server->scratch;
    struct err why = { 0 };
    struct request *kept;

    buf_reset(made);
    format_reply(rq, o, e, made);
    if (!made->failed && !must_wait(rq)) {
        conn_send(c, buf_bytes(made), made->len);
        return;
    }
    rq->text[0] = rq->text[1] = NULL;    /* the handler's, who has freed them */
    kept = made->failed ? NULL : request_park(rq, NULL, &why);
    if (kept) {
        buf_add(&kept->reply, buf_bytes(made), made->len);
        kept->answered = true;
    }
    if (!kept || kept->reply.failed)
        give_up(c, why.code ? why.text : "no memory for a reply");
}

static void wait_no_more(struct request *rq)
{
    if (rq->waits)
        TAILQ_REMOVE(&rq->waits->list, rq, in_wait);
    rq->waits = NULL;
}

/* Its reply is made: send it when its turn has come. */
static void deliver(struct request *rq)
{
    struct conn *c = rq->conn;

    if (rq->reply.failed) {
        give_up(c, "no memory for a reply");
        return;
    }
    rq->answered = true;
    if (!rq->tagged) {
        flush_in_order(c);
        return;
    }
    conn_send(c, buf_bytes(&rq->reply), rq->reply.len);
    request_free(rq);
}

void request_finish(struct request *rq, enum outcome o, const struct err *e)
{
    wait_no_more(rq);
    format_reply(rq, o, e, &rq->reply);
    deliver(rq);
}

void request_finish_frame(struct request *rq, const char *frame, size_t len)
{
    wait_no_more(rq);
    buf_add(&rq->reply, frame, len);
    deliver(rq);
}

struct msg *request_message(struct request *rq)
{
    struct msg *m = &rq->conn->server->out;

    msg_start(m, rq->cmd->reply[WIRE_2]);
    if (*rq->thrid)
        msg_str(m, "thrid", rq->thrid);
    return m;
}
