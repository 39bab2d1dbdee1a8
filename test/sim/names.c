/* names.c - what is right about names: one is found exactly while it is published.
 *
 * Requests of many ranks about few names cross each other, so a publication is sure at some
 * moments and only possible at others, as a connection is (links.c).  Its port is its number
 * among all publications.  The last name is always published for the own job only. */
#include "test/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_own(int name) { return name == NAMES - 1; }

/* Whether a job can see it. */
static bool is_visible(const struct publication *p, int name, int job)
{
    return p->name == name && (!is_own(name) || p->job == job);
}

static size_t port_of(int number, char *out)
{
    return (size_t)sprintf(out, "%d;tag=%d port %d", number, number * 3, number * 7);
}

/* Once somebody has looked it up it is gone; how many have is known only later.  mine: of
 * them are whoever asks. */
static bool is_sure(const struct publication *p, double from, double to, int mine)
{
    return span_sure(&p->span, from, to) && (!p->once || p->looks <= mine);
}

bool names_there(const struct sim *s, const struct rank *r, int name)
{
    for (int i = 0; i < s->npubs; i++)
        if (is_visible(&s->pubs[i], name, r->world->number) &&
            is_sure(&s->pubs[i], s->now, INFINITY, 1))
            return true;
    return false;
}

/* --- asked ------------------------------------------------------------- */

static void begin_publish(struct sim *s, struct rank *r, struct want *w)
{
    struct publication *p = &s->pubs[s->npubs];
    int job = r->world->number, name = w->act.a;

    if (s->npubs == PUBLICATIONS) {
        violation(s, "more names are published than the model can hold");
        return;
    }
    w->serial = s->npubs++;
    *p = (struct publication){ .name = name, .job = job, .kept = w->act.b == 1 && !is_own(name),
                               .once = w->act.b == 2, .looks = s->looking[name],
                               .span = { s->now, INFINITY, INFINITY, INFINITY } };
    if (s->removing[name][job])
        p->span.doubt = s->now;
}

static void begin_unpublish(struct sim *s, struct rank *r, struct want *w)
{
    int job = r->world->number, name = w->act.a;

    for (int i = 0; i < s->npubs; i++) {
        struct publication *p = &s->pubs[i];

        if (p->name != name || p->job != job)
            continue;
        if (is_sure(p, s->now, INFINITY, 0)) {
            w->was = true;
            w->floor = i;
        }
        p->span.doubt = p->span.doubt < s->now ? p->span.doubt : s->now;
    }
    s->removing[name][job]++;
    w->serial = ++s->removals[name][job];
}

static void begin_lookup(struct sim *s, const struct want *w)
{
    for (int i = 0; i < s->npubs; i++)
        s->pubs[i].looks += s->pubs[i].name == w->act.a;
    s->looking[w->act.a]++;
}

void names_begin(struct sim *s, struct rank *r, struct want *w)
{
    switch ((enum act_kind)w->act.kind) {
    case A_PUBLISH:                   begin_publish(s, r, w); break;
    case A_UNPUBLISH:                 begin_unpublish(s, r, w); break;
    case A_LOOKUP: case A_WAIT_NAME:  begin_lookup(s, w); break;
    default: break;
    }
}

void names_send(struct sim *s, struct rank *r, const struct want *want)
{
    static const char *const persistence[] = { "job", "indefinite", "first-read", "job" };
    const struct act *a = &want->act;
    bool publish = a->kind == A_PUBLISH;
    struct writer w = publish ? rank_begin(r, "publish_name", "name-publish", want->thrid) :
                      a->kind == A_UNPUBLISH ?
                      rank_begin(r, "unpublish_name", "name-unpublish", want->thrid) :
                      rank_begin(r, "lookup_name", "name-lookup", want->thrid);
    char text[80];

    snprintf(text, sizeof text, "name-%d", a->a);
    rank_arg(&w, w.wire == WIRE_1 ? "service" : "name", text);
    if (publish && is_own(a->a))
        rank_arg(&w, "range", "job");
    if (publish && a->b)
        rank_arg(&w, "persistence", persistence[a->b]);
    if (a->kind == A_WAIT_NAME && a->b)
        rank_arg_int(&w, "timeout", a->b);
    else if (a->kind == A_WAIT_NAME)
        rank_arg(&w, "wait", "TRUE");
    port_of(want->serial, text);
    if (publish)
        rank_arg(&w, "port", text);
    rank_finish(s, r, &w);
}

/* --- answered ---------------------------------------------------------- */

static void end(struct span *x, double now)
{
    x->doubt = x->doubt < now ? x->doubt : now;
    x->ended = x->ended < now ? x->ended : now;
}

/* Somebody else's of the same name, for the same jobs. */
static bool is_rival(const struct sim *s, int i, int j)
{
    return i != j && is_visible(&s->pubs[j], s->pubs[i].name, s->pubs[i].job);
}

static void published(struct sim *s, const struct want *w, bool ok)
{
    struct publication *p = &s->pubs[w->serial];
    bool sure = false, possible = false;

    for (int i = 0; i < s->npubs; i++)
        if (is_rival(s, w->serial, i)) {
            sure |= is_sure(&s->pubs[i], w->since, s->now, 0);
            possible |= span_possible(&s->pubs[i].span, w->since, s->now);
        }
    if (ok && sure)
        violation(s, "name %d is published, and was already", p->name);
    if (!ok && !possible)
        violation(s, "name %d cannot be published, and nobody has it", p->name);
    if (ok)
        p->span.sure = s->now;
    else
        p->span.begun = INFINITY;
}

