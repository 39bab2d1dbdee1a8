/* fence.c - collective calls: the fence (PMI-1 barrier and PMI-2 fence are one),
 * group barriers of PMI-1.2, and the ring.
 *
 * A fence exists from the first entry until all its members are in.  A member
 * may enter the next round before others have left this one (threads): entered[]
 * counts each member's entries, epoch the rounds that are complete.
 *
 * Where a job has several servers, each waits for its own members, and in a fence
 * of the whole job for all below it, and sends one message up; the root sends one
 * down, to all.  It carries the number of releases so far (seq), and what goes up
 * carries the number that its sender has seen, so that an entry into a round that
 * has failed meanwhile is recognised.  A fence of members that all are here is
 * nobody else's business. */
#include "pmi2/core.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fence {
    TAILQ_ENTRY(fence) in_job;
    struct job     *job;             /* borrowed */
    enum fence_kind kind;
    long long       tag;
    int            *ranks;           /* owned, sorted; NULL: all of the job */
    size_t          n;               /* members */
    int            *here;            /* owned: the ranks of those here; NULL: all of the
                                        job that are here */
    size_t          nhere;
    unsigned       *entered;         /* owned, by member here */
    unsigned        epoch;           /* rounds complete */
    size_t          arrived;         /* members here in the present round */
    size_t          below;           /* members at other servers, in this round */
    int             waiting;         /* one of them; -1: not known */
    uint32_t        last;            /* block of the store that went with it */
    bool            sent;            /* this round has been told to the server above */
    bool            hinted;          /* it knows that somebody waits here */
    bool            checked;         /* who misses has been asked */
    struct buf      ring;            /* owned: texts that came from below */
    struct waiters  waiters;
};

static void fence_free(struct fence *f)
{
    if (!f)
        return;
    free(f->ranks);
    free(f->here);
    free(f->entered);
    buf_clear(&f->ring);
    free(f);
}

static void fence_drop(struct fence *f)
{
    TAILQ_REMOVE(&f->job->fences, f, in_job);
    fence_free(f);
}

void fences_free(struct job *j)
{
    struct fence *f;

    while ((f = TAILQ_FIRST(&j->fences)))
        fence_drop(f);
    buf_clear(&j->failed);
}

static bool same(const struct fence *f, const struct fence_id *id)
{
    if (f->kind != id->kind || f->tag != id->tag || !f->ranks != !id->ranks)
        return false;
    return !f->ranks ||
           (f->n == id->n && !memcmp(f->ranks, id->ranks, id->n * sizeof *id->ranks));
}

static struct fence_id id_of(const struct fence *f)
{
    return (struct fence_id){ f->kind, f->tag, f->ranks, f->ranks ? f->n : 0 };
}

/* Which of the group are here. */
static int find_here(struct fence *f)
{
    const struct job *j = f->job;

    f->nhere = (size_t)j->nlocal;
    if (!f->ranks)
        return 0;
    f->here = malloc(f->n * sizeof *f->here);
    if (!f->here)
        return -1;
    f->nhere = 0;
    for (size_t i = 0; i < f->n; i++)
        if (job_member(f->job, f->ranks[i]))
            f->here[f->nhere++] = f->ranks[i];
    return 0;
}

static struct fence *fence_new(struct job *j, const struct fence_id *id)
{
    struct fence *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    f->job = j;
    f->kind = id->kind;
    f->tag = id->tag;
    f->waiting = -1;
    f->n = id->ranks ? id->n : (size_t)(id->kind == FENCE_NODE ? j->nlocal : j->size);
    waiters_init(&f->waiters);
    if (id->ranks && (f->ranks = malloc(f->n * sizeof *f->ranks)))
        memcpy(f->ranks, id->ranks, f->n * sizeof *f->ranks);
    if ((id->ranks && !f->ranks) || find_here(f) < 0 ||
        !(f->entered = calloc(f->nhere ? f->nhere : 1, sizeof *f->entered))) {
        fence_free(f);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&j->fences, f, in_job);
    return f;
}

static struct fence *find(struct job *j, const struct fence_id *id)
{
    struct fence *f;

    TAILQ_FOREACH(f, &j->fences, in_job)
        if (same(f, id))
            return f;
    return NULL;
}

static struct fence *find_or_make(struct job *j, const struct fence_id *id, struct err *e)
{
    struct fence *f = find(j, id);
    int open = 0;

