/* timeline_rows.c - what ranks do from one moment to the next, and which of them share a row
 * of the picture. */
#include "mpiexec_lite/timeline_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const tl_state_class[TL_STATES] = {
    [TL_CONNECT] = "connect", [TL_WAIT] = "wait", [TL_START] = "start", [TL_RUN] = "run",
    [TL_FENCE] = "fence", [TL_FINAL] = "final",
};

const char *const tl_state_text[TL_STATES] = {
    [TL_CONNECT] = "host connects", [TL_WAIT] = "waits for its start",
    [TL_START] = "before PMI init", [TL_RUN] = "runs", [TL_FENCE] = "waits in a fence",
    [TL_FINAL] = "after finalize",
};

/* --- what a rank does -------------------------------------------------- */

struct spans {
    size_t      rank;
    int64_t     at;          /* until here it is told */
    tl_span_fn *take;
    void       *host;
};

static void span(struct spans *s, enum tl_state state, int64_t to, long fence)
{
    if (to == TIME_NONE || to <= s->at)
        return;
    s->take(s->host, s->rank, state, s->at, to, fence);
    s->at = to;
}

void timeline_spans(const struct timeline *t, size_t rank, tl_span_fn *take, void *host)
{
    const struct tl_rank *r = &t->ranks[rank];
    const struct tl_job *j = &t->jobs[r->job];
    int64_t end = r->when[MOMENT_EXIT];
    bool spawned = j->number > 0;
    struct spans s = { rank, spawned ? j->began : 0, take, host };

    if (!spawned)
        span(&s, TL_CONNECT, t->hosts[r->host].connected, -1);
    if (r->when[MOMENT_EXEC] == TIME_NONE)
        return;                          /* it never ran */
    end = end == TIME_NONE ? t->end : end;
    span(&s, TL_WAIT, r->when[MOMENT_EXEC], -1);
    span(&s, TL_START, r->when[MOMENT_INIT], -1);
    for (int k = 0; k < r->nfences; k++) {
        const struct tl_visit *v = &t->visits[r->fences + (size_t)k];

        span(&s, TL_RUN, v->enter, -1);
        span(&s, TL_FENCE, v->leave, (long)j->fences + k);
    }
    span(&s, TL_RUN, r->when[MOMENT_FINALIZE], -1);
    span(&s, r->when[MOMENT_FINALIZE] == TIME_NONE ? TL_RUN : TL_FINAL, end, -1);
}

/* --- rows -------------------------------------------------------------- */

/* Ranks in the order of the picture: by job, by host, by rank. */
struct place_of { int job, host, rank; size_t index; };

static int by_place(const void *a, const void *b)
{
    const struct place_of *x = a, *y = b;

    if (x->job != y->job)
        return x->job > y->job ? 1 : -1;
    if (x->host != y->host)
        return x->host > y->host ? 1 : -1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static struct place_of *sorted(const struct timeline *t)
{
    struct place_of *v = malloc((t->nranks + 1) * sizeof *v);

    for (size_t i = 0; v && i < t->nranks; i++)
        v[i] = (struct place_of){ t->ranks[i].job, t->ranks[i].host, t->ranks[i].rank, i };
    if (v && t->nranks)
        qsort(v, t->nranks, sizeof *v, by_place);
    return v;
}

static bool same_host(const struct place_of *a, const struct place_of *b)
{
    return a->job == b->job && a->host == b->host;
}

/* Hosts of jobs: a host counts for each job that has ranks there. */
static size_t count_places(const struct place_of *v, size_t n)
{
    size_t places = n > 0;

    for (size_t i = 1; i < n; i++)
        places += !same_host(&v[i], &v[i - 1]);
    return places;
}

static char *text_of(bool *failed, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static char *text_of(bool *failed, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    *failed = *failed || !text;
    return text;
}

/* What stands before a row that begins with one rank and ends with another. */
static void label(const struct timeline *t, struct tl_rows *rows, const struct place_of *first,
                  const struct place_of *last, size_t n, bool *failed)
{
    int number = t->jobs[first->job].number;
    const char *host = t->hosts[first->host].name;
    char job[32] = "";

    if (number)
        snprintf(job, sizeof job, "job %d ", number);
    if (rows->single) {
        rows->labels[rows->n] = text_of(failed, "%d", first->rank);
        rows->groups[rows->n] = text_of(failed, "%s%s", job, host);
    } else if (same_host(first, last)) {
        rows->labels[rows->n] = text_of(failed, "%zu rank%s", n, n == 1 ? "" : "s");
        rows->groups[rows->n] = text_of(failed, "%s%s", job, host);
    } else {
        rows->labels[rows->n] = text_of(failed, "%zu ranks", n);
        rows->groups[rows->n] = text_of(failed, "%s%s – %s", job, host,
                                        t->hosts[last->host].name);
    }
    rows->n++;
}

static void fill(const struct timeline *t, struct tl_rows *rows, const struct place_of *v,
                 size_t each, bool *failed)
{
    size_t first = 0, places = 1;

    for (size_t i = 0; i < t->nranks; i++) {
        bool next = i > 0 && !same_host(&v[i], &v[i - 1]), new_row;

        places += next;
        new_row = i > 0 && (rows->single || v[i].job != v[i - 1].job || places > each);
        if (new_row) {
            label(t, rows, &v[first], &v[i - 1], i - first, failed);
            first = i;
            places = 1;
        }
        rows->row[v[i].index] = rows->n;
    }
    if (t->nranks)
        label(t, rows, &v[first], &v[t->nranks - 1], t->nranks - first, failed);
}

/* A group is named in its first row. */
static void drop_repeated(struct tl_rows *rows)
{
    for (size_t i = rows->n; i-- > 1;)
        if (!strcmp(rows->groups[i], rows->groups[i - 1]))
            rows->groups[i][0] = '\0';
}

bool timeline_rows(const struct timeline *t, size_t most, struct tl_rows *rows)
{
    struct place_of *v = sorted(t);
    size_t places = v ? count_places(v, t->nranks) : 0;
    /* more rows than that only where there are more jobs */
    size_t each = (places + most - 1) / most, room = t->nranks + 1;
    bool failed = !v;

    *rows = (struct tl_rows){ .single = t->nranks <= most };
    rows->row = calloc(room, sizeof *rows->row);
    rows->labels = calloc(room, sizeof *rows->labels);
    rows->groups = calloc(room, sizeof *rows->groups);
    failed = failed || !rows->row || !rows->labels || !rows->groups;
    if (!failed)
        fill(t, rows, v, each ? each : 1, &failed);
    if (!failed)
        drop_repeated(rows);
    free(v);
    return !failed;
}

void timeline_rows_clear(struct tl_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        free(rows->labels[i]);
        free(rows->groups[i]);
    }
    free(rows->row);
    free(rows->labels);
    free(rows->groups);
}
