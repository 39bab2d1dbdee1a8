/* relay.c - extended commands of ranks that are on other nodes: they are served by the
 * root.
 *
 * A server that is not the root looks at no command whose name begins with "pmix-", but for
 * those that its host answers (op answer): it sends the frame up as it came, with the rank that
 * has sent it.  The root has a connection
 * for each such rank, made when the first frame comes, whose replies go down the same way
 * and are written to the rank's own connection as they are.  (pmi2/PEERS, "Extended
 * commands".) */
#include "pmi2/core.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "cmd=pmix-"

/* Bytes written to a rank that the root is told of at once; half of what it lets wait. */
enum { TAKEN_AT_ONCE = LIMIT_CHUNK };

static struct relay *relay_of(struct job *j, int rank)
{
    if (!j->relays)
        j->relays = calloc((size_t)j->size, sizeof *j->relays);
    return j->relays ? &j->relays[rank] : NULL;
}

static void send_up(struct job *j, const char *cmd, int rank, const char *payload, size_t len)
{
    struct server *s = j->server;

    if (!s->up)
        return;
    msg_int(peer_message(j, cmd), "rank", rank);
    peer_send(s->up, payload, len);
}

bool relay_takes(const struct conn *c, const struct frame *f)
{
    return !is_root(c->server) && c->member && f->kind == FRAME_BODY &&
           (IN(c->state) & IN_SERVICE) && f->len >= sizeof PREFIX &&
           !memcmp(f->text, PREFIX, sizeof PREFIX - 1);
}

/* Some questions are about this host alone. */
static bool answer_here(struct conn *c, const struct frame *f)
{
    struct server *s = c->server;
    struct buf reply = BUF_INIT;
    bool known = s->ops.answer && s->ops.answer(s->host, c->member, f, &reply);

    if (known)
        conn_send(c, buf_bytes(&reply), reply.len);
    buf_clear(&reply);
    return known;
}

void relay_up(struct conn *c, const struct frame *f)
{
    if (answer_here(c, f))
        return;
    c->relayed = true;
    send_up(c->job, "ext", c->member->rank, f->raw, f->raw_len);
}

/* A rank's connection is gone: so is what the root has of it. */
void relay_end(struct conn *c)
{
    if (c->relayed)
        send_up(c->job, "ext-end", c->member->rank, NULL, 0);
}

/* What the rank has taken is told in steps; the root does not run ahead for ever. */
void relay_taken(struct conn *c)
{
    struct server *s = c->server;

    if (!c->relayed || c->owed < TAKEN_AT_ONCE || !s->up)
        return;
    msg_int(peer_message(c->job, "ext-taken"), "rank", c->member->rank);
    msg_int(&s->out, "bytes", (long long)c->owed);
    c->owed = 0;
    peer_send(s->up, NULL, 0);
}

/* --- at the root ------------------------------------------------------- */

size_t relay_send(struct conn *c, const char *data, size_t len)
{
    msg_int(peer_message(c->job, "ext-out"), "rank", c->via_rank);
    peer_send(c->via, data, len);
    return c->queued + len;
}

void relay_fail(struct conn *c, const char *why)
{
    msg_int(peer_message(c->job, "ext-fail"), "rank", c->via_rank);
    msg_str(&c->server->out, "text", why);
    peer_send(c->via, NULL, 0);
}

static struct conn *conn_via(struct job *j, struct peer *p, int rank)
{
    struct conn *c = conn_new(j->server, j, NULL, NULL);

    if (!c)
        return NULL;
    c->via = p;
    c->via_rank = rank;
    c->wide = c->ours = true;
    c->framer.wire = c->next_wire = WIRE_2;
    c->framer.max = LIMIT_FRAME_RANK;
    c->state = CONN_READY;
    return c;
}

static void forget(struct relay *r)
{
    conn_free(r->conn);
    *r = (struct relay){ 0 };
}

void relays_free(struct job *j)
{
    for (int i = 0; j->relays && i < j->size; i++)
        forget(&j->relays[i]);
    free(j->relays);
    j->relays = NULL;
}

/* A server below is gone, with the ranks that it spoke for. */
void relays_forget(struct server *s, const struct peer *p)
{
    struct job *j;

    TAILQ_FOREACH(j, &s->jobs, in_server)
        for (int i = 0; j->relays && i < j->size; i++) {
            if (j->relays[i].via != p)
                continue;
            forget(&j->relays[i]);
            send_up(j, "ext-end", i, NULL, 0);
        }
}

