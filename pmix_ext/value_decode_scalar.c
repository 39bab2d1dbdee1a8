/* value_decode_scalar.c - values that hold no others, from JSON; see value.h. */
#include "pmix_ext/base64.h"
#include "pmix_ext/value_impl.h"
#include "wire/utf8.h"

#include <float.h>
#include <math.h>

/* --- what is wrong ---------------------------------------------------------------- */

static const char *kind(json_t *json)
{
    static const char *const kinds[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_INTEGER] = "an integer", [JSON_REAL] = "a number with a point or exponent",
        [JSON_TRUE] = "true", [JSON_FALSE] = "false", [JSON_NULL] = "null"
    };

    return json ? kinds[json_typeof(json)] : "nothing";
}

int value_not_a(const char *wanted, json_t *json, struct in *in)
{
    return err_set(in->e, ERR_INVALID_VAL, ": %s, want %s", kind(json), wanted);
}

int value_no_memory(struct in *in)
{
    return err_set(in->e, ERR_NOMEM, ": out of memory");
}

int value_bad_word(const char *sentence, const char *word, struct in *in)
{
    enum { MOST = 80 };
    struct buf safe = BUF_INIT;
    size_t n = strnlen(word, MOST);

    while (n && n > MOST - 4 && !utf8_valid(word, n))     /* not in the middle of a character */
        n--;
    buf_escaped(&safe, word, n);
    err_set(in->e, ERR_INVALID_VAL, sentence, safe.len ? buf_bytes(&safe) : "");
    buf_clear(&safe);
    return -1;
}

/* --- scalars ---------------------------------------------------------------------- */

static int take_none(const struct type *t, json_t *json, void *to, struct in *in)
{
    (void)t;
    (void)to;
    return json_is_null(json) ? 0 : value_not_a("null", json, in);
}

static int take_bool(const struct type *t, json_t *json, void *to, struct in *in)
{
    if (!json_is_boolean(json))
        return value_not_a("true or false", json, in);
    store_uint(to, t->size, json_is_true(json));
    return 0;
}

static int take_int(const struct type *t, json_t *json, void *to, struct in *in)
{
    json_int_t n = json_integer_value(json), most = INT64_MAX >> (64 - 8 * t->size);

    if (!json_is_integer(json))
        return value_not_a("an integer", json, in);
    if (n > most || n < -most - 1)
        return err_set(in->e, ERR_INVALID_VAL, ": %lld does not fit %s, %lld to %lld", n,
                       t->name, -most - 1, most);
    store_uint(to, t->size, (uint64_t)n);
    return 0;
}

/* The decimal digits of a number over INT64_MAX, and nothing else. */
static int take_digits(json_t *json, uint64_t *n, struct in *in)
{
    const char *text = json_string_value(json);
    bool fits = true;

    *n = 0;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9')
            return value_bad_word(": '%s', want an integer", text, in);
        fits = fits && !__builtin_mul_overflow(*n, 10, n) &&
               !__builtin_add_overflow(*n, (uint64_t)(*p - '0'), n);
    }
    if (fits && *n > INT64_MAX && *text != '0')
        return 0;
    return value_bad_word(": '%s', only numbers from 2^63 to 2^64 - 1 are strings", text, in);
}

static int take_uint(const struct type *t, json_t *json, void *to, struct in *in)
{
    uint64_t n = (uint64_t)json_integer_value(json), most = UINT64_MAX >> (64 - 8 * t->size);

    if (json_is_string(json) && most == UINT64_MAX) {
        if (take_digits(json, &n, in) < 0)
            return -1;
    } else if (!json_is_integer(json)) {
        return value_not_a("an integer", json, in);
    } else if (json_integer_value(json) < 0 || n > most) {
        return err_set(in->e, ERR_INVALID_VAL, ": %lld does not fit %s, 0 to %llu",
                       json_integer_value(json), t->name, (unsigned long long)most);
    }
    store_uint(to, t->size, n);
    return 0;
}

static const struct word *word_named(const struct type *t, const char *text)
{
    for (const struct word *w = t->words; w->text; w++)
        if (!strcmp(w->text, text))
            return w;
    return NULL;
}

static int take_rank(const struct type *t, json_t *json, void *to, struct in *in)
{
    json_int_t n = json_integer_value(json);
    const struct word *w;

    if (json_is_string(json)) {
        w = word_named(t, json_string_value(json));
        if (!w)
            return value_bad_word(": there is no rank '%s'", json_string_value(json), in);
        store_uint(to, t->size, (uint64_t)w->number);
        return 0;
    }
    if (!json_is_integer(json))
        return value_not_a("a rank", json, in);
    if (n < 0)
        return err_set(in->e, ERR_INVALID_VAL, ": %lld, a rank is not negative", n);
    if (n > UINT32_MAX)
        return err_set(in->e, ERR_INVALID_VAL, ": %lld is over a rank's limit", n);
    if (type_word(t, n))
        return err_set(in->e, ERR_INVALID_VAL, ": %lld is written \"%s\"", n, type_word(t, n));
    store_uint(to, t->size, (uint64_t)n);
    return 0;
}

/* The bits of one element of an array of flags. */
static int take_flag(const struct type *t, json_t *json, uint32_t *bits, struct in *in)
{
    json_int_t n = json_integer_value(json);
    const struct word *w;

    if (json_is_string(json)) {
        w = word_named(t, json_string_value(json));
        if (!w)
            return value_bad_word(": there is no flag '%s'", json_string_value(json), in);
        *bits |= (uint32_t)w->number;
        return 0;
    }
    if (!json_is_integer(json))
        return value_not_a("a flag's name, or bits as a number", json, in);
    if (n <= 0 || n > UINT32_MAX)
        return err_set(in->e, ERR_INVALID_VAL, ": %lld, want bits from 1 to %u", n, UINT32_MAX);
    for (w = t->words; w->text; w++)
        if (n & w->number)
            return err_set(in->e, ERR_INVALID_VAL, ": %lld is written \"%s\"", (long long)w->number,
                           w->text);
    *bits |= (uint32_t)n;
    return 0;
}

