/* timeline.c - see timeline.h.  Filled, and put in order; the critical path is
 * timeline_path.c's. */
#include "mpiexec_lite/timeline_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Entries into fences of all ranks together; those that come later are not taken, of no rank:
 * a picture has no room for them. */
enum { VISITS_MAX = 2 << 20 };

void timeline_clear(struct timeline *t)
{
    for (size_t i = 0; i < t->nhosts; i++)
        free(t->hosts[i].name);
    for (size_t i = 0; i < t->njobs; i++)
        free(t->jobs[i].program);
    free(t->title);
    free(t->hosts);
    free(t->jobs);
    free(t->ranks);
    free(t->notes);
    free(t->visits);
    free(t->fences);
    free(t->path);
    *t = (struct timeline){ 0 };
}

timeline_write_fn *timeline_writer(const char *name)
{
    static const struct { const char *end; timeline_write_fn *write; } kinds[] = {
        { ".json", timeline_json }, { ".svg", timeline_svg }, { ".html", timeline_html },
    };
    const char *end = strrchr(name, '.');

    for (size_t i = 0; end && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcasecmp(end, kinds[i].end))
            return kinds[i].write;
    return NULL;
}

/* --- filled ------------------------------------------------------------ */

/* n more elements; false: no memory. */
static bool grow(struct timeline *t, void *array, size_t have, size_t n, size_t size)
{
    void *v = reallocarray(*(void **)array, have + n, size);

    t->failed = t->failed || !v;
    if (v)
        *(void **)array = v;
    return v != NULL;
}

int timeline_add_host(struct timeline *t, const char *name)
{
    char *copy = strdup(name);

    if (!copy || !grow(t, &t->hosts, t->nhosts, 1, sizeof *t->hosts)) {
        free(copy);
        t->failed = true;
        return -1;
    }
    t->hosts[t->nhosts] = (struct tl_host){ copy, TIME_NONE, TIME_NONE, 0, 0 };
    return (int)t->nhosts++;
}

void timeline_add_job(struct timeline *t, int number, int size, const int *nodes,
                      const char *program, int parent, int64_t began)
{
    char *copy = strdup(program);

    if (!copy || !grow(t, &t->jobs, t->njobs, 1, sizeof *t->jobs) ||
        !grow(t, &t->ranks, t->nranks, (size_t)size, sizeof *t->ranks)) {
        free(copy);
        t->failed = true;
        return;
    }
    for (int i = 0; i < size; i++) {
        struct tl_rank *r = &t->ranks[t->nranks + (size_t)i];

        *r = (struct tl_rank){ .job = (int)t->njobs, .rank = i, .host = nodes[i] };
        for (int k = 0; k < MOMENT_KINDS; k++)
            r->when[k] = TIME_NONE;
    }
    t->jobs[t->njobs++] = (struct tl_job){ number, size, parent, began, t->nranks, 0, 0, copy };
    t->nranks += (size_t)size;
}

long timeline_rank(const struct timeline *t, int job, int rank)
{
    for (size_t i = 0; i < t->njobs; i++)        /* the last ones are asked for most */
        if (t->jobs[t->njobs - 1 - i].number == job) {
            const struct tl_job *j = &t->jobs[t->njobs - 1 - i];

            return rank >= 0 && rank < j->size ? (long)j->first + rank : -1;
        }
    return -1;
}

/* Whether there is room for it; each rank has as much. */
static bool take_fence(const struct timeline *t, struct tl_rank *r, enum moment_kind kind)
{
    int *n = kind == MOMENT_ENTER ? &r->nfences : &r->nleft;

    if (kind != MOMENT_ENTER && kind != MOMENT_LEAVE)
        return true;
    if (*n && (size_t)*n >= VISITS_MAX / t->nranks) {
        t->hosts[r->host].dropped++;
        return false;
    }
    ++*n;
    return true;
}

void timeline_note(struct timeline *t, const struct moment *x)
{
    long rank = timeline_rank(t, x->job, x->rank);

    if (rank < 0 || !take_fence(t, &t->ranks[rank], x->kind))
        return;
    if (t->nnotes == t->cap) {
        size_t more = t->cap ? t->cap : 1024;

        if (!grow(t, &t->notes, t->cap, more, sizeof *t->notes))
            return;
        t->cap += more;
    }
    t->notes[t->nnotes++] = (struct tl_note){ x->when, (size_t)rank, x->kind, x->value };
}

/* --- put in order ------------------------------------------------------ */

