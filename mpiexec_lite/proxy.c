/* proxy.c - see proxy.h */
#include "mpiexec_lite/proxy_impl.h"

#include "mpiexec_lite/env.h"
#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/stage.h"
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

static void rank_started(void *host, int rank, pid_t pid)
{
    (void)host;
    (void)rank;
    (void)pid;
}

static void rank_not_started(void *host, int rank, const char *step, int errnum)
{
    proxy_send_event(host, "not-started", rank, errnum, step);
}

static void rank_pmi(void *host, int rank)
{
    (void)host;                      /* it is told with its end */
    (void)rank;
}

static void rank_aborted(void *host, int rank, bool world, int code, const char *text)
{
    proxy_send_event(host, world ? "abort" : "abort-alone", rank, code, text);
}

static void rank_protocol(void *host, int rank, const char *why)
{
    proxy_send_event(host, "protocol", rank, 0, why);
}

static void rank_hung_up(void *host, int rank)
{
    struct proxy *p = host;

    if (node_rank(&p->node, rank)->pmi == PMI_INSIDE)
        proxy_send_event(p, "hung-up", rank, 0, "");
}

static void rank_ended(void *host, int rank, int wstatus)
{
    struct proxy *p = host;
    const struct rank *r = node_rank(&p->node, rank);

    events_add(&p->ended, &(struct rank_end){ rank, wstatus, (int)r->pid, (int)r->pmi });
}

static void rank_stuck(void *host, int missing, int waiting)
{
    (void)host;                      /* the root finds out: see pmi2/fence_missing.c */
    (void)missing;
    (void)waiting;
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
    .tell = node_tell, .trace = node_trace,
};

/* --- output and input -------------------------------------------------- */

static size_t send_output(void *host, int rank, bool errors, const char *data, size_t len)
{
    struct proxy *p = host;
    size_t done = 0, room;

    while (done < len && (room = link_room(p->up, LINK_BULK)) > 0) {
        size_t n = len - done < room ? len - done : room;
        struct msg *m = proxy_message(p, "out");

        if (n > LIMIT_CHUNK)
            n = LIMIT_CHUNK;
        msg_int(m, "node", p->node.args.node);
        msg_int(m, "rank", rank);
        msg_int(m, "err", errors);
        msg_int(m, "flush", done + n == len && data[len - 1] != '\n');
        link_message(p->up, LINK_BULK, m, data + done, n, NULL);
        done += n;
    }
    return done;
}

static void output_failed(void *host, const char *what, int errnum)
{
    char text[400];

    snprintf(text, sizeof text, "%s: %s", what, strerror(errnum));
    proxy_broken(host, text);
}

static const struct output_ops output_ops = { output_failed, send_output, NULL };

static void send_input_number(struct proxy *p, const char *cmd, size_t bytes)
{
    msg_int(proxy_message(p, cmd), "position", p->position);
    msg_int(&p->msg, "bytes", (long long)bytes);
    proxy_send(p, NULL, 0);
}

static void feed_credit(void *host, size_t bytes)
{
    send_input_number(host, "stdin-taken", bytes);
}

static void feed_closed(void *host)
{
    send_input_number(host, "stdin-closed", 0);
}

static void feed_failed(void *host, int errnum)
{
    output_failed(host, "write to stdin of a rank", errnum);
}

static const struct feed_ops feed_ops = { feed_credit, feed_closed, feed_failed };

/* --- steps ------------------------------------------------------------- */

static void broken(struct proxy *p, int status, const char *why)
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
    broken(p, EXIT_LAUNCHER, why);
}

struct here { int first, last, n; };     /* ranks of a block on this host */

static struct here ranks_here(const struct proxy *p, size_t app)
{
    struct here h = { -1, -1, 0 };

    for (int i = 0; i < p->node.n; i++)
        if (plan_app_of(&p->bundle.plan, p->node.ranks[i].rank) == app) {
            h.last = p->node.ranks[i].rank;
            h.first = h.n++ ? h.first : h.last;
        }
    return h;
}

/* A program that is missing is told once, with the status that a shell would give. */
static int missing_program(struct proxy *p, struct here h, int status, const struct err *e)
{
    char text[600];

    if (h.n == 1)
        snprintf(text, sizeof text, "cannot start rank %d: %s", h.first, e->text);
    else if (h.n == h.last - h.first + 1)
        snprintf(text, sizeof text, "cannot start ranks %d-%d: %s", h.first, h.last, e->text);
    else
        snprintf(text, sizeof text, "cannot start %d of ranks %d-%d: %s", h.n, h.first, h.last,
                 e->text);
    broken(p, status, text);
    return -1;
}

