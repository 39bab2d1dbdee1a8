/* timeline_svg.c - a timeline as a picture: a row for each rank, or where they are many for
 * those of a host or of hosts; the critical path across them, and below in words. */
#include "mpiexec_lite/svg.h"
#include "mpiexec_lite/timeline_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 48, STEPS_MAX = 14, TOO_SHORT = 500, WIDTH = 1200 };
static const double LEFT = 250, RIGHT = WIDTH - 28, TOP = 104, LINE = 19;

static const char style[] =
    "text{font:12px sans-serif;fill:#1f2933}.title{font-size:17px;font-weight:bold}"
    ".small{font-size:11px;fill:#52606d}.head{font-size:14px;font-weight:bold}"
    ".left{text-anchor:end}.mid{text-anchor:middle;font-size:11px;fill:#52606d}"
    ".paper{fill:#fff}.band{fill:#f5f7fa}.share{fill:#1f2933}"
    ".connect{fill:#cbd2d9}.wait{fill:#e9edf1}.start{fill:#f6c85f}.run{fill:#6fa8dc}"
    ".fence{fill:#e07a5f}.final{fill:#a8d5ba}.output{fill:#fff;stroke:#1f2933}"
    ".grid{stroke:#e4e7eb}.cut{stroke:#9aa5b1;stroke-dasharray:3 3}"
    ".gate{stroke:#7b8794;stroke-dasharray:2 4}"
    ".halo{fill:none;stroke:#fff;stroke-width:5;stroke-linejoin:round}"
    ".path{fill:none;stroke:#1f2933;stroke-width:2;stroke-linejoin:round}"
    ".bad{stroke:#c81e1e;stroke-width:2.5}";

/* --- heading ----------------------------------------------------------- */

/* So much of a text that it has room. */
static void put_short(struct tl_picture *p, const char *class, double x, double y, const char *text,
                      size_t most)
{
    struct buf cut = BUF_INIT;
    size_t len = strlen(text);

    if (len > most) {
        for (len = most; len && ((unsigned char)text[len] & 0xc0) == 0x80; len--)
            ;                            /* not within a character */
        buf_add(&cut, text, len);
        buf_str(&cut, "…");
    } else {
        buf_add(&cut, text, len);
    }
    svg_text(p->out, class, x, y, cut.len ? buf_bytes(&cut) : "");
    buf_clear(&cut);
}

static int64_t most_unsure(const struct timeline *t)
{
    int64_t most = 0;

    for (size_t i = 0; i < t->nhosts; i++)
        most = t->hosts[i].unsure > most ? t->hosts[i].unsure : most;
    return most;
}

static void put_facts(struct tl_picture *p)
{
    const struct timeline *t = p->t;
    struct buf text = BUF_INIT;
    int64_t unsure = most_unsure(t);

    buf_printf(&text, "%zu rank%s on %zu host%s", t->nranks, t->nranks == 1 ? "" : "s", t->nhosts,
               t->nhosts == 1 ? "" : "s");
    if (t->njobs > 1)
        buf_printf(&text, " in %zu jobs", t->njobs);
    buf_printf(&text, ", %zu fence%s, %s", t->nfences, t->nfences == 1 ? "" : "s",
               timeline_time(t->end).text);
    if (unsure)
        buf_printf(&text, "; times of other hosts may be off by %s", timeline_time(unsure).text);
    if (!p->rows.single)
        buf_str(&text, "; a row has several ranks, by how many do what");
    svg_text(p->out, "small", 16, 46, text.failed ? "" : buf_bytes(&text));
    buf_clear(&text);
}

static void put_legend(struct tl_picture *p)
{
    double x = 16;

    for (int s = 0; s < TL_STATES; s++) {
        svg_rect(p->out, tl_state_class[s], x, 60, 12, 12, NULL);
        svg_text(p->out, "small", x + 17, 70, tl_state_text[s]);
        x += 32 + 5.4 * (double)strlen(tl_state_text[s]);
    }
    svg_line(p->out, "path", x, 66, x + 16, 66);
    svg_text(p->out, "small", x + 21, 70, "critical path");
    x += 105;
    if (p->rows.single) {
        svg_rect(p->out, "output", x, 61.5, 4, 9, NULL);
        svg_text(p->out, "small", x + 9, 70, "first output");
        svg_line(p->out, "bad", x + 82, 61.5, x + 91, 70.5);
        svg_line(p->out, "bad", x + 82, 70.5, x + 91, 61.5);
        svg_text(p->out, "small", x + 96, 70, "bad end");
    }
}

/* --- frame ------------------------------------------------------------- */

/* As exactly as marks of that distance need it. */
static struct tl_time mark_text(int64_t at, int64_t step)
{
    static const struct { int64_t unit; const char *name; } units[] = {
        { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "µs" }, { 1, "ns" },
    };
    struct tl_time x;
    int i = 0, digits = 0;

