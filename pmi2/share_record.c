/* share_record.c - data of the key-value space as bytes, between servers.
 *
 * Data is a row of records:
 *
 *     u32 source rank, u32 bytes of key, u32 bytes of value, key NUL, value NUL
 *
 * in little-endian order; a value of 2^32-1 bytes says that the key was put again
 * and is to be dropped (and no value follows).  Bit 31 of the key's bytes: it was put
 * read-only. */
#include "pmi2/share_impl.h"

#include <endian.h>
#include <string.h>

#define DROP UINT32_MAX
#define FIXED (UINT32_C(1) << 31)

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

void share_add_drop(struct buf *out, int putter, const char *key)
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

int share_check(const struct job *j, const struct share_record *r, struct err *e)
{
    if (r->src - r->drop >= j->size)
        return err_set(e, ERR_INVALID_ARG, "data of rank %d, the job has %d", r->src, j->size);
    if (!*r->key || strlen(r->key) > LIMIT_KEY || r->len > LIMIT_VALUE)
        return err_set(e, ERR_LENGTH, "a key of %zu bytes with a value of %zu",
                       strlen(r->key), r->len);
    return 0;
}

bool share_search(const struct job *j, const char *key, struct share_record *found)
{
    /* They have been looked at when they came: only what is needed is read. */
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
