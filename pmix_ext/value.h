/* value.h - values of any PMIx type: as JSON text and back, copied, compared, shown, freed.
 *
 * A type is given by its number (PMIX_INFO, PMIX_PROC_INFO, PMIX_QUERY, PMIX_VALUE, ...),
 * a value by the address of its C struct or scalar as in pmix_ext.h, so that one set of
 * functions serves a value, an array of infos and a process table alike; types.h has the
 * table that they follow.  PROTOCOL.md, "Values", has the JSON.
 *
 * Whatever is allocated is malloc's and may be freed piece by piece with free.  Every
 * error names the place and the cause: "info[3].value.array[0].rank: 4294967296 is over a
 * rank's limit"; `what` is the word it begins with.  Codes: ERR_INVALID_VAL for what is
 * wrong, ERR_LENGTH for what is too large or too deep, ERR_NOMEM.  No I/O, no global state;
 * thread-safe. */
#ifndef PMIX_EXT_VALUE_H
#define PMIX_EXT_VALUE_H

#include "pmix_ext/pmix_ext_common.h"
#include "wire/buf.h"

enum {
    /* Values and arrays within each other; each counts.  Eight arrays of infos, one in
     * the other, are beyond any use in the standard. */
    VALUE_DEPTH = 16,

    /* Bytes of one JSON text: no request is longer (LIMIT_WHOLE). */
    VALUE_TEXT = 24 << 20,

    /* Bytes of the arrays that one JSON text becomes, without what they point to: short
     * elements of large types are many times their text. */
    VALUE_ARRAYS = 64 << 20
};

/* --- to JSON ---------------------------------------------------------------------- */

/* Append one value.  0, or -1 and e; out is then as it was. */
int value_encode(pmix_data_type_t type, const void *from, const char *what, struct buf *out,
                 struct err *e);

/* Append a JSON array of n values. */
int value_encode_array(pmix_data_type_t type, const void *from, size_t n, const char *what,
                       struct buf *out, struct err *e);

/* Append a JSON array of the first of n values, as many as fit into `most` bytes but at
 * least one; *done says how many.  To be called again with those behind: what cannot be
 * sent in one piece goes in parts, each of which is complete. */
int value_encode_part(pmix_data_type_t type, const void *from, size_t n, size_t most,
                      const char *what, struct buf *out, size_t *done, struct err *e);

/* --- from JSON -------------------------------------------------------------------- */

/* Fill *to, of the type's C type, whose former contents are nothing to these functions.
 * 0, or -1 and e; there is then nothing to free. */
int value_decode(pmix_data_type_t type, const char *text, size_t len, const char *what,
                 void *to, struct err *e);

/* Likewise a JSON array: *array of *n values, for value_free_array; NULL and 0 if it is
 * empty, and after an error. */
int value_decode_array(pmix_data_type_t type, const char *text, size_t len, const char *what,
                       void **array, size_t *n, struct err *e);

/* An answer to a key of a query (PROTOCOL.md, "pmix-query").  A large one is an array that
 * comes in parts, or the text of any value in pieces; they are put together here. */
struct value_answer {
    size_t        query;     /* which of those asked, from 0 */
    pmix_key_t    key;
    pmix_info_directives_t flags;
    pmix_value_t  value;     /* PMIX_UNDEF: there is none */
    pmix_status_t status;    /* why not, or why it is not complete */
    char         *piece;     /* owned: the text so far; NULL: it is complete */
    bool          more;      /* the array, or that, goes on in the next part */
    size_t        room;      /* elements it has room for, or the length of the text; 0 when it is complete */
};

/* Append the answers of a JSON array to the *n that *list has, NULL and 0 at first: parts of
 * a reply are given to this one after the other.  What is decoded goes to its place at once,
 * so that a table takes no more memory than itself.  0, or -1 and e: *list is then as far as
 * it went.  To be freed either way. */
int  value_decode_answers(const char *text, size_t len, const char *what,
                          struct value_answer **list, size_t *n, struct err *e);
void value_free_answers(struct value_answer *list, size_t n);

/* --- in memory -------------------------------------------------------------------- */

/* Make *to, whose former contents are nothing, a copy of its own.  0, or -1 and e: no
 * memory, too deep, or of a type that cannot be copied. */
int value_copy(pmix_data_type_t type, const void *from, void *to, struct err *e);
int value_copy_array(pmix_data_type_t type, const void *from, size_t n, void **array,
                     struct err *e);

/* Below, equal to or above 0: an order of all values, equal only if JSON could not tell
 * them apart (all NaN are one; -0 is below 0). */
int value_compare(pmix_data_type_t type, const void *a, const void *b);

/* Free what a value owns; it is all zero afterwards.  An info that is marked
 * PMIX_INFO_PERSISTENT does not own its value. */
void value_clear(pmix_data_type_t type, void *value);
void value_free_array(pmix_data_type_t type, void *array, size_t n);

/* The name of a type ("PMIX_UINT32"), or NULL. */
const char *value_type_name(pmix_data_type_t type);
/* What a value has of its type, as the functions above take it; NULL: behind a pointer that
 * is NULL, or no type. */
const void *value_content(const pmix_value_t *v);

/* --- for people ------------------------------------------------------------------- */

/* Append a value as text: one line, or with arrays several, whose ends are between them
 * and not behind.  Words of peers cannot end a line or reach a terminal unescaped. */
void value_print(pmix_data_type_t type, const void *value, struct buf *out);

#endif
