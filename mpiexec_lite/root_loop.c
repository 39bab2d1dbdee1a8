/* root_loop.c - the root's loop: what is due in each turn, children, signals, the front end,
 * and the end of the run. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/now.h"
#include "mpiexec_lite/usage.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long what is still to be written waits for its reader once the run is being
 * ended. */
static const double LAST_WORDS = 2.0;

/* How long the servers of other nodes have to end once all is over there. */
static const double FINISH_TIME = 6.0;

/* --- the end ----------------------------------------------------------- */

/* Let the servers of other nodes end, once nothing of theirs is missing here. */
static void finish(struct root *r, double now)
{
    if (r->finishing)
        return;
    r->finishing = true;
    r->finish_by = now + FINISH_TIME;
    root_progress_end(r);
    remotes_end(&r->below);
    root_timeline_finish(r);
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
    j->launch.deadline = 0;
    root_card_job(j);
    if (status)
        r->status = status;
    output_end_far(j->crew.output);
    if (r->plan->print_all_exitcodes)
        launch_tell_statuses(&j->launch);
    if (r->plan->verbose)
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
    root_card_job(j);
    if (!r->status && !j->refused && !j->alone)
        r->status = status;
    root_say(r, 1, "job %s: ended, status %d", j->bundle.jobid, status);
    root_send(j, "job-end", NULL, 0, NULL, 0);
    root_names_end(j);
    if (j->refused)
        root_job_free(j);                /* it never was */
    else
        root_record(j, status);
}

/* All jobs: when one of them has something to do next. */
static double step_jobs(struct root *r, double now)
{
    struct root_job *j, *next;
    double due = 0;

    for (j = TAILQ_FIRST(&r->jobs); j; j = next) {
        next = TAILQ_NEXT(j, in_root);
        due = earlier(due, root_daemons_step(j, now));
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
    double due = 0;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (!launch_over(&j->launch))
            due = earlier(due, j->give_up);
    if (!due || now < due)
        return due;
    root_drop_silent(r);
    return 0;
}

/* Once every job is done, tools' daemons included: when tools have what is theirs, and then the other servers have
 * ended, leave the loop; not later than the limits allow.  When to look again; 0: no need. */
static double end_run(struct root *r, double now)
{
    double ended = r->main->ended, due;

    if (!r->main->done || !root_daemons_alone(r))
        return 0;
    if (!r->concluded)
        conclude(r);
    if (TAILQ_NEXT(TAILQ_FIRST(&r->jobs), in_root))
        return root_daemons_wait(r, now);
    if (!r->finishing && (due = root_ext_linger(r, now)) > 0)
        return due;
    finish(r, now);
    if (!finished(r, now))
        return r->finish_by;
    if (places_flushed(&r->places) || (ended > 0 && now >= ended + LAST_WORDS))
        ev_break(r->loop, EVBREAK_ALL);
    return ended > 0 ? ended + LAST_WORDS : 0;
}

/* --- a turn ------------------------------------------------------------ */

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
    TAILQ_FOREACH(j, &r->jobs, in_root) {
        root_stacks_before_end(j, now);
        launch_tick(&j->launch, now);
    }
    root_start_asked(r);
    root_foreign_follow(r);
    root_jobs_follow(r);
    root_pushes_step(r);
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

    while ((pid = waitpid(-1, &wstatus, WNOHANG | WCONTINUED)) > 0)
        if (WIFCONTINUED(wstatus))
            node_continued(&r->node, pid);
        else if (!remotes_reaped(&r->below, pid, wstatus) &&
                 !scheduler_reaped(&r->scheduler, pid, wstatus))
            node_reaped(&r->node, pid, wstatus);
}

/* --- signals and the front end ----------------------------------------- */

static void take_signal(struct root *r, int signo)
{
    struct root_job *j;

    switch (signo) {
    case SIGQUIT:
        root_report(r);
        break;
    case SIGTSTP:                /* an orphaned group ignores TSTP */
        TAILQ_FOREACH(j, &r->jobs, in_root)
            launch_hold(&j->launch);
        control_send(&r->control, "stopped", NULL, 0);
        break;
    default:
        TAILQ_FOREACH(j, &r->jobs, in_root)
            if (!root_job_settled(j))
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

const struct control_ops root_control_ops = {
    .signal = control_signal, .input = control_input, .input_end = control_input_end,
    .rows = root_debug_rows, .release = root_debug_release,
    .spawn = root_debug_spawn,
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

/* --- set-up ------------------------------------------------------------ */

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

int root_open_signals(struct root *r)
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

void root_watch(struct root *r)
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
