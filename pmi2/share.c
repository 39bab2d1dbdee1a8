/* share.c - the key-value space of a job that has several servers.
 *
 * What ranks put goes to the root with the next fence (fence.c); the root decides
 * what exists.  If the new data of a fence is little (release_bytes), and somebody has
 * asked for, or looked at, what was there the last time, all servers get it with the
 * release.  Otherwise they get the keys that were put again, to drop what they have of
 * them, and ask for the others when a rank does: for little data in one (held.c), else
 * key by key (ask_key.c).
 *
 * What comes down is kept as it came, and only looked through while few ask: most
 * ranks want little of what all have put.  When more is asked for, it is put into the
 * store with its index (share_settle).
 *
 * A key that was put read-only is put once.  Who knows of an
 * earlier put refuses a later one at once.  Two nodes that do not know of each other's
 * have both taken theirs: then the root decides, by which came first, and what it
 * tells all with the next release has a record for the other: to be dropped, and the
 * rank that put it plus one; that rank hears of it from its fence. */
#include "pmi2/share_impl.h"

#include "wire/utf8.h"

#include <string.h>

/* --- putting ----------------------------------------------------------- */

/* Whether others are to be told of data. */
static bool has_peers(const struct server *s)
{
    return s->up || !TAILQ_EMPTY(&s->down);
}

/* Room in memory for what a release sends along; beyond that it does not. */
static void limit_news(struct job *j)
{
    if (!is_root(j->server) || j->news.len <= j->server->options.release_bytes)
        return;
    j->news_big = true;
    buf_clear(&j->news);
}

static void add_news(struct job *j, int src, const char *key, const char *value, size_t len,
                     bool fixed)
{
    if (is_root(j->server) && j->news_big)
        return;
    share_add(&j->news, src, key, value, len, fixed);
    limit_news(j);
}

/* At the root: a key that was there before may be known to others. */
static void note_again(struct job *j, const char *key)
{
    struct kvs_entry old;

    if (is_root(j->server) && kvs_get(j->kvs, key, &old))
        share_add_drop(&j->again, -1, key);
}

/* What is wrong with a put, as far as is known here. */
static int check_fixed(struct job *j, const char *key, bool fixed, struct err *e)
{
    struct kvs_entry old;

    if (j->late.len && (fixed || j->fixes))
        share_settle(j);
    if (!kvs_get(j->kvs, key, &old) || (!fixed && !old.fixed))
        return 0;
    return err_set(e, ERR_INVALID_KEY, old.fixed ? "key %.64s is read-only" :
                   "key %.64s was put before, and cannot be read-only", key);
}

int share_store(struct job *j, int src, const char *key, const char *value, size_t len,
               bool fixed, struct err *e)
{
    if (kvs_put(j->kvs, src, key, value, len, e) < 0)
        return -1;
    if (fixed)
        kvs_fix(j->kvs, key);
    j->fixes |= fixed;
    return 0;
}

int share_put(struct job *j, int src, const char *key, const char *value, size_t len,
              bool fixed, struct err *e)
{
    if (check_fixed(j, key, fixed, e) < 0)
        return -1;
    if (!has_peers(j->server))
        return share_store(j, src, key, value, len, fixed, e);
    note_again(j, key);
    if (!j->open)
        j->open = kvs_block_new(j->kvs);
    kvs_block_use(j->kvs, j->open);
    if (share_store(j, src, key, value, len, fixed, e) < 0)
        return -1;
    add_news(j, src, key, value, len, fixed);
    if (j->news.failed)
        return err_set(e, ERR_NOMEM, "no memory for the key-value space");
    return 0;
}

/* --- up ---------------------------------------------------------------- */

/* The bytes of whole records that make one message: up to LIMIT_CHUNK, and at least
 * one record. */
static size_t first_chunk(const struct buf *b)
{
    const char *at = buf_bytes(b);
    size_t left = b->len, done = 0;
    struct share_record r;

    while (share_next(&at, &left, &r, NULL) > 0) {
        if (done && b->len - left > LIMIT_CHUNK)
            break;
        done = b->len - left;
    }
    return done;
}

static void send_data(struct job *j, const char *data, size_t len)
{
    struct server *s = j->server;

    peer_message(j, "kvs-data");
    if (s->up)
        peer_send(s->up, data, len);
    else
        peers_send_down(s, data, len);
}

