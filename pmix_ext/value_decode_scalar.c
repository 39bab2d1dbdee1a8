/* value_decode_scalar.c - values that hold no others, from JSON; see value.h. */
#include "pmix_ext/base64.h"
#include "pmix_ext/value_impl.h"
#include "wire/utf8.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

/* --- what is wrong ---------------------------------------------------------------- */

int value_not_a(const char *wanted, struct in *in)
{
    static const char *const kinds[KINDS] = {
        [KIND_NOTHING] = "nothing", [KIND_OBJECT] = "an object", [KIND_ARRAY] = "an array",
        [KIND_STRING] = "a string", [KIND_INTEGER] = "an integer",
        [KIND_REAL] = "a number with a point or exponent", [KIND_TRUE] = "true",
        [KIND_FALSE] = "false", [KIND_NULL] = "null"
    };

    return err_set(in->e, ERR_INVALID_VAL, ": %s, want %s", kinds[in->r.kind], wanted);
}

int value_no_memory(struct in *in)
{
    return err_set(in->e, ERR_NOMEM, ": out of memory");
}

int value_bad_word(const char *sentence, struct in *in)
{
    enum { MOST = 80 };
    struct buf safe = BUF_INIT;
    const char *word = in->r.string;
    size_t n = in->r.len < MOST ? in->r.len : MOST;

    while (n && n > MOST - 4 && !utf8_valid(word, n))     /* not in the middle of a character */
        n--;
    buf_escaped(&safe, word, n);
    err_set(in->e, ERR_INVALID_VAL, sentence, safe.len ? buf_bytes(&safe) : "");
    buf_clear(&safe);
    return -1;
}

/* --- scalars ---------------------------------------------------------------------- */

static int take_none(const struct type *t, void *to, struct in *in)
{
    (void)t;
    (void)to;
    return in->r.kind == KIND_NULL ? 0 : value_not_a("null", in);
}

static int take_bool(const struct type *t, void *to, struct in *in)
{
    if (in->r.kind != KIND_TRUE && in->r.kind != KIND_FALSE)
        return value_not_a("true or false", in);
    store_uint(to, t->size, in->r.kind == KIND_TRUE);
    return 0;
}

static int take_int(const struct type *t, void *to, struct in *in)
{
    int64_t n = in->r.integer, most = INT64_MAX >> (64 - 8 * t->size);

    if (in->r.kind != KIND_INTEGER)
        return value_not_a("an integer", in);
    if (n > most || n < -most - 1)
        return err_set(in->e, ERR_INVALID_VAL,
                       ": %" PRId64 " does not fit %s, %" PRId64 " to %" PRId64, n, t->name,
                       -most - 1, most);
    store_uint(to, t->size, (uint64_t)n);
    return 0;
}

/* The decimal digits of a number over INT64_MAX, and nothing else. */
static int take_digits(uint64_t *n, struct in *in)
{
    const char *text = in->r.string;
    bool fits = true;

    *n = 0;
    for (size_t i = 0; i < in->r.len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return value_bad_word(": '%s', want an integer", in);
        fits = fits && !__builtin_mul_overflow(*n, 10, n) &&
               !__builtin_add_overflow(*n, (uint64_t)(text[i] - '0'), n);
    }
    if (fits && *n > INT64_MAX && *text != '0')
        return 0;
    return value_bad_word(": '%s', only numbers from 2^63 to 2^64 - 1 are strings", in);
}

static int take_uint(const struct type *t, void *to, struct in *in)
{
    uint64_t n = (uint64_t)in->r.integer, most = UINT64_MAX >> (64 - 8 * t->size);

    if (in->r.kind == KIND_STRING && most == UINT64_MAX) {
        if (take_digits(&n, in) < 0)
            return -1;
    } else if (in->r.kind != KIND_INTEGER) {
        return value_not_a("an integer", in);
    } else if (in->r.integer < 0 || n > most) {
        return err_set(in->e, ERR_INVALID_VAL, ": %" PRId64 " does not fit %s, 0 to %" PRIu64,
                       in->r.integer, t->name, most);
    }
    store_uint(to, t->size, n);
    return 0;
}

static bool is_text(const struct in *in, const char *text)
{
    return in->r.len == strlen(text) && !memcmp(in->r.string, text, in->r.len);
}

