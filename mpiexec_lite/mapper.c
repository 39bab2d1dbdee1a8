/* mapper.c - see mapper.h */
#include "mpiexec_lite/mapper.h"

#include "mpiexec_lite/selection.h"

#include <stdlib.h>
#include <string.h>

struct unit {                /* a place that can be given */
    struct cpus set;
    int  first;              /* where it begins in the hardware */
    int  kind;               /* of its fastest processor */
    bool busy;
};

struct units {
    struct unit *v;          /* owned */
    size_t n, cap;
};

/* What is being decided. */
struct work {
    const struct topo *topo;
    const struct map_request *q;
    struct err   *e;
    struct cpus   allowed;
    struct selection objects;    /* what is to be bound to, in the order of the hardware */
    struct selection domains;    /* what map names */
    struct units  units;     /* in the order of the hardware, domain by domain */
    size_t       *start;     /* owned; of each domain's units, and one more */
    struct units  order;     /* in the order in which they are given */
    size_t        fewer;     /* as in struct seats */
};

static bool no_memory(struct work *w)
{
    err_set(w->e, ERR_NOMEM, "no memory for sets of processors");
    return false;
}

static bool add_unit(struct work *w, struct units *to, const struct unit *u)
{
    if (to->n == to->cap) {
        size_t cap = to->cap ? to->cap * 2 : 16;
        struct unit *v = reallocarray(to->v, cap, sizeof *v);

        if (!v)
            return no_memory(w);
        to->v = v;
        to->cap = cap;
    }
    to->v[to->n++] = *u;
    return true;
}

/* --- places ------------------------------------------------------------ */

static bool not_usable(struct work *w)
{
    err_set(w->e, ERR_INVALID_VAL, "none of them may be used");
    return false;
}

static bool make_unit(struct work *w, struct unit *u, const struct cpus *set)
{
    u->set = *set;
    cpus_keep(&u->set, &w->allowed);
    u->busy = w->q->busy && cpus_meet(&u->set, w->q->busy);
    return cpus_count(&u->set) > 0;
}

/* Objects a to b - 1 as one place. */
static bool add_group(struct work *w, size_t a, size_t b)
{
    struct unit u = { .first = w->objects.v[a].first };
    struct cpus set = { 0 }, part;

    for (; a < b; a++) {
        struct range r = w->objects.v[a];

        topo_cpus_of(w->topo, r, &part);
        cpus_join(&set, &part);
        for (int i = r.first; i < range_end(r); i++)
            if (w->topo->cpus[i].allowed && w->topo->cpus[i].kind > u.kind)
                u.kind = w->topo->cpus[i].kind;
    }
    make_unit(w, &u, &set);
    return add_unit(w, &w->units, &u);
}

/* --- places, domain by domain ------------------------------------------ */

static bool list_domains(struct work *w)
{
    const struct mapspec *map = w->q->map;
    struct range all = { 0, (int)w->topo->ncpus };
    size_t n = 0, k;

    if (!map || map->kind != SPEC_OBJECT)
        return selection_add(&w->domains, all) == 0 || no_memory(w);
    if (selection_of(w->topo, map, &w->domains, w->e) < 0) {
        err_context(w->e, "-map-by");
        return false;
    }
    k = (size_t)map->count;
    for (size_t i = 0; i < w->domains.n; i += k) {       /* k of them are one */
        size_t last = i + k <= w->domains.n ? i + k - 1 : w->domains.n - 1;
        int first = w->domains.v[i].first;

        w->domains.v[n++] = (struct range){ first, range_end(w->domains.v[last]) - first };
    }
    w->domains.n = n;
    return true;
}

