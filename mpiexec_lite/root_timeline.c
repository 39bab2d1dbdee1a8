/* root_timeline.c - -timeline: hosts as they come, jobs as they start, the moments of ranks
 * that every host has kept, and the file at the end.
 *
 * Each host keeps its moments by its own clock.  How far that is from ours is measured by a
 * question and its answer over the control stream: the answer was given between the two, so
 * the error is half the time that they took.  That is done while hosts become ready, of some
 * tries the quickest, and again at the end, as clocks drift. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/now.h"
#include "mpiexec_lite/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 4 };                      /* at the beginning */

struct offset { int64_t at, ahead, unsure; };    /* at: by the clock there; unsure -1: unknown */

struct clock {                           /* of a position */
    int64_t       asked;                 /* the last question */
    int           questions, answers;    /* so many; the first ones, that were taken */
    struct offset first, last;
};

struct root_timeline {
    struct timeline t;
    int64_t       began;                 /* by our clock */
    struct clock *clocks;                /* owned: by position */
    int           nclocks;
    bool          ending;
};

static int64_t now_ns(void)
{
    return (int64_t)(now_seconds() * 1e9);
}

int root_timeline_init(struct root *r, struct err *e)
{
    if (!r->plan->timeline)
        return 0;
    r->timeline = calloc(1, sizeof *r->timeline);
    if (!r->timeline)
        return err_set(e, ERR_NOMEM, "no memory for a timeline");
    r->timeline->began = (int64_t)(r->began * 1e9);
    return 0;
}

void root_timeline_clear(struct root *r)
{
    if (!r->timeline)
        return;
    timeline_clear(&r->timeline->t);
    free(r->timeline->clocks);
    free(r->timeline);
}

/* Hosts may have come since; those of the plan are ours by number. */
static void add_hosts(struct root *r)
{
    struct timeline *t = &r->timeline->t;

    while (t->nhosts < r->plan->nhosts &&
           timeline_add_host(t, r->plan->hosts[t->nhosts].name) >= 0)
        if (r->plan->hosts[t->nhosts - 1].local)
            t->hosts[t->nhosts - 1].connected = t->hosts[t->nhosts - 1].ready = 0;
}

static struct tl_host *host_at(struct root *r, int position)
{
    size_t node = (size_t)tree_node(r->plan, position);

    add_hosts(r);
    return node < r->timeline->t.nhosts ? &r->timeline->t.hosts[node] : NULL;
}

static struct clock *clock_at(struct root *r, int position)
{
    struct root_timeline *x = r->timeline;

    if (position >= x->nclocks) {
        struct clock *v = reallocarray(x->clocks, (size_t)r->servers, sizeof *v);

        if (!v) {
            x->t.failed = true;
            return NULL;
        }
        for (int i = x->nclocks; i < r->servers; i++)
            v[i] = (struct clock){ .first = { .unsure = -1 }, .last = { .unsure = -1 } };
        x->clocks = v;
        x->nclocks = r->servers;
    }
    return &x->clocks[position];
}

/* --- clocks ------------------------------------------------------------ */

static void ask(struct root *r, int position)
{
    struct remote *to = remotes_towards(&r->below, position);
    struct clock *c = clock_at(r, position);
    struct msg m;

    if (!c || !to || to->state != REMOTE_UP)
        return;
    c->asked = now_ns();
    msg_init(&m);
    msg_start(&m, "clock");
    msg_int(&m, "position", position);
    msg_int(&m, "id", ++c->questions);
    link_message(to->link, LINK_CONTROL, &m, NULL, 0, NULL);
    msg_clear(&m);
}

int root_timeline_clock(struct root *r, int position, const struct msg *m, struct err *e)
{
    struct clock *c = r->timeline ? clock_at(r, position) : NULL;
    int64_t now = now_ns();
    struct offset got;
    long long there, id;

    if (msg_number(m, "ns", 0, INT64_MAX, &there, e) < 0 ||
        msg_number(m, "id", 1, INT_MAX, &id, e) < 0)
        return -1;
    if (!c || id != c->questions)
        return 0;                        /* another was asked meanwhile */
    got = (struct offset){ there, there - (c->asked + (now - c->asked) / 2),
                           (now - c->asked + 1) / 2 };
    if (r->timeline->ending)
        c->last = got;
    else if (c->first.unsure < 0 || got.unsure < c->first.unsure)
        c->first = got;
    if (!r->timeline->ending && ++c->answers < TRIES)
        ask(r, position);
    return 0;
}

/* A time there, as it is here, from the beginning. */
static int64_t from_there(const struct root *r, const struct clock *c, int64_t when)
{
    const struct offset *a = &c->first, *b = &c->last;
    double ahead;

    if (a->unsure < 0 || b->unsure < 0 || b->at <= a->at)
        ahead = (double)(a->unsure < 0 ? b->ahead : a->ahead);
    else
        ahead = (double)a->ahead + (double)(b->ahead - a->ahead) * (double)(when - a->at) /
                                   (double)(b->at - a->at);
    return when - (int64_t)ahead - r->timeline->began;
}

/* --- while it runs ----------------------------------------------------- */

