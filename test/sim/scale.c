/* scale.c - large jobs without faults: what they cost.
 *
 * Every rank does init, puts one value of 64 bytes, enters one fence, gets the values of
 * its neighbours, which are checked, and finalizes; in the table it only enters the fence.  Lower bounds: one message up and one
 * down a link for the fence; every value goes up once a level that it climbs (counted
 * here as once), and to every neighbour that asks, at least 64 bytes each. */
#include "test/sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

enum { VALUE = 64, NEIGHBOURS = 8 };

struct cost { unsigned long messages, link_bytes, rank_messages, rank_bytes; double cpu, wall; };

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run(int ranks, int nodes, int width, int neighbours, struct cost *c)
{
    struct config config = { .ranks = ranks, .nodes = nodes, .width = width, .release = 1 << 18 };
    struct totals totals = { 0 };
    struct sim *s = sim_new(&config, &totals);
    double began = seconds();
    int bad;

    s->scale = true;
    s->waits = neighbours;
    sim_run(s, 1);
    bad = s->violated;
    if (bad)
        printf("violation: %s\n", s->text);
    *c = (struct cost){ s->link_messages, s->link_bytes, s->rank_messages, s->rank_bytes,
                        s->cpu, seconds() - began };
    sim_free(s);
    return bad;
}

int scale_run(int ranks, int nodes, int width)
{
    double least = (double)ranks * VALUE * (1 + NEIGHBOURS);
    struct rusage u;
    struct cost c;
    int bad = run(ranks, nodes, width, NEIGHBOURS, &c);

    getrusage(RUSAGE_SELF, &u);
    printf("%d ranks on %d nodes, tree of width %d: %.1f s, %.1f s of it in the core; peak "
           "memory %ld MiB\n", ranks, nodes, width, c.wall, c.cpu, u.ru_maxrss / 1024);
    printf("between servers: %lu messages (at least %d), %.1f MB; with ranks: %lu messages, "
           "%.1f MB (values alone: %.1f MB)\n", c.messages, 2 * (nodes - 1),
           (double)c.link_bytes / 1e6, c.rank_messages, (double)c.rank_bytes / 1e6, least / 1e6);
    return bad;
}

int scale_table(int width)
{
    double first = 0;
    int bad = 0;

    printf("%8s %8s %14s %14s %14s\n", "ranks", "nodes", "messages/rank", "bytes/rank",
           "core us/rank");
    for (int ranks = 256; ranks <= 65536 && !bad; ranks *= 4) {
        struct cost c;
        double each;

        bad = run(ranks, ranks / 16, width, -1, &c);
        each = (double)c.messages / ranks;
        first = first > 0 ? first : each;
        printf("%8d %8d %14.3f %14.1f %14.2f\n", ranks, ranks / 16, each,
               (double)c.link_bytes / ranks, c.cpu * 1e6 / ranks);
        bad |= each / first > log2(ranks) / log2(256) + 0.1;
    }
    return bad;
}
