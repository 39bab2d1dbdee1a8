/* fence_missing.c - fences and members that end.
 *
 * Every server looks for the missing among its own members.  From the first end of a
 * rank on, somebody who waits makes the root know of the fence (fence-wait); it asks
 * all servers (fence-check), and who finds one that has ended and is not in says so
 * (fence-missing).  Then the host of the root is told, or, fault tolerant, all that
 * wait (fence-fail).  A fence whose members all are on one node is looked at there;
 * only that it is stuck goes up (fence-stuck). */
#include "pmi2/fence_impl.h"

#include <stdlib.h>
#include <string.h>

/* --- rounds that have failed ------------------------------------------- */

/* A round that failed is remembered by its name and seq: "WORLD:0 17\n". */
static void remember_failed(struct job *j, const struct fence_id *id)
{
    size_t len = j->failed.len;

    fence_format(id, &j->failed);
    buf_printf(&j->failed, " %llu\n", j->seq);
    if (j->failed.failed) {              /* whole lines only */
        j->failed.failed = false;
        buf_cut(&j->failed, len);
    }
    while (j->failed.len > LIMIT_FAILED)         /* the oldest are past */
        buf_consume(&j->failed, strcspn(buf_bytes(&j->failed), "\n") + 1);
}

bool has_failed(const struct job *j, const struct fence_id *id, long long seen)
{
    struct buf name = BUF_INIT;
    bool failed = false;

    if (id->kind == FENCE_GROUP && !id->ranks && (unsigned long long)seen < j->shrunk)
        return true;                     /* it counts ranks that are out now */
    if (!j->failed.len)
        return false;
    fence_format(id, &name);
    buf_char(&name, ' ');
    for (const char *line = buf_bytes(&j->failed); *line; line = strchr(line, '\n') + 1)
        if (!name.failed && !strncmp(line, buf_bytes(&name), name.len) &&
            strtoll(line + name.len, NULL, 10) > seen)
            failed = true;
    buf_clear(&name);
    return failed;
}

/* --- who misses -------------------------------------------------------- */

/* Tell the server above, or all below, about a fence; rank -1: none. */
static void tell(struct job *j, const char *cmd, const struct fence_id *id, int rank, bool up)
{
    struct buf text = BUF_INIT;
    struct msg *m = fence_message(j, cmd, id, &text);

    if (rank >= 0)
        msg_int(m, "rank", rank);
    if (up)
        peer_send(j->server->up, NULL, 0);
    else
        peers_send_down(j->server, NULL, 0);
    buf_clear(&text);
}

/* One of those here that has ended and is not in, or NULL. */
static const struct member *missing_member(const struct fence *f)
{
    for (size_t i = 0; i < f->nhere; i++) {
        const struct member *m = fence_member(f, i);

        if (f->entered[i] <= f->epoch && m->gone && !is_out(f, m->rank))
            return m;
    }
    return NULL;
}

/* Everybody who waits in it here gets an error. */
static void fail_here(struct fence *f, int missing)
{
    struct request *rq;
    struct err e;

    err_set(&e, ERR_OTHER, "rank %d has ended", missing);
    while ((rq = TAILQ_FIRST(&f->waiters.list)))
        fence_leave(f, rq, FAILED, &e);
    fence_drop(f);
}

/* --- going on without them --------------------------------------------- */

/* "ranks 1,4 have ended" */
static void name_dead(struct err *e, const struct buf *list)
{
    const char *text = list->failed ? "?" : buf_bytes(list);

    err_set(e, ERR_OTHER, strchr(text, ',') ? "ranks %.200s have ended" : "rank %.200s has ended",
            text);
}

/* The present round has failed for all its members: those who wait in it hear of it now,
 * others when they enter. */
static void fail_round(struct fence *f, const struct err *why)
{
    struct request *rq;

    f->why = *why;
    f->owing = true;
    f->epoch++;
    f->below = 0;
    f->waiting = -1;
    f->sent = f->hinted = f->checked = false;
    fence_recount(f);
    while ((rq = fence_next_released(f)))
        fence_leave(f, rq, FAILED, why);
}

/* The fence to be looked at after f, which may be gone by now, and if others are out than
 * before, so may be any. */
static struct fence *next_fence(const struct job *j, struct fence *next, int before)
{
    return j->out + j->out_node == before ? next : TAILQ_FIRST(&j->fences);
}

/* Ranks are out from now on.  What was sent up about fences of several nodes counted
 * them, and what came from below as well: all of it is said anew. */
