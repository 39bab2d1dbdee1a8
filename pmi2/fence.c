/* fence.c - collective calls: the fence (PMI-1 barrier and PMI-2 fence are one),
 * group barriers of PMI-1.2, and the ring.
 *
 * A fence exists from the first entry until all its members are in.  A member
 * may enter the next round before others have left this one (threads): entered[]
 * counts each member's entries, epoch the rounds that are complete.
 *
 * Where a job has several servers, each waits for its own members, and in a fence
 * of the whole job for all below it, and sends one message up; the root sends one
 * down, to all.  It carries the number of rounds so far (seq: releases and failures),
 * and what goes up carries the number that its sender has seen, so that an entry into
 * a round that has failed meanwhile is recognised.  A group whose members all are here
 * is nobody else's business. */
#include "pmi2/fence_impl.h"

#include <limits.h>
#include <stdlib.h>

int fence_waiter(const struct fence *f)
{
    const struct request *rq = TAILQ_FIRST(&f->waiters.list);

    return rq ? rq->conn->member->rank : f->waiting;
}

/* --- release ----------------------------------------------------------- */

static void tell_fenced(const struct fence *f, const struct request *rq, bool enters)
{
    const struct server *s = f->job->server;

    if (s->ops.fenced)
        s->ops.fenced(s->host, rq->conn->member, enters, !f->ranks && f->kind != FENCE_NODE);
}

void fence_leave(const struct fence *f, struct request *rq, enum outcome o, const struct err *e)
{
    tell_fenced(f, rq, false);
    request_finish(rq, o, e);
}

struct request *fence_next_released(const struct fence *f)
{
    struct request *rq;

    TAILQ_FOREACH(rq, &f->waiters.list, in_wait)
        if (rq->epoch == f->epoch)
            return rq;
    return NULL;
}

/* A put of it was not taken, which it is told now. */
static void release_refused(struct fence *f, struct request *rq)
{
    struct member *m = rq->conn->member;
    struct err e;

    err_set(&e, ERR_INVALID_KEY, "key %.64s is read-only: another rank's put came first",
            m->refused);
    free(m->refused);
    m->refused = NULL;
    fence_leave(f, rq, FAILED, &e);
}

static void release_plain(struct fence *f)
{
    struct request *rq;

    while ((rq = fence_next_released(f))) {
        if (rq->tagged || rq->conn->subversion > 1)
            reply_int(rq, 0, f->tag);
        if (rq->conn->member->refused)
            release_refused(f, rq);
        else
            fence_leave(f, rq, REPLY, NULL);
    }
}

void fence_recount(struct fence *f)
{
    f->arrived = 0;
    for (size_t i = 0; i < f->nhere; i++)
        f->arrived += f->entered[i] > f->epoch && !is_out(f, fence_member(f, i)->rank);
}

/* A round is over: whoever waits in it goes on. */
static void release_round(struct fence *f, const struct buf *ring)
{
    f->epoch++;
    f->below = 0;
    f->waiting = -1;
    f->sent = f->hinted = f->checked = false;
    fence_recount(f);
    if (f->kind == FENCE_RING)
        ring_release(f, ring);
    else
        release_plain(f);
}

/* --- up and down the tree ---------------------------------------------- */

/* count members are in, here and below, with all that they have put. */
static void send_in(struct job *j, const struct fence_id *id, size_t count, int waiting,
                    unsigned long long seen, const struct buf *ring)
{
    struct buf text = BUF_INIT;
    const struct buf *data = ring ? ring : &j->news;
    struct msg *m;

    if (!ring)
        share_send_head(j, &j->news);
    m = fence_message(j, "fence-in", id, &text);
    msg_int(m, "count", (long long)count);
    msg_int(m, "seen", (long long)seen);
    if (j->used + j->used_below)
        msg_int(m, "used", j->used + j->used_below);
    j->used_below = 0;
    if (waiting >= 0)
        msg_int(m, "rank", waiting);
    peer_send(j->server->up, buf_bytes(data), data->len);
    buf_clear(&text);
    if (!ring)
        share_sent(j);
}

static void send_up(struct fence *f, size_t count)
{
    struct fence_id id = fence_id_of(f);

    f->sent = true;
    f->last = f->kind == FENCE_RING ? 0 : kvs_block_last(f->job->kvs);
    if (f->kind == FENCE_RING)
        ring_gather(f, &f->ring, true);
    send_in(f->job, &id, count, fence_waiter(f), f->job->seq,
            f->kind == FENCE_RING ? &f->ring : NULL);
    buf_clear(&f->ring);
}

/* At the root: the fence is complete; tell everybody, with the data. */
static void root_release(struct fence *f)
{
    struct job *j = f->job;
    struct fence_id id = fence_id_of(f);
    struct buf ring = BUF_INIT, text = BUF_INIT, *data;

    if (f->kind == FENCE_RING) {
        ring_gather(f, &f->ring, false);
        ring = f->ring;
        f->ring = (struct buf)BUF_INIT;
        data = &ring;
    } else {
        data = share_release(j, j->seq + 1);
        share_send_head(j, data);
    }
    j->seq++;
    if (!TAILQ_EMPTY(&j->server->down)) {
        struct msg *m = fence_message(j, "fence-out", &id, &text);

        msg_int(m, "seq", (long long)j->seq);
        if (f->kind != FENCE_RING && j->held_seq)
            msg_int(m, "held", (long long)j->held_seq);
        peers_send_down(j->server, buf_bytes(data), data->len);
    }
    if (f->kind != FENCE_RING)
        share_sent(j);
    release_round(f, &ring);
    buf_clear(&ring);
    buf_clear(&text);
}