/* --- messages ---------------------------------------------------------- */

static int rank_of(struct job *j, const struct msg *m, int *rank, struct err *e)
{
    long long n;

    if (msg_number(m, "rank", 0, j->size - 1, &n, e) < 0)
        return -1;
    *rank = (int)n;
    return 0;
}

/* Handed to a connection here, which edits its input. */
static int serve_copy(struct conn *c, const char *payload, size_t len, struct err *e)
{
    struct buf copy = BUF_INIT;

    buf_add(&copy, payload, len);
    if (copy.failed)
        return err_set(e, ERR_NOMEM, "no memory for %zu bytes", len);
    conn_input(c, buf_bytes(&copy), len);
    buf_clear(&copy);
    return 0;
}

int relay_on_ext(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                 size_t len, struct err *e)
{
    struct relay *r;
    int rank;

    if (rank_of(j, m, &rank, e) < 0)
        return -1;
    r = relay_of(j, rank);
    if (!r)
        return err_set(e, ERR_NOMEM, "no memory for extended commands");
    if (job_member(j, rank) || (r->via && r->via != p))
        return err_set(e, ERR_INVALID_ARG, "rank %d is not below", rank);
    r->via = p;
    if (!is_root(j->server)) {
        send_up(j, "ext", rank, payload, len);
        return 0;
    }
    if (!r->conn && !(r->conn = conn_via(j, p, rank)))
        return err_set(e, ERR_NOMEM, "no memory for a connection");
    return len ? serve_copy(r->conn, payload, len, e) : 0;
}

int relay_on_end(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                 size_t len, struct err *e)
{
    int rank;

    (void)payload;
    (void)len;
    if (rank_of(j, m, &rank, e) < 0)
        return -1;
    if (!j->relays || j->relays[rank].via != p)
        return 0;                        /* nothing is known of it any more */
    forget(&j->relays[rank]);
    send_up(j, "ext-end", rank, NULL, 0);
    return 0;
}

int relay_on_taken(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                   size_t len, struct err *e)
{
    struct conn *c;
    long long bytes;
    int rank;

    (void)payload;
    (void)len;
    if (rank_of(j, m, &rank, e) < 0 || msg_number(m, "bytes", 0, INT64_MAX, &bytes, e) < 0)
        return -1;
    if (!j->relays || j->relays[rank].via != p)
        return 0;
    c = j->relays[rank].conn;
    if (!c) {
        msg_int(peer_message(j, "ext-taken"), "rank", rank);
        msg_int(&j->server->out, "bytes", bytes);
        peer_send(j->server->up, NULL, 0);
        return 0;
    }
    if ((size_t)bytes > c->queued)
        return err_set(e, ERR_INVALID_ARG, "more was taken than was sent");
    conn_drained(c, c->queued - (size_t)bytes);
    return 0;
}

/* The connection of a rank that is here, or NULL; *on: sent on towards it. */
static struct conn *towards(struct job *j, int rank, const struct msg *m, const char *payload,
                            size_t len)
{
    struct member *x = job_member(j, rank);

    if (x || !j->relays || !j->relays[rank].via)
        return x ? x->conn : NULL;
    peer_message(j, m->cmd);
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->pairs[i].key, "job") && strcmp(m->pairs[i].key, "payload"))
            msg_bytes(&j->server->out, m->pairs[i].key, m->pairs[i].val, m->pairs[i].len);
    peer_send(j->relays[rank].via, payload, len);
    return NULL;
}

int relay_on_out(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                 size_t len, struct err *e)
{
    struct conn *c;
    int rank;

    (void)p;
    if (rank_of(j, m, &rank, e) < 0)
        return -1;
    c = towards(j, rank, m, payload, len);
    if (!c || !c->relayed)
        return 0;
    c->owed += len;
    conn_send(c, payload, len);
    if (!c->queued)
        relay_taken(c);
    return 0;
}

int relay_on_fail(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                  size_t len, struct err *e)
{
    const char *why = msg_get(m, "text");
    struct conn *c;
    int rank;

    (void)p;
    if (rank_of(j, m, &rank, e) < 0)
        return -1;
    c = towards(j, rank, m, payload, len);
    if (c && c->relayed)
        conn_fail(c, why ? why : "");
    return 0;
}
