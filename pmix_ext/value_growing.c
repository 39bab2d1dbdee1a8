/* value_growing.c - see value_growing.h */
#include "pmix_ext/value_growing.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A third of the time that a long array takes goes by while its pages are asked for, each when
 * it is first written to.  So they are asked for before, this many bytes at once.  Larger
 * pages would be fewer, but where the memory of a virtual machine has not been used yet they
 * take longer than all else. */
enum { AHEAD = 256 << 10 };

/* Before the element at `to` is written.  What the kernel will not do now, it does later. */
static void get_pages(const struct growing *g, const char *to)
{
    uintptr_t from = ((uintptr_t)to + g->size) & -(uintptr_t)AHEAD;

    if (from > (uintptr_t)to && from + AHEAD <= (uintptr_t)(g->at + g->room * g->size))
        madvise((void *)from, AHEAD, MADV_POPULATE_WRITE);
}

static int double_room(struct growing *g)
{
    enum { FIRST = 4 };
    size_t room = g->room ? 2 * g->room : FIRST;
    void *to = reallocarray(g->at, room, g->size);

    if (!to)
        return -1;
    g->at = to;
    g->room = room;
    return 0;
}

void *grow(struct growing *g)
{
    char *to;

    if (g->n == g->room && double_room(g) < 0)
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
