/* cmd_spawn.c - starting further jobs: from the command to what the host does, and
 * from that to the reply. */
#include "pmi2/core.h"

#include <stdlib.h>
#include <string.h>

struct spawn {                           /* at the root, until it is done */
    TAILQ_ENTRY(spawn) in_server;
    struct server *server;
    struct job    *parent;               /* borrowed; NULL when it is gone */
    int            rank;
    struct spawn_request want;           /* owned */
    struct waiters waiters;              /* the request of a rank that is here */
    struct peer   *peer;                 /* or the server below that is to be told, */
    unsigned       id;                   /* and its number of the question */
    spawn_told_fn *told;                 /* or the layer; NULL: it is not */
    void         (*begun)(void *who, struct job *child);
    void          *who;
    bool           alone;                /* a tool asks: there never was a parent */
};

const struct spawn_request *spawn_wants(const struct spawn *s) { return &s->want; }
struct job *spawn_parent(const struct spawn *s) { return s->parent; }
int spawn_rank(const struct spawn *s) { return s->rank; }
bool spawn_alone(const struct spawn *s) { return s->alone; }

/* Takes what *want holds.  NULL: no memory. */
static struct spawn *spawn_new(struct server *server, struct job *parent, int rank,
                               struct spawn_request *want)
{
    struct spawn *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->server = server;
    s->parent = parent;
    s->rank = rank;
    s->want = *want;
    *want = (struct spawn_request){ 0 };
    waiters_init(&s->waiters);
    TAILQ_INSERT_TAIL(&s->server->spawns, s, in_server);
    return s;
}

static void spawn_free(struct spawn *s)
{
    struct request *rq;

    TAILQ_REMOVE(&s->server->spawns, s, in_server);
    TAILQ_FOREACH(rq, &s->waiters.list, in_wait)
        rq->waits = NULL;
    spawn_clear(&s->want);
    free(s);
}

void spawns_free(struct server *s)
{
    struct spawn *x;

    while ((x = TAILQ_FIRST(&s->spawns)))
        spawn_free(x);
}

void spawns_forget(struct server *s, const struct job *j, const struct peer *p)
{
    struct spawn *x;

    TAILQ_FOREACH(x, &s->spawns, in_server) {
        if (x->parent == j)
            x->parent = NULL;
        if (x->peer == p)
            x->peer = NULL;
    }
}

/* --- the command ------------------------------------------------------- */

struct blocks {                          /* of PMI-1 */
    struct spawn_request want;           /* owned */
    struct err           wrong;          /* with one of them; the last one is answered */
    long long            came;           /* blocks so far */
    size_t               bytes;          /* of them */
};

void blocks_free(struct blocks *b)
{
    if (!b)
        return;
    spawn_clear(&b->want);
    free(b);
}

static int unsupported(struct request *rq, struct err *e)
{
    static const char why[] = "starting further processes is not supported by this launcher";

    server_log(rq->conn->server, LOG_WARN, rq->conn->member, "%s", why);
    return err_set(e, ERR_OTHER, "%s", why);
}

/* At the root. */
static enum outcome begin(struct request *rq, struct spawn_request *want, struct err *e)
{
    struct server *s = rq->conn->server;
    struct spawn *x;

    if (!s->ops.spawn) {
        unsupported(rq, e);
        return FAILED;
    }
    x = spawn_new(s, request_job(rq), rq->conn->member->rank, want);
    if (!x || !request_park(rq, &x->waiters, e)) {
        if (x)
            spawn_free(x);
        else
            err_set(e, ERR_NOMEM, "no memory for a spawn");
        return FAILED;
    }
    s->ops.spawn(s->host, x);
    return PARKED;
}

static enum outcome start(struct request *rq, struct spawn_request *want, struct err *e)
{
    return is_root(rq->conn->server) ? begin(rq, want, e) : ask_spawn(rq, want, e);
}

static size_t size_of(const struct msg *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++)
        n += strlen(m->pairs[i].key) + m->pairs[i].len;
    return n;
}

/* Add a block; true when it was the last one. */
static bool take_block(struct request *rq, struct blocks *b, const struct value *total,
                       const struct value *so_far)
{
    long long n = total->s ? total->n : 1, i = so_far->s ? so_far->n : ++b->came;

    b->came = i;
    b->bytes += size_of(&rq->conn->server->in);
    if (!b->wrong.code && b->want.n >= LIMIT_COMMANDS)
        err_set(&b->wrong, ERR_NUM_ARGS, "more than %d commands", LIMIT_COMMANDS);
    if (!b->wrong.code && b->bytes > LIMIT_BLOCKS)
        err_set(&b->wrong, ERR_LENGTH, "more than %d bytes of commands", LIMIT_BLOCKS);
    if (!b->wrong.code && spawn_read_block(&b->want, &rq->conn->server->in, &b->wrong) == 0 &&
        b->want.n != (size_t)i)
        err_set(&b->wrong, ERR_ARGS, "block %lld of %lld comes as number %zu", i, n, b->want.n);
    if (b->wrong.code)
        spawn_clear(&b->want);           /* nothing more is kept of it */
    return i >= n;
}

enum { SPAWN_TOTAL, SPAWN_SO_FAR };

static enum outcome take_blocks(struct request *rq, struct err *e)
{
    const struct value *total = &rq->arg[SPAWN_TOTAL], *so_far = &rq->arg[SPAWN_SO_FAR];
    struct conn *c = rq->conn;
    struct blocks *b = c->blocks;
    enum outcome o = FAILED;

