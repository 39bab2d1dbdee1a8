/* ask.c - questions to the server above, up to the root: who waits for which, and the
 * answers.
 *
 * A question is sent on by every server that cannot answer it, under a number of its own,
 * and the answer comes back the same way.  What is asked: ask_key.c, held.c, ask_root.c. */
#include "pmi2/ask_impl.h"

#include <stdlib.h>
#include <string.h>

void ask_free(struct ask *a)
{
    struct asker *x;

    TAILQ_REMOVE(&a->job->server->asks, a, in_server);
    while ((x = SLIST_FIRST(&a->below))) {
        SLIST_REMOVE_HEAD(&a->below, next);
        free(x);
    }
    free(a->key);
    free(a);
}

/* Requests that still wait belong to connections, which end after this. */
static void ask_drop(struct ask *a)
{
    struct request *rq;

    TAILQ_FOREACH(rq, &a->waiters.list, in_wait)
        rq->waits = NULL;
    ask_free(a);
}

static void forget_peer(struct ask *a, const struct peer *p)
{
    struct asker *x, *next;

    for (x = SLIST_FIRST(&a->below); x; x = next) {
        next = SLIST_NEXT(x, next);
        if (x->peer != p)
            continue;
        SLIST_REMOVE(&a->below, x, asker, next);
        free(x);
    }
}

void asks_forget(struct server *s, const struct peer *p)
{
    struct ask *a, *next;

    for (a = TAILQ_FIRST(&s->asks); a; a = next) {
        next = TAILQ_NEXT(a, in_server);
        if (!p || p->up)
            ask_drop(a);
        else
            forget_peer(a, p);
    }
}

void asks_forget_job(struct job *j)
{
    struct ask *a, *next;

    for (a = TAILQ_FIRST(&j->server->asks); a; a = next) {
        next = TAILQ_NEXT(a, in_server);
        if (a->job == j)
            ask_drop(a);
    }
}

struct ask *ask_new(struct job *j, const char *key)
{
    struct ask *a = calloc(1, sizeof *a);

    if (!a || (key && !(a->key = strdup(key)))) {
        free(a);
        return NULL;
    }
    a->job = j;
    a->id = ++j->server->ask_id;
    waiters_init(&a->waiters);
    SLIST_INIT(&a->below);
    TAILQ_INSERT_TAIL(&j->server->asks, a, in_server);
    return a;
}

static struct ask *find_ask(struct server *s, unsigned id)
{
    struct ask *a;

    TAILQ_FOREACH(a, &s->asks, in_server)
        if (a->id == id)
            return a;
    return NULL;
}

int add_asker(struct ask *a, struct peer *p, unsigned id)
{
    struct asker *x = malloc(sizeof *x);

    if (!x)
        return -1;
    *x = (struct asker){ .peer = p, .id = id };
    SLIST_INSERT_HEAD(&a->below, x, next);
    return 0;
}

struct ask *ask_for(struct request *rq, struct err *e)
{
    struct ask *a = ask_new(request_job(rq), NULL);

    if (!a) {
        err_set(e, ERR_NOMEM, "no memory to ask the server above");
        return NULL;
    }
    if (request_park(rq, &a->waiters, e))
        return a;
    ask_free(a);
    return NULL;
}

struct ask *ask_below(struct peer *p, struct job *j, unsigned id, struct err *e)
{
    struct ask *a = ask_new(j, NULL);

    if (a && add_asker(a, p, id) == 0)
        return a;
    if (a)
        ask_free(a);
    err_set(e, ERR_NOMEM, "no memory to ask the server above");
    return NULL;
}

/* --- answers ----------------------------------------------------------- */

void ask_tell(struct peer *p, struct job *j, unsigned id, enum outcome o, const char *key,
              const char *text, size_t len, const struct err *why)
{
    struct server *s = j->server;

    peer_message(j, "answer");
    msg_int(&s->out, "id", id);
    msg_int(&s->out, "rc", o == REPLY ? 0 : (long long)why->code);
    msg_int(&s->out, "miss", o == NOT_FOUND);
    if (o != REPLY)
        msg_str(&s->out, "errmsg", why->text);
    if (key)
        msg_str(&s->out, "key", key);
    if (text)
        msg_bytes(&s->out, "value", text, len);
    peer_send(p, NULL, 0);
}

/* Fill in the reply of a rank: of a name, or (key) of an entry or a job. */
static void fill_reply(struct request *rq, enum outcome o, const struct pair *key,
                       const struct pair *value)
{
    if (rq->cmd->run == cmd_spawn) {
        spawn_reply(rq, key ? key->val : NULL, value ? value->val : NULL, value ? value->len : 0);
    } else if (!rq->text[0]) {
        if (value)
            reply_text(rq, 0, value->val, value->len);
        if (key)
            reply_text(rq, 1, key->val, key->len);
    } else if (o == REPLY && key && value) {
        reply_int(rq, 0, strtoll(rq->text[0], NULL, 10) + 1);
        reply_text(rq, 1, key->val, key->len);
        reply_text(rq, 2, value->val, value->len);
    } else {
        reply_text(rq, 3, "no_more_keyvals", 15);
    }
}

static void answer_name(struct ask *a, enum outcome o, const struct pair *key,
                        const struct pair *value, const struct err *why)
{
    struct request *rq = TAILQ_FIRST(&a->waiters.list);
    struct asker *x = SLIST_FIRST(&a->below);

    if (x)
        ask_tell(x->peer, a->job, x->id, o, key ? key->val : NULL, value ? value->val : NULL,
                  value ? value->len : 0, why);
    if (rq) {
        fill_reply(rq, o, key, value);
        request_finish(rq, o, why);
    }
    ask_free(a);
}

int ask_answer(struct peer *p, struct job *j, const struct msg *m, const char *payload,
               size_t len, struct err *e)
{
    long long id, rc, miss = 0;
    struct err why = { 0 };
    struct ask *a;

    (void)p;
    if (msg_number(m, "id", 0, UINT32_MAX, &id, e) < 0 ||
        msg_number(m, "rc", 0, 1000, &rc, e) < 0)
        return err_set(e, ERR_INVALID_ARG, "an answer with id and rc wanted");
    if (msg_find(m, "miss") && msg_number(m, "miss", 0, 1, &miss, e) < 0)
        return -1;
    a = find_ask(j->server, (unsigned)id);
    if (!a || a->job != j)
        return err_set(e, ERR_INVALID_ARG, "no question %lld", id);
    if (a->held)
        return held_answer(a, payload, len, e);
    if (a->key) {
        if (share_take_answer(j, payload, len, e) < 0)
            return -1;
        answer_key(a, payload, len);
        return 0;
    }
    if (rc)
        err_set(&why, (enum err_code)rc, "%s", msg_get(m, "errmsg") ? msg_get(m, "errmsg") : "");
    answer_name(a, miss ? NOT_FOUND : rc ? FAILED : REPLY, msg_find(m, "key"),
                msg_find(m, "value"), &why);
    return 0;
}
