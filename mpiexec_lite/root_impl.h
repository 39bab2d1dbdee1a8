/* root_impl.h - what the root's source files share: root.c (set-up and end, words for the
 * user), root_loop.c (the loop, signals, the end of the run), root_job.c (a job from its
 * start to its end), root_new.c (jobs that ranks start), root_setup.c (set-up providers),
 * root_single.c (a program that runs already), root_hosts.c (hosts that come later),
 * root_names.c (names beyond this launcher), root_foreign.c (jobs of other launchers),
 * root_facts.c and root_survey.c (what extended commands ask about jobs and their processes),
 * root_node.c (ranks of this host and all output), root_spread.c (bringing up the servers of
 * other nodes), root_tree.c (these servers), root_told.c (what they tell), root_card.c (the last
 * words of a run that has failed), root_timeline.c (what was when), root_input.c (stdin),
 * root_ext.c (extended commands, tools), root_meet.c and root_pause.c (the tool that has started
 * us, and waiting for it), root_daemons.c (daemons of tools), root_iof.c and root_push.c (tools
 * that read along what ranks write, and feed them), root_events.c (who is told what becomes of
 * jobs), root_control.c (orders of tools), root_look.c (looks at files), root_stacks.c (where
 * ranks are, for the user) and root_debug.c (what a debugger of the launcher sees). */
#ifndef MPIEXEC_LITE_ROOT_IMPL_H
#define MPIEXEC_LITE_ROOT_IMPL_H

#include "mpiexec_lite/bundle.h"
#include "mpiexec_lite/callback.h"
#include "mpiexec_lite/control.h"
#include "mpiexec_lite/crew.h"
#include "mpiexec_lite/glance.h"
#include "mpiexec_lite/scheduler.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/remote.h"
#include "mpiexec_lite/root.h"
#include "mpiexec_lite/stacker.h"
#include "mpiexec_lite/starting.h"
#include "mpiexec_lite/tool_stream.h"
#include "pmix_ext/ext.h"

#include <limits.h>

enum position_state { AT_AWAY, AT_CONNECTED, AT_READY };

struct position {                /* a server of the tree */
    enum position_state state;
    bool     lost;
    bool     counted;            /* it has said how many processes are left there */
    bool     reads;              /* ranks there read stdin */
    int      machine;            /* what kind it is: of root.machines */
    size_t   taken;              /* bytes of stdin that they have taken */
    char    *why;                /* owned; lost before it was up: why, or NULL */
};

struct job_at {                  /* a job's part at a position */
    bool     loud;               /* more output of its ranks may come */
    bool     starts;             /* it has not said yet that it has started its ranks */
    bool     hooked;             /* providers there have not ended their work */
    bool     reads;              /* ranks there read what is pushed */
    size_t   owed;               /* bytes of that on their way */
    char    *cpusets;            /* owned: what its ranks there are bound to; NULL: nothing */
};

struct root_job {
    TAILQ_ENTRY(root_job) in_root;
    struct root      *root;      /* borrowed */
    int               number;    /* 0: of the command line */
    void            (*set_up)(struct root_job *j, const char *why);      /* who asked for it */
    struct bundle     bundle;    /* the job; owned, but for what number 0 has lent */
    char            **programs;  /* owned; by block, NULL where no rank is here */
    struct crew       crew;      /* the ranks of this host */
    struct launch     launch;
    struct job_at    *at;        /* owned; by position */
    int               loud, starts, hooked;      /* how many positions are */
    struct hooks     *application;       /* owned: setup-application; NULL: none */
    struct strlist    takers;    /* owned: providers that take part on nodes */
    struct spawn     *spawn;     /* who waits to hear that it runs; NULL: nobody */
    struct starting   starting;  /* what is to be heard */
    struct err        missing;   /* why the first of them does not run */
    bool              started, refused;  /* refused: its start failed */
    bool              created, launched; /* told: that it is there, and all of it was started */
    int               to_hold, held;     /* ranks that are to wait for a debugger; that do */
    bool              ready, released;   /* it was told that all of them do; that some go on */
    bool              ranks_lost;        /* some, with their node */
    double            leave_at;          /* tools' daemons: when they are to end; 0: not known */
    bool              pushing;   /* stdin that was pushed is on its way */
    bool              watched;   /* its output is from the start; before it was sent */
    bool              sent;      /* other servers know of it */
    bool              alone;     /* a tool has started it: its status is not the launcher's */
    bool              closing_streams, followed, done;
    bool              reported;  /* its ranks' states, as its time is up */
    struct survey    *stacks;    /* owned; that are to be shown, or NULL */
    bool              recorded;  /* it is in root's records */
    double            ended_at;  /* then: when, s since 1970 */
    int               exit_code; /* and its status as a whole */
    struct known {
        char *path, *wdir;       /* owned; of a block: its program, absolute; NULL: not yet */
    }                *known;     /* owned; by block */
    int               parent_rank;       /* who has started it */
    unsigned          offset;    /* ranks of all jobs before */
    double            since;     /* when it was started, s since 1970; 0: not yet */
    double            began;     /* when it was started, by root_now */
    struct far_blame *blames;    /* owned: root_card.c */
    int               nblames;
    double            give_up;   /* when hosts whose ranks live are given up; 0: not set */
    double            over, ended;       /* when the last rank ended, and when that, or a
                                            cause after it, was a failure; 0: not yet */
};
TAILQ_HEAD(root_jobs, root_job);