    while (units[i].unit > (at ? at : 1))
        i++;
    for (int64_t u = units[i].unit; step % u && u > 1; u /= 10)
        digits++;
    snprintf(x.text, sizeof x.text, "%.*f %s", digits, (double)at / (double)units[i].unit,
             units[i].name);
    return x;
}

static void put_marks(struct tl_picture *p, double bottom)
{
    for (int i = 0; i < p->axis.n; i++) {
        int64_t step = timeline_step(&p->axis, i), at = p->axis.at[i];
        bool last = i + 1 == p->axis.n;

        for (at = (at + step - 1) / step * step; at <= p->axis.at[i + 1]; at += step) {
            double x = timeline_x(&p->axis, at);

            svg_line(p->out, "grid", x, TOP, x, bottom);
            if (last || x < p->axis.x[i + 1] - 36)
                svg_text(p->out, "mid", x, bottom + 16, at ? mark_text(at, step).text : "0");
        }
        if (!last) {
            svg_line(p->out, "cut", p->axis.x[i + 1], TOP - 4, p->axis.x[i + 1], bottom + 22);
            svg_text(p->out, "mid", p->axis.x[i + 1], bottom + 33, "other scale");
        }
    }
}

static void put_labels(struct tl_picture *p)
{
    bool band = false;

    for (size_t i = 0; i < p->rows.n; i++) {
        double y = picture_y(p, i), base = y + p->height / 2 + 4;

        band = *p->rows.groups[i] ? !band : band;
        if (band)
            svg_rect(p->out, "band", 8, y, RIGHT - 8, p->height, NULL);
        put_short(p, "", 16, base, p->rows.groups[i], 28);
        if (p->height > 9)
            svg_text(p->out, "small left", LEFT - 8, base, p->rows.labels[i]);
    }
}

/* When the last rank came to a fence; those of a run of many stand too near to each other. */
static void put_gates(struct tl_picture *p, double bottom)
{
    double free_from = 0;
    char text[32];

    for (size_t i = 0; i < p->t->nfences; i++) {
        const struct tl_fence *f = &p->t->fences[i];
        double x = timeline_x(&p->axis, f->last_in);

        if (p->t->jobs[f->job].number || x < free_from)
            continue;
        snprintf(text, sizeof text, "fence %d", f->number);
        svg_line(p->out, "gate", x, TOP - 6, x, bottom);
        svg_text(p->out, "mid", x, TOP - 10, text);
        free_from = x + 50;
    }
}

/* --- rows -------------------------------------------------------------- */

static void put_span(void *host, size_t rank, enum tl_state s, int64_t from, int64_t to,
                     long fence)
{
    struct tl_picture *p = host;
    double x = timeline_x(&p->axis, from), w = timeline_x(&p->axis, to) - x;
    struct buf tip = BUF_INIT;

    if (w < 0.1)
        return;
    buf_printf(&tip, "%s: %s", timeline_name(p->t, rank).text, tl_state_text[s]);
    if (fence >= 0)
        buf_printf(&tip, " (%d)", p->t->fences[fence].number);
    buf_printf(&tip, ", %s from %s on", timeline_time(to - from).text, timeline_time(from).text);
    svg_rect(p->out, tl_state_class[s], x, picture_y(p, p->rows.row[rank]) + picture_gap(p), w,
             p->height - 2 * picture_gap(p), tip.failed ? NULL : buf_bytes(&tip));
    buf_clear(&tip);
}

static void put_signs(struct tl_picture *p, size_t rank)
{
    const struct tl_rank *r = &p->t->ranks[rank];
    double y = picture_y(p, p->rows.row[rank]) + p->height / 2, x;

    if (r->when[MOMENT_OUTPUT] != TIME_NONE)
        svg_rect(p->out, "output", timeline_x(&p->axis, r->when[MOMENT_OUTPUT]) - 1.5, y - 4, 3, 8,
                 "first output");
    if (r->when[MOMENT_EXIT] == TIME_NONE || !r->wstatus)
        return;
    x = timeline_x(&p->axis, r->when[MOMENT_EXIT]);
    svg_line(p->out, "bad", x - 4.5, y - 4.5, x + 4.5, y + 4.5);
    svg_line(p->out, "bad", x - 4.5, y + 4.5, x + 4.5, y - 4.5);
}

static void put_single(struct tl_picture *p)
{
    for (size_t i = 0; i < p->t->nranks; i++)
        timeline_spans(p->t, i, put_span, p);
    for (size_t i = 0; i < p->t->nranks; i++)
        put_signs(p, i);
}

/* --- critical path ----------------------------------------------------- */

/* The row of a host: of any of its ranks. */
static size_t row_of(const struct tl_picture *p, const struct tl_step *s)
{
    const struct timeline *t = p->t;

    if (s->kind != STEP_HOST)
        return p->rows.row[s->who];
    for (size_t i = 0; i < t->nranks; i++)
        if ((size_t)t->ranks[i].host == s->who)
            return p->rows.row[i];
    return 0;
}

