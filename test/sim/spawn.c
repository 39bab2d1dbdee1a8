/* spawn.c - jobs that ranks start: what a rank asks for and is answered, what the root makes
 * of it (the real spawned.c and starting.c; the rest stands for mpiexec_lite/root_new.c), and
 * what nodes do (mpiexec_lite/crew_start.c, proxy_job.c).
 *
 * Programs are "good", "missing" (no node finds it) and "broken" (its exec fails). */
#include "test/sim/sim.h"

#include "mpiexec_lite/spawned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREPUTS = 3 };

/* --- the request ------------------------------------------------------- */

struct block { const char *program; int procs; char soft[32], host[16]; };

static size_t preput_text(int serial, int which, char *out)
{
    return (size_t)sprintf(out, "s%d.%d;=x %d", serial, which, serial * 7);
}

size_t spawn_preput(const struct world *w, int which, char *out)
{
    return preput_text(w->serial, which, out);
}

static struct block draw_command(struct sim *s, struct rng *g)
{
    static const char *const programs[] = { "missing", "broken" };
    struct block c = { .program = "good", .procs = 1 + draw(g, one_in(g, 4) ? 6 : 3) };

    if (one_in(g, 8))
        c.program = programs[draw(g, 2)];
    if (one_in(g, 4))
        snprintf(c.soft, sizeof c.soft, "1,%d:9", c.procs + draw(g, 2));
    if (one_in(g, 6))
        snprintf(c.host, sizeof c.host, "n%d", draw(g, s->nnodes));
    return c;
}

static void put_pair(struct writer *w, const char *key, int i, const char *value)
{
    char name[32];

    snprintf(name, sizeof name, "%s%d", key, i);
    if (w->wire == WIRE_2)
        rank_arg(w, name, value);
    else
        buf_printf(w->out, "%s=%s\n", name, value);
}

static void put_number(struct writer *w, const char *key, int n)
{
    if (w->wire == WIRE_2)
        rank_arg_int(w, key, n);
    else
        buf_printf(w->out, "%s=%d\n", key, n);
}

static void put_preput(struct writer *w, int serial)
{
    bool one = w->wire == WIRE_1;

    put_number(w, one ? "preput_num" : "preputcount", PREPUTS);
    for (int i = 0; i < PREPUTS; i++) {
        char text[64], key[16];

        snprintf(key, sizeof key, "pre-%d", i);
        preput_text(serial, i, text);
        put_pair(w, one ? "preput_key_" : "ppkey", i, key);
        put_pair(w, one ? "preput_val_" : "ppval", i, text);
    }
}

static void put_info(struct writer *w, const struct block *c)
{
    bool one = w->wire == WIRE_1;
    const char *key = one ? "info_key_" : "infokey", *value = one ? "info_val_" : "infoval";
    int n = 0;

    put_number(w, one ? "info_num" : "infokeycount", !!*c->soft + !!*c->host);
    if (*c->soft) {
        put_pair(w, key, n, "soft");
        put_pair(w, value, n++, c->soft);
    }
    if (*c->host) {
        put_pair(w, key, n, "host");
        put_pair(w, value, n, c->host);
    }
}

/* PMI-1 has a block of lines for each. */
static void put_block(struct writer *w, const struct block *c, int i, int n, int serial)
{
    buf_printf(w->out, "mcmd=spawn\nnprocs=%d\nexecname=%s\ntotspawns=%d\nspawnssofar=%d\n"
               "argcnt=0\n", c->procs, c->program, n, i + 1);
    if (!i)
        put_preput(w, serial);
    put_info(w, c);
    buf_str(w->out, i + 1 < n ? "endcmd\n" : "endcmd");
}

static void put_command(struct writer *w, const struct block *c)
{
    rank_arg(w, "subcmd", c->program);
    rank_arg_int(w, "maxprocs", c->procs);
    rank_arg_int(w, "argc", 0);
    put_info(w, c);
}

void spawn_send(struct sim *s, struct rank *r, struct want *want)
{
    int n = 1 + draw(&r->rng, one_in(&r->rng, 3) ? 3 : 1);
    struct writer w = { &r->tx, r->framer.wire, r->tx.len };

    want->serial = ++s->serial;
    want->floor = 0;                     /* processes asked for */
    if (w.wire == WIRE_2) {
        w = rank_begin(r, "", "spawn", want->thrid);
        rank_arg_int(&w, "ncmds", n);
        put_preput(&w, want->serial);
    }
    for (int i = 0; i < n; i++) {
        struct block c = draw_command(s, &r->rng);

        want->floor += c.procs;
        want->was |= strcmp(c.program, "good") != 0;
        if (w.wire == WIRE_2)
            put_command(&w, &c);
        else
            put_block(&w, &c, i, n, want->serial);
    }
    rank_finish(s, r, &w);
}

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
    char id[24];
    int rc;

    for (int i = 0; i < s->nprocs; i++) {
        const struct rank_state *state = &s->procs[i]->world->launch.ranks[s->procs[i]->rank];

        used[s->procs[i]->node] += state->pid && !state->ended;
    }
    snprintf(id, sizeof id, "sim-1.%d", s->nworlds);
    rc = spawned_bundle(&parent->bundle, spawn_rank(x), spawn_wants(x), used, id, b, blame, e);
    free(used);
    return rc;
}