struct asked {                   /* a job that is to be started */
    struct spawn *spawn;
    struct root_job *job;        /* owned: the same, once providers are asked; else NULL */
    bool          waits;         /* for hosts, or providers */
};

struct root_timer;
TAILQ_HEAD(root_timers, root_timer);
struct far_blame;
struct root_timeline;
struct root_survey;
TAILQ_HEAD(root_surveys, root_survey);

struct root {
    const struct root_args *args;
    struct plan      *plan;      /* borrowed; hosts that come later are added to it */
    struct ev_loop   *loop;      /* owned, as is what follows */
    struct node       node;      /* this host's part */
    struct places     places;
    struct root_jobs  jobs;
    struct root_jobs  records;   /* of jobs that have ended; the latest last */
    size_t            nrecords, record_ranks;
    struct root_job  *main;      /* of the command line; one of them */
    int               numbers;   /* the last number of a job */
    unsigned          offset;    /* ranks of all jobs so far */
    struct asked     *asked;
    size_t            nasked, asked_cap;
    struct buf        bundle;    /* the main job, for the servers of other nodes */
    struct tree       tree;
    size_t            listed;    /* hosts of the command line */
    int               servers;   /* positions: the tree's, and those that came later */
    struct remotes    below;
    struct callback  *callback;  /* -launcher tcp and manual; else NULL */
    struct naming    *naming;    /* the resident server for names; NULL: none */
    struct foreign   *foreign;   /* links to other launchers; NULL: there can be none */
    struct ext       *ext;       /* the extended commands */
    struct root_surveys surveys;         /* that other servers have not answered yet */
    struct glances    glances;   /* of this host, for monitors */
    struct stacker    stacker;   /* of this host, for surveys */
    struct scheduler  scheduler;
    struct tools     *tools;     /* whose socket is open; NULL: it is not */
    ev_timer          open_tools;        /* it is to be */
    struct meeting {             /* with the tool that has started us (root_meet.c) */
        bool  pause;             /* PMIX_LAUNCHER_PAUSE_FOR_TOOL */
        char *uri, *file;        /* owned: PMIX_LAUNCHER_RNDZ_URI, _FILE; NULL: not said */
        bool  left;              /* our entry is in that file */
        pid_t starter;           /* of -tool, or 0 */
    }                 meeting;
    struct strlist   *plain_envs;        /* owned: of the main job, before a tool's directives, for
                                            what tools start; NULL: there were none */
    bool              paused;            /* nothing is started before a tool says so, */
    ev_timer          patience;          /* which it has so long for */
    ev_io             on_starter;        /* and no longer than the starter lives: its pidfd, or -1 */
    struct survey    *processes;         /* owned: of the main job, for debuggers; or NULL */
    ev_timer          list_processes;    /* it is to be made */
    struct spawn     *daemons_asked;     /* programs of a debugger, one a host; NULL: none */
    struct tool_streams streams; /* tools of other nodes */
    struct last_wait {           /* for tools, at the end: when it began, 0: not yet; when */
        double began, moved;     /* they took something last, and the bytes left since */
        size_t left;
    }                 last_wait;
    struct root_timers timers;   /* of the core */
    struct position  *at;        /* by position */
    int              *positions; /* by node */
    struct strlist    machines;  /* kinds of them, as machine.h writes them; 0: this one */
    int               connected, ready;  /* positions, the root's own left out */
    int               spared;    /* those that failed, and that the job can start without */
    bool              decided;   /* tree or flat */
    int               tried;     /* position that a server could not reach in a trial; 0: none */
    struct control    control;
    struct inherited  user;
    char              hostname[HOST_NAME_MAX + 1];
    char             *cwd;       /* owned */
    char              jobid[48];
    size_t            input_given;       /* bytes of stdin that were granted again */
    int               signals;   /* signalfd */
    ev_io             on_signals, on_control;
    ev_io             on_program;        /* a pidfd of the program that runs already */
    ev_timer          tick, progress, trial;
    ev_prepare        prepare;
    double            due;       /* what tick is set for; 0: not set */
    double            began, first_up;   /* when; the first other server was there */
    double            finish_by; /* when the other servers have had time enough to end */
    double            daemons_since;     /* nothing is left but tools' daemons; 0: more is */
    struct root_timeline *timeline;      /* NULL: there is to be none */
    struct buf        card;      /* owned: of the first job that has failed */
    struct buf        banner;    /* owned: the same in Hydra's words, if wanted */
    bool              receipt;   /* what is left is to be told */
    int               left;      /* processes that they could not kill */
    int               status;    /* exit status, once concluded; before: of a job that a rank
                                    has started */
    bool              front_gone, concluded, finishing, trace_ended;
    bool              line_shown;        /* of progress */
    bool              told_left;         /* who has not ended in time */
    bool              told_daemons;      /* whose daemons are waited for */
};

