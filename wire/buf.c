/* buf.c - see buf.h */
#include "wire/buf.h"

#include "wire/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_AT_MOST 65536

void buf_clear(struct buf *b)
{
    free(b->data);
    *b = (struct buf)BUF_INIT;
}

void buf_reset(struct buf *b)
{
    b->start = 0;
    b->failed = false;
    buf_cut(b, 0);
}

/* Move the contents to the front of an allocation of at least want bytes. */
static int grow(struct buf *b, size_t want)
{
    size_t cap = b->cap ? b->cap : 64;
    char *data;

    if (b->start) {
        memmove(b->data, b->data + b->start, b->len + 1);
        b->start = 0;
    }
    if (want <= b->cap)
        return 0;
    while (cap < want)
        if (__builtin_mul_overflow(cap, 2, &cap))
            return -1;
    data = realloc(b->data, cap);
    if (!data)
        return -1;
    b->data = data;
    b->cap = cap;
    return 0;
}

char *buf_more_room(struct buf *b, size_t n)
{
    size_t want;

    if (b->failed)
        return NULL;
    if (__builtin_add_overflow(b->start + b->len + 1, n, &want) ||
        (want > b->cap && grow(b, want - b->start) < 0)) {
        b->failed = true;
        return NULL;
    }
    return b->data + b->start + b->len;
}

void buf_add(struct buf *b, const void *data, size_t n)
{
    char *to = buf_room(b, n);

    if (!to)
        return;
    if (n)
        memcpy(to, data, n);
    buf_commit(b, n);
}

void buf_str(struct buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    char *to;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        b->failed = true;
    else if ((to = buf_room(b, (size_t)n))) {
        vsnprintf(to, (size_t)n + 1, fmt, again);
        buf_commit(b, (size_t)n);
    }
    va_end(again);
}

void buf_cut(struct buf *b, size_t len)
{
    b->len = len;
    if (b->data)
        b->data[b->start + len] = '\0';
}

void buf_consume(struct buf *b, size_t n)
{
    b->start += n;
    b->len -= n;
    if (b->len)
        return;
    b->start = 0;
    buf_cut(b, 0);
    if (b->cap > KEEP_AT_MOST) {
        bool failed = b->failed;             /* what was lost stays lost */

        buf_clear(b);
        b->failed = failed;
    }
}

void buf_escaped(struct buf *b, const char *text, size_t n)
{
    bool utf8 = utf8_valid(text, n);
    size_t plain = 0;        /* start of the run that is copied as it is */

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        bool c1 = utf8 && c == 0xC2 && i + 1 < n && (unsigned char)text[i + 1] < 0xA0;

        if (c >= ' ' && c < 0x7F && c != '\\')
            continue;
        if (c >= 0x80 && utf8 && !c1)
            continue;
        buf_add(b, text + plain, i - plain);
        if (c == '\n')
            buf_str(b, "\\n");
        else if (c == '\\')
            buf_str(b, "\\\\");
        else
            buf_printf(b, "\\x%02X", c);
        if (c1)                      /* a C1 control: both its bytes */
            buf_printf(b, "\\x%02X", (unsigned char)text[++i]);
        plain = i + 1;
    }
    buf_add(b, text + plain, n - plain);
}
