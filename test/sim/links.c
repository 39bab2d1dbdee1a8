/* links.c - what is right between jobs: who is connected to whom, and whose keys are read.
 *
 * A connection is made by a spawn, at once, or by a request, some time before its answer;
 * it goes with a disconnect, some time before its answer, or when one of the two jobs is
 * forgotten.  So some are sure at a moment, others only possible.  A job that surely is
 * connected is not refused; one that cannot be is. */
#include "test/sim/sim.h"

#include <stdlib.h>
#include <string.h>

static bool is_between(const struct edge *e, int a, int b)
{
    return (e->a == a && e->b == b) || (e->a == b && e->b == a);
}

static struct edge *add(struct sim *s, int a, int b)
{
    struct edge *e = &s->edges[s->nedges];

    if (s->nedges == EDGES) {
        violation(s, "more connections than the model can hold");
        return &s->edges[0];
    }
    s->nedges++;
    *e = (struct edge){ a, b, { s->now, INFINITY, INFINITY, INFINITY } };
    return e;
}

void links_made(struct sim *s, int a, int b)
{
    add(s, a, b)->span.sure = s->now;
}

/* --- connected or not --------------------------------------------------- */

/* The jobs that are reached from a, over connections that are sure, or possible, all the
 * time. */
static unsigned reached(const struct sim *s, int a, double from, double to, bool sure)
{
    unsigned found = 1u << a, before = 0;

    while (found != before) {
        before = found;
        for (int i = 0; i < s->nedges; i++) {
            const struct edge *e = &s->edges[i];
            unsigned both = 1u << e->a | 1u << e->b;

            if ((found & both) && (sure ? span_sure(&e->span, from, to)
                                        : span_possible(&e->span, from, to)))
                found |= both;
        }
    }
    return found;
}

bool links_sure(const struct sim *s, int a, int b, double from, double to)
{
    return reached(s, a, from, to, true) >> b & 1;
}

bool links_possible(const struct sim *s, int a, int b, double from, double to)
{
    return reached(s, a, from, to, false) >> b & 1;
}

/* --- changes ----------------------------------------------------------- */

static void end(struct span *x, double now)
{
    x->doubt = x->doubt < now ? x->doubt : now;
    x->ended = x->ended < now ? x->ended : now;
}

void links_gone(struct sim *s, const struct world *w)
{
    for (int i = 0; i < s->nedges; i++)
        if (s->edges[i].a == w->number || s->edges[i].b == w->number)
            end(&s->edges[i].span, s->now);
    for (int i = 0; i < WORLDS; i++) {
        s->changes[w->number][i]++;
        s->changes[i][w->number]++;
    }
}

static void begin_connect(struct sim *s, int a, int b, struct want *w)
{
    w->serial = s->nedges;
    add(s, a, b)->span.doubt = s->closing[a][b] ? s->now : INFINITY;
}

static void begin_disconnect(struct sim *s, int a, int b, struct want *w)
{
    for (int i = 0; i < s->nedges; i++) {
        struct edge *e = &s->edges[i];

        if (!is_between(e, a, b))
            continue;
        w->was |= span_sure(&e->span, s->now, INFINITY);
        e->span.doubt = e->span.doubt < s->now ? e->span.doubt : s->now;
    }
    s->closing[a][b]++;
    s->closing[b][a]++;
    w->serial = ++s->changes[a][b];
    s->changes[b][a] = w->serial;
}

void links_begin(struct sim *s, struct rank *r, struct want *w)
{
    int a = r->world->number, b = w->act.job;
    bool there = b < WORLDS;

    if (w->act.kind == A_GET_OF && there)
        w->floor = w->act.b < KEYS ? s->worlds[b]->rooted[w->act.a] : 0;
    if (!there)
        return;
    if (w->act.kind == A_CONNECT)
        begin_connect(s, a, b, w);
    if (w->act.kind == A_DISCONNECT)
        begin_disconnect(s, a, b, w);
}

/* Every connection that was surely made before this was asked for is gone. */
static void disconnected(struct sim *s, int a, int b, const struct want *w)
{
    bool possible = false;

    for (int i = 0; i < s->nedges; i++) {
        struct edge *e = &s->edges[i];

        if (!is_between(e, a, b))
            continue;
        possible |= span_possible(&e->span, w->since, s->now);
        if (e->span.sure <= w->since)
            end(&e->span, s->now);
    }
    if (!possible)
        violation(s, "jobs %d and %d are disconnected, and were not connected", a, b);
}

static void change(struct sim *s, struct rank *r, const struct want *w, bool ok)
{
    int a = r->world->number, b = w->act.job;
    struct span *x = &s->edges[w->serial].span;

    s->totals->links++;
    if (w->act.kind == A_CONNECT && ok)
        x->sure = s->now;
    else if (w->act.kind == A_CONNECT && !s->worlds[b]->gone)
        violation(s, "job %d cannot be connected to job %d, which runs", a, b);
    else if (w->act.kind == A_CONNECT)
        x->ended = x->begun = INFINITY;
    else if (ok)
        disconnected(s, a, b, w);
    else if (w->was && s->changes[a][b] == w->serial)
        violation(s, "job %d is connected to job %d, and cannot be disconnected", a, b);
    if (w->act.kind == A_DISCONNECT) {
        s->closing[a][b]--;
        s->closing[b][a]--;
    }
}

/* --- answers ----------------------------------------------------------- */

static void check_preput(struct sim *s, const struct world *of, const struct pair *v)
{
    char want[VALUE_ROOM];
    size_t len = spawn_preput(of, 0, want);

    if (!of->number ? v != NULL : !v || v->len != len || memcmp(v->val, want, len) != 0)
        violation(s, "pre-0 of job %d is read as %.60s", of->number, v ? v->val : "nothing");
}

static void check_value(struct sim *s, struct rank *r, const struct want *w, const struct pair *v)
{
    const struct world *of = s->worlds[w->act.job];

    s->totals->foreign++;
    if (!links_possible(s, r->world->number, of->number, w->since, s->now))
        violation(s, "job %d reads a key of job %d, to which it is not connected",
                  r->world->number, of->number);
    else if (w->act.b == KEYS)
        check_preput(s, of, v);
    else if (v)
        model_found_of(s, r, w, v->val, v->len);
    else
        model_missed_of(s, r, w);
}

static void check_denied(struct sim *s, struct rank *r, const struct want *w)
{
    s->totals->denied++;
    if (links_sure(s, r->world->number, w->act.job, w->since, s->now))
        violation(s, "job %d is connected to job %d, and may not read its keys",
                  r->world->number, w->act.job);
}

/* An error, and not only that there is no such key. */
static bool is_denied(const struct rank *r, const struct msg *m)
{
    const char *rc = msg_get(m, "rc"), *why = msg_get(m, r->wire == WIRE_1 ? "msg" : "errmsg");

    if (!rc || !strcmp(rc, "0"))
        return false;
    return !why || (strcmp(why, "key_not_found") && strcmp(why, "key not found"));
}

void links_answer(struct sim *s, struct rank *r, const struct want *w, const struct msg *m,
                  const struct pair *value)
{
    bool denied = is_denied(r, m);

    if (w->act.job == WORLDS) {
        if (!denied)
            violation(s, "%s about a job that never was", m->cmd);
    } else if (w->act.kind != A_GET_OF) {
        change(s, r, w, !denied);
    } else if (denied) {
        check_denied(s, r, w);
    } else {
        check_value(s, r, w, value);
    }
}
