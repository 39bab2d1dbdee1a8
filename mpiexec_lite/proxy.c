/* proxy.c - see proxy.h */
#include "mpiexec_lite/proxy_impl.h"

#include "mpiexec_lite/env.h"
#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/machine.h"
#include "mpiexec_lite/sweep.h"
#include "wire/limits.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const double SWEEP_TIME = 5.0;

/* --- ranks of this node ------------------------------------------------ */

static void rank_started(void *host, struct crew *c, int rank, pid_t pid)
{
    (void)host;
    proxy_job_state(proxy_job_of(c), rank)->pid = pid;
}

static void rank_not_started(void *host, struct crew *c, int rank, const char *step, int errnum)
{
    (void)host;
    proxy_job_state(proxy_job_of(c), rank)->unstarted = true;
    proxy_send_event(proxy_job_of(c), "not-started", rank, errnum, step);
}

static void rank_pmi(void *host, struct crew *c, int rank)
{
    (void)host;                      /* it is told with its end */
    (void)c;
    (void)rank;
}

static void rank_aborted(void *host, struct crew *c, int rank, bool world, int code,
                         const char *text)
{
    struct proxy_job *j = proxy_job_of(c);
    struct rank_state *r = proxy_job_state(j, rank);

    (void)host;
    r->aborted = true;
    if (!world && !j->ending) {
        r->forgiven = true;
        r->code = launch_abort_code(code);
    }
    proxy_send_event(j, world ? "abort" : "abort-alone", rank, code, text);
}

static void rank_protocol(void *host, struct crew *c, int rank, const char *why)
{
    (void)host;
    proxy_send_event(proxy_job_of(c), "protocol", rank, 0, why);
}

static void rank_hung_up(void *host, struct crew *c, int rank)
{
    (void)host;
    if (crew_rank(c, rank)->pmi == PMI_INSIDE)
        proxy_send_event(proxy_job_of(c), "hung-up", rank, 0, "");
}

static void rank_ended(void *host, struct crew *c, int rank, int wstatus)
{
    struct proxy *p = host;
    const struct rank *r = crew_rank(c, rank);
    struct proxy_job *j = proxy_job_of(c);
    struct rank_state *s = proxy_job_state(j, rank);

    s->ended = true;
    s->followed = j->ending;
    s->wstatus = wstatus;
    s->pmi = r->pmi;
    events_add(&p->ended, &(struct rank_end){ rank, wstatus, (int)r->pid, (int)r->pmi,
                                              j->number, r->fenced });
}

static void rank_stuck(void *host, struct crew *c, int missing, int waiting)
{
    (void)c;
    (void)host;                      /* the root finds out: see pmi2/fence_missing.c */
    (void)missing;
    (void)waiting;
}

static void prepared(void *host, struct crew *c)
{
    (void)host;
    proxy_job_prepared(proxy_job_of(c));
}

static void unprepared(void *host, struct crew *c, const char *why, int errnum)
{
    (void)host;
    proxy_job_unprepared(proxy_job_of(c), why, errnum);
}

static void unhooked(void *host, struct crew *c)
{
    (void)host;                      /* the loop looks at it */
    (void)c;
}

static void ranks_held(void *host, struct crew *c)
{
    struct proxy *p = host;

    msg_int(proxy_job_message(proxy_job_of(c), "held"), "position", p->position);
    msg_int(&p->msg, "ranks", c->to_hold);
    proxy_send(p, NULL, 0);
}

static void rank_went_on(void *host, struct crew *c, int rank)
{
    (void)host;
    proxy_send_event(proxy_job_of(c), "went-on", rank, 0, "");
}

static void node_broken(void *host, const char *why)
{
    proxy_broken(host, why);
}

static void node_tell(void *host, const char *text)
{
    struct proxy *p = host;

    msg_str(proxy_message(p, "tell"), "text", text);
    proxy_send(p, NULL, 0);
}

static void node_trace(void *host, struct buf *line)
{
    struct proxy *p = host;

    msg_bytes(proxy_message(p, "trace"), "text", buf_bytes(line), line->len);
    proxy_send(p, NULL, 0);
}

static const struct node_ops node_ops = {
    .started = rank_started, .not_started = rank_not_started, .initialized = rank_pmi,
    .finalized = rank_pmi, .aborted = rank_aborted, .protocol = rank_protocol,
    .hung_up = rank_hung_up, .ended = rank_ended, .stuck = rank_stuck, .broken = node_broken,
    .tell = node_tell, .trace = node_trace, .prepared = prepared, .unprepared = unprepared,
    .unhooked = unhooked, .held = ranks_held, .went_on = rank_went_on, .answer = proxy_answer,
};