void share_send_head(struct job *j, struct buf *data)
{
    while (data->len > LIMIT_CHUNK) {
        size_t n = first_chunk(data);

        if (n == data->len)
            return;
        send_data(j, buf_bytes(data), n);
        buf_consume(data, n);
    }
}

void share_sent(struct job *j)
{
    buf_clear(&j->news);
    buf_clear(&j->again);
    j->news_big = false;
    j->open = 0;
    share_released(j);
}

void share_released(struct job *j)
{
    j->used = false;
    kvs_free(j->missing);
    j->missing = NULL;
}

int share_node_of(const struct job *j, int rank)
{
    int first = 0;

    for (size_t i = 0; i < j->nmap; i++) {
        const struct mapping_block *b = &j->map[i];
        long long n = (long long)b->nodes * b->ranks;

        if (rank - first < n)
            return b->first + (rank - first) / b->ranks;
        first += (int)n;
    }
    return -1;
}

/* At the root: a put that comes too late, or that is read-only and not the first.  Its
 * node learns of it, and what the value is: now, or when it asks. */
static void refuse(struct job *j, const struct share_record *r, const struct kvs_entry *old)
{
    server_log(j->server, LOG_INFO, NULL, "key %.64s is read-only: the put of rank %d is not "
               "taken, it was put by rank %d", r->key, r->src, old->src);
    share_add_drop(&j->again, r->src, r->key);
    if (j->news_big)
        return;
    share_add_drop(&j->news, r->src, r->key);
    share_add(&j->news, old->src, old->key, old->value, old->len, old->fixed);
    limit_news(j);
}

/* At the root: one record that has climbed.  node: whose block is in use, NOBODY: none. */
static int store_up(struct job *j, const struct share_record *r, int *node, struct err *e)
{
    int here = share_node_of(j, r->src);
    struct kvs_entry old;

    if (r->drop)
        return err_set(e, ERR_INVALID_ARG, "a key to be dropped comes from below");
    if ((j->fixes || r->fixed) && kvs_get(j->kvs, r->key, &old) && (old.fixed || r->fixed)) {
        refuse(j, r, &old);
        return 0;
    }
    if (here != *node)
        kvs_block_new(j->kvs);
    *node = here;
    if (!utf8_valid(r->key, strlen(r->key)) || !utf8_valid(r->value, r->len))
        return err_set(e, ERR_INVALID_VAL, "data is not UTF-8");
    note_again(j, r->key);
    if (share_store(j, r->src, r->key, r->value, r->len, r->fixed, e) < 0)
        return -1;
    add_news(j, r->src, r->key, r->value, r->len, r->fixed);
    return 0;
}

int share_take_up(struct job *j, const char *data, size_t len, struct err *e)
{
    const char *all = data;
    size_t all_len = len;
    struct share_record r;
    int node = NOBODY, got;
    bool root = is_root(j->server);

    while ((got = share_next(&data, &len, &r, e)) > 0)
        if (share_check(j, &r, e) < 0 || (root && store_up(j, &r, &node, e) < 0))
            return -1;
    if (got < 0 || root)
        return got;
    buf_add(&j->news, all, all_len);     /* on its way */
    return j->news.failed ? err_set(e, ERR_NOMEM, "no memory for data") : 0;
}

/* --- both ways -------------------------------------------------------- */

struct buf *share_release(struct job *j, unsigned long long seq)
{
    if (!j->news.len && !j->news_big)
        return &j->again;
    j->pushed = !j->news_big && (j->pushed ? j->used_below > 0 : j->asked > 0);
    j->used_below = j->asked = 0;
    if (j->pushed || j->news_big || j->news.len > LIMIT_ANSWER)
        held_drop(j);
    else
        held_keep(j, seq);
    return j->pushed ? &j->news : &j->again;
}

int share_data(struct peer *p, struct job *j, const struct msg *m, const char *payload,
               size_t len, struct err *e)
{
    (void)m;
    if (!p->up && is_root(j->server))
        return share_take_up(j, payload, len, e);
    if (!p->up) {                        /* behind what came before it */
        if (share_take_up(j, payload, len, e) < 0)
            return -1;
        share_send_head(j, &j->news);
        return 0;
    }
    peer_message(j, "kvs-data");
    peers_send_down(j->server, payload, len);
    return share_take_down(j, payload, len, e);
}
