/* value_impl.h - what the files of value.h share. */
#ifndef PMIX_EXT_VALUE_IMPL_H
#define PMIX_EXT_VALUE_IMPL_H

#include "pmix_ext/types.h"
#include "pmix_ext/value.h"

/* Put a step of the path before what e says, and return -1.  When there is no more room
 * for steps, the first of them are left out: the cause is what counts. */
int value_at(struct err *e, const char *fmt, ...) PRINTF(2, 3);

/* A number of 1, 2, 4 or 8 bytes, sign kept or not. */
int64_t  load_int(const void *from, size_t size);
uint64_t load_uint(const void *from, size_t size);
void     store_uint(void *to, size_t size, uint64_t number);

static inline void *load_pointer(const void *from)
{
    void *p;

    memcpy(&p, from, sizeof p);
    return p;
}

static inline size_t load_count(const void *record, const struct field *f)
{
    return (size_t)load_uint((const char *)record + f->count, sizeof(size_t));
}

/* Where the value of v is, behind its pointer if it has one; NULL if that is. */
static inline const void *value_place(const struct type *t, const pmix_value_t *v)
{
    return t->place == PLACE_BEHIND ? load_pointer(&v->data) : &v->data;
}

/* All bytes zero? */
bool all_zero(const void *data, size_t n);

/* What clear, copy and compare do with a type that is given by its row. */
void type_clear(const struct type *t, void *value);
void type_free_array(const struct type *t, void *array, size_t n);

#endif
