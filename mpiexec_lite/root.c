/* root.c - the root's loop: signals, the front end, children, and the end. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/env.h"
#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/now.h"
#include "mpiexec_lite/stage.h"
#include "mpiexec_lite/sweep.h"
#include "mpiexec_lite/usage.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long pipes that outlived the last rank are waited for (what holds them may
 * have something to say), and how long after a failure. */
static const double GRACE = 2.0, GRACE_FAILED = 0.3;

/* How long what is still to be written waits for its reader once the job is being
 * ended, and how long a sweep may take. */
static const double LAST_WORDS = 2.0, SWEEP_TIME = 5.0;

/* How long the servers of other nodes have to end once all is over there, and how long
 * to tell that their ranks have, once KILL and the sweep after it were ordered: they may
 * be stopped or cut off, and without a lease for ever. */
static const double FINISH_TIME = 6.0, SILENCE = 3.0;

double root_now(struct root *r)
{
    (void)r;
    return now_seconds();
}

static void tell(struct root *r, const char *fmt, va_list ap)
{
    struct buf safe = BUF_INIT;
    char text[2048];

    root_progress_end(r);
    vsnprintf(text, sizeof text, fmt, ap);
    buf_escaped(&safe, text, strlen(text));
    output_tell(r->node.output, safe.failed ? "(no memory)" : buf_bytes(&safe));
    buf_clear(&safe);
}

void root_tell(struct root *r, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    tell(r, fmt, ap);
    va_end(ap);
}

void root_say(struct root *r, int level, const char *fmt, ...)
{
    va_list ap;

    if (r->plan->verbose < level)
        return;
    va_start(ap, fmt);
    tell(r, fmt, ap);
    va_end(ap);
}

/* --- operations of the launch ------------------------------------------ */

static void op_kill_rank(void *host, int rank, int signo)
{
    struct root *r = host;

    if (node_rank(&r->node, rank))
        node_kill(&r->node, rank, signo);
    else
        root_send(r, "signal", "signo", signo, "rank", rank);
}

static void op_kill_all(void *host, int signo)
{
    struct root *r = host;

    node_kill(&r->node, -1, signo);
    root_send(r, "signal", "signo", signo, NULL, 0);
}

static void op_tell(void *host, const char *text)
{
    root_tell(host, "%s", text);
}

/* A rank that KILL did not reach: in another group, or not ours to signal. */
static void op_sweep(void *host)
{
    struct root *r = host;
    int left = remotes_sweep(&r->below, SWEEP_TIME);

    if (left)
        root_tell(r, "cleanup incomplete on %s: %d processes could not be killed", r->hostname,
                  left);
    root_send(r, "sweep", NULL, 0, NULL, 0);
    if (r->node.job)
        node_swept(&r->node);            /* reaped by the sweep */
    r->give_up = root_now(r) + SILENCE;
}

static const struct launch_ops launch_ops = { op_kill_all, op_kill_rank, op_tell, op_sweep };

/* --- the end ----------------------------------------------------------- */

void root_broken(struct root *r, int status, const char *text)
{
    launch_broken(&r->launch, root_now(r), status, text);
}

/* Every stream of every rank has ended. */
static bool all_quiet(const struct root *r)
{
    return !r->started || (output_ended(r->node.output) && r->quiet >= r->tree.n - 1);
}

/* What the ranks left behind still holds their pipes: it goes now. */
static void end_leftovers(struct root *r)
{
    if (r->closing_streams)
        return;
    r->closing_streams = true;
    root_say(r, 1, "ending what the ranks left behind: it holds their output open");
    root_send(r, "close-streams", NULL, 0, NULL, 0);
    remotes_sweep(&r->below, SWEEP_TIME);
    output_close_streams(r->node.output);
}

/* Let the servers of other nodes end, once nothing of theirs is missing here. */
static void finish(struct root *r, double now)
{
    if (r->finishing)
        return;
    r->finishing = true;
    r->finish_by = now + FINISH_TIME;
    root_progress_end(r);
    remotes_end(&r->below);
    root_send(r, "finish", NULL, 0, NULL, 0);
}

/* Whether they have; who has not in time is told. */
static bool finished(struct root *r, double now)
{
    struct remote *x = remotes_unfinished(&r->below);

    if (now < r->finish_by && (x || r->below.left))
        return false;
    if (r->told_left)
        return true;
    r->told_left = true;
    if (x)
        root_tell_unfinished(r);
    if (r->left)
        root_tell(r, "cleanup incomplete: %d processes on other hosts could not be killed",
                  r->left);
    return true;
}

