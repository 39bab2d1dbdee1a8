/* fault.c - ranks that end, links that are cut, nodes that die: at any moment. */
#include "test/sim/sim.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const fault_names[FAULTS] = {
    "exit", "signal", "early finalize", "abort", "hang up", "node dies", "link is cut", "silent cut"
};
const char *const phase_names[PHASES] = {
    "launch", "init", "between", "fence", "get", "spawn", "connect", "name", "wait", "finalize",
    "ending"
};

static enum phase phase_of(const struct act *a)
{
    switch ((enum act_kind)a->kind) {
    case A_COLL: case A_RING:                            return PH_FENCE;
    case A_SPAWN:                                        return PH_SPAWN;
    case A_WAIT_ATTR: case A_WAIT_NAME:                  return PH_WAIT;
    case A_CONNECT: case A_DISCONNECT: case A_GET_OF:    return PH_CONNECT;
    case A_PUBLISH: case A_UNPUBLISH: case A_LOOKUP:     return PH_NAME;
    case A_GET: case A_GET_SHARED: case A_PREPUT:        return PH_GET;
    default:                                             return PH_BETWEEN;
    }
}

/* Of several things under way, the rarest. */
static bool is_rarer(enum phase a, enum phase b)
{
    static const int how_rare[PHASES] = { [PH_GET] = 1, [PH_FENCE] = 2, [PH_NAME] = 3,
                                          [PH_CONNECT] = 4, [PH_WAIT] = 5, [PH_SPAWN] = 6 };

    return how_rare[a] > how_rare[b];
}

enum phase rank_phase(const struct rank *r)
{
    enum phase p = PH_BETWEEN;

    if (r->world->launch.ending || r->ended || r->lost)
        return PH_ENDING;
    if (!r->requests)
        return PH_LAUNCH;
    if (!r->ready)
        return PH_INIT;
    if (r->finalizing || r->done)
        return PH_FINALIZE;
    for (int i = 0; i < r->nwants; i++)
        if (is_rarer(phase_of(&r->wants[i].act), p))
            p = phase_of(&r->wants[i].act);
    return p;
}

/* --- ranks ------------------------------------------------------------- */

void rank_end(struct sim *s, struct rank *r, int wstatus, double delay)
{
    if (r->ended || r->dying)
        return;
    r->dying = 1;
    queue_add(s, s->now + delay, EV_END, r->id, wstatus);
}

/* The process is gone; what it has sent is still there. */
void rank_ended(struct sim *s, struct rank *r, int wstatus)
{
    if (r->ended || r->lost)
        return;
    r->ended = true;
    r->wstatus = wstatus;
    TRACE(s, "job %d rank %d ends with %d", r->world->number, r->rank, shell_status(wstatus));
    buf_clear(&r->rx);
    queue_add(s, s->now + unit(&s->rng) * 2e-4, EV_REAP, r->id, 0);
    if (!s->scale && one_in(&s->rng, 2) && r->conn && r->ready && !r->done)
        node_tell(&s->nodes[r->node], r->world, "hung-up", r->rank, 0);
}

static struct member *member_of(const struct rank *r)
{
    return job_member(r->world->at[r->node].job, r->rank);
}

/* Its server has taken all that it said, and closes the connection. */
static void close_conn(struct rank *r, struct member *m)
{
    if (!r->conn)
        return;
    conn_drain(r->conn);
    if (r->tx.len)
        conn_input(r->conn, buf_bytes(&r->tx), r->tx.len);
    buf_clear(&r->tx);
    r->dead = member_state(m) != MEMBER_NEW && member_state(m) != MEMBER_FINAL &&
              member_ever_initialized(m);
    conn_free(r->conn);
    r->conn = NULL;
}

/* It closes its connection and lives on, until somebody ends it; if it has finalized,
 * nobody has a reason to. */
