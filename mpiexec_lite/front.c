/* front.c - see front.h */
#include "mpiexec_lite/front.h"

#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/child.h"
#include "mpiexec_lite/control.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/mpir.h"
#include "pmix_ext/pmix_ext_keys.h"
#include "pmix_ext/rendezvous.h"
#include "mpiexec_lite/sweep.h"
#include "mpiexec_lite/usage.h"
#include "mpiexec_lite/windows.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* How often a launcher in the background looks whether it has come forward. */
static const double BACKGROUND_LOOK = 0.5;

/* How long the root may take to end the job after a signal that asks for it.  Its own
 * steps take at most six seconds and a sweep of five; other hosts as long again, and one
 * that does not answer its lease. */
static const double ROOT_PATIENCE = 14.0, HOSTS_PATIENCE = 12.0;

struct front {
    const struct front_args *args;
    struct ev_loop *loop;
    struct control  control;
    int             signals;         /* signalfd */
    ev_io           on_signals, on_control, on_input;
    ev_timer        look, patience;
    double          may_take;        /* the root, after a signal: seconds */
    int             input;           /* what stdin is read from; owned if not 0 */
    size_t          credit;          /* bytes of stdin the root will take */
    bool            input_open, terminal;
    bool            by_terminal;     /* the last SIGTSTP was a Ctrl-Z */
    int             last_signal;     /* the last ending signal that was handed on */
    bool            ended;           /* the root has */
    bool            impatient;       /* it did not end the job after a signal: killed */
    int             status;          /* its wait status */
    int             ranks, rows;     /* of the table for debuggers, and those that came */
    char            jobid[64];
    bool            aborting;        /* a debugger was told that the job is */
    bool            released;        /* the ranks, after it was told of them */
    int             fifo;            /* owned: it asks for daemons later; -1: none */
    ev_io           on_fifo;
    struct windows  windows;         /* of -gdb */
    ev_io           on_windows;
};

/* --- stdin ------------------------------------------------------------- */

