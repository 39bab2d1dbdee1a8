/* timeline_impl.h - what the timeline's source files share: timeline.c (filled and put in
 * order), timeline_path.c (the critical path, in words too), timeline_json.c, timeline_svg.c
 * and timeline_html.c (the picture, and a page with it), timeline_shared.c (rows of many ranks),
 * timeline_rows.c (whose row shows what) and timeline_axis.c (where a time is). */
#ifndef MPIEXEC_LITE_TIMELINE_IMPL_H
#define MPIEXEC_LITE_TIMELINE_IMPL_H

#include "mpiexec_lite/timeline.h"

/* --- timeline_path.c --- */
void timeline_find_path(struct timeline *t);
/* "rank 3 on node1"; of another job than the first "job 1's rank 3 on node1". */
struct tl_name { char text[400]; };
struct tl_name timeline_name(const struct timeline *t, size_t rank);
/* One step for people, and its time: "1.250 s", "12.3 ms", "7 µs". */
void timeline_say(const struct timeline *t, const struct tl_step *s, struct buf *out);
struct tl_time { char text[32]; };
struct tl_time timeline_time(int64_t ns);
/* Who was last most often, over all fences; ranks that never were: -1. */
struct tl_straggler { long rank; int times; int64_t waited; };
struct tl_straggler timeline_straggler(const struct timeline *t);

/* --- what a rank does: timeline_rows.c --- */
enum tl_state { TL_CONNECT, TL_WAIT, TL_START, TL_RUN, TL_FENCE, TL_FINAL, TL_STATES };
extern const char *const tl_state_class[TL_STATES], *const tl_state_text[TL_STATES];
/* All that a rank does, in order; fence: index of the fence, or -1. */
typedef void tl_span_fn(void *host, size_t rank, enum tl_state s, int64_t from, int64_t to,
                        long fence);
void timeline_spans(const struct timeline *t, size_t rank, tl_span_fn *take, void *host);

/* Rows of the picture: each of some ranks, that are one, or those of a host, or of hosts. */
struct tl_rows {
    size_t *row;             /* owned: by rank */
    size_t  n;
    char  **labels;          /* owned, and each of them: by row */
    char  **groups;          /* the same: what several rows have in common, "": as before */
    bool    single;          /* a row is a rank */
};
/* At most `most` rows.  false: no memory. */
bool timeline_rows(const struct timeline *t, size_t most, struct tl_rows *rows);
void timeline_rows_clear(struct tl_rows *rows);

/* --- timeline_axis.c --- */
enum { AXIS_PIECES = 3 };
struct tl_axis {             /* from left to right; where the beginning and the end of a run
                                would be too small to see, they have a scale of their own */
    int     n;               /* pieces */
    int64_t at[AXIS_PIECES + 1];
    double  x[AXIS_PIECES + 1];
};
void   timeline_axis(const struct timeline *t, double left, double right, struct tl_axis *a);
double timeline_x(const struct tl_axis *a, int64_t when);
/* What to write below a piece: the distance of marks in ns. */
int64_t timeline_step(const struct tl_axis *a, int piece);

/* --- timeline_svg.c --- */
struct tl_picture {
    const struct timeline *t;
    struct buf     *out;
    struct tl_rows  rows;
    struct tl_axis  axis;
    double          top, height;         /* of the first row; of each */
};
static inline double picture_y(const struct tl_picture *p, size_t row)
{
    return p->top + (double)row * p->height;
}
/* Between rows there is twice that. */
static inline double picture_gap(const struct tl_picture *p)
{
    return p->height > 12 ? 2 : 1;
}
void timeline_picture(const struct timeline *t, struct buf *out);
/* --- timeline_shared.c --- */
/* The rows; false: no memory. */
bool timeline_shared(struct tl_picture *p);

#endif
