/* serve_part.c - pmix-part: a request that is too long for a frame comes in parts.
 *
 * The first says how long it is, and is answered when there is room for that among all that
 * comes so; those behind it bring its text, and with the last of it the request is served as
 * if it had come in one frame.  A connection has one at a time, and one that does not go on
 * is forgotten after PATIENCE: so who begins and never ends takes little, and not for long. */
#include "pmix_ext/serve.h"

#include <stdlib.h>
#include <string.h>

enum { PART_SIZE, PART_DATA };

static const double PATIENCE = 30.0;     /* seconds between two parts */

struct whole {
    TAILQ_ENTRY(whole) in_ext;
    struct session *session;
    struct waiters  begins;              /* the first part, until there is room */
    bool            waits;
    size_t          size;
    struct buf      text;                /* owned: what has come */
    struct after    patience;
};

static void whole_free(struct whole *w)
{
    struct ext *x = w->session->ext;

    if (!w->waits)
        x->whole_bytes -= w->size;
    after_stop(&w->patience);
    TAILQ_REMOVE(&x->wholes, w, in_ext);
    w->session->whole = NULL;
    buf_clear(&w->text);
    free(w);
}

static void out_of_patience(void *who);

/* Its room is taken; the next part is awaited. */
static void admit(struct whole *w)
{
    struct ext *x = w->session->ext;

    w->waits = false;
    x->whole_bytes += w->size;
    after_start(&w->patience, x, PATIENCE, out_of_patience, w);
}

static bool has_room(const struct ext *x, size_t size)
{
    return x->whole_bytes + size <= LIMIT_WHOLES;
}

/* Those that wait, in their order, as far as there is room. */
static void admit_more(struct ext *x)
{
    struct whole *w, *next;

    for (w = TAILQ_FIRST(&x->wholes); w; w = next) {
        next = TAILQ_NEXT(w, in_ext);
        if (!w->waits)
            continue;
        if (!has_room(x, w->size))
            return;
        admit(w);
        ext_finish(&w->begins, PMIX_SUCCESS, NULL);
    }
}

static void drop(struct whole *w)
{
    struct ext *x = w->session->ext;

    whole_free(w);
    admit_more(x);
}

static void out_of_patience(void *who)
{
    drop(who);
}

void part_forget(struct session *s)
{
    if (s->whole)
        drop(s->whole);
}

/* --- parts ------------------------------------------------------------- */

static bool anybody_waits(const struct ext *x)
{
    const struct whole *last = TAILQ_LAST(&x->wholes, wholes);

    return last && last->waits;
}

static enum outcome begin(struct request *rq, struct session *s, size_t size, struct err *e)
{
    struct ext *x = s->ext;
    struct whole *w;

    if (s->whole)
        return ext_fail(rq, e, PMIX_ERR_RESOURCE_BUSY, "another request comes in parts");
    w = malloc(sizeof *w);
    if (!w)
        return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for a request");
    *w = (struct whole){ .session = s, .size = size,
                         .waits = anybody_waits(x) || !has_room(x, size) };
    waiters_init(&w->begins);
    TAILQ_INSERT_TAIL(&x->wholes, w, in_ext);
    s->whole = w;
    if (!w->waits) {
        admit(w);
        return REPLY;
    }
    if (request_park(rq, &w->begins, e))
        return PARKED;
    whole_free(w);
    return ext_refuse(rq, PMIX_ERR_OUT_OF_RESOURCE);
}

/* Whether it may come so: an extended command, and not again a part. */
static bool is_fit(const struct buf *text)
{
    static const char any[] = "cmd=pmix-", part[] = "cmd=pmix-part;";
    const char *s = buf_bytes(text);

    return text->len > sizeof part && !strncmp(s, any, sizeof any - 1) &&
           strncmp(s, part, sizeof part - 1);
}

/* It is complete.  Its room is free only when it has been served. */
static enum outcome serve_whole(struct request *rq, struct whole *w, struct err *e)
{
    struct conn *c = rq->conn;
    bool fit = is_fit(&w->text);

    if (fit)
        conn_serve(c, buf_bytes(&w->text), w->text.len);
    drop(w);
    return fit ? REPLY
               : ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "what came in parts is no extended request");
}

static enum outcome add(struct request *rq, struct whole *w, const struct value *data,
                        struct err *e)
{
    if (!w || w->waits)
        return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "%s",
                        w ? "there is no room for this request yet"
                          : "no request has been begun, or not gone on with in time");
    if (data->len > w->size - w->text.len) {
        drop(w);
        return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "data: more than the request's size");
    }
    buf_add(&w->text, data->s, data->len);
    if (w->text.failed) {
        drop(w);
        return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for a request");
    }
    if (w->text.len == w->size)
        return serve_whole(rq, w, e);
    after_start(&w->patience, w->session->ext, PATIENCE, out_of_patience, w);
    return REPLY;
}

enum outcome ext_part(struct request *rq, struct err *e)
{
    const struct value *size = &rq->arg[PART_SIZE], *data = &rq->arg[PART_DATA];
    struct session *s = session_of(rq, e);

    if (!s)
        return ext_refuse(rq, PMIX_ERR_NOMEM);
    if (!size->s == !data->s)
        return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "a part has either a size or data");
    return size->s ? begin(rq, s, (size_t)size->n, e) : add(rq, s->whole, data, e);
}
