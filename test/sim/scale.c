/* scale.c - large jobs without faults: what they cost.
 *
 * Every rank puts one value, all fence, every rank gets the values of its neighbours.
 * The parts are told apart: no rank goes on to the next before all are done with one.
 *
 * What cannot be saved, whatever the servers do, with N nodes and N - 1 links:
 *
 *     put    nothing between servers: a put is not seen by others before a fence
 *     fence  messages: one up each link, for nobody may leave before all are in, and one
 *            down each link, for a server cannot know that otherwise.  Bytes: key and
 *            value of each rank once per level that they climb to the root, which
 *            decides what exists.
 *     get    bytes: a value comes down each link once on its way to the servers whose ranks
 *            want it, from the first server that it has climbed past: the union of these
 *            paths.  It may have come with the release.  Messages: none if so; else a
 *            question and an answer per link that something comes down
 *     end    nothing
 *
 * and between a server and its ranks every request once, and one piece of bytes with
 * answers per rank and part. */
#include "test/sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NEIGHBOURS = 8, VALUE = 64, RANKS_MAX = 1 << 17, RELEASE = 256 << 10 };
static const double LINK_DELAY = 20e-6;

struct cost { unsigned long messages, bytes, rank_messages, rank_bytes; double cpu, wall; };
struct bound { unsigned long messages, bytes, rank_messages; };

static const char *const part_names[PARTS] = { "init", "put", "fence", "get", "end" };

bool scale_may(const struct sim *s, const struct act *a)
{
    enum scale_part p = a->kind == A_PUT ? PART_PUT : a->kind == A_COLL ? PART_FENCE :
                        a->kind == A_GET ? PART_GET : PART_END;

    return p <= s->part;
}

/* --- the job ----------------------------------------------------------- */

static void *array(size_t n, size_t size)
{
    void *p = calloc(n, size);

    if (!p)
        abort();
    return p;
}

/* The first `more` nodes have one rank more than the others. */
static void make_nodes(struct sim *s)
{
    int each = s->nranks / s->nnodes, more = s->nranks % s->nnodes, rank = 0;

    s->nodes = array((size_t)s->nnodes, sizeof *s->nodes);
    for (int i = 0; i < s->nnodes; i++) {
        struct node *n = &s->nodes[i];
        int here = each + (i < more);

        *n = (struct node){ .sim = s, .at = i, .parent = tree_parent(&s->tree, i),
                            .delay = LINK_DELAY };
        n->local = array((size_t)here, sizeof *n->local);
        while (n->nlocal < here) {
            s->ranks[rank].node = i;
            n->local[n->nlocal++] = rank++;
        }
    }
    for (int i = s->nnodes - 1; i >= 0; i--) {
        s->nodes[i].subtree += s->nodes[i].nlocal;
        if (i)
            s->nodes[s->nodes[i].parent].subtree += s->nodes[i].subtree;
    }
    s->map = array(2, sizeof *s->map);
    s->nmap = 0;
    if (more)
        s->map[s->nmap++] = (struct mapping_block){ 0, more, each + 1 };
    s->map[s->nmap++] = (struct mapping_block){ more, s->nnodes - more, each };
}

static void make_ranks(struct sim *s)
{
    s->ranks = array((size_t)s->nranks, sizeof *s->ranks);
    for (int i = 0; i < s->nranks; i++) {
        struct rank *r = &s->ranks[i];

        r->rank = i;
        r->wire = WIRE_1;
        r->rng = rng_of(s->seed, 1, (uint64_t)i);
        framer_init(&r->framer, 1 << 20);
    }
}

static struct sim *make(int ranks, int nodes, int width, size_t release, struct totals *t)
{
    struct config c = { .ranks = ranks, .nodes = nodes, .width = width };
    struct sim *s = sim_new(&c, t);

    s->scale = true;
    s->seed = 1;
    s->rng = rng_of(1, 4, 0);
    s->nranks = ranks;
    s->nnodes = nodes;
    s->tree = (struct tree){ width, nodes };
    s->waits = NEIGHBOURS;
    s->release_bytes = release;
    s->pmi1_subversion = 1;
    make_ranks(s);
    make_nodes(s);
    s->ncolls = 1;
    s->colls = array(1, sizeof *s->colls);
    s->colls[0].kind = C_WORLD;
    s->colls[0].member = array((size_t)ranks, 1);
    memset(s->colls[0].member, 1, (size_t)ranks);
    s->instances = array((size_t)nodes, sizeof *s->instances);
    model_init(s);
    root_start(s);
    nodes_start(s);
    return s;
}

/* --- its parts --------------------------------------------------------- */

