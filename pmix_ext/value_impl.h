/* value_impl.h - what the files value*.c share; see value.h. */
#ifndef PMIX_EXT_VALUE_IMPL_H
#define PMIX_EXT_VALUE_IMPL_H

#include "pmix_ext/json_reader.h"
#include "pmix_ext/types.h"
#include "pmix_ext/value.h"
#include "pmix_ext/value_growing.h"

#include <stdlib.h>
#include <string.h>

/* Put a step of the path before what e says, and return -1.  When there is no more room
 * for steps, the first of them are left out: the cause is what counts. */
int value_at(struct err *e, const char *fmt, ...) PRINTF(2, 3);

/* Likewise the step to a field. */
static inline int value_at_field(struct err *e, const struct field *f)
{
    return value_at(e, ".%.*s", field_name_length(f), field_name(f));
}

/* A number of 1, 2, 4 or 8 bytes, sign kept or not. */
static inline uint64_t load_uint(const void *from, size_t size)
{
    uint8_t n8;
    uint16_t n16;
    uint32_t n32;
    uint64_t n64;

    switch (size) {
    case 1:
        return memcpy(&n8, from, 1), n8;
    case 2:
        return memcpy(&n16, from, 2), n16;
    case 4:
        return memcpy(&n32, from, 4), n32;
    default:
        return memcpy(&n64, from, 8), n64;
    }
}

static inline int64_t load_int(const void *from, size_t size)
{
    unsigned unused = 64 - 8 * (unsigned)size;

    return (int64_t)(load_uint(from, size) << unused) >> unused;
}

static inline void store_uint(void *to, size_t size, uint64_t number)
{
    uint8_t n8 = (uint8_t)number;
    uint16_t n16 = (uint16_t)number;
    uint32_t n32 = (uint32_t)number;

    switch (size) {
    case 1:
        memcpy(to, &n8, 1);
        break;
    case 2:
        memcpy(to, &n16, 2);
        break;
    case 4:
        memcpy(to, &n32, 4);
        break;
    default:
        memcpy(to, &number, 8);
    }
}

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

/* What clears do with a type that is given by its row. */
void type_clear(const struct type *t, void *value);
void type_free_array(const struct type *t, void *array, size_t n);

/* --- plain records ------------------------------------------------------------------ */

enum { PLAIN_STEPS = 16 };

/* A scalar of a record, or with FORM_NONE its end. */
struct step {
    char      text[PLAIN_TEXT];      /* before it: names, braces, and the quotes of text */
    size_t    length;
    enum form form;
    size_t    size, offset;          /* of it in the record */
    uint64_t  most;                  /* of a number: plain_most */
};

/* A record of numbers and text only, whatever is nested laid out flat. */
struct plain {
    const struct type *type;
    struct step steps[PLAIN_STEPS + 1];
    size_t n;
    size_t most;             /* bytes of its JSON, text being no longer than a number, and as
                                many more as are copied in vain with what is before the end */
};

/* The largest number of a type that is written as digits. */
static inline uint64_t plain_most(enum form form, size_t size)
{
    unsigned unused = 64 - 8 * (unsigned)size;

    if (form == FORM_RANK)
        return PMIX_RANK_VALID - 1;
    return (uint64_t)INT64_MAX >> (form == FORM_UINT && unused ? unused - 1 : unused);
}

/* How a type is laid out; NULL: it is no such record.  Constant, thread-safe. */
const struct plain *plain_of(const struct type *t);

/* Append a record, or fill one that is all zero from what is not read yet.  False: it is not
 * as most are, and nothing was done.  There are no errors. */
bool put_plain(const struct plain *p, const void *record, struct buf *b);
bool take_plain(const struct plain *p, void *record, struct json_reader *r);

/* --- to JSON ------------------------------------------------------------------------ */

struct out {
    struct buf *buf;
    size_t      from;        /* length of buf before this */
    unsigned    depth;       /* values and arrays that are open */
    struct err *e;
};

/* Append the value of type t at `from`.  0, or -1 and e, which begins with ": " or with
 * steps of a path (value_at). */
typedef int put_fn(const struct type *t, const void *from, struct out *o);

extern put_fn *const put_scalar[FORMS];      /* the forms that hold no others */
put_fn put_null;

/* --- from JSON ---------------------------------------------------------------------- */

struct in {
    struct json_reader r;
    unsigned    depth;       /* values and arrays that are open */
    size_t      arrays;      /* bytes of all elements so far */
    struct value_answer *answer;     /* borrowed; NULL: none is being read.  Whose value the
                                        outermost array is, or is the rest of */
    struct err *e;
};

/* Fill *to, which is all zero, from what in->r has just read, which is KIND_NOTHING if it is
 * not there.  0, or -1 and e as above; what *to has then can be cleared. */
typedef int take_fn(const struct type *t, void *to, struct in *in);

extern take_fn *const take_scalar[FORMS];
take_fn take_string, take_value;

/* Read members of an object that has begun, from the field f on, as long as they come as they
 * mostly do; the first that does not is left to be read, and its field returned, or the end
 * of the fields.  There are no errors. */
const struct field *take_run(const struct field *f, char *to, struct json_reader *r);

/* Likewise append the elements of an array. */
int take_elements(const struct type *t, struct growing *to, struct in *in);

/* Begin to read a text.  0, or -1 and e, which then says what. */
int  in_begin(struct in *in, const char *text, size_t len, const char *what, struct err *e);
void in_end(struct in *in);

/* Errors; each returns -1.  The sentence of value_bad_word has one %s, where the string that
 * was read last goes, short and harmless. */
int value_not_a(const char *wanted, struct in *in);
int value_bad_word(const char *sentence, struct in *in);
int value_no_memory(struct in *in);

#endif
