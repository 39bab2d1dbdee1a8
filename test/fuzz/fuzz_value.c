/* fuzz_value.c - whatever is read as a value is written, copied and compared as the same.
 *
 * Input: the name of a type, a newline, and JSON, which is read as one value of that type
 * and as an array of them. */
#include "test/fuzz/fuzz.h"

#include "pmix_ext/types.h"
#include "pmix_ext/value.h"
#include "test/unit/spaced.h"

#include <string.h>

static struct buf text_of(pmix_data_type_t type, const void *array, size_t n)
{
    struct buf out = BUF_INIT;
    struct err e = { 0 };

    MUST(value_encode_array(type, array, n, "v", &out, &e) == 0);
    return out;
}

static bool same(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && !memcmp(buf_bytes(a), buf_bytes(b), a->len);
}

/* Parts, one behind the other, are what the whole is. */
static void in_parts(pmix_data_type_t type, const char *array, size_t n, size_t most,
                     const struct buf *whole)
{
    size_t size = type_of(type)->size, done = 0, took;
    struct buf joined = BUF_INIT, part = BUF_INIT;
    struct err e;

    buf_char(&joined, '[');
    do {
        buf_reset(&part);
        MUST(value_encode_part(type, n ? array + done * size : NULL, n - done, most, "v", &part,
                               &took, &e) == 0);
        MUST(took || !n);
        MUST(part.len <= most || took <= 1);
        if (done)
            buf_char(&joined, ',');
        buf_add(&joined, buf_bytes(&part) + 1, part.len - 2);
        done += took;
    } while (done < n);
    buf_char(&joined, ']');
    MUST(same(&joined, whole));
    buf_clear(&joined);
    buf_clear(&part);
}

static void shown(pmix_data_type_t type, const void *value)
{
    struct buf out = BUF_INIT;

    value_print(type, value, &out);
    MUST(out.len && !out.failed);
    for (size_t i = 0; i < out.len; i++) {
        unsigned char c = (unsigned char)buf_bytes(&out)[i];

        MUST((c >= ' ' && c != 0x7f) || c == '\n');
    }
    buf_clear(&out);
}

static void check(pmix_data_type_t type, const char *array, size_t n)
{
    struct buf once = text_of(type, array, n), twice;
    size_t size = type_of(type)->size, again_n;
    void *again, *copy;
    struct err e;

    MUST(value_decode_array(type, buf_bytes(&once), once.len, "v", &again, &again_n, &e) == 0);
    MUST(again_n == n);
    twice = text_of(type, again, n);
    MUST(same(&once, &twice));
    MUST(value_copy_array(type, array, n, &copy, &e) == 0);
    for (size_t i = 0; i < n; i++) {
        MUST(value_compare(type, array + i * size, (char *)again + i * size) == 0);
        MUST(value_compare(type, array + i * size, (char *)copy + i * size) == 0);
        shown(type, array + i * size);
    }
    for (size_t i = 1; i < n; i++) {
        int c = value_compare(type, array + (i - 1) * size, array + i * size);
        int d = value_compare(type, array + i * size, array + (i - 1) * size);

        MUST((c < 0) == (d > 0) && (c > 0) == (d < 0));
    }
    in_parts(type, array, n, once.len / 2, &once);
    value_free_array(type, again, n);
    value_free_array(type, copy, n);
    buf_clear(&once);
    buf_clear(&twice);
}

/* What is read in runs of members is what is read token by token. */
static void same_spaced(pmix_data_type_t type, const char *text, size_t size)
{
    struct buf other = spaced(text, size), a, b;
    struct err e = { 0 }, f = { 0 };
    void *plain, *slow;
    size_t n, m;
    int rc = value_decode_array(type, text, size, "v", &plain, &n, &e);

    MUST(value_decode_array(type, buf_bytes(&other), other.len, "v", &slow, &m, &f) == rc);
    MUST(e.code == f.code && n == m);
    if (rc == 0) {
        a = text_of(type, plain, n);
        b = text_of(type, slow, m);
        MUST(same(&a, &b));
        buf_clear(&a);
        buf_clear(&b);
        value_free_array(type, plain, n);
        value_free_array(type, slow, m);
    }
    buf_clear(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *line = size ? memchr(text, '\n', size) : NULL;
    const struct type *t;
    struct err e = { 0 };
    void *value;
    size_t n;

    if (!line || size > 65536)
        return 0;
    t = type_named(text, (size_t)(line - text));
    if (!t)
        return 0;
    size -= (size_t)(line + 1 - text);
    if (value_decode_array(type_number(t), line + 1, size, "v", &value, &n, &e) == 0) {
        check(type_number(t), value, n);
        value_free_array(type_number(t), value, n);
    } else {
        MUST(e.code != ERR_NONE && *e.text);
    }
    same_spaced(type_number(t), line + 1, size);
    value = malloc(t->size);
    MUST(value);
    if (value_decode(type_number(t), line + 1, size, "v", value, &e) == 0) {
        check(type_number(t), value, 1);
        value_clear(type_number(t), value);
    } else {
        MUST(e.code != ERR_NONE && *e.text);
    }
    free(value);
    return 0;
}
