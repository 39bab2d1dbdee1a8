/* spawn.c - a job that a rank starts: what the root makes of it (the real spawned.c and
 * starting.c; the rest stands for mpiexec_lite/root_new.c), and what nodes do
 * (mpiexec_lite/crew_start.c, proxy_job.c). */
#include "test/sim/sim.h"

#include "mpiexec_lite/spawned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the root's part --------------------------------------------------- */

void spawn_ask(void *host, struct spawn *x)
{
    struct node *n = host;
    struct sim *s = n->sim;

    if (n->parent >= 0 || s->nasked == WORLDS) {
        violation(s, "node %d is to start job %d", n->at, s->nasked);
        return;
    }
    s->asked[s->nasked++] = x;
    root_wake(s, 0);
}

/* Nothing was started, as one command cannot be, or none. */
static void refuse(struct sim *s, struct spawn *x, size_t blamed, int code, const char *text)
{
    const struct spawn_request *want = spawn_wants(x);
    int codes[64];
    size_t n = 0;
    struct err why;

    TRACE(s, "root: spawn by rank %d is refused: %s", spawn_rank(x), text);
    for (size_t c = 0; c < want->n; c++)
        for (int i = 0; i < want->commands[c].procs; i++)
            codes[n++] = c == blamed ? code : ECANCELED;
    err_set(&why, ERR_OTHER, "%s", text);
    spawn_done(x, NULL, codes, n, &why);
}

static int make_bundle(struct world *parent, struct spawn *x, struct bundle *b,
                       struct spawn_blame *blame, struct err *e)
{
    struct sim *s = parent->sim;
    long *used = calloc((size_t)s->nnodes, sizeof *used);
    bool *lost = calloc((size_t)s->nnodes, sizeof *lost);
    struct spawned_hosts hosts = { &s->main->bundle.plan, (size_t)s->nnodes, lost, used };
    char id[24];
    int rc;

    for (int i = 0; i < s->nprocs; i++) {
        const struct rank_state *state = &s->procs[i]->world->launch.ranks[s->procs[i]->rank];

        used[s->procs[i]->node] += state->pid && !state->ended;
    }
    for (int i = 0; i < s->nnodes; i++)
        lost[i] = s->nodes[i].given_up;
    snprintf(id, sizeof id, "sim-1.%d", s->nworlds);
    rc = spawned_bundle(&parent->bundle, spawn_rank(x), spawn_wants(x), &hosts, id, b, blame, e);
    free(used);
    free(lost);
    return rc;
}

const char *spawn_program(const struct bundle *b, int rank)
{
    return b->plan.apps[plan_app_of(&b->plan, rank)].argv.v[0];
}

/* A program that is not found here, or a node that is lost: nothing is started then. */
static int check_bundle(struct sim *s, const struct bundle *b, struct spawn_blame *blame,
                        struct err *e)
{
    for (int i = 0; i < b->place.size; i++) {
        int node = placement_node(&b->place, i), code = 0;

        if (!node && !strcmp(spawn_program(b, i), "missing"))
            code = ENOENT;
        if (s->nodes[node].given_up)
            code = EHOSTUNREACH;
        *blame = (struct spawn_blame){ plan_app_of(&b->plan, i), code };
        if (code)
            return err_set(e, ERR_OTHER, "rank %d cannot be on n%d", i, node);
    }
    return 0;
}

static void await(struct world *w)
{
    struct sim *s = w->sim;

    if (starting_init(&w->starting, w->nranks, s->nnodes, NULL) < 0)
        abort();
    for (int i = w->hooked ? 0 : 1; i < s->nnodes; i++)
        if (w->at[i].nlocal)
            starting_await(&w->starting, i);
}

static void set_up_or_start(struct node *n, struct world *w);

static void start(struct sim *s, struct spawn *x, struct world *parent)
{
    struct spawn_blame blame;
    struct bundle b;
    struct err e = { 0 };
    struct world *w;

    if (make_bundle(parent, x, &b, &blame, &e) < 0 || check_bundle(s, &b, &blame, &e) < 0) {
        bundle_clear(&b);
        refuse(s, x, blame.command, blame.code, e.text);
        return;
    }
    w = world_new(s, &b);
    w->parent = parent;
    w->spawner = spawn_rank(x);
    w->serial = atoi(spawn_wants(x)->preput.v[0].value + 1);
    w->spawn = x;
    w->started = true;
    w->hooked = one_in(&s->rng, 3);
    TRACE(s, "root: job %d of %d ranks, started by rank %d of job %d", w->number, w->nranks,
          w->spawner, parent->number);
    await(w);
    node_add_job(&s->nodes[0], w);
    if (spawn_fill(x, w->at[0].job, &e) < 0)
        abort();
    links_made(s, parent->number, w->number);
    if (w->starting.awaited)
        node_send_down(&s->nodes[0], "sim-job", w, -1, 0);
    for (int i = 0; i < w->nranks; i++)
        launch_started(&w->launch, i, -1);
    set_up_or_start(&s->nodes[0], w);
    root_timer(w);
}