    if (f)
        return f;
    TAILQ_FOREACH(f, &j->fences, in_job)
        open++;
    if (open >= LIMIT_GROUPS)
        err_set(e, ERR_NOMEM, "more than %d group barriers are open", LIMIT_GROUPS);
    else if (!(f = fence_new(j, id)))
        err_set(e, ERR_NOMEM, "no memory for a fence");
    return f;
}

static int by_rank(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

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

static struct member *member_at(const struct fence *f, size_t i)
{
    return f->here ? job_member(f->job, f->here[i]) : &f->job->members[i];
}

/* All its members are here. */
static bool is_local(const struct fence *f)
{
    return f->nhere == f->n;
}

/* --- groups in text ---------------------------------------------------- */

/* A decimal int at *s that ends at one of `ends` or the end of the text. */
static int take_int(const char **s, const char *ends, long *out)
{
    char *end;

    if (**s != '-' && (**s < '0' || **s > '9'))
        return -1;
    *out = strtol(*s, &end, 10);
    if (end == *s || *out < INT_MIN || *out > INT_MAX || (*end && !strchr(ends, *end)))
        return -1;
    *s = end;
    return 0;
}

/* "3,1,2" at *s, up to ':' or the end, becomes a sorted array without repeats, so
 * that every spelling of a set is one group; NULL if it is all of the job. */
static int take_ranks(const char **s, int size, int **out, size_t *n, struct err *e)
{
    int *ranks = malloc((strlen(*s) / 2 + 1) * sizeof *ranks);
    size_t kept = 0;
    long r;

    *n = 0;
    *out = NULL;
    if (!ranks)
        return err_set(e, ERR_NOMEM, "no memory for a group");
    for (;; ++*s) {
        if (take_int(s, ",:", &r) < 0 || r < 0 || r >= size) {
            free(ranks);
            return err_set(e, ERR_INVALID_VAL, "group: ranks of 0..%d, separated by commas, "
                           "wanted", size - 1);
        }
        ranks[(*n)++] = (int)r;
        if (**s != ',')
            break;
    }
    qsort(ranks, *n, sizeof *ranks, by_rank);
    for (size_t i = 0; i < *n; i++)
        if (!kept || ranks[kept - 1] != ranks[i])
            ranks[kept++] = ranks[i];
    *n = kept;
    if (kept == (size_t)size)
        free(ranks);
    else
        *out = ranks;
    return 0;
}

int fence_parse_group(const char *s, int size, struct fence_id *id, int **ranks,
                      struct err *e)
{
    long tag = 0;

    *ranks = NULL;
    if (!strncmp(s, "WORLD", 5))
        s += 5;
    else if (!strncmp(s, "NODE", 4)) {   /* the job's ranks here: even if these are all,
                                            not the same group as WORLD */
        s += 4;
        id->kind = FENCE_NODE;
    } else if (take_ranks(&s, size, ranks, &id->n, e) < 0)
        return -1;
    if (*s == ':' && s++ && take_int(&s, "", &tag) < 0)
        goto bad;
    if (*s)
        goto bad;
    id->ranks = *ranks;
    id->tag = tag;
    return 0;
bad:
    free(*ranks);
    *ranks = NULL;
    return err_set(e, ERR_INVALID_VAL, "group: <who>:<tag> wanted, tag a number");
}

/* The same for servers: "ring", or what fence_parse_group reads. */
static void format_id(const struct fence_id *id, struct buf *out)
{
    if (id->kind == FENCE_RING)
        buf_str(out, "ring");
    else if (!id->ranks)
        buf_printf(out, "WORLD:%lld", id->tag);
    for (size_t i = 0; id->ranks && i < id->n; i++)
        buf_printf(out, i ? ",%d" : "%d", id->ranks[i]);
    if (id->ranks)
        buf_printf(out, ":%lld", id->tag);
}

/* The fence of a message; *ranks is malloc'ed as above. */
static int take_id(const struct job *j, const struct msg *m, struct fence_id *id, int **ranks,
                   struct err *e)
{
    const char *text = msg_get(m, "fence");

    *id = (struct fence_id){ .kind = FENCE_GROUP };
    *ranks = NULL;
    if (!text)
        return err_set(e, ERR_INVALID_ARG, "no fence");
    if (!strcmp(text, "ring")) {
        id->kind = FENCE_RING;
        return 0;
    }
    if (fence_parse_group(text, j->size, id, ranks, e) < 0)
        return -1;
    if (id->kind == FENCE_NODE)
        return err_set(e, ERR_INVALID_ARG, "a fence of one node comes from another");
    return 0;
}

/* Begin a message about a fence; text is to be cleared after it was sent. */
static struct msg *fence_message(struct job *j, const char *cmd, const struct fence_id *id,
                                 struct buf *text)
{
    struct msg *m = peer_message(j, cmd);

    format_id(id, text);
    msg_str(m, "fence", text->failed ? "" : buf_bytes(text));
    return m;
}

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

/* --- release ----------------------------------------------------------- */

/* A waiting request of the round that is complete, or NULL. */
static struct request *next_released(const struct fence *f)
{
    struct request *rq;

    TAILQ_FOREACH(rq, &f->waiters.list, in_wait)
        if (rq->epoch == f->epoch)
            return rq;
    return NULL;
}

static void release_plain(struct fence *f)
{
    struct request *rq;

    while ((rq = next_released(f))) {
        if (rq->tagged || rq->conn->subversion > 1)
            reply_int(rq, 0, f->tag);
        request_finish(rq, REPLY, NULL);
    }
}

/* The texts of the ring as a store: keys "l3" and "r3". */
static struct kvs *ring_store(const struct fence *f, const struct buf *texts)
{
    struct kvs *k = texts->failed ? NULL : kvs_new(f->job->server->seed, LIMIT_KVS_BYTES);
    const char *data = buf_bytes(texts);
    size_t len = texts->len;
    struct share_record r;

    while (k && share_next(&data, &len, &r, NULL) > 0)
        if (!r.drop && kvs_put(k, r.src, r.key, r.value, r.len, NULL) < 0) {
            kvs_free(k);
            return NULL;
        }
    return k;
}

static bool ring_text(const struct kvs *k, char side, int rank, struct kvs_entry *out)
{
    char key[24];

    snprintf(key, sizeof key, "%c%d", side, rank);
    return k && kvs_get(k, key, out) > 0;
}

static void release_ring(struct fence *f, const struct buf *texts)
{
    struct kvs *k = ring_store(f, texts);
    int size = f->job->size;
    struct request *rq;
    struct err e;

    err_set(&e, k ? ERR_OTHER : ERR_NOMEM, k ? "a neighbour has left" : "no memory for the ring");
    while ((rq = next_released(f))) {
        int r = rq->conn->member->rank;
        struct kvs_entry left, right;
        bool both = ring_text(k, 'r', (r + size - 1) % size, &left) &&
                    ring_text(k, 'l', (r + 1) % size, &right);

        reply_int(rq, 0, r);
        if (both) {
            reply_text(rq, 1, left.value, left.len);
            reply_text(rq, 2, right.value, right.len);
        }
        request_finish(rq, both ? REPLY : FAILED, &e);
    }
    kvs_free(k);
}

/* A round is over: whoever waits in it goes on. */
static void release_round(struct fence *f, const struct buf *ring)
{
    f->epoch++;
    f->arrived = f->below = 0;
    f->waiting = -1;
    f->sent = f->hinted = f->checked = false;
    for (size_t i = 0; i < f->nhere; i++)
        f->arrived += f->entered[i] > f->epoch;
    if (f->kind == FENCE_RING)
        release_ring(f, ring);
    else
        release_plain(f);
}

/* --- up and down the tree ---------------------------------------------- */

/* Add what the members here bring into this round of the ring: all of it, or, for
 * others, only what ranks of other nodes can ask for. */
static void gather_ring(struct fence *f, struct buf *out, bool for_others)
{
    int size = f->job->size;
    struct request *rq;

    TAILQ_FOREACH(rq, &f->waiters.list, in_wait) {
        int r = rq->conn->member->rank;
        char key[24];

        if (rq->epoch != f->epoch + 1)
            continue;
        for (int side = 0; side < 2; side++) {
            int other = side ? (r + 1) % size : (r + size - 1) % size;

            if (for_others && job_member(f->job, other))
                continue;
            snprintf(key, sizeof key, "%c%d", "lr"[side], r);
            share_add(out, r, key, rq->text[side], strlen(rq->text[side]));
        }
    }
}

static int some_waiter(const struct fence *f)
{
    const struct request *rq = TAILQ_FIRST(&f->waiters.list);

    return rq ? rq->conn->member->rank : f->waiting;
}

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
    struct fence_id id = id_of(f);

    f->sent = true;
    f->last = f->kind == FENCE_RING ? 0 : kvs_block_last(f->job->kvs);
    if (f->kind == FENCE_RING)
        gather_ring(f, &f->ring, true);
    send_in(f->job, &id, count, some_waiter(f), f->job->seq,
            f->kind == FENCE_RING ? &f->ring : NULL);
    buf_clear(&f->ring);
}