static void put_line(struct tl_picture *p, const char *class)
{
    double seen = -1;

    svg_path(p->out, class);
    for (size_t i = 0; i < p->t->npath; i++) {
        const struct tl_step *s = &p->t->path[i];
        double y = picture_y(p, row_of(p, s)) + p->height / 2, from = timeline_x(&p->axis, s->from),
               to = timeline_x(&p->axis, s->to);

        if (i && i + 1 < p->t->npath && to - seen < 0.5)
            continue;                    /* of thousands of steps those that can be seen */
        svg_point(p->out, from, y);
        svg_point(p->out, to, y);
        seen = to;
    }
    svg_path_end(p->out, false);
}

static int by_length(const void *a, const void *b)
{
    const struct tl_step *x = *(const struct tl_step *const *)a,
                         *y = *(const struct tl_step *const *)b;
    int64_t m = x->to - x->from, n = y->to - y->from;

    return (m < n) - (m > n);
}

static int by_begin(const void *a, const void *b)
{
    const struct tl_step *x = *(const struct tl_step *const *)a,
                         *y = *(const struct tl_step *const *)b;

    return (x > y) - (x < y);
}

/* The longest steps, but for those that are next to nothing, in their order; how many.  v:
 * owned by who calls; NULL: no memory. */
static size_t longest(const struct timeline *t, const struct tl_step ***v)
{
    size_t n = t->npath < STEPS_MAX ? t->npath : STEPS_MAX;

    *v = malloc((t->npath + 1) * sizeof **v);
    for (size_t i = 0; *v && i < t->npath; i++)
        (*v)[i] = &t->path[i];
    if (!*v || !n)
        return 0;
    qsort(*v, t->npath, sizeof **v, by_length);
    while (n > 1 && (*v)[n - 1]->to - (*v)[n - 1]->from < t->end / TOO_SHORT)
        n--;
    qsort(*v, n, sizeof **v, by_begin);
    return n;
}

static void put_step(struct tl_picture *p, const struct tl_step *s, double y)
{
    double share = (double)(s->to - s->from) / (double)p->t->end;
    struct buf text = BUF_INIT;

    svg_text(p->out, "small left", 96, y, timeline_time(s->from).text);
    svg_text(p->out, "left", 172, y, timeline_time(s->to - s->from).text);
    svg_rect(p->out, "wait", 184, y - 9, 100, 9, NULL);
    svg_rect(p->out, "share", 184, y - 9, share * 100 > 1 ? share * 100 : 1, 9, NULL);
    timeline_say(p->t, s, &text);
    put_short(p, "", 296, y, text.failed ? "" : buf_bytes(&text), 140);
    buf_clear(&text);
}

static void put_straggler(struct tl_picture *p, double y)
{
    struct tl_straggler s = timeline_straggler(p->t);
    struct buf text = BUF_INIT;

    if (s.rank < 0)
        return;
    buf_printf(&text, "Most waited for: %s, last in %d of %zu fence%s; others waited %s for it, "
               "added up", timeline_name(p->t, (size_t)s.rank).text, s.times, p->t->nfences,
               p->t->nfences == 1 ? "" : "s", timeline_time(s.waited).text);
    put_short(p, "", 16, y, text.failed ? "" : buf_bytes(&text), 170);
    buf_clear(&text);
}

/* --- the whole --------------------------------------------------------- */

static double row_height(size_t rows)
{
    return rows <= 12 ? 24 : rows <= 24 ? 18 : 13;
}

void timeline_picture(const struct timeline *t, struct buf *out)
{
    struct tl_picture p = { .t = t, .out = out, .top = TOP };
    const struct tl_step **steps;
    double bottom, below;
    size_t n;

    if (!timeline_rows(t, ROWS_MAX, &p.rows)) {
        out->failed = true;
        timeline_rows_clear(&p.rows);
        return;
    }
    n = longest(t, &steps);
    timeline_axis(t, LEFT, RIGHT, &p.axis);
    p.height = row_height(p.rows.n);
    bottom = picture_y(&p, p.rows.n);
    below = bottom + 62;
    svg_begin(out, WIDTH, below + 30 + LINE * (double)(n + 1), t->title, style);
    put_short(&p, "title", 16, 26, t->title, 110);
    put_facts(&p);
    put_legend(&p);
    put_labels(&p);
    put_marks(&p, bottom);
    if (p.rows.single)
        put_single(&p);
    else if (!timeline_shared(&p))
        out->failed = true;
    put_gates(&p, bottom);
    if (t->npath) {
        put_line(&p, "halo");
        put_line(&p, "path");
        svg_text(out, "head", 16, below, n < t->npath
                 ? "Critical path: at, for, share of the run, who (the longest steps)"
                 : "Critical path: at, for, share of the run, who");
    }
    for (size_t i = 0; i < n; i++)
        put_step(&p, steps[i], below + 6 + LINE * (double)(i + 1));
    put_straggler(&p, below + 12 + LINE * (double)(n + 1));
    svg_end(out);
    free(steps);
    timeline_rows_clear(&p.rows);
}

void timeline_svg(const struct timeline *t, struct buf *out)
{
    buf_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    timeline_picture(t, out);
}
