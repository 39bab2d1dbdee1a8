/* draw.c - from a seed to jobs: nodes, ranks, collective calls, faults. */
#include "test/sim/sim.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- where ranks are --------------------------------------------------- */

enum layout { BLOCKS, ROUND_ROBIN, SCATTERED, LAYOUTS };

static int node_for(struct sim *s, enum layout l, struct rng *g, int rank, int size)
{
    if (l == BLOCKS)
        return (int)((long long)rank * s->nnodes / size);
    return l == ROUND_ROBIN ? rank % s->nnodes : draw(g, s->nnodes);
}

/* The bundle of the job of the command line. */
static void draw_place(struct sim *s, struct rng *g, int size, struct bundle *b)
{
    enum layout l = s->scale ? BLOCKS : (enum layout)draw(g, LAYOUTS);
    struct run *runs = calloc((size_t)size, sizeof *runs);
    size_t n = 0;

    for (int i = 0; i < size; i++) {
        int node = node_for(s, l, g, i, size);

        if (!n || runs[n - 1].node != node)
            runs[n++].node = node;
        runs[n - 1].n++;
    }
    if (place_runs(runs, n, &b->place, NULL) < 0)
        abort();
    free(runs);
}

static void draw_bundle(struct sim *s, struct rng *g, int size, struct bundle *b)
{
    struct app *a;

    *b = (struct bundle){ .envs = calloc(1, sizeof *b->envs), .cwd = strdup("/"),
                          .jobid = strdup("sim-1") };
    plan_init(&b->plan);
    a = plan_add_app(&b->plan);
    a->n = size;
    strlist_add(&a->argv, "good");
    for (int i = 0; i < s->nnodes; i++) {
        char name[16];
        struct host *h;

        snprintf(name, sizeof name, "n%d", i);
        h = plan_add_host(&b->plan, name);
        h->slots = 1 + draw(g, 3);
        h->local = !i;
    }
    draw_place(s, g, size, b);
}

static void draw_nodes(struct sim *s, struct rng *g)
{
    double us = 10 + 200 * unit(g);

    s->nodes = calloc((size_t)s->nnodes, sizeof *s->nodes);
    for (int i = 0; i < s->nnodes; i++) {
        struct node *n = &s->nodes[i];

        *n = (struct node){ .sim = s, .at = i, .parent = tree_parent(&s->tree, i) };
        n->delay = us * (0.2 + 2 * unit(g)) * 1e-6;
    }
}

static void draw_ranks(struct world *w, struct rng *g)
{
    struct sim *s = w->sim;
    int wires = draw(g, 4);              /* 0: all PMI-1; 1: all PMI-2; else mixed */
    bool threads = one_in(g, 3) && !s->scale, wide;

    /* what another job cannot take it would not be given */
    wide = wires == 1 && one_in(g, 8) && !w->number && !s->spawns_left;

    for (int i = 0; i < w->nranks; i++) {
        struct rank *r = &w->ranks[i];

        r->wire = wires < 2 ? (enum wire)wires : (enum wire)draw(g, 2);
        r->threads = threads && r->wire == WIRE_2 && !one_in(g, 4);
        r->wide = wide;
        r->eager = one_in(g, 2);
        r->rng = rng_of(s->seed, 1, (uint64_t)model_owner(w, i));
        framer_init(&r->framer, 1 << 20);
        if (wide)
            r->framer.max = LIMIT_REPLY_RANK;
    }
}

/* --- collective calls -------------------------------------------------- */

static bool node_is_pmi1(const struct world *w, int node)
{
    const struct part *p = &w->at[node];

    for (int i = 0; i < p->nlocal; i++)
        if (w->ranks[p->local[i]].wire != WIRE_1)
            return false;
    return true;
}

static bool all_speak(const struct world *w, enum wire wire)
{
    for (int i = 0; i < w->nranks; i++)
        if (w->ranks[i].wire != wire)
            return false;
    return true;
}

static void draw_members(struct world *w, struct coll *c, struct rng *g)
{
    int in = 0, some = 1 + draw(g, 4);

    c->member = calloc((size_t)w->nranks, 1);
    for (int i = 0; i < w->nranks; i++) {
        const struct rank *r = &w->ranks[i];

        if (c->kind == C_GROUP)
            c->member[i] = r->wire == WIRE_1 && one_in(g, some);
        else
            c->member[i] = c->kind != C_NODE || node_is_pmi1(w, r->node);
        in += c->member[i];
    }
    for (int i = 0; !in && c->kind == C_GROUP && i < w->nranks; i++)
        in += c->member[i] = w->ranks[i].wire == WIRE_1;
    if (!in) {                           /* nobody speaks PMI-1 */
        c->kind = C_WORLD;
        memset(c->member, 1, (size_t)w->nranks);
    }
}

/* One fence of all. */
static void draw_scale_colls(struct world *w)
{
    w->ncolls = 1;
    w->colls[0].kind = C_WORLD;
    w->colls[0].member = calloc((size_t)w->nranks, 1);
    memset(w->colls[0].member, 1, (size_t)w->nranks);
}