static void hang_up(struct sim *s, struct rank *r)
{
    struct node *n = &s->nodes[r->node];

    if (!r->ready || r->dying || !r->conn)
        return;
    r->hung = true;
    r->nwants = r->blocking = 0;
    buf_clear(&r->rx);
    close_conn(r, member_of(r));
    node_tell(n, r->world, "hung-up", r->rank, 0);
    if (!r->dead)
        rank_end(s, r, 0, unit(&s->rng) * 1e-2);
    node_after(n);
}

/* Its server learns of it: as node.c of mpiexec_lite has it. */
void rank_reap(struct sim *s, struct rank *r)
{
    struct node *n = &s->nodes[r->node];
    struct member *m;

    if (n->dead || r->reaped)
        return;
    r->reaped = true;
    m = member_of(r);
    close_conn(r, m);
    node_tell(n, r->world, "ended", r->rank, r->wstatus);
    member_ended(m);
    node_after(n);
}

void rank_signalled(struct sim *s, struct rank *r, int signo)
{
    if (signo == SIGKILL || !one_in(&s->rng, 6)) /* some take TERM in their stride */
        rank_end(s, r, signo, signo == SIGKILL ? 0 : unit(&s->rng) * 1e-2);
    if (signo == SIGKILL && !r->ended)   /* even if it was about to end otherwise */
        queue_add(s, s->now, EV_END, r->id, signo);
}

static void abort_world(struct sim *s, struct rank *r, int code)
{
    char body[64], text[80];
    int n;

    if (!r->ready || r->done)
        return;
    snprintf(body, sizeof body, "cmd=abort;isworld=TRUE;exitcode=%d;", code);
    n = r->wire == WIRE_1 ? snprintf(text, sizeof text, "cmd=abort exitcode=%d\n", code) :
                            snprintf(text, sizeof text, "%6zu%s", strlen(body), body);
    buf_add(&r->tx, text, (size_t)n);
    queue_add(s, r->tx_last > s->now ? r->tx_last : s->now, EV_BYTES, r->id, n);
}

/* --- nodes ------------------------------------------------------------- */

static void lose_rank(struct sim *s, struct rank *r)
{
    TRACE(s, "rank %d is lost", r->rank);
    r->lost = true;
    r->ended = true;
    r->nwants = r->blocking = 0;
    buf_clear(&r->rx);
    buf_clear(&r->tx);
}

void node_die(struct sim *s, struct node *n)
{
    if (n->dead || n->parent < 0)
        return;
    TRACE(s, "node %d dies", n->at);
    n->dead = true;
    if (!n->cut)
        net_end(s, n->at, true);
    for (int i = 0; i < n->nchildren; i++)
        if (!s->nodes[n->first_child + i].dead && !s->nodes[n->first_child + i].cut) {
            net_end(s, n->first_child + i, false);
            s->nodes[n->first_child + i].cut = true;
        }
    n->cut = true;
    for (int i = 0; i < s->nprocs; i++)
        if (s->procs[i]->node == n->at)
            lose_rank(s, s->procs[i]);
    node_free(n);
}

/* What a server lost was below another one. */
static void lose_below(struct sim *s, struct node *n, int child)
{
    for (int i = 0; i < s->nprocs; i++) {
        const struct rank *r = s->procs[i];
        struct job *j = r->world->at[n->at].job;

        if (r->node == child && j)
            job_rank_lost(j, r->rank);
    }
    for (int i = 0; i < s->nodes[child].nchildren; i++)
        lose_below(s, n, s->nodes[child].first_child + i);
}

/* The parent of child sees the end of their link. */
void node_lost_below(struct sim *s, int child)
{
    struct node *n = &s->nodes[s->nodes[child].parent];

    if (n->dead || s->nodes[child].up_gone)
        return;
    TRACE(s, "node %d has lost node %d", n->at, child);
    s->nodes[child].up_gone = true;
    s->nodes[child].cut = true;
    peer_free(n->down[child - n->first_child]);
    n->down[child - n->first_child] = NULL;
    for (struct node *above = n; above->at; above = &s->nodes[above->parent])
        lose_below(s, above, child);
    node_tell(n, s->main, "lost", child, 0);
    node_after(n);
    node_room(n);
}

