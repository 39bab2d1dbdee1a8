/* main.c - the simulator's command line: many seeds, one seed with its trace, scale. */
#include "test/sim/sim.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: sim [options]            all drawn from the seed unless given\n"
    "  --seeds A..B | A              seeds to run (1..1000)\n"
    "  --ranks N  --nodes N          size of the job\n"
    "  --width W                     of the tree of servers; 0: flat\n"
    "  --faults N                    at most 8\n"
    "  --ft 0|1                      fault tolerant\n"
    "  --release BYTES               up to so much data goes with a release\n"
    "  --jobs N                      processes (1)\n"
    "  --trace                       print every event\n"
    "  --quiet                       print nothing but violations\n"
    "  --scale RANKSxNODES           a large job: its cost\n"
    "  --table                       cost per rank of a fence, by size\n";

struct options { struct config config; unsigned long first, last; int jobs; bool quiet, table;
                 int scale_ranks, scale_nodes; };

static void print_table(const struct totals *t)
{
    printf("%-15s", "fault in");
    for (int p = 0; p < PHASES; p++)
        printf("%9s", phase_names[p]);
    printf("\n");
    for (int k = 0; k < FAULTS; k++) {
        printf("%-15s", fault_names[k]);
        for (int p = 0; p < PHASES; p++)
            printf("%9lu", t->faults[k][p]);
        printf("\n");
    }
    printf("(%lu faults did not come to pass: their rank had ended)\n", t->not_reached);
}

static void print_totals(const struct totals *t, double seconds)
{
    print_table(t);
    printf("%lu entries into a fence by a rank that was in the one before\n", t->twice);
    printf("%lu jobs started by ranks (%lu by ranks of such jobs), %lu starts refused; %lu changes of\n"
           "connections, %lu gets of other jobs' keys and %lu refused\n", t->spawns - t->refused,
           t->nested, t->refused, t->links, t->foreign, t->denied);
    printf("%lu names published or taken back, %lu lookups; of those that waited %lu found the name\n"
           "and %lu did not\n", t->names, t->lookups, t->woken, t->late);
    printf("%lu times credit was told; %lu pieces of data and %lu of bulk waited for it\n",
           t->credits, t->waits[LINK_DATA], t->waits[LINK_BULK]);
    printf("%lu runs, %lu events, %lu requests, %lu messages between servers, %lu gets checked,\n"
           "%lu fences passed and %lu failed; %.1f s, %.0f runs/s\n", t->runs, t->events,
           t->requests, t->messages, t->gets, t->fences, t->failed_fences, seconds,
           (double)t->runs / seconds);
}

static void print_violation(const struct options *o, const struct sim *s)
{
    const struct config *c = &o->config;

    printf("seed %lu: %s\n  replay: build/test/sim/sim --seeds %lu", (unsigned long)s->seed, s->text,
           (unsigned long)s->seed);
    if (c->ranks >= 0)
        printf(" --ranks %d", c->ranks);
    if (c->nodes >= 0)
        printf(" --nodes %d", c->nodes);
    if (c->width >= 0)
        printf(" --width %d", c->width);
    if (c->faults >= 0)
        printf(" --faults %d", c->faults);
    if (c->ft >= 0)
        printf(" --ft %d", c->ft);
    if (c->release >= 0)
        printf(" --release %d", c->release);
    printf(" --trace\n");
    fflush(stdout);
}

/* Every jobs-th seed from first + part on.  How many went wrong; it stops at ten. */
static int run_part(const struct options *o, int part, struct totals *t)
{
    struct sim *s = sim_new(&o->config, t);
    int bad = 0;

    for (unsigned long seed = o->first + (unsigned long)part; seed <= o->last && bad < 10;
         seed += (unsigned long)o->jobs) {
        sim_run(s, seed);
        if (!s->violated)
            continue;
        print_violation(o, s);
        bad++;
    }
    sim_free(s);
    return bad;
}

static void add_totals(struct totals *sum, const struct totals *t)
{
    unsigned long *to = (unsigned long *)sum;
    const unsigned long *from = (const unsigned long *)t;

    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

static int run_parts(const struct options *o, struct totals *sum)
{
    size_t size = (size_t)o->jobs * sizeof(struct totals);
    struct totals *t = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int bad = 0, status;

    if (t == MAP_FAILED)
        return 1;
    for (int i = 0; i < o->jobs; i++)
        if (fork() == 0)
            exit(run_part(o, i, &t[i]));
    while (wait(&status) > 0)
        bad += WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    for (int i = 0; i < o->jobs; i++)
        add_totals(sum, &t[i]);
    munmap(t, size);
    return bad;
}

static int run_seeds(const struct options *o)
{
    struct totals sum = { 0 };
    struct timespec a, b;
    int bad;

    clock_gettime(CLOCK_MONOTONIC, &a);
    bad = o->jobs > 1 ? run_parts(o, &sum) : run_part(o, 0, &sum);
    clock_gettime(CLOCK_MONOTONIC, &b);
    if (!o->quiet)
        print_totals(&sum, (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9);
    return bad > 0;
}

static void take_seeds(struct options *o, const char *text)
{
    char *end;

    o->first = o->last = strtoul(text, &end, 10);
    if (!strncmp(end, "..", 2))
        o->last = strtoul(end + 2, NULL, 10);
}

static const struct option rows[] = {
    { "seeds", 1, NULL, 's' }, { "ranks", 1, NULL, 'r' }, { "nodes", 1, NULL, 'n' },
    { "width", 1, NULL, 'w' }, { "faults", 1, NULL, 'f' }, { "ft", 1, NULL, 't' },
    { "release", 1, NULL, 'b' }, { "jobs", 1, NULL, 'j' }, { "trace", 0, NULL, 'T' },
    { "quiet", 0, NULL, 'q' }, { "scale", 1, NULL, 'S' }, { "table", 0, NULL, 'C' }, { 0 }
};

static int take_option(struct options *o, int which)
{
    switch (which) {
    case 's': take_seeds(o, optarg); return 0;
    case 'r': o->config.ranks = atoi(optarg); return 0;
    case 'n': o->config.nodes = atoi(optarg); return 0;
    case 'w': o->config.width = atoi(optarg); return 0;
    case 'f': o->config.faults = atoi(optarg); return o->config.faults > 8 ? -1 : 0;
    case 't': o->config.ft = atoi(optarg); return 0;
    case 'b': o->config.release = atoi(optarg); return 0;
    case 'j': o->jobs = atoi(optarg); return o->jobs < 1 ? -1 : 0;
    case 'T': o->config.trace = true; return 0;
    case 'q': o->quiet = true; return 0;
    case 'C': o->table = true; return 0;
    case 'S': return sscanf(optarg, "%dx%d", &o->scale_ranks, &o->scale_nodes) == 2 ? 0 : -1;
    default:  return -1;
    }
}

int main(int argc, char **argv)
{
    struct options o = { .config = { -1, -1, -1, -1, -1, -1, false }, .first = 1, .last = 1000,
                         .jobs = 1 };
    int which;

    setvbuf(stdout, NULL, _IOLBF, 0);
    while ((which = getopt_long(argc, argv, "", rows, NULL)) >= 0)
        if (take_option(&o, which) < 0) {
            fputs(usage, stderr);
            return 2;
        }
    if (o.scale_ranks)
        return scale_run(o.scale_ranks, o.scale_nodes, o.config.width < 0 ? 32 : o.config.width);
    if (o.table)
        return scale_table(o.config.width < 0 ? 32 : o.config.width);
    return run_seeds(&o);
}
