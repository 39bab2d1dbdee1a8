/* json_reader.h - JSON text (RFC 8259), token by token, without a tree.
 *
 * The caller says what comes next: a value, a member, an element; what the text has
 * instead is an error.  Stricter than the RFC, so that nothing is lost on the way into C:
 * integers fit 64 bits, other numbers a double, and no string has a NUL.
 *
 * Functions return -1 and e on failure: ": not JSON, byte 17: no value", the byte counted
 * from 0; ERR_INVALID_VAL, or ERR_NOMEM.  No recursion, no I/O, no global state. */
#ifndef PMIX_EXT_JSON_READER_H
#define PMIX_EXT_JSON_READER_H

#include "pmix_ext/plain.h"
#include "wire/buf.h"

#include <stdint.h>
#include <string.h>

enum json_kind {
    KIND_NOTHING,            /* none was read; for callers who look for one that is missing */
    KIND_OBJECT, KIND_ARRAY, /* their beginning */
    KIND_STRING, KIND_INTEGER, KIND_REAL, KIND_TRUE, KIND_FALSE, KIND_NULL,
    KINDS
};

struct json_reader {
    const char    *from, *at, *end;      /* borrowed: the text; at: what is not read yet */
    enum json_kind kind;                 /* of what was read last */
    const char    *string;               /* KIND_STRING: UTF-8 of len bytes, until the next is */
    size_t         len;                  /*              read; no NUL behind it */
    int64_t        integer;              /* KIND_INTEGER */
    double         real;                 /* KIND_REAL */
    struct buf     scratch;              /* owned: a string that had escapes */
    struct err    *e;                    /* borrowed */
};

/* To be cleared in the end. */
void reader_init(struct json_reader *r, const char *text, size_t len, struct err *e);
void reader_clear(struct json_reader *r);

/* Read a string, number or word, or the beginning of an object or array. */
int reader_next(struct json_reader *r);

/* In an object or array that has begun, `first` if nothing of it was read yet: 1 if there
 * is one more, 0 if it is over.  An object's member has then been read up to its value, and
 * its name is the string; an array's element is still to be read. */
int reader_member(struct json_reader *r, bool first);
int reader_element(struct json_reader *r, bool first);

/* Is the next byte this one?  Then it has been read. */
static inline bool reader_has(struct json_reader *r, char byte)
{
    bool has = r->at < r->end && *r->at == byte;

    r->at += has;
    return has;
}

/* Does the text of a member begin so, with `"name":`, and no white space before it?  Then it
 * has been read up to its value, and its name is not the string.  False, and nothing was
 * read, is no answer: see reader_member.  (text: readable in eights.) */
static inline bool reader_has_member(struct json_reader *r, bool first, const char *text,
                                     size_t len)
{
    size_t left = (size_t)(r->end - r->at);
    const char *p = r->at;

    if (left <= len || (!first && *p++ != ','))
        return false;
    if (left > len + sizeof(uint64_t) ? !plain_same(p, text, len) : memcmp(p, text, len))
        return false;
    r->at = p + len;
    return true;
}

/* Pass over a value.  What is in an object or array is not looked at closely. */
int reader_skip(struct json_reader *r);

/* Nothing may follow. */
int reader_end(struct json_reader *r);

/* Say that what was read last is wrong.  Returns -1. */
int reader_wrong(const struct json_reader *r, const char *why);

#endif
