/* value_compare.c - an order of values; see value.h.
 *
 * It goes deeper without counting: what is compared was made here, by functions that do. */
#include "pmix_ext/value_impl.h"

#include <math.h>

static int compare(const struct type *t, const void *a, const void *b);

static int order_uint(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int order_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : order_uint(a != NULL, b != NULL);
}

static int order_bytes(const void *a, size_t na, const void *b, size_t nb)
{
    size_t n = na < nb ? na : nb;
    int c = n ? memcmp(a, b, n) : 0;

    return c ? c : order_uint(na, nb);
}

static double load_real(const struct type *t, const void *from)
{
    double d;
    float f;

    if (t->size == sizeof d)
        return memcpy(&d, from, sizeof d), d;
    return memcpy(&f, from, sizeof f), (double)f;
}

/* NaN is above all, -0 below 0. */
static int order_real(double a, double b)
{
    if (isnan(a) || isnan(b))
        return !!isnan(a) - !!isnan(b);
    if (a == b)
        return !!signbit(b) - !!signbit(a);
    return a < b ? -1 : 1;
}

static int order_list(char **a, char **b)
{
    if (!a || !b)
        return order_uint(a != NULL, b != NULL);
    for (; *a && *b; a++, b++) {
        int c = strcmp(*a, *b);

        if (c)
            return c;
    }
    return order_uint(*a != NULL, *b != NULL);
}

static int order_elements(const struct type *t, const char *a, size_t na, const char *b,
                          size_t nb)
{
    for (size_t i = 0; i < na && i < nb; i++) {
        int c = compare(t, a + i * t->size, b + i * t->size);

        if (c)
            return c;
    }
    return order_uint(na, nb);
}

static int order_record(const struct type *t, const char *a, const char *b)
{
    int c = 0;

    for (const struct field *f = t->fields; !c && f->length; f++) {
        const char *x = a + f->offset, *y = b + f->offset;

        if (f->holds == HOLDS_LIST)
            c = order_list(load_pointer(x), load_pointer(y));
        else if (f->holds == HOLDS_COUNTED)
            c = order_elements(field_type(f), load_pointer(x), load_count(a, f), load_pointer(y),
                               load_count(b, f));
        else
            c = compare(field_type(f), x, y);
    }
    return c;
}

static int order_value(const pmix_value_t *a, const pmix_value_t *b)
{
    const struct type *t = type_of(a->type);
    const void *x, *y;

    if (a->type != b->type || !t || t->place == PLACE_NONE)
        return order_uint(a->type, b->type);
    x = value_place(t, a);
    y = value_place(t, b);
    return x && y ? compare(t, x, y) : order_uint(x != NULL, y != NULL);
}

static int order_array(const pmix_data_array_t *a, const pmix_data_array_t *b)
{
    const struct type *t = type_of(a->type);

    if (a->type != b->type || !t)
        return order_uint(a->type, b->type);
    return order_elements(t, a->array, a->size, b->array, b->size);
}

static int order_bo(const pmix_byte_object_t *a, const pmix_byte_object_t *b)
{
    return order_bytes(a->bytes, a->size, b->bytes, b->size);
}

static int order_buffer(const pmix_data_buffer_t *a, const pmix_data_buffer_t *b)
{
    return order_bytes(a->base_ptr, a->bytes_used, b->base_ptr, b->bytes_used);
}

static int order_int(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const struct type *t, const void *a, const void *b)
{
    switch (t->form) {
    case FORM_NONE:
        return 0;
    case FORM_INT:
        return order_int(load_int(a, t->size), load_int(b, t->size));
    case FORM_REAL:
        return order_real(load_real(t, a), load_real(t, b));
    case FORM_FLAGS:
        return order_uint(load_uint(a, t->size) & ~(uint64_t)t->hidden,
                          load_uint(b, t->size) & ~(uint64_t)t->hidden);
    case FORM_STRING:
        return order_text(load_pointer(a), load_pointer(b));
    case FORM_CHARS:
        return strncmp(a, b, t->size);
    case FORM_BYTES:
        return order_bo(a, b);
    case FORM_BUFFER:
        return order_buffer(a, b);
    case FORM_RECORD:
        return order_record(t, a, b);
    case FORM_VALUE:
        return order_value(a, b);
    case FORM_ARRAY:
        return order_array(a, b);
    case FORM_OPAQUE:
        return memcmp(a, b, t->size);
    default:                 /* bool, rank, char, unsigned numbers */
        return order_uint(load_uint(a, t->size), load_uint(b, t->size));
    }
}

int value_compare(pmix_data_type_t type, const void *a, const void *b)
{
    const struct type *t = type_of(type);

    return t ? compare(t, a, b) : 0;
}
