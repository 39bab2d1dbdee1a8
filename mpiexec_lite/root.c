/* root.c - the root's loop: signals, the front end, children, and the end. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/env.h"
#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/machine.h"
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

/* How long what is still to be written waits for its reader once the run is being
 * ended, and how long a sweep may take. */
static const double LAST_WORDS = 2.0, SWEEP_TIME = 5.0;

/* How long the servers of other nodes have to end once all is over there. */
static const double FINISH_TIME = 6.0;

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
    places_tell(&r->places, safe.failed ? "(no memory)" : buf_bytes(&safe));
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

/* --- the end ----------------------------------------------------------- */

void root_broken(struct root *r, int status, const char *text)
{
    struct root_job *j;

    if (!r->main->launch.ending)
        root_tell(r, "%s", text);
    if (!r->status)
        r->status = status;
    TAILQ_FOREACH(j, &r->jobs, in_root)
        launch_end(&j->launch, root_now(r), status);
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
    root_send_all(r, "finish");
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
    struct root_job *j = r->main;
    int status = launch_status(&j->launch);

    r->concluded = true;
    if (status)
        r->status = status;
    output_end_far(j->crew.output);
    if (r->plan->print_all_exitcodes)
        launch_tell_statuses(&j->launch);
    root_say(r, 1, "root: exit status %d, processor time %.3f s, peak memory %ld KiB, "
             "key-value space %zu bytes", r->status, usage_cpu(), usage_peak_kib(),
             j->crew.job ? job_kvs_bytes(j->crew.job) : 0);
    places_flush(&r->places);
}

/* A job that a rank has started leaves nothing but its exit status, if that is the first
 * failure. */
static void drop_job(struct root_job *j)
{
    struct root *r = j->root;
    int status = launch_status(&j->launch);

    output_end_far(j->crew.output);
    if (r->plan->print_all_exitcodes)
        launch_tell_statuses(&j->launch);
    if (!r->status && !j->refused)
        r->status = status;
    root_say(r, 1, "job %s: ended, status %d", j->bundle.jobid, status);
    root_send(j, "job-end", NULL, 0, NULL, 0);
    root_names_end(j);
    root_job_free(j);
}

/* All jobs: when one of them has something to do next. */
static double step_jobs(struct root *r, double now)
{
    struct root_job *j, *next;
    double due = 0;

    for (j = TAILQ_FIRST(&r->jobs); j; j = next) {
        next = TAILQ_NEXT(j, in_root);
        due = earlier(due, earlier(root_job_step(j, now), launch_due(&j->launch)));
        if (j->done && j->number)
            drop_job(j);
    }
    return due;
}

/* Hosts that should have told the end of their ranks by now. */
static double watch_silent(struct root *r, double now)
{
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (!launch_over(&j->launch)) {
            if (r->give_up > 0 && now >= r->give_up)
                root_drop_silent(r);
            return r->give_up;
        }
    return 0;
}

/* Once every job is done: when the other servers have ended, leave the loop; not later
 * than the limits above allow.  When to look again; 0: no need. */
static double end_run(struct root *r, double now)
{
    double ended = r->main->ended;

    if (!r->main->done || TAILQ_NEXT(TAILQ_FIRST(&r->jobs), in_root))
        return 0;
    if (!r->concluded)
        conclude(r);
    finish(r, now);
    if (!finished(r, now))
        return r->finish_by;
    if (places_flushed(&r->places) || (ended > 0 && now >= ended + LAST_WORDS))
        ev_break(r->loop, EVBREAK_ALL);
    return ended > 0 ? ended + LAST_WORDS : 0;
}

/* Once a loop turn, before waiting: whatever happened in it has its consequence
 * now, and the next thing that is due gets its timer. */
static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
    struct root *r = w->data;
    double now = root_now(r), due;
    struct root_job *j;

    (void)loop;
    (void)revents;
    places_flush(&r->places);
    TAILQ_FOREACH(j, &r->jobs, in_root)
        launch_tick(&j->launch, now);
    root_start_asked(r);
    root_foreign_follow(r);
    root_jobs_follow(r);
    server_flush(r->node.server);
    due = earlier(step_jobs(r, now), watch_silent(r, now));
    due = earlier(due, end_run(r, now));
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
        if (!remotes_reaped(&r->below, pid, wstatus))
            node_reaped(&r->node, pid, wstatus);
}

/* --- signals and the front end ----------------------------------------- */

