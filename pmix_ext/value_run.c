/* value_run.c - members of an object that are written as value_encode.c writes them: in the
 * order of the fields, without white space, text without escapes.
 *
 * Nearly all of a process table is, and this is several times as quick as to look at every
 * token for what it may be.  Nothing is refused here: what is written otherwise, or wrong, or
 * finds no memory is left unread to value_decode.c, which knows what to say. */
#include "pmix_ext/value_impl.h"

/* What reads something from p on returns where it ends; NULL: it is not for us. */

/* Digits, at most as many as fit 64 bits. */
static inline const char *read_digits(const char *p, const char *end, uint64_t *number)
{
    enum { FEW = 18 };
    const char *first = p;
    uint64_t n = 0;

    if (end - p > PLAIN_DIGITS) {
        unsigned digits = plain_number(p, number);

        if (digits <= PLAIN_DIGITS)
            return p + digits;
    }
    for (; p < end && p - first < FEW && *p >= '0' && *p <= '9'; p++)
        n = n * 10 + (uint64_t)(*p - '0');
    *number = n;
    return p;
}

/* An integer, which may go on where this ends: a point, more digits. */
static inline const char *read_number(enum form form, size_t size, uint64_t most, void *to,
                                      const char *p, const char *end)
{
    bool negative = form == FORM_INT && p < end && *p == '-';
    const char *first = p + negative;
    uint64_t n;

    p = read_digits(first, end, &n);
    if (p == first || n > most || (*first == '0' && p - first > 1))
        return NULL;
    store_uint(to, size, negative ? -n : n);
    return p;
}

/* ASCII behind a quote, for a char * or an array that has room for it; up to what ends it,
 * which may be something else than a quote. */
static inline const char *read_text(enum form form, size_t size, char *to, const char *p,
                                    const char *end)
{
    bool own = form == FORM_STRING;
    const char *text = p;
    size_t len;
    char *copy;

    p = plain_ascii_end(text, end);
    len = (size_t)(p - text);
    if (!own && len >= size)
        return NULL;
    copy = own ? malloc(len + 1) : to;
    if (!copy)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (own)
        memcpy(to, &copy, sizeof copy);
    return p;
}

/* --- one member after the other --------------------------------------------------- */

static bool take_number(const struct type *t, void *to, struct json_reader *r)
{
    const char *p = read_number(t->form, t->size, plain_most(t->form, t->size), to, r->at, r->end);

    if (!p || p == r->end || (*p != ',' && *p != '}'))
        return false;
    r->at = p;
    return true;
}

static bool take_text(const struct type *t, char *to, struct json_reader *r)
{
    const char *p = reader_has(r, '"') ? read_text(t->form, t->size, to, r->at, r->end) : NULL;

    if (!p || p == r->end || *p != '"') {
        type_clear(t, to);
        return false;
    }
    r->at = p + 1;
    return true;
}

/* False: nothing was taken. */
static bool take_one(const struct type *t, char *to, struct json_reader *r)
{
    const struct plain *p;

    switch (t->local ? FORM_OPAQUE : t->form) {
    case FORM_INT:
    case FORM_UINT:
    case FORM_RANK:
        return take_number(t, to, r);
    case FORM_STRING:
    case FORM_CHARS:
        return take_text(t, to, r);
    case FORM_RECORD:
        p = plain_of(t);
        return p && take_plain(p, to, r);
    default:
        return false;
    }
}

const struct field *take_run(const struct field *f, char *to, struct json_reader *r)
{
    for (bool first = true; f->length && f->holds == HOLDS_ONE; f++, first = false) {
        const char *at = r->at;

        if (!reader_has_member(r, first, f->text, f->length))
            break;
        if (!take_one(field_type(f), to + f->offset, r)) {
            r->at = at;
            break;
        }
    }
    return f;
}

/* --- all of a record -------------------------------------------------------------- */

/* The text before a scalar. */
static inline const char *read_before(const struct step *s, const char *p, const char *end)
{
    size_t left = (size_t)(end - p);
    bool same = left < PLAIN_TEXT ? left >= s->length && !memcmp(p, s->text, s->length)
                                  : plain_same(p, s->text, s->length);

    return same ? p + s->length : NULL;
}

/* The reader is left alone meanwhile: where each step ends would have to go through memory.
 * What follows a number or text is seen when the text of the next step is looked at. */
bool take_plain(const struct plain *plain, void *record, struct json_reader *r)
{
    const char *p = r->at, *end = r->end;

    for (const struct step *s = plain->steps; p && (p = read_before(s, p, end)); s++) {
        char *to = (char *)record + s->offset;

        if (s->form == FORM_NONE) {
            r->at = p;
            return true;
        }
        p = s->form == FORM_STRING || s->form == FORM_CHARS
                ? read_text(s->form, s->size, to, p, end)
                : read_number(s->form, s->size, s->most, to, p, end);
    }
    type_clear(plain->type, record);
    return false;
}
