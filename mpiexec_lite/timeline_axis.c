/* timeline_axis.c - where a time stands in the picture.
 *
 * A run of an hour starts within a second.  Its first part, until all are through their first
 * fence, and its last, from the first finalize on, are drawn as wide as can be read. */
#include "mpiexec_lite/timeline_impl.h"

static const double START_SHARE = 0.4, END_SHARE = 0.15;     /* of the width, at least */
static const double SMALL = 0.25;        /* a part of the time that is less gets its share */
static const double MARK_WIDTH = 72;

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* When the last rank of the first job was through its start. */
static int64_t start_end(const struct timeline *t)
{
    int64_t end = 0;

    for (size_t i = 0; t->njobs && i < (size_t)t->jobs[0].size; i++) {
        const struct tl_rank *r = &t->ranks[i];

        if (r->nfences)
            end = later(end, t->visits[r->fences].leave);
        else
            end = later(end, later(r->when[MOMENT_INIT], r->when[MOMENT_EXEC]));
    }
    return end;
}

static int64_t finish_begin(const struct timeline *t)
{
    int64_t begin = t->end;

    for (size_t i = 0; i < t->nranks; i++) {
        const struct tl_rank *r = &t->ranks[i];
        int64_t at = r->when[r->when[MOMENT_FINALIZE] == TIME_NONE ? MOMENT_EXIT
                                                                   : MOMENT_FINALIZE];

        if (at != TIME_NONE && at < begin)
            begin = at;
    }
    return begin;
}

void timeline_axis(const struct timeline *t, double left, double right, struct tl_axis *a)
{
    int64_t start = start_end(t), finish = finish_begin(t), room = t->end / 20;
    double width = right - left, total = (double)t->end;

    *a = (struct tl_axis){ .at = { 0 }, .x = { left } };
    start += start / 20;                 /* a little of what follows */
    if (start > 0 && (double)start < SMALL * total) {
        a->at[++a->n] = start;
        a->x[a->n] = left + START_SHARE * width;
    }
    finish -= (t->end - finish) / 10;
    if (a->n && finish > a->at[a->n] + room && t->end - finish < room) {
        a->at[++a->n] = finish;
        a->x[a->n] = right - END_SHARE * width;
    }
    a->at[++a->n] = t->end;
    a->x[a->n] = right;
}

double timeline_x(const struct tl_axis *a, int64_t when)
{
    int i = 0;

    if (when <= 0)
        return a->x[0];
    while (i + 1 < a->n && when > a->at[i + 1])
        i++;
    if (when >= a->at[i + 1])
        return a->x[i + 1];
    return a->x[i] + (a->x[i + 1] - a->x[i]) * (double)(when - a->at[i]) /
                     (double)(a->at[i + 1] - a->at[i]);
}

int64_t timeline_step(const struct tl_axis *a, int piece)
{
    double marks = (a->x[piece + 1] - a->x[piece]) / MARK_WIDTH;
    double want = (double)(a->at[piece + 1] - a->at[piece]) / (marks > 1 ? marks : 1);
    int64_t step = 1;

    for (int i = 0; (double)step < want; i++)
        step = i % 3 == 1 ? step / 2 * 5 : step * 2;     /* 1, 2, 5, 10 */
    return step;
}