static void take_signal(struct root *r, int signo)
{
    struct root_job *j;

    switch (signo) {
    case SIGQUIT:
        node_report(&r->node);
        root_send_all(r, "tell-states");
        break;
    case SIGTSTP:                /* an orphaned group ignores TSTP */
        TAILQ_FOREACH(j, &r->jobs, in_root)
            j->launch.ops->kill_all(j, SIGSTOP);
        control_send(&r->control, "stopped", NULL, 0);
        break;
    default:
        TAILQ_FOREACH(j, &r->jobs, in_root)
            launch_signal(&j->launch, root_now(r), signo);
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

/* The job of the command line, as other jobs have theirs; all but the environments is
 * lent. */
static int make_main(struct root *r, struct err *e)
{
    struct root_job *j = r->main = root_job_new(r, 0, e);

    if (!j)
        return -1;
    if (!getcwd(r->cwd, sizeof r->cwd))
        return err_set(e, ERR_OTHER, "cannot tell the working directory: %s", strerror(errno));
    j->programs = (char **)r->args->programs;
    j->bundle = (struct bundle){ .plan = *r->plan, .place = *r->args->place, .cwd = r->cwd,
                                 .jobid = r->jobid, .trace = r->node.args.trace,
                                 .umask = umask(0) };
    umask((mode_t)j->bundle.umask);
    j->bundle.envs = calloc(r->plan->napps, sizeof *j->bundle.envs);
    if (!j->bundle.envs)
        return err_set(e, ERR_NOMEM, "no memory for environments");
    for (size_t a = 0; a < r->plan->napps; a++)
        if (env_build(r->plan, a, environ, &j->bundle.envs[a], e) < 0)
            return -1;
    return root_job_init(j, e);
}

int root_write_bundle(struct root *r, const struct plan *hosts, struct err *e)
{
    struct bundle b = r->main->bundle;
    struct buf bytes = BUF_INIT;

    b.plan.hosts = hosts->hosts;
    b.plan.nhosts = hosts->nhosts;
    bundle_write(&b, &bytes);
    if (!bytes.failed && bytes.len <= LINK_PAYLOAD) {
        buf_clear(&r->bundle);
        r->bundle = bytes;
        return 0;
    }
    if (bytes.failed)
        err_set(e, ERR_NOMEM, "no memory for the job");
    else
        err_set(e, ERR_LENGTH, "the job, with hosts, arguments and environment, has %zu bytes; "
                "%d can be sent to other hosts", bytes.len, LINK_PAYLOAD);
    buf_clear(&bytes);
    return -1;
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
    struct node_args args = { .plan = p, .index = own_node(p), .hostname = r->hostname,
                              .user = &r->user,
                              .trace = r->args->trace >= 0 || p->verbose >= 3 };
    char machine[MACHINE_TEXT];
    unsigned random;

    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return err_set(e, ERR_OTHER, "no random numbers");
    if (p->single_id)
        snprintf(r->jobid, sizeof r->jobid, "%s", p->single_id);
    else
        snprintf(r->jobid, sizeof r->jobid, "job-%d-%08x", (int)getppid(), random);
    if (node_init(&r->node, r->loop, &args, &root_node_ops, r, e) < 0)
        return -1;
    r->servers = r->tree.n = tree_positions(p);
    r->listed = p->nhosts;
    r->at = calloc((size_t)r->tree.n, sizeof *r->at);
    r->positions = malloc(p->nhosts * sizeof *r->positions);
    for (int i = 0, n = 0; r->positions && (size_t)i < p->nhosts; i++)
        r->positions[i] = p->hosts[i].local ? 0 : ++n;
    machine_text(machine);
    return r->at && r->positions && machine_kind(&r->machines, machine) == 0
           ? 0 : err_set(e, ERR_NOMEM, "no memory for %d servers", r->tree.n);
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
    if (root_places_init(r, e) < 0 || prepare_node(r, e) < 0 || make_main(r, e) < 0 ||
        (!root_is_alone(r) && root_write_bundle(r, r->plan, e) < 0) || root_input_init(r, e) < 0 || root_names_init(r, e) < 0)
        return -1;
    root_foreign_init(r);
    if (r->plan->stdin_mode == STDIN_RANK && r->main->crew.n)
        output_set_input(r->main->crew.output, STDIN_FILENO);
    watch(r);
    return crew_check_files(&r->main->crew, e);
}

static void run(struct root *r)
{
    struct err e = { 0 };

    if (root_is_alone(r))
        root_say(r, 1, "job %s on %s: size %d", r->jobid, r->hostname,
                 r->main->launch.size);
    else
        root_say(r, 1, "job %s: size %d, hosts %zu", r->jobid, r->main->launch.size,
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
    struct root_job *j;

    root_refuse_asked(r, "the launcher is ending");
    free(r->asked);
    remotes_clear(&r->below);
    callback_free(r->callback);
    for (size_t a = 0; r->main && r->main->bundle.envs && a < r->plan->napps; a++)
        strlist_clear(&r->main->bundle.envs[a]);
    if (r->main)
        free(r->main->bundle.envs);
    while ((j = TAILQ_FIRST(&r->jobs))) {
        if (!j->done && j->crew.job)     /* cut off */
            job_failed(j->crew.job, EXIT_LAUNCHER);
        root_job_free(j);
    }
    root_foreign_clear(r);
    if (r->node.buffer)
        node_clear(&r->node);
    root_single_clear(r);
    root_names_clear(r);
    places_clear(&r->places);
    control_clear(&r->control);
    buf_clear(&r->bundle);
    for (int i = 0; r->at && i < r->servers; i++)
        free(r->at[i].why);
    free(r->at);
    free(r->positions);
    strlist_clear(&r->machines);
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
    TAILQ_INIT(&r->jobs);
    TAILQ_INIT(&r->timers);
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
