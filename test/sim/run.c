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
    free(s);
}

/* --- events ------------------------------------------------------------ */

static void happen(struct sim *s, const struct event *e)
{
    struct rank *r = &s->ranks[e->who < s->nranks ? e->who : 0];

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
    case EV_TICK:      root_tick(s); break;
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

/* It waits for an attribute whose putter has ended: nobody can help it. */
static bool waits_for_the_dead(const struct sim *s, const struct rank *r)
{
    for (int i = 0; i < r->nwants; i++)
        if (r->wants[i].act.kind == A_WAIT_ATTR && s->ranks[r->wants[i].act.a].ended)
            return true;
    return false;
}

/* Nothing more happens: who still waits, waits in vain. */
static void settle(struct sim *s)
{
    bool again = true;

    while (again && !s->violated) {
        again = false;
        sim_loop(s);
        for (int i = 0; i < s->nranks; i++)
            if (!s->ranks[i].ended && waits_for_the_dead(s, &s->ranks[i])) {
                rank_end(s, &s->ranks[i], SIGKILL, 0);
                s->struck++;
                again = true;
            }
    }
}

static void check_ended(struct sim *s)
{
    for (int i = 0; i < s->nranks; i++) {
        struct rank *r = &s->ranks[i];
        const char *what = r->nwants ? act_reply((enum act_kind)r->wants[0].act.kind, r->wire) : "";

        if (!r->ended)
            violation(s, "rank %d of %d hangs: waits for %s (%d), before fence %d of %d", i,
                      s->nranks, what, r->nwants ? r->wants[0].act.a : 0, r->gap, s->ncolls);
        if (!r->lost && r->rx.len)
            violation(s, "rank %d has %zu bytes nobody asked for", i, r->rx.len);
    }
    if (!s->scale && !launch_over(&s->launch))
        violation(s, "%d ranks have not ended for the launcher", s->launch.running);
}

/* The first failure counts; without one, the highest status of all ranks. */
static void check_status(struct sim *s)
{
    int status = launch_status(&s->launch), want = s->cause < 0 ? s->highest : s->cause;

    if (!s->scale && status != want)
        violation(s, "exit status %d, want %d", status, want);
    if (!s->struck && (s->launch.ending || s->world_failed || status))
        violation(s, "the job was ended, but nothing has happened");
}

/* In a fault-tolerant job everybody learns who has died. */
static void check_dead_known(struct sim *s, const struct node *n)
{
    for (int i = 0; s->ft && i < s->nranks; i++)
        if (s->ranks[i].dead && (!s->ranks[i].lost) &&
            !s->nodes[s->ranks[i].node].dead &&
            !(n->job->ranks && (n->job->ranks[i] & RANK_DEAD)))
            violation(s, "node %d does not know that rank %d has died", n->at, i);
}

static void check_memory(struct sim *s, const struct node *n)
{
    size_t most = s->put_bytes * 2 + 4096 + (size_t)s->nranks * 64;

    if (job_kvs_bytes(n->job) > most)
        violation(s, "node %d has %zu bytes of keys, %zu were put", n->at,
                  job_kvs_bytes(n->job), s->put_bytes);
    if (!TAILQ_EMPTY(&n->server->asks) && !s->struck)
        violation(s, "node %d has an open question at the end", n->at);
    if (!TAILQ_EMPTY(&n->job->fences) && !s->struck)
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
        free(n->local);
    }
    for (int i = 0; i < s->nranks; i++) {
        framer_clear(&s->ranks[i].framer);
        buf_clear(&s->ranks[i].rx);
        buf_clear(&s->ranks[i].tx);
    }
    model_clear(s);
    for (int i = 0; i < s->ncolls; i++)
        free(s->colls[i].member);
    free(s->colls);
    free(s->map);
    free(s->nodes);
    free(s->ranks);
    launch_clear(&s->launch);
}

static void count(struct sim *s)
{
    s->totals->runs++;
    s->totals->events += s->events;
    s->totals->messages += s->link_messages;
    for (int i = 0; i < s->nranks; i++)
        s->totals->requests += (unsigned long)s->ranks[i].requests;
    for (int i = 0; i < s->nfaults; i++)
        s->totals->not_reached += !s->faults[i].fired;
}

void sim_run(struct sim *s, uint64_t seed)
{
    s->seed = seed;
    s->rng = rng_of(seed, 4, 0);
    s->now = s->last_fault = s->tick_at = 0;
    s->nheap = s->idle = 0;
    s->seq = 0;
    s->events = s->link_messages = 0;
    s->struck = s->highest = 0;
    s->cause = -1;
    s->any_lost = s->violated = false;
    sim_draw(s);
    model_init(s);
    root_start(s);
    nodes_start(s);
    for (int i = 0; i < s->nranks; i++)
        queue_add(s, unit(&s->rng) * 1e-3, EV_START, i, 0);
    for (int i = 0; i < s->nfaults; i++)
        if (!s->faults[i].at_request) {
            s->faults[i].fired = true;
            queue_add(s, unit(&s->rng) * 1.2e-3, EV_FAULT, i, 0);
        }
    settle(s);
    if (!s->violated)
        check_ended(s);
    if (!s->violated)
        check_status(s);
    if (!s->violated)
        check_nodes(s);
    if (!s->violated)
        net_check_quiet(s);
    count(s);
    sim_end(s);
}