/* The last words, while the loop still runs to write them. */
static void conclude(struct root *r)
{
    r->concluded = true;
    r->status = launch_status(&r->launch);
    output_end_far(r->node.output);
    if (r->plan->print_all_exitcodes)
        launch_tell_statuses(&r->launch);
    root_say(r, 1, "root: exit status %d, processor time %.3f s, peak memory %ld KiB, "
             "key-value space %zu bytes", r->status, usage_cpu(), usage_peak_kib(),
             r->node.job ? job_kvs_bytes(r->node.job) : 0);
    output_flush(r->node.output);
}

/* Once every rank has ended: when all their output is here and the other servers
 * have ended, leave the loop; not later than the limits above allow.  When to look
 * again; 0: no need. */
static double end_when_over(struct root *r, double now)
{
    double until;

    if (!launch_over(&r->launch) && r->give_up > 0 && now >= r->give_up)
        root_drop_silent(r);
    if (!launch_over(&r->launch))
        return r->give_up;
    if (!r->started && !r->launch.ending)
        return 0;
    if (!(r->over > 0))
        r->over = now;
    if (r->launch.ending && !(r->ended > 0))
        r->ended = now;
    until = r->over + (r->launch.ending ? GRACE_FAILED : GRACE);
    if (!all_quiet(r) && now < until)
        return until;
    if (!all_quiet(r))
        end_leftovers(r);
    if (!all_quiet(r) && now < until + LAST_WORDS)
        return until + LAST_WORDS;
    if (!r->concluded)
        conclude(r);
    finish(r, now);
    if (!finished(r, now))
        return r->finish_by;
    if (output_flushed(r->node.output) || (r->ended > 0 && now >= r->ended + LAST_WORDS))
        ev_break(r->loop, EVBREAK_ALL);
    return r->ended > 0 ? r->ended + LAST_WORDS : 0;
}

/* Once a loop turn, before waiting: whatever happened in it has its consequence
 * now, and the next thing that is due gets its timer. */
static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
    struct root *r = w->data;
    double now = root_now(r), due;

    (void)loop;
    (void)revents;
    output_flush(r->node.output);
    launch_tick(&r->launch, now);
    server_flush(r->node.server);
    due = earlier(end_when_over(r, now), launch_due(&r->launch));
    if (due == r->due)
        return;
    r->due = due;
    ev_timer_stop(r->loop, &r->tick);
    if (due > 0) {
        ev_timer_set(&r->tick, due > now ? due - now : 0, 0.);
        ev_timer_start(r->loop, &r->tick);
    }
}

/* Only to end the wait. */
static void on_tick(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop;
    (void)revents;
    ((struct root *)w->data)->due = 0;
}

/* --- children ---------------------------------------------------------- */

static void reap(struct root *r)
{
    int wstatus;
    pid_t pid;

    while ((pid = waitpid(-1, &wstatus, WNOHANG)) > 0)
        if (!remotes_reaped(&r->below, pid, wstatus) && r->node.job)
            node_reaped(&r->node, pid, wstatus);
}

/* --- signals and the front end ----------------------------------------- */

static void take_signal(struct root *r, int signo)
{
    switch (signo) {
    case SIGQUIT:
        if (r->node.job)
            node_report(&r->node);
        root_send(r, "tell-states", NULL, 0, NULL, 0);
        break;
    case SIGTSTP:                /* an orphaned group ignores TSTP */
        op_kill_all(r, SIGSTOP);
        control_send(&r->control, "stopped", NULL, 0);
        break;
    default:
        launch_signal(&r->launch, root_now(r), signo);
    }
}

static void on_signals(struct ev_loop *loop, ev_io *w, int revents)
{
    struct root *r = w->data;
    struct signalfd_siginfo info;

    (void)loop;
    (void)revents;
    while (read(r->signals, &info, sizeof info) == sizeof info)
        if (info.ssi_signo == SIGCHLD)
            reap(r);
        else
            take_signal(r, (int)info.ssi_signo);
}

static void control_signal(void *host, int signo)
{
    take_signal(host, signo);
}

static void control_input(void *host, const char *data, size_t len)
{
    root_input(host, data, len);
}

static void control_input_end(void *host)
{
    root_input(host, NULL, 0);
}

static const struct control_ops control_ops = {
    .signal = control_signal, .input = control_input, .input_end = control_input_end,
};

