/* acts.c - what a rank does between two collective calls, as the seed has it. */
#include "test/sim/sim.h"

static void add(struct rank *r, enum act_kind kind, int a, int b)
{
    if (r->nacts < MAX_ACTS - 2)         /* two more always fit */
        r->acts[r->nacts++] = (struct act){ .kind = (uint8_t)kind, .a = a, .b = (short)b };
}

static int neighbour(const struct rank *r, struct rng *g)
{
    switch (draw(g, 4)) {
    case 0:  return (r->rank + 1) % r->world->nranks;
    case 1:  return (r->rank + r->world->nranks - 1) % r->world->nranks;
    default: return draw(g, r->world->nranks);
    }
}

/* Node attributes are PMI-2 only.  In each part the first such rank of a node puts one
 * that the others may wait for. */
static void draw_attrs(struct rank *r, struct rng *g)
{
    const struct part *p = &r->world->at[r->node];
    int first = 0;

    while (r->world->ranks[p->local[first]].wire != WIRE_2)
        first++;
    if (p->local[first] == r->rank)
        add(r, A_ATTR, r->rank, r->gap % KEYS);
    else if (one_in(g, 4) && r->gap < KEYS)
        add(r, A_WAIT_ATTR, p->local[first], r->gap % KEYS);
    if (one_in(g, 4))
        add(r, A_GET_ATTR, neighbour(r, g), draw(g, KEYS));
}

/* Few names, so that many want the same. */
static void draw_names(const struct sim *s, struct rank *r, struct rng *g)
{
    static const enum act_kind kinds[] = { A_PUBLISH, A_PUBLISH, A_UNPUBLISH, A_LOOKUP, A_LOOKUP,
                                           A_WAIT_NAME };

    if (s->npubs < PUBLICATIONS - 64 && one_in(g, 3))
        add(r, kinds[draw(g, 6)], draw(g, NAMES), draw(g, 4));
}

/* What the job that started this one gave it; other jobs' keys, and whether they are
 * connected. */
static void draw_other_jobs(struct sim *s, struct rank *r, struct rng *g)
{
    static const enum act_kind kinds[] = { A_GET_OF, A_GET_OF, A_CONNECT, A_DISCONNECT };

    if (s->spawns_left && one_in(g, 2 + r->world->nranks / 2)) {
        s->spawns_left--;
        add(r, A_SPAWN, 0, 0);
        r->acts[r->nacts - 1].async = r->threads && one_in(g, 2);
    }
    if (r->world->number && one_in(g, 3))
        add(r, A_PREPUT, draw(g, 3), 0);
    for (int n = s->nworlds > 1 ? draw(g, 3) : 0; n > 0; n--) {
        enum act_kind k = kinds[draw(g, r->wire == WIRE_1 || s->nedges > EDGES - 64 ? 2 : 4)];
        int job = one_in(g, 32) ? WORLDS : draw(g, s->nworlds);  /* one that never was */

        if (job == r->world->number)
            continue;
        add(r, k, job < WORLDS ? draw(g, s->worlds[job]->nranks) : 0, draw(g, KEYS + 1));
        r->acts[r->nacts - 1].job = job;
    }
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

static int epoch_of(const struct world *w, int gap)
{
    return gap < w->ncolls ? w->colls[gap].epoch : w->colls[w->ncolls - 1].epoch + 1;
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
    for (int i = 1; r->gap == r->world->ncolls && i <= s->waits / 2; i++) {
        add(r, A_GET, (r->rank + i) % r->world->nranks, 0);
        add(r, A_GET, (r->rank + r->world->nranks - i) % r->world->nranks, 0);
    }
}

static void draw_between(struct sim *s, struct rank *r, struct rng *g)
{
    int puts = draw(g, 3), gets = r->gap ? draw(g, 4) : one_in(g, 4);

    for (int i = 0; i < puts; i++)
        add(r, A_PUT, r->rank, draw(g, KEYS));
    for (int i = 0; i < gets; i++)
        add(r, A_GET, neighbour(r, g), draw(g, KEYS));
    if (one_in(g, 6))
        add(r, A_MISS, draw(g, 3), 0);
    if (one_in(g, 24))
        add(r, one_in(g, 2) ? A_MAPPING : A_JOBID, 0, 0);
    if (s->ft && one_in(g, 8))
        add(r, A_DEAD, 0, 0);
    draw_shared(r, g, epoch_of(r->world, r->gap));
    if (r->wire == WIRE_2 && s->seed % 3 == 0)
        draw_attrs(r, g);
    if (s->named)
        draw_names(s, r, g);
    draw_other_jobs(s, r, g);
    shuffle(r, g);
}

/* One thread is in the fence, another goes on: into the next one, if it gets there. */
static bool in_a_thread(const struct rank *r, struct rng *g)
{
    return r->threads && r->world->colls[r->gap].kind == C_WORLD && one_in(g, 3);
}

void sim_draw_acts(struct sim *s, struct rank *r)
{
    struct rng g = rng_of(s->seed, 3 + (uint64_t)model_owner(r->world, r->rank), (uint64_t)r->gap);

    r->nacts = r->next = 0;
    if (s->scale)
        draw_scale_acts(s, r);
    else
        draw_between(s, r, &g);
    if (r->gap < r->world->ncolls && coll_has(r->world, r->gap, r->rank)) {
        add(r, r->world->colls[r->gap].kind == C_RING ? A_RING : A_COLL, r->gap, 0);
        r->acts[r->nacts - 1].async = r->world->colls[r->gap].async || in_a_thread(r, &g);
    }
    if (r->gap == r->world->ncolls)
        add(r, A_FINALIZE, 0, 0);
}
