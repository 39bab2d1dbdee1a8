/* check_ask.c - --check: all hosts, a window of them at a time. */
#include "mpiexec_lite/check_impl.h"

#include "mpiexec_lite/now.h"

#include <poll.h>
#include <stdlib.h>

/* How often is looked at whose output has ended, but not itself; milliseconds. */
enum { STEP = 50 };

static bool is_running(const struct probe *p)
{
    return p->state != PROBE_WAITING && p->state != PROBE_OVER;
}

static bool is_late(const struct check *c, const struct probe *p)
{
    return now_seconds() - p->began > c->plan->remote.patience;
}

/* The window: those that run, and where the next one to be started may be. */
struct window {
    struct probe **v;                    /* owned */
    struct pollfd *fds;                  /* owned; two for each */
    int    n, most;
    size_t next;
};

static void fill(struct check *c, struct window *w)
{
    while (w->n < w->most && w->next < c->n) {
        struct probe *p = &c->v[w->next++];

        probe_start(c, p);
        if (is_running(p))
            w->v[w->n++] = p;
    }
}

static void await_one(struct window *w)
{
    for (int i = 0; i < w->n; i++) {
        w->fds[2 * i] = (struct pollfd){ .fd = w->v[i]->out, .events = POLLIN };
        w->fds[2 * i + 1] = (struct pollfd){ .fd = w->v[i]->err, .events = POLLIN };
    }
    poll(w->fds, (nfds_t)w->n * 2, STEP);
}

static void serve(struct check *c, struct probe *p, const struct pollfd *fds)
{
    char why[80];

    if (fds[1].revents)
        probe_listen(p);
    if (fds[0].revents)
        probe_hear(p);
    if (is_running(p))
        probe_look(p);
    if (p->state == PROBE_WAITING)       /* pmi2_proxy was not where it was looked for first */
        probe_start(c, p);
    if (is_running(p) && is_late(c, p)) {
        snprintf(why, sizeof why, "no answer within %g s", c->plan->remote.patience);
        probe_give_up(p, why);
    }
}

static void drop_ended(struct window *w)
{
    int kept = 0;

    for (int i = 0; i < w->n; i++)
        if (is_running(w->v[i]))
            w->v[kept++] = w->v[i];
    w->n = kept;
}

int check_ask(struct check *c, struct err *e)
{
    struct window w = { .most = c->plan->remote.window };

    if ((size_t)w.most > c->n)
        w.most = (int)c->n;
    w.v = calloc((size_t)w.most, sizeof *w.v);
    w.fds = calloc((size_t)w.most * 2, sizeof *w.fds);
    if (w.v && w.fds)
        for (fill(c, &w); w.n; fill(c, &w)) {
            await_one(&w);
            for (int i = 0; i < w.n; i++)
                serve(c, w.v[i], &w.fds[2 * i]);
            drop_ended(&w);
        }
    else
        err_set(e, ERR_NOMEM, "no memory");
    free(w.v);
    free(w.fds);
    return e->code ? -1 : 0;
}
