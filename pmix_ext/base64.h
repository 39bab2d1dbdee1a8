/* base64.h - bytes as base64 (RFC 4648, section 4): padded, without line breaks. */
#ifndef PMIX_EXT_BASE64_H
#define PMIX_EXT_BASE64_H

#include "wire/buf.h"

/* Append n bytes as base64. */
void base64_encode(const void *data, size_t n, struct buf *out);

/* Bytes that len characters of base64 stand for, if they are base64. */
static inline size_t base64_room(size_t len)
{
    return len / 4 * 3;
}

/* Write the bytes that the text stands for to data, which has base64_room(len) bytes.
 * Their number, or -1: it is not base64, or not the one way to write those bytes. */
long base64_decode(const char *text, size_t len, unsigned char *data);

#endif
