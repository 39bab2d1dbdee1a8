/* types.h - the table of the PMIx data types.
 *
 * One row says all that is known of a type: its number and name, its C layout, its form
 * as JSON (PROTOCOL.md, "Values"), and the words people have for its numbers.  What is
 * done with values (value.h) follows from the rows; nothing else knows a type. */
#ifndef PMIX_EXT_TYPES_H
#define PMIX_EXT_TYPES_H

#include "pmix_ext/pmix_ext_common.h"

/* The shape of a type, in memory and as JSON. */
enum form {
    FORM_NONE,               /* nothing at all: null */
    FORM_BOOL,
    FORM_INT,                /* of as many bytes as the row says */
    FORM_UINT,
    FORM_REAL,               /* float or double; NaN and infinities are strings */
    FORM_RANK,               /* a number, or the word of a special rank */
    FORM_FLAGS,              /* bits: an array of words, and the rest as a number */
    FORM_CHAR,               /* one char: a string of at most one byte */
    FORM_STRING,             /* char *, owned: a string, or null */
    FORM_CHARS,              /* char[size]: a string */
    FORM_BYTES,              /* pmix_byte_object_t: a string of base64 */
    FORM_BUFFER,             /* pmix_data_buffer_t: likewise */
    FORM_RECORD,             /* a struct: an object with the fields as members */
    FORM_VALUE,              /* pmix_value_t: {"type":...,"value":...} */
    FORM_ARRAY,              /* pmix_data_array_t: {"type":...,"array":[...]} */
    FORM_OPAQUE,             /* means something in one process only */
    FORMS
};

/* Where a value of this type is, in a pmix_value_t. */
enum place {
    PLACE_INSIDE,            /* in its union */
    PLACE_BEHIND,            /* behind a pointer in its union, owned */
    PLACE_NONE               /* it cannot be: arrays have this type, values do not */
};

/* What a field of a record holds of its type. */
enum holds {
    HOLDS_ONE,
    HOLDS_MEMBERS,           /* one, whose members are the record's: an info's value */
    HOLDS_LIST,              /* a pointer to strings, the last of which is NULL; owned */
    HOLDS_COUNTED            /* a pointer to as many as another member says; owned */
};

struct type;

enum { FIELD_TEXT = 32 };

struct field {
    const char *name;        /* as in C; NULL ends the fields */
    char text[FIELD_TEXT];   /* as JSON has it before a value: "name":, in quotes */
    size_t length;           /* of that text */
    const struct type *type;
    enum holds holds;
    bool optional;           /* not written if all is zero; may be absent */
    size_t offset;
    size_t count;            /* HOLDS_COUNTED: offset of the size_t that counts */
};

/* The three ways a field has its name. */
#define FIELD_NAMED(as) \
    .name = #as, .text = "\"" #as "\":", .length = sizeof "\"" #as "\":" - 1

/* No pointers in it: each would be relocated at every start, of programs that ask
 * for none. */
struct word {
    int64_t number;
    char text[40];           /* "" ends the words */
};

struct type {
    const char *name;        /* "PMIX_UINT32"; NULL: there is no such type */
    enum form form;
    enum place place;
    size_t size;             /* bytes of one in C */
    bool local;              /* never travels: it means nothing to another process, or is
                                the standard library's own affair */
    uint32_t hidden;         /* FORM_FLAGS: bits that do not travel either */
    const struct field *fields;      /* FORM_RECORD */
    const struct word *words;        /* what its numbers are called, or NULL */
};

/* The row of a number, or of a name of len bytes, or NULL.  Constant, thread-safe. */
const struct type *type_of(pmix_data_type_t number);
const struct type *type_named(const char *name, size_t len);
pmix_data_type_t   type_number(const struct type *t);

/* Of struct value_answer (value.h), which has no number: it is no value's type. */
extern const struct type type_answer;

/* What people call a number of this type ("PMIX_PROC_STATE_RUNNING"), or NULL. */
const char *type_word(const struct type *t, int64_t number);

#endif
