/* flow.c - see flow.h */
#include "mpiexec_lite/flow.h"

static const char *const names[LINK_CLASSES] = { "control", "data", "bulk" };

void flow_init(struct flow *f, size_t window)
{
    *f = (struct flow){ .window = window };
    for (int c = 0; c < LINK_CLASSES; c++) {
        STAILQ_INIT(&f->wait[c]);
        f->of[c].credit = window;
    }
}

/* --- what is sent ------------------------------------------------------ */

/* The most that a piece can wait for, as up to a quarter of the window may be owed. */
size_t flow_cost(const struct flow *f, enum link_class c, size_t len)
{
    size_t most = f->window - f->window / 4;

    if (c == LINK_CONTROL)
        return 0;
    return len < most ? len : most;
}

void flow_add(struct flow *f, enum link_class c, struct piece *p, size_t len)
{
    p->class = c;
    p->cost = flow_cost(f, c, len);
    f->of[c].queued += p->cost;
    STAILQ_INSERT_TAIL(&f->wait[c], p, next);
}

static struct piece *take_out(struct flow *f, enum link_class c)
{
    struct piece *p = STAILQ_FIRST(&f->wait[c]);

    STAILQ_REMOVE_HEAD(&f->wait[c], next);
    f->of[c].queued -= p->cost;
    return p;
}

struct piece *flow_next(struct flow *f, bool busy)
{
    for (int c = 0; c < LINK_CLASSES; c++) {
        struct account *a = &f->of[c];
        struct piece *p = STAILQ_FIRST(&f->wait[c]);

        if (!p || p->cost > a->credit)
            continue;                    /* a lower class may pass what has no credit */
        if (c == LINK_BULK && p->cost && busy)
            continue;                    /* alone, so that nothing has to wait for two */
        a->credit -= p->cost;
        return take_out(f, (enum link_class)c);
    }
    return NULL;
}

struct piece *flow_drop(struct flow *f)
{
    for (int c = 0; c < LINK_CLASSES; c++)
        if (!STAILQ_EMPTY(&f->wait[c]))
            return take_out(f, (enum link_class)c);
    return NULL;
}

bool flow_idle(const struct flow *f)
{
    for (int c = 0; c < LINK_CLASSES; c++)
        if (!STAILQ_EMPTY(&f->wait[c]))
            return false;
    return true;
}

size_t flow_room(const struct flow *f, enum link_class c)
{
    const struct account *a = &f->of[c];

    return a->credit > a->queued ? a->credit - a->queued : 0;
}

int flow_credit(struct flow *f, enum link_class c, size_t n, struct err *e)
{
    struct account *a = &f->of[c];

    if (c == LINK_CONTROL || n > f->window - a->credit)
        return err_set(e, ERR_INVALID_ARG, "more credit than there is");
    a->credit += n;
    return 0;
}

/* --- what comes -------------------------------------------------------- */

int flow_take(struct flow *f, enum link_class c, size_t len, struct err *e)
{
    struct account *a = &f->of[c];
    size_t cost = flow_cost(f, c, len);

    if ((c == LINK_BULK && len > f->window / 4) || cost > f->window - a->open - a->owed)
        return err_set(e, ERR_LENGTH, "%zu bytes of %s came without credit", len, names[c]);
    a->open += cost;
    return 0;
}

size_t flow_grant(struct flow *f, enum link_class c, size_t cost)
{
    struct account *a = &f->of[c];
    size_t told;

    if (cost > a->open)
        cost = a->open;
    a->open -= cost;
    a->owed += cost;
    if (a->owed < f->window / 4)
        return 0;
    told = a->owed;
    a->owed = 0;
    return told;
}
