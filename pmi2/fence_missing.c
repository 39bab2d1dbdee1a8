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

static struct member *member_at(const struct fence *f, size_t i)
{
    return f->here ? job_member(f->job, f->here[i]) : &f->job->members[i];
}

/* One of those here that has ended and is not in, or NULL. */
static struct member *missing_member(const struct fence *f)
{
    for (size_t i = 0; i < f->nhere; i++)
        if (f->entered[i] <= f->epoch && member_at(f, i)->gone)
            return member_at(f, i);
    return NULL;
}

/* Everybody who waits in it here gets an error. */
static void fail_here(struct fence *f, int missing)
{
    struct request *rq;
    struct err e;

    err_set(&e, ERR_OTHER, "rank %d has ended", missing);
    while ((rq = TAILQ_FIRST(&f->waiters.list)))
        request_finish(rq, FAILED, &e);
    fence_drop(f);
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
    struct fence_id id = fence_id_of(f);
    struct buf text = BUF_INIT;
    struct msg *m;

    if (!j->server->options.fault_tolerant) {
        if (fence_waiter(f) >= 0)
            tell_stuck(j, missing, fence_waiter(f));
        else
            f->checked = false;          /* to be asked again when somebody does wait */
        return;
    }
    j->seq++;
    remember_failed(j, &id);
    m = fence_message(j, "fence-fail", &id, &text);
    msg_int(m, "seq", (long long)j->seq);
    msg_int(m, "rank", missing);
    peers_send_down(j->server, NULL, 0);
    buf_clear(&text);
    fail_here(f, missing);
}

/* A member here is missing; nobody else takes part. */
static void local_stuck(struct fence *f, int missing)
{
    int waiting = fence_waiter(f);

    if (waiting < 0)
        return;
    if (f->job->server->options.fault_tolerant)
        fail_here(f, missing);
    else
        tell_stuck(f->job, missing, waiting);
}

/* At the root: a member of another node that is gone with that node. */
static int lost_rank(const struct fence *f)
{
    const struct job *j = f->job;

    for (int r = 0; j->ranks && r < j->size; r++)
        if ((j->ranks[r] & RANK_LOST) &&
            (!f->ranks || bsearch(&r, f->ranks, f->n, sizeof r, by_rank)))
            return r;
    return -1;
}

void fence_look(struct fence *f)
{
    struct job *j = f->job;
    bool root = is_root(j->server);
    struct member *m = j->gone ? missing_member(f) : NULL;
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

    for (f = TAILQ_FIRST(&j->fences); f; f = next) {
        next = TAILQ_NEXT(f, in_job);
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
    if (!is_root(j->server))
        tell(j, "fence-missing", &in->id, in->rank, true);
    else if ((f = fence_find(j, &in->id)))
        root_stuck(f, in->rank);
    return 0;
}

int fence_fail(struct job *j, const struct fence_msg *in, struct err *e)
{
    struct fence *f;

    (void)e;
    peers_pass_down(j, in->m, in->payload, in->len);
    j->seq = in->seq;
    remember_failed(j, &in->id);
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