void root_timeline_host(struct root *r, int position, bool ready)
{
    struct tl_host *h = r->timeline ? host_at(r, position) : NULL;

    if (!h)
        return;
    *(ready ? &h->ready : &h->connected) = now_ns() - r->timeline->began;
    if (ready)
        ask(r, position);
}

void root_timeline_job(struct root_job *j)
{
    struct root *r = j->root;
    const struct placement *place = &j->bundle.place;
    struct root_job *parent = j->bundle.spawner ? root_job_by_id(r, j->bundle.spawner) : NULL;
    int *nodes = r->timeline ? malloc((size_t)place->size * sizeof *nodes) : NULL;
    struct timeline *t;

    if (!nodes)
        return;
    t = &r->timeline->t;
    add_hosts(r);
    for (size_t i = 0; i < place->nruns; i++)
        for (int k = 0; k < place->runs[i].n; k++)
            nodes[place->runs[i].first + k] = place->runs[i].node;
    timeline_add_job(t, j->number, place->size, nodes, crew_program(&j->crew, 0),
                     parent ? (int)timeline_rank(t, parent->number, j->parent_rank) : -1,
                     now_ns() - r->timeline->began);
    free(nodes);
}

/* --- the end ----------------------------------------------------------- */

void root_timeline_finish(struct root *r)
{
    if (!r->timeline)
        return;
    r->timeline->ending = true;
    for (int i = 1; i < r->servers; i++)
        if (r->at[i].state == AT_READY && !r->at[i].lost)
            ask(r, i);
}

static int take(struct root *r, const struct clock *c, const char *data, size_t len,
                struct err *e)
{
    struct moment x;
    int got;

    while ((got = moments_next(&data, &len, &x, e)) > 0) {
        x.when = c ? from_there(r, c, x.when) : x.when - r->timeline->began;
        timeline_note(&r->timeline->t, &x);
    }
    return got;
}

int root_timeline_moments(struct root *r, int position, const struct msg *m, const char *payload,
                          size_t len, struct err *e)
{
    struct tl_host *h = r->timeline ? host_at(r, position) : NULL;
    struct clock *c = h ? clock_at(r, position) : NULL;
    long long dropped;

    if (msg_number(m, "dropped", 0, INT64_MAX, &dropped, e) < 0)
        return -1;
    if (!c || (c->first.unsure < 0 && c->last.unsure < 0))
        return 0;                        /* whose times mean nothing here */
    h->dropped = dropped;
    return take(r, c, payload, len, e);
}

static void add_title(const struct plan *p, struct buf *out)
{
    buf_str(out, "mpiexec_lite");
    for (size_t a = 0; a < p->napps; a++) {
        buf_printf(out, "%s -n %d", a ? " :" : "", p->apps[a].n);
        for (size_t i = 0; i < p->apps[a].argv.n; i++)
            buf_printf(out, " %s", p->apps[a].argv.v[i]);
    }
}

/* Hosts without ranks have clocks, too. */
static void set_unsure(struct root *r)
{
    for (int i = 1; i < r->timeline->nclocks; i++) {
        const struct clock *c = &r->timeline->clocks[i];
        struct tl_host *h = host_at(r, i);

        if (h && (c->first.unsure >= 0 || c->last.unsure >= 0))
            h->unsure = c->first.unsure > c->last.unsure ? c->first.unsure : c->last.unsure;
    }
}

/* Whose failure ended the first job that has failed. */
static size_t broken_by(struct root *r)
{
    struct root_job *j;
    long rank;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (j->launch.ending && j->launch.culprit_failed) {
            rank = timeline_rank(&r->timeline->t, j->number, j->launch.culprit);
            return (size_t)(rank + 1);
        }
    return 0;
}

static void write_file(struct root *r, const struct buf *text)
{
    if (text->failed || r->timeline->t.failed)
        root_tell(r, "no memory for the timeline");
    else if (sink_write_all(r->args->timeline, buf_bytes(text), text->len) < 0)
        root_tell(r, "%s: cannot write the timeline: %s", r->plan->timeline, strerror(errno));
}

void root_timeline_write(struct root *r)
{
    struct buf title = BUF_INIT, text = BUF_INIT;
    const struct moments *here = &r->node.moments;
    struct err e = { 0 };
    struct timeline *t;

    if (!r->timeline)
        return;
    if (!r->timeline->t.njobs) {
        root_tell(r, "%s is empty: no rank was started", r->plan->timeline);
        return;
    }
    t = &r->timeline->t;
    if (here->bytes.len)
        take(r, NULL, buf_bytes(&here->bytes), here->bytes.len, &e);
    if (r->node.args.index >= 0)
        t->hosts[r->node.args.index].dropped = (int64_t)here->dropped;
    set_unsure(r);
    t->broken = broken_by(r);
    add_title(r->plan, &title);
    t->title = title.failed ? NULL : strdup(buf_bytes(&title));
    t->failed = t->failed || !t->title || here->bytes.failed;
    if (!t->failed)
        timeline_close(t, now_ns() - r->timeline->began);
    if (!t->failed)
        timeline_writer(r->plan->timeline)(t, &text);
    write_file(r, &text);
    buf_clear(&text);
    buf_clear(&title);
}
