/* serve_long.c - the answer to pmix-get where the value is too long for one reply: its text in
 * pieces, an array of strings that goes in parts.  A rank's value stays where it is, and is looked
 * up for each part; what is told of a job is made once, and kept until the last of them. */
#include "pmix_ext/serve.h"

#include "pmix_ext/data.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

enum { GET_PIECES_OUT = 2 };

struct long_value {                      /* the cursor */
    struct server *server;
    char           nspace[LIMIT_JOBID];
    int            rank;
    char          *key;                  /* owned; NULL: it is no rank's value, but: */
    struct buf     made;                 /* owned: the whole */
    unsigned       serial;               /* of the value; another one is not mixed with it */
    size_t         at;                   /* bytes that have been sent */
    struct buf     piece;                /* owned: scratch */
};

static bool look_up(const struct long_value *v, struct datum *d)
{
    const struct ext_job *kept;
    const struct job *j;

    if (!v->key) {
        *d = (struct datum){ .text = buf_bytes(&v->made), .len = v->made.len };
        return true;
    }
    j = job_named(v->server, v->nspace);
    kept = j ? j->layer : NULL;
    return kept && kept->data && data_get(kept->data, v->rank, v->key, d) &&
           d->serial == v->serial;
}

size_t piece_length(const char *text, size_t len, size_t most)
{
    if (len <= most)
        return len;
    for (int i = 0; i < 3 && ((unsigned char)text[most] & 0xc0) == 0x80; i++)
        most--;
    return most;
}

static int next_piece(void *cursor, size_t room, struct buf *out, struct err *e)
{
    struct long_value *v = cursor;
    struct datum d;
    char *text;
    size_t n;

    (void)room;
    if (!look_up(v, &d))
        return err_set(e, ERR_OTHER, "%.64s was put again, or its job has ended", v->key);
    if (v->at == d.len)
        return 0;
    n = piece_length(d.text + v->at, d.len - v->at, PARTS_SIZE);
    buf_reset(&v->piece);
    buf_add(&v->piece, d.text + v->at, n);
    if (v->piece.failed)
        return err_set(e, ERR_NOMEM, "no memory for a part of a value");
    v->at += n;
    text = buf_bytes(&v->piece);
    return value_encode(PMIX_STRING, &text, "pieces", out, e) < 0 ? -1 : 1;
}

static void free_cursor(void *cursor)
{
    struct long_value *v = cursor;

    free(v->key);
    buf_clear(&v->piece);
    buf_clear(&v->made);
    free(v);
}

static const struct parts_ops ops = { next_piece, free_cursor };

static enum outcome out_of_memory(struct request *rq, struct err *e)
{
    return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for a value");
}

/* By what v, which is taken, has; parked: the request is. */
static enum outcome begin(struct request *rq, bool parked, struct long_value *v, struct err *e)
{
    struct parts *p;
    enum outcome o = parked ? parts_take(rq, GET_PIECES_OUT, &ops, v, &p, e)
                            : parts_new(rq, GET_PIECES_OUT, &ops, v, &p, e);

    if (o == PARKED)
        parts_go(p);
    return o;
}

/* In a frame each ';' is doubled.  Without a thread id a reply has one frame, whatever
 * becomes of it. */
bool value_is_long(const struct request *rq, const struct datum *d)
{
    const char *at = d->text, *end = d->text + d->len;
    size_t len = d->len;

    if (!rq->tagged)
        return false;
    while (len <= LIMIT_VALUE && (at = memchr(at, ';', (size_t)(end - at)))) {
        len++;
        at++;
    }
    return len > LIMIT_VALUE;
}

enum outcome reply_long(struct request *rq, bool parked, struct job *j, const char *key,
                        const struct datum *d, struct err *e)
{
    struct long_value *v = calloc(1, sizeof *v);

    if (!v || !(v->key = strdup(key))) {
        free(v);
        return out_of_memory(rq, e);
    }
    v->server = rq->conn->server;
    memcpy(v->nspace, j->id, sizeof v->nspace);
    v->rank = d->rank;
    v->serial = d->serial;
    return begin(rq, parked, v, e);
}

enum outcome reply_long_text(struct request *rq, const struct buf *text, struct err *e)
{
    struct long_value *v = calloc(1, sizeof *v);

    if (!v)
        return out_of_memory(rq, e);
    buf_add(&v->made, buf_bytes(text), text->len);
    if (!v->made.failed)
        return begin(rq, false, v, e);
    free_cursor(v);
    return out_of_memory(rq, e);
}
