/* value_encode_scalar.c - values that hold no others, to JSON text; see value.h. */
#include "pmix_ext/base64.h"
#include "pmix_ext/value_impl.h"
#include "wire/utf8.h"

#include <math.h>

/* --- scalars ---------------------------------------------------------------------- */

int put_null(const struct type *t, const void *from, struct out *o)
{
    (void)t;
    (void)from;
    buf_str(o->buf, "null");
    return 0;
}

static int put_bool(const struct type *t, const void *from, struct out *o)
{
    buf_str(o->buf, load_uint(from, t->size) ? "true" : "false");
    return 0;
}

static void add_number(struct buf *b, bool negative, uint64_t n)
{
    char *to = buf_room(b, 1 + PLAIN_NUMBER);

    if (!to)
        return;
    *to = '-';
    buf_commit(b, negative + plain_write(to + negative, n));
}

static int put_int(const struct type *t, const void *from, struct out *o)
{
    int64_t n = load_int(from, t->size);

    add_number(o->buf, n < 0, n < 0 ? -(uint64_t)n : (uint64_t)n);
    return 0;
}

/* Numbers over INT64_MAX are strings: readers of JSON have them as doubles at best. */
static int put_uint(const struct type *t, const void *from, struct out *o)
{
    uint64_t n = load_uint(from, t->size);

    if (n > INT64_MAX)
        buf_char(o->buf, '"');
    add_number(o->buf, false, n);
    if (n > INT64_MAX)
        buf_char(o->buf, '"');
    return 0;
}

static int put_rank(const struct type *t, const void *from, struct out *o)
{
    uint64_t n = load_uint(from, t->size);
    const char *word = type_word(t, (int64_t)n);

    if (!word) {
        add_number(o->buf, false, n);
        return 0;
    }
    buf_char(o->buf, '"');
    buf_str(o->buf, word);
    buf_char(o->buf, '"');
    return 0;
}

static int put_flags(const struct type *t, const void *from, struct out *o)
{
    uint64_t n = load_uint(from, t->size) & ~(uint64_t)t->hidden;
    const char *comma = "";

    buf_char(o->buf, '[');
    for (const struct word *w = t->words; *w->text; w++)
        if (n & (uint64_t)w->number) {
            buf_printf(o->buf, "%s\"%s\"", comma, w->text);
            n &= ~(uint64_t)w->number;
            comma = ",";
        }
    if (n) {
        buf_str(o->buf, comma);
        add_number(o->buf, false, n);
    }
    buf_char(o->buf, ']');
    return 0;
}

/* The fewest digits that give this number back; whole numbers without an exponent. */
static void shortest(double d, bool single, char *text, size_t size)
{
    if (d == trunc(d) && fabs(d) < 1e15) {
        snprintf(text, size, "%.0f", d);
        return;
    }
    for (int digits = 1; digits <= (single ? 9 : 17); digits++) {
        double back;

        snprintf(text, size, "%.*g", digits, d);
        back = strtod(text, NULL);
        if (single ? (float)back == (float)d : back == d)
            break;
    }
}

/* The C library's decimal point is the locale's, JSON's is not. */
static int put_real(const struct type *t, const void *from, struct out *o)
{
    bool single = t->size == sizeof(float), whole = true, point = false;
    char text[40];
    double d;
    float f;

    if (single) {
        memcpy(&f, from, sizeof f);
        d = (double)f;
    } else {
        memcpy(&d, from, sizeof d);
    }
    if (!isfinite(d)) {
        buf_str(o->buf, isnan(d) ? "\"NaN\"" : d > 0 ? "\"Infinity\"" : "\"-Infinity\"");
        return 0;
    }
    shortest(d, single, text, sizeof text);
    for (const char *p = text; *p; p++) {
        if (strchr("0123456789+-e", *p))
            buf_char(o->buf, *p);
        else if (!point)
            buf_char(o->buf, '.');
        point = !strchr("0123456789+-e", *p);
        whole = whole && !point && *p != 'e';
    }
    if (whole)
        buf_str(o->buf, ".0");
    return 0;
}

