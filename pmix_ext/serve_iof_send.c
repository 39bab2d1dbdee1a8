/* serve_iof_send.c - output on its way to those who read along; see serve_iof.h.
 *
 * The host gives it as it comes (ext_output).  Each pull has what its connection cannot take
 * now put aside, up to its own limit.  Then ranks wait for it, but only as long as it takes
 * something within PATIENCE: from then on, or from the start if it asks for that, bytes are
 * dropped, the oldest or the newest, and it is told how many.  So who does not read harms
 * nobody. */
#include "pmix_ext/serve_iof.h"

#include "pmix_ext/base64.h"

#include <stdlib.h>
#include <string.h>

enum {
    QUEUED = 128 << 10,                  /* bytes on their way to a connection */
    PIECE = 32 << 10                     /* bytes in one frame */
};

static const double PATIENCE = 1.0;      /* seconds in which ranks wait for it */

struct piece {                           /* output that waits */
    TAILQ_ENTRY(piece) in_pull;
    uint32_t rank;
    bool     errors, end;
    size_t   missed;                     /* bytes before it that were dropped */
    size_t   len;
    char     data[];
};

void pieces_drop(struct pull *p)
{
    struct piece *x;

    while ((x = TAILQ_FIRST(&p->pieces))) {
        TAILQ_REMOVE(&p->pieces, x, in_pull);
        free(x);
    }
}

static void send_piece(struct pull *p, const struct piece *x, const char *data, size_t len)
{
    struct session *s = p->session;
    struct msg *m = &p->session->ext->server->out;
    struct buf frame = BUF_INIT, text = BUF_INIT;
    bool bad;

    msg_start(m, "pmix-iof-data");
    msg_int(m, "id", p->id);
    msg_str(m, "nspace", p->nspace);
    msg_int(m, "rank", x->rank);
    msg_int(m, "channel", x->errors ? PMIX_FWD_STDERR_CHANNEL : PMIX_FWD_STDOUT_CHANNEL);
    if (x->missed)
        msg_int(m, "missed", (long long)x->missed);
    if (x->end)
        msg_str(m, "end", "TRUE");
    if (len && s->payload) {
        msg_int(m, "payload", (long long)len);
    } else if (len) {
        base64_encode(data, len, &text);
        msg_bytes(m, "data", text.failed ? "" : buf_bytes(&text), text.len);
    }
    bad = wire_v2.format(m, LIMIT_FRAME_LINK, &frame, NULL) < 0;
    if (s->payload)
        buf_add(&frame, data, len);
    if (!bad && !frame.failed && !text.failed)
        conn_send(s->conn, buf_bytes(&frame), frame.len);
    else
        p->missed += len;
    buf_clear(&frame);
    buf_clear(&text);
}

static bool has_room(const struct pull *p)
{
    return p->session->conn->queued < QUEUED;
}

/* Ranks wait for it. */
static bool is_full(const struct pull *p)
{
    return !p->drops && !p->stalled && p->held > p->most;
}

bool ext_output_full(const struct ext *x)
{
    const struct pull *p;

    TAILQ_FOREACH(p, &x->pulls, in_ext)
        if (is_full(p))
            return true;
    return false;
}

/* Make room among what is put aside by dropping its oldest bytes; an end is kept. */
static void drop_oldest(struct pull *p, size_t len)
{
    struct piece *x, *next;
    size_t missed = p->missed;

    for (x = TAILQ_FIRST(&p->pieces); x && p->held + len > p->most; x = next) {
        next = TAILQ_NEXT(x, in_pull);
        missed += x->missed + x->len;
        p->held -= x->len;
        x->missed = x->len = 0;
        if (x->end)
            continue;
        TAILQ_REMOVE(&p->pieces, x, in_pull);
        free(x);
    }
    if (x)
        x->missed += missed;
    p->missed = x ? 0 : missed;
}

static void out_of_patience(void *who)
{
    struct pull *p = who;
    struct ext *x = p->session->ext;

    p->stalled = true;
    drop_oldest(p, 0);
    if (!ext_output_full(x))
        x->ops.output_room(x->host);
}