static int by_rank_and_time(const void *a, const void *b)
{
    const struct tl_note *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank > y->rank ? 1 : -1;
    if (x->when != y->when)
        return x->when > y->when ? 1 : -1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static void take_visit(struct timeline *t, struct tl_rank *r, const struct tl_note *x)
{
    if (x->kind == MOMENT_ENTER) {
        if (!r->nfences++)
            r->fences = t->nvisits;
        t->visits[t->nvisits++] = (struct tl_visit){ x->when, TIME_NONE };
        return;
    }
    for (int i = 0; i < r->nfences; i++) {       /* threads: the oldest that waits */
        struct tl_visit *v = &t->visits[t->nvisits - 1 - (size_t)i];

        if (v->leave == TIME_NONE && (i + 1 == r->nfences || v[-1].leave != TIME_NONE)) {
            v->leave = x->when;
            return;
        }
    }
}

static void take_notes(struct timeline *t)
{
    for (size_t i = 0; i < t->nranks; i++)
        t->ranks[i].nfences = 0;         /* counted again, of what is there */
    for (size_t i = 0; i < t->nnotes; i++) {
        const struct tl_note *x = &t->notes[i];
        struct tl_rank *r = &t->ranks[x->rank];

        if (x->kind == MOMENT_ENTER || x->kind == MOMENT_LEAVE) {
            take_visit(t, r, x);
        } else if (r->when[x->kind] == TIME_NONE) {
            r->when[x->kind] = x->when;
            if (x->kind == MOMENT_EXIT)
                r->wstatus = x->value;
            if (x->kind == MOMENT_EXEC)
                r->pid = x->value;
        }
    }
}

/* Who dies in a fence leaves it so; who is still there at the end is, too.  Where moments
 * were not kept it cannot be told when it was left. */
static void end_visits(struct timeline *t)
{
    for (size_t i = 0; i < t->nranks; i++) {
        struct tl_rank *r = &t->ranks[i];

        while (r->nfences && t->hosts[r->host].dropped &&
               t->visits[r->fences + (size_t)r->nfences - 1].leave == TIME_NONE)
            r->nfences--;
        for (int k = 0; k < r->nfences; k++) {
            struct tl_visit *v = &t->visits[r->fences + (size_t)k];

            if (v->leave == TIME_NONE)
                v->leave = r->when[MOMENT_EXIT] == TIME_NONE ? t->end : r->when[MOMENT_EXIT];
        }
    }
}

static void count_fences(struct timeline *t)
{
    for (size_t i = 0; i < t->nranks; i++) {
        struct tl_job *j = &t->jobs[t->ranks[i].job];

        if (t->ranks[i].nfences > j->nfences)
            j->nfences = t->ranks[i].nfences;
    }
    for (size_t i = 0; i < t->njobs; i++) {
        t->jobs[i].fences = t->nfences;
        t->nfences += (size_t)t->jobs[i].nfences;
    }
}

static void fill_fences(struct timeline *t)
{
    for (size_t i = 0; i < t->nranks; i++) {
        const struct tl_rank *r = &t->ranks[i];

        for (int k = 0; k < r->nfences; k++) {
            const struct tl_visit *v = &t->visits[r->fences + (size_t)k];
            struct tl_fence *f = &t->fences[t->jobs[r->job].fences + (size_t)k];

            if (!f->entered++)
                *f = (struct tl_fence){ r->job, k + 1, 1, i, v->enter, v->enter, v->leave, 0 };
            if (v->enter > f->last_in) {
                f->last_in = v->enter;
                f->last = i;
            }
            f->first_in = v->enter < f->first_in ? v->enter : f->first_in;
            f->out = v->leave > f->out ? v->leave : f->out;
        }
    }
}

static void count_waits(struct timeline *t)
{
    for (size_t i = 0; i < t->nranks; i++) {
        const struct tl_rank *r = &t->ranks[i];

        for (int k = 0; k < r->nfences; k++) {
            struct tl_fence *f = &t->fences[t->jobs[r->job].fences + (size_t)k];

            f->waited += f->last_in - t->visits[r->fences + (size_t)k].enter;
        }
    }
}

void timeline_close(struct timeline *t, int64_t end)
{
    t->end = end > 1 ? end : 1;
    if (t->nnotes)
        qsort(t->notes, t->nnotes, sizeof *t->notes, by_rank_and_time);
    t->visits = calloc(t->nnotes + 1, sizeof *t->visits);
    if (!t->visits) {
        t->failed = true;
        return;
    }
    take_notes(t);
    free(t->notes);
    t->notes = NULL;
    end_visits(t);
    count_fences(t);
    t->fences = calloc(t->nfences + 1, sizeof *t->fences);
    if (!t->fences) {
        t->failed = true;
        return;
    }
    fill_fences(t);
    count_waits(t);
    timeline_find_path(t);
}
