/* run.c - one run of a seed: events until nothing is left to happen, and what must hold
 * then. */
#include "test/sim/sim.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EVENTS = 3000000 };
static const double MAX_TIME = 90;       /* virtual seconds from the last fault to the end */

void violation(struct sim *s, const char *fmt, ...)
{
    va_list ap;

    if (s->violated)
        return;
    s->violated = true;
    va_start(ap, fmt);
    vsnprintf(s->text, sizeof s->text, fmt, ap);
    va_end(ap);
}

void trace(struct sim *s, const char *fmt, ...)
{
    struct buf raw = BUF_INIT, safe = BUF_INIT;
    char text[1000];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    buf_escaped(&safe, text, strlen(text));
    printf("%12.6f %s\n", s->now, buf_bytes(&safe));
    buf_clear(&safe);
    buf_clear(&raw);
}

struct sim *sim_new(const struct config *c, struct totals *t)
{
    struct sim *s = calloc(1, sizeof *s);

    if (!s)
        abort();
    s->config = *c;
    s->totals = t;
    msg_init(&s->in);
    msg_init(&s->out);
    return s;
}

void sim_free(struct sim *s)
{
    msg_clear(&s->in);
    msg_clear(&s->out);
    free(s->heap);
    free(s->procs);
    free(s);
}

/* --- events ------------------------------------------------------------ */

static void happen(struct sim *s, const struct event *e)
{
    struct rank *r = s->procs[e->who < s->nprocs ? e->who : 0];

    switch (e->kind) {
    case EV_START:     rank_start(s, r); rank_go(s, r); break;
    case EV_BYTES:     rank_bytes(s, r, (size_t)e->arg); break;
    case EV_READ:      rank_read(s, r); break;
    case EV_SIGNAL:    rank_signalled(s, r, (int)e->arg); break;
    case EV_END:       rank_ended(s, r, (int)e->arg); break;
    case EV_REAP:      rank_reap(s, r); break;
    case EV_UP:        net_arrived(s, e->who, true); break;
    case EV_DOWN:      net_arrived(s, e->who, false); break;
    case EV_LOST_DOWN: node_lost_below(s, e->who); break;
    case EV_LOST_UP:   node_lost_above(s, e->who); break;
    case EV_WRITTEN:   net_written(s, e->who, e->arg); break;
    case EV_LEASE:     node_lease(s, e->who, e->arg); break;
    case EV_SET_UP:    spawn_set_up(&s->nodes[e->who], s->worlds[e->arg]); break;
    case EV_TICK:      root_tick(s->worlds[e->who]); break;
    case EV_TURN:      root_turn(s); break;
    case EV_TIMER:     names_due(s, (unsigned)e->arg); break;
    case EV_FAULT:     fault_strike(s, e->who); break;
    case EV_GO_ON:
        s->nodes[e->who].stalled = false;
        node_room(&s->nodes[e->who]);
        break;
    case EV_FLUSH:
        s->nodes[e->who].flushing = false;
        if (s->nodes[e->who].server)
            server_flush(s->nodes[e->who].server);
        break;
    }
}

/* A silent cut that nobody has noticed yet. */
static bool unnoticed(const struct sim *s)
{
    for (int i = 1; s->leases && i < s->nnodes; i++) {
        const struct node *n = &s->nodes[i];

        if (n->silent && (!n->dead || (!n->up_gone && !s->nodes[n->parent].dead)))
            return true;
    }
    return false;
}

static bool goes_on(struct sim *s)
{
    if (s->violated || (s->nheap == s->idle && !unnoticed(s)))
        return false;
    if (!s->scale && ++s->events > MAX_EVENTS)
        violation(s, "no end after %d events", MAX_EVENTS);
    if (!s->scale && s->now > s->last_fault + MAX_TIME)
        violation(s, "no end %g s after the last fault", MAX_TIME);
    return !s->violated;
}

void sim_loop(struct sim *s)
{
    struct event e;

    while (goes_on(s) && queue_take(s, &e)) {
        s->now = e.at;
        happen(s, &e);
    }
}

/* --- the end ----------------------------------------------------------- */

/* It waits for an attribute whose putter has ended, or for a name that nobody has
 * published: nobody can help it. */
static bool waits_in_vain(const struct sim *s, const struct rank *r)
{
    for (int i = 0; i < r->nwants; i++) {
        const struct act *a = &r->wants[i].act;

        if ((a->kind == A_WAIT_ATTR && r->world->ranks[a->a].ended) ||
            (a->kind == A_WAIT_NAME && !names_there(s, r, a->a)))
            return true;
    }
    return false;
}

