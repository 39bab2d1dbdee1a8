/* parts.c - see parts.h */
#include "pmix_ext/parts.h"

#include "pmix_ext/serve.h"

#include <stdlib.h>

/* Sent to one connection in one go, however fast it reads: others have their turn then. */
enum { PARTS_TURN = 32 };
enum { FRAME_REST = 512 };               /* bytes of a frame that are not the array: mostly fewer */
static const double NEXT_TURN = 0.0002;  /* seconds: at once, but after the others */

struct parts {
    TAILQ_ENTRY(parts) in_session;
    struct session *session;             /* borrowed */
    const struct parts_ops *ops;
    void           *cursor;              /* owned */
    struct waiters  waiter;              /* the request; empty: it was dropped */
    int             field;
    bool            going;
    struct after    turn;                /* the next one */
};

static void parts_free(struct parts *p)
{
    struct request *rq = TAILQ_FIRST(&p->waiter.list);

    if (rq)
        request_free(rq);
    after_stop(&p->turn);
    p->ops->free(p->cursor);
    TAILQ_REMOVE(&p->session->parts, p, in_session);
    free(p);
}

/* The elements of one part, with brackets.  1: there are more; 0; -1 and e. */
static int gather(struct parts *p, struct buf *out, struct err *e)
{
    int got = 1;

    buf_reset(out);
    buf_char(out, '[');
    while (got > 0 && out->len < PARTS_SIZE) {
        size_t before = out->len;

        if (before > 1)
            buf_char(out, ',');
        got = p->ops->next(p->cursor, PARTS_SIZE - before, out, e);
        if (got <= 0)
            buf_cut(out, before);
    }
    buf_char(out, ']');
    if (out->failed)
        return err_set(e, ERR_NOMEM, "no memory for a reply");
    return got;
}

/* The frame of one part.  0, or -1 and e. */
static int make_frame(struct request *rq, int field, const struct buf *elements, bool more,
                      struct buf *out, struct err *e)
{
    struct msg *m = request_message(rq);

    msg_int(m, "rc", 0);
    msg_int(m, rq->cmd->fields[STATUS_OUT].name[WIRE_2][0], PMIX_SUCCESS);
    if (more)
        msg_str(m, "more", "TRUE");
    msg_bytes(m, rq->cmd->fields[field].name[WIRE_2][0], buf_bytes(elements), elements->len);
    buf_reset(out);
    buf_room(out, elements->len + FRAME_REST);
    return wire_v2.format(m, LIMIT_FRAME_LINK, out, e);
}

static void fail(struct parts *p, struct request *rq, int status, const struct err *why)
{
    reply_status(rq, status);
    request_finish(rq, FAILED, why);
    parts_free(p);
}

static int status_of(const struct err *e)
{
    return e->code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_OUT_OF_RESOURCE;
}

/* Make and send one part.  False: it was the last, and p is gone. */
static bool send_part(struct parts *p, struct request *rq)
{
    struct ext *x = p->session->ext;
    struct buf frame = BUF_INIT;
    struct err e = { 0 };
    int got = gather(p, &x->text, &e);

    if (got > 0 && !rq->tagged)          /* between its parts others would have to wait */
        got = err_set(&e, ERR_LENGTH, "the reply has several parts: a thrid is needed");
    if (got >= 0 && make_frame(rq, p->field, &x->text, got, &frame, &e) < 0)
        got = -1;
    if (got < 0) {
        fail(p, rq, status_of(&e), &e);
    } else if (got) {
        conn_send(rq->conn, buf_bytes(&frame), frame.len);
        conn_flush(rq->conn);
    } else {
        request_finish_frame(rq, buf_bytes(&frame), frame.len);
        parts_free(p);
    }
    buf_clear(&frame);
    return got > 0;
}

static void on_turn(void *who)
{
    parts_go(who);
}

void parts_go(struct parts *p)
{
    struct conn *c = p->session->conn;
    struct request *rq;

    p->going = true;
    conn_flush(c);
    for (int n = 0; c->queued < LIMIT_BATCH; n++) {
        rq = TAILQ_FIRST(&p->waiter.list);
        if (!rq) {
            parts_free(p);
            return;
        }
        if (n >= PARTS_TURN && after_start(&p->turn, p->session->ext, NEXT_TURN, on_turn, p))
            return;
        if (!send_part(p, rq))
            return;
    }
}

void parts_fail(struct parts *p, int status, const struct err *why)
{
    struct request *rq = TAILQ_FIRST(&p->waiter.list);

    if (rq)
        fail(p, rq, status, why);
    else
        parts_free(p);
}

void parts_room(struct session *s)
{
    struct parts *p, *next;

    for (p = TAILQ_FIRST(&s->parts); p; p = next) {
        next = TAILQ_NEXT(p, in_session);
        if (p->going)
            parts_go(p);
    }
}

void parts_forget(struct session *s)
{
    while (!TAILQ_EMPTY(&s->parts))
        parts_free(TAILQ_FIRST(&s->parts));
}

/* NULL and e; the cursor is freed then. */
static struct parts *make(struct request *rq, int field, const struct parts_ops *ops,
                          void *cursor, struct err *e)
{
    struct session *s = session_of(rq, e);
    struct parts *p = s ? calloc(1, sizeof *p) : NULL;

    if (!p) {
        ops->free(cursor);
        err_set(e, ERR_NOMEM, "no memory for a reply");
        return NULL;
    }
    *p = (struct parts){ .session = s, .ops = ops, .cursor = cursor, .field = field };
    waiters_init(&p->waiter);
    TAILQ_INSERT_TAIL(&s->parts, p, in_session);
    return p;
}

enum outcome parts_new(struct request *rq, int field, const struct parts_ops *ops, void *cursor,
                       struct parts **made, struct err *e)
{
    struct parts *p = make(rq, field, ops, cursor, e);

    if (p && request_park(rq, &p->waiter, e)) {
        *made = p;
        return PARKED;
    }
    if (p)
        parts_free(p);
    return ext_refuse(rq, PMIX_ERR_NOMEM);
}

enum outcome parts_take(struct request *parked, int field, const struct parts_ops *ops,
                        void *cursor, struct parts **made, struct err *e)
{
    struct parts *p = make(parked, field, ops, cursor, e);

    if (!p)
        return ext_refuse(parked, PMIX_ERR_NOMEM);
    request_await(parked, &p->waiter);
    *made = p;
    return PARKED;
}
