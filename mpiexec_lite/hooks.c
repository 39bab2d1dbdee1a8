/* hooks.c - see hooks.h */
#include "mpiexec_lite/hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum stage {
    STAGE_DESCRIBE, STAGE_APPLICATION, STAGE_LOCAL, STAGE_CHILDREN, STAGE_READY,
    STAGE_LAST_CHILDREN, STAGE_LAST, STAGE_CLOSING, STAGE_OVER
};

/* The stage after a step. */
static const enum stage next_stage[] = {
    [STAGE_APPLICATION] = STAGE_READY, [STAGE_LOCAL] = STAGE_CHILDREN,
    [STAGE_CHILDREN] = STAGE_READY, [STAGE_LAST_CHILDREN] = STAGE_LAST,
    [STAGE_LAST] = STAGE_CLOSING, [STAGE_CLOSING] = STAGE_OVER,
};

struct part {                    /* of a provider */
    struct hook_run run;         /* owned */
    struct hooks   *hooks;
    unsigned        wants;       /* bits of hooks; 0: it takes no part */
    char           *infos;       /* owned: what it has said of the job; NULL: nothing */
    size_t          len;
    bool            set_up;      /* its setup-local has been asked */
};

struct child {
    int          rank;
    bool         finished;       /* child-finished has been asked */
    struct setup setup;          /* owned: its own variables */
};

struct hooks {
    TAILQ_ENTRY(hooks) in_server;
    struct hooks_args args;      /* its ranks and providers are copied into what follows */
    const struct hooks_ops *ops; /* borrowed, as is host */
    void          *host;
    bool           application, failed, cancelled, finishing;
    enum stage     stage;
    struct part   *parts;        /* owned, as is what follows */
    size_t         n;
    struct child  *children;
    struct setup   result;
    ev_timer       soon;         /* the next stage is looked at from the loop */
};

static void look(struct hooks *h);

/* --- failure ----------------------------------------------------------- */

static bool is_set_up(const struct hooks *h)
{
    return h->stage >= STAGE_READY;
}

/* Of one that was set up the others are still told the end. */
static void fail(struct hooks *h, const char *name, const char *why)
{
    char text[900];

    snprintf(text, sizeof text, "provider %s: %s", name, why);
    if (is_set_up(h)) {
        h->ops->warn(h->host, text);
    } else if (!h->failed) {
        h->failed = true;
        h->ops->failed(h->host, text, false);
    }
}

static void drop(struct part *p, const char *why)
{
    hook_run_kill(&p->run);
    p->wants = 0;
    fail(p->hooks, p->run.name, why);
}

/* --- answers ----------------------------------------------------------- */

static struct child *find_child(struct hooks *h, int rank)
{
    for (int i = 0; i < h->args.nranks; i++)
        if (h->children[i].rank == rank)
            return &h->children[i];
    return NULL;
}

/* A provider that needs root does without us, or we without it. */
static int take_description(struct part *p, const struct hook_answer *a, struct err *e)
{
    struct hooks *h = p->hooks;

    p->wants = a->hooks;
    p->run.timeout = a->timeout;
    if (!a->needs_root || geteuid() == 0)
        return 0;
    if (h->args.root_fails)
        return err_set(e, ERR_OTHER, "it needs root, which this job is not started by");
    p->wants = 0;
    return 0;
}

static int take(struct part *p, enum hook to, int rank, struct hook_answer *a, struct err *e)
{
    struct child *c = to == HOOK_CHILD ? find_child(p->hooks, rank) : NULL;

    if (a->error)
        return err_set(e, ERR_OTHER, "%s", a->error);
    if (to == HOOK_DESCRIBE)
        return take_description(p, a, e);
    if (c && a->infos)
        return setup_add(&c->setup, p->run.name, a->infos, a->len, true, NULL, e);
    if (to == HOOK_APPLICATION && a->infos) {
        p->infos = a->infos;
        p->len = a->len;
        a->infos = NULL;
    }
    return 0;
}

static void on_answer(void *host, struct hook_run *r, enum hook to, int rank, const char *line,
                      size_t len)
{
    struct part *p = host;
    struct hook_answer a;
    struct err e = { 0 };
    char text[400];

    (void)r;
    if (hook_read(&a, to, line, len, &e) < 0 || take(p, to, rank, &a, &e) < 0) {
        snprintf(text, sizeof text, "%s: %s", hook_name(to), e.text);
        drop(p, text);
    }
    hook_answer_clear(&a);
    look(p->hooks);
}

static void on_failed(void *host, struct hook_run *r, const char *why)
{
    struct part *p = host;

    (void)r;
    drop(p, why);
    look(p->hooks);
}

static void on_closed(void *host, struct hook_run *r)
{
    (void)r;
    look(((struct part *)host)->hooks);
}

static const struct hook_run_ops run_ops = { on_answer, on_failed, on_closed };

/* --- questions --------------------------------------------------------- */

static void ask_run(struct part *p, int rc, enum hook hook, int rank)
{
    if (rc < 0)
        p->run.to.failed = true;
    hook_run_asked(&p->run, hook, rank);
}

