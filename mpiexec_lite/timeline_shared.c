/* timeline_shared.c - rows of the picture that several ranks share: by how many of them do
 * what, as areas on top of each other. */
#include "mpiexec_lite/svg.h"
#include "mpiexec_lite/timeline_impl.h"

#include <math.h>
#include <stdlib.h>

enum { COLUMNS = 320 };

static double width_of(const struct tl_picture *p)
{
    return p->axis.x[p->axis.n] - p->axis.x[0];
}

/* How many ranks of a row are in a state in each column: first as changes from the column
 * before. */
struct counts {
    struct tl_picture *p;
    int            *n;           /* owned: by row, state and column */
};

static int *counts_of(const struct counts *c, size_t row, int state)
{
    return c->n + (row * TL_STATES + (size_t)state) * (COLUMNS + 1);
}

static size_t column(const struct tl_picture *p, int64_t when)
{
    return (size_t)((timeline_x(&p->axis, when) - p->axis.x[0]) / width_of(p) * COLUMNS + 0.5);
}

static void count_span(void *host, size_t rank, enum tl_state s, int64_t from, int64_t to,
                       long fence)
{
    struct counts *c = host;
    int *n = counts_of(c, c->p->rows.row[rank], (int)s);

    (void)fence;
    n[column(c->p, from)]++;
    n[column(c->p, to)]--;
}

/* One state of a row: what lies between two stairs.  low: heights below it, moved up. */
static void put_stairs(struct tl_picture *p, int state, const int *n, double *low, double y,
                       double scale)
{
    double step = width_of(p) / COLUMNS, high[COLUMNS] = { 0 };
    int begin = 0, end = COLUMNS;

    while (begin < COLUMNS && !n[begin])
        begin++;
    while (end > begin && !n[end - 1])
        end--;
    if (begin == end)
        return;
    svg_path(p->out, tl_state_class[state]);
    for (int c = begin; c < end; c++) {
        high[c] = low[c] + n[c] * scale;
        if (c == begin || fabs(high[c] - high[c - 1]) > 0.05) {
            if (c > begin)
                svg_point(p->out, p->axis.x[0] + c * step, y - high[c - 1]);
            svg_point(p->out, p->axis.x[0] + c * step, y - high[c]);
        }
    }
    svg_point(p->out, p->axis.x[0] + end * step, y - high[end - 1]);
    for (int c = end; c-- > begin;)
        if (c + 1 == end || fabs(low[c] - low[c + 1]) > 0.05) {
            svg_point(p->out, p->axis.x[0] + (c + 1) * step, y - low[c + 1 == end ? c : c + 1]);
            svg_point(p->out, p->axis.x[0] + (c + 1) * step, y - low[c]);
        }
    svg_point(p->out, p->axis.x[0] + begin * step, y - low[begin]);
    svg_path_end(p->out, true);
    for (int c = begin; c < end; c++)
        low[c] = high[c];
}

static void put_row(struct counts *c, size_t row, int ranks)
{
    struct tl_picture *p = c->p;
    double low[COLUMNS] = { 0 }, scale = (p->height - 2 * picture_gap(p)) / ranks;

    for (int s = 0; s < TL_STATES; s++) {
        int *n = counts_of(c, row, s);

        for (int k = 1; k < COLUMNS; k++)
            n[k] += n[k - 1];
        put_stairs(p, s, n, low, picture_y(p, row + 1) - picture_gap(p), scale);
    }
}

bool timeline_shared(struct tl_picture *p)
{
    struct counts c = { p, calloc(p->rows.n * TL_STATES * (COLUMNS + 1), sizeof *c.n) };
    int *ranks = calloc(p->rows.n, sizeof *ranks);
    bool ok = c.n && ranks;

    for (size_t i = 0; ok && i < p->t->nranks; i++) {
        timeline_spans(p->t, i, count_span, &c);
        ranks[p->rows.row[i]]++;
    }
    for (size_t row = 0; ok && row < p->rows.n; row++)
        put_row(&c, row, ranks[row]);
    free(c.n);
    free(ranks);
    return ok;
}
