/* root.c - the root's launcher: the real decisions of mpiexec_lite/launch.c about each job,
 * with the time of the simulation, and what ends with what. */
#include "test/sim/sim.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void op_kill_all(void *host, int signo)
{
    struct world *w = host;

    TRACE(w->sim, "root: signal %d to all of job %d", signo, w->number);
    node_signal(&w->sim->nodes[0], w, -1, signo);
}

static void op_kill_rank(void *host, int rank, int signo)
{
    struct world *w = host;

    node_signal(&w->sim->nodes[0], w, rank, signo);
}

static void op_tell(void *host, const char *text)
{
    TRACE(((struct world *)host)->sim, "root says: %s", text);
}

static void op_sweep(void *host)
{
    struct world *w = host;

    if (!launch_over(&w->launch) && !w->sim->leases)
        violation(w->sim, "KILL did not end every rank: a sweep was wanted");
}

static const struct launch_ops ops = { op_kill_all, op_kill_rank, op_tell, op_sweep };

static const char *name_of(void *host, int rank)
{
    (void)host;
    (void)rank;
    return "sim";
}

void root_init(struct world *w)
{
    struct launch *l = &w->launch;

    if (launch_init(l, &ops, w, w->nranks) < 0)
        abort();
    l->hostname = l->program = name_of;
    l->keep_going = w->sim->ft;
    l->number = w->number;
}

void root_timer(struct world *w)
{
    struct sim *s = w->sim;
    double due = launch_due(&w->launch);

    root_wake(s, 0);
    if (!(due > 0) || due == w->tick_at)
        return;
    w->tick_at = due;
    queue_add(s, due > s->now ? due : s->now, EV_TICK, w->number, 0);
}

/* --- what the exit status is to be -------------------------------------- */

static int failure(int wstatus)
{
    int code = shell_status(wstatus);

    return code ? code : 1;
}

void root_cause(struct world *w, int status)
{
    struct sim *s = w->sim;
    const struct launch *l = &w->launch;

    if (w->cause < 0)
        w->cause = status;
    if (!s->ft && !l->ending)
        violation(s, "job %d goes on after a failure with %d", w->number, status);
    if (l->ending && l->status != w->cause)
        violation(s, "job %d ends with %d, but the first failure was one with %d", w->number,
                  l->status, w->cause);
}

/* The end of a rank, by what has truly happened to it. */
static void cause_of_end(struct world *w, int rank, int wstatus, bool forgiven)
{
    int code = forgiven ? 1 : shell_status(wstatus);

    w->highest = code > w->highest ? code : w->highest;
    if (!forgiven && (WIFSIGNALED(wstatus) || w->ranks[rank].dead))
        root_cause(w, failure(wstatus));
}

/* Time was up for a rank that hung up, or for a fence that misses one which has ended. */
static void cause_of_tick(struct world *w)
{
    const struct launch *l = &w->launch;
    const struct rank *r = l->stuck_rank < 0 ? NULL : &w->ranks[l->stuck_rank];

    if (l->status != 1 && !(r && r->ended && l->status == failure(r->wstatus)))
        violation(w->sim, "job %d ends with %d after a while; %d is missed", w->number, l->status,
                  l->stuck_rank);
    root_cause(w, l->status);
}

void root_tick(struct world *w)
{
    bool before = w->launch.ending;

    w->tick_at = 0;
    launch_tick(&w->launch, w->sim->now);
    if (!before && w->launch.ending)
        cause_of_tick(w);
    root_timer(w);
}

/* --- what is heard ----------------------------------------------------- */

/* As root_new_failed: with it go the rest of the same program there. */
static void not_started(struct world *w, int rank, int errnum)
{
    const struct plan *p = &w->bundle.plan;

    for (int i = rank; i < w->nranks && plan_app_of(p, i) == plan_app_of(p, rank); i++)
        if (w->ranks[i].node == w->ranks[rank].node)
            starting_failed(&w->starting, i, errnum);
    launch_end(&w->launch, w->sim->now, 0);
    root_cause(w, 0);
}

static void ended(struct world *w, int rank, int code)
{
    struct launch *l = &w->launch;
    bool forgiven = l->ranks[rank].forgiven && w->ranks[rank].hung;

    if (l->ranks[rank].ended) {
        TRACE(w->sim, "job %d: rank %d was lost already", w->number, rank);
        return;
    }
    launch_ended(l, w->sim->now, rank, code);
    cause_of_end(w, rank, code, forgiven);
}

void root_hear(struct world *w, const char *what, int rank, int code)
{
    struct sim *s = w->sim;
    struct launch *l = &w->launch;

    TRACE(s, "root hears: job %d: rank %d %s %d", w->number, rank, what, code);
    if (w->gone)
        return;
    if (!strcmp(what, "initialized"))
        launch_initialized(l, rank);
    else if (!strcmp(what, "finalized"))
        launch_finalized(l, rank);
    else if (!strcmp(what, "abort")) {
        launch_aborted(l, s->now, rank, true, code, "");
        root_cause(w, failure(code << 8));
    } else if (!strcmp(what, "hung-up"))
        launch_hung_up(l, s->now, rank);
    else if (!strcmp(what, "ended"))
        ended(w, rank, code);
    else if (!strcmp(what, "not-started"))
        not_started(w, rank, code);
    else if (!strcmp(what, "never-ran"))
        launch_never_ran(l, rank);
    else if (!strcmp(what, "started"))
        starting_said(&w->starting, rank);
    else if (!strcmp(what, "lost"))
        root_lost(s, rank);
    else
        violation(s, "the root was told %s", what);
    root_timer(w);
}

