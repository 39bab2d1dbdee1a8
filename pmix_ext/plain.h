/* plain.h - what most JSON text is, eight bytes at a time: plain runs of strings, short numbers.
 *
 * A process table is made of these, so what ends one is found in its eight bytes without a
 * loop, and so is what its digits say. */
#ifndef PMIX_EXT_PLAIN_H
#define PMIX_EXT_PLAIN_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PLAIN_EACH 0x0101010101010101u   /* this, in each of eight bytes */

/* Eight bytes, the first of them lowest. */
static inline uint64_t plain_eight(const char *p)
{
    uint64_t eight;

    return memcpy(&eight, p, 8), le64toh(eight);
}

/* The top bits of those of eight bytes that are below `limit`, at most 128.  The lowest is
 * exact; those above one that is set may be wrong. */
static inline uint64_t plain_below(uint64_t eight, unsigned char limit)
{
    return (eight - limit * PLAIN_EACH) & ~eight & 0x80 * PLAIN_EACH;
}

/* Likewise of those that cannot stand in a JSON string as they are. */
static inline uint64_t plain_ends(uint64_t eight)
{
    return plain_below(eight, ' ') | plain_below(eight ^ '"' * PLAIN_EACH, 1) |
           plain_below(eight ^ '\\' * PLAIN_EACH, 1);
}

/* The first byte from p on that cannot stand in a JSON string as it is: a quote, a backslash
 * or a control character; or end.  *seen: also bits of those before it. */
static inline const char *plain_end(const char *p, const char *end, uint64_t *seen)
{
    uint64_t bits = 0, eight, ends;

    for (; end - p >= 8; p += 8) {
        eight = plain_eight(p);
        ends = plain_ends(eight);
        if (ends) {
            ends &= -ends;               /* the lowest */
            *seen |= bits | (eight & ((ends >> 7) - 1));
            return p + __builtin_ctzll(ends) / 8;
        }
        bits |= eight;
    }
    for (; p < end; p++) {
        unsigned char c = (unsigned char)*p;

        if (c < ' ' || c == '"' || c == '\\')
            break;
        bits |= c;
    }
    *seen |= bits;
    return p;
}

typedef signed char plain_chars __attribute__((vector_size(16)));
typedef uint64_t plain_words __attribute__((vector_size(16)));

/* The first byte from p on that is not plain, or not ASCII, which as a char is negative; or
 * end.  Sixteen bytes at a time. */