void spawn_turn(struct sim *s)
{
    for (int i = 0; i < s->nasked; i++) {
        struct job *asks = spawn_parent(s->asked[i]);
        struct world *parent = asks ? job_link(asks) : NULL;

        if (!parent || parent->launch.ending)
            refuse(s, s->asked[i], 0, ECANCELED, "the job that asks is ending");
        else
            start(s, s->asked[i], parent);
    }
    s->nasked = 0;
}

void spawn_settle(struct world *w)
{
    enum starting_state state = w->spawn ? starting_look(&w->starting, launch_over(&w->launch))
                                         : STARTING_OPEN;
    struct spawn *x = w->spawn;
    struct err why;

    if (state == STARTING_OPEN)
        return;
    w->spawn = NULL;
    w->refused = state == STARTING_FAILED;
    err_set(&why, ERR_OTHER, "not all processes could be started");
    if (w->refused) {
        starting_cancel(&w->starting);
        spawn_done(x, NULL, w->starting.codes, (size_t)w->nranks, &why);
    } else {
        spawn_done(x, w->at[0].job, NULL, 0, NULL);
    }
    node_after(&w->sim->nodes[0]);
}

/* --- a node's part ----------------------------------------------------- */

/* As proxy_job.c: a program that is not there is told for all its ranks, and none of any
 * program is started then. */
static bool find_programs(struct node *n, struct world *w)
{
    const struct part *p = &w->at[n->at];
    bool found = true;

    for (int i = 0; i < p->nlocal; i++)
        if (!strcmp(spawn_program(&w->bundle, p->local[i]), "missing")) {
            node_tell(n, w, "not-started", p->local[i], ENOENT);
            found = false;
        }
    return found;
}

/* Up to one whose exec fails. */
static void start_ranks(struct node *n, struct world *w)
{
    struct sim *s = n->sim;
    const struct part *p = &w->at[n->at];
    bool go_on = find_programs(n, w);

    for (int i = 0; i < p->nlocal; i++) {
        struct rank *r = &w->ranks[p->local[i]];

        if (go_on && !strcmp(spawn_program(&w->bundle, r->rank), "broken")) {
            node_tell(n, w, "not-started", r->rank, ENOEXEC);
            go_on = false;
        }
        r->born = go_on;
        r->ended = !go_on;
        if (go_on)
            queue_add(s, s->now + unit(&s->rng) * 1e-3, EV_START, r->id, 0);
        else
            node_tell(n, w, "never-ran", r->rank, 0);
    }
}

/* As crew_hooks.c: nothing runs before providers have answered, which may take as long as
 * everything else; and then only if nobody has ended the job meanwhile. */
static void set_up_or_start(struct node *n, struct world *w)
{
    struct sim *s = n->sim;
    struct part *p = &w->at[n->at];

    if (!p->nlocal)
        return;
    if (!w->hooked) {
        start_ranks(n, w);
        if (n->at)
            node_tell(n, w, "started", n->at, 0);
        return;
    }
    p->setting_up = true;
    queue_add(s, s->now + unit(&s->rng) * (one_in(&s->rng, 10) ? 5 : 0.01), EV_SET_UP, n->at,
              w->number);
}

static void give_up(struct node *n, struct world *w)
{
    const struct part *p = &w->at[n->at];

    for (int i = 0; i < p->nlocal; i++)
        w->ranks[p->local[i]].ended = true;
    for (int i = 0; i < p->nlocal; i++)
        node_tell(n, w, "not-started", p->local[i], p->cancelled ? ECANCELED : EPERM);
    for (int i = 0; i < p->nlocal; i++)
        node_tell(n, w, "never-ran", p->local[i], 0);
}

void spawn_set_up(struct node *n, struct world *w)
{
    struct part *p = &w->at[n->at];

    if (n->dead || !p->setting_up)
        return;
    p->setting_up = false;
    p->unhooked = !p->cancelled && one_in(&n->sim->rng, 8);
    if (p->cancelled || p->unhooked)
        give_up(n, w);
    else
        start_ranks(n, w);
    node_tell(n, w, "started", n->at, 0);
}

void spawn_begin(struct node *n, struct world *w)
{
    node_send_down(n, "sim-job", w, -1, 0);
    node_add_job(n, w);
    set_up_or_start(n, w);
}