/* A warning or message for the user; made safe for a terminal. */
void root_tell(struct root *r, const char *fmt, ...) PRINTF(2, 3);
/* The same, for -v given at least `level` times. */
void root_say(struct root *r, int level, const char *fmt, ...) PRINTF(3, 4);
/* The main job, on the hosts of that plan, as the servers of other nodes get it: 0, or -1
 * and e, and it stays as it was. */
int root_write_bundle(struct root *r, const struct plan *hosts, struct err *e);
double root_now(struct root *r);         /* seconds; only goes forward */
/* The run cannot go on: all jobs end. */
void root_broken(struct root *r, int status, const char *text);

/* root_loop.c */
extern const struct control_ops root_control_ops;
int  root_open_signals(struct root *r);          /* 0, or -1 and errno */
void root_watch(struct root *r);                 /* all that the loop waits for here */

/* root_job.c */
/* A job of this number, with what is known of it; bundle and programs are to be there
 * when it is made.  NULL and e. */
struct root_job *root_job_new(struct root *r, int number, struct err *e);
/* Its launch, crew and output, from its bundle.  0, or -1 and e. */
int  root_job_init(struct root_job *j, struct err *e);
void root_job_close(struct root_job *j);          /* what only one that runs needs */
void root_job_free(struct root_job *j);
struct root_job *root_job_find(struct root *r, int number);      /* or NULL */
struct root_job *root_job_of(const struct crew *c);
/* The job that a message of another server is about; NULL: it is over, or (e) makes no
 * sense. */
struct root_job *root_job_named(struct root *r, const struct msg *m, struct err *e);
/* "job 3: ", and "" for the one of the command line. */
struct job_name { char text[24]; };
struct job_name root_job_name(const struct root_job *j);
/* What is to be said of it has been, and its exit status is the launcher's, whatever happens to
 * tools' daemons afterwards. */
bool root_job_settled(const struct root_job *j);
/* Every server is ready: start the ranks. */
void root_job_start(struct root_job *j);
/* Hosts that have ranks of it are of different kinds. */
bool root_job_mixed(const struct root_job *j);
/* Go on with its end; when to look again, 0: no need.  j->done: nothing is left of it. */
double root_job_step(struct root_job *j, double now);
void root_job_not_started(struct root_job *j, int rank, const char *step, int errnum);
/* All output of a position has come. */
void root_job_quiet(struct root_job *j, int position);
/* A position is lost, with all below it, as why says ("": it is told); true: it concerns this
 * job.  And then for each of these: its ranks. */
bool root_job_node_lost(struct root_job *j, int position, const char *why);
void root_job_lose(struct root_job *j, int position);
/* Jobs that are connected to one that has failed end with it. */
void root_jobs_follow(struct root *r);

