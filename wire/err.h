/* err.h - what went wrong: a code for the wire, a sentence for a person.
 *
 * A function that can fail takes a struct err and returns -1; the text grows on
 * its way up ("kvs-put: key is 70 bytes, at most 64").  The codes are the rc
 * numbers of the PMI-2 wire (PMI2_ERR_*, PMI v2 API draft), so that a reply
 * needs no translation.  No allocation, no global state: thread-safe. */
#ifndef WIRE_ERR_H
#define WIRE_ERR_H

#define PRINTF(f, a) __attribute__((format(printf, f, a)))

enum err_code {
    ERR_NONE = 0,
    ERR_INIT = 1,            /* not initialised, or not in this state */
    ERR_NOMEM = 2,           /* out of memory or over a configured maximum */
    ERR_INVALID_ARG = 3,     /* an argument is missing or senseless */
    ERR_INVALID_KEY = 4,     /* unknown, duplicate or read-only key */
    ERR_KEY_LENGTH = 5,
    ERR_INVALID_VAL = 6,     /* not UTF-8, not a number, out of range */
    ERR_VAL_LENGTH = 7,
    ERR_LENGTH = 8,          /* does not fit a frame or line */
    ERR_NUM_ARGS = 9,
    ERR_ARGS = 10,
    ERR_OTHER = 14
};

struct err {
    enum err_code code;
    char text[240];          /* always terminated; cut, if need be, at the end */
};

/* Fill e (may be NULL) and return -1.  errno is left as it was. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...) PRINTF(3, 4);

/* Put "<context>: " before what e says and return -1. */
int err_context(struct err *e, const char *fmt, ...) PRINTF(2, 3);

#endif