/* At the root: the fence is complete; tell everybody, with the data. */
static void root_release(struct fence *f)
{
    struct job *j = f->job;
    struct fence_id id = id_of(f);
    struct buf ring = BUF_INIT, text = BUF_INIT, *data;

    if (f->kind == FENCE_RING) {
        gather_ring(f, &f->ring, false);
        ring = f->ring;
        f->ring = (struct buf)BUF_INIT;
        data = &ring;
    } else {
        data = share_push(j) ? &j->news : &j->again;
        share_send_head(j, data);
    }
    j->seq++;
    if (!TAILQ_EMPTY(&j->server->down)) {
        msg_int(fence_message(j, "fence-out", &id, &text), "seq", (long long)j->seq);
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
        gather_ring(f, &ring, false);
    if (!f->ranks && f->kind == FENCE_GROUP)
        share_sent(f->job);              /* and nobody else is to be told */
    release_round(f, &ring);
    buf_clear(&ring);
}

static void fence_look(struct fence *f);

/* Go as far as can be gone; the fence may be gone afterwards. */
static void progress(struct fence *f)
{
    struct job *j = f->job;
    bool root = is_root(j->server);

    while (is_local(f) && f->arrived == f->n)
        local_release(f);
    while (root && !is_local(f) && f->arrived + f->below == f->n)
        root_release(f);
    if (!root && !is_local(f) && !f->sent) {
        size_t want = f->ranks ? f->nhere : (size_t)j->subtree;

        if (want && f->arrived + f->below == want)
            send_up(f, want);
    }
    if (!f->arrived && !f->below && !f->checked)
        fence_drop(f);
    else
        fence_look(f);
}

enum outcome fence_enter(struct request *rq, const struct fence_id *id, struct err *e)
{
    struct job *j = request_job(rq);
    struct fence *f = find_or_make(j, id, e);
    struct request *kept;
    long i;

    if (!f)
        return FAILED;
    i = index_of(f, rq->conn->member->rank);
    kept = i < 0 ? NULL : request_park(rq, &f->waiters, e);
    if (kept) {
        kept->epoch = ++f->entered[i];
        f->arrived += kept->epoch == f->epoch + 1;
        rq->text[0] = rq->text[1] = NULL;        /* the parked one has them */
    } else if (i < 0) {
        err_set(e, ERR_INVALID_ARG, "rank %d is not in the group", rq->conn->member->rank);
    }
    progress(f);
    return kept ? PARKED : FAILED;
}

/* A round that failed is remembered by its name and seq: "WORLD:0 17\n". */
static void remember_failed(struct job *j, const struct fence_id *id)
{
    size_t len = j->failed.len;

    format_id(id, &j->failed);
    buf_printf(&j->failed, " %llu\n", j->seq);
    if (j->failed.failed) {              /* whole lines only */
        j->failed.failed = false;
        buf_cut(&j->failed, len);
    }
    while (j->failed.len > LIMIT_FAILED)         /* the oldest are past */
        buf_consume(&j->failed, strcspn(buf_bytes(&j->failed), "\n") + 1);
}

/* Whether the fence has failed since its sender last heard of releases. */
static bool has_failed(const struct job *j, const struct fence_id *id, long long seen)
{
    struct buf name = BUF_INIT;
    bool failed = false;

    if (!j->failed.len)
        return false;
    format_id(id, &name);
    buf_char(&name, ' ');
    for (const char *line = buf_bytes(&j->failed); *line; line = strchr(line, '\n') + 1)
        if (!name.failed && !strncmp(line, buf_bytes(&name), name.len) &&
            strtoll(line + name.len, NULL, 10) > seen)
            failed = true;
    buf_clear(&name);
    return failed;
}

/* The data of an entry counts even where the entry does not any more. */
static int take_in(struct job *j, const struct fence_id *id, const struct msg *m,
                   const char *payload, size_t len, struct err *e)
{
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
    f = find_or_make(j, id, e);
    if (!f)
        return -1;
    if (f->arrived + f->below + (size_t)count > f->n)
        return err_set(e, ERR_INVALID_ARG, "more ranks enter than there are");
    f->below += (size_t)count;
    if (waiting >= 0)
        f->waiting = (int)waiting;
    if (id->kind == FENCE_RING)
        buf_add(&f->ring, payload, len);
    progress(f);
    return 0;
}

int fence_in(struct peer *p, struct job *j, const struct msg *m, const char *payload,
             size_t len, struct err *e)
{
    struct fence_id id;
    int *ranks, rc;

    if (p->up)
        return err_set(e, ERR_OTHER, "an entry comes from above");
    if (take_id(j, m, &id, &ranks, e) < 0)
        return -1;
    rc = take_in(j, &id, m, payload, len, e);
    free(ranks);
    return rc;
}

/* Hand a message on to the servers below as it came. */
static void pass_down(struct job *j, const struct msg *m, const char *payload, size_t len)
{
    struct msg *out = peer_message(j, m->cmd);

    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->pairs[i].key, "job") && strcmp(m->pairs[i].key, "payload"))
            msg_bytes(out, m->pairs[i].key, m->pairs[i].val, m->pairs[i].len);
    peers_send_down(j->server, payload, len);
}