/* --- nodes that are lost ------------------------------------------------ */

/* As mpiexec_lite/root_job.c has it: all ranks, for those that have ended may be missed in
 * a fence, and their server can no longer say so. */
static void lose_ranks(struct world *w, int position)
{
    const struct part *p = &w->at[position];

    for (int i = 0; w->started && i < p->nlocal; i++) {
        int rank = p->local[i];

        w->ranks[rank].given_up = true;
        job_rank_lost(w->at[0].job, rank);
        launch_lost(&w->launch, rank);
        if (!w->spawn)
            continue;
        starting_failed(&w->starting, rank, EHOSTUNREACH);
        launch_end(&w->launch, w->sim->now, 0);
    }
    if (w->spawn)
        starting_said(&w->starting, position);
}

static void lose(struct sim *s, int position)
{
    s->nodes[position].given_up = true;
    for (int i = 0; i < s->nworlds; i++)
        if (!s->worlds[i]->gone)
            lose_ranks(s->worlds[i], position);
}

/* The main job is on all nodes. */
static void end_where_it_was(struct world *w, int position)
{
    if (w->gone || (w->number && !world_has_node(w, position)))
        return;
    if (!w->launch.ending)
        launch_node_lost(&w->launch, w->sim->now, "a node is lost");
    root_cause(w, EXIT_LAUNCHER);
}

void root_lost(struct sim *s, int position)
{
    for (int i = 0; i < s->nworlds; i++)
        end_where_it_was(s->worlds[i], position);
    for (int i = position; i < s->nnodes; i++)
        if (i == position || tree_next(&s->tree, position, i) >= 0)
            lose(s, i);
    node_after(&s->nodes[0]);
    for (int i = 0; i < s->nworlds; i++)
        root_timer(s->worlds[i]);
}

/* --- turns of its loop -------------------------------------------------- */

void root_wake(struct sim *s, double delay)
{
    if (delay > 0) {
        queue_add(s, s->now + delay, EV_TURN, 0, 0);
        return;
    }
    if (!s->turning && !s->scale)
        queue_add(s, s->now, EV_TURN, 0, 0);
    s->turning = true;
}

/* What the model knows: who is connected to a job that has failed ends, nobody else. */
static void check_followed(struct sim *s, const struct world *failed, const struct world *w,
                           bool follows)
{
    bool sure = links_sure(s, failed->number, w->number, s->now, s->now);
    bool possible = links_possible(s, failed->number, w->number, s->now, s->now);

    if (follows && !possible)
        violation(s, "job %d ends with job %d, and is not connected to it", w->number,
                  failed->number);
    if (sure && !w->launch.ending && !w->done)
        violation(s, "job %d goes on, and is connected to job %d, which has failed", w->number,
                  failed->number);
}

/* As root_jobs_follow. */
static void follow(struct sim *s, struct world *failed)
{
    failed->followed = true;
    for (int i = 0; i < s->nworlds; i++) {
        struct world *w = s->worlds[i];
        bool follows = w != failed && !w->gone && !w->done && !w->launch.ending &&
                       !failed->refused && job_connected(failed->at[0].job, w->at[0].job);

        if (follows) {
            launch_end(&w->launch, s->now, failed->launch.status);
            root_cause(w, failed->launch.status);
            root_timer(w);
        }
        if (w != failed && !w->gone && !failed->refused)
            check_followed(s, failed, w, follows);
    }
}

static void forget(struct world *w)
{
    struct sim *s = w->sim;

    TRACE(s, "root: job %d is forgotten", w->number);
    w->gone = true;
    links_gone(s, w);
    names_gone(s, w);
    node_drop_job(&s->nodes[0], w);
}

/* As root_job_step: it is over, and a while later, when its output is here, done. */
static void step(struct world *w)
{
    struct sim *s = w->sim;

    spawn_settle(w);
    if (w->gone || w->done || w->spawn || !launch_over(&w->launch) ||
        (!w->started && !w->launch.ending) || (w->launch.ending && !w->followed))
        return;
    if (!(w->over_at > 0)) {
        w->over_at = s->now + unit(&s->rng) * (one_in(&s->rng, 8) ? 0.1 : 1e-3);
        root_wake(s, w->over_at - s->now);
    }
    if (s->now < w->over_at)
        return;
    w->done = true;
    if (w->number)
        forget(w);
}

void root_turn(struct sim *s)
{
    s->turning = false;
    spawn_turn(s);
    for (int i = 0; i < s->nworlds; i++)
        if (s->worlds[i]->launch.ending && !s->worlds[i]->followed && !s->worlds[i]->spawn)
            follow(s, s->worlds[i]);
    for (int i = 0; i < s->nworlds; i++)
        step(s->worlds[i]);
    for (int i = 0; i < s->nworlds; i++)
        if (s->worlds[i]->launch.ending && !s->worlds[i]->followed && !s->worlds[i]->spawn)
            root_wake(s, 0);
}
