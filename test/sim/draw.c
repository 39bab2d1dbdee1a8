/* draw.c - from a seed to a job: nodes, ranks, collective calls, faults; and what a
 * rank does between two collective calls. */
#include "test/sim/sim.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* --- where ranks are --------------------------------------------------- */

enum layout { BLOCKS, ROUND_ROBIN, SCATTERED, LAYOUTS };

static int node_for(struct sim *s, enum layout l, struct rng *g, int rank)
{
    if (l == BLOCKS)
        return (int)((long long)rank * s->nnodes / s->nranks);
    return l == ROUND_ROBIN ? rank % s->nnodes : draw(g, s->nnodes);
}

/* PMI_process_mapping: runs of ranks on one node; where a run of nodes has one rank
 * each, one block. */
static void draw_map(struct sim *s)
{
    s->map = calloc(s->nranks > 0 ? (size_t)s->nranks : 1, sizeof *s->map);
    s->nmap = 0;
    for (int r = 0; r < s->nranks; r++) {
        struct mapping_block *last = s->nmap ? &s->map[s->nmap - 1] : NULL;
        int node = s->ranks[r].node;

        if (last && last->nodes == 1 && last->first == node)
            last->ranks++;
        else if (last && last->ranks == 1 && last->first + last->nodes == node)
            last->nodes++;
        else
            s->map[s->nmap++] = (struct mapping_block){ node, 1, 1 };
    }
}

static void draw_nodes(struct sim *s, struct rng *g)
{
    double us = 10 + 200 * unit(g);

    for (int i = 0; i < s->nnodes; i++) {
        struct node *n = &s->nodes[i];

        *n = (struct node){ .sim = s, .at = i, .parent = tree_parent(&s->tree, i) };
        n->delay = us * (0.2 + 2 * unit(g)) * 1e-6;
        n->local = malloc((size_t)s->nranks * sizeof *n->local);
    }
    for (int r = 0; r < s->nranks; r++) {
        struct node *n = &s->nodes[s->ranks[r].node];

        n->local[n->nlocal++] = r;
    }
    for (int i = s->nnodes - 1; i >= 0; i--) {
        s->nodes[i].subtree += s->nodes[i].nlocal;
        if (i)
            s->nodes[s->nodes[i].parent].subtree += s->nodes[i].subtree;
    }
}

static void draw_ranks(struct sim *s, struct rng *g)
{
    enum layout l = s->scale ? BLOCKS : (enum layout)draw(g, LAYOUTS);
    int wires = draw(g, 4);              /* 0: all PMI-1; 1: all PMI-2; else mixed */
    bool threads = one_in(g, 3) && !s->scale, wide = wires == 1 && one_in(g, 8);

    s->fat = one_in(g, 24);
    for (int i = 0; i < s->nranks; i++) {
        struct rank *r = &s->ranks[i];

        memset(r, 0, sizeof *r);
        r->rank = i;
        r->node = node_for(s, l, g, i);
        r->wire = wires < 2 ? (enum wire)wires : (enum wire)draw(g, 2);
        r->threads = threads && r->wire == WIRE_2 && !one_in(g, 4);
        r->wide = wide;
        r->eager = one_in(g, 2);
        r->rng = rng_of(s->seed, 1, (uint64_t)i);
        framer_init(&r->framer, 1 << 20);
        if (wide)
            r->framer.max = LIMIT_REPLY_RANK;
    }
}

/* --- collective calls -------------------------------------------------- */

static bool node_is_pmi1(const struct sim *s, int node)
{
    for (int i = 0; i < s->nodes[node].nlocal; i++)
        if (s->ranks[s->nodes[node].local[i]].wire != WIRE_1)
            return false;
    return true;
}

static bool all_speak(const struct sim *s, enum wire w)
{
    for (int i = 0; i < s->nranks; i++)
        if (s->ranks[i].wire != w)
            return false;
    return true;
}

