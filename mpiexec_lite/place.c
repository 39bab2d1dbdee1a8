/* place.c - see place.h */
#include "mpiexec_lite/place.h"

#include "mpiexec_lite/rankmap.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Runs being made. */
struct placer {
    const struct host *hosts;
    size_t      nhosts;
    struct placement *out;
    size_t      cap;         /* of out->runs */
    long       *used;        /* ranks by node; owned */
    long        round;       /* blocks without a list of their own: every node may hold */
    size_t      at;          /* round times its slots; nodes before `at` do already */
};

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory to place ranks");
}

/* Room for one more run. */
static int runs_grow(struct placement *pl, size_t *cap)
{
    size_t want = *cap ? *cap * 2 : 16;
    struct run *runs;

    if (pl->nruns < *cap)
        return 0;
    runs = reallocarray(pl->runs, want, sizeof *runs);
    if (!runs)
        return -1;
    pl->runs = runs;
    *cap = want;
    return 0;
}

/* The next n ranks are on this node. */
static int add_run(struct placement *pl, size_t *cap, int node, int n, struct err *e)
{
    struct run *last = pl->nruns ? &pl->runs[pl->nruns - 1] : NULL;

    if (n < 1 || n > INT_MAX - pl->size)
        return err_set(e, ERR_INVALID_VAL, "%d ranks after %d cannot be placed", n, pl->size);
    if (last && last->node == node) {
        last->n += n;
    } else {
        if (runs_grow(pl, cap) < 0)
            return no_memory(e);
        pl->runs[pl->nruns++] = (struct run){ .node = node, .n = n, .first = pl->size };
    }
    pl->size += n;
    return 0;
}

/* Give a node as many of *left ranks as it may hold in this round, but at most so many. */
static int fill_node(struct placer *p, size_t node, long round, int most, int *left,
                     struct err *e)
{
    long room = round * p->hosts[node].slots - p->used[node];
    int n = room < *left ? (int)room : *left;

    if (room <= 0)
        return 0;
    n = n < most ? n : most;
    p->used[node] += n;
    *left -= n;
    return add_run(p->out, &p->cap, (int)node, n, e);
}

/* Ranks of a block that may run anywhere: on from where the last such block ended. */
static int place_anywhere(struct placer *p, int left, struct err *e)
{
    while (left) {
        if (fill_node(p, p->at, p->round, INT_MAX, &left, e) < 0)
            return -1;
        if (left && ++p->at == p->nhosts) {
            p->at = 0;
            p->round++;
        }
    }
    return 0;
}

/* The nodes of a block: those of its list, or all. */
static size_t count_nodes(const struct placer *p, const struct app *a)
{
    return a->nnodes ? a->nnodes : p->nhosts;
}

static size_t node_of(const struct app *a, size_t i)
{
    return a->nnodes ? a->nodes[i] : i;
}

/* The first round in which one of the nodes has room. */
static long round_with_room(const struct placer *p, const struct app *a)
{
    long best = LONG_MAX;

    for (size_t i = 0; i < count_nodes(p, a); i++) {
        long full = p->used[node_of(a, i)] / p->hosts[node_of(a, i)].slots;

        if (full < best)
            best = full;
    }
    return best + 1;
}

/* Fill the nodes of a block; most: ranks for a node before the next one's turn. */
static int place_on_nodes(struct placer *p, const struct app *a, int most, struct err *e)
{
    int left = a->n, before;

    for (long round = round_with_room(p, a); left; round++)
        do {
            before = left;
            for (size_t i = 0; i < count_nodes(p, a) && left; i++)
                if (fill_node(p, node_of(a, i), round, most, &left, e) < 0)
                    return -1;
        } while (left && left < before);
    return 0;
}

/* By -rankmap, over and over until all ranks have a node. */
static int place_by_map(struct placer *p, const struct plan *plan, struct err *e)
{
    struct mapping_block *blocks;
    int left = plan_size(plan), rc = 0;
    size_t n;

    if (rankmap_read(plan->rankmap, plan->nhosts, &blocks, &n, e) < 0)
        return err_context(e, "-rankmap");
    for (size_t i = 0; left && rc == 0; i = (i + 1) % n)
        for (int k = 0; k < blocks[i].nodes && left && rc == 0; k++) {
            int ranks = blocks[i].ranks < left ? blocks[i].ranks : left;

            rc = add_run(p->out, &p->cap, blocks[i].first + k, ranks, e);
            left -= ranks;
        }
    free(blocks);
    return rc;
}

static int place_block(struct placer *p, const struct app *a, bool by_node, struct err *e)
{
    if (by_node)
        return place_on_nodes(p, a, 1, e);
    return a->nnodes ? place_on_nodes(p, a, INT_MAX, e) : place_anywhere(p, a->n, e);
}

/* --- numbers in another order ------------------------------------------ */

/* Give the ranks that count has by node, most for a node at a time, nodes as they come. */
static int number_ranks(struct placer *p, const struct placement *as, int *count, int most,
                        struct err *e)
{
    int left = as->size;

    while (left)
        for (size_t i = 0; i < as->nruns; i++) {
            int *here = &count[as->runs[i].node], n = *here < most ? *here : most;

            if (n && add_run(p->out, &p->cap, as->runs[i].node, n, e) < 0)
                return -1;
            *here -= n;
            left -= n;
        }
    return 0;
}

/* A node has one turn in each round: its later runs are passed over. */
static void drop_repeated(struct placement *pl, int *count)
{
    size_t kept = 0;

    for (size_t i = 0; i < pl->nruns; i++) {
        int *n = &count[pl->runs[i].node];

        if (!*n)
            pl->runs[kept++] = pl->runs[i];
        *n += pl->runs[i].n;
    }
    pl->nruns = kept;
}

