/* timeline.h - what hosts and ranks did when, in a run from its beginning to its end, and who
 * was waited for (-timeline).
 *
 * Filled while the run goes on: hosts, jobs when they start, moments when they come, in any
 * order.  timeline_close puts them in order and finds the critical path; then it is for the
 * writers, timeline_json.c and timeline_svg.c.  Times are ns from the beginning of the run, of
 * the root's clock; TIME_NONE: that has not happened.  Pure. */
#ifndef MPIEXEC_LITE_TIMELINE_H
#define MPIEXEC_LITE_TIMELINE_H

#include "mpiexec_lite/moments.h"

#define TIME_NONE INT64_MIN

struct tl_host {
    char   *name;            /* owned */
    int64_t connected, ready;
    int64_t unsure;          /* its times may be off by so much; 0 for the root's own */
    int64_t dropped;         /* records of fences that were not kept there */
};

struct tl_rank {
    int     job, rank;       /* job: index of tl_job */
    int     host;            /* index of tl_host */
    int64_t when[MOMENT_KINDS];          /* but for fences: the first of each kind */
    int     wstatus;         /* once when[MOMENT_EXIT] is */
    int     pid;
    size_t  fences;          /* its first in timeline.visits */
    int     nfences, nleft;  /* nleft: while it is filled, how often it has left one */
};

struct tl_job {
    int     number, size;
    int     parent;          /* index of the rank that has started it; -1: none */
    int64_t began;
    size_t  first;           /* index of its rank 0 */
    size_t  fences;          /* its first in timeline.fences */
    int     nfences;
    char   *program;         /* owned: of rank 0 */
};

struct tl_visit { int64_t enter, leave; };       /* of a rank in a fence */

struct tl_fence {            /* of a whole job; the k-th that each of its ranks enters */
    int     job, number;     /* number: from 1 on */
    int     entered;         /* ranks */
    size_t  last;            /* index of the rank that came last */
    int64_t first_in, last_in, out;      /* out: the last that was let go */
    int64_t waited;          /* all ranks together, for the last */
};

enum tl_step_kind {
    STEP_HOST,               /* who: a host, until it was ready; else a rank: */
    STEP_START,              /* until it has executed its program */
    STEP_RUN,                /* until it entered the fence */
    STEP_FENCE,              /* the fence has all, until it lets go of who */
    STEP_END,                /* until it ended, last of all */
    STEP_FAIL,               /* until it came to a bad end, first of all */
    STEP_SPAWN               /* until what it has started was */
};

struct tl_step {             /* of the critical path */
    enum tl_step_kind kind;
    int64_t from, to;
    size_t  who;
    size_t  fence;           /* index; of STEP_RUN and STEP_FENCE */
};

struct tl_note { int64_t when; size_t rank; enum moment_kind kind; int value; };

struct timeline {
    char            *title;  /* owned, as all of it */
    struct tl_host  *hosts;
    struct tl_job   *jobs;
    struct tl_rank  *ranks;
    struct tl_note  *notes;  /* while it is filled */
    struct tl_visit *visits;
    struct tl_fence *fences;
    struct tl_step  *path;   /* in order of time */
    size_t nhosts, njobs, nranks, nnotes, cap, nvisits, nfences, npath;
    int64_t end;
    size_t broken;           /* 1 + index of the rank whose failure ended the run; 0: none's did */
    bool   failed;           /* no memory: it is of no use */
};

void timeline_clear(struct timeline *t);
/* A host; its times are none.  Its index, or -1: no memory. */
int  timeline_add_host(struct timeline *t, const char *name);
/* A job starts.  nodes: by rank, indexes of hosts; parent: index of a rank, or -1. */
void timeline_add_job(struct timeline *t, int number, int size, const int *nodes,
                      const char *program, int parent, int64_t began);
/* The index of a rank; -1: there is none. */
long timeline_rank(const struct timeline *t, int job, int rank);
/* x->when is of the root's clock already, from the beginning; of ranks that are not known it
 * is passed over. */
void timeline_note(struct timeline *t, const struct moment *x);
void timeline_close(struct timeline *t, int64_t end);

typedef void timeline_write_fn(const struct timeline *t, struct buf *out);
/* What a file of this name is written by: .json, .svg or .html; NULL: it ends in none of
 * these. */
timeline_write_fn *timeline_writer(const char *name);
/* Chrome's trace event format, as Perfetto reads it. */
timeline_write_fn timeline_json;
timeline_write_fn timeline_svg;
/* The same picture, and tables of fences and hosts. */
timeline_write_fn timeline_html;

#endif