static void ask_children(struct part *p)
{
    struct hooks *h = p->hooks;

    for (int i = 0; i < h->args.nranks && !p->run.over; i++)
        ask_run(p, hook_ask_child(&p->run.to, h->children[i].rank, i), HOOK_CHILD,
                h->children[i].rank);
}

static bool wants(const struct part *p, enum hook hook)
{
    return !p->run.over && (p->wants & HOOK_BIT(hook));
}

static void ask_part(struct part *p)
{
    struct hooks *h = p->hooks;
    struct buf *to = &p->run.to;

    switch (h->stage) {
    case STAGE_APPLICATION:
        if (wants(p, HOOK_APPLICATION))
            ask_run(p, hook_ask_application(to, &h->args.job), HOOK_APPLICATION, -1);
        break;
    case STAGE_LOCAL:
        p->set_up = true;
        if (wants(p, HOOK_LOCAL))
            ask_run(p, hook_ask_local(to, &h->args.job, h->args.node, h->args.setup), HOOK_LOCAL,
                    -1);
        break;
    case STAGE_CHILDREN:
        if (wants(p, HOOK_CHILD))
            ask_children(p);
        break;
    case STAGE_LAST:
        if (p->set_up && wants(p, HOOK_LOCAL_FINISHED))
            ask_run(p, hook_ask_local_finished(to), HOOK_LOCAL_FINISHED, -1);
        break;
    case STAGE_CLOSING:
        hook_run_close(&p->run);
        break;
    default:
        break;
    }
}

void hooks_child_finished(struct hooks *h, int rank, bool started, int wstatus)
{
    struct child *c = h ? find_child(h, rank) : NULL;

    if (!c || c->finished)
        return;
    c->finished = true;
    for (size_t i = 0; i < h->n; i++) {
        struct part *p = &h->parts[i];

        if (p->set_up && wants(p, HOOK_CHILD_FINISHED))
            ask_run(p, hook_ask_child_finished(&p->run.to, rank, started, wstatus),
                    HOOK_CHILD_FINISHED, rank);
    }
}

/* --- stages ------------------------------------------------------------ */

/* Every question of this stage is answered; and in the last one, every process is gone. */
static bool is_through(const struct hooks *h)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->parts[i].run.n || (h->stage == STAGE_CLOSING && !h->parts[i].run.over))
            return false;
    return true;
}

static void say_missing(struct hooks *h)
{
    for (size_t i = 0; i < h->n; i++)
        if (!h->parts[i].run.over && !h->parts[i].wants) {
            char text[200];

            snprintf(text, sizeof text, "provider %s needs root, and is left out",
                     h->parts[i].run.name);
            h->ops->warn(h->host, text);
        }
}

/* In the order of the providers, whoever was first. */
static int merge(struct hooks *h, struct err *e)
{
    struct strlist warnings = { 0 };
    int rc = 0;

    for (size_t i = 0; i < h->n && rc == 0; i++) {
        struct part *p = &h->parts[i];

        if (p->infos && setup_add(&h->result, p->run.name, p->infos, p->len, false, &warnings,
                                  e) < 0) {
            rc = -1;
            drop(p, e->text);
        }
    }
    for (size_t i = 0; i < warnings.n; i++)
        h->ops->warn(h->host, warnings.v[i]);
    strlist_clear(&warnings);
    return rc;
}

static void enter(struct hooks *h, enum stage stage)
{
    h->stage = stage;
    if (stage == STAGE_LAST_CHILDREN)
        for (int i = 0; i < h->args.nranks; i++)
            hooks_child_finished(h, h->children[i].rank, false, 0);
    for (size_t i = 0; i < h->n; i++)
        ask_part(&h->parts[i]);
    if (stage == STAGE_READY)
        h->ops->ready(h->host);
    else if (stage == STAGE_OVER && h->ops->over)
        h->ops->over(h->host);
}

static enum stage after(struct hooks *h)
{
    struct err e = { 0 };

    if (h->stage == STAGE_DESCRIBE) {
        if (h->application)
            say_missing(h);
        return h->application ? STAGE_APPLICATION : STAGE_LOCAL;
    }
    if (h->stage == STAGE_APPLICATION && merge(h, &e) < 0)
        return STAGE_OVER;
    return next_stage[h->stage];
}

/* Given up before it was ready: those that were asked to set up the node are told its end. */
static void give_up(struct hooks *h)
{
    bool begun = h->stage == STAGE_LOCAL || h->stage == STAGE_CHILDREN;

    h->failed = true;
    for (size_t i = 0; i < h->n; i++)
        if (!begun || h->parts[i].run.n)         /* nobody knows how far it has come */
            hook_run_kill(&h->parts[i].run);
    enter(h, begun ? STAGE_LAST_CHILDREN : STAGE_CLOSING);
}

