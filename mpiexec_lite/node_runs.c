/* node_runs.c - see node_runs.h */
#include "mpiexec_lite/node_runs.h"

#include <stdlib.h>

int node_runs_init(struct node_runs *to, const struct placement *pl, size_t nodes)
{
    size_t *at = calloc(nodes + 1, sizeof *at);

    to->first = calloc(nodes + 2, sizeof *to->first);
    to->order = calloc(pl->nruns + 1, sizeof *to->order);
    if (!at || !to->first || !to->order) {
        free(at);
        return -1;
    }
    for (size_t i = 0; i < pl->nruns; i++)
        to->first[pl->runs[i].node + 1]++;
    for (size_t i = 0; i < nodes; i++) {
        to->first[i + 1] += to->first[i];
        at[i] = to->first[i];
    }
    for (size_t i = 0; i < pl->nruns; i++)
        to->order[at[pl->runs[i].node]++] = i;
    free(at);
    return 0;
}

void node_runs_clear(struct node_runs *n)
{
    free(n->first);
    free(n->order);
    *n = (struct node_runs){ 0 };
}

long node_ranks(const struct node_runs *n, const struct placement *pl, size_t node)
{
    long ranks = 0;

    for (size_t i = n->first[node]; i < n->first[node + 1]; i++)
        ranks += pl->runs[n->order[i]].n;
    return ranks;
}

void node_ranks_print(const struct node_runs *n, const struct placement *pl, size_t node,
                      struct buf *out)
{
    const char *comma = "";

    for (size_t i = n->first[node]; i < n->first[node + 1]; i++) {
        const struct run *r = &pl->runs[n->order[i]];

        buf_printf(out, r->n > 1 ? "%s%d-%d" : "%s%d", comma, r->first, r->first + r->n - 1);
        comma = ",";
    }
}