static int find_programs(struct proxy *p)
{
    for (size_t a = 0; a < p->bundle.plan.napps; a++) {
        const struct app *app = &p->bundle.plan.apps[a];
        const char *path = p->bundle.envs[a].n ? env_get(p->bundle.envs[a].v, "PATH") : NULL;
        struct here here = ranks_here(p, a);
        char found[PATH_MAX];
        struct err e = { 0 };
        int status;

        if (!here.n)
            continue;
        if (program_find(app->argv.v[0], app->wdir, app->path, path ? path : "/usr/bin:/bin",
                         found, sizeof found, &status, &e) < 0)
            return missing_program(p, here, status, &e);
        p->programs[a] = strdup(found);
        if (!p->programs[a])
            fatal("out of memory", 0);
    }
    return 0;
}

static void say_ready(struct proxy *p)
{
    msg_int(proxy_message(p, "ready"), "position", p->position);
    proxy_send(p, NULL, 0);
}

static int make_node(struct proxy *p, struct err *e)
{
    const struct plan *plan = &p->bundle.plan;
    struct node_args args = { .plan = plan, .place = &p->bundle.place,
                              .node = tree_node(plan, p->position), .programs = p->programs,
                              .envs = p->bundle.envs, .jobid = p->bundle.jobid,
                              .user = p->args->user, .input = -1,
                              .trace = p->bundle.trace };

    args.hostname = plan->remote.launcher == LAUNCHER_FORK ? p->hostname
                                                           : plan->hosts[args.node].name;
    if (node_init(&p->node, p->loop, &args, &node_ops, p, e) < 0)
        return -1;
    p->node.output = output_new(p->loop, plan, args.node, plan->hosts[args.node].name,
                                p->node.buffer, NODE_BUFFER, &output_ops, p, e);
    return p->node.output ? 0 : -1;
}

/* Ranks here read stdin that comes from the launcher. */
static int make_feed(struct proxy *p, struct err *e)
{
    const struct plan *plan = &p->bundle.plan;
    bool all = plan->stdin_mode == STDIN_ALL && p->node.n;

    if (!all && (plan->stdin_mode == STDIN_NONE || !node_rank(&p->node, plan->stdin_rank)))
        return 0;
    p->node.feed = feed_new(p->loop, &feed_ops, p);
    if (!all)
        output_set_input(p->node.output, -2);
    return p->node.feed ? 0 : err_set(e, ERR_NOMEM, "no memory for stdin");
}

static int read_bundle(struct proxy *p, int position, const char *data, size_t len,
                       struct err *e)
{
    const struct plan *plan = &p->bundle.plan;

    if (bundle_read(&p->bundle, data, len, e) < 0)
        return -1;
    p->position = position;
    p->tree.n = tree_positions(plan);
    if (position >= p->tree.n)
        return err_set(e, ERR_INVALID_ARG, "position %d of %d", position, p->tree.n);
    p->programs = calloc(plan->napps, sizeof *p->programs);
    buf_add(&p->raw, data, len);
    if (!p->programs || p->raw.failed)
        return err_set(e, ERR_NOMEM, "no memory for the job");
    link_set_lease(p->up, plan->remote.heartbeat, plan->remote.lease);
    umask((mode_t)p->bundle.umask);
    return 0;
}

int proxy_set_up(struct proxy *p, int position, const char *data, size_t len, struct err *e)
{
    char text[PATH_MAX + 100];

    if (read_bundle(p, position, data, len, e) < 0 || make_node(p, e) < 0)
        return -1;
    p->peer = server_set_up(p->node.server, p->up);
    if (!p->peer)
        return err_set(e, ERR_NOMEM, "no memory for a peer");
    if (p->node.n && chdir(p->bundle.cwd) < 0) {
        snprintf(text, sizeof text, "cannot enter the launcher's directory %s: %s",
                 p->bundle.cwd, strerror(errno));
        proxy_broken(p, text);
    }
    return 0;
}

static int ranks_below(const struct proxy *p)
{
    const struct plan *plan = &p->bundle.plan;
    int n = 0;

    for (size_t i = 0; i < p->bundle.place.nruns; i++) {
        const struct run *run = &p->bundle.place.runs[i];
        int at = tree_position(plan, run->node);

        if (at == p->position || tree_next(&p->tree, p->position, at) >= 0)
            n += run->n;
    }
    return n;
}