static const char *program_of(const struct bundle *b, int rank)
{
    return b->plan.apps[plan_app_of(&b->plan, rank)].argv.v[0];
}

/* A program that is not found here, or a node that is lost: nothing is started then. */
static int check_bundle(struct sim *s, const struct bundle *b, struct spawn_blame *blame,
                        struct err *e)
{
    for (int i = 0; i < b->place.size; i++) {
        int node = placement_node(&b->place, i), code = 0;

        if (!node && !strcmp(program_of(b, i), "missing"))
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
    for (int i = 1; i < s->nnodes; i++)
        if (w->at[i].nlocal)
            starting_await(&w->starting, i);
}

static void start_ranks(struct node *n, struct world *w);

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
    start_ranks(&s->nodes[0], w);
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
    if (w->refused)
        spawn_done(x, NULL, w->starting.codes, (size_t)w->nranks, &why);
    else
        spawn_done(x, w->at[0].job, NULL, 0, NULL);
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
        if (!strcmp(program_of(&w->bundle, p->local[i]), "missing")) {
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

        if (go_on && !strcmp(program_of(&w->bundle, r->rank), "broken")) {
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

void spawn_begin(struct node *n, struct world *w)
{
    node_send_down(n, "sim-job", w, -1, 0);
    node_add_job(n, w);
    if (!w->at[n->at].nlocal)
        return;
    start_ranks(n, w);
    node_tell(n, w, "started", n->at, 0);
}

/* --- the answer -------------------------------------------------------- */

static struct world *by_serial(const struct sim *s, int serial)
{
    for (int i = 1; i < s->nworlds; i++)
        if (s->worlds[i]->serial == serial)
            return s->worlds[i];
    return NULL;
}

static bool node_was_lost(const struct sim *s)
{
    for (int i = 0; i < s->nnodes; i++)
        if (s->nodes[i].given_up)
            return true;
    return false;
}

/* The codes into out; how many. */
static int take_codes(const struct msg *m, int out[64])
{
    const char *text = msg_get(m, "errcodes");
    int n = 0;

    while (text && *text && n < 64) {
        out[n++] = atoi(text);
        text += strcspn(text, ",");
        text += *text == ',';
    }
    return n;
}

/* Every process runs, or the answer says that it does not. */
static void check_codes(struct sim *s, const struct world *w, const struct msg *m, bool ok)
{
    int codes[64], n = take_codes(m, codes), wrong = 0;

    if (n != (ok ? 0 : w->nranks))
        violation(s, "%d error codes of a spawn of %d", n, w->nranks);
    for (int i = 0; i < w->nranks; i++) {
        const struct rank *r = &w->ranks[i];
        int code = n ? codes[i] : 0;

        wrong += code != 0;
        if (!code && !r->born)
            violation(s, "job %d: rank %d is said to run, and does not", w->number, i);
        if (code && r->born && !s->nodes[r->node].given_up)
            violation(s, "job %d: rank %d runs, and its error code is %d", w->number, i, code);
    }
    if (!ok && !wrong)
        violation(s, "job %d was refused without an error code", w->number);
}

/* No job was made: for every process there is a code. */
static void check_refused(struct sim *s, const struct rank *r, const struct want *w,
                          const struct msg *m)
{
    int codes[64], n = take_codes(m, codes);

    if (n != w->floor)
        violation(s, "%d error codes of a spawn of %d that was refused", n, w->floor);
    for (int i = 0; i < n; i++)
        if (!codes[i])
            violation(s, "process %d of a spawn that was refused has no error code", i);
    if (!w->was && !r->world->launch.ending && !node_was_lost(s))
        violation(s, "job %d rank %d: its spawn was refused for no reason", r->world->number,
                  r->rank);
}

void spawn_answered(struct sim *s, struct rank *r, const struct want *w, const struct msg *m)
{
    struct world *made = by_serial(s, w->serial);
    const char *rc = msg_get(m, "rc"), *id = msg_get(m, "jobid");
    bool ok = rc && !strcmp(rc, "0");

    s->totals->spawns++;
    s->totals->refused += !ok;
    s->totals->nested += r->world->number > 0;
    if (!made && !ok) {
        check_refused(s, r, w, m);
        return;
    }
    if (!made || made->parent != r->world || made->spawner != r->rank || made->answered ||
        made->refused == ok || (ok && (!id || strcmp(id, made->id))))
        violation(s, "job %d rank %d: spawn %d is answered with rc=%s jobid=%s", r->world->number,
                  r->rank, w->serial, rc ? rc : "none", id ? id : "none");
    else
        check_codes(s, made, m, ok);
    if (made)
        made->answered = true;
}