static void on_soon(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct hooks *h = w->data;

    (void)loop;
    (void)revents;
    if (h->cancelled && h->stage < STAGE_READY && !h->failed) {
        h->failed = true;
        h->ops->failed(h->host, "the job is ending", true);
    }
    if (h->finishing && h->stage < STAGE_READY)
        give_up(h);
    else if (h->finishing && h->stage == STAGE_READY)
        enter(h, h->application ? STAGE_CLOSING : STAGE_LAST_CHILDREN);
    else if (h->stage != STAGE_READY && h->stage != STAGE_OVER && is_through(h) &&
             (is_set_up(h) || !h->failed))
        enter(h, after(h));
    else
        return;
    look(h);
}

/* From the loop, as whoever asks may be in the middle of something. */
static void look(struct hooks *h)
{
    ev_timer_stop(h->args.loop, &h->soon);
    ev_timer_set(&h->soon, 0., 0.);
    ev_timer_start(h->args.loop, &h->soon);
}

void hooks_cancel(struct hooks *h)
{
    h->cancelled = true;
    look(h);
}

void hooks_finish(struct hooks *h)
{
    if (!h || h->finishing)
        return;
    h->finishing = true;
    look(h);
}

bool hooks_ready(const struct hooks *h)
{
    return h->stage == STAGE_READY;
}

bool hooks_over(const struct hooks *h)
{
    return h->stage == STAGE_OVER;
}

/* --- made -------------------------------------------------------------- */

static int start(struct hooks *h, struct err *e)
{
    const struct hooks_args *a = &h->args;

    for (size_t i = 0; i < a->providers->n; i++) {
        struct part *p = &h->parts[h->n++];
        int rc;

        p->hooks = h;
        rc = hook_run_start(&p->run, a->loop, a->providers->v[i], a->user, &run_ops, p, e);
        if (rc < 0)
            return err_context(e, "provider %s", p->run.name);
        ask_run(p, hook_ask_describe(&p->run.to), HOOK_DESCRIBE, -1);
    }
    return 0;
}

static struct hooks *hooks_new(const struct hooks_args *a, bool application,
                               const struct hooks_ops *ops, void *host, struct err *e)
{
    struct hooks *h = calloc(1, sizeof *h);

    if (!h || !(h->parts = calloc(a->providers->n + 1, sizeof *h->parts)) ||
        !(h->children = calloc((size_t)a->nranks + 1, sizeof *h->children))) {
        err_set(e, ERR_NOMEM, "no memory for providers");
        free(h ? h->parts : NULL);
        free(h);
        return NULL;
    }
    h->args = *a;
    h->application = application;
    h->ops = ops;
    h->host = host;
    ev_timer_init(&h->soon, on_soon, 0., 0.);
    h->soon.data = h;
    TAILQ_INSERT_TAIL(a->all, h, in_server);
    for (int i = 0; i < a->nranks; i++)
        h->children[i].rank = a->ranks[i];
    if (start(h, e) == 0)
        return h;
    hooks_free(h);
    return NULL;
}

struct hooks *hooks_application(const struct hooks_args *a, const struct hooks_ops *ops,
                                void *host, struct err *e)
{
    return hooks_new(a, true, ops, host, e);
}

struct hooks *hooks_local(const struct hooks_args *a, const struct hooks_ops *ops, void *host,
                          struct err *e)
{
    return hooks_new(a, false, ops, host, e);
}

void hooks_free(struct hooks *h)
{
    if (!h)
        return;
    TAILQ_REMOVE(h->args.all, h, in_server);
    ev_timer_stop(h->args.loop, &h->soon);
    for (size_t i = 0; i < h->n; i++) {
        hook_run_clear(&h->parts[i].run);
        hook_answer_clear(&(struct hook_answer){ .infos = h->parts[i].infos,
                                                 .len = h->parts[i].len });
    }
    for (int i = 0; i < h->args.nranks; i++)
        setup_clear(&h->children[i].setup);
    setup_clear(&h->result);
    free(h->children);
    free(h->parts);
    free(h);
}

/* --- asked by the host ------------------------------------------------- */

struct setup *hooks_result(struct hooks *h)
{
    return &h->result;
}

bool hooks_wants_node(const struct hooks *h, size_t provider)
{
    const unsigned node = HOOK_BIT(HOOK_LOCAL) | HOOK_BIT(HOOK_CHILD) |
                          HOOK_BIT(HOOK_CHILD_FINISHED) | HOOK_BIT(HOOK_LOCAL_FINISHED);

    return h->parts[provider].wants & node;
}

const struct setup *hooks_child(const struct hooks *h, int i)
{
    return &h->children[i].setup;
}

/* --- all of a server --------------------------------------------------- */

bool all_hooks_reaped(struct all_hooks *all, pid_t pid)
{
    struct hooks *h;

    TAILQ_FOREACH(h, all, in_server)
        for (size_t i = 0; i < h->n; i++)
            if (hook_run_reaped(&h->parts[i].run, pid))
                return true;
    return false;
}

size_t all_hooks_pids(const struct all_hooks *all, pid_t *pids, size_t most)
{
    const struct hooks *h;
    size_t n = 0;

    TAILQ_FOREACH(h, all, in_server)
        for (size_t i = 0; i < h->n; i++)
            if (h->parts[i].run.pid && n++ < most)
                pids[n - 1] = h->parts[i].run.pid;
    return n;
}
