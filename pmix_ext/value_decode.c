/* value_decode.c - values from JSON; see value.h.
 *
 * The text is read once, from its beginning to its end, and straight into C: a tree of a
 * process table's hundred thousand rows would cost ten times what they do.
 *
 * What is filled is all zero before, and what it holds when a step fails can be cleared:
 * pointers and counts are set together, before what is behind them is filled. */
#include "pmix_ext/value_impl.h"

/* --- arrays ----------------------------------------------------------------------- */

static int open_one(struct in *in)
{
    if (++in->depth <= VALUE_DEPTH)
        return 0;
    return err_set(in->e, ERR_LENGTH, ": more than %d values and arrays within each other",
                   VALUE_DEPTH);
}

static int add_element(size_t size, struct in *in)
{
    in->arrays += size;
    if (in->arrays <= VALUE_ARRAYS)
        return 0;
    return err_set(in->e, ERR_LENGTH, ": arrays of more than %d bytes", VALUE_ARRAYS);
}

int take_elements(const struct type *t, struct growing *g, struct in *in)
{
    const struct plain *plain = t->form == FORM_RECORD ? plain_of(t) : NULL;
    bool first = true;
    int more;

    if (in->r.kind != KIND_ARRAY)
        return value_not_a("an array", in);
    for (; (more = reader_element(&in->r, first)) > 0; first = false) {
        void *to;

        if (add_element(g->size, in) < 0)
            return value_at(in->e, "[%zu]", g->n);
        if (!(to = grow(g)))
            return value_no_memory(in);
        if (plain && take_plain(plain, to, &in->r))
            continue;
        if (reader_next(&in->r) < 0 || take_value(t, to, in) < 0)
            return value_at(in->e, "[%zu]", g->n - 1);
    }
    return more;
}

/* All of them, in an array of their own. */
static int take_array(const struct type *t, void **array, size_t *count, struct in *in)
{
    struct growing g = { .size = t->size };
    int rc = take_elements(t, &g, in);

    *array = grown(&g);
    *count = g.n;
    return rc;
}

/* The rest of an array, or its beginning, if more may follow. */
static int take_part(const struct type *t, struct in *in)
{
    struct value_answer *answer = in->answer;
    pmix_data_array_t *a = answer->value.data.darray;
    struct growing g = { a->array, a->size, answer->room, t->size };
    int rc;

    if (a->type != type_number(t))
        return err_set(in->e, ERR_INVALID_VAL, ": %s, and before it was %s", t->name,
                       type_of(a->type)->name);
    rc = take_elements(t, &g, in);
    a->array = g.at;
    a->size = g.n;
    answer->room = g.room;
    return rc;
}

static int take_counted(const struct field *f, char *record, struct in *in)
{
    void *array = NULL;
    size_t n = 0;
    int rc = take_array(field_type(f), &array, &n, in);

    memcpy(record + f->offset, &array, sizeof array);
    store_uint(record + f->count, sizeof n, n);
    return rc;
}

/* One more string of a list, whose last element is always NULL, and no other: it would end
 * the list. */
static int take_listed(const struct type *t, struct growing *list, struct in *in)
{
    size_t i = list->n - 1;

    if (add_element(list->size, in) < 0)
        return value_at(in->e, "[%zu]", i);
    if (!grow(list))
        return value_no_memory(in);
    if (reader_next(&in->r) == 0 &&
        (in->r.kind == KIND_NULL ? value_not_a("a string", in)
                                 : take_string(t, list->at + i * list->size, in)) == 0)
        return 0;
    return value_at(in->e, "[%zu]", i);
}

static int take_list(const struct field *f, char *record, struct in *in)
{
    struct growing list = { .size = sizeof(char *) };
    int more = 0, rc;
    void *strings;

    if (in->r.kind == KIND_NULL)
        return 0;
    if (in->r.kind != KIND_ARRAY)
        return value_not_a("an array of strings", in);
    rc = grow(&list) ? 0 : value_no_memory(in);
    while (rc == 0 && (more = reader_element(&in->r, list.n == 1)) > 0)
        rc = take_listed(field_type(f), &list, in);
    strings = grown(&list);
    memcpy(record + f->offset, &strings, sizeof strings);
    return more < 0 ? -1 : rc;
}

/* --- objects ---------------------------------------------------------------------- */

/* A value's, or an array's, besides its type. */
static const struct field value_fields[] = {
    { FIELD_NAMED(value), .holds = HOLDS_MEMBERS }, { 0 }
};
static const struct field array_fields[] = {
    { FIELD_NAMED(array), .holds = HOLDS_MEMBERS }, { 0 }
};

