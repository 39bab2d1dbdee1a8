/* fence_ring.c - the texts of the ring.
 *
 * On their way they are records (share_record.c) with keys "l3" and "r3": what rank 3 gives
 * its left and its right neighbour. */
#include "pmi2/fence_impl.h"

#include <stdio.h>
#include <string.h>

void ring_gather(struct fence *f, struct buf *out, bool for_others)
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
            share_add(out, r, key, rq->text[side], strlen(rq->text[side]), false);
        }
    }
}

/* The texts as a store; NULL: no memory. */
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

void ring_release(struct fence *f, const struct buf *texts)
{
    struct kvs *k = ring_store(f, texts);
    int size = f->job->size;
    struct request *rq;
    struct err e;

    err_set(&e, k ? ERR_OTHER : ERR_NOMEM, k ? "a neighbour has left" : "no memory for the ring");
    while ((rq = fence_next_released(f))) {
        int r = rq->conn->member->rank;
        struct kvs_entry left, right;
        bool both = ring_text(k, 'r', (r + size - 1) % size, &left) &&
                    ring_text(k, 'l', (r + 1) % size, &right);

        reply_int(rq, 0, r);
        if (both) {
            reply_text(rq, 1, left.value, left.len);
            reply_text(rq, 2, right.value, right.len);
        }
        fence_leave(f, rq, both ? REPLY : FAILED, &e);
    }
    kvs_free(k);
}
