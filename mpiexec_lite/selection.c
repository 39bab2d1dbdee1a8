/* selection.c - see selection.h */
#include "mpiexec_lite/selection.h"

#include <stdlib.h>
#include <string.h>

int selection_add(struct selection *to, struct range r)
{
    if (to->n == to->cap) {
        size_t cap = to->cap ? to->cap * 2 : 16;
        struct range *v = reallocarray(to->v, cap, sizeof *v);

        if (!v)
            return -1;
        to->v = v;
        to->cap = cap;
    }
    to->v[to->n++] = r;
    return 0;
}

void selection_clear(struct selection *r)
{
    free(r->v);
    *r = (struct selection){ 0 };
}

/* --- objects ----------------------------------------------------------- */

static bool is_usable(const struct topo *t, struct range r)
{
    for (int i = r.first; i < range_end(r); i++)
        if (t->cpus[i].allowed)
            return true;
    return false;
}

/* By their beginning; of those, what holds others first. */
static int by_place(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    if (x->first != y->first)
        return (x->first > y->first) - (x->first < y->first);
    return (x->n < y->n) - (x->n > y->n);
}

/* Of objects inside each other (memory of a whole socket beside that of its halves) the
 * smaller ones count, and of equal ones (two memories of the same processors) one. */
static void keep_smallest(struct selection *r)
{
    size_t kept = 0;

    if (r->n)
        qsort(r->v, r->n, sizeof *r->v, by_place);
    for (size_t i = 0; i < r->n; i++)
        if (i + 1 == r->n || range_end(r->v[i + 1]) > range_end(r->v[i]))
            r->v[kept++] = r->v[i];
    r->n = kept;
}

/* What stands in for objects that a machine does not tell of, as some virtual ones: its
 * processors for cores, all of it for sockets.  Caches have no substitute. */
static struct mapspec substitute(const struct topo *t, const struct mapspec *s)
{
    struct mapspec x = *s;

    for (size_t i = 0; i < t->nobjects; i++)
        if (mapspec_is_object(s, &t->objects[i]) && t->objects[i].at.n)
            return x;
    if (s->level == LEVEL_CORE)
        x.level = LEVEL_HWTHREAD;
    else if (s->level == LEVEL_SOCKET || s->level == LEVEL_NUMA)
        x.level = LEVEL_MACHINE;
    return x;
}

/* 0 or -1: no memory; *exists: there are some, perhaps none that may be used. */
static int list_objects(const struct topo *t, const struct mapspec *what, struct selection *to,
                        bool *exists)
{
    struct mapspec stand_in = substitute(t, what), *s = &stand_in;

    for (size_t i = 0; i < t->nobjects; i++) {
        if (!mapspec_is_object(s, &t->objects[i]) || !t->objects[i].at.n)
            continue;
        *exists = true;
        if (is_usable(t, t->objects[i].at) && selection_add(to, t->objects[i].at) < 0)
            return -1;
    }
    keep_smallest(to);
    return 0;
}

/* --- devices ----------------------------------------------------------- */

/* The number in "gpu0"; -1: it has none, or is a name like enp3s0. */
static long number_in(const char *name)
{
    size_t letters = strcspn(name, "0123456789");
    char *end;
    long n = strtol(name + letters, &end, 10);

    return name[letters] && !*end && letters <= 3 ? n : -1;
}

static bool has_name(const struct topo *t, const struct mapspec *s)
{
    for (size_t i = 0; i < t->ndevices; i++)
        if (mapspec_is_device(s, &t->devices[i]) && !strcmp(t->devices[i].name, s->name))
            return true;
    return false;
}

/* All of a kind; or one by its name, or else by its number among them. */
static int list_devices(const struct topo *t, const struct mapspec *s, struct selection *to,
                        bool *exists)
{
    bool one = *s->name && s->device != DEVICE_PCI, named = one && has_name(t, s);
    long wanted = number_in(s->name), number = 0;

    for (size_t i = 0; i < t->ndevices; i++) {
        const struct topo_device *d = &t->devices[i];

        if (!mapspec_is_device(s, d))
            continue;
        if (one && (named ? strcmp(d->name, s->name) != 0 : number++ != wanted))
            continue;
        *exists = true;
        if (is_usable(t, d->at) && selection_add(to, d->at) < 0)
            return -1;
    }
    return 0;
}

int selection_of(const struct topo *t, const struct mapspec *s, struct selection *to,
                 struct err *e)
{
    bool exists = false;
    int rc = s->kind == SPEC_DEVICE ? list_devices(t, s, to, &exists)
                                    : list_objects(t, s, to, &exists);

    if (rc < 0)
        return err_set(e, ERR_NOMEM, "no memory for a selection of processors");
    if (to->n)
        return 0;
    return err_set(e, ERR_INVALID_VAL, exists ? "none of them may be used" : "this host has none");
}
