/* timeline_path.c - who was waited for: the critical path of a run, found from its end.
 *
 * Whoever ended last, or failed first, had been let go by a fence, which had waited for who
 * came last, whom an earlier fence had let go, and so on, until a start, which had waited for
 * the host that was ready last, or for the rank that has started the job. */
#include "mpiexec_lite/timeline_impl.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct path {
    struct timeline *t;
    size_t           cap;
};

static void add(struct path *p, enum tl_step_kind kind, int64_t from, int64_t to, size_t who,
                size_t fence)
{
    struct timeline *t = p->t;

    if (t->npath == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 64;
        struct tl_step *v = reallocarray(t->path, cap, sizeof *v);

        if (!v) {
            t->failed = true;
            return;
        }
        t->path = v;
        p->cap = cap;
    }
    t->path[t->npath++] = (struct tl_step){ kind, from < to ? from : to, to, who, fence };
}

/* The last of its first `most` fences that a rank had left by then: its number from 0 on, or
 * -1. */
static int left_before(const struct timeline *t, const struct tl_rank *r, int64_t when, int most)
{
    int k = r->nfences < most ? r->nfences : most;

    while (k > 0 && t->visits[r->fences + (size_t)k - 1].leave > when)
        k--;
    return k - 1;
}

static long last_host(const struct timeline *t, int64_t before)
{
    long last = -1;

    for (size_t i = 0; i < t->nhosts; i++)
        if (t->hosts[i].ready != TIME_NONE && t->hosts[i].ready > 0 &&
            t->hosts[i].ready <= before && (last < 0 || t->hosts[i].ready > t->hosts[last].ready))
            last = (long)i;
    return last;
}

/* Before a rank had executed its program.  Who has to be followed next, at *when; -1: it is the
 * beginning. */
static long add_start(struct path *p, size_t who, int64_t *when)
{
    const struct timeline *t = p->t;
    const struct tl_rank *r = &t->ranks[who];
    const struct tl_job *j = &t->jobs[r->job];
    int64_t exec = r->when[MOMENT_EXEC] == TIME_NONE ? *when : r->when[MOMENT_EXEC];
    int64_t began = j->began < exec ? j->began : exec;
    long host;

    if (began > 0 || exec > 0)
        add(p, STEP_START, began, exec, who, 0);
    *when = began;
    if (j->parent >= 0)
        return j->parent;
    host = last_host(t, began);
    if (host >= 0)
        add(p, STEP_HOST, 0, began, (size_t)host, 0);
    return -1;
}

/* The rank whose end was the run's: that which has failed, or the last; or if that was a bad
 * end, the first such, as those behind it only follow. */
static size_t ended_it(const struct timeline *t)
{
    size_t last = 0, bad;

    if (t->broken && t->broken <= t->nranks && t->ranks[t->broken - 1].wstatus)
        return t->broken - 1;
    for (size_t i = 1; i < t->nranks; i++)
        if (t->ranks[i].when[MOMENT_EXIT] > t->ranks[last].when[MOMENT_EXIT])
            last = i;
    bad = last;
    for (size_t i = 0; t->ranks[last].wstatus && i < t->nranks; i++)
        if (t->ranks[i].wstatus && t->ranks[i].when[MOMENT_EXIT] < t->ranks[bad].when[MOMENT_EXIT])
            bad = i;
    return bad;
}

static void reverse(struct timeline *t)
{
    for (size_t i = 0; i < t->npath / 2; i++) {
        struct tl_step x = t->path[i];

        t->path[i] = t->path[t->npath - 1 - i];
        t->path[t->npath - 1 - i] = x;
    }
}

void timeline_find_path(struct timeline *t)
{
    struct path p = { t, 0 };
    enum tl_step_kind kind;
    size_t fence = 0, who;
    int most = INT_MAX;                  /* fences that may come; it falls, whatever clocks say */
    int64_t when;
    long next;

    if (!t->nranks)
        return;
    who = ended_it(t);
    kind = t->ranks[who].wstatus ? STEP_FAIL : STEP_END;
    when = t->ranks[who].when[MOMENT_EXIT];
    if (when == TIME_NONE)
        return;
    for (next = (long)who; next >= 0 && !t->failed;) {
        const struct tl_rank *r = &t->ranks[who = (size_t)next];
        int k = left_before(t, r, when, most);
        const struct tl_visit *v = k < 0 ? NULL : &t->visits[r->fences + (size_t)k];
        int64_t exec = r->when[MOMENT_EXEC];

        if (!v) {
            if (exec != TIME_NONE && exec <= when)
                add(&p, kind, exec, when, who, fence);
            next = add_start(&p, who, &when);
            kind = STEP_SPAWN;
            most = INT_MAX;              /* of an earlier job */
            continue;
        }
        add(&p, kind, v->leave, when, who, fence);
        fence = t->jobs[r->job].fences + (size_t)k;
        add(&p, STEP_FENCE, t->fences[fence].last_in, v->leave, who, fence);
        next = (long)t->fences[fence].last;
        when = t->fences[fence].last_in;
        most = k;
        kind = STEP_RUN;
    }
    reverse(t);
}