static const struct word *word_named(const struct type *t, const struct in *in)
{
    for (const struct word *w = t->words; *w->text; w++)
        if (is_text(in, w->text))
            return w;
    return NULL;
}

static int take_rank(const struct type *t, void *to, struct in *in)
{
    int64_t n = in->r.integer;
    const struct word *w;

    if (in->r.kind == KIND_STRING) {
        w = word_named(t, in);
        if (!w)
            return value_bad_word(": there is no rank '%s'", in);
        store_uint(to, t->size, (uint64_t)w->number);
        return 0;
    }
    if (in->r.kind != KIND_INTEGER)
        return value_not_a("a rank", in);
    if (n < 0)
        return err_set(in->e, ERR_INVALID_VAL, ": %" PRId64 ", a rank is not negative", n);
    if (n > UINT32_MAX)
        return err_set(in->e, ERR_INVALID_VAL, ": %" PRId64 " is over a rank's limit", n);
    if (type_word(t, n))
        return err_set(in->e, ERR_INVALID_VAL, ": %" PRId64 " is written \"%s\"", n,
                       type_word(t, n));
    store_uint(to, t->size, (uint64_t)n);
    return 0;
}

/* The bits of one element of an array of flags. */
static int take_flag(const struct type *t, uint32_t *bits, struct in *in)
{
    int64_t n = in->r.integer;
    const struct word *w;

    if (in->r.kind == KIND_STRING) {
        w = word_named(t, in);
        if (!w)
            return value_bad_word(": there is no flag '%s'", in);
        *bits |= (uint32_t)w->number;
        return 0;
    }
    if (in->r.kind != KIND_INTEGER)
        return value_not_a("a flag's name, or bits as a number", in);
    if (n <= 0 || n > UINT32_MAX)
        return err_set(in->e, ERR_INVALID_VAL, ": %" PRId64 ", want bits from 1 to %u", n,
                       UINT32_MAX);
    for (w = t->words; *w->text; w++)
        if (n & w->number)
            return err_set(in->e, ERR_INVALID_VAL, ": %" PRId64 " is written \"%s\"", w->number,
                           w->text);
    *bits |= (uint32_t)n;
    return 0;
}

static int take_flags(const struct type *t, void *to, struct in *in)
{
    uint32_t bits = 0;
    int more;

    if (in->r.kind != KIND_ARRAY)
        return value_not_a("an array of flags", in);
    for (size_t i = 0; (more = reader_element(&in->r, i == 0)) > 0; i++)
        if (reader_next(&in->r) < 0 || take_flag(t, &bits, in) < 0)
            return value_at(in->e, "[%zu]", i);
    if (more < 0)
        return -1;
    store_uint(to, t->size, bits & ~t->hidden);
    return 0;
}

static int take_real_word(double *d, struct in *in)
{
    if (is_text(in, "NaN"))
        *d = NAN;
    else if (is_text(in, "Infinity"))
        *d = INFINITY;
    else if (is_text(in, "-Infinity"))
        *d = -INFINITY;
    else
        return value_bad_word(": '%s', want a number, \"NaN\", \"Infinity\" or \"-Infinity\"", in);
    return 0;
}

/* Not every language can write 3.0: an integer will do where it is that number exactly. */
static int take_integer(const struct type *t, bool single, double *d, struct in *in)
{
    int64_t n = in->r.integer, most = (int64_t)1 << (single ? FLT_MANT_DIG : DBL_MANT_DIG);

    if (n > most || n < -most)
        return err_set(in->e, ERR_INVALID_VAL, ": %" PRId64 " is no exact %s", n, t->name);
    *d = (double)n;
    return 0;
}

static int take_real(const struct type *t, void *to, struct in *in)
{
    bool single = t->size == sizeof(float);
    double d = in->r.real;
    int rc = 0;
    float f;

    if (in->r.kind == KIND_STRING)
        rc = take_real_word(&d, in);
    else if (in->r.kind == KIND_INTEGER)
        rc = take_integer(t, single, &d, in);
    else if (in->r.kind != KIND_REAL)
        rc = value_not_a("a number", in);
    else if (single && isinf((float)d))
        rc = err_set(in->e, ERR_INVALID_VAL, ": %g does not fit %s", d, t->name);
    f = (float)d;
    memcpy(to, single ? (void *)&f : (void *)&d, t->size);
    return rc;
}

/* --- text and bytes --------------------------------------------------------------- */

