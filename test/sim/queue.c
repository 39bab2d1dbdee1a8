/* queue.c - events in order of virtual time; those of one moment in order of arrival. */
#include "test/sim/sim.h"

#include <stdlib.h>

static bool before(const struct event *a, const struct event *b)
{
    return a->at < b->at || (a->at == b->at && a->seq < b->seq);
}

static void grow(struct sim *s)
{
    s->heap_cap = s->heap_cap ? s->heap_cap * 2 : 1024;
    s->heap = realloc(s->heap, s->heap_cap * sizeof *s->heap);
    if (!s->heap)
        abort();
}

void queue_add(struct sim *s, double at, enum event_kind kind, int who, long arg)
{
    struct event e = { at, ++s->seq, kind, who, arg };
    size_t i;

    if (s->nheap == s->heap_cap)
        grow(s);
    s->idle += kind == EV_LEASE;
    for (i = s->nheap++; i && before(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = e;
}

bool queue_take(struct sim *s, struct event *out)
{
    struct event e;
    size_t i = 0;

    if (!s->nheap)
        return false;
    *out = s->heap[0];
    s->idle -= out->kind == EV_LEASE;
    e = s->heap[--s->nheap];
    for (;;) {
        size_t c = 2 * i + 1;

        if (c >= s->nheap)
            break;
        if (c + 1 < s->nheap && before(&s->heap[c + 1], &s->heap[c]))
            c++;
        if (!before(&s->heap[c], &e))
            break;
        s->heap[i] = s->heap[c];
        i = c;
    }
    s->heap[i] = e;
    return true;
}
