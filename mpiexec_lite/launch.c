/* launch.c - see launch.h */
#include "mpiexec_lite/launch.h"

#include "mpiexec_lite/now.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { MAX_LINES = 20 };
static const double KILL_STEP = 2.0;     /* seconds between the steps */
static const double STUCK_GRACE = 2.0;   /* for a rank that left in silence with 0 */

/* The steps of ending a job, KILL_STEP apart; a failure begins at the second. */
static const int escalation[] = { SIGINT, SIGTERM, SIGKILL, 0 };
enum { STEP_INT, STEP_TERM, STEP_KILL, STEP_SWEEP, STEPS };

int launch_init(struct launch *l, const struct launch_ops *ops, void *host, int size)
{
    *l = (struct launch){ .ops = ops, .host = host, .size = size, .stuck_rank = -1,
                          .culprit = -1,
                          .next_kill = STEPS };
    l->ranks = calloc((size_t)size, sizeof *l->ranks);
    return l->ranks ? 0 : -1;
}

void launch_clear(struct launch *l)
{
    free(l->ranks);
    l->ranks = NULL;
}

int shell_status(int wstatus)
{
    return WIFSIGNALED(wstatus) ? 128 + WTERMSIG(wstatus) : WEXITSTATUS(wstatus);
}

/* --- telling ----------------------------------------------------------- */

__attribute__((format(printf, 2, 3)))
static void tell(struct launch *l, const char *fmt, ...)
{
    char text[2048];
    int n = 0;
    va_list ap;

    if (l->told++ >= MAX_LINES)
        return;
    if (l->number)
        n = snprintf(text, sizeof text, "job %d: ", l->number);
    va_start(ap, fmt);
    vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
    va_end(ap);
    l->ops->tell(l->host, text);
}

struct who { char text[512]; };

static struct who who(const struct launch *l, int rank)
{
    struct who w;

    snprintf(w.text, sizeof w.text, "rank %d on %s (pid %d, %s)", rank,
             l->hostname(l->host, rank), (int)l->ranks[rank].pid, l->program(l->host, rank));
    return w;
}

static void tell_signal(struct launch *l, int rank, int wstatus)
{
    const char *name = sigabbrev_np(WTERMSIG(wstatus));

    tell(l, "%s killed by signal %d (SIG%s)%s", who(l, rank).text, WTERMSIG(wstatus),
         name ? name : "?", WCOREDUMP(wstatus) ? ", core dumped" : "");
}

/* --- ending ------------------------------------------------------------ */

static void kill_step(struct launch *l, double now)
{
    int step = l->next_kill++, signo = escalation[step];

    l->kill_at = step < STEP_SWEEP ? now + KILL_STEP : 0;
    if (step == STEP_SWEEP) {
        l->ops->sweep(l->host);
        return;
    }
    if (step == STEP_INT)
        signo = l->signal;               /* INT or HUP, forwarded as it came */
    l->ops->kill_all(l->host, signo);
    if (l->paused && signo != SIGKILL)   /* who is stopped takes nothing else */
        l->ops->kill_all(l->host, SIGCONT);
}

/* End the job, from this step of the escalation on.  Only the first cause counts. */
static void end_job(struct launch *l, double now, int status, int step)
{
    if (l->ending)
        return;
    l->ending = true;
    if (!l->status)                      /* a failure that did not end it was earlier */
        l->status = status;
    l->stuck_at = l->deadline = 0;
    l->next_kill = step;
    kill_step(l, now);
}

/* A signal while the job is ending: go to its step now, unless that is past. */
static void hurry(struct launch *l, double now, int step)
{
    if (step < l->next_kill)
        return;
    l->next_kill = step;
    kill_step(l, now);
}

/* Set, or with 0 clear, one of the times of a rank. */
static void set_time(struct launch *l, double *at, double when)
{
    l->timed += (when > 0) - (*at > 0);
    *at = when;
}

static void set_paused(struct launch *l, struct rank_state *r, bool paused)
{
    l->paused += paused - r->paused;
    r->paused = paused;
}

/* One rank is to end by itself; should it not, it is killed. */
static void end_alone(struct launch *l, double now, int rank, int code)
{
    struct rank_state *r = &l->ranks[rank];

    r->forgiven = true;
    r->code = code;
    set_time(l, &r->kill_at, now + KILL_STEP);
    l->ops->kill_rank(l->host, rank, SIGTERM);
}

/* The first failure counts, and what only was no success if there is none. */
static void blame(struct launch *l, double now, int rank, bool failed)
{
    if (l->ending || l->culprit_failed || (l->culprit >= 0 && !failed))
        return;
    l->culprit = rank;
    l->culprit_at = now;
    l->culprit_failed = failed;
}