static void draw_members(struct sim *s, struct coll *c, struct rng *g)
{
    int in = 0, some = 1 + draw(g, 4);

    c->member = calloc((size_t)s->nranks, 1);
    for (int i = 0; i < s->nranks; i++) {
        const struct rank *r = &s->ranks[i];

        if (c->kind == C_GROUP)
            c->member[i] = r->wire == WIRE_1 && one_in(g, some);
        else
            c->member[i] = c->kind != C_NODE || node_is_pmi1(s, r->node);
        in += c->member[i];
    }
    for (int i = 0; !in && c->kind == C_GROUP && i < s->nranks; i++)
        in += c->member[i] = s->ranks[i].wire == WIRE_1;
    if (!in) {                           /* nobody speaks PMI-1 */
        c->kind = C_WORLD;
        memset(c->member, 1, (size_t)s->nranks);
    }
}

/* One fence of all. */
static void draw_scale_colls(struct sim *s)
{
    s->colls = calloc(1, sizeof *s->colls);
    s->ncolls = 1;
    s->instances = calloc(s->nnodes > 0 ? (size_t)s->nnodes : 1, sizeof *s->instances);
    s->colls[0].kind = C_WORLD;
    s->colls[0].member = calloc(s->nranks > 0 ? (size_t)s->nranks : 1, 1);
    for (int i = 0; i < s->nranks; i++)
        s->colls[0].member[i] = 1;
}

static void draw_colls(struct sim *s, struct rng *g)
{
    int worlds = 3 + draw(g, 3), epoch = 0;
    bool ring = all_speak(s, WIRE_2);

    s->colls = calloc(32, sizeof *s->colls);
    s->ncolls = 0;
    while (epoch < worlds) {
        struct coll *c = &s->colls[s->ncolls++];
        int what = s->ncolls > 28 ? 9 : draw(g, 10);

        c->kind = what == 0 ? C_NODE : what < 3 ? C_GROUP : what == 3 && ring ? C_RING : C_WORLD;
        c->tag = 1 + draw(g, 3);
        c->epoch = epoch;
        draw_members(s, c, g);
        c->async = !s->ft && c->kind == C_GROUP && one_in(g, 3);
        if (c->async)
            c->tag = 100 + s->ncolls;    /* so that its answer can be told */
        epoch += c->kind == C_WORLD;
    }
    s->instances = calloc((size_t)s->ncolls * (size_t)s->nnodes, sizeof *s->instances);
}

bool coll_has(const struct sim *s, int c, int rank)
{
    return s->colls[c].member[rank];
}

/* --- faults ------------------------------------------------------------ */

static enum fault_kind draw_kind(struct sim *s, struct rng *g)
{
    static const enum fault_kind kinds[] = { F_EXIT, F_EXIT, F_SIGNAL, F_SIGNAL, F_LEAVE, F_HANG,
                                             F_NODE, F_CUT, F_SILENT, F_ABORT };
    enum fault_kind k = kinds[draw(g, 10)];

    return s->nnodes == 1 && (k == F_NODE || k == F_CUT || k == F_SILENT) ? F_SIGNAL : k;
}

static void draw_faults(struct sim *s, struct rng *g)
{
    int about = 6 + s->ncolls * 5, n = s->config.faults;
    bool silent = one_in(g, 4);          /* so long in virtual time: not in every run */

    s->nfaults = n >= 0 ? n : one_in(g, 3) ? 0 : draw(g, 5);
    s->leases = false;
    for (int i = 0; i < s->nfaults; i++) {
        struct fault *f = &s->faults[i];

        *f = (struct fault){ .kind = draw_kind(s, g), .rank = draw(g, s->nranks) };
        if (f->kind == F_SILENT && !silent)
            f->kind = F_CUT;
        f->at_request = one_in(g, 8) ? draw(g, 4) : draw(g, about);
        f->status = f->kind == F_SIGNAL ? (one_in(g, 2) ? SIGKILL : SIGSEGV) : draw(g, 4) << 8;
        f->delay = one_in(g, 3) ? 0 : unit(g) * 3e-4;
        if (one_in(g, 16))
            f->delay = unit(g) * 3;
        s->leases |= f->kind == F_SILENT;
    }
}

