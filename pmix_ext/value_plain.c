/* value_plain.c - records of numbers and text only, such as the rows of a process table: how
 * they are laid out, and to JSON in one go (value_run.c reads them).
 *
 * A row is so many pieces of known text and what is between them, which takes a third of the
 * time that a look at each of its fields does.  Only what nearly all rows are is written here,
 * text without escapes; what has something else is left to value_encode.c. */
#include "pmix_ext/value_impl.h"

#include <pthread.h>

enum { RECORDS = 16 };                   /* types that are such records */

/* --- the layouts: each written once, when it is asked for first ------------------- */

static const struct plain none;          /* of a type that is no such record */
static const struct plain *_Atomic layouts[TYPES];

/* More text before the scalar that is next. */
static bool add_text(struct plain *p, const char *text, size_t n)
{
    struct step *s = &p->steps[p->n];

    if (n > sizeof s->text - s->length)
        return false;
    memcpy(s->text + s->length, text, n);
    s->length += n;
    p->most += n;
    return true;
}

static bool add_scalar(struct plain *p, const struct type *t, size_t offset)
{
    bool quoted = t->form == FORM_STRING || t->form == FORM_CHARS;
    struct step *s = &p->steps[p->n];

    if (p->n == PLAIN_STEPS || (quoted && !add_text(p, "\"", 1)))
        return false;
    s->form = t->form;
    s->size = t->size;
    s->offset = offset;
    s->most = quoted ? 0 : plain_most(t->form, t->size);
    p->most += PLAIN_NUMBER;
    p->n++;
    return !quoted || add_text(p, "\"", 1);
}

static bool add_record(struct plain *p, const struct type *t, size_t offset);

static bool add_field(struct plain *p, const struct field *f, size_t offset)
{
    const struct type *t = field_type(f);

    if (f->holds != HOLDS_ONE || f->optional || t->local)
        return false;
    switch (t->form) {
    case FORM_INT:
    case FORM_UINT:
    case FORM_RANK:
    case FORM_STRING:
    case FORM_CHARS:
        return add_scalar(p, t, offset);
    case FORM_RECORD:
        return add_record(p, t, offset);
    default:
        return false;
    }
}

static bool add_record(struct plain *p, const struct type *t, size_t offset)
{
    const char *before = "{";

    for (const struct field *f = t->fields; f->length; f++, before = ",")
        if (!add_text(p, before, 1) || !add_text(p, f->text, f->length) ||
            !add_field(p, f, offset + f->offset))
            return false;
    return add_text(p, "}", 1);
}

static const struct plain *build(const struct type *t, pmix_data_type_t number)
{
    static struct plain plains[RECORDS];
    static size_t n;
    static pthread_mutex_t building = PTHREAD_MUTEX_INITIALIZER;
    struct plain p = { .type = t, .most = PLAIN_TEXT };
    const struct plain *found;

    pthread_mutex_lock(&building);
    found = layouts[number];
    if (!found && !t->local && t->form == FORM_RECORD && n < RECORDS && add_record(&p, t, 0)) {
        plains[n] = p;
        found = &plains[n++];
    }
    if (!found)
        found = &none;
    layouts[number] = found;
    pthread_mutex_unlock(&building);
    return found;
}

const struct plain *plain_of(const struct type *t)
{
    pmix_data_type_t number = type_number(t);
    const struct plain *p = layouts[number];

    if (!p)
        p = build(t, number);
    return p == &none ? NULL : p;
}

/* --- to JSON ---------------------------------------------------------------------- */

/* All of these return where they have written up to; NULL: it is not for them. */

static char *put_number(const struct step *s, const void *from, char *to)
{
    bool is_int = s->form == FORM_INT;
    uint64_t n = is_int ? (uint64_t)load_int(from, s->size) : load_uint(from, s->size);

    if (is_int && n > INT64_MAX) {
        *to++ = '-';
        n = -n;
    } else if (n > s->most) {
        return NULL;
    }
    return to + plain_write(to, n);
}

/* Text, behind which there is room for what else there may be. */
static char *put_text(const struct plain *p, const struct step *s, const void *from,
                      struct buf *b, char *to)
{
    const char *text = s->form == FORM_STRING ? load_pointer(from) : from;
    size_t most = s->form == FORM_STRING ? VALUE_TEXT : s->size - 1, n;

    n = text ? strnlen(text, most + 1) : 0;
    if (!text || n > most)
        return NULL;
    if (n > PLAIN_NUMBER) {
        buf_commit(b, (size_t)(to - buf_bytes(b)) - b->len);
        to = buf_room(b, n + p->most);
    }
    return to && plain_copy(to, text, n) ? to + n : NULL;
}

bool put_plain(const struct plain *p, const void *record, struct buf *b)
{
    size_t before = b->len;
    char *to = buf_room(b, p->most);

    for (const struct step *s = p->steps; to; s++) {
        const void *from = (const char *)record + s->offset;

        memcpy(to, s->text, sizeof s->text);
        to += s->length;
        if (s->form == FORM_NONE) {
            buf_commit(b, (size_t)(to - buf_bytes(b)) - b->len);
            return true;
        }
        to = s->form == FORM_STRING || s->form == FORM_CHARS ? put_text(p, s, from, b, to)
                                                             : put_number(s, from, to);
    }
    buf_cut(b, before);
    return false;
}
