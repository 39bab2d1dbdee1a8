/* spawn_ask.c - a rank starts a job: how it asks, and what it must be answered.
 *
 * Programs are "good", "missing" (no node finds it) and "broken" (its exec fails). */
#include "test/sim/sim.h"

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

/* Why a process of this job cannot run: its program, or its node.  Others have been given up
 * with it, or with one before it. */
static bool is_true(const struct world *w, int rank, int code)
{
    const char *program = spawn_program(&w->bundle, rank);

    if (code == EHOSTUNREACH)
        return w->sim->nodes[w->ranks[rank].node].given_up;
    if (code == EPERM)
        return w->at[w->ranks[rank].node].unhooked;
    return code == ECANCELED || (code == ENOENT && !strcmp(program, "missing")) ||
           (code == ENOEXEC && !strcmp(program, "broken"));
}

/* All processes run. */
static void check_started(struct sim *s, const struct world *w, const struct msg *m)
{
    int codes[64], n = take_codes(m, codes);

    if (n)
        violation(s, "%d error codes of a spawn that has gone well", n);
    for (int i = 0; i < w->nranks; i++)
        if (!w->ranks[i].born)
            violation(s, "job %d: rank %d is said to run, and does not", w->number, i);
}

/* None does any more, and why is said of each. */
static void check_ended(struct sim *s, const struct world *w, const struct msg *m)
{
    int codes[64], n = take_codes(m, codes), causes = 0;

    if (n != w->nranks)
        violation(s, "%d error codes of a spawn of %d", n, w->nranks);
    for (int i = 0; i < n && i < w->nranks; i++) {
        const struct rank *r = &w->ranks[i];

        causes += codes[i] != ECANCELED;
        if (!is_true(w, i, codes[i]))
            violation(s, "job %d: the error code of rank %d is %d", w->number, i, codes[i]);
        if (r->born && !r->ended && !s->nodes[r->node].given_up)
            violation(s, "job %d was refused, and its rank %d runs still", w->number, i);
    }
    if (!causes && !w->hooked)           /* a rank may have failed before others could start */
        violation(s, "job %d was refused, and no error code says why", w->number);
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
    else if (ok)
        check_started(s, made, m);
    else
        check_ended(s, made, m);
    if (made)
        made->answered = true;
}