/* An object that is being read. */
struct object {
    const struct field *fields;
    const struct field *next;    /* expected: members mostly come in the order of the fields */
    char               *to;
    uint64_t            seen;    /* fields that were there, a bit for each */
    const struct type  *type;    /* what that says */
    const char         *later;   /* where the value is, if it came before its type */
};

static uint64_t bit(const struct object *o, const struct field *f)
{
    return (uint64_t)1 << (f - o->fields);
}

static bool is_named(const struct json_reader *r, const char *name)
{
    return !strncmp(name, r->string, r->len) && !name[r->len];
}

static const struct field *field_named(const struct object *o, const struct json_reader *r)
{
    for (const struct field *f = o->fields; f->length; f++)
        if (r->len == (size_t)field_name_length(f) && !memcmp(r->string, field_name(f), r->len))
            return f;
    return NULL;
}

/* Is one of the fields of any type, which another member says? */
static bool has_type(const struct object *o)
{
    const struct field *f = o->fields;

    while (f->length && f->holds != HOLDS_MEMBERS)
        f++;
    return f->length;
}

static int take_type(const struct type **t, struct in *in)
{
    if (in->r.kind != KIND_STRING) {
        value_not_a("the name of a type", in);
        return value_at(in->e, ".type");
    }
    *t = type_named(in->r.string, in->r.len);
    return *t ? 0 : value_bad_word(".type: there is no type '%s'", in);
}

static int take_in_value(const struct type *t, pmix_value_t *v, struct in *in)
{
    bool null = in->r.kind == KIND_NULL;
    void *place = &v->data;

    v->type = type_number(t);
    if (t->place == PLACE_BEHIND && !null) {
        place = calloc(1, t->size);
        if (!place)
            return value_no_memory(in);
        memcpy(&v->data, &place, sizeof place);
    }
    return t->place == PLACE_BEHIND && null ? 0 : take_value(t, place, in);
}

/* The value of an answer is one, the array that it is is the second. */
enum { PART_DEPTH = 2 };

/* What the type of which was read before. */
static int take_typed(const struct object *o, const struct field *f, struct in *in)
{
    void *to = o->to + f->offset;
    pmix_data_array_t *a = to;
    bool is_array = o->fields == array_fields;
    int rc;

    if (!is_array && o->type->place == PLACE_NONE)
        return err_set(in->e, ERR_INVALID_VAL, ".type: %s is for arrays only", o->type->name);
    if (open_one(in) < 0)
        return -1;
    if (is_array) {
        a->type = type_number(o->type);
        rc = in->answer && in->depth == PART_DEPTH ? take_part(o->type, in)
                                                   : take_array(o->type, &a->array, &a->size, in);
    } else {
        rc = take_in_value(o->type, to, in);
    }
    in->depth--;
    return rc < 0 ? value_at_field(in->e, f) : 0;
}

static int take_field(const struct object *o, const struct field *f, struct in *in)
{
    int rc;

    switch (f->holds) {
    case HOLDS_MEMBERS:
        return take_typed(o, f, in);
    case HOLDS_LIST:
        rc = take_list(f, o->to, in);
        break;
    case HOLDS_COUNTED:
        rc = take_counted(f, o->to, in);
        break;
    default:
        rc = take_value(field_type(f), o->to + f->offset, in);
    }
    return rc < 0 ? value_at_field(in->e, f) : 0;
}

static int take_type_member(struct object *o, struct in *in)
{
    if (o->type)
        return reader_wrong(&in->r, "a member is there twice");
    if (reader_next(&in->r) < 0)
        return value_at(in->e, ".type");
    return take_type(&o->type, in);
}

/* A member of which the name was read. */
static int take_named(struct object *o, const struct field *f, struct in *in)
{
    if (o->seen & bit(o, f))
        return reader_wrong(&in->r, "a member is there twice");
    o->seen |= bit(o, f);
    o->next = f + 1;
    if (f->holds == HOLDS_MEMBERS && !o->type) {
        o->later = in->r.at;
        return reader_skip(&in->r);
    }
    if (reader_next(&in->r) < 0)
        return value_at_field(in->e, f);
    return take_field(o, f, in);
}

/* Likewise, its name being the string.  One that is not known may be an error of spelling:
 * it is not passed over. */