/* The first object that does not begin before. */
static size_t object_from(const struct work *w, int first)
{
    size_t low = 0, high = w->objects.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (w->objects.v[middle].first < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Groups of k objects that begin in the domain; if one object is larger than the domain,
 * the group that the domain is in. */
static bool fill_domain(struct work *w, struct range d, size_t k)
{
    size_t a = object_from(w, d.first), b = object_from(w, range_end(d));
    bool before = a && range_end(w->objects.v[a - 1]) > d.first;

    if (before || (a < b && range_end(w->objects.v[b - 1]) > range_end(d))) {
        a = (before ? a - 1 : a) / k * k;
        return a + k > w->objects.n || add_group(w, a, a + k);
    }
    for (; a + k <= b; a += k)
        if (!add_group(w, a, a + k))
            return false;
    return true;
}

static bool fill_domains(struct work *w)
{
    size_t k = (size_t)w->q->bind->count;

    w->start = calloc(w->domains.n + 1, sizeof *w->start);
    if (!w->start)
        return no_memory(w);
    for (size_t d = 0; d < w->domains.n; d++) {
        w->start[d] = w->units.n;
        if (!fill_domain(w, w->domains.v[d], k))
            return false;
    }
    w->start[w->domains.n] = w->units.n;
    return true;
}

/* No domain has as many as belong together: then over all of it; or there are fewer. */
static bool fill_all(struct work *w)
{
    size_t k = (size_t)w->q->bind->count;

    if (w->units.n)
        return true;
    if (k > w->objects.n)
        w->fewer = k = w->objects.n;
    w->domains.n = 1;
    for (size_t a = 0; a + k <= w->objects.n; a += k)
        if (!add_group(w, a, a + k))
            return false;
    w->start[0] = 0;
    w->start[1] = w->units.n;
    return true;
}

/* --- the order in which places are given ------------------------------- */

/* Of a domain, its share of a round: `each` places, again and again the same ones if it
 * has fewer. */
static bool give(struct work *w, size_t domain, size_t round, size_t each)
{
    size_t start = w->start[domain], n = w->start[domain + 1] - start;

    for (size_t j = round * each; n && j < (round + 1) * each; j++)
        if ((j < n || !round) && !add_unit(w, &w->order, &w->units.v[start + j % n]))
            return false;
    return true;
}

static bool give_rounds(struct work *w)
{
    size_t each = w->q->each ? (size_t)w->q->each : 1, before;

    for (size_t round = 0;; round++) {
        before = w->order.n;
        for (size_t d = 0; d < w->domains.n; d++)
            if (!give(w, d, round, each))
                return false;
        if (w->order.n == before)
            return true;
    }
}

/* Move those that are so to the front, otherwise in the order that they have. */
static bool prefer(struct work *w, bool busy)
{
    for (size_t i = 0; i < w->order.n; i++)
        if (w->order.v[i].busy == busy && !add_unit(w, &w->units, &w->order.v[i]))
            return false;
    return true;
}

static bool give_free_first(struct work *w)
{
    struct units given = w->order;

    w->units.n = 0;
    if (!prefer(w, false) || !prefer(w, true))
        return false;
    w->order = w->units;
    w->units = given;
    return true;
}

/* Free ones, then fast ones, then in the order of the hardware. */
static int by_worth(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;

    if (x->busy != y->busy)
        return x->busy - y->busy;
    if (x->kind != y->kind)
        return (x->kind < y->kind) - (x->kind > y->kind);
    return (x->first > y->first) - (x->first < y->first);
}

static void sort_domains(struct work *w)
{
    for (size_t d = 0; d < w->domains.n; d++)
        if (w->start[d + 1] > w->start[d])
            qsort(&w->units.v[w->start[d]], w->start[d + 1] - w->start[d], sizeof *w->units.v,
                  by_worth);
}

static int by_first(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

static bool order_objects(struct work *w)
{
    if (!fill_domains(w) || !fill_all(w))
        return false;
    sort_domains(w);
    return give_rounds(w) && (w->q->each || give_free_first(w));
}

/* --- what is no object ------------------------------------------------- */

static bool add_set(struct work *w, const struct cpus *set, int first)
{
    struct unit u = { .first = first };

    return !make_unit(w, &u, set) || add_unit(w, &w->order, &u);
}

static bool list_user(struct work *w)
{
    const char *list = w->q->bind->list;
    struct cpus set;
    int n = 0;

    while (mapspec_next_set(&list, &set))
        if (!add_set(w, &set, n++))
            return false;
    return w->order.n || not_usable(w);
}

static bool list_round_robin(struct work *w)
{
    for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
        struct cpus one = { 0 };

        if (!cpus_has(&w->allowed, cpu))
            continue;
        cpus_add(&one, cpu);
        if (!add_set(w, &one, cpu))
            return false;
    }
    w->units.n = 0;
    return (w->order.n || not_usable(w)) && give_free_first(w);
}

/* Near k devices, in their order; those at the end may be fewer. */
static bool order_devices(struct work *w)
{
    size_t k = (size_t)w->q->bind->count;

    for (size_t a = 0; a < w->objects.n; a += k)
        if (!add_group(w, a, a + k < w->objects.n ? a + k : w->objects.n))
            return false;
    for (size_t i = 0; i < w->units.n; i++)
        if (!add_unit(w, &w->order, &w->units.v[i]))
            return false;
    return true;
}

/* --- all of it --------------------------------------------------------- */

static bool decide(struct work *w)
{
    switch (w->q->bind->kind) {
    case SPEC_USER:   return list_user(w);
    case SPEC_RR:     return list_round_robin(w);
    default:          break;
    }
    if (selection_of(w->topo, w->q->bind, &w->objects, w->e) < 0)
        return false;
    if (w->q->bind->kind == SPEC_DEVICE)
        return order_devices(w);
    return list_domains(w) && order_objects(w);
}

static bool fill_seats(struct work *w, struct seats *s)
{
    struct cpus all = { 0 };
    size_t n = w->order.n < (size_t)w->q->n ? w->order.n : (size_t)w->q->n;

    if (w->q->in_order)
        qsort(w->order.v, n, sizeof *w->order.v, by_first);
    s->sets = calloc(n, sizeof *s->sets);
    if (!s->sets)
        return no_memory(w);
    s->n = n;
    s->fewer = w->fewer;
    for (size_t i = 0; i < n; i++) {
        s->sets[i] = w->order.v[i].set;
        cpus_join(&all, &s->sets[i]);
    }
    s->crowded = w->q->n > cpus_count(&all);
    return true;
}

int mapper_seats(const struct topo *t, const struct map_request *q, struct seats *s,
                 struct err *e)
{
    struct work w = { .topo = t, .q = q, .e = e };
    bool ok;

    *s = (struct seats){ 0 };
    topo_allowed(t, &w.allowed);
    ok = decide(&w) && fill_seats(&w, s);
    selection_clear(&w.objects);
    selection_clear(&w.domains);
    free(w.units.v);
    free(w.order.v);
    free(w.start);
    return ok ? 0 : -1;
}

void seats_clear(struct seats *s)
{
    free(s->sets);
    *s = (struct seats){ 0 };
}

const struct cpus *seat_of(const struct seats *s, int process)
{
    return s->n ? &s->sets[(size_t)process % s->n] : NULL;
}
