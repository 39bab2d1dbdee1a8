/* tail.c - see tail.h */
#include "mpiexec_lite/tail.h"

#include <stdlib.h>
#include <string.h>

void tail_clear(struct tail *t)
{
    free(t->ring);
    *t = (struct tail){ NULL, 0 };
}

void tail_add(struct tail *t, const char *data, size_t len)
{
    size_t skip = len > TAIL_SIZE ? len - TAIL_SIZE : 0, at, first;

    if (!len || (!t->ring && !(t->ring = malloc(TAIL_SIZE))))
        return;
    t->total += skip;
    at = t->total % TAIL_SIZE;
    len -= skip;
    first = len < TAIL_SIZE - at ? len : TAIL_SIZE - at;
    memcpy(t->ring + at, data + skip, first);
    memcpy(t->ring, data + skip + first, len - first);
    t->total += len;
}

/* The byte that stands n before the end, 1: the last. */
static char from_end(const struct tail *t, size_t n)
{
    return t->ring[(t->total - n) % TAIL_SIZE];
}

/* How many bytes the last lines have; a line that has lost its beginning is one only if
 * there is no other. */
static size_t lines_length(const struct tail *t)
{
    size_t have = t->total < TAIL_SIZE ? t->total : TAIL_SIZE, n = 1, whole = 0;

    for (int lines = 0; n < have; n++)
        if (from_end(t, n + 1) == '\n') {
            whole = n;
            if (++lines == TAIL_LINES)
                return whole;
        }
    return t->total <= TAIL_SIZE || !whole ? have : whole;
}

void tail_text(const struct tail *t, struct buf *out)
{
    if (!t->total)
        return;
    for (size_t n = lines_length(t); n; n--)
        buf_char(out, from_end(t, n));
}
