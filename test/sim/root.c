/* root.c - the root's launcher: the real decisions of mpiexec_lite/launch.c, with the
 * time of the simulation. */
#include "test/sim/sim.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static void op_kill_all(void *host, int signo)
{
    struct sim *s = host;

    TRACE(s, "root: signal %d to all", signo);
    node_signal(&s->nodes[0], -1, signo);
}

static void op_kill_rank(void *host, int rank, int signo)
{
    node_signal(&((struct sim *)host)->nodes[0], rank, signo);
}

static void op_tell(void *host, const char *text)
{
    struct sim *s = host;

    TRACE(s, "root says: %s", text);
}

static void op_sweep(void *host)
{
    struct sim *s = host;

    if (!launch_over(&s->launch) && !s->leases)
        violation(s, "KILL did not end every rank: a sweep was wanted");
}

static const struct launch_ops ops = { op_kill_all, op_kill_rank, op_tell, op_sweep };

static const char *name_of(void *host, int rank)
{
    (void)host;
    (void)rank;
    return "sim";
}

void root_start(struct sim *s)
{
    if (launch_init(&s->launch, &ops, s, s->nranks) < 0)
        return;
    s->launch.hostname = s->launch.program = name_of;
    s->launch.keep_going = s->ft;
    for (int i = 0; i < s->nranks; i++)
        launch_started(&s->launch, i, -1);
}

void root_timer(struct sim *s)
{
    double due = launch_due(&s->launch);

    if (!(due > 0) || due == s->tick_at)
        return;
    s->tick_at = due;
    queue_add(s, due > s->now ? due : s->now, EV_TICK, 0, 0);
}

/* --- what the exit status is to be -------------------------------------- */

static int failure(int wstatus)
{
    int code = shell_status(wstatus);

    return code ? code : 1;
}

/* A failure that counts if it is the first; the job ends with it. */
static void cause(struct sim *s, int status)
{
    if (s->cause < 0)
        s->cause = status;
    if (!s->ft && !s->launch.ending)
        violation(s, "the job goes on after a failure with %d", status);
    if (s->launch.ending && s->launch.status != s->cause)
        violation(s, "the job ends with %d, but the first failure was one with %d",
                  s->launch.status, s->cause);
}

/* The end of a rank, by what has truly happened to it. */
static void cause_of_end(struct sim *s, int rank, int wstatus, bool forgiven)
{
    int code = forgiven ? 1 : shell_status(wstatus);

    s->highest = code > s->highest ? code : s->highest;
    if (!forgiven && (WIFSIGNALED(wstatus) || s->ranks[rank].dead))
        cause(s, failure(wstatus));
}

/* Time was up for a rank that hung up, or for a fence that misses one which has ended. */
static void cause_of_tick(struct sim *s)
{
    const struct launch *l = &s->launch;
    const struct rank *r = l->stuck_rank < 0 ? NULL : &s->ranks[l->stuck_rank];

    if (l->status != 1 && !(r && r->ended && l->status == failure(r->wstatus)))
        violation(s, "the job ends with %d after a while; %d is missed", l->status, l->stuck_rank);
    cause(s, l->status);
}

void root_tick(struct sim *s)
{
    bool before = s->launch.ending;

    s->tick_at = 0;
    launch_tick(&s->launch, s->now);
    if (!before && s->launch.ending)
        cause_of_tick(s);
    root_timer(s);
}

void root_hear(struct sim *s, const char *what, int rank, int code)
{
    struct launch *l = &s->launch;

    TRACE(s, "root hears: rank %d %s %d", rank, what, code);
    if (!strcmp(what, "initialized"))
        launch_initialized(l, rank);
    else if (!strcmp(what, "finalized"))
        launch_finalized(l, rank);
    else if (!strcmp(what, "abort")) {
        launch_aborted(l, s->now, rank, true, code, "");
        cause(s, failure(code << 8));
    } else if (!strcmp(what, "hung-up"))
        launch_hung_up(l, s->now, rank);
    else if (!strcmp(what, "ended") && l->ranks[rank].ended)
        TRACE(s, "rank %d was lost already", rank);
    else if (!strcmp(what, "ended")) {
        bool forgiven = l->ranks[rank].forgiven && s->ranks[rank].hung;

        launch_ended(l, s->now, rank, code);
        cause_of_end(s, rank, code, forgiven);
    } else if (!strcmp(what, "lost"))
        root_lost(s, rank);
    else
        violation(s, "the root was told %s", what);
    root_timer(s);
}

/* As mpiexec_lite/root_tree.c has it: all ranks, for those that have ended may be
 * missed in a fence, and their server can no longer say so. */
static void lose_ranks(struct sim *s, const struct node *n)
{
    for (int i = 0; i < n->nlocal; i++) {
        s->ranks[n->local[i]].given_up = true;
        job_rank_lost(s->nodes[0].job, n->local[i]);
        launch_lost(&s->launch, n->local[i]);
    }
}

void root_lost(struct sim *s, int position)
{
    s->any_lost = true;
    if (!s->launch.ending)
        launch_node_lost(&s->launch, s->now, "a node is lost");
    cause(s, EXIT_LAUNCHER);
    for (int i = position; i < s->nnodes; i++)
        if (i == position || tree_next(&s->tree, position, i) >= 0)
            lose_ranks(s, &s->nodes[i]);
    node_after(&s->nodes[0]);
    root_timer(s);
}