/* All its members are here: no other server takes part. */
static void local_release(struct fence *f)
{
    struct buf ring = BUF_INIT;

    if (f->kind == FENCE_RING)
        ring_gather(f, &ring, false);
    if (!f->ranks && f->kind == FENCE_GROUP)
        share_sent(f->job);              /* at the root; nobody else is to be told */
    release_round(f, &ring);
    buf_clear(&ring);
}

/* A member here has not heard yet of a round that has failed. */
static bool owes(const struct fence *f)
{
    for (size_t i = 0; f->owing && i < f->nhere; i++)
        if (f->entered[i] < f->epoch && !fence_member(f, i)->gone)
            return true;
    return false;
}

/* All are in that are to be; out: ranks that it does without. */
static bool is_full(const struct fence *f)
{
    size_t in = f->arrived + f->below;

    return in && in == f->n - out_of(f);
}

void fence_progress(struct fence *f)
{
    struct job *j = f->job;
    bool root = is_root(j->server);

    while (is_local(f) && is_full(f))
        local_release(f);
    while (root && !is_local(f) && is_full(f))
        root_release(f);
    if (!root && !is_local(f) && !f->sent) {
        size_t want = f->ranks ? f->nhere : (size_t)j->subtree;

        if (shrinks(f))
            want -= (size_t)j->out_mine;
        if (want && f->arrived + f->below == want)
            send_up(f, want);
    }
    if (!f->arrived && !f->below && !f->checked && !owes(f) && TAILQ_EMPTY(&f->waiters.list))
        fence_drop(f);
    else
        fence_look(f);
}

/* --- entries and releases ---------------------------------------------- */

/* Position of a rank among the members here, or -1. */
static long index_of(const struct fence *f, int rank)
{
    const struct member *m = job_member(f->job, rank);
    const int *at;

    if (!f->ranks)
        return m ? m - f->job->members : -1;
    at = bsearch(&rank, f->here, f->nhere, sizeof rank, by_rank);
    return at ? at - f->here : -1;
}

enum outcome fence_enter(struct request *rq, const struct fence_id *id, struct err *e)
{
    struct job *j = request_job(rq);
    struct fence *f = fence_need(j, id, e);
    struct request *kept;
    long i;

    if (!f)
        return FAILED;
    i = index_of(f, rq->conn->member->rank);
    kept = i < 0 ? NULL : request_park(rq, &f->waiters, e);
    if (kept) {
        tell_fenced(f, kept, true);
        kept->epoch = ++f->entered[i];
        f->arrived += kept->epoch == f->epoch + 1;
        rq->text[0] = rq->text[1] = NULL;        /* the parked one has them */
        if (kept->epoch <= f->epoch)             /* that round has failed */
            fence_leave(f, kept, FAILED, &f->why);
    } else if (i < 0) {
        err_set(e, ERR_INVALID_ARG, "rank %d is not in the group", rq->conn->member->rank);
    }
    fence_progress(f);
    return kept ? PARKED : FAILED;
}

/* The data of an entry counts even where the entry does not any more. */
int fence_in(struct job *j, const struct fence_msg *in, struct err *e)
{
    const struct fence_id *id = &in->id;
    const struct msg *m = in->m;
    const char *payload = in->payload;
    size_t len = in->len;
    long long count, seen, waiting = -1, used = 0;
    struct fence *f;

    if (msg_number(m, "count", 1, j->size, &count, e) < 0 ||
        msg_number(m, "seen", 0, LLONG_MAX, &seen, e) < 0 ||
        (msg_find(m, "rank") && msg_number(m, "rank", 0, j->size - 1, &waiting, e) < 0) ||
        (msg_find(m, "used") && msg_number(m, "used", 0, INT_MAX, &used, e) < 0))
        return -1;
    j->used_below += (unsigned)used;
    if (id->kind != FENCE_RING && share_take_up(j, payload, len, e) < 0)
        return -1;
    if (has_failed(j, id, seen))
        return 0;
    if (!is_root(j->server) && id->ranks) {      /* a group is counted at the root */
        send_in(j, id, (size_t)count, (int)waiting, (unsigned long long)seen, NULL);
        return 0;
    }
    f = fence_need(j, id, e);
    if (!f)
        return -1;
    if (f->arrived + f->below + (size_t)count > f->n)
        return err_set(e, ERR_INVALID_ARG, "more ranks enter than there are");
    f->below += (size_t)count;
    if (waiting >= 0)
        f->waiting = (int)waiting;
    if (id->kind == FENCE_RING)
        buf_add(&f->ring, payload, len);
    fence_progress(f);
    return 0;
}

/* The root has released a round; of a ring it says what others bring. */
static void released(struct fence *f, const char *data, size_t len)
{
    struct buf ring = BUF_INIT;

    if (f->kind == FENCE_RING) {
        buf_add(&ring, data, len);
        ring_gather(f, &ring, false);
    }
    release_round(f, &ring);
    buf_clear(&ring);
    fence_progress(f);
}

int fence_out(struct job *j, const struct fence_msg *in, struct err *e)
{
    struct fence *f;
    long long held = 0;
    int rc = 0;

    if (msg_find(in->m, "held") && msg_number(in->m, "held", 1, LLONG_MAX, &held, e) < 0)
        return -1;
    peers_pass_down(j, in->m, in->payload, in->len);
    j->seq = in->seq;
    f = fence_find(j, &in->id);
    if (in->id.kind != FENCE_RING) {
        share_known(j, f && f->sent ? f->last : 0);
        rc = share_take_down(j, in->payload, in->len, e);
        share_released(j);
        held_told(j, (unsigned long long)held);
    }
    if (f && rc == 0)
        released(f, in->payload, in->len);
    return rc;
}
