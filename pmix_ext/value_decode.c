/* value_decode.c - values from JSON; see value.h.
 *
 * What is filled is all zero before, and what it holds when a step fails can be cleared:
 * pointers and counts are set together, before what is behind them is filled. */
#include "pmix_ext/value_impl.h"

static int take(const struct type *t, json_t *json, void *to, struct in *in);

/* --- what holds others ------------------------------------------------------------ */

static int open_one(struct in *in)
{
    if (++in->depth <= VALUE_DEPTH)
        return 0;
    return err_set(in->e, ERR_LENGTH, ": more than %d values and arrays within each other",
                   VALUE_DEPTH);
}

static int take_elements(const struct type *t, json_t *json, void **array, size_t *count,
                         struct in *in)
{
    size_t n = json_array_size(json);
    char *to;

    if (!json_is_array(json))
        return value_not_a("an array", json, in);
    if (!n)
        return 0;
    *array = to = calloc(n, t->size);
    if (!to)
        return value_no_memory(in);
    *count = n;
    for (size_t i = 0; i < n; i++)
        if (take(t, json_array_get(json, i), to + i * t->size, in) < 0)
            return value_at(in->e, "[%zu]", i);
    return 0;
}

static int take_counted(const struct field *f, json_t *json, char *record, struct in *in)
{
    void *array = NULL;
    size_t n = 0;
    int rc = take_elements(f->type, json, &array, &n, in);

    memcpy(record + f->offset, &array, sizeof array);
    store_uint(record + f->count, sizeof n, n);
    return rc;
}

/* A NULL would end the list, so null is nothing that it can have. */
static int take_list(const struct field *f, json_t *json, char *record, struct in *in)
{
    size_t n = json_array_size(json);
    char **list;

    if (json_is_null(json))
        return 0;
    if (!json_is_array(json))
        return value_not_a("an array of strings", json, in);
    list = calloc(n + 1, sizeof *list);
    if (!list)
        return value_no_memory(in);
    memcpy(record + f->offset, &list, sizeof list);
    for (size_t i = 0; i < n; i++) {
        json_t *text = json_array_get(json, i);

        if (json_is_null(text) ? value_not_a("a string", text, in)
                               : take_string(f->type, text, &list[i], in))
            return value_at(in->e, "[%zu]", i);
    }
    return 0;
}

static int take_type(json_t *object, const struct type **t, struct in *in)
{
    json_t *name = json_object_get(object, "type");

    if (!json_is_string(name)) {
        value_not_a("the name of a type", name, in);
        return value_at(in->e, ".type");
    }
    *t = type_named(json_string_value(name));
    return *t ? 0 : value_bad_word(".type: there is no type '%s'", json_string_value(name), in);
}

/* The members of a value, in an object that may have others. */
static int take_members(json_t *object, pmix_value_t *v, struct in *in)
{
    json_t *json = json_object_get(object, "value");
    const struct type *t;
    void *place = &v->data;

    if (take_type(object, &t, in) < 0 || open_one(in) < 0)
        return -1;
    if (t->place == PLACE_NONE)
        return err_set(in->e, ERR_INVALID_VAL, ".type: %s is for arrays only", t->name);
    v->type = type_number(t);
    if (t->place == PLACE_BEHIND && !json_is_null(json)) {
        place = calloc(1, t->size);
        if (!place)
            return value_no_memory(in);
        memcpy(&v->data, &place, sizeof place);
    }
    if ((t->place == PLACE_INSIDE || !json_is_null(json)) && take(t, json, place, in) < 0)
        return value_at(in->e, ".value");
    in->depth--;
    return 0;
}

static const struct field value_members[] = { { .name = "type" }, { .name = "value" }, { 0 } };
static const struct field array_members[] = { { .name = "type" }, { .name = "array" }, { 0 } };

static bool is_member(const char *name, const struct field *fields)
{
    for (const struct field *f = fields; f->name; f++)
        if (f->holds == HOLDS_MEMBERS ? is_member(name, value_members) : !strcmp(f->name, name))
            return true;
    return false;
}

/* A member that is not known may be an error of spelling: it is not passed over. */
static int no_others(json_t *object, const struct field *fields, struct in *in)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
        if (!is_member(name, fields))
            return value_bad_word(": there is no member '%s'", name, in);
    return 0;
}

static int take_value(json_t *json, pmix_value_t *v, struct in *in)
{
    if (!json_is_object(json))
        return value_not_a("an object", json, in);
    if (take_members(json, v, in) < 0)
        return -1;
    return no_others(json, value_members, in);
}

