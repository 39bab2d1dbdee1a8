/* value_encode.c - values to JSON text; see value.h.
 *
 * The text goes straight into the buffer: a process table has a hundred thousand rows,
 * and a tree of JSON objects would cost several times what they do. */
#include "pmix_ext/base64.h"
#include "pmix_ext/value_impl.h"
#include "wire/utf8.h"

#include <math.h>

struct out {
    struct buf *buf;
    size_t      from;        /* length of buf before this */
    unsigned    depth;       /* values and arrays that are open */
    struct err *e;
};

static int put(const struct type *t, const void *from, struct out *o);

/* --- scalars ---------------------------------------------------------------------- */

static int put_null(const struct type *t, const void *from, struct out *o)
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
    char text[24], *p = text + sizeof text;

    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    if (negative)
        *--p = '-';
    buf_add(b, p, (size_t)(text + sizeof text - p));
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

    if (word)
        buf_printf(o->buf, "\"%s\"", word);
    else
        add_number(o->buf, false, n);
    return 0;
}

static int put_flags(const struct type *t, const void *from, struct out *o)
{
    uint64_t n = load_uint(from, t->size) & ~(uint64_t)t->hidden;
    const char *comma = "";

    buf_char(o->buf, '[');
    for (const struct word *w = t->words; w->text; w++)
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

static bool plain(unsigned char c)
{
    return c >= ' ' && c != '"' && c != '\\';
}

/* Bytes before the first that cannot stand in a JSON string as it is. */
static size_t plain_length(const char *text, size_t n)
{
    size_t i = 0;

    while (i < n && plain((unsigned char)text[i]))
        i++;
    return i;
}

/* UTF-8 in quotes. */
static void add_text(struct buf *b, const char *text, size_t n)
{
    size_t run = plain_length(text, n);

    buf_char(b, '"');
    buf_add(b, text, run);
    for (size_t i = run; i < n; i += run) {
        unsigned char c = (unsigned char)text[i++];

        if (c >= ' ')
            buf_printf(b, "\\%c", c);
        else
            buf_printf(b, "\\u%04x", c);
        run = plain_length(text + i, n - i);
        buf_add(b, text + i, run);
    }
    buf_char(b, '"');
}

/* UTF-8?  What is ASCII is, which is quicker to see. */
static bool is_text(const char *text, size_t n)
{
    unsigned char all = 0;

    for (size_t i = 0; i < n; i++)
        all |= (unsigned char)text[i];
    return all < 0x80 || utf8_valid(text, n);
}

/* What is not UTF-8, such as a path may be, is base64 in an object. */
static void add_string(struct buf *b, const char *text, size_t n)
{
    if (is_text(text, n)) {
        add_text(b, text, n);
        return;
    }
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
    if (!is_text(from, n))
        return err_set(o->e, ERR_INVALID_VAL, ": not UTF-8");
    add_text(o->buf, from, n);
    return 0;
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

/* --- what holds others ------------------------------------------------------------ */

static int open_one(struct out *o)
{
    if (++o->depth <= VALUE_DEPTH)
        return 0;
    return err_set(o->e, ERR_LENGTH, ": more than %d values and arrays within each other",
                   VALUE_DEPTH);
}

static int small_enough(const struct out *o)
{
    if (o->buf->len - o->from <= VALUE_TEXT)
        return 0;
    return err_set(o->e, ERR_LENGTH, ": more than %d bytes of JSON", VALUE_TEXT);
}

static int put_elements(const struct type *t, const void *from, size_t n, struct out *o)
{
    const char *p = from;

    if (n && !p)
        return err_set(o->e, ERR_INVALID_VAL, ": %zu elements at NULL", n);
    buf_char(o->buf, '[');
    for (size_t i = 0; i < n; i++, p += t->size) {
        if (i)
            buf_char(o->buf, ',');
        if (put(t, p, o) < 0 || small_enough(o) < 0)
            return value_at(o->e, "[%zu]", i);
    }
    buf_char(o->buf, ']');
    return 0;
}

static int put_list(const struct type *t, char **list, struct out *o)
{
    size_t n = 0;

    if (!list)
        return put_null(t, list, o);
    while (list[n])
        n++;
    return put_elements(t, list, n, o);
}

/* The members of a value, without the braces. */
static int put_members(const pmix_value_t *v, struct out *o)
{
    const struct type *t = type_of(v->type);
    const void *from;

    if (!t)
        return err_set(o->e, ERR_INVALID_VAL, ".type: there is no type %d", v->type);
    if (t->place == PLACE_NONE)
        return err_set(o->e, ERR_INVALID_VAL, ".type: %s is for arrays only", t->name);
    if (open_one(o) < 0)
        return -1;
    buf_printf(o->buf, "\"type\":\"%s\",\"value\":", t->name);
    from = value_place(t, v);
    if (from ? put(t, from, o) : put_null(t, from, o))
        return value_at(o->e, ".value");
    o->depth--;
    return 0;
}

static int put_value(const struct type *t, const void *from, struct out *o)
{
    (void)t;
    buf_char(o->buf, '{');
    if (put_members(from, o) < 0)
        return -1;
    buf_char(o->buf, '}');
    return 0;
}

static int put_array(const struct type *t, const void *from, struct out *o)
{
    const pmix_data_array_t *a = from;

    t = type_of(a->type);
    if (!t)
        return err_set(o->e, ERR_INVALID_VAL, ".type: there is no type %d", a->type);
    if (open_one(o) < 0)
        return -1;
    buf_printf(o->buf, "{\"type\":\"%s\",\"array\":", t->name);
    if (put_elements(t, a->array, a->size, o) < 0)
        return value_at(o->e, ".array");
    buf_char(o->buf, '}');
    o->depth--;
    return 0;
}

static int put_field(const struct field *f, const void *record, struct out *o)
{
    const void *from = (const char *)record + f->offset;

    switch (f->holds) {
    case HOLDS_LIST:
        return put_list(f->type, load_pointer(from), o);
    case HOLDS_COUNTED:
        return put_elements(f->type, load_pointer(from), load_count(record, f), o);
    default:
        return put(f->type, from, o);
    }
}

/* Is there nothing to say of an optional field? */
static bool is_absent(const struct field *f, const void *record)
{
    const void *from = (const char *)record + f->offset;

    if (!f->optional)
        return false;
    if (f->holds == HOLDS_COUNTED)
        return load_count(record, f) == 0;
    if (f->type->form == FORM_FLAGS)
        return !(load_uint(from, f->type->size) & ~(uint64_t)f->type->hidden);
    return all_zero(from, f->holds == HOLDS_ONE ? f->type->size : sizeof(void *));
}

/* The name of a member, and what is before and behind it; in one go, since there are as
 * many as there are values. */
static void add_name(struct buf *b, char before, const char *name)
{
    size_t n = strlen(name);
    char *to = buf_room(b, n + 4);

    if (!to)
        return;
    to[0] = before;
    to[1] = '"';
    memcpy(to + 2, name, n);
    to[n + 2] = '"';
    to[n + 3] = ':';
    buf_commit(b, n + 4);
}

static int put_record(const struct type *t, const void *from, struct out *o)
{
    char before = '{';

    for (const struct field *f = t->fields; f->name; f++) {
        if (is_absent(f, from))
            continue;
        if (f->holds == HOLDS_MEMBERS) {
            buf_char(o->buf, before);
            if (put_members((const void *)((const char *)from + f->offset), o) < 0)
                return -1;
        } else {
            add_name(o->buf, before, f->name);
            if (put_field(f, from, o) < 0)
                return value_at(o->e, ".%s", f->name);
        }
        before = ',';
    }
    buf_char(o->buf, '}');
    return 0;
}

typedef int put_fn(const struct type *t, const void *from, struct out *o);

static put_fn *const put_as[FORMS] = {
    [FORM_NONE] = put_null,       [FORM_BOOL] = put_bool,     [FORM_INT] = put_int,
    [FORM_UINT] = put_uint,       [FORM_REAL] = put_real,     [FORM_RANK] = put_rank,
    [FORM_FLAGS] = put_flags,     [FORM_CHAR] = put_char,     [FORM_STRING] = put_string,
    [FORM_CHARS] = put_chars,     [FORM_BYTES] = put_bytes,   [FORM_BUFFER] = put_buffer,
    [FORM_RECORD] = put_record,   [FORM_VALUE] = put_value,   [FORM_ARRAY] = put_array,
};

static int put(const struct type *t, const void *from, struct out *o)
{
    if (t->local)
        return err_set(o->e, ERR_INVALID_VAL, ": %s does not leave its process", t->name);
    return put_as[t->form](t, from, o);
}

/* --- the interface ---------------------------------------------------------------- */

/* Leave out as it should be after rc. */
static int finish(struct out *o, int rc, const char *what)
{
    if (rc == 0)
        rc = small_enough(o);
    if (rc == 0 && o->buf->failed)
        rc = err_set(o->e, ERR_NOMEM, ": out of memory");
    if (rc == 0)
        return 0;
    buf_cut(o->buf, o->from);
    return value_at(o->e, "%s", what);
}

static const struct type *known(pmix_data_type_t type, struct err *e)
{
    const struct type *t = type_of(type);

    if (!t)
        err_set(e, ERR_INVALID_VAL, ": there is no type %d", type);
    return t;
}

int value_encode(pmix_data_type_t type, const void *from, const char *what, struct buf *out,
                 struct err *e)
{
    struct out o = { .buf = out, .from = out->len, .e = e };
    const struct type *t = known(type, e);

    return finish(&o, t ? put(t, from, &o) : -1, what);
}

int value_encode_array(pmix_data_type_t type, const void *from, size_t n, const char *what,
                       struct buf *out, struct err *e)
{
    struct out o = { .buf = out, .from = out->len, .e = e };
    const struct type *t = known(type, e);

    return finish(&o, t ? put_elements(t, from, n, &o) : -1, what);
}

int value_encode_part(pmix_data_type_t type, const void *from, size_t n, size_t most,
                      const char *what, struct buf *out, size_t *done, struct err *e)
{
    struct out o = { .buf = out, .from = out->len, .e = e };
    const struct type *t = known(type, e);
    const char *p = from;
    size_t i = 0;
    int rc = t ? 0 : -1;

    buf_char(out, '[');
    for (; rc == 0 && i < n; i++, p += t->size) {
        size_t before = out->len;

        if (i)
            buf_char(out, ',');
        rc = put(t, p, &o);
        if (rc < 0)
            value_at(e, "[%zu]", i);
        else if (i && out->len - o.from + 1 > most) {
            buf_cut(out, before);
            break;
        }
    }
    buf_char(out, ']');
    *done = i;
    return finish(&o, rc, what);
}
