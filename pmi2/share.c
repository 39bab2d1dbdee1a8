/* share.c - the key-value space of a job that has several servers.
 *
 * What ranks put goes to the root with the next fence (fence.c); the root decides
 * what exists.  If the new data of a fence is little (release_bytes), and somebody
 * looked at what came the last time, all servers get it with the release.  Otherwise
 * they get the keys that were put again, to drop what they have of them, and ask for
 * the others when a rank does (ask_key.c).
 *
 * What comes down is kept as it came, and only looked through while few ask: most
 * ranks want little of what all have put.  When more is asked for, it is put into the
 * store with its index (share_settle).
 *
 * Data is a row of records:
 *
 *     u32 source rank, u32 bytes of key, u32 bytes of value, key NUL, value NUL
 *
 * in little-endian order; a value of 2^32-1 bytes says that the key was put again
 * and is to be dropped (and no value follows).
 *
 * A key that was put read-only (bit 31 of its bytes) is put once.  Who knows of an
 * earlier put refuses a later one at once.  Two nodes that do not know of each other's
 * have both taken theirs: then the root decides, by which came first, and what it
 * tells all with the next release has a record for the other: to be dropped, and the
 * rank that put it plus one; that rank hears of it from its fence. */
#include "pmi2/core.h"

#include "wire/utf8.h"

#include <endian.h>
#include <string.h>

#define DROP UINT32_MAX
#define FIXED (UINT32_C(1) << 31)

enum { NOBODY = -2 };            /* no node, and not that of a rank that is not in the map */

/* How often what has come is looked through before it gets an index, and how many bytes
 * of it may lie about. */
enum { SEARCHES = 4, LATE_MAX = 1 << 18 };

static void add_number(struct buf *out, uint32_t n)
{
    n = htole32(n);
    buf_add(out, &n, sizeof n);
}

static void add_text(struct buf *out, const char *text, size_t len)
{
    buf_add(out, text, len);
    buf_char(out, '\0');
}

void share_add(struct buf *out, int src, const char *key, const char *value, size_t len,
               bool fixed)
{
    size_t key_len = strlen(key);

    add_number(out, (uint32_t)src);
    add_number(out, (uint32_t)key_len | (fixed ? FIXED : 0));
    add_number(out, (uint32_t)len);
    add_text(out, key, key_len);
    add_text(out, value, len);
}

/* putter: whose put was refused; -1: nobody's. */
static void add_drop(struct buf *out, int putter, const char *key)
{
    size_t key_len = strlen(key);

    add_number(out, (uint32_t)(putter + 1));
    add_number(out, (uint32_t)key_len);
    add_number(out, DROP);
    add_text(out, key, key_len);
}

static int take_number(const char **data, size_t *len, uint32_t *out)
{
    if (*len < sizeof *out)
        return -1;
    memcpy(out, *data, sizeof *out);
    *out = le32toh(*out);
    *data += sizeof *out;
    *len -= sizeof *out;
    return 0;
}

/* n bytes without NUL, and a NUL behind them. */
static const char *take_text(const char **data, size_t *len, uint32_t n)
{
    const char *text = *data;

    if (n >= *len || text[n] || memchr(text, '\0', n))
        return NULL;
    *data += n + 1;
    *len -= n + 1;
    return text;
}

int share_next(const char **data, size_t *len, struct share_record *r, struct err *e)
{
    uint32_t src, key_len, val_len;

    if (!*len)
        return 0;
    if (take_number(data, len, &src) < 0 || take_number(data, len, &key_len) < 0 ||
        take_number(data, len, &val_len) < 0 || src > INT32_MAX)
        return err_set(e, ERR_LENGTH, "a record of %zu bytes is cut off", *len);
    *r = (struct share_record){ .src = (int)src, .drop = val_len == DROP,
                                .len = val_len == DROP ? 0 : val_len,
                                .fixed = key_len & FIXED };
    key_len &= ~FIXED;
    r->key = take_text(data, len, key_len);
    if (r->key && !r->drop)
        r->value = take_text(data, len, val_len);
    if (!r->key || (!r->drop && !r->value))
        return err_set(e, ERR_LENGTH, "a record of %u and %u bytes does not fit", key_len,
                       val_len);
    return 1;
}

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
        add_drop(&j->again, -1, key);
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

