/* value_growing.c - see value_growing.h */
#include "pmix_ext/value_growing.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Most of the time that a long array takes goes by while its pages are asked for, each when it
 * is first written to.  Large pages are five times as quick; where the kernel has none to
 * give, others are asked for before they are needed, AHEAD bytes at once.  An array that
 * is to be in large pages must not be moved, for then the kernel splits them: so one that
 * fills the first of them gets room for as many rows as any job has.  What is not written to
 * is no memory. */
enum { LARGE = 2 << 20, AHEAD = 256 << 10, ROOMY = 160 << 20 };

static uintptr_t round_up(uintptr_t n, uintptr_t to)
{
    return (n + to - 1) & -to;
}

/* Before the element at `to` is written.  What the kernel will not do now, it does later. */
static void get_pages(const struct growing *g, const char *to)
{
    uintptr_t from = ((uintptr_t)to + g->size) & -(uintptr_t)AHEAD;

    if (from > (uintptr_t)to && from + AHEAD <= (uintptr_t)(g->at + g->room * g->size))
        madvise((void *)from, AHEAD, MADV_POPULATE_WRITE);
}

static void want_large_pages(const struct growing *g)
{
    uintptr_t from = round_up((uintptr_t)g->at, LARGE), end = (uintptr_t)g->at + g->room * g->size;

    if (from + LARGE <= end)
        madvise((void *)from, (end - from) & -(uintptr_t)LARGE, MADV_HUGEPAGE);
}

static int set_room(struct growing *g, size_t room)
{
    void *to = reallocarray(g->at, room, g->size);

    if (!to)
        return -1;
    g->at = to;
    g->room = room;
    return 0;
}

static int more_room(struct growing *g)
{
    enum { FIRST = 4 };
    size_t bytes = g->room * g->size;

    if (bytes >= LARGE && bytes < ROOMY / 2 && set_room(g, ROOMY / g->size) == 0) {
        want_large_pages(g);
        return 0;
    }
    return set_room(g, g->room ? 2 * g->room : FIRST);
}

void *grow(struct growing *g)
{
    char *to;

    if (g->n == g->room && more_room(g) < 0)
        return NULL;
    to = g->at + g->n++ * g->size;
    get_pages(g, to);
    return memset(to, 0, g->size);
}

void *grown(const struct growing *g)
{
    void *exact = g->n < g->room ? reallocarray(g->at, g->n, g->size) : NULL;

    return exact ? exact : g->at;
}