static int take_array(json_t *json, pmix_data_array_t *a, struct in *in)
{
    const struct type *t;

    if (!json_is_object(json))
        return value_not_a("an object", json, in);
    if (take_type(json, &t, in) < 0 || open_one(in) < 0)
        return -1;
    a->type = type_number(t);
    if (take_elements(t, json_object_get(json, "array"), &a->array, &a->size, in) < 0)
        return value_at(in->e, ".array");
    in->depth--;
    return no_others(json, array_members, in);
}

static int take_field(const struct field *f, json_t *json, char *record, struct in *in)
{
    switch (f->holds) {
    case HOLDS_LIST:
        return take_list(f, json, record, in);
    case HOLDS_COUNTED:
        return take_counted(f, json, record, in);
    default:
        return take(f->type, json, record + f->offset, in);
    }
}

static int take_record(const struct type *t, json_t *json, void *to, struct in *in)
{
    if (!json_is_object(json))
        return value_not_a("an object", json, in);
    for (const struct field *f = t->fields; f->name; f++) {
        json_t *member = json_object_get(json, f->name);

        if (f->holds == HOLDS_MEMBERS) {
            if (take_members(json, (void *)((char *)to + f->offset), in) < 0)
                return -1;
        } else if ((member || !f->optional) && take_field(f, member, to, in) < 0) {
            return value_at(in->e, ".%s", f->name);
        }
    }
    return no_others(json, t->fields, in);
}

static int take(const struct type *t, json_t *json, void *to, struct in *in)
{
    if (t->local)
        return err_set(in->e, ERR_INVALID_VAL, ": %s does not leave its process", t->name);
    switch (t->form) {
    case FORM_RECORD:
        return take_record(t, json, to, in);
    case FORM_VALUE:
        return take_value(json, to, in);
    case FORM_ARRAY:
        return take_array(json, to, in);
    default:
        return take_scalar[t->form](t, json, to, in);
    }
}

/* --- the interface ---------------------------------------------------------------- */

/* Parse text; NULL and e if it is not JSON.  Where jansson 2.14 finds no memory, it may
 * blame the text instead, and a string that it cannot extend loses its end. */
static json_t *parse(const char *text, size_t len, const char *what, struct err *e)
{
    struct in in = { .e = e };
    json_error_t why;
    json_t *json;

    if (len > VALUE_TEXT) {
        err_set(e, ERR_LENGTH, "%s: %zu bytes of JSON, at most %d", what, len, VALUE_TEXT);
        return NULL;
    }
    json = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (json)
        return json;
    if (!*why.text || json_error_code(&why) == json_error_out_of_memory) {
        err_set(e, ERR_NOMEM, "%s: out of memory", what);
    } else {
        value_bad_word("%s", why.text, &in);
        err_context(e, "%s: not JSON, byte %d", what, why.position);
    }
    return NULL;
}

int value_decode_json(pmix_data_type_t type, json_t *json, const char *what, void *to,
                      struct err *e)
{
    const struct type *t = type_of(type);
    struct in in = { .e = e };

    if (!t)
        return err_set(e, ERR_INVALID_VAL, "%s: there is no type %d", what, type);
    memset(to, 0, t->size);
    if (take(t, json, to, &in) == 0)
        return 0;
    type_clear(t, to);
    return value_at(e, "%s", what);
}

int value_decode(pmix_data_type_t type, const char *text, size_t len, const char *what,
                 void *to, struct err *e)
{
    json_t *json = parse(text, len, what, e);
    int rc = json ? value_decode_json(type, json, what, to, e) : -1;

    json_decref(json);
    return rc;
}

int value_decode_array_json(pmix_data_type_t type, json_t *json, const char *what,
                            void **array, size_t *n, struct err *e)
{
    const struct type *t = type_of(type);
    struct in in = { .e = e };

    *array = NULL;
    *n = 0;
    if (!t)
        return err_set(e, ERR_INVALID_VAL, "%s: there is no type %d", what, type);
    if (take_elements(t, json, array, n, &in) == 0)
        return 0;
    type_free_array(t, *array, *n);
    *array = NULL;
    *n = 0;
    return value_at(e, "%s", what);
}

int value_decode_array(pmix_data_type_t type, const char *text, size_t len, const char *what,
                       void **array, size_t *n, struct err *e)
{
    json_t *json = parse(text, len, what, e);
    int rc = -1;

    *array = NULL;
    *n = 0;
    if (json)
        rc = value_decode_array_json(type, json, what, array, n, e);
    json_decref(json);
    return rc;
}