static void unpublished(struct sim *s, struct rank *r, const struct want *w, bool ok)
{
    int job = r->world->number, name = w->act.a;
    bool possible = false;

    s->removing[name][job]--;
    for (int i = 0; ok && i < s->npubs; i++) {
        struct publication *p = &s->pubs[i];

        if (p->name != name || p->job != job)
            continue;
        possible |= span_possible(&p->span, w->since, s->now);
        if (p->span.sure <= w->since)
            end(&p->span, s->now);
    }
    if (ok && !possible)
        violation(s, "job %d takes name %d back, which it had not published", job, name);
    if (!ok && w->was && s->removals[name][job] == w->serial &&
        !(s->pubs[w->floor].once && s->pubs[w->floor].looks))
        violation(s, "job %d cannot take back name %d, which it has published", job, name);
}

static void found(struct sim *s, struct rank *r, const struct want *w, const struct pair *port)
{
    int i = atoi(port->val);
    struct publication *p = &s->pubs[i];
    char want[80];

    if (i < 0 || i >= s->npubs || port_of(i, want) != port->len || strcmp(want, port->val))
        violation(s, "job %d rank %d: name %d has port %.60s", r->world->number, r->rank,
                  w->act.a, port->val);
    else if (!is_visible(p, w->act.a, r->world->number))
        violation(s, "job %d rank %d finds name %d of job %d as name %d", r->world->number,
                  r->rank, p->name, p->job, w->act.a);
    else if (!span_possible(&p->span, w->since, s->now))
        violation(s, "job %d rank %d finds name %d, which is not published any more",
                  r->world->number, r->rank, p->name);
    else if (p->once && p->read)
        violation(s, "name %d, which is for one lookup, is found twice", p->name);
    if (s->violated || !p->once)
        return;
    p->read = true;
    end(&p->span, s->now);
}

static void missed(struct sim *s, struct rank *r, const struct want *w)
{
    bool waits = w->act.kind == A_WAIT_NAME;

    for (int i = 0; i < s->npubs; i++)
        if (is_visible(&s->pubs[i], w->act.a, r->world->number) &&
            is_sure(&s->pubs[i], w->since, s->now, 1))
            violation(s, "job %d rank %d does not find name %d, which is published",
                      r->world->number, r->rank, w->act.a);
    if (waits && !w->act.b)
        violation(s, "a lookup that waits for name %d comes back without", w->act.a);
    else if (waits && s->now - w->since < w->act.b)
        violation(s, "a lookup waits for name %d for %g s only, not %d", w->act.a,
                  s->now - w->since, w->act.b);
}

static void looked_up(struct sim *s, struct rank *r, const struct want *w,
                      const struct pair *port)
{
    bool waits = w->act.kind == A_WAIT_NAME;

    s->totals->woken += waits && port;
    s->totals->late += waits && !port;
    s->looking[w->act.a]--;
    if (port)
        found(s, r, w, port);
    else
        missed(s, r, w);
}

void names_answer(struct sim *s, struct rank *r, const struct want *w, const struct msg *m,
                  const struct pair *port)
{
    const char *rc = msg_get(m, "rc");
    bool ok = rc && !strcmp(rc, "0"), change = false;

    switch ((enum act_kind)w->act.kind) {
    case A_PUBLISH:   published(s, w, ok); change = true; break;
    case A_UNPUBLISH: unpublished(s, r, w, ok); change = true; break;
    default:          looked_up(s, r, w, port);
    }
    s->totals->names += change;
    s->totals->lookups += !change;
}

/* --- the end of a job, timers ------------------------------------------ */

void names_gone(struct sim *s, const struct world *w)
{
    for (int i = 0; i < s->npubs; i++)
        if (s->pubs[i].job == w->number && !s->pubs[i].kept)
            end(&s->pubs[i].span, s->now);
    for (int i = 0; i < NAMES; i++)
        s->removals[i][w->number]++;
}

void names_timer(void *host, unsigned id, double seconds)
{
    struct sim *s = ((struct node *)host)->sim;

    for (int i = 0; seconds <= 0 && i < s->ntimers; i++)
        if (s->timers[i] == id) {
            s->timers[i] = s->timers[--s->ntimers];
            return;
        }
    if (seconds <= 0 || s->ntimers == (int)(sizeof s->timers / sizeof *s->timers)) {
        violation(s, "timer %u for %g s, of %d", id, seconds, s->ntimers);
        return;
    }
    s->timers[s->ntimers++] = id;
    queue_add(s, s->now + seconds, EV_TIMER, 0, id);
}

void names_due(struct sim *s, unsigned id)
{
    for (int i = 0; i < s->ntimers; i++)
        if (s->timers[i] == id) {
            s->timers[i] = s->timers[--s->ntimers];
            server_timer(s->nodes[0].server, id);
            node_after(&s->nodes[0]);
            return;
        }
}

/* The root keeps no names but those that are published. */
void names_check_end(struct sim *s)
{
    size_t most = 0, kept = kvs_count(s->nodes[0].server->names);

    for (int i = 0; i < s->npubs; i++)
        most += span_possible(&s->pubs[i].span, s->now, s->now);
    if (kept > most)
        violation(s, "%zu names are kept at the end, at most %zu are published", kept, most);
}