/* --- what happened ----------------------------------------------------- */

void launch_started(struct launch *l, int rank, pid_t pid)
{
    l->ranks[rank].pid = pid;
    l->running++;
}

void launch_never_ran(struct launch *l, int rank)
{
    if (!l->ranks[rank].pid || l->ranks[rank].ended)
        return;
    l->ranks[rank].pid = 0;
    l->running--;
}

void launch_node_lost(struct launch *l, double now, const char *text)
{
    if (l->ending)
        return;
    if (*text)
        tell(l, "%s", text);
    if (!l->keep_going)
        end_job(l, now, EXIT_LAUNCHER, STEP_TERM);
    else if (!l->status)
        l->status = EXIT_LAUNCHER;
}

void launch_lost(struct launch *l, int rank)
{
    struct rank_state *r = &l->ranks[rank];

    if (!r->pid || r->ended)
        return;
    r->ended = r->forgiven = r->lost = true;
    r->code = EXIT_LAUNCHER;
    r->wstatus = SIGKILL;
    l->running--;
    set_paused(l, r, false);
    set_time(l, &r->hung_at, 0);
    set_time(l, &r->kill_at, 0);
}

void launch_failed_to_start(struct launch *l, double now, int rank, const char *step,
                            int errnum)
{
    int status = EXIT_LAUNCHER;

    l->ranks[rank].unstarted = true;
    if (l->ending)
        return;
    if (!strcmp(step, "exec") || !strncmp(step, LAUNCH_AGENT, strlen(LAUNCH_AGENT)))
        status = errnum == ENOENT || errnum == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    blame(l, now, rank, true);
    tell(l, "%s: cannot start rank %d (%s): %s: %s", l->hostname(l->host, rank), rank,
         l->program(l->host, rank), step, strerror(errnum));
    end_job(l, now, status, STEP_TERM);
}

void launch_initialized(struct launch *l, int rank)
{
    l->ranks[rank].pmi = PMI_INSIDE;
}

void launch_finalized(struct launch *l, int rank)
{
    l->ranks[rank].pmi = PMI_DONE;
}

int launch_abort_code(int code)
{
    return code & 255 ? code & 255 : 1;
}

/* The text of an abort may have lines: the first stands behind who and what. */
static void tell_abort(struct launch *l, int rank, const char *what, const char *text)
{
    int n = (int)strcspn(text, "\n");

    tell(l, "%s %s%s%.*s", who(l, rank).text, what, n ? ": " : "", n, text);
    while (text[n]) {
        text += n + 1;
        n = (int)strcspn(text, "\n");
        if (n)
            tell(l, "rank %d: %.*s", rank, n, text);
    }
}

void launch_aborted(struct launch *l, double now, int rank, bool world, int code,
                    const char *text)
{
    char what[64];

    l->ranks[rank].aborted = true;
    if (l->ending)
        return;
    blame(l, now, rank, true);
    snprintf(what, sizeof what, world ? "called abort(%d)" : "aborted itself alone (%d)", code);
    tell_abort(l, rank, what, text);
    if (world) {
        end_job(l, now, launch_abort_code(code), STEP_TERM);
    } else {
        end_alone(l, now, rank, launch_abort_code(code));
    }
}

void launch_protocol(struct launch *l, double now, int rank, const char *why)
{
    if (l->ending)
        return;
    blame(l, now, rank, true);
    tell(l, "%s broke the PMI protocol: %s", who(l, rank).text, why);
    if (l->keep_going)
        end_alone(l, now, rank, 1);
    else
        end_job(l, now, 1, STEP_TERM);
}

void launch_hung_up(struct launch *l, double now, int rank)
{
    struct rank_state *r = &l->ranks[rank];

    if (!l->ending && !r->ended && r->pmi == PMI_INSIDE)
        set_time(l, &r->hung_at, now + STUCK_GRACE);
}

/* What a rank that has ended, or will be taken for it, counts as. */
static int code_of(const struct rank_state *r)
{
    if (r->forgiven)
        return r->code;
    return r->ended ? shell_status(r->wstatus) : 0;
}

void launch_stuck(struct launch *l, double now, int missing, int waiting)
{
    if (l->ending || l->stuck_at > 0 || l->keep_going)
        return;
    l->stuck_rank = missing;
    l->stuck_for = waiting;
    l->stuck_at = now + (code_of(&l->ranks[missing]) ? 0 : STUCK_GRACE);
}

static void end_stuck(struct launch *l, double now)
{
    const struct rank_state *r = &l->ranks[l->stuck_rank];
    const char *when = r->forgiven ? "" : r->pmi == PMI_DONE ? " after finalize" :
                       " before init";
    int code = code_of(r);

    blame(l, now, l->stuck_rank, true);
    tell(l, "%s %s %d%s, and rank %d waits for it in a fence", who(l, l->stuck_rank).text,
         r->forgiven ? "aborted alone with" : "exited with", code, when, l->stuck_for);
    end_job(l, now, code ? code : 1, STEP_TERM);
}

