/* base64.c - see base64.h */
#include "pmix_ext/base64.h"

#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *data, size_t n, struct buf *out)
{
    const unsigned char *p = data;
    size_t groups = n / 3 + (n % 3 != 0);
    char *to = buf_room(out, groups * 4);

    if (!to)
        return;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        unsigned bits = (unsigned)p[i] << 16;

        if (left > 1)
            bits |= (unsigned)p[i + 1] << 8;
        if (left > 2)
            bits |= p[i + 2];
        *to++ = digits[bits >> 18];
        *to++ = digits[bits >> 12 & 63];
        *to++ = left > 1 ? digits[bits >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[bits & 63] : '=';
    }
    buf_commit(out, groups * 4);
}

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

long base64_decode(const char *text, size_t len, unsigned char *data)
{
    unsigned char *to = data;
    size_t pad = 0;
    unsigned bits = 0;

    if (len % 4)
        return -1;
    while (pad < 2 && pad < len && text[len - 1 - pad] == '=')
        pad++;
    for (size_t i = 0; i < len; i++) {
        int d = i < len - pad ? digit(text[i]) : 0;

        if (d < 0)
            return -1;
        bits = bits << 6 | (unsigned)d;
        if (i % 4 < 3)
            continue;
        *to++ = (unsigned char)(bits >> 16);
        *to++ = (unsigned char)(bits >> 8);
        *to++ = (unsigned char)bits;
        bits = 0;
    }
    for (size_t i = 1; i <= pad; i++)        /* what padding stands for is zero */
        if (to[-(long)i])
            return -1;
    return (long)(to - data) - (long)pad;
}