/* Start those below; in a trial only the first of them. */
static int grow_below(struct proxy *p, bool trial)
{
    int first, n = tree_children(&p->tree, p->position, &first), have = p->below.n;
    struct remotes_args args = { .loop = p->loop, .plan = &p->bundle.plan, .tree = p->tree,
                                 .server = p->node.server, .up = p->up, .bundle = buf_bytes(&p->raw),
                                 .bundle_len = p->raw.len, .proxy = p->beside,
                                 .user = p->args->user, .ops = &proxy_remote_ops, .host = p };

    if (!have)
        remotes_init(&p->below, &args);
    return remotes_launch(&p->below, first, trial && n ? 1 : n, n);
}

int proxy_grow(struct proxy *p, int width, bool trial, struct err *e)
{
    struct err why = { 0 };

    p->tree.width = width;
    if (trial) {
        p->tried = true;
        return grow_below(p, true) < 0 ? err_set(e, ERR_NOMEM, "no memory") : 0;
    }
    p->grown = true;
    for (int i = 0; i < p->below.n; i++)         /* the one of the trial */
        if (p->below.v[i].state == REMOTE_UP)
            proxy_remote_ops.connected(p, p->below.v[i].position);
    if (grow_below(p, false) < 0)
        return err_set(e, ERR_NOMEM, "no memory for the servers below");
    if (node_add_job(&p->node, ranks_below(p), &why) < 0 || make_feed(p, &why) < 0 ||
        node_check_files(&p->node, &why) < 0)
        proxy_broken(p, why.text);
    else if (find_programs(p) == 0)
        say_ready(p);
    return 0;
}

void proxy_start(struct proxy *p)
{
    struct err e = { 0 };

    if (p->started || !p->node.job)
        return;
    p->started = true;
    if (node_start(&p->node, &e) < 0)
        proxy_broken(p, e.text);
    for (int i = 0; i < p->node.n; i++)          /* after one that could not be started */
        if (!p->node.ranks[i].pid)
            events_add(&p->ended, &(struct rank_end){ p->node.ranks[i].rank, RANK_NEVER_RAN,
                                                      0, 0 });
}

void proxy_sweep(struct proxy *p)
{
    remotes_sweep(&p->below, SWEEP_TIME);
    if (p->node.job)
        node_swept(&p->node);
}

void proxy_close_streams(struct proxy *p)
{
    if (!p->node.output || output_ended(p->node.output))
        return;
    remotes_sweep(&p->below, SWEEP_TIME);
    output_close_streams(p->node.output);
}

void proxy_finish(struct proxy *p)
{
    p->finishing = true;
    remotes_end(&p->below);
}

/* Everything here and below has ended: say so, once. */
static void end_when_done(struct proxy *p)
{
    if (!p->finishing || p->done || remotes_unfinished(&p->below))
        return;
    p->done = true;
    if (sweep_any())
        p->left += remotes_sweep(&p->below, SWEEP_TIME);
    msg_int(proxy_message(p, "done"), "left", p->left);
    proxy_send(p, NULL, 0);
}

/* --- the loop ---------------------------------------------------------- */

static void reap(struct proxy *p)
{
    int wstatus;
    pid_t pid;

    while ((pid = waitpid(-1, &wstatus, WNOHANG)) > 0)
        if (!remotes_reaped(&p->below, pid, wstatus) && p->node.job)
            node_reaped(&p->node, pid, wstatus);
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

/* All output of ranks here has been handed to the link. */
static void say_quiet(struct proxy *p)
{
    if (p->quiet || !p->started || p->node.running || !output_ended(p->node.output) ||
        !output_flushed(p->node.output))
        return;
    p->quiet = true;
    msg_int(proxy_message(p, "quiet"), "position", p->position);
    link_message(p->up, LINK_BULK, &p->msg, NULL, 0, NULL);
}

static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
    struct proxy *p = w->data;

    (void)loop;
    (void)revents;
    if (!p->node.output)
        return;
    output_flush(p->node.output);
    if (p->ended.len) {
        proxy_message(p, "ended");
        proxy_send(p, buf_bytes(&p->ended), p->ended.len);
        buf_consume(&p->ended, p->ended.len);
    }
    server_flush(p->node.server);
    say_quiet(p);
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
    remotes_clear(&p->below);
    if (p->node.buffer)
        node_clear(&p->node);
    link_free(p->up);
    for (size_t a = 0; p->programs && a < p->bundle.plan.napps; a++)
        free(p->programs[a]);
    free(p->programs);
    bundle_clear(&p->bundle);
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
    p.loop = fatal_loop_new();
    if (!p.loop || open_signals(&p) < 0 || sweep_prepare() < 0 ||
        stage_beside(p.beside, sizeof p.beside) < 0)
        fatal("cannot set up", errno);
    p.below.args.loop = p.loop;
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