/* --- the whole --------------------------------------------------------- */

static void draw_size(struct sim *s, struct rng *g)
{
    static const size_t release[] = { 0, 100, 1000, 5000, 1 << 18 };
    int max = s->nnodes;

    s->nranks = s->config.ranks;
    if (s->nranks < 0)
        s->nranks = (int)(2 * pow(2, 5 * pow(unit(g), 1.4)) + unit(g));
    max = s->nranks < 16 ? s->nranks + 1 : 16;
    s->nnodes = s->config.nodes < 0 ? 1 + draw(g, max) : s->config.nodes;
    s->tree.n = s->nnodes;
    s->tree.width = s->config.width < 0 ? draw(g, 5) : s->config.width;
    s->ft = s->config.ft < 0 ? one_in(g, 2) : s->config.ft;
    s->release_bytes = s->config.release < 0 ? release[draw(g, 5)] : (size_t)s->config.release;
    s->pmi1_subversion = 1 + draw(g, 2);
}

/* Windows that little data fills; the real one. */
static void draw_links(struct sim *s, struct rng *g)
{
    static const size_t windows[] = { 64, 256, 1024, 4096, 1 << 17, 1 << 17 };

    s->window = windows[s->scale ? 5 : draw(g, 6)];
    s->holds = !s->scale && one_in(g, 2);
    s->bulk = !s->scale && one_in(g, 3);
}

void sim_draw(struct sim *s)
{
    struct rng g = rng_of(s->seed, 2, 0);

    draw_size(s, &g);
    draw_links(s, &g);
    s->ranks = calloc((size_t)s->nranks, sizeof *s->ranks);
    s->nodes = calloc((size_t)s->nnodes, sizeof *s->nodes);
    if (!s->ranks || !s->nodes)
        abort();
    draw_ranks(s, &g);
    draw_nodes(s, &g);
    draw_map(s);
    if (s->scale)
        draw_scale_colls(s);
    else
        draw_colls(s, &g);
    draw_faults(s, &g);
}

/* --- between two collective calls -------------------------------------- */

static void add(struct rank *r, enum act_kind kind, int a, int b)
{
    if (r->nacts < MAX_ACTS - 2)         /* two more always fit */
        r->acts[r->nacts++] = (struct act){ .kind = (uint8_t)kind, .a = a, .b = (short)b };
}

static int neighbour(struct sim *s, struct rank *r, struct rng *g)
{
    switch (draw(g, 4)) {
    case 0:  return (r->rank + 1) % s->nranks;
    case 1:  return (r->rank + s->nranks - 1) % s->nranks;
    default: return draw(g, s->nranks);
    }
}

/* Node attributes are PMI-2 only.  In each part the first such rank of a node puts one
 * that the others may wait for. */
static void draw_attrs(struct sim *s, struct rank *r, struct rng *g)
{
    const struct node *n = &s->nodes[r->node];
    int first = 0;

    while (s->ranks[n->local[first]].wire != WIRE_2)
        first++;
    if (n->local[first] == r->rank)
        add(r, A_ATTR, r->rank, r->gap % KEYS);
    else if (one_in(g, 4) && r->gap < KEYS)
        add(r, A_WAIT_ATTR, n->local[first], r->gap % KEYS);
    if (one_in(g, 4))
        add(r, A_GET_ATTR, neighbour(s, r, g), draw(g, KEYS));
}