static inline const char *plain_ascii_end(const char *p, const char *end)
{
    plain_chars c;
    plain_words ends;

    for (; end - p >= 16; p += 16) {
        memcpy(&c, p, 16);
        ends = (plain_words)((c < ' ') | (c == '"') | (c == '\\'));
        if (ends[0])
            return p + __builtin_ctzll(le64toh(ends[0])) / 8;
        if (ends[1])
            return p + 8 + __builtin_ctzll(le64toh(ends[1])) / 8;
    }
    while (p < end && (signed char)*p >= ' ' && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* Of what plain_end has seen: is it ASCII? */
static inline bool plain_is_ascii(uint64_t seen)
{
    return !(seen & 0x80 * PLAIN_EACH);
}

enum { PLAIN_TEXT = 32 };                /* bytes that plain_same compares at most */

/* Are n bytes the same, 1 to PLAIN_TEXT?  Of both, eight can be read at least. */
static inline bool plain_same(const char *a, const char *b, size_t n)
{
    uint64_t differ = plain_eight(a) ^ plain_eight(b);

    if (n < 8)
        return !(differ << (64 - 8 * n));
    if (n > 16)
        differ |= (plain_eight(a + 8) ^ plain_eight(b + 8)) |
                  (plain_eight(a + n - 16) ^ plain_eight(b + n - 16));
    return !(differ | (plain_eight(a + n - 8) ^ plain_eight(b + n - 8)));
}

enum { PLAIN_DIGITS = 7 };               /* a number of so many can be read at once */

/* Of the eight bytes at p: how many are digits before the first that is none, and if these
 * are at most PLAIN_DIGITS, the number that they say. */
static inline unsigned plain_number(const char *p, uint64_t *number)
{
    const uint64_t pair = 0xff000000ff;  /* the lower byte of either half */
    uint64_t eight = plain_eight(p) ^ '0' * PLAIN_EACH, others;      /* digits are 0 to 9 now */
    unsigned digits;

    others = (((eight & 0x7f * PLAIN_EACH) + 0x76 * PLAIN_EACH) | eight) & 0x80 * PLAIN_EACH;
    if (!others)
        return PLAIN_DIGITS + 1;
    digits = (unsigned)__builtin_ctzll(others) / 8;
    eight = digits ? eight << (64 - 8 * digits) : 0;     /* as if zeros were before them */
    eight = eight * 10 + (eight >> 8);                   /* two digits in every other byte */
    *number = ((eight & pair) * (100 + (1000000ull << 32)) +
               ((eight >> 16) & pair) * (1 + (10000ull << 32))) >> 32;
    return digits;
}

/* Copy fewer than eight bytes; returns them, and blanks. */
static inline uint64_t plain_copy_few(char *to, const char *text, size_t n)
{
    uint64_t blanks = ' ' * PLAIN_EACH;
    uint32_t first, last;

    if (n >= 4) {
        memcpy(&first, text, 4);
        memcpy(&last, text + n - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + n - 4, &last, 4);
        return first | (uint64_t)last << 32;
    }
    if (n) {                             /* some of three may be the same */
        blanks = blanks << 24 | (unsigned char)text[0] << 16 | (unsigned char)text[n / 2] << 8 |
                 (unsigned char)text[n - 1];
        to[n / 2] = text[n / 2];
        to[n - 1] = text[n - 1];
        to[0] = text[0];
    }
    return blanks;
}

/* Copy n bytes of text.  False: not all of them are plain, and ASCII. */
static inline bool plain_copy(char *to, const char *text, size_t n)
{
    uint64_t eight, wrong = 0;

    for (; n >= 8; n -= 8, to += 8, text += 8) {
        memcpy(&eight, text, 8);
        memcpy(to, &eight, 8);
        wrong |= eight | plain_ends(eight);
    }
    eight = plain_copy_few(to, text, n);
    wrong |= eight | plain_ends(eight);
    return !(wrong & 0x80 * PLAIN_EACH);
}

/* The eight digits of a number below 10^8, the first of them lowest: 0 to 9 each. */
static inline uint64_t plain_digits(uint64_t n)
{
    uint64_t fours = n / 10000 | (n % 10000) << 32;              /* two of four digits */
    uint64_t high = (fours * 10486 >> 20) & 0x7f0000007f;        /* the first two of each */
    uint64_t twos = high | (fours - 100 * high) << 16;           /* four of two digits */
    uint64_t tens = (twos * 103 >> 10) & 0xf000f000f000f;

    return tens | (twos - 10 * tens) << 8;
}

enum { PLAIN_NUMBER = 24 };              /* room for plain_write: 20 digits, and some more */

/* Write the digits of a number.  How many there are. */
static inline size_t plain_write(char *to, uint64_t n)
{
    const uint64_t limit = 100000000;    /* of what is written in one go */
    size_t before = 0, zeros = 0;
    uint64_t digits;

    if (n >= limit) {
        before = plain_write(to, n / limit);
        digits = plain_digits(n % limit);
    } else {
        digits = plain_digits(n);
        zeros = (size_t)__builtin_ctzll(digits | 1ull << 56) / 8;
    }
    digits = htole64((digits + '0' * PLAIN_EACH) >> 8 * zeros);
    memcpy(to + before, &digits, 8);
    return before + 8 - zeros;
}

#endif
