/* plain.h - where the plain run of a JSON string ends.
 *
 * Most text of a process table is such runs, so they are looked through eight bytes at a
 * time, and what ends one is found in its eight without a loop. */
#ifndef PMIX_EXT_PLAIN_H
#define PMIX_EXT_PLAIN_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PLAIN_EACH 0x0101010101010101u   /* this, in each of eight bytes */

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
        memcpy(&eight, p, 8);
        eight = le64toh(eight);
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

/* Of what plain_end has seen: is it ASCII? */
static inline bool plain_is_ascii(uint64_t seen)
{
    return !(seen & 0x80 * PLAIN_EACH);
}

#endif