/* A terminal is read only by the process group in its foreground. */
static bool may_read(const struct front *f)
{
    return !f->terminal || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void close_input(struct front *f)
{
    f->input_open = false;
    ev_io_stop(f->loop, &f->on_input);
    ev_timer_stop(f->loop, &f->look);
}

static void want_input(struct front *f)
{
    ev_timer_stop(f->loop, &f->look);
    if (!f->input_open || !f->credit) {
        ev_io_stop(f->loop, &f->on_input);
    } else if (may_read(f)) {
        ev_io_start(f->loop, &f->on_input);
    } else {
        ev_io_stop(f->loop, &f->on_input);
        ev_timer_set(&f->look, BACKGROUND_LOOK, 0.);
        ev_timer_start(f->loop, &f->look);
    }
}

static void on_look(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop;
    (void)revents;
    want_input(w->data);
}

static void on_input(struct ev_loop *loop, ev_io *w, int revents)
{
    struct front *f = w->data;
    char data[32768];
    ssize_t n;

    (void)loop;
    (void)revents;
    if (!may_read(f)) {
        want_input(f);
        return;
    }
    n = read(f->input, data, f->credit < sizeof data ? f->credit : sizeof data);
    if (n > 0) {
        f->credit -= (size_t)n;
        control_send_input(&f->control, data, (size_t)n);
    } else if (n == 0 || (errno == EIO && f->terminal && may_read(f))) {
        control_send(&f->control, "stdin-eof", NULL, 0);         /* or hung up */
        close_input(f);
    } else if (errno != EINTR && errno != EAGAIN && !f->terminal) {
        fatal("cannot read stdin", errno);
    }
    want_input(f);
}

/* --- from the root ----------------------------------------------------- */

static void root_credit(void *host, size_t bytes)
{
    struct front *f = host;

    f->credit += bytes;
    want_input(f);
}

static void root_input_closed(void *host)
{
    close_input(host);
}

/* The ranks are stopped: so are we, now, until someone continues us.  Ctrl-Z where
 * nobody could (no shell is above us) does not stop us, by the kernel's rule for
 * SIGTSTP; then the ranks go on too.  Who sends it by kill means it. */
static void root_stopped(void *host)
{
    struct front *f = host;
    sigset_t stop, pending;

    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(f->by_terminal ? SIGTSTP : SIGSTOP);
    sigprocmask(SIG_UNBLOCK, &stop, NULL);       /* here we stop */
    sigprocmask(SIG_BLOCK, &stop, NULL);
    sigpending(&pending);
    if (!sigismember(&pending, SIGCONT))
        control_send(&f->control, "signal", "signo", SIGCONT);
}

/* --- for debuggers ------------------------------------------------------ */

static void ask_rows(struct front *f)
{
    control_send(&f->control, "rows", "from", f->rows);
}

static void root_table(void *host, int ranks, const char *jobid)
{
    struct front *f = host;

    if (mpir_begin(ranks) < 0)
        fatal("out of memory", 0);
    f->ranks = ranks;
    f->rows = 0;
    snprintf(f->jobid, sizeof f->jobid, "%s", jobid);
    ask_rows(f);
}

/* All are there, and stay stopped while the debugger looks at them. */
static void tell_debugger(struct front *f)
{
    if (!f->aborting)
        mpir_spawned(f->ranks, f->jobid);        /* a debugger may stop us in it for long */
    if (f->args->plan->debugged && !f->released)
        control_send(&f->control, "release", "rank", -1);
    f->released = true;
}

/* Whose gdb has gone goes on; so do all, should the windows be lost: what a keeper that was
 * killed leaves open is a descendant of ours, and is ended, as it holds their ranks. */
static void on_windows(struct ev_loop *loop, ev_io *w, int revents)
{
    struct front *f = w->data;
    int rank, rc;

    (void)revents;
    while ((rc = windows_closed(&f->windows, &rank)) > 0)
        control_send(&f->control, "release", "rank", rank);
    if (rc < 0) {
        ev_io_stop(loop, w);
        sweep_but(5, &f->args->root, 1, NULL);
        control_send(&f->control, "release", "rank", -1);
    }
}

static void open_windows(struct front *f)
{
    struct err e = { 0 };

    if (!f->windows.n || f->windows.keeper)
        return;
    if (windows_open(&f->windows, &e) < 0)
        fatal(e.text, 0);
    ev_io_init(&f->on_windows, on_windows, f->windows.fd, EV_READ);
    f->on_windows.data = f;
    ev_io_start(f->loop, &f->on_windows);
}

/* Whether the debugger wants programs on the nodes, which are to be there before it is told. */
static bool start_daemons(struct front *f)
{
    struct spawn_request want = { 0 };
    struct err e = { 0 };
    int rc = mpir_daemons(&want);

    if (rc < 0 || (rc && control_send_spawn(&f->control, &want, &e) < 0))
        fatal("no memory for a debugger's daemons", 0);
    spawn_clear(&want);
    return rc;
}

static void root_daemons(void *host)
{
    tell_debugger(host);
}

static void on_fifo(struct ev_loop *loop, ev_io *w, int revents)
{
    struct front *f = w->data;
    char bytes[64];

    (void)loop;
    (void)revents;
    if (read(w->fd, bytes, sizeof bytes) > 0 && f->ranks && f->rows == f->ranks)
        start_daemons(f);                /* else they are when the table is there */
}

static void open_fifo(struct front *f)
{
    f->fifo = mpir_attach_fifo();
    if (f->fifo < 0)
        return;
    ev_io_init(&f->on_fifo, on_fifo, f->fifo, EV_READ);
    f->on_fifo.data = f;
    ev_io_start(f->loop, &f->on_fifo);
}

static void root_row(void *host, const struct control_row *row)
{
    struct front *f = host;

    if (row->rank != f->rows || f->rows >= f->ranks)
        fatal("the launcher's server process mixes up the ranks", 0);
    if (mpir_add(row->rank, row->host, row->program, row->pid) < 0 ||
        windows_add(&f->windows, row->rank, row->host, row->pid) < 0)
        fatal("out of memory", 0);
    f->rows++;
    if (f->rows < f->ranks && f->rows % CONTROL_ROWS == 0)
        ask_rows(f);
    if (f->rows < f->ranks)
        return;
    open_windows(f);
    if (!start_daemons(f))
        tell_debugger(f);
}

static void root_aborting(void *host, const char *text)
{
    ((struct front *)host)->aborting = true;
    mpir_aborting(text);
}

/* A rank that gdb has cannot be waited for by anybody else, even when it was killed. */
static void root_ending(void *host)
{
    windows_end(&((struct front *)host)->windows);
}

static const struct control_ops control_ops = {
    .credit = root_credit, .input_closed = root_input_closed, .stopped = root_stopped,
    .table = root_table, .row = root_row, .aborting = root_aborting,
    .daemons = root_daemons, .ending = root_ending,
};

static void root_ended(struct front *f, int status)
{
    f->status = status;
    f->ended = true;
    ev_break(f->loop, EVBREAK_ALL);
}

/* It has closed its end: the rest takes a moment, for which no loop is needed. */
static void await_root(struct front *f)
{
    int status;

    if (!f->ended && waitpid(f->args->root, &status, 0) == f->args->root)
        root_ended(f, status);
}

static void on_control(struct ev_loop *loop, ev_io *w, int revents)
{
    struct front *f = w->data;

    (void)revents;
    if (control_read(&f->control, NULL) > 0)
        return;
    ev_io_stop(loop, w);                 /* it is ending */
    await_root(f);
}

/* --- signals ----------------------------------------------------------- */

/* The root is our only child of interest; what else ends here was orphaned. */
static void on_child(struct front *f)
{
    pid_t pid;
    int status;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == f->args->root)
            root_ended(f, status);
}

/* The root is stuck, in a file system that does not answer, say. */
static void on_patience(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct front *f = w->data;

    (void)loop;
    (void)revents;
    f->impatient = true;
    kill(f->args->root, SIGKILL);
}

