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

enum { FIELD_TEXT = 32 };

/* Fields and words hold no pointers: each would be relocated at every start, of programs
 * that ask for none. */
struct field {
    uint16_t length;         /* of the text, which needs no NUL; 0 ends the fields */
    pmix_data_type_t type;   /* of PMIx, or one of those below */
    uint16_t offset;
    uint16_t count;          /* HOLDS_COUNTED: offset of the size_t that counts */
    char text[FIELD_TEXT];   /* as JSON has it before a value: "name":, in quotes */
    enum holds holds;
    bool optional;           /* not written if all is zero; may be absent */
};

#define FIELD_NAMED(as) .text = "\"" #as "\":", .length = sizeof "\"" #as "\":" - 1

/* The name alone: so many bytes, and no NUL. */
static inline const char *field_name(const struct field *f)
{
    return f->text + 1;
}

static inline int field_name_length(const struct field *f)
{
    return f->length - 3;    /* without the quotes and the colon */
}

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

/* Numbers of fields' types that PMIx has none for; they are no values' types. */
enum {
    TYPES_OF_PMIX = PMIX_STOR_ACCESS_TYPE + 1,
    TYPE_KEY = TYPES_OF_PMIX,        /* pmix_key_t */
    TYPE_CHAR,
    TYPE_INFO_FLAGS,                 /* an info's, as they travel */
    TYPE_ANSWER,                     /* struct value_answer (value.h) */
    TYPES
};

extern const struct type type_rows[TYPES];   /* by number */

static inline const struct type *field_type(const struct field *f)
{
    return &type_rows[f->type];
}

/* The row of a PMIx type's number, or of its name of len bytes, or NULL.  Constant,
 * thread-safe. */
const struct type *type_of(pmix_data_type_t number);
const struct type *type_named(const char *name, size_t len);
pmix_data_type_t   type_number(const struct type *t);

/* What people call a number of this type ("PMIX_PROC_STATE_RUNNING"), or NULL. */
const char *type_word(const struct type *t, int64_t number);

#endif
