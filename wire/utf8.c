/* utf8.c - see utf8.h.  Nearly all PMI text is ASCII, so only what is not is
 * given to the library, one code point at a time. */
#include "wire/utf8.h"

#include <string.h>
#include <utf8proc.h>

bool utf8_valid(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned char seen = 0;

    for (size_t i = 0; i < n; i++)
        seen |= s[i];
    if (seen < 0x80)
        return true;
    while (n) {
        utf8proc_int32_t point;
        utf8proc_ssize_t took = utf8proc_iterate(s, (utf8proc_ssize_t)n, &point);

        if (took <= 0)
            return false;
        s += took;
        n -= (size_t)took;
    }
    return true;
}