static void draw_names(struct sim *s, struct rank *r, struct rng *g)
{
    int first = (r->rank + r->gap) % 3;  /* publish, unpublish, publish ... */

    if (r->rank % 5 == 0 && first != 2)
        add(r, r->nnames++ % 2 ? A_UNPUBLISH : A_PUBLISH, r->rank, 0);
    add(r, A_LOOKUP, neighbour(s, r, g) / 5 * 5, 0);
}

static bool in_fence(const struct rank *r)
{
    for (int i = 0; i < r->nwants; i++)
        if (r->wants[i].act.kind == A_COLL)
            return true;
    return false;
}

/* Not while a thread is in a fence: what is right would depend on others. */
static void draw_shared(struct rank *r, struct rng *g, int epoch)
{
    if (in_fence(r))
        return;
    if (epoch % 3 == 0 && one_in(g, 3))
        add(r, A_SHARED, draw(g, SHARED), epoch);
    else if (epoch % 3 && one_in(g, 3))
        add(r, A_GET_SHARED, draw(g, SHARED), epoch);
}

static int epoch_of(const struct sim *s, int gap)
{
    return gap < s->ncolls ? s->colls[gap].epoch : s->colls[s->ncolls - 1].epoch + 1;
}

static void shuffle(struct rank *r, struct rng *g)
{
    for (int i = r->nacts - 1; i > 0; i--) {
        int j = draw(g, i + 1);
        struct act a = r->acts[i];

        r->acts[i] = r->acts[j];
        r->acts[j] = a;
    }
}

static void draw_scale_acts(struct sim *s, struct rank *r)
{
    if (r->gap == 0 && s->waits >= 0)
        add(r, A_PUT, 0, 0);
    for (int i = 1; r->gap == s->ncolls && i <= s->waits / 2; i++) {
        add(r, A_GET, (r->rank + i) % s->nranks, 0);
        add(r, A_GET, (r->rank + s->nranks - i) % s->nranks, 0);
    }
}

static void draw_between(struct sim *s, struct rank *r, struct rng *g)
{
    int puts = draw(g, 3), gets = r->gap ? draw(g, 4) : one_in(g, 4);

    for (int i = 0; i < puts; i++)
        add(r, A_PUT, r->rank, draw(g, KEYS));
    for (int i = 0; i < gets; i++)
        add(r, A_GET, neighbour(s, r, g), draw(g, KEYS));
    if (one_in(g, 6))
        add(r, A_MISS, draw(g, 3), 0);
    if (one_in(g, 24))
        add(r, one_in(g, 2) ? A_MAPPING : A_JOBID, 0, 0);
    if (s->ft && one_in(g, 8))
        add(r, A_DEAD, 0, 0);
    draw_shared(r, g, epoch_of(s, r->gap));
    if (r->wire == WIRE_2 && s->seed % 3 == 0)
        draw_attrs(s, r, g);
    if (s->seed % 4 == 0 && one_in(g, 2))
        draw_names(s, r, g);
    shuffle(r, g);
}

/* One thread is in the fence, another goes on: into the next one, if it gets there. */
static bool in_a_thread(const struct sim *s, const struct rank *r, struct rng *g)
{
    return r->threads && s->colls[r->gap].kind == C_WORLD && one_in(g, 3);
}

void sim_draw_acts(struct sim *s, struct rank *r)
{
    struct rng g = rng_of(s->seed, 3 + (uint64_t)r->rank, (uint64_t)r->gap);

    r->nacts = r->next = 0;
    if (s->scale)
        draw_scale_acts(s, r);
    else
        draw_between(s, r, &g);
    if (r->gap < s->ncolls && coll_has(s, r->gap, r->rank)) {
        add(r, s->colls[r->gap].kind == C_RING ? A_RING : A_COLL, r->gap, 0);
        r->acts[r->nacts - 1].async = s->colls[r->gap].async || in_a_thread(s, r, &g);
    }
    if (r->gap == s->ncolls)
        add(r, A_FINALIZE, 0, 0);
}