static void go_on(struct job *j, bool local)
{
    int before = j->out + j->out_node;
    struct fence *f, *next;

    TAILQ_FOREACH(f, &j->fences, in_job)
        if (shrinks(f) && is_local(f) == local) {
            f->below = 0;
            f->sent = false;
            fence_recount(f);
        }
    for (f = TAILQ_FIRST(&j->fences); f; f = next_fence(j, next, before)) {
        next = TAILQ_NEXT(f, in_job);
        before = j->out + j->out_node;
        if (shrinks(f) && is_local(f) == local)
            fence_progress(f);
    }
}

static void take_out(struct job *j, int rank, unsigned char bit, struct buf *list)
{
    if (rank_mark(j, rank, bit))
        buf_printf(list, list->len ? ",%d" : "%d", rank);
}

/* A fence of members that all are here fails once, and goes on without those that have
 * ended. */
static void local_shrink(struct fence *f, int missing)
{
    struct buf list = BUF_INIT;
    struct err why;

    for (size_t i = 0; i < f->nhere; i++)
        if (fence_member(f, i)->gone)
            take_out(f->job, fence_member(f, i)->rank,
                     f->kind == FENCE_NODE ? RANK_OUT_NODE : RANK_OUT, &list);
    if (!list.len || list.failed) {      /* no memory */
        fail_here(f, missing);
    } else {
        name_dead(&why, &list);
        fail_round(f, &why);
        go_on(f->job, true);
    }
    buf_clear(&list);
}

/* At the root: tell all below that the present round of a fence has failed; list: those
 * that fences do without from now on, or NULL. */
static void send_fail(struct fence *f, int missing, const struct buf *list)
{
    struct fence_id id = fence_id_of(f);
    struct buf text = BUF_INIT;
    struct job *j = f->job;
    struct msg *m;

    j->seq++;
    remember_failed(j, &id);
    m = fence_message(j, "fence-fail", &id, &text);
    msg_int(m, "seq", (long long)j->seq);
    msg_int(m, "rank", missing);
    if (list)
        msg_bytes(m, "ranks", buf_bytes(list), list->len);
    peers_send_down(j->server, NULL, 0);
    buf_clear(&text);
}

/* At the root: every fence of the whole job that is open fails, and those after it do
 * without the ranks that have ended. */
static void root_shrink(struct fence *stuck, int missing)
{
    struct job *j = stuck->job;
    struct buf list = BUF_INIT;
    struct fence *f;
    struct err why;

    take_out(j, missing, RANK_OUT, &list);
    for (int r = 0; list.len && j->ranks && r < j->size; r++)
        if (j->ranks[r] & (RANK_GONE | RANK_DEAD | RANK_LOST))
            take_out(j, r, RANK_OUT, &list);
    if (!j->ranks || list.failed) {      /* no memory */
        send_fail(stuck, missing, NULL);
        fail_here(stuck, missing);
    } else if (list.len) {
        name_dead(&why, &list);
        TAILQ_FOREACH(f, &j->fences, in_job) {
            if (!shrinks(f) || f->kind == FENCE_NODE)
                continue;
            send_fail(f, missing, &list);
            fail_round(f, &why);
        }
        j->shrunk = j->seq;
        go_on(j, false);
    }
    buf_clear(&list);
}

/* A fence can never complete: the root tells the host, others those above. */
static void tell_stuck(struct job *j, int missing, int waiting)
{
    struct server *s = j->server;

    if (is_root(s)) {
        s->ops.stuck(s->host, j, missing, waiting);
        return;
    }
    msg_int(peer_message(j, "fence-stuck"), "rank", missing);
    msg_int(&s->out, "waiting", waiting);
    peer_send(s->up, NULL, 0);
}

/* At the root: a fence of several servers misses a rank. */
static void root_stuck(struct fence *f, int missing)
{
    struct job *j = f->job;

    if (!j->server->options.fault_tolerant) {
        if (fence_waiter(f) >= 0)
            tell_stuck(j, missing, fence_waiter(f));
        else
            f->checked = false;          /* to be asked again when somebody does wait */
        return;
    }
    if (shrinks(f)) {
        root_shrink(f, missing);
        return;
    }
    send_fail(f, missing, NULL);
    fail_here(f, missing);
}

/* A member here is missing; nobody else takes part. */
static void local_stuck(struct fence *f, int missing)
{
    int waiting = fence_waiter(f);

    if (waiting < 0)
        return;
    if (f->job->server->options.fault_tolerant && shrinks(f))
        local_shrink(f, missing);
    else if (f->job->server->options.fault_tolerant)
        fail_here(f, missing);
    else
        tell_stuck(f->job, missing, waiting);
}

/* At the root: a member of another node that is gone with that node. */
static int lost_rank(const struct fence *f)
{
    const struct job *j = f->job;

    for (int r = 0; j->ranks && r < j->size; r++)
        if ((j->ranks[r] & RANK_LOST) && !is_out(f, r) &&
            (!f->ranks || bsearch(&r, f->ranks, f->n, sizeof r, by_rank)))
            return r;
    return -1;
}