static void on_signal(struct front *f, int signo, int code)
{
    if (signo == SIGCHLD) {
        on_child(f);
        return;
    }
    if ((signo == SIGINT || signo == SIGTERM || signo == SIGHUP) && !f->last_signal) {
        f->last_signal = signo;
        ev_timer_start(f->loop, &f->patience);
    }
    if (signo == SIGTSTP)
        f->by_terminal = code == SI_KERNEL;
    control_send(&f->control, "signal", "signo", signo);
    if (signo == SIGCONT)
        want_input(f);
}

static void on_signals(struct ev_loop *loop, ev_io *w, int revents)
{
    struct front *f = w->data;
    struct signalfd_siginfo info;

    (void)loop;
    (void)revents;
    while (read(f->signals, &info, sizeof info) == sizeof info)
        on_signal(f, (int)info.ssi_signo, info.ssi_code);
}

static int open_signals(struct front *f)
{
    static const int all[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,
                               SIGTSTP, SIGCONT, SIGCHLD };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!signal_ignored(all[i]))
            sigaddset(&set, all[i]);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGTTIN, SIG_IGN);        /* a read that races with "bg" fails instead */
    f->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return f->signals < 0 ? -1 : 0;
}

/* --- run --------------------------------------------------------------- */

/* stdin without blocking, and without changing what others see of it: a terminal or
 * pipe that we share may be emptied between the look and the read. */
static int open_input(void)
{
    struct stat st;
    int fd = -1;

    if (fstat(STDIN_FILENO, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode)))
        fd = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? STDIN_FILENO : fd;
}

static void watch(struct front *f)
{
    ev_io_init(&f->on_signals, on_signals, f->signals, EV_READ);
    ev_io_init(&f->on_control, on_control, f->args->control, EV_READ);
    ev_io_init(&f->on_input, on_input, f->input, EV_READ);
    f->may_take = ROOT_PATIENCE;
    if (f->args->plan->nhosts > 1 || !f->args->plan->hosts[0].local)
        f->may_take += HOSTS_PATIENCE + f->args->plan->remote.lease;
    ev_timer_init(&f->patience, on_patience, f->may_take, 0.);
    ev_timer_init(&f->look, on_look, 0., 0.);
    f->on_signals.data = f->on_control.data = f->on_input.data = f->look.data =
        f->patience.data = f;
    ev_io_start(f->loop, &f->on_signals);
    ev_io_start(f->loop, &f->on_control);
    open_fifo(f);
}

/* How the root's end reads as the exit status of the launcher. */
static int conclude(struct front *f, int *signo)
{
    const char *file = getenv(PMIX_LAUNCHER_RNDZ_FILE);
    int left, status;

    windows_clear(&f->windows);
    left = sweep_any() ? sweep_all(5) : 0;
    if (left)
        fprintf(stderr, "mpiexec_lite: cleanup incomplete: %d processes could not be killed\n",
                left);
    if (WIFSIGNALED(f->status)) {        /* what it would have removed */
        rundir_sweep(f->args->root);
        rendezvous_sweep(getpid());
        if (file)
            rendezvous_take_back(file, getpid());
    }
    if (f->impatient && WIFSIGNALED(f->status)) {
        fprintf(stderr, "mpiexec_lite: the launcher's server process (pid %d) did not end the "
                "job within %.0f s and was killed; the job was ended\n", (int)f->args->root,
                f->may_take);
        *signo = f->last_signal;
        return 128 + f->last_signal;
    }
    if (WIFSIGNALED(f->status)) {
        fprintf(stderr, "mpiexec_lite: the launcher's server process (pid %d) was killed by "
                "signal %d (%s); the job was ended\n", (int)f->args->root,
                WTERMSIG(f->status), strsignal(WTERMSIG(f->status)));
        return EXIT_LAUNCHER;
    }
    status = WEXITSTATUS(f->status);
    if (f->last_signal && status == 128 + f->last_signal)
        *signo = f->last_signal;
    if (f->args->plan->verbose)
        fprintf(stderr, "mpiexec_lite: front end: peak memory %ld KiB\n", usage_peak_kib());
    return status;
}

int front_run(const struct front_args *args, int *signo)
{
    struct front f = { .args = args, .signals = -1, .fifo = -1, .input_open = args->forward_input,
                       .terminal = isatty(STDIN_FILENO) };
    int status = EXIT_LAUNCHER;

    *signo = 0;
    windows_init(&f.windows, args->plan, args->user);
    control_init(&f.control, args->control, &control_ops, &f);
    f.loop = fatal_loop_new();
    if (!f.loop || open_signals(&f) < 0) {
        fprintf(stderr, "mpiexec_lite: cannot set up: %s\n", strerror(errno));
        kill(args->root, SIGKILL);
        sweep_all(5);
    } else {
        f.input = args->forward_input ? open_input() : STDIN_FILENO;
        watch(&f);
        on_child(&f);                    /* its signal may have come too early for us */
        if (!f.ended)
            ev_run(f.loop, 0);
        status = conclude(&f, signo);
    }
    control_clear(&f.control);
    if (f.fifo >= 0)
        close(f.fifo);
    if (f.input != STDIN_FILENO)
        close(f.input);
    if (f.loop)
        ev_loop_destroy(f.loop);
    return status;
}
