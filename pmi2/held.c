/* held.c - new data of a release that does not go along with it, but is held.
 *
 * Whether anybody will look at what ranks have put is not known when a fence is complete.
 * Little data that nobody is known to want stays with the root, and the release tells its
 * number.  A server that misses a key then asks the one above for all that is held, once,
 * and has the data of the whole exchange with one answer.
 *
 * It stands for the release as long as no other brings new data; all servers hear of that
 * in the order of the links, so that an answer is always of the release that was the last
 * one to come.  Like other answers it adds, and replaces nothing. */
#include "pmi2/ask_impl.h"

#include "wire/limits.h"

static void set(struct job *j, unsigned long long seq)
{
    buf_clear(&j->held);
    j->held_seq = seq;
    j->held_due = seq && !is_root(j->server);
}

/* --- the root ---------------------------------------------------------- */

void held_keep(struct job *j, unsigned long long seq)
{
    set(j, seq);
    j->held = j->news;
    j->news = (struct buf)BUF_INIT;
}

void held_drop(struct job *j)
{
    set(j, 0);
}

/* --- servers below ------------------------------------------------------ */

void held_told(struct job *j, unsigned long long seq)
{
    if (seq != j->held_seq)
        set(j, seq);
}

struct ask *held_question(struct job *j)
{
    struct server *s = j->server;
    struct ask *a;

    TAILQ_FOREACH(a, &s->asks, in_server)
        if (a->job == j && a->held)
            return a;
    a = ask_new(j, NULL);
    if (!a)
        return NULL;
    a->held = true;
    msg_int(peer_message(j, "kvs-get"), "id", a->id);
    peer_send(s->up, NULL, 0);
    return a;
}

int held_get(struct peer *p, struct job *j, unsigned id, struct err *e)
{
    struct ask *a;

    if (j->held.len || !j->held_due) {
        tell_data(p, j, id, buf_bytes(&j->held), j->held.len);
        return 0;
    }
    a = held_question(j);
    if (!a || add_asker(a, p, id) < 0)
        return err_set(e, ERR_NOMEM, "no memory to ask for data");
    return 0;
}

/* Keep the answer for those below who have not asked yet; without memory they ask for each
 * key. */
static void keep(struct job *j, const char *data, size_t len)
{
    j->held_due = false;
    if (TAILQ_EMPTY(&j->server->down))
        return;
    buf_add(&j->held, data, len);
    if (j->held.failed)
        buf_clear(&j->held);
}

int held_answer(struct ask *a, const char *data, size_t len, struct err *e)
{
    struct job *j = a->job;
    struct request *rq;
    struct asker *x;

    if (share_take_answer(j, data, len, e) < 0)
        return -1;
    keep(j, data, len);
    SLIST_FOREACH(x, &a->below, next)
        tell_data(x->peer, j, x->id, data, len);
    while ((rq = TAILQ_FIRST(&a->waiters.list)))
        ask_key_next(rq);
    ask_free(a);
    return 0;
}