static int put(struct job *j, int src, const char *key, const char *value, size_t len,
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
        return put(j, src, key, value, len, fixed, e);
    note_again(j, key);
    if (!j->open)
        j->open = kvs_block_new(j->kvs);
    kvs_block_use(j->kvs, j->open);
    if (put(j, src, key, value, len, fixed, e) < 0)
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

static int node_of(const struct job *j, int rank)
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

static int check_record(const struct job *j, const struct share_record *r, struct err *e)
{
    if (r->src - r->drop >= j->size)
        return err_set(e, ERR_INVALID_ARG, "data of rank %d, the job has %d", r->src, j->size);
    if (!*r->key || strlen(r->key) > LIMIT_KEY || r->len > LIMIT_VALUE)
        return err_set(e, ERR_LENGTH, "a key of %zu bytes with a value of %zu",
                       strlen(r->key), r->len);
    return 0;
}

/* At the root: a put that comes too late, or that is read-only and not the first.  Its
 * node learns of it, and what the value is: now, or when it asks. */
static void refuse(struct job *j, const struct share_record *r, const struct kvs_entry *old)
{
    server_log(j->server, LOG_INFO, NULL, "key %.64s is read-only: the put of rank %d is not "
               "taken, it was put by rank %d", r->key, r->src, old->src);
    add_drop(&j->again, r->src, r->key);
    if (j->news_big)
        return;
    add_drop(&j->news, r->src, r->key);
    share_add(&j->news, old->src, old->key, old->value, old->len, old->fixed);
    limit_news(j);
}

/* At the root: one record that has climbed.  node: whose block is in use, NOBODY: none. */
static int store_up(struct job *j, const struct share_record *r, int *node, struct err *e)
{
    int here = node_of(j, r->src);
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
    if (put(j, r->src, r->key, r->value, r->len, r->fixed, e) < 0)
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
        if (check_record(j, &r, e) < 0 || (root && store_up(j, &r, &node, e) < 0))
            return -1;
    if (got < 0 || root)
        return got;
    buf_add(&j->news, all, all_len);     /* on its way */
    return j->news.failed ? err_set(e, ERR_NOMEM, "no memory for data") : 0;
}

/* --- down -------------------------------------------------------------- */

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
    if (put(j, away(r->src), r->key, r->value, r->len, r->fixed, NULL) < 0 && there)
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
        int here = r.drop ? node : node_of(j, r.src);

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
        if (check_record(j, &r, e) < 0)
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

    if (check_records(j, data, len, e) < 0)
        return -1;
    share_settle(j);
    kvs_block_new(j->kvs);
    while (share_next(&data, &len, &r, NULL) > 0)
        if (!r.drop && !kvs_get(j->kvs, r.key, &old))
            put(j, away(r.src), r.key, r.value, r.len, r.fixed, NULL);
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

/* The last that came down about a key.  False: nothing did.  These records have been
 * looked at when they came, so only what is needed is read. */
static bool search(const struct job *j, const char *key, struct share_record *found)
{
    const char *at = buf_bytes(&j->late), *end = at + j->late.len, *last = NULL;
    size_t key_len = strlen(key), left;

    while (at < end) {
        uint32_t head[3];

        memcpy(head, at, sizeof head);
        head[1] = le32toh(head[1]) & ~FIXED;
        head[2] = le32toh(head[2]);
        if (head[1] == key_len && !memcmp(at + sizeof head, key, key_len))
            last = at;
        at += sizeof head + head[1] + 1 + (head[2] == DROP ? 0 : head[2] + 1);
    }
    left = last ? (size_t)(end - last) : 0;
    return last && share_next(&last, &left, found, NULL) > 0;
}

bool share_push(struct job *j)
{
    bool push = !j->news_big && (j->pushed ? j->used_below > 0 : j->asked > 0);

    if (j->news.len || j->news_big) {
        j->pushed = push;
        j->used_below = j->asked = 0;
    }
    return push;
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
    if (!search(j, key, &r))
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