/* An end that is a failure of its own: a signal, or an exit inside PMI. */
static bool failed(const struct launch *l, int rank, int wstatus)
{
    const struct rank_state *r = &l->ranks[rank];

    if (r->forgiven)
        return false;
    return WIFSIGNALED(wstatus) || r->pmi == PMI_INSIDE ||
           (l->end_on_nonzero && WEXITSTATUS(wstatus));
}

void launch_ended(struct launch *l, double now, int rank, int wstatus)
{
    struct rank_state *r = &l->ranks[rank];
    int code = shell_status(wstatus);

    if (r->ended || !r->pid)
        return;
    r->ended = true;
    r->followed = l->ending;
    r->wstatus = wstatus;
    l->running--;
    set_paused(l, r, false);
    set_time(l, &r->hung_at, 0);
    set_time(l, &r->kill_at, 0);
    if (wstatus && !r->forgiven)
        blame(l, now, rank, false);
    if (l->ending || !failed(l, rank, wstatus))
        return;
    blame(l, now, rank, true);
    if (WIFSIGNALED(wstatus))
        tell_signal(l, rank, wstatus);
    else
        tell(l, "%s exited with %d%s", who(l, rank).text, code,
             r->pmi == PMI_INSIDE ? " without finalize" : "");
    if (l->keep_going) {
        if (!l->status)
            l->status = code ? code : 1;
        return;
    }
    end_job(l, now, code ? code : 1, STEP_TERM);
}

static bool lives(const struct rank_state *r)
{
    return r->pid && !r->ended;
}

/* Those that no order keeps stopped. */
static void go_on(struct launch *l)
{
    if (!l->paused) {
        l->ops->kill_all(l->host, SIGCONT);
        return;
    }
    for (int i = 0; i < l->size; i++)
        if (lives(&l->ranks[i]) && !l->ranks[i].paused)
            l->ops->kill_rank(l->host, i, SIGCONT);
}

void launch_signal(struct launch *l, double now, int signo)
{
    int step = signo == SIGTERM ? STEP_TERM : STEP_INT;

    if (signo == SIGCONT) {
        l->held = false;
        go_on(l);
        return;
    }
    if (signo != SIGINT && signo != SIGTERM && signo != SIGHUP) {
        l->ops->kill_all(l->host, signo);
        return;
    }
    if (signo == SIGINT && ++l->interrupts > 1)
        step = STEP_KILL;
    if (l->ending) {
        hurry(l, now, step);
        return;
    }
    l->signal = signo;
    end_job(l, now, 128 + signo, step);
}

void launch_hold(struct launch *l)
{
    l->held = true;
    l->ops->kill_all(l->host, SIGSTOP);
}

/* --- orders ------------------------------------------------------------ */

static void signal_some(struct launch *l, int rank, int signo)
{
    if (rank < 0)
        l->ops->kill_all(l->host, signo);
    else
        l->ops->kill_rank(l->host, rank, signo);
}

static void pause_some(struct launch *l, int rank, bool paused)
{
    for (int i = 0; i < l->size; i++)
        if ((rank < 0 || i == rank) && lives(&l->ranks[i]))
            set_paused(l, &l->ranks[i], paused);
    if (paused)
        signal_some(l, rank, SIGSTOP);
    else if (!l->held)
        signal_some(l, rank, SIGCONT);
}

static void end_rank(struct launch *l, double now, int rank, int signo)
{
    struct rank_state *r = &l->ranks[rank];

    r->commanded = true;
    l->ops->kill_rank(l->host, rank, signo);
    if (signo == SIGKILL)
        return;
    set_time(l, &r->kill_at, now + KILL_STEP);
    if (r->paused)
        pause_some(l, rank, false);
}

static void end_all(struct launch *l, double now, int signo, const char *who)
{
    int step = signo == SIGKILL ? STEP_KILL : STEP_TERM;

    if (l->ending) {
        hurry(l, now, step);
        return;
    }
    tell(l, "ended by order of %s", who);
    end_job(l, now, 128 + signo, step);
}

void launch_order(struct launch *l, double now, int rank, enum order what, int signo,
                  const char *who)
{
    if (what == ORDER_TERMINATE || what == ORDER_KILL) {
        signo = what == ORDER_KILL ? SIGKILL : SIGTERM;
        if (rank < 0)
            end_all(l, now, signo, who);
        else
            end_rank(l, now, rank, signo);
    } else if (what == ORDER_PAUSE || (what == ORDER_SIGNAL && signo == SIGSTOP)) {
        pause_some(l, rank, true);
    } else if (what == ORDER_RESUME || signo == SIGCONT) {
        pause_some(l, rank, false);
    } else {
        signal_some(l, rank, signo);
    }
}