static void wait_for(struct pull *p)
{
    if (!after_start(&p->patience, p->session->ext, PATIENCE, out_of_patience, p))
        p->stalled = true;
}

static void send_held(struct pull *p)
{
    bool was_full = is_full(p);
    struct piece *x;

    after_stop(&p->patience);
    while ((x = TAILQ_FIRST(&p->pieces)) && has_room(p)) {
        TAILQ_REMOVE(&p->pieces, x, in_pull);
        p->held -= x->len;
        send_piece(p, x, x->data, x->len);
        free(x);
    }
    if (!p->held)
        p->stalled = false;
    if (is_full(p))
        wait_for(p);
    else if (was_full && !ext_output_full(p->session->ext))
        p->session->ext->ops.output_room(p->session->ext->host);
}

void iof_drained(struct session *s)
{
    struct pull *p;

    TAILQ_FOREACH(p, &s->ext->pulls, in_ext)
        if (p->session == s)
            send_held(p);
}

static void keep(struct pull *p, const struct piece *head, const char *data, size_t len)
{
    bool waits = !p->drops && !p->stalled;
    struct piece *x;

    if (p->held + len > p->most && !p->drop_newest && !waits)
        drop_oldest(p, len);
    if ((p->held + len > p->most && !waits) || !(x = malloc(sizeof *x + len))) {
        p->missed += len;
        if (!head->end)
            return;
        len = 0;
        if (!(x = malloc(sizeof *x)))
            return;
    }
    *x = *head;
    x->len = len;
    x->missed = p->missed;
    p->missed = 0;
    if (len)
        memcpy(x->data, data, len);
    p->held += len;
    TAILQ_INSERT_TAIL(&p->pieces, x, in_pull);
    if (is_full(p) && !p->patience.ext)
        wait_for(p);
}

static void give(struct pull *p, struct piece *head, const char *data, size_t len)
{
    if (!TAILQ_EMPTY(&p->pieces) || !has_room(p)) {
        keep(p, head, data, len);
        return;
    }
    head->missed = p->missed;
    p->missed = 0;
    send_piece(p, head, data, len);
}

static bool is_for(const struct pull *p, const char *nspace, uint32_t rank, bool errors)
{
    return (p->channels & (errors ? PMIX_FWD_STDERR_CHANNEL : PMIX_FWD_STDOUT_CHANNEL)) &&
           !strcmp(p->nspace, nspace) &&
           (pull_has_rank(p, PMIX_RANK_WILDCARD) || pull_has_rank(p, rank));
}

static void give_pieces(struct pull *p, struct piece *head, const char *data, size_t len)
{
    size_t n;

    for (size_t at = 0; at < len || !at; at += n ? n : 1) {
        n = len - at < PIECE ? len - at : PIECE;
        give(p, head, data + at, n);
    }
}

static void give_labelled(struct pull *p, struct piece *head, const char *data, size_t len)
{
    struct buf text = BUF_INIT;

    pull_label(p, head->rank, head->errors, data, len, &text);
    if (text.failed)
        p->missed += len;
    else
        give_pieces(p, head, buf_bytes(&text), text.len);
    buf_clear(&text);
}

void ext_output(struct ext *x, const char *nspace, int rank, bool errors, const char *data,
                size_t len)
{
    struct piece head = { .rank = (uint32_t)rank, .errors = errors, .end = !len };
    struct pull *p;

    TAILQ_FOREACH(p, &x->pulls, in_ext) {
        if (!is_for(p, nspace, head.rank, errors))
            continue;
        if (len && p->in_line)
            give_labelled(p, &head, data, len);
        else
            give_pieces(p, &head, data, len);
    }
}

size_t ext_held(const struct ext *x)
{
    const struct pull *p;
    size_t n = 0;

    TAILQ_FOREACH(p, &x->pulls, in_ext)
        n += p->held + !TAILQ_EMPTY(&p->pieces);
    return n;
}
