/* buf.h - growable bytes.
 *
 * Bytes are added at the end and consumed at the front.  An append that finds
 * no memory sets `failed` and leaves the contents as they were; every later
 * append is then a no-op, so a writer checks once at the end.  After the
 * contents there is always one zero byte (once anything was added), so text in
 * a buf may be used as a string.  Not thread-safe; no global state. */
#ifndef WIRE_BUF_H
#define WIRE_BUF_H

#include "wire/err.h"

#include <stdbool.h>
#include <stddef.h>

struct buf {
    char  *data;             /* owned; first unread byte is data[start] */
    size_t start, len, cap;  /* len: unread bytes; cap: bytes allocated */
    bool   failed;           /* an append ran out of memory */
};

#define BUF_INIT { NULL, 0, 0, 0, false }

void buf_clear(struct buf *b);           /* frees; b is as BUF_INIT again */
void buf_reset(struct buf *b);           /* empties and keeps the memory */

static inline char *buf_bytes(const struct buf *b) { return b->data + b->start; }

/* Make room for n more bytes and return where they go, or NULL (b->failed is
 * set).  buf_commit tells how many of them were written.  Inline where there is
 * room, which is nearly always: values are written by the word. */
char *buf_more_room(struct buf *b, size_t n);

static inline char *buf_room(struct buf *b, size_t n)
{
    if (b->failed || n >= b->cap - b->start - b->len)
        return buf_more_room(b, n);
    return b->data + b->start + b->len;
}

static inline void buf_commit(struct buf *b, size_t n)
{
    b->len += n;
    b->data[b->start + b->len] = '\0';
}

static inline void buf_char(struct buf *b, char c)
{
    char *to = buf_room(b, 1);

    if (!to)
        return;
    *to = c;
    buf_commit(b, 1);
}

void buf_add(struct buf *b, const void *data, size_t n);
void buf_str(struct buf *b, const char *text);

void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);

/* Keep only the first len bytes: what was appended since is taken back. */
void buf_cut(struct buf *b, size_t len);

/* Drop n bytes (at most len) from the front.  An emptied buf larger than 64 KiB
 * gives its memory back, so that one flood does not stay allocated for ever. */
void buf_consume(struct buf *b, size_t n);

/* Append n bytes of text as a person may safely see them: control characters,
 * DEL, backslash and, unless utf8 holds for the text, bytes over 127 as \xNN,
 * newline as \n.  Used for logs, traces and messages made from peers' words. */
void buf_escaped(struct buf *b, const char *text, size_t n);

#endif
