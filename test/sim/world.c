/* world.c - jobs: made from their bundle, which says where ranks are; what must hold when
 * nothing more happens; freed. */
#include "test/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- made -------------------------------------------------------------- */

static void add_proc(struct sim *s, struct rank *r)
{
    if (s->nprocs == s->procs_cap) {
        s->procs_cap = s->procs_cap ? s->procs_cap * 2 : 256;
        s->procs = reallocarray(s->procs, (size_t)s->procs_cap, sizeof *s->procs);
        if (!s->procs)
            abort();
    }
    r->id = s->nprocs;
    s->procs[s->nprocs++] = r;
}

static void add_ranks(struct world *w)
{
    struct sim *s = w->sim;

    w->ranks = calloc((size_t)w->nranks, sizeof *w->ranks);
    w->at = calloc((size_t)s->nnodes, sizeof *w->at);
    if (!w->ranks || !w->at)
        abort();
    for (int i = 0; i < w->nranks; i++) {
        struct rank *r = &w->ranks[i];

        r->world = w;
        r->rank = i;
        r->node = placement_node(&w->bundle.place, i);
        add_proc(s, r);
    }
    for (int i = s->nnodes - 1; i >= 0; i--) {
        struct part *p = &w->at[i];

        p->nlocal = placement_ranks(&w->bundle.place, i, &p->local);
        p->subtree += p->nlocal;
        if (i)
            w->at[s->nodes[i].parent].subtree += p->subtree;
    }
}

struct world *world_new(struct sim *s, struct bundle *b)
{
    struct world *w = calloc(1, sizeof *w);

    if (!w || s->nworlds == WORLDS)
        abort();
    w->sim = s;
    w->number = s->nworlds;
    s->worlds[s->nworlds++] = w;
    w->bundle = *b;
    *b = (struct bundle){ 0 };
    snprintf(w->id, sizeof w->id, "%s", w->bundle.jobid);
    w->map = w->bundle.place.map;
    w->nmap = w->bundle.place.nmap;
    w->nranks = w->bundle.place.size;
    w->cause = -1;
    add_ranks(w);
    sim_draw_program(w);
    model_init(w);
    root_init(w);
    return w;
}

/* The job of the command line: it is on every node before anything happens. */
void world_start_main(struct sim *s)
{
    struct world *w = s->main;

    w->started = true;
    for (int i = 0; i < s->nnodes; i++)
        node_add_job(&s->nodes[i], w);
    for (int i = 0; i < w->nranks; i++) {
        launch_started(&w->launch, i, -1);
        w->ranks[i].born = true;
        queue_add(s, unit(&s->rng) * 1e-3, EV_START, w->ranks[i].id, 0);
    }
}

/* Whether ranks are there or below. */
bool world_has_node(const struct world *w, int node)
{
    return w->at[node].subtree > 0;
}

/* --- the end ----------------------------------------------------------- */

static void check_ended(struct world *w)
{
    struct sim *s = w->sim;

    for (int i = 0; i < w->nranks; i++) {
        struct rank *r = &w->ranks[i];
        const char *what = r->nwants ? act_reply((enum act_kind)r->wants[0].act.kind, r->wire) : "";

        if (r->born && !r->ended)
            violation(s, "rank %d of %d of job %d hangs: waits for %s (%d), before fence %d of %d",
                      i, w->nranks, w->number, what, r->nwants ? r->wants[0].act.a : 0, r->gap,
                      w->ncolls);
        if (!r->lost && r->rx.len)
            violation(s, "rank %d of job %d has %zu bytes nobody asked for", i, w->number,
                      r->rx.len);
    }
    if (!s->scale && !launch_over(&w->launch))
        violation(s, "%d ranks of job %d have not ended for the launcher", w->launch.running,
                  w->number);
    if (w->number && !w->gone)
        violation(s, "job %d is over, and is not forgotten", w->number);
}

/* The first failure counts; without one, the highest status of all ranks. */
static void check_status(struct world *w)
{
    struct sim *s = w->sim;
    int status = launch_status(&w->launch), want = w->cause < 0 ? w->highest : w->cause;

    if (!s->scale && status != want)
        violation(s, "exit status %d of job %d, want %d", status, w->number, want);
    if (!s->struck && !w->refused && (w->launch.ending || w->world_failed || status))
        violation(s, "job %d was ended, but nothing has happened", w->number);
    if (w->spawn)
        violation(s, "whoever has started job %d was not answered", w->number);
}

void world_check_end(struct world *w)
{
    check_ended(w);
    check_status(w);
}

void world_free(struct world *w)
{
    for (int i = 0; i < w->nranks; i++) {
        framer_clear(&w->ranks[i].framer);
        buf_clear(&w->ranks[i].rx);
        buf_clear(&w->ranks[i].tx);
    }
    model_clear(w);
    for (int i = 0; i < w->ncolls; i++)
        free(w->colls[i].member);
    free(w->colls);
    for (int i = 0; i < w->sim->nnodes; i++)
        free(w->at[i].local);
    free(w->at);
    free(w->ranks);
    starting_clear(&w->starting);
    launch_clear(&w->launch);
    bundle_clear(&w->bundle);
    free(w);
}