void fence_look(struct fence *f)
{
    struct job *j = f->job;
    bool root = is_root(j->server);
    const struct member *m = j->gone ? missing_member(f) : NULL;
    struct fence_id id = fence_id_of(f);

    if (is_local(f)) {
        if (m)
            local_stuck(f, m->rank);
        return;
    }
    if (root && j->gone_all && !f->checked) {
        f->checked = true;
        tell(j, "fence-check", &id, -1, false);
    }
    if (!root && j->report && !f->sent && !f->hinted && fence_waiter(f) >= 0) {
        f->hinted = true;
        tell(j, "fence-wait", &id, fence_waiter(f), true);
    }
    if (m && root)
        root_stuck(f, m->rank);
    else if (m && f->checked)
        tell(j, "fence-missing", &id, m->rank, true);
    else if (root && j->lost && lost_rank(f) >= 0)
        root_stuck(f, lost_rank(f));
}

void fences_look(struct job *j)
{
    struct fence *f, *next;
    int before;

    for (f = TAILQ_FIRST(&j->fences); f; f = next_fence(j, next, before)) {
        next = TAILQ_NEXT(f, in_job);
        before = j->out + j->out_node;
        if (is_root(j->server))
            f->checked = false;          /* the one that has ended was not asked for yet */
        fence_look(f);
    }
}

/* --- messages ---------------------------------------------------------- */

/* Somebody waits below; the root is to know of the fence. */
int fence_wait(struct job *j, const struct fence_msg *in, struct err *e)
{
    struct fence *f;

    if (!is_root(j->server)) {
        tell(j, "fence-wait", &in->id, in->rank, true);
        return 0;
    }
    f = fence_need(j, &in->id, e);
    if (!f)
        return -1;
    f->waiting = in->rank;
    f->checked = false;
    fence_look(f);
    return 0;
}

int fence_check(struct job *j, const struct fence_msg *in, struct err *e)
{
    struct fence *f;

    tell(j, "fence-check", &in->id, -1, false);
    j->report = true;
    f = fence_need(j, &in->id, e);
    if (f && !is_local(f)) {
        f->checked = true;
        fence_look(f);
    }
    return f ? 0 : -1;
}

int fence_missing(struct job *j, const struct fence_msg *in, struct err *e)
{
    struct fence *f;

    (void)e;
    if (j->server->options.fault_tolerant)
        rank_mark(j, in->rank, RANK_MINE);       /* before it is told that it has ended */
    if (!is_root(j->server))
        tell(j, "fence-missing", &in->id, in->rank, true);
    else if ((f = fence_find(j, &in->id)))
        root_stuck(f, in->rank);
    return 0;
}

static void mark_out(struct job *j, int rank, bool dead)
{
    (void)dead;
    rank_mark(j, rank, RANK_OUT);
    if (job_member(j, rank))
        rank_mark(j, rank, RANK_MINE);
}

/* All members here are to hear of it, those as well who are not in. */
static int shrink(struct job *j, const struct fence_msg *in, struct err *e)
{
    const struct pair *ranks = msg_find(in->m, "ranks");
    struct buf list = BUF_INIT;
    struct fence *f;
    struct err why;

    if (ranks_take(j, in->m, true, mark_out, e) < 0)
        return -1;
    buf_printf(&list, "%.200s", ranks->val);
    name_dead(&why, &list);
    buf_clear(&list);
    f = j->nlocal ? fence_need(j, &in->id, NULL) : fence_find(j, &in->id);
    if (f)
        fail_round(f, &why);
    j->shrunk = in->seq;
    go_on(j, false);
    return 0;
}

int fence_fail(struct job *j, const struct fence_msg *in, struct err *e)
{
    struct fence *f;

    peers_pass_down(j, in->m, in->payload, in->len);
    j->seq = in->seq;
    remember_failed(j, &in->id);
    if (msg_find(in->m, "ranks"))
        return shrink(j, in, e);
    if ((f = fence_find(j, &in->id)))
        fail_here(f, in->rank);
    return 0;
}

/* A fence of one node below is stuck; nobody else knows of it. */
int fence_stuck(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                size_t len, struct err *e)
{
    long long rank, waiting;

    (void)p;
    (void)payload;
    (void)len;
    if (msg_number(m, "rank", 0, j->size - 1, &rank, e) < 0 ||
        msg_number(m, "waiting", 0, j->size - 1, &waiting, e) < 0)
        return -1;
    tell_stuck(j, (int)rank, (int)waiting);
    return 0;
}