/* Bytes that base64 text stands for, and a zero byte behind them: *to is malloc's, NULL if
 * there are none. */
static int take_base64(char **to, size_t *size, struct in *in)
{
    size_t len = in->r.len;
    long n;

    if (in->r.kind != KIND_STRING)
        return value_not_a("a string of base64", in);
    if (!len)
        return 0;
    *to = malloc(base64_room(len) + 1);
    if (!*to)
        return value_no_memory(in);
    n = base64_decode(in->r.string, len, (unsigned char *)*to);
    if (n < 0)
        return err_set(in->e, ERR_INVALID_VAL, ": not base64");
    (*to)[n] = '\0';
    *size = (size_t)n;
    return 0;
}

/* {"base64":...} stands for a string that is not UTF-8; only for such. */
static int take_escaped(char **to, struct in *in)
{
    size_t size = 0;
    int more = reader_member(&in->r, true);

    if (more < 0)
        return -1;
    if (!more || !is_text(in, "base64"))
        return err_set(in->e, ERR_INVALID_VAL, ": an object, want a string or {\"base64\":...}");
    if (reader_next(&in->r) < 0 || take_base64(to, &size, in) < 0)
        return value_at(in->e, ".base64");
    if (!*to || utf8_valid(*to, size))
        return err_set(in->e, ERR_INVALID_VAL, ".base64: UTF-8 is to be a string");
    if (memchr(*to, '\0', size))
        return err_set(in->e, ERR_INVALID_VAL, ".base64: has a NUL");
    more = reader_member(&in->r, false);
    if (more > 0)
        return err_set(in->e, ERR_INVALID_VAL, ": an object, want a string or {\"base64\":...}");
    return more;
}

int take_string(const struct type *t, void *to, struct in *in)
{
    char *text = NULL;
    int rc = 0;

    (void)t;
    if (in->r.kind == KIND_NULL)
        return 0;
    if (in->r.kind == KIND_OBJECT) {
        rc = take_escaped(&text, in);
    } else if (in->r.kind != KIND_STRING) {
        return value_not_a("a string", in);
    } else {
        text = malloc(in->r.len + 1);
        if (!text)
            return value_no_memory(in);
        memcpy(text, in->r.string, in->r.len);
        text[in->r.len] = '\0';
    }
    memcpy(to, &text, sizeof text);
    return rc;
}

static int take_char(const struct type *t, void *to, struct in *in)
{
    char *text = NULL;
    int rc = in->r.kind == KIND_NULL ? value_not_a("a string", in)
                                : take_string(t, &text, in);

    if (rc == 0 && strlen(text) > 1)
        rc = err_set(in->e, ERR_INVALID_VAL, ": more than one byte");
    if (rc == 0)
        *(char *)to = *text;
    free(text);
    return rc;
}

static int take_chars(const struct type *t, void *to, struct in *in)
{
    size_t len = in->r.len;

    if (in->r.kind != KIND_STRING)
        return value_not_a("a string", in);
    if (len >= t->size)
        return err_set(in->e, ERR_LENGTH, ": %zu bytes, at most %zu", len, t->size - 1);
    memcpy(to, in->r.string, len);
    return 0;
}

static int take_bytes(const struct type *t, void *to, struct in *in)
{
    pmix_byte_object_t *bo = to;

    (void)t;
    return take_base64(&bo->bytes, &bo->size, in);
}

static int take_buffer(const struct type *t, void *to, struct in *in)
{
    pmix_data_buffer_t *b = to;
    int rc = take_base64(&b->base_ptr, &b->bytes_used, in);

    (void)t;
    b->bytes_allocated = b->bytes_used;
    b->unpack_ptr = b->base_ptr;
    b->pack_ptr = b->base_ptr ? b->base_ptr + b->bytes_used : NULL;
    return rc;
}

take_fn *const take_scalar[FORMS] = {
    [FORM_NONE] = take_none,      [FORM_BOOL] = take_bool,    [FORM_INT] = take_int,
    [FORM_UINT] = take_uint,      [FORM_REAL] = take_real,    [FORM_RANK] = take_rank,
    [FORM_FLAGS] = take_flags,    [FORM_CHAR] = take_char,    [FORM_STRING] = take_string,
    [FORM_CHARS] = take_chars,    [FORM_BYTES] = take_bytes,  [FORM_BUFFER] = take_buffer,
};