void launch_end(struct launch *l, double now, int status)
{
    end_job(l, now, status, STEP_TERM);
}

void launch_broken(struct launch *l, double now, int status, const char *text)
{
    if (l->ending)
        return;
    tell(l, "%s", text);
    end_job(l, now, status, STEP_TERM);
}

void launch_reader_gone(struct launch *l, double now)
{
    end_job(l, now, 128 + SIGPIPE, STEP_TERM);
}

/* --- time -------------------------------------------------------------- */

double launch_due(const struct launch *l)
{
    double at = earlier(l->kill_at, earlier(l->stuck_at, l->deadline));

    for (int i = 0; l->timed && i < l->size; i++)
        at = earlier(at, earlier(l->ranks[i].kill_at, l->ranks[i].hung_at));
    return at;
}

static bool due(double at, double now)
{
    return at > 0 && at <= now;
}

/* Ranks that were to end alone and did not, or that left PMI and did not end. */
static void tick_ranks(struct launch *l, double now)
{
    for (int i = 0; l->timed && i < l->size; i++) {
        struct rank_state *r = &l->ranks[i];

        if (due(r->kill_at, now)) {
            set_time(l, &r->kill_at, 0);
            l->ops->kill_rank(l->host, i, SIGKILL);
        }
        if (due(r->hung_at, now)) {
            set_time(l, &r->hung_at, 0);
            launch_protocol(l, now, i, "closed its connection without finalize");
        }
    }
}

void launch_tick(struct launch *l, double now)
{
    if (due(l->kill_at, now) && launch_over(l))
        l->kill_at = 0;                  /* there is nobody left; others may live on */
    if (due(l->kill_at, now))
        kill_step(l, now);
    tick_ranks(l, now);
    if (due(l->stuck_at, now))
        end_stuck(l, now);
    if (due(l->deadline, now)) {
        if (l->limit > 0)
            tell(l, "time is up: APPLICATION TIMED OUT, TIMEOUT = %gs", l->limit);
        else
            tell(l, "time is up: APPLICATION TIMED OUT");
        l->timed_out = true;
        end_job(l, now, EXIT_TIMEOUT, STEP_TERM);
    }
}

/* --- the end ----------------------------------------------------------- */

bool launch_over(const struct launch *l)
{
    return l->running == 0;
}

/* The end of the run of ranks that ended as `rank` did. */
static int last_alike(const struct launch *l, int rank)
{
    int last = rank;

    while (last + 1 < l->size && l->ranks[last + 1].ended &&
           l->ranks[last + 1].wstatus == l->ranks[rank].wstatus)
        last++;
    return last;
}

/* The same, on one host. */
static int last_alike_there(const struct launch *l, int rank)
{
    int last = last_alike(l, rank);

    for (int r = rank + 1; r <= last; r++)
        if (strcmp(l->hostname(l->host, r), l->hostname(l->host, rank)))
            return r - 1;
    return last;
}

static void tell_nonzero(struct launch *l)
{
    for (int r = 0; r < l->size; r++) {
        int last;

        if (!l->ranks[r].ended || !l->ranks[r].wstatus || l->ranks[r].forgiven)
            continue;
        last = last_alike_there(l, r);
        if (last > r)
            tell(l, "ranks %d-%d on %s (%s) exited with %d", r, last,
                 l->hostname(l->host, r), l->program(l->host, r),
                 shell_status(l->ranks[r].wstatus));
        else
            tell(l, "%s exited with %d", who(l, r).text, shell_status(l->ranks[r].wstatus));
        r = last;
    }
}

int launch_outcome(const struct launch *l)
{
    int highest = 0;

    if (l->ending || l->status)
        return l->status;
    for (int r = 0; r < l->size; r++)
        if (code_of(&l->ranks[r]) > highest)
            highest = code_of(&l->ranks[r]);
    return highest;
}

int launch_status(struct launch *l)
{
    int status = launch_outcome(l);

    if (status && !l->ending && !l->status)
        tell_nonzero(l);
    return status;
}

void launch_tell_statuses(struct launch *l)
{
    for (int r = 0; r < l->size; r++) {
        int last = last_alike(l, r);
        char text[128], range[32];

        if (!l->ranks[r].ended)
            continue;
        snprintf(range, sizeof range, last > r ? "ranks %d-%d" : "rank %d", r, last);
        snprintf(text, sizeof text, "exit status of %s: %d", range,
                 shell_status(l->ranks[r].wstatus));
        l->ops->tell(l->host, text);
        r = last;
    }
}