/* The root has released a round; of a ring it says what others bring. */
static void released(struct fence *f, const char *data, size_t len)
{
    struct buf ring = BUF_INIT;

    if (f->kind == FENCE_RING) {
        buf_add(&ring, data, len);
        gather_ring(f, &ring, false);
    }
    release_round(f, &ring);
    buf_clear(&ring);
    progress(f);
}

int fence_out(struct peer *p, struct job *j, const struct msg *m, const char *payload,
              size_t len, struct err *e)
{
    struct fence_id id;
    struct fence *f;
    long long seq;
    int *ranks, rc = 0;

    if (!p->up)
        return err_set(e, ERR_OTHER, "a release comes from below");
    if (msg_number(m, "seq", 1, LLONG_MAX, &seq, e) < 0 || take_id(j, m, &id, &ranks, e) < 0)
        return -1;
    pass_down(j, m, payload, len);
    j->seq = (unsigned long long)seq;
    f = find(j, &id);
    if (id.kind != FENCE_RING) {
        share_known(j, f && f->sent ? f->last : 0);
        rc = share_take_down(j, payload, len, e);
        share_released(j);
    }
    if (f && rc == 0)
        released(f, payload, len);
    free(ranks);
    return rc;
}

/* --- who misses -------------------------------------------------------- */

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