    if (b && so_far->s && so_far->n == 1) {      /* it has begun anew */
        blocks_free(b);
        b = NULL;
    }
    if (!b)
        b = calloc(1, sizeof *b);
    c->blocks = b;
    if (!b) {
        err_set(e, ERR_NOMEM, "no memory for a spawn");
        return FAILED;
    }
    if (!take_block(rq, b, total, so_far))
        return SILENT;
    c->blocks = NULL;
    *e = b->wrong;
    if (!e->code)
        o = start(rq, &b->want, e);
    blocks_free(b);
    return o;
}

enum outcome cmd_spawn(struct request *rq, struct err *e)
{
    struct spawn_request want = { 0 };
    enum outcome o = FAILED;

    if (rq->conn->framer.wire == WIRE_1)
        return take_blocks(rq, e);
    if (spawn_read(&want, &rq->conn->server->in, e) == 0)
        o = start(rq, &want, e);
    spawn_clear(&want);
    return o;
}

/* From a server below: payload is the command as spawn_write makes it. */
int ask_spawn_up(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                 size_t len, struct err *e)
{
    struct server *s = j->server;
    long long id, rank;
    struct spawn_request want = { 0 };
    struct spawn *x;

    if (msg_number(m, "id", 0, UINT32_MAX, &id, e) < 0 ||
        msg_number(m, "rank", 0, j->size - 1, &rank, e) < 0)
        return -1;
    if (spawn_parse(&want, payload, len, e) < 0) {
        spawn_clear(&want);
        return -1;
    }
    if (!is_root(s)) {
        spawn_clear(&want);
        return ask_spawn_on(p, j, (unsigned)id, (int)rank, payload, len, e);
    }
    x = s->ops.spawn ? spawn_new(s, j, (int)rank, &want) : NULL;
    spawn_clear(&want);
    if (!x) {
        struct err why;

        err_set(&why, ERR_NOMEM, "no memory for a spawn, or it is not supported");
        ask_tell(p, j, (unsigned)id, FAILED, NULL, NULL, 0, &why);
        return 0;
    }
    x->peer = p;
    x->id = (unsigned)id;
    s->ops.spawn(s->host, x);
    return 0;
}

struct spawn *spawn_ask_for(struct server *s, const struct spawn_call *call,
                            struct spawn_request *want, struct err *e)
{
    struct spawn *x;

    if (!s->ops.spawn) {
        err_set(e, ERR_OTHER, "starting further processes is not supported by this launcher");
        return NULL;
    }
    x = spawn_new(s, call->parent, call->rank, want);
    if (!x) {
        err_set(e, ERR_NOMEM, "no memory for a spawn");
        return NULL;
    }
    x->told = call->told;
    x->begun = call->begun;
    x->who = call->who;
    x->alone = !call->parent;
    s->ops.spawn(s->host, x);
    return x;
}

void spawn_drop(struct spawn *s)
{
    s->told = NULL;
    s->begun = NULL;
}

/* --- the answer -------------------------------------------------------- */

int spawn_fill(struct spawn *s, struct job *child, struct err *e)
{
    const struct spawn_pairs *p = &s->want.preput;

    for (size_t i = 0; i < p->n; i++)
        if (kvs_put(child->kvs, 0, p->v[i].key, p->v[i].value, strlen(p->v[i].value), e) < 0)
            return -1;
    if (s->begun)
        s->begun(s->who, child);
    return s->parent ? job_connect(s->parent, child, e) : 0;
}

/* "0,2,0"; nothing where all is well, as it is taken for that. */
static void list_codes(const int *codes, size_t n, struct buf *out)
{
    bool wrong = false;

    for (size_t i = 0; i < n; i++)
        wrong = wrong || codes[i];
    for (size_t i = 0; wrong && i < n; i++)
        buf_printf(out, i ? ",%d" : "%d", codes[i]);
    if (out->failed)
        buf_clear(out);
}

enum { SPAWN_JOBID, SPAWN_ERRCODES };

void spawn_reply(struct request *rq, const char *jobid, const char *codes, size_t len)
{
    if (jobid)
        reply_text(rq, SPAWN_JOBID, jobid, strlen(jobid));
    if (len && len <= (rq->conn->wide ? LIMIT_VALUE : LIMIT_VALUE_OLD))  /* else without */
        reply_text(rq, SPAWN_ERRCODES, codes, len);
}

void spawn_done(struct spawn *s, struct job *child, const int *codes, size_t n,
                const struct err *why)
{
    struct request *rq = TAILQ_FIRST(&s->waiters.list);
    enum outcome o = child ? REPLY : FAILED;
    const char *id = child ? child->id : NULL;
    struct buf list = BUF_INIT;

    list_codes(codes, n, &list);
    if (list.len > LIMIT_ANSWER)
        buf_clear(&list);
    if (s->peer && s->parent)
        ask_tell(s->peer, s->parent, s->id, o, id, list.len ? buf_bytes(&list) : NULL, list.len,
                 why);
    if (rq) {
        spawn_reply(rq, id, buf_bytes(&list), list.len);
        request_finish(rq, o, why);
    }
    buf_clear(&list);
    if (s->told)
        s->told(s->who, id, codes, n, why);
    spawn_free(s);
}
