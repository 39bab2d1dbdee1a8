/* msg.h - one PMI message: a command and its key=value pairs, in order.
 *
 * Parsed, the strings lie in the frame's own bytes, which parsing edits in
 * place; built, they are the caller's.  Nothing is copied either way: a message
 * lives as long as the text it points to.  Keys may repeat (spawn).  Not
 * thread-safe; no global state. */
#ifndef WIRE_MSG_H
#define WIRE_MSG_H

#include "wire/frame.h"

#include <stdint.h>

struct pair {
    const char *key, *val;   /* borrowed, terminated */
    size_t      len;         /* of val, without NUL */
};

enum { MSG_PAIRS = 16 };     /* kept without allocation */

struct msg {
    const char  *cmd;        /* borrowed; "" before msg_start or parsing */
    struct pair *pairs;      /* few, or owned */
    size_t       n, cap;
    struct pair  few[MSG_PAIRS];
    char         digits[MSG_PAIRS][24];  /* what msg_int wrote */
    unsigned     ints;
    bool         failed;     /* a pair could not be added */
    bool         block;      /* from an mcmd block: one line a pair */
};

void msg_init(struct msg *m);
void msg_clear(struct msg *m);           /* frees what it owns; m is as after msg_init */

/* Building.  None fails: a shortage is remembered and format reports it. */
void msg_start(struct msg *m, const char *cmd);              /* forgets former pairs */
void msg_str(struct msg *m, const char *key, const char *val);
void msg_bytes(struct msg *m, const char *key, const char *val, size_t len);
void msg_int(struct msg *m, const char *key, long long val); /* at most MSG_PAIRS of them */

/* Reading.  The first pair with that key, or NULL. */
const struct pair *msg_find(const struct msg *m, const char *key);
const char        *msg_get(const struct msg *m, const char *key);

/* A pair's value as a decimal number within min..max: 0 and *out, or -1 and e.
 * Blanks, a leading '+', and anything behind the digits are refused. */
int pair_int(const struct pair *p, long long min, long long max, long long *out,
             struct err *e);
/* The pair with that key of a message between servers, which must be there, likewise. */
int msg_number(const struct msg *m, const char *key, long long min, long long max,
               long long *out, struct err *e);
/* TRUE/true/1/yes and FALSE/false/0/no, in any case. */
int pair_bool(const struct pair *p, bool *out, struct err *e);

/* How one wire spells a message.  parse edits text (a frame's, see frame.h) and
 * fills m; format appends the whole frame to out.  Both: 0, or -1 and e; then m
 * (parse) holds what was understood so far, and out (format) is as before. */
struct codec {
    int (*parse)(struct msg *m, char *text, size_t len, struct err *e);
    int (*format)(const struct msg *m, size_t max, struct buf *out, struct err *e);
};

extern const struct codec wire_v1, wire_v2;

/* The codec of a wire. */
const struct codec *codec_of(enum wire wire);

#endif