static void on_control(struct ev_loop *loop, ev_io *w, int revents)
{
    struct root *r = w->data;
    struct err e = { 0 };

    (void)revents;
    if (control_read(&r->control, &e) > 0)
        return;
    root_tell(r, "the launcher's front end has ended; so does the job");
    r->front_gone = true;
    ev_break(loop, EVBREAK_ALL);
}

/* --- set-up, run, clear ------------------------------------------------ */

/* What is sent to all processes of the launcher is the front end's to take. */
static void block_others(void)
{
    static const int others[] = { SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        sigaddset(&set, others[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static int open_signals(struct root *r)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    if (!signal_ignored(SIGTERM))
        sigaddset(&set, SIGTERM);
    sigprocmask(SIG_SETMASK, &set, NULL);
    block_others();
    r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return r->signals < 0 ? -1 : 0;
}

static void watch(struct root *r)
{
    ev_io_init(&r->on_signals, on_signals, r->signals, EV_READ);
    ev_io_init(&r->on_control, on_control, r->args->control, EV_READ);
    ev_timer_init(&r->tick, on_tick, 0., 0.);
    ev_prepare_init(&r->prepare, on_prepare);
    r->on_signals.data = r->on_control.data = r->tick.data = r->prepare.data = r;
    ev_prepare_start(r->loop, &r->prepare);
    ev_io_start(r->loop, &r->on_signals);
    ev_io_start(r->loop, &r->on_control);
}

static const char *op_hostname(void *host, int rank)
{
    struct root *r = host;

    return node_rank(&r->node, rank) ? r->hostname
           : r->plan->hosts[placement_node(r->args->place, rank)].name;
}

static const char *op_program(void *host, int rank)
{
    struct root *r = host;

    return node_program(&r->node, rank);
}

static int prepare_launch(struct root *r, struct err *e)
{
    const struct plan *p = r->plan;

    if (launch_init(&r->launch, &launch_ops, r, r->args->place->size) < 0)
        return err_set(e, ERR_NOMEM, "no memory for %d ranks", r->args->place->size);
    r->launch.hostname = op_hostname;
    r->launch.program = op_program;
    r->launch.end_on_nonzero = p->policy == END_ON_ANY_NONZERO;
    r->launch.keep_going = p->keep_going;
    if (p->timeout > 0)
        r->launch.deadline = root_now(r) + p->timeout;
    return 0;
}

static int build_environments(struct root *r, struct err *e)
{
    r->envs = calloc(r->plan->napps, sizeof *r->envs);
    if (!r->envs)
        return err_set(e, ERR_NOMEM, "no memory for environments");
    for (size_t a = 0; a < r->plan->napps; a++)
        if (env_build(r->plan, a, environ, &r->envs[a], e) < 0)
            return -1;
    return 0;
}

/* The job as the servers of other nodes get it. */
static int write_bundle(struct root *r, struct err *e)
{
    char cwd[PATH_MAX];
    struct bundle b = { .plan = *r->plan, .place = *r->args->place, .envs = r->envs,
                        .cwd = cwd, .jobid = r->jobid, .trace = r->node.args.trace };

    if (root_is_alone(r))
        return 0;
    if (!getcwd(cwd, sizeof cwd))
        return err_set(e, ERR_OTHER, "cannot tell the working directory: %s", strerror(errno));
    b.umask = umask(0);
    umask((mode_t)b.umask);
    bundle_write(&b, &r->bundle);
    if (r->bundle.len > LINK_PAYLOAD)
        return err_set(e, ERR_LENGTH, "the job, with arguments and environment, has %zu bytes; "
                       "%d can be sent to other hosts", r->bundle.len, LINK_PAYLOAD);
    return r->bundle.failed ? err_set(e, ERR_NOMEM, "no memory for the job") : 0;
}

static int own_node(const struct plan *p)
{
    for (size_t i = 0; i < p->nhosts; i++)
        if (p->hosts[i].local)
            return (int)i;
    return -1;
}

static int prepare_node(struct root *r, struct err *e)
{
    const struct plan *p = r->plan;
    struct node_args args = { .plan = p, .place = r->args->place, .node = own_node(p),
                              .programs = r->args->programs, .envs = r->envs,
                              .jobid = r->jobid, .hostname = r->hostname, .user = &r->user,
                              .input = r->args->input,
                              .trace = r->args->trace >= 0 || p->verbose >= 3 };
    unsigned random;

    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return err_set(e, ERR_OTHER, "no random numbers");
    snprintf(r->jobid, sizeof r->jobid, "job-%d-%08x", (int)getppid(), random);
    if (node_init(&r->node, r->loop, &args, &root_node_ops, r, e) < 0 ||
        root_output_init(r, e) < 0)
        return -1;
    r->tree.n = tree_positions(p);
    r->at = calloc((size_t)r->tree.n, sizeof *r->at);
    r->positions = malloc(p->nhosts * sizeof *r->positions);
    for (int i = 0, n = 0; r->positions && (size_t)i < p->nhosts; i++)
        r->positions[i] = p->hosts[i].local ? 0 : ++n;
    return r->at && r->positions ? 0 : err_set(e, ERR_NOMEM, "no memory for %d servers", r->tree.n);
}

static int prepare(struct root *r, struct err *e)
{
    r->began = root_now(r);
    gethostname(r->hostname, sizeof r->hostname - 1);
    r->loop = fatal_loop_new();
    if (!r->loop || open_signals(r) < 0 || sweep_prepare() < 0 ||
        stage_beside(r->beside, sizeof r->beside) < 0)
        return err_set(e, ERR_OTHER, "cannot set up: %s", strerror(errno));
    control_init(&r->control, r->args->control, &control_ops, r);
    if (prepare_launch(r, e) < 0 || build_environments(r, e) < 0 || prepare_node(r, e) < 0 ||
        write_bundle(r, e) < 0 || root_input_init(r, e) < 0)
        return -1;
    if (r->plan->stdin_mode == STDIN_RANK && r->node.n)
        output_set_input(r->node.output, STDIN_FILENO);
    watch(r);
    return node_check_files(&r->node, e);
}

/* Ranks start only when every node is ready. */
void root_start(struct root *r)
{
    struct err e = { 0 };

    r->started = true;
    if (root_open_files(r, &e) < 0) {
        root_broken(r, EXIT_LAUNCHER, e.text);
        return;
    }
    for (int i = 0; i < r->launch.size; i++)
        launch_started(&r->launch, i, -1);
    root_send(r, "start", NULL, 0, NULL, 0);
    if (node_start(&r->node, &e) < 0)
        root_broken(r, EXIT_LAUNCHER, e.text);
    for (int i = 0; i < r->node.n; i++)          /* after one that could not be started */
        if (!r->node.ranks[i].pid)
            launch_never_ran(&r->launch, r->node.ranks[i].rank);
    for (int i = 0; i < r->tree.n; i++)
        if (r->at[i].reads) {
            control_send(&r->control, "credit", "bytes", CONTROL_CREDIT);
            break;
        }
}

static void run(struct root *r)
{
    struct err e = { 0 };

    if (root_is_alone(r))
        root_say(r, 1, "job %s on %s: size %d", r->jobid, r->hostname, r->launch.size);
    else
        root_say(r, 1, "job %s: size %d, hosts %zu", r->jobid, r->launch.size,
                 r->plan->nhosts);
    if (root_spread_init(r, &e) < 0)
        root_broken(r, EXIT_LAUNCHER, e.text);
    ev_run(r->loop, 0);
}

/* Nothing stays: daemons of ranks go last; where the front end is gone, all goes. */
static void clean_up(struct root *r)
{
    if (sweep_any() && sweep_all(SWEEP_TIME) > 0)
        fatal("cleanup incomplete: a process could not be killed", 0);
    if (r->front_gone)
        r->status = EXIT_LAUNCHER;
}

static void clear(struct root *r)
{
    remotes_clear(&r->below);
    callback_free(r->callback);
    if (r->node.buffer)
        node_clear(&r->node);
    launch_clear(&r->launch);
    control_clear(&r->control);
    for (size_t a = 0; r->envs && a < r->plan->napps; a++)
        strlist_clear(&r->envs[a]);
    free(r->envs);
    buf_clear(&r->bundle);
    free(r->at);
    free(r->positions);
    if (r->loop)
        ev_loop_destroy(r->loop);
}

int root_run(const struct root_args *args)
{
    struct root *r = calloc(1, sizeof *r);
    struct err e = { 0 };
    int status = EXIT_LAUNCHER;

    if (!r)
        fatal("out of memory", 0);
    r->args = args;
    r->plan = args->plan;
    r->user = *args->user;
    if (prepare(r, &e) < 0) {
        fprintf(stderr, "mpiexec_lite: %s\n", e.text);
    } else {
        run(r);
        clean_up(r);
        status = r->status;
    }
    clear(r);
    free(r);
    return status;
}