/* root_events.c: what the launch is told of a rank, and so are those who want such events */
void root_rank_ended(struct root_job *j, int rank, int wstatus);
void root_rank_aborted(struct root_job *j, int rank, bool world, int code, const char *text);
void root_rank_not_started(struct root_job *j, int rank, const char *step, int errnum);
void root_rank_lost(struct root_job *j, int rank);
/* A position has tried to start its ranks, or is lost. */
void root_job_tried(struct root_job *j, int position);
void root_events_started(struct root_job *j);
void root_events_look(struct root_job *j);       /* all of it may have been started */
void root_events_ended(struct root_job *j);      /* nothing is left of it */

/* root_timeline.c: -timeline; without it none of these does anything */
int  root_timeline_init(struct root *r, struct err *e);          /* before the bundle */
void root_timeline_clear(struct root *r);
/* The server of a host has come, or can start ranks. */
void root_timeline_host(struct root *r, int position, bool ready);
void root_timeline_job(struct root_job *j);      /* it starts */
void root_timeline_finish(struct root *r);       /* before the others are told to */
/* Messages of a server below. */
int  root_timeline_clock(struct root *r, int position, const struct msg *m, struct err *e);
int  root_timeline_moments(struct root *r, int position, const struct msg *m,
                           const char *payload, size_t len, struct err *e);
void root_timeline_write(struct root *r);        /* all is over */

/* root_card.c */
/* What another host knows of a rank that came to a bad end.  0, or -1 and e. */
int  root_card_blamed(struct root_job *j, int rank, const char *memory, const char *words,
                      size_t len, struct err *e);
void root_card_clear(struct root_job *j);
void root_card_job(struct root_job *j);          /* all of it has ended */
/* A server has counted what is left there and below. */
void root_card_counted(struct root *r, int position);
/* The last words: all is over, and so many processes are left here. */
void root_card_show(struct root *r, int left);

/* root_control.c */
struct ext_order;
struct root_job *root_job_by_id(struct root *r, const char *id);       /* or NULL */
bool root_cleanup(void *host, const char *job, int rank, const struct ext_cleanup *x);
bool root_order(void *host, const char *job, int rank, const struct ext_order *order);

/* root_meet.c */
int  root_meet_init(struct root *r, struct err *e);      /* what the environment says */
int  root_meet(struct root *r, struct err *e);           /* do it; -1: the launcher is to end */
bool root_meet_waits(const struct root *r);              /* it is not to start anything */
void root_meet_clear(struct root *r);

/* root_pause.c */
bool root_pause_begin(struct root *r);           /* false: nothing is to be waited for */
void root_pause_end(struct root *r);
void root_pause_clear(struct root *r);
void root_pause_failed(struct root *r, const char *why); /* nothing is started, all ends */
/* For ext_ops: a tool has directives for a launcher that waits, or lets it go on; the tool that
 * it waits for has gone. */
int  root_pause_direct(void *host, const struct spawn_command *directives, struct err *e);
int  root_pause_go(void *host, const struct spawn_command *directives, struct err *e);
void root_pause_lost(void *host);

/* root_hold.c */
void root_hold_launched(struct root_job *j);     /* all of it has been started */
void root_hold_add(struct root_job *j, int ranks);       /* so many more wait in init */
/* For ext_ops: a rank says that it waits at a place of its own. */
bool root_hold_waits(void *host, const char *job, int rank);
void root_hold_release(struct root_job *j, int rank);    /* -1: all */
void root_hold_went_on(struct root_job *j, int rank);    /* somebody else has let it */

/* root_daemons.c */
/* When there is to be looked again; 0: no need. */
double root_daemons_step(struct root_job *d, double now);
/* Nothing else is left beside the main job. */
bool   root_daemons_alone(const struct root *r);
/* They are waited for, when all else has ended: the user is told.  As root_daemons_step. */
double root_daemons_wait(struct root *r, double now);

/* root_debug.c */
void root_debug_launched(struct root_job *j);    /* all of it has been started */
void root_debug_rows(void *host, int from);      /* for control_ops */
void root_debug_release(void *host, int rank);
void root_debug_ending(struct root_job *j);
void root_debug_spawn(void *host, struct spawn_request *want);
void root_debug_aborted(struct root_job *j, const char *text);
void root_debug_clear(struct root *r);           /* before the extended commands */