static struct cost now(const struct sim *s)
{
    return (struct cost){ s->link_messages, s->link_bytes, s->rank_messages, s->rank_bytes,
                          s->cpu, core_clock(s) };
}

static struct cost since(const struct sim *s, const struct cost *from)
{
    struct cost c = now(s);

    c.messages -= from->messages;
    c.bytes -= from->bytes;
    c.rank_messages -= from->rank_messages;
    c.rank_bytes -= from->rank_bytes;
    c.cpu -= from->cpu;
    c.wall -= from->wall;
    return c;
}

static void run_parts(struct sim *s, struct cost cost[PARTS])
{
    for (int p = 0; p < PARTS; p++) {
        struct cost from = now(s);

        s->part = (enum scale_part)p;
        for (int i = 0; i < s->nranks; i++)
            if (p == PART_INIT)
                queue_add(s, s->now, EV_START, i, 0);
            else
                rank_go(s, &s->ranks[i]);
        sim_loop(s);
        cost[p] = since(s, &from);
        for (int i = 0; i < s->nranks; i++)
            if (s->ranks[i].nwants)
                violation(s, "rank %d hangs in %s", i, part_names[p]);
    }
}

static void check(struct sim *s)
{
    for (int i = 0; i < s->nranks; i++)
        if (!s->ranks[i].reaped || s->ranks[i].rx.len || s->ranks[i].tx.len)
            violation(s, "rank %d has not come to its end", i);
    for (int i = 0; i < s->nnodes; i++)
        if (!TAILQ_EMPTY(&s->nodes[i].server->asks) || !TAILQ_EMPTY(&s->nodes[i].job->fences))
            violation(s, "node %d has an open question or fence at the end", i);
    if (s->totals->gets != (unsigned long)s->nranks * (unsigned long)s->waits)
        violation(s, "%lu gets were answered", s->totals->gets);
    if (s->totals->fences != (unsigned long)s->nranks)
        violation(s, "%lu ranks have passed the fence", s->totals->fences);
}

/* --- what cannot be saved ---------------------------------------------- */

static bool below(const struct sim *s, int at, int node)
{
    return at == node || tree_next(&s->tree, at, node) >= 0;
}

static size_t record(int rank)
{
    char key[32];

    return (size_t)snprintf(key, sizeof key, "k%d-0", rank) + VALUE;
}

/* Links that the value of a rank has to come down; seen, used: by link, named after the
 * node at its lower end. */
static unsigned long links_down(const struct sim *s, int owner, int *seen, bool *used)
{
    int home = s->ranks[owner].node;
    unsigned long n = 0;

    for (int d = -s->waits / 2; d <= s->waits / 2; d++) {
        int reader = (int)(((long long)owner + d + s->nranks * 8LL) % s->nranks);

        for (int at = s->ranks[reader].node; !below(s, at, home); at = s->nodes[at].parent) {
            n += seen[at] != owner + 1;
            seen[at] = owner + 1;
            used[at] = true;
        }
    }
    return n;
}

static void bounds(const struct sim *s, struct bound b[PARTS])
{
    int *seen = array((size_t)s->nnodes, sizeof *seen);
    bool *used = array((size_t)s->nnodes, sizeof *used);
    unsigned long ranks = (unsigned long)s->nranks;

    memset(b, 0, PARTS * sizeof *b);
    for (int p = 0; p < PARTS; p++)
        b[p].rank_messages = 2 * ranks;
    b[PART_GET].rank_messages = (unsigned long)(s->waits + 1) * ranks;
    b[PART_FENCE].messages = 2 * (unsigned long)(s->nnodes - 1);
    for (int i = 0; i < s->nranks; i++) {
        for (int at = s->ranks[i].node; at; at = s->nodes[at].parent)
            b[PART_FENCE].bytes += record(i);
        b[PART_GET].bytes += record(i) * links_down(s, i, seen, used);
    }
    for (int i = 0; i < s->nnodes; i++)
        b[PART_GET].messages += used[i] ? 2 : 0;
    free(seen);
    free(used);
}

/* A fence takes no more messages than it must, but for those that data is too long
 * for: each brings LIMIT_CHUNK / 2 bytes at least. */
static void check_fence(struct sim *s, const struct cost *c, const struct bound *b)
{
    unsigned long most = b->messages + c->bytes / (LIMIT_CHUNK / 2);

    if (c->messages > most)
        violation(s, "the fence took %lu messages between servers, %lu are enough", c->messages,
                  most);
}

/* --- one job ----------------------------------------------------------- */

static long peak_kb(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[200];
    long kb = 0;

    while (f && !kb && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kb) != 1)
            kb = 0;
    if (f)
        fclose(f);
    return kb;
}

