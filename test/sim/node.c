/* node.c - servers: their host operations, and what launchers say to each other about
 * jobs and ranks ("sim-event" up; "sim-signal", "sim-job" and "sim-job-end" down), which
 * stands for mpiexec_lite/proxy*.c. */
#include "test/sim/sim.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- saying ------------------------------------------------------------ */

static void send_out(struct sim *s, int child, bool up)
{
    struct buf frame = BUF_INIT;

    if (wire_v2.format(&s->out, LIMIT_FRAME_LINK, &frame, NULL) < 0)
        abort();
    net_send(s, child, up, LINK_CONTROL, buf_bytes(&frame), frame.len, NULL, 0);
    buf_clear(&frame);
}

void node_tell(struct node *n, const struct world *w, const char *what, int rank, int code)
{
    struct sim *s = n->sim;

    if (s->scale)
        return;
    if (n->parent < 0) {
        root_hear(s->worlds[w->number], what, rank, code);
        return;
    }
    msg_start(&s->out, "sim-event");
    msg_int(&s->out, "number", w->number);
    msg_str(&s->out, "what", what);
    msg_int(&s->out, "rank", rank);
    msg_int(&s->out, "code", code);
    send_out(s, n->at, true);
}

void node_send_down(struct node *n, const char *cmd, const struct world *w, int rank, int signo)
{
    struct sim *s = n->sim;

    for (int i = 0; i < n->nchildren; i++) {
        msg_start(&s->out, cmd);
        msg_int(&s->out, "number", w->number);
        msg_int(&s->out, "rank", rank);
        msg_int(&s->out, "signo", signo);
        send_out(s, n->first_child + i, false);
    }
}

void node_signal(struct node *n, struct world *w, int rank, int signo)
{
    struct sim *s = n->sim;
    struct part *p = &w->at[n->at];

    node_send_down(n, "sim-signal", w, rank, signo);
    if (p->setting_up && !p->cancelled && rank < 0 && (signo == SIGTERM || signo == SIGKILL)) {
        p->cancelled = true;
        queue_add(s, s->now + unit(&s->rng) * 1e-3, EV_SET_UP, n->at, w->number);
    }
    for (int i = 0; i < p->nlocal; i++) {
        struct rank *r = &w->ranks[p->local[i]];

        if (r->born && (rank < 0 || r->rank == rank))
            queue_add(s, s->now + unit(&s->rng) * 1e-3, EV_SIGNAL, r->id, signo);
    }
}

static int number(const struct msg *m, const char *key)
{
    const char *text = msg_get(m, key);

    return text ? atoi(text) : -1;
}

/* A message of the launchers. */
static void take_own(struct node *n)
{
    struct sim *s = n->sim;
    struct msg *m = &s->in;
    int rank = number(m, "rank"), job = number(m, "number");
    struct world *w = s->worlds[job < 0 ? 0 : job];

    if (!strcmp(m->cmd, "sim-signal"))
        node_signal(n, w, rank, number(m, "signo"));
    else if (!strcmp(m->cmd, "sim-event"))
        node_tell(n, w, msg_get(m, "what"), rank, number(m, "code"));
    else if (!strcmp(m->cmd, "sim-job"))
        spawn_begin(n, w);
    else if (!strcmp(m->cmd, "sim-job-end"))
        node_drop_job(n, w);
    else if (strcmp(m->cmd, "sim-beat"))
        violation(s, "a server was told %s", m->cmd);
}

