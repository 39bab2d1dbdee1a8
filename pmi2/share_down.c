/* share_down.c - data that comes down to a server: what it has of a key, and what of it
 * it may tell.  See share.c. */
#include "pmi2/share_impl.h"

#include <string.h>

/* How often what has come is looked through before it gets an index, and how many bytes
 * of it may lie about. */
enum { SEARCHES = 4, LATE_MAX = 1 << 18 };

/* A put of this node that is not known to have been released is newer than what comes
 * down. */
static bool is_newer(const struct job *j, const struct kvs_entry *en)
{
    return en->src >= 0 && en->block >= j->guard;
}

void share_known(struct job *j, uint32_t last)
{
    if (last >= j->guard)
        j->guard = last + 1;
}

/* In the store of a node that is not the root, a source below 0 says that the entry has
 * come from above, and not from a rank here. */
static int away(int src)
{
    return -1 - src;
}

static int source(const struct kvs_entry *en)
{
    return en->src < 0 ? away(en->src) : en->src;
}

/* False: not yet. */
static bool store_down(struct job *j, const struct share_record *r)
{
    struct kvs_entry old;
    bool there = kvs_get(j->kvs, r->key, &old) > 0;

    if (there && is_newer(j, &old))
        return false;
    if (r->drop) {
        kvs_remove(j->kvs, r->key);
        return true;
    }
    if (there && old.fixed == r->fixed && old.len == r->len &&
        !memcmp(old.value, r->value, r->len))
        return true;
    if (there && old.fixed)              /* not taken by the root */
        kvs_remove(j->kvs, r->key);
    if (share_store(j, away(r->src), r->key, r->value, r->len, r->fixed, NULL) < 0 && there)
        kvs_remove(j->kvs, r->key);      /* no room to keep it: it will be asked for */
    return true;
}

void share_settle(struct job *j)
{
    const char *data = j->late.len ? buf_bytes(&j->late) : NULL, *at = data;
    size_t len = j->late.len;
    struct buf kept = BUF_INIT;          /* what cannot be decided yet */
    struct share_record r;
    int node = NOBODY;

    for (; share_next(&data, &len, &r, NULL) > 0; at = data) {
        int here = r.drop ? node : share_node_of(j, r.src);

        if (here != node)
            kvs_block_new(j->kvs);
        node = here;
        if (!store_down(j, &r))
            buf_add(&kept, at, (size_t)(data - at));
    }
    buf_clear(&j->late);
    j->late = kept;
    j->searched = 0;
}

static int check_records(const struct job *j, const char *data, size_t len, struct err *e)
{
    struct share_record r;
    int got;

    while ((got = share_next(&data, &len, &r, e)) > 0)
        if (share_check(j, &r, e) < 0)
            return -1;
    return got;
}

/* Puts of ranks here that the root has not taken: their next fence says so. */
static void note_refused(struct job *j, const char *data, size_t len)
{
    struct share_record r;

    while (share_next(&data, &len, &r, NULL) > 0) {
        struct member *m = r.drop && r.src ? job_member(j, r.src - 1) : NULL;

        if (m && !m->refused)
            m->refused = strdup(r.key);
        j->fixes |= r.fixed;
    }
}

int share_take_answer(struct job *j, const char *data, size_t len, struct err *e)
{
    struct kvs_entry old;
    struct share_record r;
    uint32_t block;

    if (check_records(j, data, len, e) < 0)
        return -1;
    share_settle(j);
    block = kvs_block_new(j->kvs);
    while (share_next(&data, &len, &r, NULL) > 0)        /* of a key the last one counts */
        if (!r.drop && (!kvs_get(j->kvs, r.key, &old) || old.block == block))
            share_store(j, away(r.src), r.key, r.value, r.len, r.fixed, NULL);
    return 0;
}

int share_take_down(struct job *j, const char *data, size_t len, struct err *e)
{
    if (check_records(j, data, len, e) < 0)
        return -1;
    note_refused(j, data, len);
    buf_add(&j->late, data, len);
    if (j->late.failed)
        return err_set(e, ERR_NOMEM, "no memory for data");
    j->searched = 0;
    if (j->late.len > LATE_MAX)
        share_settle(j);
    return 0;
}

static int find(struct job *j, const char *key, struct kvs_entry *out)
{
    int there = kvs_get(j->kvs, key, out);
    struct share_record r;

    if (!j->late.len || (there && is_newer(j, out)))
        return there;
    if (++j->searched > SEARCHES) {
        share_settle(j);
        return kvs_get(j->kvs, key, out);
    }
    if (!share_search(j, key, &r))
        return there;
    *out = (struct kvs_entry){ r.key, r.value, r.len, away(r.src), 0, r.fixed };
    return !r.drop;
}

int share_find(struct job *j, const char *key, struct kvs_entry *out)
{
    int there = find(j, key, out);

    if (there && !j->used && !is_root(j->server) && !job_member(j, source(out)))
        j->used = true;
    return there;
}

int share_find_known(struct job *j, const char *key, struct kvs_entry *out)
{
    share_settle(j);
    return kvs_get(j->kvs, key, out) && (is_root(j->server) || !is_newer(j, out));
}

void share_add_block(struct job *j, const struct kvs_entry *found, struct buf *out)
{
    struct kvs_entry en;
    uint32_t at = 0;

    share_add(out, source(found), found->key, found->value, found->len, found->fixed);
    while (found->block && out->len < LIMIT_ANSWER &&
           kvs_block_at(j->kvs, found->block, &at, &en))
        if (en.key != found->key && (is_root(j->server) || !is_newer(j, &en)))
            share_add(out, source(&en), en.key, en.value, en.len, en.fixed);
}