static int take_member(struct object *o, struct in *in)
{
    const struct field *f = field_named(o, &in->r);

    if (f)
        return take_named(o, f, in);
    if (has_type(o) && is_named(&in->r, "type"))
        return take_type_member(o, in);
    return value_bad_word(": there is no member '%s'", in);
}

/* Go back to a value that came before its type. */
static int take_later(const struct object *o, const struct field *f, struct in *in)
{
    const char *at = in->r.at;
    int rc;

    in->r.at = o->later;
    rc = reader_next(&in->r) < 0 ? value_at_field(in->e, f) : take_field(o, f, in);
    in->r.at = at;
    return rc;
}

/* At the end: what was not taken as it came. */
static int take_rest(struct object *o, struct in *in)
{
    int rc = 0;

    for (const struct field *f = o->fields; rc == 0 && f->length; f++) {
        bool there = o->seen & bit(o, f), later = there && o->later && f->holds == HOLDS_MEMBERS;

        in->r.kind = KIND_NOTHING;
        if (f->holds == HOLDS_MEMBERS && !o->type && (there || !f->optional))
            rc = take_type(&o->type, in);
        else if (later)
            rc = take_later(o, f, in);
        else if (!there && (!f->optional || (f->holds == HOLDS_MEMBERS && o->type)))
            rc = take_field(o, f, in);
    }
    return rc;
}

static int take_object(const struct field *fields, void *to, struct in *in)
{
    struct object o = { .fields = fields, .to = to };
    int more = 1, rc = 0;
    bool first;

    if (in->r.kind != KIND_OBJECT)
        return value_not_a("an object", in);
    o.next = take_run(fields, to, &in->r);
    if (!o.next->length && reader_has(&in->r, '}'))
        return 0;
    o.seen = bit(&o, o.next) - 1;
    for (first = o.next == fields; rc == 0 && more > 0; first = false) {
        if (o.next->length && reader_has_member(&in->r, first, o.next->text, o.next->length))
            rc = take_named(&o, o.next, in);
        else if ((more = reader_member(&in->r, first)) > 0)
            rc = take_member(&o, in);
    }
    return more < 0 || rc < 0 ? -1 : take_rest(&o, in);
}

int take_value(const struct type *t, void *to, struct in *in)
{
    if (t->local)
        return err_set(in->e, ERR_INVALID_VAL, ": %s does not leave its process", t->name);
    switch (t->form) {
    case FORM_RECORD:
        return take_object(t->fields, to, in);
    case FORM_VALUE:
        return take_object(value_fields, to, in);
    case FORM_ARRAY:
        return take_object(array_fields, to, in);
    default:
        return take_scalar[t->form](t, to, in);
    }
}

/* --- the interface ---------------------------------------------------------------- */

int in_begin(struct in *in, const char *text, size_t len, const char *what, struct err *e)
{
    if (len > VALUE_TEXT)
        return err_set(e, ERR_LENGTH, "%s: %zu bytes of JSON, at most %d", what, len, VALUE_TEXT);
    *in = (struct in){ .e = e };
    reader_init(&in->r, text, len, e);
    return 0;
}

void in_end(struct in *in)
{
    reader_clear(&in->r);
}

static const struct type *known(pmix_data_type_t type, const char *what, struct err *e)
{
    const struct type *t = type_of(type);

    if (!t)
        err_set(e, ERR_INVALID_VAL, "%s: there is no type %d", what, type);
    return t;
}

int value_decode(pmix_data_type_t type, const char *text, size_t len, const char *what,
                 void *to, struct err *e)
{
    const struct type *t = known(type, what, e);
    struct in in;
    bool ok;

    if (!t || in_begin(&in, text, len, what, e) < 0)
        return -1;
    memset(to, 0, t->size);
    ok = reader_next(&in.r) == 0 && take_value(t, to, &in) == 0 && reader_end(&in.r) == 0;
    in_end(&in);
    if (ok)
        return 0;
    type_clear(t, to);
    return value_at(e, "%s", what);
}

int value_decode_array(pmix_data_type_t type, const char *text, size_t len, const char *what,
                       void **array, size_t *n, struct err *e)
{
    const struct type *t = known(type, what, e);
    struct in in;
    bool ok;

    *array = NULL;
    *n = 0;
    if (!t || in_begin(&in, text, len, what, e) < 0)
        return -1;
    ok = reader_next(&in.r) == 0 && take_array(t, array, n, &in) == 0 && reader_end(&in.r) == 0;
    in_end(&in);
    if (ok)
        return 0;
    type_free_array(t, *array, *n);
    *array = NULL;
    *n = 0;
    return value_at(e, "%s", what);
}