/* Place a block by itself, and then give its ranks their numbers. */
static int place_and_number(struct placer *p, const struct app *a, const struct plan *plan,
                            struct err *e)
{
    struct placement *out = p->out, alone = { 0 };
    size_t cap = p->cap;
    int *count = calloc(p->nhosts, sizeof *count), rc;

    p->out = &alone;
    p->cap = 0;
    rc = count ? place_block(p, a, plan->by_node, e) : no_memory(e);
    p->out = out;
    p->cap = cap;
    if (rc == 0) {
        drop_repeated(&alone, count);
        rc = number_ranks(p, &alone, count,
                          plan->numbering == NUMBER_ACROSS_NODES ? 1 : INT_MAX, e);
    }
    free(count);
    placement_clear(&alone);
    return rc;
}

static int place_blocks(struct placer *p, const struct plan *plan, struct err *e)
{
    if (plan->rankmap)
        return place_by_map(p, plan, e);
    for (size_t i = 0; i < plan->napps; i++) {
        const struct app *a = &plan->apps[i];
        int rc = plan->numbering == NUMBER_AS_PLACED ? place_block(p, a, plan->by_node, e)
                                                     : place_and_number(p, a, plan, e);

        if (rc < 0)
            return -1;
    }
    return 0;
}

/* --- the map ----------------------------------------------------------- */

/* Neighbouring runs of equal length on nodes with consecutive numbers share a block
 * of the map.  number: of each node in the map and 1 more, 0: none yet; there is room. */
static void fill_map(struct placement *pl, int *number)
{
    struct mapping_block *b = NULL;
    int numbers = 0;

    for (size_t i = 0; i < pl->nruns; i++) {
        const struct run *r = &pl->runs[i];
        int node;

        if (!number[r->node])
            number[r->node] = ++numbers;
        node = number[r->node] - 1;
        if (b && r->n == b->ranks && node == b->first + b->nodes) {
            b->nodes++;
        } else {
            b = &pl->map[pl->nmap++];
            *b = (struct mapping_block){ .first = node, .nodes = 1, .ranks = r->n };
        }
    }
}

static int make_map(struct placement *pl, struct err *e)
{
    bool good;
    int *number, last = 0;

    for (size_t i = 0; i < pl->nruns; i++)
        last = pl->runs[i].node > last ? pl->runs[i].node : last;
    number = calloc((size_t)last + 1, sizeof *number);
    pl->map = calloc(pl->nruns + 1, sizeof *pl->map);
    good = number && pl->map;
    if (good)
        fill_map(pl, number);
    free(number);
    return good ? 0 : no_memory(e);
}

int place_ranks(const struct plan *plan, const long *used, struct placement *out,
                struct err *e)
{
    struct placer p = { .hosts = plan->hosts, .nhosts = plan->nhosts, .out = out,
                        .round = 1 };
    int rc;

    *out = (struct placement){ 0 };
    p.used = calloc(plan->nhosts, sizeof *p.used);
    if (p.used && used)
        memcpy(p.used, used, plan->nhosts * sizeof *used);
    rc = p.used ? place_blocks(&p, plan, e) : no_memory(e);
    free(p.used);
    if (rc == 0)
        rc = make_map(out, e);
    if (rc < 0)
        placement_clear(out);
    return rc;
}

int place_runs(const struct run *runs, size_t n, struct placement *out, struct err *e)
{
    size_t cap = 0;
    int rc = 0;

    *out = (struct placement){ 0 };
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = add_run(out, &cap, runs[i].node, runs[i].n, e);
    if (rc == 0)
        rc = make_map(out, e);
    if (rc < 0)
        placement_clear(out);
    return rc;
}

void placement_clear(struct placement *pl)
{
    free(pl->runs);
    free(pl->map);
    *pl = (struct placement){ 0 };
}

int placement_node(const struct placement *pl, int rank)
{
    size_t low = 0, high = pl->nruns;        /* the run is in low .. high - 1 */

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (rank < pl->runs[middle].first)
            high = middle;
        else
            low = middle;
    }
    return pl->runs[low].node;
}

/* How many ranks a node has. */
static int count_ranks(const struct placement *pl, int node)
{
    int n = 0;

    for (size_t i = 0; i < pl->nruns; i++)
        if (pl->runs[i].node == node)
            n += pl->runs[i].n;
    return n;
}

int place_check(const struct plan *p, const struct placement *pl, struct err *e)
{
    int *count = calloc(p->nhosts, sizeof *count), rc = 0;

    if (!count)
        return no_memory(e);
    for (size_t i = 0; i < pl->nruns; i++)
        count[pl->runs[i].node] += pl->runs[i].n;
    for (size_t i = 0; i < p->nhosts && rc == 0; i++)
        if (count[i] > p->hosts[i].slots)
            rc = err_set(e, ERR_INVALID_ARG, "%.80s would have %d processes and has %d slots; "
                         "--oversubscribe allows that", p->hosts[i].name, count[i],
                         p->hosts[i].slots);
    free(count);
    return rc;
}

int placement_ranks(const struct placement *pl, int node, int **ranks)
{
    int n = count_ranks(pl, node), *to;

    *ranks = NULL;
    if (!n)
        return 0;
    to = *ranks = calloc((size_t)n, sizeof *to);
    if (!to)
        return -1;
    for (size_t i = 0; i < pl->nruns; i++)
        for (int k = 0; pl->runs[i].node == node && k < pl->runs[i].n; k++)
            *to++ = pl->runs[i].first + k;
    return n;
}