static void print_parts(const struct cost cost[PARTS], const struct bound b[PARTS])
{
    printf("%-6s %10s %10s %12s %12s %10s %10s %12s %7s %7s\n", "", "messages", "at least",
           "bytes", "at least", "to ranks", "at least", "bytes", "core s", "all s");
    for (int p = 0; p < PARTS; p++)
        printf("%-6s %10lu %10lu %12lu %12lu %10lu %10lu %12lu %7.2f %7.2f\n", part_names[p],
               cost[p].messages, b[p].messages, cost[p].bytes, b[p].bytes,
               cost[p].rank_messages, b[p].rank_messages, cost[p].rank_bytes, cost[p].cpu,
               cost[p].wall);
}

/* 0; or 1, having said what is wrong. */
static int finish(struct sim *s)
{
    int bad = s->violated;

    if (bad)
        printf("%d ranks on %d nodes: %s\n", s->nranks, s->nnodes, s->text);
    sim_end(s);
    sim_free(s);
    return bad;
}

static bool can(int ranks, int nodes, int width)
{
    if (ranks >= 1 && ranks <= RANKS_MAX && nodes >= 1 && nodes <= ranks && width >= 0)
        return true;
    fprintf(stderr, "sim: 1 to %d ranks, and no more nodes than ranks\n", RANKS_MAX);
    return false;
}

int scale_run(int ranks, int nodes, int width)
{
    struct totals t = { 0 };
    struct cost cost[PARTS] = { 0 }, from;
    struct bound b[PARTS];
    struct sim *s;

    if (!can(ranks, nodes, width))
        return 2;
    s = make(ranks, nodes, width, RELEASE, &t);
    from = now(s);
    bounds(s, b);
    from.wall = core_clock(s);
    run_parts(s, cost);
    check(s);
    check_fence(s, &cost[PART_FENCE], &b[PART_FENCE]);
    from = since(s, &from);
    printf("%d ranks on %d nodes, a tree of width %d\n", ranks, nodes, width);
    print_parts(cost, b);
    printf("%.1f s, of them %.1f s in the core; %ld MB at most\n", from.wall, from.cpu,
           peak_kb() / 1024);
    printf("%lu messages and %lu bytes between servers, %lu and %lu to and from ranks\n",
           from.messages, from.bytes, from.rank_messages, from.rank_bytes);
    return finish(s);
}

/* --- the table --------------------------------------------------------- */

/* The cost of the fence alone; 0, or 1 if something was wrong. */
static int fence_cost(int ranks, int nodes, int width, size_t release, struct cost *out)
{
    struct totals t = { 0 };
    struct cost cost[PARTS] = { 0 };
    struct bound b[PARTS];
    struct sim *s = make(ranks, nodes, width, release, &t);

    bounds(s, b);
    run_parts(s, cost);
    check(s);
    check_fence(s, &cost[PART_FENCE], &b[PART_FENCE]);
    *out = cost[PART_FENCE];
    return finish(s);
}

/* Per rank, what was in the first row, may have grown as log2 of the ranks. */
static bool too_much(const char *what, double first, double here, int ranks, int from)
{
    double most = log2(ranks) / log2(from);

    if (here <= first * most)
        return false;
    printf("%d ranks: %s per rank are %.2f times those of %d ranks; log2: %.2f\n", ranks, what,
           here / first, from, most);
    return true;
}

/* One table: data goes with the release up to `release` bytes.  The bytes are held to
 * log2 only where none does: what all are sent grows with their number. */
static int table(int width, size_t release)
{
    enum { FIRST = 256, LAST = 65536, PER_NODE = 16 };
    double messages = 0, bytes = 0;
    int bad = 0;

    printf("a fence, per rank; %zu bytes of data at most with a release; width %d\n%8s %6s %12s"
           " %12s %12s\n", release, width, "ranks", "nodes", "messages", "bytes", "core us");
    for (int n = FIRST; n <= LAST; n *= 4) {
        struct cost c;

        bad |= fence_cost(n, n / PER_NODE, width, release, &c);
        printf("%8d %6d %12.4f %12.1f %12.3f\n", n, n / PER_NODE, (double)c.messages / n,
               (double)c.bytes / n, c.cpu * 1e6 / n);
        if (n == FIRST) {
            messages = (double)c.messages / n;
            bytes = (double)c.bytes / n;
        }
        bad |= too_much("messages", messages, (double)c.messages / n, n, FIRST);
        if (!release)
            bad |= too_much("bytes", bytes, (double)c.bytes / n, n, FIRST);
    }
    return bad;
}

int scale_table(int width)
{
    if (width < 0)
        return 2;
    return table(width, 0) | table(width, RELEASE);
}
