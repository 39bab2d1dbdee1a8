/* plain.h - where the plain run of a JSON string ends.
 *
 * Most text of a process table is such runs, so they are looked through eight bytes at a
 * time; whatever is found is then looked at byte by byte. */
#ifndef PMIX_EXT_PLAIN_H
#define PMIX_EXT_PLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Has one of eight bytes this value, or is it below `limit`?  Exact, but for bytes over 127,
 * which may make it true with no reason. */
static inline bool plain_any(uint64_t eight, uint64_t limit)
{
    return (eight - limit * 0x0101010101010101) & 0x8080808080808080;
}

static inline bool plain_has(uint64_t eight, unsigned char c)
{
    return plain_any(eight ^ c * 0x0101010101010101, 1);
}

/* The first byte from p on that cannot stand in a JSON string as it is: a quote, a backslash
 * or a control character; or end.  *seen: also bits of those before it. */
static inline const char *plain_end(const char *p, const char *end, uint64_t *seen)
{
    uint64_t bits = 0, eight;

    for (; end - p >= 8; p += 8) {
        memcpy(&eight, p, 8);
        if (plain_any(eight, ' ') || plain_has(eight, '"') || plain_has(eight, '\\'))
            break;
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
    return !(seen & 0x8080808080808080);
}

#endif
