/* spawned_map.c - see spawned_map.h */
#include "mpiexec_lite/spawned_map.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* --- what is said ------------------------------------------------------ */

/* "ppr:N:node" */
static int read_ppr(struct app *a, const char *text, struct err *e)
{
    char number[10] = "";
    size_t digits = strspn(text + 4, "0123456789");
    long long n;

    if (!digits || digits >= sizeof number || strcmp(text + 4 + digits, ":node"))
        return err_set(e, ERR_INVALID_VAL, "map: ppr:N:node wanted, not '%.40s'", text);
    memcpy(number, text + 4, digits);
    if (pair_int(&(struct pair){ "map", number, digits }, 1, PLAN_RANKS_MAX, &n, e) < 0)
        return -1;
    a->per_node = (int)n;
    a->exact = true;
    return 0;
}

static int read_map(struct app *a, const char *text, struct err *e)
{
    if (!strcmp(text, "slot"))
        return 0;
    if (!strncmp(text, "ppr:", 4))
        return read_ppr(a, text, e);
    if (strcmp(text, "node"))
        return err_set(e, ERR_INVALID_VAL, "map: slot, node or ppr:N:node wanted, not '%.40s'",
                       text);
    a->per_node = 1;
    a->by_node = true;
    return 0;
}

static int read_rank(struct app *a, const char *text, struct err *e)
{
    a->by_node = !strcmp(text, "node");
    if (!a->by_node && strcmp(text, "slot"))
        return err_set(e, ERR_INVALID_VAL, "rank: slot or node wanted, not '%.40s'", text);
    if (a->by_node && !a->per_node)
        return err_set(e, ERR_INVALID_VAL, "rank: node needs a map by node");
    return 0;
}

int spawned_map_read(struct app *a, const struct spawned_info *info, struct err *e)
{
    const char *map = spawned_says(info, SPAWNED_MAP), *rank = spawned_says(info, SPAWNED_RANK);

    if (map && read_map(a, map, e) < 0)
        return spawned_info_wrong(info, SPAWNED_MAP, e);
    if (rank && read_rank(a, rank, e) < 0)
        return spawned_info_wrong(info, SPAWNED_RANK, e);
    return 0;
}

/* --- what becomes of it ------------------------------------------------ */

struct runs { struct run *v; size_t n, cap; };       /* owned */

static int add_run(struct runs *r, int node, int n, struct err *e)
{
    size_t cap = r->cap ? 2 * r->cap : 16;
    struct run *v = r->n < r->cap ? r->v : reallocarray(r->v, cap, sizeof *v);

    if (!v)
        return err_set(e, ERR_NOMEM, "no memory to place ranks");
    r->cap = r->n < r->cap ? r->cap : cap;
    r->v = v;
    v[r->n++] = (struct run){ .node = node, .n = n };
    return 0;
}

/* Ranks that the i-th of n nodes gets, which have per_node each in their turn. */
static int share(const struct app *a, size_t i, size_t n)
{
    long long turn = (long long)a->per_node * (long long)n;
    long long rest = a->n % turn - (long long)i * a->per_node;

    return (int)(a->n / turn * a->per_node +
                 (rest < 0 ? 0 : rest < a->per_node ? rest : a->per_node));
}

static int spread(const struct app *a, const struct plan *p, struct runs *to, struct err *e)
{
    size_t nodes = a->nnodes ? a->nnodes : p->nhosts;
    int left = a->n, most = a->by_node ? 1 : INT_MAX;

    if (a->exact && a->n > (long long)a->per_node * (long long)nodes)
        return err_set(e, ERR_INVALID_VAL, "%d processes of %.60s do not fit: %d on each of %zu "
                       "hosts", a->n, a->argv.v[0], a->per_node, nodes);
    for (int given = 0; left; given++)           /* how many each has so far, by node */
        for (size_t i = 0; i < nodes && left; i++) {
            int has = share(a, i, nodes), n = has - given < most ? has - given : most;

            if (n < 1)
                continue;
            if (add_run(to, (int)(a->nnodes ? a->nodes[i] : i), n, e) < 0)
                return -1;
            left -= n;
        }
    return 0;
}

/* One that says nothing fills slots, as if the others were there already. */
static int fill(struct app *a, const struct plan *p, const long *used, struct runs *to,
                struct err *e)
{
    struct plan one = *p;
    struct placement pl;
    int rc;

    one.apps = a;
    one.napps = 1;
    rc = place_ranks(&one, used, &pl, e);
    for (size_t i = 0; rc == 0 && i < pl.nruns; i++)
        rc = add_run(to, pl.runs[i].node, pl.runs[i].n, e);
    placement_clear(&pl);
    return rc;
}

static int place_app(struct app *a, const struct plan *p, long *used, struct runs *all,
                     struct err *e)
{
    size_t before = all->n;
    int rc = a->per_node ? spread(a, p, all, e) : fill(a, p, used, all, e);

    for (size_t i = before; i < all->n; i++)
        used[all->v[i].node] += all->v[i].n;
    return rc;
}

static bool says_how(const struct plan *p)
{
    for (size_t i = 0; i < p->napps; i++)
        if (p->apps[i].per_node)
            return true;
    return false;
}

int spawned_map_place(const struct plan *p, const long *used, struct placement *out,
                      struct err *e)
{
    struct runs all = { 0 };
    long *now;
    int rc = 0;

    if (!says_how(p))
        return place_ranks(p, used, out, e);
    now = calloc(p->nhosts, sizeof *now);
    if (!now)
        return err_set(e, ERR_NOMEM, "no memory to place ranks");
    if (used)
        memcpy(now, used, p->nhosts * sizeof *now);
    for (size_t i = 0; i < p->napps && rc == 0; i++)
        rc = place_app(&p->apps[i], p, now, &all, e);
    if (rc == 0)
        rc = place_runs(all.v, all.n, out, e);
    free(now);
    free(all.v);
    return rc;
}