/* Child sees the end of the link to its parent: it ends its ranks, and itself. */
void node_lost_above(struct sim *s, int child)
{
    struct node *n = &s->nodes[child];

    n->cut = true;
    node_die(s, n);
}

static void cut(struct sim *s, struct node *n, bool silent)
{
    if (n->cut || n->dead || n->parent < 0)
        return;
    TRACE(s, "the link above node %d is cut%s", n->at, silent ? " silently" : "");
    if (!silent) {
        net_end(s, n->at, true);
        net_end(s, n->at, false);
    }
    n->silent = silent;
    n->cut = true;
}

static void beat(struct sim *s, int child, bool below)
{
    static const char frame[] = "    13cmd=sim-beat;";

    net_send(s, child, below, LINK_CONTROL, frame, sizeof frame - 1, NULL, 0);
}

void node_lease(struct sim *s, int child, bool below)
{
    struct node *n = &s->nodes[child], *end = below ? n : &s->nodes[n->parent];
    struct lease *l = below ? &n->lease_here : &n->lease_up;
    enum lease_action a;

    if (end->dead || (!below && n->up_gone))
        return;
    a = lease_tick(l, s->now);
    if (a == LEASE_LOST && !n->cut)
        violation(s, "node %d takes its neighbour at %d for lost, which is not", end->at, child);
    if (a == LEASE_LOST && below)
        node_lost_above(s, child);
    else if (a == LEASE_LOST)
        node_lost_below(s, child);
    if (a == LEASE_BEAT)
        beat(s, child, below);
    if (a == LEASE_BEAT)
        lease_said(l, s->now);
    if (a != LEASE_LOST)
        queue_add(s, lease_due(l), EV_LEASE, child, below);
}

/* --- when -------------------------------------------------------------- */

/* A rank has just asked for such a thing, and others have often enough before. */
static bool is_within(const struct rank *r, struct fault *f)
{
    return r->nwants && r->wants[r->nwants - 1].act.kind == f->within && f->at_request-- <= 0;
}

static bool is_due(const struct rank *r, const struct fault *f)
{
    return f->job == r->world->number && f->rank % r->world->nranks == r->rank &&
           r->requests >= f->at_request;
}

void fault_check(struct sim *s, struct rank *r)
{
    for (int i = 0; i < s->nfaults; i++) {
        struct fault *f = &s->faults[i];

        if (f->fired || !(f->within ? is_within(r, f) : is_due(r, f)))
            continue;
        f->fired = true;
        f->job = r->world->number;
        f->rank = r->rank;
        queue_add(s, s->now + f->delay, EV_FAULT, i, 0);
    }
}

void fault_strike(struct sim *s, int i)
{
    struct fault *f = &s->faults[i];
    const struct world *w = s->worlds[f->job];
    struct rank *r = &w->ranks[f->rank];
    struct node *n = &s->nodes[r->node];

    s->totals->faults[f->kind][rank_phase(r)]++;
    s->last_fault = s->now;
    if (r->lost || (r->ended && f->kind < F_NODE))
        return;
    TRACE(s, "fault: %s, job %d rank %d, node %d", fault_names[f->kind], w->number, r->rank, n->at);
    s->struck++;
    switch (f->kind) {
    case F_EXIT: case F_SIGNAL: rank_end(s, r, f->status, 0); break;
    case F_LEAVE:  r->leave = true; break;
    case F_ABORT:  abort_world(s, r, f->status >> 8); break;
    case F_HANG:   hang_up(s, r); break;
    case F_NODE:   node_die(s, n); break;
    case F_CUT:    cut(s, n, false); break;
    case F_SILENT: cut(s, n, true); break;
    case FAULTS:   break;
    }
}