static int take_flags(const struct type *t, json_t *json, void *to, struct in *in)
{
    uint32_t bits = 0;

    if (!json_is_array(json))
        return value_not_a("an array of flags", json, in);
    for (size_t i = 0; i < json_array_size(json); i++)
        if (take_flag(t, json_array_get(json, i), &bits, in) < 0)
            return value_at(in->e, "[%zu]", i);
    store_uint(to, t->size, bits & ~t->hidden);
    return 0;
}

static int take_real_word(json_t *json, double *d, struct in *in)
{
    const char *text = json_string_value(json);

    if (!strcmp(text, "NaN"))
        *d = NAN;
    else if (!strcmp(text, "Infinity"))
        *d = INFINITY;
    else if (!strcmp(text, "-Infinity"))
        *d = -INFINITY;
    else
        return value_bad_word(": '%s', want a number, \"NaN\", \"Infinity\" or \"-Infinity\"", text,
                        in);
    return 0;
}

/* Not every language can write 3.0: an integer will do where it is that number exactly. */
static int take_real(const struct type *t, json_t *json, void *to, struct in *in)
{
    bool single = t->size == sizeof(float);
    json_int_t most = single ? 1 << FLT_MANT_DIG : (json_int_t)1 << DBL_MANT_DIG;
    json_int_t n = json_integer_value(json);
    double d = json_number_value(json);
    float f;

    if (json_is_string(json)) {
        if (take_real_word(json, &d, in) < 0)
            return -1;
    } else if (!json_is_number(json)) {
        return value_not_a("a number", json, in);
    } else if (json_is_integer(json) && (n > most || n < -most)) {
        return err_set(in->e, ERR_INVALID_VAL, ": %lld is no exact %s", n, t->name);
    } else if (single && isinf((float)d)) {
        return err_set(in->e, ERR_INVALID_VAL, ": %g does not fit %s", d, t->name);
    }
    f = (float)d;
    memcpy(to, single ? (void *)&f : (void *)&d, t->size);
    return 0;
}

/* --- text and bytes --------------------------------------------------------------- */

/* Bytes that base64 text stands for, and a zero byte behind them: *to is malloc's, NULL if
 * there are none. */
static int take_base64(json_t *json, char **to, size_t *size, struct in *in)
{
    size_t len = json_string_length(json);
    long n;

    if (!json_is_string(json))
        return value_not_a("a string of base64", json, in);
    if (!len)
        return 0;
    *to = malloc(base64_room(len) + 1);
    if (!*to)
        return value_no_memory(in);
    n = base64_decode(json_string_value(json), len, (unsigned char *)*to);
    if (n < 0)
        return err_set(in->e, ERR_INVALID_VAL, ": not base64");
    (*to)[n] = '\0';
    *size = (size_t)n;
    return 0;
}

/* {"base64":...} stands for a string that is not UTF-8; only for such. */
static int take_escaped(json_t *json, char **to, size_t *size, struct in *in)
{
    json_t *bytes = json_object_get(json, "base64");

    if (!bytes || json_object_size(json) != 1)
        return err_set(in->e, ERR_INVALID_VAL, ": an object, want a string or {\"base64\":...}");
    if (take_base64(bytes, to, size, in) < 0)
        return value_at(in->e, ".base64");
    if (!*to || utf8_valid(*to, *size))
        return err_set(in->e, ERR_INVALID_VAL, ".base64: UTF-8 is to be a string");
    if (memchr(*to, '\0', *size))
        return err_set(in->e, ERR_INVALID_VAL, ".base64: has a NUL");
    return 0;
}

int take_string(const struct type *t, json_t *json, void *to, struct in *in)
{
    char *text = NULL;
    size_t size = 0;
    int rc = 0;

    (void)t;
    if (json_is_null(json))
        return 0;
    if (json_is_object(json))
        rc = take_escaped(json, &text, &size, in);
    else if (!json_is_string(json))
        return value_not_a("a string", json, in);
    else if (!(text = strdup(json_string_value(json))))
        return value_no_memory(in);
    memcpy(to, &text, sizeof text);
    return rc;
}

static int take_char(const struct type *t, json_t *json, void *to, struct in *in)
{
    char *text = NULL;
    int rc = json_is_null(json) ? value_not_a("a string", json, in)
                                : take_string(t, json, &text, in);

    if (rc == 0 && strlen(text) > 1)
        rc = err_set(in->e, ERR_INVALID_VAL, ": more than one byte");
    if (rc == 0)
        *(char *)to = *text;
    free(text);
    return rc;
}

static int take_chars(const struct type *t, json_t *json, void *to, struct in *in)
{
    size_t len = json_string_length(json);

    if (!json_is_string(json))
        return value_not_a("a string", json, in);
    if (len >= t->size)
        return err_set(in->e, ERR_LENGTH, ": %zu bytes, at most %zu", len, t->size - 1);
    memcpy(to, json_string_value(json), len);
    return 0;
}

static int take_bytes(const struct type *t, json_t *json, void *to, struct in *in)
{
    pmix_byte_object_t *bo = to;

    (void)t;
    return take_base64(json, &bo->bytes, &bo->size, in);
}

static int take_buffer(const struct type *t, json_t *json, void *to, struct in *in)
{
    pmix_data_buffer_t *b = to;
    int rc = take_base64(json, &b->base_ptr, &b->bytes_used, in);

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
