/* copy.c - the key-value space of a job, in parts, for a job of another launcher: a client
 * reads its own job's (kvs-read) and hands over the other's (kvs-copy), which is then
 * found under that job's id by every rank of its job (PMI v2 API draft, PMI2_Job_Connect;
 * the commands are ours).
 *
 * A part is entries one after the other: "<bytes of key> <bytes of value> <key><value>". */
#include "pmi2/core.h"

#include "wire/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int copy_read(struct job *j, size_t index, struct kvs_entry *found, struct err *e)
{
    struct buf *out = &j->server->attr;
    struct kvs_entry en;
    size_t len;
    bool more;

    buf_reset(out);
    while ((more = kvs_at(j->kvs, index, &en)) &&
           (!out->len || out->len + strlen(en.key) + en.len < LIMIT_CHUNK)) {
        buf_printf(out, "%zu %zu %s", strlen(en.key), en.len, en.key);
        buf_add(out, en.value, en.len);
        index++;
    }
    len = out->len;
    buf_char(out, '\0');
    buf_printf(out, "%zu", more ? index : 0);
    if (out->failed) {
        buf_clear(out);
        return err_set(e, ERR_NOMEM, "no memory for a part of the space");
    }
    *found = (struct kvs_entry){ .key = buf_bytes(out) + len + 1, .value = buf_bytes(out),
                                 .len = len };
    return 0;
}

/* --- taking ------------------------------------------------------------ */

/* A number and the blank behind it. */
static bool take_number(const char **at, const char *end, size_t max, size_t *n)
{
    const char *p = *at;

    for (*n = 0; p < end && *p >= '0' && *p <= '9' && *n <= max; p++)
        *n = *n * 10 + (size_t)(*p - '0');
    if (p == *at || p == end || *p != ' ' || *n > max)
        return false;
    *at = p + 1;
    return true;
}

/* The next entry of a part; -1 and e. */
static int take_entry(struct kvs *to, const char **at, const char *end, struct err *e)
{
    char key[LIMIT_KEY + 1];
    size_t key_len, len;

    if (!take_number(at, end, LIMIT_KEY, &key_len) || !take_number(at, end, LIMIT_VALUE, &len) ||
        !key_len || (size_t)(end - *at) < key_len + len)
        return err_set(e, ERR_LENGTH, "lengths that cannot be");
    if (!utf8_valid(*at, key_len) || !utf8_valid(*at + key_len, len))
        return err_set(e, ERR_INVALID_VAL, "it is not UTF-8");
    memcpy(key, *at, key_len);
    key[key_len] = '\0';
    *at += key_len;
    if (kvs_put(to, 0, key, *at, len, e) < 0)
        return -1;
    *at += len;
    return 0;
}

static int take_entries(struct job *x, const struct copy_part *part, struct err *e)
{
    const char *at = part->data, *end = at + part->len;

    for (; at < end; x->came++)
        if (take_entry(x->coming, &at, end, e) < 0)
            return err_context(e, "entry %zu of job %.64s", x->came, part->id);
    return 0;
}

/* Where the part goes: a new copy, or the one that it continues. */
static struct job *begin(struct job *j, const struct copy_part *part, struct err *e)
{
    struct server *s = j->server;
    struct job *x = foreign_named(s, part->id);

    if (job_named(s, part->id) || (x && x->far)) {
        err_set(e, ERR_INVALID_ARG, "job %.64s needs no copy", part->id);
        return NULL;
    }
    if (!part->index) {
        if (!x && !(x = foreign_add(s, part->id, e)))
            return NULL;
        kvs_free(x->coming);
        x->coming = kvs_new(s->seed, LIMIT_KVS_BYTES);
        x->came = 0;
        x->copier = j;
        if (!x->coming) {
            err_set(e, ERR_NOMEM, "no memory for a copy");
            return NULL;
        }
        return x;
    }
    if (!x || !x->coming || x->copier != j || x->came != part->index) {
        err_set(e, ERR_INVALID_ARG, "a copy of job %.64s goes on at entry %zu, here are %zu",
                part->id, part->index, x && x->copier == j ? x->came : 0);
        return NULL;
    }
    return x;
}

static void drop(struct job *x)
{
    kvs_free(x->coming);
    x->coming = NULL;
    x->copier = NULL;
    foreign_forget(x->server, NULL, NULL);
}

int copy_take(struct job *j, const struct copy_part *part, struct err *e)
{
    struct job *x = begin(j, part, e);
    int rc = x ? take_entries(x, part, e) : -1;

    if (rc == 0 && part->last) {
        rc = job_connect(j, x, e);
        if (rc == 0) {
            kvs_free(x->kvs);
            x->kvs = x->coming;
            x->coming = NULL;
        }
    }
    if (x && (rc < 0 || part->last))
        drop(x);
    return rc;
}

/* --- commands ---------------------------------------------------------- */

enum outcome cmd_read(struct request *rq, struct err *e)
{
    long long index = rq->arg[0].n;
    struct kvs_entry found;

    if (!is_root(rq->conn->server)) {
        char text[24];

        snprintf(text, sizeof text, "%lld", index);
        return ask_job(rq, "kvs-read", text, NULL, e);
    }
    if (copy_read(request_job(rq), (size_t)index, &found, e) < 0)
        return FAILED;
    reply_text(rq, 0, found.value, found.len);
    reply_text(rq, 1, found.key, strlen(found.key));
    return REPLY;
}

enum { COPY_JOB, COPY_INDEX, COPY_LAST, COPY_DATA };

enum outcome cmd_copy(struct request *rq, struct err *e)
{
    const struct value *a = rq->arg;
    struct copy_part part = { .id = a[COPY_JOB].s, .index = (size_t)a[COPY_INDEX].n,
                              .last = a[COPY_LAST].n, .data = a[COPY_DATA].s,
                              .len = a[COPY_DATA].len };

    if (!is_root(rq->conn->server))
        return ask_copy(rq, &part, e);
    return copy_take(request_job(rq), &part, e) < 0 ? FAILED : REPLY;
}