static void draw_colls(struct world *w, struct rng *g)
{
    int worlds = (w->number ? 1 : 3) + draw(g, 3), epoch = 0;
    bool ring = all_speak(w, WIRE_2);

    while (epoch < worlds) {
        struct coll *c = &w->colls[w->ncolls++];
        int what = w->ncolls > 28 ? 9 : draw(g, 10);

        c->kind = what == 0 ? C_NODE : what < 3 ? C_GROUP : what == 3 && ring ? C_RING : C_WORLD;
        c->tag = 1 + draw(g, 3);
        c->epoch = epoch;
        draw_members(w, c, g);
        c->async = !w->sim->ft && c->kind == C_GROUP && one_in(g, 3);
        if (c->async)
            c->tag = 100 + w->ncolls;    /* so that its answer can be told */
        epoch += c->kind == C_WORLD;
    }
}

bool coll_has(const struct world *w, int c, int rank)
{
    return w->colls[c].member[rank];
}

void sim_draw_program(struct world *w)
{
    struct sim *s = w->sim;
    struct rng g = rng_of(s->seed, 5, (uint64_t)w->number);

    draw_ranks(w, &g);
    w->colls = calloc(32, sizeof *w->colls);
    if (s->scale)
        draw_scale_colls(w);
    else
        draw_colls(w, &g);
    w->instances = calloc((size_t)w->ncolls * (size_t)s->nnodes, sizeof *w->instances);
}

/* --- faults ------------------------------------------------------------ */

static enum fault_kind draw_kind(struct sim *s, struct rng *g)
{
    static const enum fault_kind kinds[] = { F_EXIT, F_EXIT, F_SIGNAL, F_SIGNAL, F_LEAVE, F_HANG,
                                             F_NODE, F_CUT, F_SILENT, F_ABORT };
    enum fault_kind k = kinds[draw(g, 10)];

    return s->nnodes == 1 && (k == F_NODE || k == F_CUT || k == F_SILENT) ? F_SIGNAL : k;
}

/* After any request, or one of those between jobs. */
static enum act_kind draw_within(struct sim *s, struct rng *g)
{
    static const enum act_kind kinds[] = { A_SPAWN, A_SPAWN, A_GET_OF, A_CONNECT, A_DISCONNECT,
                                           A_WAIT_NAME, A_LOOKUP, A_PUBLISH, A_WAIT_ATTR };

    return (s->spawns_left || s->named) && one_in(g, 3) ? kinds[draw(g, 9)] : A_INIT;
}

static void draw_faults(struct sim *s, struct rng *g)
{
    int about = 6 + s->main->ncolls * 5, n = s->config.faults;
    bool silent = one_in(g, 4);          /* so long in virtual time: not in every run */

    s->nfaults = n >= 0 ? n : one_in(g, 3) ? 0 : draw(g, 5);
    s->leases = false;
    for (int i = 0; i < s->nfaults; i++) {
        struct fault *f = &s->faults[i];

        *f = (struct fault){ .kind = draw_kind(s, g), .rank = draw(g, s->main->nranks) };
        if (s->spawns_left && one_in(g, 2))
            f->job = draw(g, 1 + s->spawns_left);
        f->within = draw_within(s, g);
        if (f->kind == F_SILENT && !silent)
            f->kind = F_CUT;
        f->at_request = f->within ? draw(g, 3) : one_in(g, 8) ? draw(g, 4) : draw(g, about);
        f->status = f->kind == F_SIGNAL ? (one_in(g, 2) ? SIGKILL : SIGSEGV) : draw(g, 4) << 8;
        f->delay = one_in(g, 3) ? 0 : unit(g) * 3e-4;
        if (one_in(g, 16))
            f->delay = unit(g) * 3;
        s->leases |= f->kind == F_SILENT;
    }
}

/* --- the whole --------------------------------------------------------- */

/* How many ranks. */
static int draw_size(struct sim *s, struct rng *g)
{
    static const size_t release[] = { 0, 100, 1000, 5000, 1 << 18 };
    int size = s->config.ranks;

    if (size < 0)
        size = (int)(2 * pow(2, 5 * pow(unit(g), 1.4)) + unit(g));
    s->nnodes = s->config.nodes < 0 ? 1 + draw(g, size < 16 ? size + 1 : 16) : s->config.nodes;
    s->tree.n = s->nnodes;
    s->tree.width = s->config.width < 0 ? draw(g, 5) : s->config.width;
    s->ft = s->config.ft < 0 ? one_in(g, 2) : s->config.ft;
    s->release_bytes = s->config.release < 0 ? release[draw(g, 5)] : (size_t)s->config.release;
    s->pmi1_subversion = 1 + draw(g, 2);
    return size;
}

/* Windows that little data fills; the real one. */
static void draw_links(struct sim *s, struct rng *g)
{
    static const size_t windows[] = { 64, 256, 1024, 4096, 1 << 17, 1 << 17 };

    s->window = windows[s->scale ? 5 : draw(g, 6)];
    s->holds = !s->scale && one_in(g, 2);
    s->bulk = !s->scale && one_in(g, 3);
    s->fat = one_in(g, 24);
}

/* What is done between jobs, in some runs. */
static void draw_between_jobs(struct sim *s, struct rng *g)
{
    s->spawns_left = s->scale || !one_in(g, 4) ? 0 : 1 + draw(g, one_in(g, 4) ? WORLDS - 1 : 4);
    s->named = !s->scale && one_in(g, 4);
}

void sim_draw(struct sim *s)
{
    struct rng g = rng_of(s->seed, 2, 0);
    int size = draw_size(s, &g);
    struct bundle b;

    draw_links(s, &g);
    draw_between_jobs(s, &g);
    draw_nodes(s, &g);
    draw_bundle(s, &g, size, &b);
    s->main = world_new(s, &b);
    draw_faults(s, &g);
}
