/* ask_key.c - a key that a server does not have is asked of the one above, up to the root.
 *
 * Equal questions about a key share one message.  The answer brings the whole
 * block of data that the key belongs to, and every server on the way keeps it.
 * A key that the root does not have is remembered until the next release.  Where data is
 * held (held.c), that is asked for first. */
#include "pmi2/ask_impl.h"

#include <stdlib.h>
#include <string.h>

/* The question about this key that is under way, or a new one. */
static struct ask *question(struct job *j, const char *key)
{
    struct server *s = j->server;
    struct ask *a;

    TAILQ_FOREACH(a, &s->asks, in_server)
        if (a->job == j && a->key && !strcmp(a->key, key))
            return a;
    a = ask_new(j, key);
    if (!a)
        return NULL;
    peer_message(j, "kvs-get");
    msg_int(&s->out, "id", a->id);
    msg_str(&s->out, "key", key);
    peer_send(s->up, NULL, 0);
    return a;
}

static bool known_missing(const struct job *j, const char *key)
{
    struct kvs_entry en;

    return is_root(j->server) || (j->missing && kvs_get(j->missing, key, &en));
}

/* It is no harm if this is not remembered. */
static void remember_missing(struct job *j, const char *key)
{
    if (!j->missing)
        j->missing = kvs_new(j->server->seed, LIMIT_NODE_BYTES);
    if (j->missing)
        kvs_put(j->missing, 0, key, "", 0, NULL);
}

enum outcome ask_key(struct request *rq, const char *key, struct err *e)
{
    struct job *j = request_job(rq);
    struct request *kept = NULL;
    struct ask *a = NULL;

    if (known_missing(j, key))
        return NOT_FOUND;
    rq->text[0] = strdup(key);
    if (rq->text[0])
        a = j->held_due ? held_question(j) : question(j, key);
    if (a)
        kept = request_park(rq, &a->waiters, e);
    else
        err_set(e, ERR_NOMEM, "no memory to ask for a key");
    if (!kept)
        free(rq->text[0]);
    rq->text[0] = NULL;
    return kept ? PARKED : FAILED;
}

void tell_data(struct peer *p, struct job *j, unsigned id, const char *data, size_t len)
{
    struct server *s = j->server;

    peer_message(j, "answer");
    msg_int(&s->out, "id", id);
    msg_int(&s->out, "rc", len ? 0 : 1);
    peer_send(p, data, len);
}

static void tell_entry(struct peer *p, struct job *j, unsigned id,
                       const struct kvs_entry *found)
{
    struct buf block = BUF_INIT;

    share_add_block(j, found, &block);
    tell_data(p, j, id, buf_bytes(&block), block.failed ? 0 : block.len);
    buf_clear(&block);
}

int ask_get(struct peer *p, struct job *j, const struct msg *m, const char *payload,
            size_t len, struct err *e)
{
    const char *key = msg_get(m, "key");
    struct kvs_entry found;
    long long id;
    struct ask *a;

    (void)payload;
    (void)len;
    if ((key && strlen(key) > LIMIT_KEY) || msg_number(m, "id", 0, UINT32_MAX, &id, e) < 0)
        return err_set(e, ERR_INVALID_ARG, "a number, and a key that may be one, wanted");
    j->asked++;
    if (!key)
        return held_get(p, j, (unsigned)id, e);
    if (share_find_known(j, key, &found))
        tell_entry(p, j, (unsigned)id, &found);
    else if (known_missing(j, key))
        tell_data(p, j, (unsigned)id, NULL, 0);
    else if (!(a = question(j, key)) || add_asker(a, p, (unsigned)id) < 0)
        return err_set(e, ERR_NOMEM, "no memory to ask for a key");
    return 0;
}

static void answer_rank(struct request *rq, const struct kvs_entry *found)
{
    struct err e;

    err_set(&e, ERR_OTHER, "key not found");
    if (found)
        reply_text(rq, 0, found->value, found->len);
    request_finish(rq, found ? REPLY : NOT_FOUND, &e);
}

void ask_key_next(struct request *rq)
{
    struct job *j = request_job(rq);
    struct kvs_entry found;
    struct ask *a;
    struct err e;

    if (kvs_get(j->kvs, rq->text[0], &found)) {
        answer_rank(rq, &found);
    } else if (known_missing(j, rq->text[0])) {
        answer_rank(rq, NULL);
    } else if ((a = question(j, rq->text[0]))) {
        request_await(rq, &a->waiters);
    } else {
        err_set(&e, ERR_NOMEM, "no memory to ask for a key");
        request_finish(rq, FAILED, &e);
    }
}

/* The answer goes on as it came: what this node has put itself since is not known to the
 * root yet, and not theirs.  Ranks here are told what there is here now. */
void answer_key(struct ask *a, const char *payload, size_t len)
{
    struct job *j = a->job;
    struct kvs_entry found;
    bool there = kvs_get(j->kvs, a->key, &found) > 0;
    struct request *rq;
    struct asker *x;

    if (!len)
        remember_missing(j, a->key);
    SLIST_FOREACH(x, &a->below, next)
        tell_data(x->peer, j, x->id, payload, len);
    while ((rq = TAILQ_FIRST(&a->waiters.list)))
        answer_rank(rq, there ? &found : NULL);
    ask_free(a);
}