/* At the root: a fence of several servers misses a rank. */
static void root_stuck(struct fence *f, int missing)
{
    struct job *j = f->job;
    struct server *s = j->server;
    struct fence_id id = id_of(f);
    struct buf text = BUF_INIT;
    struct msg *m;

    if (!s->options.fault_tolerant) {
        if (some_waiter(f) >= 0)
            s->ops.stuck(s->host, j, missing, some_waiter(f));
        return;
    }
    j->seq++;
    remember_failed(j, &id);
    m = fence_message(j, "fence-fail", &id, &text);
    msg_int(m, "seq", (long long)j->seq);
    msg_int(m, "rank", missing);
    peers_send_down(s, NULL, 0);
    buf_clear(&text);
    fail_here(f, missing);
}

/* A member here is missing; nobody else takes part. */
static void local_stuck(struct fence *f, int missing)
{
    struct job *j = f->job;
    struct server *s = j->server;
    int waiting = some_waiter(f);

    if (waiting < 0)
        return;
    if (s->options.fault_tolerant) {
        fail_here(f, missing);
    } else if (is_root(s)) {
        s->ops.stuck(s->host, j, missing, waiting);
    } else {
        msg_int(peer_message(j, "fence-stuck"), "rank", missing);
        msg_int(&s->out, "waiting", waiting);
        peer_send(s->up, NULL, 0);
    }
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

/* Somebody of the job has ended: see to it that an open fence does not wait in vain.
 * The fence may be gone afterwards. */
static void fence_look(struct fence *f)
{
    struct job *j = f->job;
    bool root = is_root(j->server);
    struct member *m = j->gone ? missing_member(f) : NULL;
    struct fence_id id = id_of(f);

    if (is_local(f)) {
        if (m)
            local_stuck(f, m->rank);
        return;
    }
    if (root && j->gone_all && !f->checked) {
        f->checked = true;
        tell(j, "fence-check", &id, -1, false);
    }
    if (!root && j->report && !f->sent && !f->hinted && some_waiter(f) >= 0) {
        f->hinted = true;
        tell(j, "fence-wait", &id, some_waiter(f), true);
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

/* What fence-wait, -check and -missing have in common. */
static int take_about(struct job *j, const struct msg *m, struct fence_id *id, int **ranks,
                      long long *rank, struct err *e)
{
    *rank = -1;
    if (strcmp(m->cmd, "fence-check") && msg_number(m, "rank", 0, j->size - 1, rank, e) < 0)
        return -1;
    return take_id(j, m, id, ranks, e);
}

/* From below: somebody waits there; the root is to know of the fence. */
int fence_wait(struct peer *p, struct job *j, const struct msg *m, const char *payload,
               size_t len, struct err *e)
{
    struct fence_id id;
    struct fence *f;
    long long rank;
    int *ranks;

    (void)payload;
    (void)len;
    if (p->up)
        return err_set(e, ERR_OTHER, "comes from above");
    if (take_about(j, m, &id, &ranks, &rank, e) < 0)
        return -1;
    if (!is_root(j->server)) {
        tell(j, "fence-wait", &id, (int)rank, true);
    } else if ((f = find_or_make(j, &id, e))) {
        f->waiting = (int)rank;
        f->checked = false;
        fence_look(f);
    }
    free(ranks);
    return 0;
}

int fence_check(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                size_t len, struct err *e)
{
    struct fence_id id;
    struct fence *f;
    long long rank;
    int *ranks;

    (void)payload;
    (void)len;
    if (!p->up)
        return err_set(e, ERR_OTHER, "comes from below");
    if (take_about(j, m, &id, &ranks, &rank, e) < 0)
        return -1;
    tell(j, "fence-check", &id, -1, false);
    j->report = true;
    f = find_or_make(j, &id, e);
    if (f && !is_local(f)) {
        f->checked = true;
        fence_look(f);
    }
    free(ranks);
    return f ? 0 : -1;
}

int fence_missing(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                  size_t len, struct err *e)
{
    struct fence_id id;
    struct fence *f;
    long long rank;
    int *ranks;

    (void)payload;
    (void)len;
    if (p->up)
        return err_set(e, ERR_OTHER, "comes from above");
    if (take_about(j, m, &id, &ranks, &rank, e) < 0)
        return -1;
    if (!is_root(j->server))
        tell(j, "fence-missing", &id, (int)rank, true);
    else if ((f = find(j, &id)))
        root_stuck(f, (int)rank);
    free(ranks);
    return 0;
}

int fence_fail(struct peer *p, struct job *j, const struct msg *m, const char *payload,
               size_t len, struct err *e)
{
    struct fence_id id;
    struct fence *f;
    long long rank, seq;
    int *ranks;

    if (!p->up)
        return err_set(e, ERR_OTHER, "comes from below");
    if (msg_number(m, "seq", 1, LLONG_MAX, &seq, e) < 0 ||
        take_about(j, m, &id, &ranks, &rank, e) < 0)
        return -1;
    pass_down(j, m, payload, len);
    j->seq = (unsigned long long)seq;
    remember_failed(j, &id);
    if ((f = find(j, &id)))
        fail_here(f, (int)rank);
    free(ranks);
    return 0;
}

/* From below: a fence of one node is stuck. */
int fence_stuck(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                size_t len, struct err *e)
{
    struct server *s = j->server;
    long long rank, waiting;

    (void)payload;
    (void)len;
    if (p->up)
        return err_set(e, ERR_OTHER, "comes from above");
    if (msg_number(m, "rank", 0, j->size - 1, &rank, e) < 0 ||
        msg_number(m, "waiting", 0, j->size - 1, &waiting, e) < 0)
        return -1;
    if (is_root(s)) {
        s->ops.stuck(s->host, j, (int)rank, (int)waiting);
        return 0;
    }
    msg_int(peer_message(j, "fence-stuck"), "rank", rank);
    msg_int(&s->out, "waiting", waiting);
    peer_send(s->up, NULL, 0);
    return 0;
}
