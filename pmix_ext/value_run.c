/* value_run.c - members of an object that are written as value_encode.c writes them: in the
 * order of the fields, without white space, text without escapes.
 *
 * Nearly all of a process table is, and this is several times as quick as to look at every
 * token for what it may be.  Nothing is refused here: what is written otherwise, or wrong, or
 * finds no memory is left unread to value_decode.c, which knows what to say. */
#include "pmix_ext/value_impl.h"

#include "pmix_ext/plain.h"

static bool take_one(const struct type *t, char *to, struct json_reader *r);

/* An integer of so few digits that it fits 64 bits. */
static bool take_number(const struct type *t, void *to, struct json_reader *r)
{
    enum { FEW = 18 };
    bool is_int = t->form == FORM_INT, negative = is_int && r->at < r->end && *r->at == '-';
    uint64_t n = 0, most = (is_int ? INT64_MAX : UINT64_MAX) >> (64 - 8 * t->size);
    const char *first = r->at + negative, *p = first;

    for (; p < r->end && p - first < FEW && *p >= '0' && *p <= '9'; p++)
        n = n * 10 + (uint64_t)(*p - '0');
    if (p == first || (*first == '0' && p - first > 1))
        return false;
    if (p == r->end || (*p != ',' && *p != '}'))         /* it goes on: a point, more digits */
        return false;
    if (n > most || (t->form == FORM_RANK && type_word(t, (int64_t)n)))
        return false;
    store_uint(to, t->size, negative ? -n : n);
    r->at = p;
    return true;
}

/* ASCII, for a char * or an array that has room for it. */
static bool take_text(const struct type *t, char *to, struct json_reader *r)
{
    const char *text = r->at + 1, *end;
    bool own = t->form == FORM_STRING;
    uint64_t seen = 0;
    size_t len;
    char *copy;

    if (r->at == r->end || *r->at != '"')
        return false;
    end = plain_end(text, r->end, &seen);
    len = (size_t)(end - text);
    if (end == r->end || *end != '"' || !plain_is_ascii(seen) || (!own && len >= t->size))
        return false;
    copy = own ? malloc(len + 1) : to;
    if (!copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (own)
        memcpy(to, &copy, sizeof copy);
    r->at = end + 1;
    return true;
}

const struct field *take_run(const struct field *f, char *to, struct json_reader *r)
{
    for (bool first = true; f->name && f->holds == HOLDS_ONE; f++, first = false) {
        const char *at = r->at;

        if (!reader_has_member(r, first, f->text, f->length))
            break;
        if (!take_one(f->type, to + f->offset, r)) {
            r->at = at;
            break;
        }
    }
    return f;
}

/* All of an object, or nothing. */
static bool take_record(const struct type *t, char *to, struct json_reader *r)
{
    const char *at = r->at;

    if (!reader_has(r, '{'))
        return false;
    if (!take_run(t->fields, to, r)->name && reader_has(r, '}'))
        return true;
    type_clear(t, to);
    r->at = at;
    return false;
}

/* False: nothing was read. */
static bool take_one(const struct type *t, char *to, struct json_reader *r)
{
    switch (t->local ? FORM_OPAQUE : t->form) {
    case FORM_INT:
    case FORM_UINT:
    case FORM_RANK:
        return take_number(t, to, r);
    case FORM_STRING:
    case FORM_CHARS:
        return take_text(t, to, r);
    case FORM_RECORD:
        return take_record(t, to, r);
    default:
        return false;
    }
}