/* --- steps ------------------------------------------------------------- */

void proxy_broken_with(struct proxy *p, int status, const char *why)
{
    struct msg *m = proxy_message(p, "broken");
    char text[700];

    snprintf(text, sizeof text, "%s: %s", p->node.args.hostname ? p->node.args.hostname
                                                                : p->hostname, why);
    msg_int(m, "status", status);
    msg_str(m, "text", text);
    proxy_send(p, NULL, 0);
}

void proxy_broken(struct proxy *p, const char *why)
{
    proxy_broken_with(p, EXIT_LAUNCHER, why);
}

void proxy_say_ready(struct proxy *p)
{
    char machine[MACHINE_TEXT];

    machine_text(machine);
    msg_int(proxy_message(p, "ready"), "position", p->position);
    msg_str(&p->msg, "machine", machine);
    proxy_send(p, NULL, 0);
}

static int make_node(struct proxy *p, struct err *e)
{
    const struct plan *plan = &p->main->bundle.plan;
    struct node_args args = { .plan = plan, .index = tree_node(plan, p->position),
                              .user = p->args->user, .trace = p->main->bundle.trace,
                              .timeline = p->main->bundle.timeline };

    args.hostname = plan->remote.launcher == LAUNCHER_FORK ? p->hostname
                                                           : plan->hosts[args.index].name;
    return node_init(&p->node, p->loop, &args, &node_ops, p, e);
}

static int take_bundle(struct proxy *p, int position, const char *data, size_t len,
                       struct err *e)
{
    const struct plan *plan;

    p->main = proxy_job_new(p, 0, data, len, e);
    if (!p->main)
        return -1;
    plan = &p->main->bundle.plan;
    p->position = position;
    p->tree.n = tree_positions(plan);
    if (position >= p->tree.n)
        return err_set(e, ERR_INVALID_ARG, "position %d of %d", position, p->tree.n);
    buf_add(&p->raw, data, len);
    if (p->raw.failed)
        return err_set(e, ERR_NOMEM, "no memory for the job");
    link_set_lease(p->up, plan->remote.heartbeat, plan->remote.lease);
    umask((mode_t)p->main->bundle.umask);
    return 0;
}

int proxy_set_up(struct proxy *p, int position, const char *data, size_t len, struct err *e)
{
    if (take_bundle(p, position, data, len, e) < 0 || make_node(p, e) < 0 ||
        proxy_job_init(p->main, e) < 0)
        return -1;
    p->peer = server_set_up(p->node.server, p->up);
    return p->peer ? 0 : err_set(e, ERR_NOMEM, "no memory for a peer");
}

/* Start those below; in a trial only the first of them. */
static int grow_below(struct proxy *p, bool trial)
{
    int first, n = tree_children(&p->tree, p->position, &first), have = p->below.n;
    struct remotes_args args = { .loop = p->loop, .plan = &p->main->bundle.plan, .tree = p->tree,
                                 .server = p->node.server, .up = p->up,
                                 .bundle = buf_bytes(&p->raw), .bundle_len = p->raw.len,
                                 .user = p->args->user, .ops = &proxy_remote_ops, .host = p };

    if (!have)
        remotes_init(&p->below, &args);
    return remotes_launch(&p->below, first, trial && n ? 1 : n);
}

int proxy_grow(struct proxy *p, int width, bool trial, struct err *e)
{
    p->tree.width = width;
    if (trial) {
        p->tried = true;
        return grow_below(p, true) < 0 ? err_set(e, ERR_NOMEM, "no memory") : 0;
    }
    p->grown = true;
    for (int i = 0; i < p->below.n; i++)         /* the one of the trial */
        if (p->below.v[i]->state == REMOTE_UP)
            proxy_remote_ops.connected(p, p->below.v[i]->position);
    if (grow_below(p, false) < 0)
        return err_set(e, ERR_NOMEM, "no memory for the servers below");
    if (proxy_job_prepare(p->main) == 0 && crew_is_set_up(&p->main->crew))
        proxy_say_ready(p);
    return 0;
}

void proxy_finish(struct proxy *p)
{
    struct proxy_job *j;

    p->finishing = true;
    TAILQ_FOREACH(j, &p->jobs, in_proxy)
        crew_give_up(&j->crew);
    remotes_end(&p->below);
}

