/* value_print.c - values as people read them; see value.h.
 *
 *     PMIX_PROC {nspace: job, rank: 3}
 *     PMIX_DATA_ARRAY of 2 PMIX_INFO
 *       {key: pmix.x, PMIX_STRING "a"}
 *       {key: pmix.y, PMIX_STATUS PMIX_ERR_TIMEOUT (-24), flags: required} */
#include "pmix_ext/value_impl.h"

#include <inttypes.h>

static void show(const struct type *t, const void *value, unsigned indent, struct buf *b);

/* A number, by its name where it has one. */
static void show_number(const struct type *t, const char *digits, int64_t n, struct buf *b)
{
    const char *word = type_word(t, n);

    if (word)
        buf_printf(b, "%s (%s)", word, digits);
    else
        buf_str(b, digits);
}

static void show_int(const struct type *t, const void *value, struct buf *b)
{
    int64_t n = load_int(value, t->size);
    char digits[24];

    snprintf(digits, sizeof digits, "%" PRId64, n);
    show_number(t, digits, n, b);
}

static void show_uint(const struct type *t, const void *value, struct buf *b)
{
    uint64_t n = load_uint(value, t->size);
    char digits[24];

    snprintf(digits, sizeof digits, "%" PRIu64, n);
    show_number(t, digits, (int64_t)n, b);
}

static void show_rank(const struct type *t, const void *value, struct buf *b)
{
    uint64_t n = load_uint(value, t->size);
    const char *word = type_word(t, (int64_t)n);

    if (word)
        buf_str(b, word);
    else
        buf_printf(b, "%" PRIu64, n);
}

static void show_flags(const struct type *t, const void *value, struct buf *b)
{
    uint64_t n = load_uint(value, t->size);
    const char *bar = "";

    if (!n)
        buf_str(b, "none");
    for (const struct word *w = t->words; *w->text; w++)
        if (n & (uint64_t)w->number) {
            buf_printf(b, "%s%s", bar, w->text);
            n &= ~(uint64_t)w->number;
            bar = "|";
        }
    if (n)
        buf_printf(b, "%s0x%" PRIx64, bar, n);
}

static void show_real(const struct type *t, const void *value, struct buf *b)
{
    double d;
    float f;

    if (t->size == sizeof f) {
        memcpy(&f, value, sizeof f);
        buf_printf(b, "%.9g", (double)f);
    } else {
        memcpy(&d, value, sizeof d);
        buf_printf(b, "%.17g", d);
    }
}

static void show_text(const char *text, size_t n, struct buf *b)
{
    buf_char(b, '"');
    buf_escaped(b, text, n);
    buf_char(b, '"');
}

/* The first bytes are what one recognises data by. */
static void show_bytes(const char *bytes, size_t n, struct buf *b)
{
    enum { SHOWN = 32 };

    buf_printf(b, "%zu bytes", n);
    for (size_t i = 0; bytes && i < n && i < SHOWN; i++)
        buf_printf(b, "%s%02x", i % 4 ? "" : " ", (unsigned char)bytes[i]);
    if (n > SHOWN)
        buf_str(b, " ...");
}

/* --- what holds others ------------------------------------------------------------ */

/* Each on a line of its own. */
static void show_elements(const struct type *t, const char *array, size_t n, unsigned indent,
                          struct buf *b)
{
    for (size_t i = 0; array && i < n; i++) {
        buf_printf(b, "\n%*s", (int)(2 * indent), "");
        show(t, array + i * t->size, indent, b);
    }
}

static void show_list(char **list, struct buf *b)
{
    const char *comma = "";

    buf_char(b, '[');
    for (; list && *list; list++, comma = ", ") {
        buf_str(b, comma);
        show_text(*list, strlen(*list), b);
    }
    buf_char(b, ']');
}

static void show_value(const pmix_value_t *v, unsigned indent, struct buf *b)
{
    const struct type *t = type_of(v->type);
    const void *place;

    if (!t || t->place == PLACE_NONE) {
        buf_printf(b, "(type %d)", v->type);
        return;
    }
    place = value_place(t, v);
    buf_str(b, t->name);
    if (t->form == FORM_NONE)
        return;
    buf_char(b, ' ');
    if (place)
        show(t, place, indent, b);
    else
        buf_str(b, "null");
}

static void show_array(const pmix_data_array_t *a, unsigned indent, struct buf *b)
{
    const struct type *t = type_of(a->type);

    buf_printf(b, "of %zu ", a->size);
    if (t) {
        buf_str(b, t->name);
        show_elements(t, a->array, a->size, indent + 1, b);
    } else {
        buf_printf(b, "(type %d)", a->type);
    }
}

static void show_counted(const struct field *f, const char *record, unsigned indent,
                         struct buf *b)
{
    size_t n = load_count(record, f);

    buf_printf(b, "%.*s: %zu", field_name_length(f), field_name(f), n);
    show_elements(field_type(f), load_pointer(record + f->offset), n, indent + 1, b);
}

static void show_record(const struct type *t, const char *record, unsigned indent,
                        struct buf *b)
{
    const char *comma = "{";

    for (const struct field *f = t->fields; f->length; f++, comma = ", ") {
        const char *at = record + f->offset;

        buf_str(b, comma);
        if (f->holds == HOLDS_COUNTED) {
            show_counted(f, record, indent, b);
            continue;
        }
        if (f->holds != HOLDS_MEMBERS)
            buf_printf(b, "%.*s: ", field_name_length(f), field_name(f));
        if (f->holds == HOLDS_LIST)
            show_list(load_pointer(at), b);
        else
            show(field_type(f), at, indent, b);
    }
    buf_char(b, '}');
}

static void show_string(const char *text, struct buf *b)
{
    if (text)
        show_text(text, strlen(text), b);
    else
        buf_str(b, "null");
}

static void show_bo(const pmix_byte_object_t *bo, struct buf *b)
{
    show_bytes(bo->bytes, bo->size, b);
}

static void show_buffer(const pmix_data_buffer_t *d, struct buf *b)
{
    show_bytes(d->base_ptr, d->bytes_used, b);
}

static void show(const struct type *t, const void *value, unsigned indent, struct buf *b)
{
    switch (t->form) {
    case FORM_NONE:
        buf_str(b, "nothing");
        break;
    case FORM_BOOL:
        buf_str(b, load_uint(value, t->size) ? "true" : "false");
        break;
    case FORM_INT:
        show_int(t, value, b);
        break;
    case FORM_UINT:
        show_uint(t, value, b);
        break;
    case FORM_REAL:
        show_real(t, value, b);
        break;
    case FORM_RANK:
        show_rank(t, value, b);
        break;
    case FORM_FLAGS:
        show_flags(t, value, b);
        break;
    case FORM_CHAR:
        show_text(value, *(const char *)value != '\0', b);
        break;
    case FORM_STRING:
        show_string(load_pointer(value), b);
        break;
    case FORM_CHARS:
        show_text(value, strnlen(value, t->size), b);
        break;
    case FORM_BYTES:
        show_bo(value, b);
        break;
    case FORM_BUFFER:
        show_buffer(value, b);
        break;
    case FORM_RECORD:
        show_record(t, value, indent, b);
        break;
    case FORM_VALUE:
        show_value(value, indent, b);
        break;
    case FORM_ARRAY:
        show_array(value, indent, b);
        break;
    default:
        buf_str(b, "(of one process only)");
    }
}

void value_print(pmix_data_type_t type, const void *value, struct buf *out)
{
    const struct type *t = type_of(type);

    if (t)
        show(t, value, 0, out);
    else
        buf_printf(out, "(type %d)", type);
}
