/* root.c - the root's loop: signals, the front end, children, and the end. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/sweep.h"
#include "mpiexec_lite/usage.h"
#include "mpiexec_lite/mpicheck.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long pipes that outlived the last rank are waited for (what holds them may
 * have something to say), and how long after a failure. */
static const double GRACE = 2.0, GRACE_FAILED = 0.3;

/* How long what is still to be written waits for its reader once the job is being
 * ended, and how long a sweep may take. */
static const double LAST_WORDS = 2.0, SWEEP_TIME = 5.0;

double root_now(struct root *r)
{
    struct timespec t;

    (void)r;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void tell(struct root *r, const char *fmt, va_list ap)
{
    struct buf safe = BUF_INIT;
    char text[2048];

    vsnprintf(text, sizeof text, fmt, ap);
    buf_escaped(&safe, text, strlen(text));
    output_tell(r->output, safe.failed ? "(no memory)" : buf_bytes(&safe));
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

static void rank_ended(struct root *r, int rank, int wstatus);

/* --- operations of the launch ------------------------------------------ */

/* Its process group; and it alone, if it has left that. */
static void op_kill_rank(void *host, int rank, int signo)
{
    struct root *r = host;
    pid_t pid = r->ranks[rank].pid;

    if (!pid)
        return;
    kill(-pid, signo);
    if (getpgid(pid) != pid)
        kill(pid, signo);
}

static void op_kill_all(void *host, int signo)
{
    struct root *r = host;

    for (int i = 0; i < r->size; i++)
        op_kill_rank(r, i, signo);
}

static void op_tell(void *host, const char *text)
{
    root_tell(host, "%s", text);
}

/* A rank that KILL did not reach: in another group, or not ours to signal. */
static void op_sweep(void *host)
{
    struct root *r = host;
    int left = sweep_all(SWEEP_TIME);

    if (left)
        root_tell(r, "cleanup incomplete on %s: %d processes could not be killed", r->hostname,
                  left);
    for (int i = 0; i < r->size; i++)
        if (r->ranks[i].pid)
            rank_ended(r, i, SIGKILL);   /* reaped by the sweep */
}

static const struct launch_ops launch_ops = { op_kill_all, op_kill_rank, op_tell, op_sweep };

/* --- the end ----------------------------------------------------------- */

/* What the ranks left behind still holds their pipes: it goes now. */
static void end_leftovers(struct root *r)
{
    root_say(r, 1, "ending what the ranks left behind: it holds their output open");
    sweep_all(SWEEP_TIME);
    output_close_streams(r->output);
}

/* The last words, while the loop still runs to write them. */
static void conclude(struct root *r)
{
    r->concluded = true;
    r->status = launch_status(&r->launch);
    if (r->plan->print_all_exitcodes)
        launch_tell_statuses(&r->launch);
    root_say(r, 1, "root: exit status %d, processor time %.3f s, peak memory %ld KiB, "
             "key-value space %zu bytes", r->status, usage_cpu(), usage_peak_kib(),
             job_kvs_bytes(r->job));
    output_flush(r->output);
}

/* Once every rank has ended: leave the loop when all their output is written, and
 * not later than the limits above allow.  When to look again; 0: no need. */
static double end_when_over(struct root *r, double now)
{
    double until;

    if (!launch_over(&r->launch))
        return 0;
    if (!(r->over > 0))
        r->over = now;
    if (r->launch.ending && !(r->ended > 0))
        r->ended = now;
    until = r->over + (r->launch.ending ? GRACE_FAILED : GRACE);
    if (!output_ended(r->output) && now < until)
        return until;
    if (!output_ended(r->output))
        end_leftovers(r);
    if (!r->concluded)
        conclude(r);
    if (output_flushed(r->output) || (r->ended > 0 && now >= r->ended + LAST_WORDS))
        ev_break(r->loop, EVBREAK_ALL);
    return r->ended > 0 ? r->ended + LAST_WORDS : 0;
}

static double earlier(double a, double b)
{
    if (!(a > 0))
        return b;
    return b > 0 && b < a ? b : a;
}

/* Once a loop turn, before waiting: whatever happened in it has its consequence
 * now, and the next thing that is due gets its timer. */
static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
    struct root *r = w->data;
    double now = root_now(r), due;

    (void)loop;
    (void)revents;
    output_flush(r->output);
    launch_tick(&r->launch, now);
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

static void output_failed(void *host, const char *what, int errnum)
{
    struct root *r = host;
    char text[512];

    if (errnum == EPIPE) {
        launch_reader_gone(&r->launch, root_now(r));
    } else {
        snprintf(text, sizeof text, "%s: %s", what, strerror(errnum));
        launch_broken(&r->launch, root_now(r), EXIT_LAUNCHER, text);
    }
}

static const struct output_ops output_ops = { output_failed };

/* --- children ---------------------------------------------------------- */

static int rank_of(const struct root *r, pid_t pid)
{
    for (int i = 0; i < r->size; i++)
        if (r->ranks[i].pid == pid)
            return i;
    return -1;
}

/* A rank that ended without PMI, of several, may be an MPI that has none. */
static void check_mpi(struct root *r, int rank)
{
    char what[256];

    if (r->checked_mpi || r->spoke_pmi || r->size < 2)
        return;
    r->checked_mpi = true;
    if (mpicheck_library(r->args->programs[plan_app_of(r->plan, rank)], what, sizeof what))
        root_tell(r, "warning: %s is linked to %s, but did not use PMI: that MPI cannot be "
                  "started this way, and each process has run alone, as rank 0 of 1",
                  root_program(r, rank), what);
}

/* PMI_PORT: what this member, or somebody who has not said who it is, has sent. */
static void drain_peers(struct root *r, const struct member *m)
{
    struct port_peer *p, *next;

    if (r->listener)
        listen_accept(r->listener);
    for (p = TAILQ_FIRST(&r->peers); p; p = next) {
        struct member *whose = p->conn.core ? conn_member(p->conn.core) : NULL;

        next = TAILQ_NEXT(p, in_list);
        if (!whose)
            pmi_conn_serve(&p->conn);
        else if (whose == m)
            pmi_conn_drain(&p->conn);
    }
}

/* Serve what a rank said before it ended, then take note. */
static void rank_ended(struct root *r, int rank, int wstatus)
{
    struct member *m = job_member(r->job, rank);

    pmi_conn_drain(&r->ranks[rank].conn);
    drain_peers(r, m);
    root_say(r, 2, "rank %d (pid %d): ended, status %d", rank, (int)r->ranks[rank].pid,
             shell_status(wstatus));
    r->ranks[rank].pid = 0;
    pmi_conn_close(&r->ranks[rank].conn);
    if (!member_ever_initialized(m))
        check_mpi(r, rank);
    launch_ended(&r->launch, root_now(r), rank, wstatus);
    member_ended(m);
}

static void reap(struct root *r)
{
    int wstatus;
    pid_t pid;

    while ((pid = waitpid(-1, &wstatus, WNOHANG)) > 0) {
        int rank = rank_of(r, pid);

        if (rank >= 0)
            rank_ended(r, rank, wstatus);
    }
}

/* --- signals and the front end ----------------------------------------- */

static void take_signal(struct root *r, int signo)
{
    switch (signo) {
    case SIGQUIT:
        root_report(r);
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
    struct root *r = host;

    if (r->feed)
        feed_write(r->feed, data, len);
}

static void control_input_end(void *host)
{
    struct root *r = host;

    if (r->feed)
        feed_end(r->feed);
}

static const struct control_ops control_ops = {
    .signal = control_signal, .input = control_input, .input_end = control_input_end,
};

static void feed_credit(void *host, size_t bytes)
{
    control_send(&((struct root *)host)->control, "credit", "bytes", (long long)bytes);
}

static void feed_closed(void *host)
{
    control_send(&((struct root *)host)->control, "stdin-closed", NULL, 0);
}

static void feed_failed(void *host, int errnum)
{
    output_failed(host, "write to stdin of a rank", errnum);
}

static const struct feed_ops feed_ops = { feed_credit, feed_closed, feed_failed };

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

static int prepare(struct root *r, struct err *e)
{
    const struct plan *p = r->plan;

    gethostname(r->hostname, sizeof r->hostname - 1);
    r->buffer = malloc(ROOT_BUFFER);
    if (!r->buffer)
        return err_set(e, ERR_NOMEM, "out of memory");
    r->loop = fatal_loop_new();
    if (!r->loop || open_signals(r) < 0 || sweep_prepare() < 0)
        return err_set(e, ERR_OTHER, "cannot set up: %s", strerror(errno));
    r->size = plan_size(p);
    r->ranks = calloc((size_t)r->size, sizeof *r->ranks);
    if (!r->ranks || launch_init(&r->launch, &launch_ops, r, r->size) < 0)
        return err_set(e, ERR_NOMEM, "no memory for %d ranks", r->size);
    for (int i = 0; i < r->size; i++)
        r->ranks[i].conn.fd = -1;
    r->launch.hostname = r->hostname;
    r->launch.program = root_program;
    r->launch.end_on_nonzero = p->policy == END_ON_ANY_NONZERO;
    r->launch.keep_going = p->keep_going;
    if (p->timeout > 0)
        r->launch.deadline = root_now(r) + p->timeout;
    control_init(&r->control, r->args->control, &control_ops, r);
    r->output = output_new(r->loop, p, r->hostname, r->buffer, ROOT_BUFFER, &output_ops,
                           r, e);
    if (!r->output || root_pmi_init(r, e) < 0)
        return -1;
    if (p->stdin_mode == STDIN_RANK)
        output_set_input(r->output, STDIN_FILENO);
    if (r->args->input < 0 && (p->stdin_mode == STDIN_ALL || p->stdin_mode == STDIN_RANK)) {
        r->feed = feed_new(r->loop, &feed_ops, r);
        if (!r->feed)
            return err_set(e, ERR_NOMEM, "no memory for stdin");
    }
    watch(r);
    return 0;
}

static void run(struct root *r)
{
    struct err e = { 0 };

    root_say(r, 1, "job %s: %d ranks on %s", r->jobid, r->size, r->hostname);
    if (root_start_ranks(r, &e) < 0)
        launch_broken(&r->launch, root_now(r), EXIT_LAUNCHER, e.text);
    if (r->feed)
        feed_credit(r, CONTROL_CREDIT);
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
    feed_free(r->feed);
    if (r->server)
        root_pmi_clear(r);
    output_free(r->output);
    launch_clear(&r->launch);
    control_clear(&r->control);
    free(r->ranks);
    free(r->buffer);
    if (r->null >= 0)
        close(r->null);
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
    r->null = -1;
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