/* --- in words ---------------------------------------------------------- */

struct tl_name timeline_name(const struct timeline *t, size_t rank)
{
    const struct tl_rank *r = &t->ranks[rank];
    int number = t->jobs[r->job].number;
    struct tl_name n;

    if (number)
        snprintf(n.text, sizeof n.text, "job %d's rank %d on %s", number, r->rank,
                 t->hosts[r->host].name);
    else
        snprintf(n.text, sizeof n.text, "rank %d on %s", r->rank, t->hosts[r->host].name);
    return n;
}

struct tl_time timeline_time(int64_t ns)
{
    struct tl_time x;
    double s = (double)ns / 1e9;

    if (s >= 100)
        snprintf(x.text, sizeof x.text, "%.0f s", s);
    else if (s >= 1)
        snprintf(x.text, sizeof x.text, "%.2f s", s);
    else if (s >= 0.001)
        snprintf(x.text, sizeof x.text, "%.*f ms", s >= 0.1 ? 0 : 1, s * 1e3);
    else
        snprintf(x.text, sizeof x.text, "%.0f µs", s * 1e6);
    return x;
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* When half of the hosts that are ready were; 0: there are no others. */
static int64_t median_ready(const struct timeline *t)
{
    int64_t *v = malloc((t->nhosts + 1) * sizeof *v), median;
    size_t n = 0;

    for (size_t i = 0; v && i < t->nhosts; i++)
        if (t->hosts[i].ready != TIME_NONE && t->hosts[i].ready > 0)
            v[n++] = t->hosts[i].ready;
    if (n)
        qsort(v, n, sizeof *v, by_time);
    median = n > 1 ? v[(n - 1) / 2] : 0;
    free(v);
    return median;
}

static void say_run(const struct timeline *t, const struct tl_step *s, struct buf *out)
{
    const struct tl_fence *f = &t->fences[s->fence];
    int others = f->entered - 1;

    buf_printf(out, "%s was last in fence %d", timeline_name(t, s->who).text, f->number);
    if (others)
        buf_printf(out, "; %d other%s waited %s%s", others, others == 1 ? "" : "s",
                   timeline_time(f->waited / others).text, others == 1 ? "" : " on average");
}

void timeline_say(const struct timeline *t, const struct tl_step *s, struct buf *out)
{
    const struct tl_fence *f;
    int64_t median;

    switch (s->kind) {
    case STEP_HOST:
        median = median_ready(t);
        buf_printf(out, "host %s was ready last", t->hosts[s->who].name);
        if (median)
            buf_printf(out, "; half of them were after %s", timeline_time(median).text);
        break;
    case STEP_START:
        buf_printf(out, "%s was started", timeline_name(t, s->who).text);
        break;
    case STEP_RUN:
        say_run(t, s, out);
        break;
    case STEP_FENCE:
        f = &t->fences[s->fence];
        buf_printf(out, "fence %d let go of %s", f->number, timeline_name(t, s->who).text);
        break;
    case STEP_END:
        buf_printf(out, "%s ended last", timeline_name(t, s->who).text);
        break;
    case STEP_FAIL:
        buf_printf(out, "%s came to a bad end", timeline_name(t, s->who).text);
        break;
    case STEP_SPAWN:
        buf_printf(out, "%s started a job", timeline_name(t, s->who).text);
        break;
    }
}

struct tl_straggler timeline_straggler(const struct timeline *t)
{
    struct tl_straggler best = { -1, 0, 0 }, *all = calloc(t->nranks + 1, sizeof *all);

    for (size_t i = 0; all && i < t->nfences; i++) {
        struct tl_straggler *s = &all[t->fences[i].last];

        s->rank = (long)t->fences[i].last;
        s->times++;
        s->waited += t->fences[i].waited;
        if (t->fences[i].entered > 1 && s->waited > best.waited)
            best = *s;
    }
    free(all);
    return best;
}