/* root_stacks.c */
void root_report(struct root *r);                /* states and stacks of all ranks (SIGQUIT) */
/* The same of a job whose time (-timeout) is up: it ends when that is shown. */
void root_stacks_before_end(struct root_job *j, double now);
void root_stacks_drop(struct root_job *j);       /* it is not to be shown any more */

/* root_look.c */
void root_look_init(struct root *r);
void root_look(void *host, int node, unsigned number, const char *path);
int  root_looked(struct root *r, const struct msg *m, struct err *e);    /* a message */

/* root_hosts.c */
/* Start servers on those hosts of the plan that ours does not know, which are its last.
 * 0, or -1 and e. */
int  root_hosts_add(struct root *r, const struct plan *wanted, struct err *e);
bool root_host_awaited(const struct root *r, int position);      /* it may come up yet */
void root_host_ready(struct root *r, int position);
/* False: it is none of these. */
bool root_host_failed(struct root *r, int position, const char *why);
bool root_hosts_awaited(const struct root *r);   /* any of them */
/* None of those that are awaited will come. */
void root_hosts_refuse(struct root *r, const char *why);

/* root_setup.c */
/* Have providers asked about a job whose ranks are placed.  0: there are none; 1: `done` is
 * called, with why if that was in vain; -1 and e. */
int  root_setup_begin(struct root_job *j, void (*done)(struct root_job *j, const char *why),
                      struct err *e);
/* For the job of the command line, which is started afterwards. */
void root_setup_main(struct root *r);
/* How a crew of this host fares (node_ops). */
void root_prepared(void *host, struct crew *c);
void root_unprepared(void *host, struct crew *c, const char *why, int errnum);
void root_unhooked(void *host, struct crew *c);
/* Start the ranks of this host, if providers are through. */
void root_setup_start(struct root_job *j);
/* A position has nothing left to do for providers, or is lost. */
void root_job_unhooked(struct root_job *j, int position);

/* root_new.c */
void root_ask_again(struct root *r);             /* for those that wait for hosts */
void root_ask(struct root *r, struct spawn *s);          /* it will be started soon */
void root_start_asked(struct root *r);
/* A position has started its ranks. */
void root_new_started(struct root_job *j, int position);
/* A rank of a job whose asker waits could not be started: it is told, not the user. */
void root_new_failed(struct root_job *j, double now, int rank, const char *step, int errnum);
void root_new_lost(struct root_job *j, int rank);
void root_new_look(struct root_job *j);          /* ranks of it have ended */
/* Nothing more can be started: whoever waits is told. */
void root_refuse_asked(struct root *r, const char *why);

/* root_single.c */
/* Take a program that runs already as the only rank of the main job.  0, or -1 and e. */
int  root_single_start(struct root_job *j, struct err *e);
/* A rank that was not ours has gone without a farewell: what it started ends. */
void root_single_gone(struct root_job *j, int rank);
void root_single_clear(struct root *r);

/* root_names.c */
int  root_names_init(struct root *r, struct err *e);
void root_names_add(struct root_job *j);         /* it runs */
void root_names_end(struct root_job *j);
bool root_names_ask(void *host, struct name_ask *a);
void root_timer(void *host, unsigned id, double seconds);
void root_names_clear(struct root *r);           /* after the core */

/* root_foreign.c */
void root_foreign_init(struct root *r);          /* after the names */
void root_foreign_clear(struct root *r);         /* after the jobs, before the core */
bool root_introduce(void *host, struct far_ask *a);
/* Jobs that are connected to one of another launcher that has failed end with it. */
void root_foreign_follow(struct root *r);

/* root_tools.c */
void root_tools_init(struct root *r);
void root_tools_open(struct root *r);            /* tools may connect, soon */
int  root_tools_open_now(struct root *r, struct err *e);
void root_tools_ready(struct root *r);           /* a server of another node is there */
void root_tools_lost(struct root *r, int position);      /* one, and its streams */
/* A message about streams, of the server of this position. */
int  root_tools_told(struct root *r, struct remote *from, int position, const struct msg *m,
                     const char *payload, size_t len, struct err *e);
void root_tools_clear(struct root *r);

/* root_ext.c */
int  root_ext_init(struct root *r, struct err *e);
/* At the end, while the servers below are there: tools take what is left.  0: they have, or
 * have had time enough; else when to look again. */