/* --- text and bytes --------------------------------------------------------------- */

/* Text that has no byte that is to be escaped, in quotes. */
static void add_plain(struct buf *b, const char *text, size_t n)
{
    char *to = buf_room(b, n + 2);

    if (!to)
        return;
    to[0] = '"';
    memcpy(to + 1, text, n);
    to[n + 1] = '"';
    buf_commit(b, n + 2);
}

/* The rest, from the first such byte at `run` on. */
static void add_escaped(struct buf *b, const char *text, size_t run, size_t n)
{
    uint64_t seen = 0;

    buf_char(b, '"');
    buf_add(b, text, run);
    for (size_t i = run; i < n; i += run) {
        unsigned char c = (unsigned char)text[i++];

        if (c >= ' ')
            buf_printf(b, "\\%c", c);
        else
            buf_printf(b, "\\u%04x", c);
        run = (size_t)(plain_end(text + i, text + n, &seen) - (text + i));
        buf_add(b, text + i, run);
    }
    buf_char(b, '"');
}

/* Text in quotes; false: it is not UTF-8. */
static bool add_text(struct buf *b, const char *text, size_t n)
{
    uint64_t seen = 0;
    size_t run = (size_t)(plain_end(text, text + n, &seen) - text);

    if (!(run == n && plain_is_ascii(seen)) && !utf8_valid(text, n))
        return false;
    if (run == n)
        add_plain(b, text, n);
    else
        add_escaped(b, text, run, n);
    return true;
}

/* What is not UTF-8, such as a path may be, is base64 in an object. */
static void add_string(struct buf *b, const char *text, size_t n)
{
    if (add_text(b, text, n))
        return;
    buf_str(b, "{\"base64\":\"");
    base64_encode(text, n, b);
    buf_str(b, "\"}");
}

static int put_string(const struct type *t, const void *from, struct out *o)
{
    const char *text = load_pointer(from);

    if (!text)
        return put_null(t, from, o);
    add_string(o->buf, text, strlen(text));
    return 0;
}

static int put_char(const struct type *t, const void *from, struct out *o)
{
    (void)t;
    add_string(o->buf, from, *(const char *)from != '\0');
    return 0;
}

static int put_chars(const struct type *t, const void *from, struct out *o)
{
    size_t n = strnlen(from, t->size);

    if (n == t->size)
        return err_set(o->e, ERR_INVALID_VAL, ": no NUL in %zu bytes", t->size);
    return add_text(o->buf, from, n) ? 0 : err_set(o->e, ERR_INVALID_VAL, ": not UTF-8");
}

static int put_base64(const void *bytes, size_t n, struct out *o)
{
    if (n && !bytes)
        return err_set(o->e, ERR_INVALID_VAL, ": %zu bytes at NULL", n);
    if (n > VALUE_TEXT)
        return err_set(o->e, ERR_LENGTH, ": %zu bytes are too many", n);
    buf_char(o->buf, '"');
    base64_encode(bytes, n, o->buf);
    buf_char(o->buf, '"');
    return 0;
}

static int put_bytes(const struct type *t, const void *from, struct out *o)
{
    const pmix_byte_object_t *bo = from;

    (void)t;
    return put_base64(bo->bytes, bo->size, o);
}

static int put_buffer(const struct type *t, const void *from, struct out *o)
{
    const pmix_data_buffer_t *b = from;

    (void)t;
    return put_base64(b->base_ptr, b->bytes_used, o);
}

put_fn *const put_scalar[FORMS] = {
    [FORM_NONE] = put_null,     [FORM_BOOL] = put_bool,   [FORM_INT] = put_int,
    [FORM_UINT] = put_uint,     [FORM_REAL] = put_real,   [FORM_RANK] = put_rank,
    [FORM_FLAGS] = put_flags,   [FORM_CHAR] = put_char,   [FORM_STRING] = put_string,
    [FORM_CHARS] = put_chars,   [FORM_BYTES] = put_bytes, [FORM_BUFFER] = put_buffer,
};