/* Nothing more happens: who still waits, waits in vain. */
static void settle(struct sim *s)
{
    bool again = true;

    while (again && !s->violated) {
        again = false;
        sim_loop(s);
        for (int i = 0; i < s->nprocs && !again; i++)
            if (!s->procs[i]->ended && waits_in_vain(s, s->procs[i])) {
                rank_end(s, s->procs[i], SIGKILL, 0);
                s->struck++;
                again = true;
            }
    }
}

/* In a fault-tolerant job everybody learns who has died. */
static void check_dead_known(struct sim *s, const struct node *n)
{
    const struct job *j = s->main->at[n->at].job;

    for (int i = 0; s->ft && i < s->main->nranks; i++) {
        const struct rank *r = &s->main->ranks[i];

        if (r->dead && !r->lost && !s->nodes[r->node].dead &&
            !(j->ranks && (j->ranks[i] & RANK_DEAD)))
            violation(s, "node %d does not know that rank %d has died", n->at, i);
    }
}

/* Of what has ended, nothing is left. */
static void check_memory(struct sim *s, const struct node *n)
{
    struct job *j = s->main->at[n->at].job;
    size_t most = s->main->put_bytes * 2 + 4096 + (size_t)s->main->nranks * 64;

    if (job_kvs_bytes(j) > most)
        violation(s, "node %d has %zu bytes of keys, %zu were put", n->at, job_kvs_bytes(j),
                  s->main->put_bytes);
    if (TAILQ_FIRST(&n->server->jobs) != j || TAILQ_NEXT(j, in_server))
        violation(s, "node %d keeps a job that is over", n->at);
    if (!TAILQ_EMPTY(&n->server->spawns))
        violation(s, "node %d has a spawn under way at the end", n->at);
    if (!TAILQ_EMPTY(&n->server->asks) && !s->struck)
        violation(s, "node %d has an open question at the end", n->at);
    if (!TAILQ_EMPTY(&n->server->names_asked) && !s->struck)
        violation(s, "node %d has an open question about a name at the end", n->at);
    if (!TAILQ_EMPTY(&j->fences) && !s->struck)
        violation(s, "node %d has an open fence at the end", n->at);
}

static void check_nodes(struct sim *s)
{
    for (int i = 0; i < s->nnodes; i++) {
        struct node *n = &s->nodes[i];

        if (n->dead || n->cut)
            continue;
        server_flush(n->server);
        check_dead_known(s, n);
        check_memory(s, n);
    }
}

void sim_end(struct sim *s)
{
    for (int i = s->nnodes - 1; i >= 0; i--) {
        struct node *n = &s->nodes[i];

        node_free(n);
        net_clear(&n->lower);
        net_clear(&n->upper);
    }
    for (int i = 0; i < s->nworlds; i++)
        world_free(s->worlds[i]);
    free(s->nodes);
}

static void count(struct sim *s)
{
    s->totals->runs++;
    s->totals->events += s->events;
    s->totals->messages += s->link_messages;
    for (int i = 0; i < s->nprocs; i++)
        s->totals->requests += (unsigned long)s->procs[i]->requests;
    for (int i = 0; i < s->nfaults; i++)
        s->totals->not_reached += !s->faults[i].fired;
}

/* Everything of the run before is forgotten, but for its room. */
static void reset(struct sim *s, uint64_t seed)
{
    struct sim kept = *s;

    memset(s, 0, sizeof *s);
    s->config = kept.config;
    s->totals = kept.totals;
    s->scale = kept.scale;
    s->waits = kept.waits;
    s->heap = kept.heap;
    s->heap_cap = kept.heap_cap;
    s->procs = kept.procs;
    s->procs_cap = kept.procs_cap;
    s->in = kept.in;
    s->out = kept.out;
    s->seed = seed;
    s->rng = rng_of(seed, 4, 0);
}

static void check(struct sim *s)
{
    for (int i = 0; i < s->nworlds && !s->violated; i++)
        world_check_end(s->worlds[i]);
    if (!s->violated)
        check_nodes(s);
    if (!s->violated)
        names_check_end(s);
    if (!s->violated)
        net_check_quiet(s);
}

void sim_run(struct sim *s, uint64_t seed)
{
    reset(s, seed);
    sim_draw(s);
    nodes_start(s);
    world_start_main(s);
    for (int i = 0; i < s->nfaults; i++)
        if (!s->faults[i].at_request && !s->faults[i].job && !s->faults[i].within) {
            s->faults[i].fired = true;
            queue_add(s, unit(&s->rng) * 1.2e-3, EV_FAULT, i, 0);
        }
    settle(s);
    if (!s->violated)
        check(s);
    count(s);
    sim_end(s);
}