double root_ext_linger(struct root *r, double now);
void root_ext_clear(struct root *r);             /* before the core */

/* root_iof.c */
void root_iof_init(struct root_job *j);          /* once it has its output */
void root_output_room(void *host);
void root_watch_output(void *host, const char *nspace, int rank, bool on);
/* A message of a server below with what a watched rank has written. */
int  root_take_watched(struct root *r, struct remote *from, const struct msg *m,
                       const char *payload, size_t len, struct err *e);
/* root_facts.c */
extern const struct fact_ops root_facts;
void root_facts_clear(struct root_job *j);
/* Find out what only a job that is there can tell: it is about to become a record. */
void root_facts_settle(struct root_job *j);
/* root_records.c: a job has ended, and j with it; for a while it can be asked how that was. */
void root_record(struct root_job *j, int status);
void root_records_clear(struct root *r);
/* What a block executes on another host: told once. */
void root_facts_program(struct root_job *j, size_t app, const char *path, size_t len);

/* root_survey.c */
int  root_survey(void *host, unsigned id, const void *job, int node, unsigned what);
/* Those of this host are there (stacker.h). */
void root_survey_stacks(void *host, const struct stack_ask *ask, const char *data, size_t len);
void root_survey_stop(void *host, unsigned id);
/* A server has answered: 0, or -1 and e.  It is lost. */
int  root_survey_take(struct root *r, unsigned id, int position, const char *payload,
                      size_t len, struct err *e);
void root_survey_lost(struct root *r, int position);
void root_surveys_clear(struct root *r);

/* root_push.c */
int  root_push_init(struct root_job *j, struct err *e);
bool root_push(void *host, const char *nspace, const char *data, size_t len);
int  root_push_taken(struct root_job *j, int position, size_t bytes, struct err *e);
void root_push_closed(struct root_job *j, int position);
void root_pushes_step(struct root *r);           /* once a loop turn */

/* root_node.c */
extern const struct node_ops root_node_ops;
int  root_places_init(struct root *r, struct err *e);
void root_output_failed(void *host, const char *what, int errnum);
/* Open the output files of all ranks of other nodes. */
int  root_open_files(struct root_job *j, struct err *e);
/* A message of a server below with output. */
int  root_take_output(struct root *r, struct remote *from, const struct msg *m,
                      const char *payload, size_t len, struct err *e);
void root_write_trace(struct root *r, struct buf *line);

/* root_spread.c */
int  root_spread_init(struct root *r, struct err *e);
void root_check_ready(struct root *r);
/* tcp, manual: servers of so many positions may call. */
int  root_await_calls(struct root *r, int positions, struct err *e);
/* Somebody has come, or will not: is anybody else expected? */
void root_check_calls(struct root *r);
void root_progress_end(struct root *r);
/* A server of ours is up: who is below it, once that is known. */
void root_grow(struct root *r, struct remote *x);
/* The first server below a server has come up, or has not. */
void root_trial_over(struct root *r, bool ok, const char *why);

/* root_tree.c */
extern const struct remote_ops root_remote_ops;
bool root_is_alone(const struct root *r);        /* no other server takes part */
/* Send a command about a job to all servers below; key NULL: none. */
void root_send(struct root_job *j, const char *cmd, const char *key, int n,
               const char *key2, int n2);
/* The same for the whole run. */
void root_send_all(struct root *r, const char *cmd);
/* Give up the hosts where ranks of jobs that have to end (give_up) live, as they do not answer. */
void root_drop_silent(struct root *r);
/* Name the hosts that have not ended in time. */
void root_tell_unfinished(struct root *r);
/* A server of another node is there; could not be started; is gone, and all below it: told
 * once, whatever number of jobs is there. */
void root_server_connected(struct root *r, int position);
void root_server_failed(struct root *r, int position, const char *why);
void root_server_lost(struct root *r, int position, const char *why);

/* root_told.c: a message of a server below (remote_ops). */
int  root_told(void *host, struct remote *from, const struct msg *m, const char *payload,
               size_t len, struct err *e);

/* root_input.c */
int  root_input_init(struct root *r, struct err *e);
void root_input_start(struct root *r);           /* who reads it has been started */
void root_input(struct root *r, const char *data, size_t len);   /* len 0: its end */
void root_input_taken(struct root *r, int position, size_t bytes);
void root_input_closed(struct root *r, int position);

#endif
