/* value_encode.c - values to JSON text; see value.h.
 *
 * The text goes straight into the buffer: a process table has a hundred thousand rows,
 * and a tree of JSON objects would cost several times what they do. */
#include "pmix_ext/value_impl.h"

static int put(const struct type *t, const void *from, struct out *o);

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

/* Its name, and what comes behind it.  (No buf_printf: events are written for every job.) */
static void put_name(const struct type *t, const char *behind, struct out *o)
{
    buf_str(o->buf, "\"type\":\"");
    buf_str(o->buf, t->name);
    buf_str(o->buf, "\",");
    buf_str(o->buf, behind);
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
    put_name(t, "\"value\":", o);
    from = value_place(t, v);
    if (from ? put(t, from, o) : put_null(t, from, o))
        return value_at(o->e, ".value");
    o->depth--;
    return 0;
}

static int put_value(const pmix_value_t *v, struct out *o)
{
    buf_char(o->buf, '{');
    if (put_members(v, o) < 0)
        return -1;
    buf_char(o->buf, '}');
    return 0;
}

static int put_array(const pmix_data_array_t *a, struct out *o)
{
    const struct type *t = type_of(a->type);

    if (!t)
        return err_set(o->e, ERR_INVALID_VAL, ".type: there is no type %d", a->type);
    if (open_one(o) < 0)
        return -1;
    buf_char(o->buf, '{');
    put_name(t, "\"array\":", o);
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
        return put_list(field_type(f), load_pointer(from), o);
    case HOLDS_COUNTED:
        return put_elements(field_type(f), load_pointer(from), load_count(record, f), o);
    default:
        return put(field_type(f), from, o);
    }
}

/* Is there nothing to say of an optional field? */
static bool is_absent(const struct field *f, const void *record)
{
    const void *from = (const char *)record + f->offset;
    const struct type *t = field_type(f);

    if (!f->optional)
        return false;
    if (f->holds == HOLDS_COUNTED)
        return load_count(record, f) == 0;
    if (t->form == FORM_FLAGS)
        return !(load_uint(from, t->size) & ~(uint64_t)t->hidden);
    return all_zero(from, f->holds == HOLDS_ONE ? t->size : sizeof(void *));
}

/* The name of a member, and what is before and behind it; in one go, since there are as
 * many as there are values, and as many bytes as there may be, which is the quickest. */
static void add_name(struct buf *b, char before, const struct field *f)
{
    char *to = buf_room(b, 1 + sizeof f->text);

    if (!to)
        return;
    to[0] = before;
    memcpy(to + 1, f->text, sizeof f->text);
    buf_commit(b, 1 + f->length);
}

static int put_record(const struct type *t, const void *from, struct out *o)
{
    const struct plain *plain = plain_of(t);
    char before = '{';

    if (plain && put_plain(plain, from, o->buf))
        return 0;
    for (const struct field *f = t->fields; f->length; f++) {
        if (is_absent(f, from))
            continue;
        if (f->holds == HOLDS_MEMBERS) {
            buf_char(o->buf, before);
            if (put_members((const void *)((const char *)from + f->offset), o) < 0)
                return -1;
        } else {
            add_name(o->buf, before, f);
            if (put_field(f, from, o) < 0)
                return value_at_field(o->e, f);
        }
        before = ',';
    }
    buf_char(o->buf, '}');
    return 0;
}

static int put(const struct type *t, const void *from, struct out *o)
{
    if (t->local)
        return err_set(o->e, ERR_INVALID_VAL, ": %s does not leave its process", t->name);
    switch (t->form) {
    case FORM_RECORD:
        return put_record(t, from, o);
    case FORM_VALUE:
        return put_value(from, o);
    case FORM_ARRAY:
        return put_array(from, o);
    default:
        return put_scalar[t->form](t, from, o);
    }
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