static double core_clock(const struct sim *s)
{
    struct timespec t;

    if (!s->scale)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void node_take(struct node *n, int from, const char *payload, size_t len)
{
    struct sim *s = n->sim;
    struct peer *p = from < 0 ? n->up : n->down[from - n->first_child];
    struct err e = { 0 };
    double before = core_clock(s);
    int rc;

    if (!p)
        return;
    n->busy++;
    rc = peer_input(p, &s->in, payload, len, &e);
    s->cpu += core_clock(s) - before;
    if (rc < 0)
        violation(s, "node %d, from %d: %s", n->at, from, e.text);
    if (rc > 0)
        take_own(n);
    node_after(n);
}

void node_after(struct node *n)
{
    struct sim *s = n->sim;

    if (s->scale || n->flushing || !n->server)
        return;
    if (!one_in(&s->rng, 4)) {
        server_flush(n->server);
        return;
    }
    n->flushing = true;
    queue_add(s, s->now + unit(&s->rng) * n->delay * 4, EV_FLUSH, n->at, 0);
}

/* --- what the core asks for -------------------------------------------- */

static size_t op_send(void *host, void *link, const char *data, size_t len)
{
    struct sim *s = ((struct node *)host)->sim;
    struct rank *r = link;

    s->rank_bytes += len;
    s->rank_messages++;
    if (r->ended)
        return 0;
    buf_add(&r->rx, data, len);
    if (!r->reading) {
        r->reading = true;
        queue_add(s, s->now + (s->scale ? 1e-6 : unit(&s->rng) * 4e-5), EV_READ, r->id, 0);
    }
    return 0;
}

static void op_fail(void *host, void *link, struct member *m, const char *why)
{
    (void)link;
    violation(((struct node *)host)->sim, "rank %d is failed: %s", m ? member_rank(m) : -1, why);
}

static struct world *world_of(const struct member *m)
{
    return job_link(member_job(m));
}

static void op_abort(void *host, struct member *m, bool world, int code, const char *text)
{
    (void)text;
    node_tell(host, world_of(m), world ? "abort" : "abort-alone", member_rank(m), code);
}

static void op_initialized(void *host, struct member *m)
{
    node_tell(host, world_of(m), "initialized", member_rank(m), 0);
}

static void op_finalized(void *host, struct member *m)
{
    node_tell(host, world_of(m), "finalized", member_rank(m), 0);
}

static void op_stuck(void *host, struct job *j, int missing, int waiting)
{
    struct node *n = host;
    struct sim *s = n->sim;
    struct world *w = job_link(j);

    TRACE(s, "root: job %d is stuck: %d misses %d", w->number, waiting, missing);
    if (n->parent >= 0)
        violation(s, "node %d, not the root, says a fence is stuck", n->at);
    else if (!w->ranks[missing].ended && !w->ranks[missing].given_up)
        violation(s, "a fence is called stuck for rank %d, which lives", missing);
    else
        launch_stuck(&w->launch, s->now, missing, waiting);
    root_timer(w);
}

static void op_log(void *host, enum log_level level, struct member *m, const char *text)
{
    struct node *n = host;

    TRACE(n->sim, "node %d: log %d: rank %d: %s", n->at, level, m ? member_rank(m) : -1, text);
    if (level <= LOG_WARN)
        violation(n->sim, "a warning: %s", text);
}

/* What its ranks have put goes with such a message. */
static bool brings_data(const char *frame, bool up)
{
    const char *cmd = up ? "cmd=fence-in" : "cmd=fence-out";

    return !strncmp(frame + 6, cmd, strlen(cmd)) || !strncmp(frame + 6, "cmd=kvs-data", 12);
}

/* Whose data it is: job=<id> is the first field. */
static struct world *world_in(struct sim *s, const char *frame)
{
    const char *id = strstr(frame, ";job=");
    size_t len = id ? strcspn(id + 5, ";") : 0;

    for (int i = 0; id && i < s->nworlds; i++)
        if (strlen(s->worlds[i]->id) == len && !strncmp(s->worlds[i]->id, id + 5, len))
            return s->worlds[i];
    violation(s, "data of no job: %.60s", frame);
    return s->main;
}

static void op_peer_send(void *host, void *link, const char *frame, size_t frame_len,
                         const char *payload, size_t len)
{
    struct node *n = host, *child = link;

    if (!frame) {
        violation(n->sim, "node %d could not make a message", n->at);
        return;
    }
    if (brings_data(frame, child == n))
        model_shown(world_in(n->sim, frame), n);
    net_send(n->sim, child->at, child == n, LINK_DATA, frame, frame_len, payload, len);
}

static void op_peer_send_all(void *host, void *const *links, size_t n, const char *frame,
                             size_t frame_len, const char *payload, size_t len)
{
    for (size_t i = 0; i < n; i++)
        op_peer_send(host, links[i], frame, frame_len, payload, len);
}

static const struct host_ops ops = {
    .send = op_send, .fail = op_fail, .abort = op_abort, .initialized = op_initialized,
    .finalized = op_finalized, .stuck = op_stuck, .log = op_log, .peer_send = op_peer_send,
    .peer_send_all = op_peer_send_all, .spawn = spawn_ask, .timer = names_timer,
};

/* --- credit ------------------------------------------------------------ */

/* What came to an end is dealt with, as far as it was held. */
static void grant_held(struct sim *s, int child, bool up, enum link_class c)
{
    struct end *here = up ? &s->nodes[child].upper : &s->nodes[child].lower;
    size_t cost = here->held[c];

    here->held[c] = 0;
    if (cost)
        net_grant(s, child, up, c, cost);
}

static bool data_room(const struct end *x)
{
    return flow_room(&x->flow, LINK_DATA) > 0;
}

/* Data goes on: a server takes no more of it from one side than it can pass on. */
static bool room_above(const struct node *n)
{
    return !n->sim->holds || n->parent < 0 || n->cut || data_room(&n->lower);
}

static bool room_below(const struct node *n)
{
    const struct node *child = &n->sim->nodes[n->first_child];

    for (int i = 0; n->sim->holds && i < n->nchildren; i++, child++)
        if (!child->up_gone && !data_room(&child->upper))
            return false;
    return true;
}

/* As much as there is room for; in pieces of a quarter of the window at most. */
static void send_bulk(struct sim *s, int child, bool up)
{
    struct end *x = up ? &s->nodes[child].lower : &s->nodes[child].upper;
    size_t room;

    while (x->bulk && !s->nodes[child].cut && (room = flow_room(&x->flow, LINK_BULK)) > 0) {
        size_t n = x->bulk < room ? x->bulk : room;

        n = n < s->window / 4 ? n : s->window / 4;
        x->bulk -= n;
        net_send_bulk(s, child, up, n, -1);
    }
}

void node_room(struct node *n)
{
    struct sim *s = n->sim;

    if (n->stalled || n->dead)
        return;
    for (int i = n->first_child; i < n->first_child + n->nchildren; i++) {
        if (s->nodes[i].upper.held[LINK_DATA] && room_above(n))
            grant_held(s, i, true, LINK_DATA);
        grant_held(s, i, true, LINK_BULK);
        send_bulk(s, i, false);
    }
    if (n->parent < 0)
        return;
    if (n->lower.held[LINK_DATA] && room_below(n))
        grant_held(s, n->at, false, LINK_DATA);
    grant_held(s, n->at, false, LINK_BULK);
    send_bulk(s, n->at, true);
}

/* Now and then it grants nothing for a while, as an output that is full. */
static void stall(struct node *n)
{
    struct sim *s = n->sim;

    if (n->stalled || !one_in(&s->rng, 8))
        return;
    n->stalled = true;
    queue_add(s, s->now + unit(&s->rng) * (one_in(&s->rng, 8) ? 5e-2 : 1e-3), EV_GO_ON, n->at, 0);
}

/* Output goes on up and is granted when it has gone, as in mpiexec_lite/proxy_link.c. */
void node_bulk(struct node *n, int from, size_t len)
{
    struct sim *s = n->sim;

    stall(n);
    if (from < 0)
        n->lower.held[LINK_BULK] += len;
    else if (n->parent < 0)
        s->nodes[from].upper.held[LINK_BULK] += len;
    else if (n->cut)
        net_grant(s, from, true, LINK_BULK, len);
    else
        net_send_bulk(s, n->at, true, len, from);
}

void node_chat(struct node *n)
{
    struct sim *s = n->sim;
    struct rng *g = &s->rng;

    if (!s->bulk || !one_in(g, 8))
        return;
    if (n->parent >= 0)
        n->lower.bulk += 1 + (size_t)draw(g, (int)s->window * 2);
    else if (n->nchildren)
        s->nodes[n->first_child + draw(g, n->nchildren)].upper.bulk +=
            1 + (size_t)draw(g, (int)s->window * 2);
    node_room(n);
}

/* --- life -------------------------------------------------------------- */

void node_add_job(struct node *n, struct world *w)
{
    static const int appnums[1 << 17];
    struct err e = { 0 };
    struct part *p = &w->at[n->at];
    struct job_spec spec = { .id = w->id, .size = w->nranks, .universe = -1,
                             .appnums = appnums, .map = w->map, .map_blocks = w->nmap,
                             .spread = p->nlocal != w->nranks, .local = p->local,
                             .nlocal = p->nlocal, .subtree = p->subtree,
                             .spawner = w->parent ? w->parent->id : NULL, .link = w };

    p->job = server_add_job(n->server, &spec, &e);
    if (!p->job)
        abort();
    for (int i = 0; i < p->nlocal; i++) {
        struct rank *r = &w->ranks[p->local[i]];

        r->conn = conn_new(n->server, p->job, job_member(p->job, r->rank), r);
    }
}

/* Its connections are gone, as its ranks have ended; those that never ran had one. */
static void drop_conns(struct node *n, struct world *w)
{
    const struct part *p = &w->at[n->at];

    for (int i = 0; i < p->nlocal; i++) {
        struct rank *r = &w->ranks[p->local[i]];

        if (r->conn && r->born && !n->dead)
            violation(n->sim, "job %d ends on node %d, but rank %d of it lives", w->number, n->at,
                      r->rank);
        conn_free(r->conn);
        r->conn = NULL;
    }
}

void node_drop_job(struct node *n, struct world *w)
{
    struct part *p = &w->at[n->at];

    node_send_down(n, "sim-job-end", w, -1, 0);
    if (!p->job)
        return;
    drop_conns(n, w);
    server_remove_job(p->job);
    p->job = NULL;
}

static void start(struct sim *s, struct node *n)
{
    struct server_options options = { .pmi1_subversion = s->pmi1_subversion,
                                      .fault_tolerant = s->ft,
                                      .release_bytes = s->release_bytes };

    net_open(s, &n->lower);
    net_open(s, &n->upper);
    n->server = server_new(&ops, n, s->seed ^ (uint64_t)n->at, &options);
    if (!n->server)
        abort();
    if (n->parent >= 0)
        n->up = server_set_up(n->server, n);
    n->nchildren = tree_children(&s->tree, n->at, &n->first_child);
    n->down = calloc((size_t)n->nchildren + 1, sizeof *n->down);
    for (int i = 0; i < n->nchildren; i++)
        n->down[i] = server_add_down(n->server, &s->nodes[n->first_child + i]);
    lease_init(&n->lease_up, 5, 15, 0);
    lease_init(&n->lease_here, 5, 15, 0);
    if (s->leases && n->parent >= 0) {
        queue_add(s, lease_due(&n->lease_up), EV_LEASE, n->at, 0);
        queue_add(s, lease_due(&n->lease_here), EV_LEASE, n->at, 1);
    }
}

void nodes_start(struct sim *s)
{
    for (int i = 0; i < s->nnodes; i++)
        start(s, &s->nodes[i]);
}

void node_free(struct node *n)
{
    struct sim *s = n->sim;

    for (int i = 0; i < s->nworlds; i++) {
        struct part *p = &s->worlds[i]->at[n->at];

        for (int k = 0; k < p->nlocal; k++) {
            conn_free(s->worlds[i]->ranks[p->local[k]].conn);
            s->worlds[i]->ranks[p->local[k]].conn = NULL;
        }
        p->job = NULL;
    }
    server_free(n->server);
    n->server = NULL;
    n->up = NULL;
    free(n->down);
    n->down = NULL;
}