/* Everything here and below has ended: say so, once. */
static void end_when_done(struct proxy *p)
{
    struct proxy_job *j;

    if (!p->finishing || p->done || remotes_unfinished(&p->below))
        return;
    TAILQ_FOREACH(j, &p->jobs, in_proxy)
        if (!crew_unhooked(&j->crew))
            return;
    p->done = true;
    if (sweep_any())
        p->left += remotes_sweep(&p->below, &p->node.hooks, NULL, NULL, SWEEP_TIME);
    if (p->node.buffer)
        node_cleanup(&p->node);
    proxy_send_moments(p);
    msg_int(proxy_message(p, "done"), "left", p->left);
    proxy_send(p, NULL, 0);
}

/* --- the loop ---------------------------------------------------------- */

static void reap(struct proxy *p)
{
    int wstatus;
    pid_t pid;

    while ((pid = waitpid(-1, &wstatus, WNOHANG | WCONTINUED)) > 0)
        if (WIFCONTINUED(wstatus)) {
            if (p->main)
                node_continued(&p->node, pid);
        } else if (!remotes_reaped(&p->below, pid, wstatus) && p->main) {
            node_reaped(&p->node, pid, wstatus);
        }
}

static void on_signals(struct ev_loop *loop, ev_io *w, int revents)
{
    struct proxy *p = w->data;
    struct signalfd_siginfo info;

    (void)revents;
    while (read(p->signals, &info, sizeof info) == sizeof info)
        if (info.ssi_signo == SIGCHLD)
            reap(p);
        else
            ev_break(loop, EVBREAK_ALL);
}

static void on_guard(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)w;
    (void)revents;
    ev_break(loop, EVBREAK_ALL);
}

void proxy_send_ended(struct proxy *p)
{
    if (!p->ended.len)
        return;
    proxy_message(p, "ended");
    proxy_send(p, buf_bytes(&p->ended), p->ended.len);
    buf_consume(&p->ended, p->ended.len);
}

static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
    struct proxy *p = w->data;
    struct proxy_job *j;

    (void)loop;
    (void)revents;
    if (!p->peer)
        return;
    TAILQ_FOREACH(j, &p->jobs, in_proxy)
        places_flush(&j->places);
    proxy_send_ended(p);
    server_flush(p->node.server);
    TAILQ_FOREACH(j, &p->jobs, in_proxy)
        proxy_job_say_quiet(j);
    TAILQ_FOREACH(j, &p->jobs, in_proxy)
        proxy_job_say_unhooked(j);
    end_when_done(p);
}

static int open_signals(struct proxy *p)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    p->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return p->signals < 0 ? -1 : 0;
}

static void watch(struct proxy *p)
{
    ev_io_init(&p->on_signals, on_signals, p->signals, EV_READ);
    ev_io_init(&p->on_guard, on_guard, p->args->guard, EV_READ);
    ev_prepare_init(&p->prepare, on_prepare);
    p->on_signals.data = p->on_guard.data = p->prepare.data = p;
    ev_io_start(p->loop, &p->on_signals);
    ev_io_start(p->loop, &p->on_guard);
    ev_prepare_start(p->loop, &p->prepare);
}

static void clear(struct proxy *p)
{
    struct proxy_job *j;

    proxy_tools_clear(p);
    remotes_clear(&p->below);
    glances_clear(&p->glances);
    stacker_clear(&p->stacker);
    while ((j = TAILQ_FIRST(&p->jobs)))
        proxy_job_free(j);
    if (p->node.buffer)
        node_clear(&p->node);
    link_free(p->up);
    buf_clear(&p->raw);
    buf_clear(&p->ended);
    msg_clear(&p->msg);
    ev_loop_destroy(p->loop);
}

int proxy_run(const struct proxy_args *args)
{
    struct proxy p = { .args = args, .signals = -1 };
    int left = 0;

    gethostname(p.hostname, sizeof p.hostname - 1);
    msg_init(&p.msg);
    TAILQ_INIT(&p.jobs);
    p.loop = fatal_loop_new();
    if (!p.loop || open_signals(&p) < 0 || sweep_prepare() < 0)
        fatal("cannot set up", errno);
    p.below.args.loop = p.loop;
    proxy_look_init(&p);
    proxy_survey_init(&p);
    p.up = link_new(p.loop, args->in, args->out, 5, 15, &proxy_link_ops, &p);
    if (!p.up)
        fatal("out of memory", 0);
    link_await(p.up, LAUNCHER_MARKER);
    watch(&p);
    ev_run(p.loop, 0);
    if (sweep_any())
        left = sweep_all(SWEEP_TIME);
    clear(&p);
    return left || !p.done ? EXIT_LAUNCHER : 0;
}
