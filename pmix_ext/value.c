/* value.c - values in memory; see value.h. */
#include "pmix_ext/value_impl.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>

int value_at(struct err *e, const char *fmt, ...)
{
    char step[100], more[] = "...";
    size_t len, n;
    va_list ap;

    if (!e)
        return -1;
    va_start(ap, fmt);
    vsnprintf(step, sizeof step, fmt, ap);
    va_end(ap);
    len = strlen(e->text);
    n = strlen(step);
    if (!strncmp(e->text, more, strlen(more)))
        return -1;
    /* Room for "..." is always kept, unless the cause itself needs it. */
    if (len + n + strlen(more) >= sizeof e->text) {
        memcpy(step, more, sizeof more);
        n = strlen(more);
    }
    if (len + n < sizeof e->text) {
        memmove(e->text + n, e->text, len + 1);
        memcpy(e->text, step, n);
    }
    return -1;
}

bool all_zero(const void *data, size_t n)
{
    const char *p = data;

    return !n || (!*p && !memcmp(p, p + 1, n - 1));
}

/* --- free ------------------------------------------------------------------------- */

static void clear_list(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

static void clear_record(const struct type *t, void *record)
{
    bool lent = t == type_of(PMIX_INFO) &&
                ((const pmix_info_t *)record)->flags & PMIX_INFO_PERSISTENT;

    for (const struct field *f = t->fields; f->length; f++) {
        char *at = (char *)record + f->offset;

        if (f->holds == HOLDS_LIST)
            clear_list(load_pointer(at));
        else if (f->holds == HOLDS_COUNTED)
            type_free_array(field_type(f), load_pointer(at), load_count(record, f));
        else if (f->holds == HOLDS_ONE || !lent)
            type_clear(field_type(f), at);
    }
}

static void clear_value(pmix_value_t *v)
{
    const struct type *t = type_of(v->type);
    void *behind;

    if (t && t->place == PLACE_INSIDE)
        type_clear(t, &v->data);
    if (!t || t->place != PLACE_BEHIND)
        return;
    behind = load_pointer(&v->data);
    if (behind)
        type_clear(t, behind);
    free(behind);
}

static void clear_array(pmix_data_array_t *a)
{
    const struct type *t = type_of(a->type);

    if (t)
        type_free_array(t, a->array, a->size);
    else
        free(a->array);
}

void type_clear(const struct type *t, void *value)
{
    switch (t->form) {
    case FORM_STRING:
        free(load_pointer(value));
        break;
    case FORM_BYTES:
        free(((pmix_byte_object_t *)value)->bytes);
        break;
    case FORM_BUFFER:
        free(((pmix_data_buffer_t *)value)->base_ptr);
        break;
    case FORM_RECORD:
        clear_record(t, value);
        break;
    case FORM_VALUE:
        clear_value(value);
        break;
    case FORM_ARRAY:
        clear_array(value);
        break;
    default:
        break;
    }
    memset(value, 0, t->size);
}

void type_free_array(const struct type *t, void *array, size_t n)
{
    char *p = array;

    for (size_t i = 0; p && i < n; i++)
        type_clear(t, p + i * t->size);
    free(array);
}

void value_clear(pmix_data_type_t type, void *value)
{
    const struct type *t = type_of(type);

    if (t && value)
        type_clear(t, value);
}

void value_free_array(pmix_data_type_t type, void *array, size_t n)
{
    const struct type *t = type_of(type);

    if (t)
        type_free_array(t, array, n);
}

const char *value_type_name(pmix_data_type_t type)
{
    const struct type *t = type_of(type);

    return t ? t->name : NULL;
}

const void *value_content(const pmix_value_t *v)
{
    const struct type *t = type_of(v->type);

    return t ? value_place(t, v) : NULL;
}
