/* launch.h - what becomes of a run: the launcher's decisions, without I/O.
 *
 * Told what happened (a process started, ended, spoke PMI, aborted; a signal, a
 * time-out), it decides what to kill and when, what to tell the user, and the
 * exit status.  Every input carries the time, in seconds of a clock that only
 * goes forward.  The rules are those of mpiexec_lite(1), EXIT STATUS and
 * SIGNALS:
 *
 * - The first failure in time ends the job and gives the exit status; what dies
 *   after it is a consequence and is not reported.
 * - If every rank ran to its own end, the highest exit status counts.
 * - TERM, and 2 s later KILL; by our own SIGINT or SIGHUP: that, TERM 2 s later, KILL
 *   2 s after that; a second SIGINT: KILL at once.
 *
 * Not thread-safe; any number of jobs may exist. */
#ifndef MPIEXEC_LITE_LAUNCH_H
#define MPIEXEC_LITE_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What a step begins with that was to execute a job's agent (plan.h). */
#define LAUNCH_AGENT "fork agent"

enum {
    EXIT_USAGE = 2, EXIT_TIMEOUT = 124, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127,
    EXIT_LAUNCHER = 255
};

struct launch_ops {
    /* Signal the process group of every rank that lives, or of one rank. */
    void (*kill_all)(void *host, int signo);
    void (*kill_rank)(void *host, int rank, int signo);
    /* One line for the user, without prefix and newline; the host escapes it. */
    void (*tell)(void *host, const char *text);
    /* KILL was sent and ranks are still there: end all that descends from us, and
     * call launch_ended for every rank. */
    void (*sweep)(void *host);
};

enum pmi_phase { PMI_NONE, PMI_INSIDE, PMI_DONE };       /* before init .. after finalize */

struct rank_state {
    pid_t          pid;          /* 0: never started; -1: started elsewhere */
    bool           ended;
    enum pmi_phase pmi;
    bool           unstarted;    /* its program could not be started */
    bool           lost;         /* its node is */
    bool           fenced;       /* it waited in a fence when the job was ended */
    bool           followed;     /* it ended when the job was being ended */
    bool           aborted;      /* has called abort */
    bool           commanded;    /* was told to end, alone (launch_order) */
    bool           paused;       /* is stopped by such an order */
    bool           waits;        /* has told that it waits for a debugger, at a place of its own */
    bool           forgiven;     /* ended on its own wish (Abort(FALSE)): no failure */
    int            code;         /* which then counts as its exit status */
    double         kill_at;      /* when it is killed if it has not ended by then */
    double         hung_at;      /* it closed its PMI connection inside PMI: when that
                                    counts as a failure, if it has not ended by then */
    int            wstatus;      /* as wait4 gave it; once ended */
};

struct launch {                  /* the run being decided */
    const struct launch_ops *ops;
    void        *host;
    int          number;         /* of the job, for messages; 0: the only one there was */
    const char *(*hostname)(void *host, int rank);   /* for messages: where it runs */
    const char *(*program)(void *host, int rank);    /* and its short name */
    bool         end_on_nonzero, keep_going;
    int          size, running;
    struct rank_state *ranks;    /* owned */
    bool         ending;         /* a cause was found: the rest is consequence */
    int          status;         /* exit status, once ending */
    int          culprit;        /* who has failed first, or whose end was the first that was
                                    no success if none has; -1: nobody */
    double       culprit_at;     /* when */
    bool         culprit_failed; /* it was a failure, which ended the job or would have */
    int          signal;         /* our own signal that ended the job, or 0 */
    int          interrupts;     /* SIGINTs received */
    bool         held;           /* all are stopped, with the launcher (Ctrl-Z) */
    int          paused;         /* ranks that are by an order */
    int          timed;          /* kill_at and hung_at that are set, of all ranks */
    int          stuck_rank;     /* whom a fence misses, -1: none */
    int          stuck_for;      /* who waits there */
    double       stuck_at;       /* when that ends the job; 0: never */
    int          next_kill;      /* index into the escalation; see launch.c */
    double       kill_at;        /* when the next step is due; 0: none */
    double       deadline;       /* -timeout; 0: none */
    double       limit;          /* how long that was, for the message; 0: not said */
    bool         timed_out;      /* it has come */
    int          told;           /* lines told so far */
};

/* 0, or -1: no memory. */
int  launch_init(struct launch *l, const struct launch_ops *ops, void *host, int size);
void launch_clear(struct launch *l);

void launch_started(struct launch *l, int rank, pid_t pid);
/* A rank that was taken for started never ran, as the job ended first. */
void launch_never_ran(struct launch *l, int rank);
/* A node is lost, as text says: its ranks end with it (launch_lost, after this). */
void launch_node_lost(struct launch *l, double now, const char *text);
void launch_lost(struct launch *l, int rank);
/* The program of a rank could not be started; errnum is of the failing step. */
void launch_failed_to_start(struct launch *l, double now, int rank, const char *step,
                            int errnum);
void launch_initialized(struct launch *l, int rank);
void launch_finalized(struct launch *l, int rank);
void launch_aborted(struct launch *l, double now, int rank, bool world, int code,
                    const char *text);
/* The rank broke the PMI protocol. */
void launch_protocol(struct launch *l, double now, int rank, const char *why);
/* The rank has closed its PMI connection; it may be about to end, or not. */
void launch_hung_up(struct launch *l, double now, int rank);
/* A fence of `waiting` misses `missing`, which has ended. */
void launch_stuck(struct launch *l, double now, int missing, int waiting);
void launch_ended(struct launch *l, double now, int rank, int wstatus);
/* A signal to the launcher: INT, TERM, HUP end the job; others are forwarded. */
void launch_signal(struct launch *l, double now, int signo);
/* The launcher is being stopped, and the ranks with it; SIGCONT lets them go on, but for
 * those that are paused. */
void launch_hold(struct launch *l);
/* What a tool or a rank, which who names, has ordered for a rank, or (-1) for the job.  The
 * end of a rank that was ordered is like any other. */
enum order { ORDER_SIGNAL, ORDER_PAUSE, ORDER_RESUME, ORDER_TERMINATE, ORDER_KILL };
void launch_order(struct launch *l, double now, int rank, enum order what, int signo,
                  const char *who);
/* It ends for a reason that has been told. */
void launch_end(struct launch *l, double now, int status);
/* The launcher itself cannot go on; text says why. */
void launch_broken(struct launch *l, double now, int status, const char *text);
/* The reader of our output is gone: end quietly with 141. */
void launch_reader_gone(struct launch *l, double now);

/* When launch_tick is due next (0: never), and what is due then. */
double launch_due(const struct launch *l);
void   launch_tick(struct launch *l, double now);

bool launch_over(const struct launch *l);        /* every rank that started has ended */
/* What abort(code) counts as: 1..255, a status that a shell can see and that is no success. */
int  launch_abort_code(int code);
/* The exit status once it is over; the second reports ranks that ended non-zero. */
int  launch_outcome(const struct launch *l);
int  launch_status(struct launch *l);
/* Raw statuses of all ranks, one line (-print-all-exitcodes). */
void launch_tell_statuses(struct launch *l);

/* The status a shell would show for a wait status: 128 + signal, or the code. */
int  shell_status(int wstatus);

#endif
