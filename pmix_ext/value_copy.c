/* value_copy.c - copies of values; see value.h. */
#include "pmix_ext/value_impl.h"

struct copy {
    unsigned    depth;       /* values and arrays that are open */
    struct err *e;
};

/* *to is all zero before; what it has when a copy fails can be cleared. */
static int copy(const struct type *t, const void *from, void *to, struct copy *c);

static int out_of_memory(struct copy *c)
{
    return err_set(c->e, ERR_NOMEM, "out of memory");
}

static int copy_text(const char *from, char **to, struct copy *c)
{
    *to = from ? strdup(from) : NULL;
    return from && !*to ? out_of_memory(c) : 0;
}

static int copy_bytes(const char *from, size_t n, char **to, struct copy *c)
{
    *to = n ? malloc(n) : NULL;
    if (n && !*to)
        return out_of_memory(c);
    if (n)
        memcpy(*to, from, n);
    return 0;
}

static int copy_buffer(const pmix_data_buffer_t *from, pmix_data_buffer_t *to, struct copy *c)
{
    size_t n = from->bytes_used;
    char *bytes;

    if (copy_bytes(from->base_ptr, n, &bytes, c) < 0)
        return -1;
    *to = (pmix_data_buffer_t){ bytes, n ? bytes + n : NULL, bytes, n, n };
    return 0;
}

static int copy_list(char **from, char ***to, struct copy *c)
{
    size_t n = 0;

    if (!from)
        return 0;
    while (from[n])
        n++;
    *to = calloc(n + 1, sizeof **to);
    if (!*to)
        return out_of_memory(c);
    for (size_t i = 0; i < n; i++)
        if (copy_text(from[i], &(*to)[i], c) < 0)
            return -1;
    return 0;
}

/* The count is set with the block: what failed half-way can be cleared. */
static int copy_elements(const struct type *t, const char *from, size_t n, void **array,
                         size_t *count, struct copy *c)
{
    char *to;

    if (!n)
        return 0;
    if (!from)
        return err_set(c->e, ERR_INVALID_VAL, "%zu elements at NULL", n);
    *array = to = calloc(n, t->size);
    if (!to)
        return out_of_memory(c);
    *count = n;
    for (size_t i = 0; i < n; i++)
        if (copy(t, from + i * t->size, to + i * t->size, c) < 0)
            return -1;
    return 0;
}

static int copy_counted(const struct field *f, const char *from, char *to, struct copy *c)
{
    void *array = NULL;
    size_t n = 0;
    int rc = copy_elements(field_type(f), load_pointer(from + f->offset), load_count(from, f),
                           &array, &n, c);

    memcpy(to + f->offset, &array, sizeof array);
    store_uint(to + f->count, sizeof n, n);
    return rc;
}

static int copy_record(const struct type *t, const char *from, char *to, struct copy *c)
{
    int rc = 0;

    for (const struct field *f = t->fields; rc == 0 && f->length; f++) {
        char **list = NULL;

        switch (f->holds) {
        case HOLDS_LIST:
            rc = copy_list(load_pointer(from + f->offset), &list, c);
            memcpy(to + f->offset, &list, sizeof list);
            break;
        case HOLDS_COUNTED:
            rc = copy_counted(f, from, to, c);
            break;
        default:
            rc = copy(field_type(f), from + f->offset, to + f->offset, c);
        }
    }
    return rc;
}

static int open_one(struct copy *c)
{
    if (++c->depth <= VALUE_DEPTH)
        return 0;
    return err_set(c->e, ERR_LENGTH, "more than %d values and arrays within each other",
                   VALUE_DEPTH);
}

static int copy_value(const pmix_value_t *from, pmix_value_t *to, struct copy *c)
{
    const struct type *t = type_of(from->type);
    const void *behind;
    void *place;
    int rc;

    if (!t || t->place == PLACE_NONE)
        return err_set(c->e, ERR_INVALID_VAL, "type %d is none of values", from->type);
    if (open_one(c) < 0)
        return -1;
    to->type = from->type;
    place = &to->data;
    behind = value_place(t, from);
    if (t->place == PLACE_BEHIND && behind) {
        place = calloc(1, t->size);
        if (!place)
            return out_of_memory(c);
        memcpy(&to->data, &place, sizeof place);
    }
    rc = behind ? copy(t, behind, place, c) : 0;
    c->depth--;
    return rc;
}

static int copy_array(const pmix_data_array_t *from, pmix_data_array_t *to, struct copy *c)
{
    const struct type *t = type_of(from->type);
    int rc;

    if (!t)
        return err_set(c->e, ERR_INVALID_VAL, "there is no type %d", from->type);
    if (open_one(c) < 0)
        return -1;
    to->type = from->type;
    rc = copy_elements(t, from->array, from->size, &to->array, &to->size, c);
    c->depth--;
    return rc;
}

static int copy(const struct type *t, const void *from, void *to, struct copy *c)
{
    const pmix_byte_object_t *bytes = from;

    switch (t->form) {
    case FORM_STRING:
        return copy_text(load_pointer(from), to, c);
    case FORM_BYTES:
        ((pmix_byte_object_t *)to)->size = bytes->size;
        return copy_bytes(bytes->bytes, bytes->size, &((pmix_byte_object_t *)to)->bytes, c);
    case FORM_BUFFER:
        return copy_buffer(from, to, c);
    case FORM_RECORD:
        return copy_record(t, from, to, c);
    case FORM_VALUE:
        return copy_value(from, to, c);
    case FORM_ARRAY:
        return copy_array(from, to, c);
    case FORM_FLAGS:
        store_uint(to, t->size, load_uint(from, t->size) & ~(uint64_t)t->hidden);
        return 0;
    case FORM_OPAQUE:
        if (t != type_of(PMIX_POINTER))
            return err_set(c->e, ERR_INVALID_VAL, "%s cannot be copied", t->name);
        /* fall through */
    default:
        memcpy(to, from, t->size);
        return 0;
    }
}

int value_copy(pmix_data_type_t type, const void *from, void *to, struct err *e)
{
    const struct type *t = type_of(type);
    struct copy c = { .e = e };

    if (!t)
        return err_set(e, ERR_INVALID_VAL, "there is no type %d", type);
    memset(to, 0, t->size);
    if (copy(t, from, to, &c) == 0)
        return 0;
    type_clear(t, to);
    return -1;
}

int value_copy_array(pmix_data_type_t type, const void *from, size_t n, void **array,
                     struct err *e)
{
    const struct type *t = type_of(type);
    struct copy c = { .e = e };
    size_t made = 0;

    *array = NULL;
    if (!t)
        return err_set(e, ERR_INVALID_VAL, "there is no type %d", type);
    if (copy_elements(t, from, n, array, &made, &c) == 0)
        return 0;
    type_free_array(t, *array, made);
    *array = NULL;
    return -1;
}
