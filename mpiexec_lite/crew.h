/* crew.h - the ranks of one job on one node: started, served, signalled, reaped.
 *
 * The same in the launcher's root and in a proxy on another node; what differs is
 * whom it tells (node_ops): the root decides at once, a proxy tells the one above.
 * Ranks are named by their number in the job. */
#ifndef MPIEXEC_LITE_CREW_H
#define MPIEXEC_LITE_CREW_H

#include "mpiexec_lite/cleanup.h"
#include "mpiexec_lite/conn.h"
#include "mpiexec_lite/feed.h"
#include "mpiexec_lite/hooks.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/listen.h"
#include "mpiexec_lite/node.h"
#include "mpiexec_lite/output.h"
#include "mpiexec_lite/place.h"
#include "mpiexec_lite/taken.h"

struct crew_args {                   /* all borrowed */
    const struct plan      *plan;
    const struct placement *place;
    char *const      *programs;      /* by block: what to execute; NULL where no rank is */
    const struct strlist *envs;      /* by block: environment of its ranks */
    const char       *jobid;
    const char       *spawner;       /* id of the job that has started this one, or NULL */
    int               number;        /* of the job; 0: of the command line */
    int               input;         /* the stdin that a rank gets itself; -1: forwarded */
    void             *owner;         /* the host's name for this job */
};

/* What providers have to say before ranks may be started (crew_hooks.c). */
enum crew_step {
    CREW_PREPPED,                    /* nothing was asked */
    CREW_SETTING_UP,                 /* setup-local, setup-child: no fork */
    CREW_SET_UP,                     /* or nobody is to be asked */
    CREW_FORKED, CREW_GIVEN_UP       /* given up: no rank will be started */
};

struct rank {
    int             rank;
    pid_t           pid;             /* 0: not running */
    enum pmi_phase  pmi;
    struct pmi_conn conn;            /* fd -1: none */
    bool            held;            /* stopped where its program begins until crew_release */
    bool            adopted;         /* started by itself: it lives while it is connected */
    bool            fenced;          /* it waited in a fence when the job was ended */
};

/* A rank that came to a bad end here before any was killed: what is kept of it for the user. */
struct blame {
    int  rank;
    char memory[200];                /* that it ran out of it (oom.h); "": nothing says so */
};
enum { CREW_BLAMES = 4 };

struct port_peer;
TAILQ_HEAD(port_peers, port_peer);

struct crew {
    TAILQ_ENTRY(crew) in_node;
    struct node      *node;          /* borrowed */
    struct crew_args  args;
    struct job       *job;           /* owned, as is what follows */
    struct output    *output;
    struct feed      *feed;          /* NULL: no stdin is forwarded to ranks here */
    struct listener  *listener;      /* -pmi-port, until all ranks are in */
    struct port_peers peers;
    struct cleanups   cleanups;      /* of its ranks, and at its end */
    struct rank      *ranks;         /* in order of rank */
    struct taken      taken;         /* processors that they are bound to */
    bool              bound;         /* what there is to say of that has been said */
    struct buf        cpusets;       /* of its ranks: "0-1:2-3"; empty: nobody is bound */
    int               ncpusets;      /* of how many of them it has */
    int               n, running, unbound;   /* ranks here; alive; not bound to a port peer */
    int               to_hold, held;         /* ranks here to be held in init; that are */
    bool              spoke_pmi, checked_mpi;
    bool              killing;       /* ranks are sent signals: their ends say nothing */
    struct blame      blames[CREW_BLAMES];
    int               nblames;
    enum crew_step    step;
    struct setup      setup;         /* what providers have said of the job */
    struct hooks     *hooks;         /* NULL: there are none, or no rank is here */
};

/* 0, or -1 and e; to be cleared either way.  output and feed are to be added. */
int  crew_init(struct crew *c, struct node *n, const struct crew_args *args, struct err *e);
void crew_clear(struct crew *c);         /* and the job, if there is one */
/* Make the job, once peers are known.  subtree: ranks here and below.  0, or -1, e. */
int  crew_add_job(struct crew *c, int subtree, struct err *e);
/* Whether all ranks of this crew can have their descriptors, beside those there are. */
int  crew_check_files(struct crew *c, struct err *e);
/* What providers have said of the job: its text, or NULL.  After crew_add_job.  0, or -1
 * and e. */
int  crew_take_setup(struct crew *c, const char *text, struct err *e);
/* Have providers set up this node and its ranks.  0: they may be started at once; 1: op
 * prepared or unprepared follows; -1 and e. */
int  crew_set_up(struct crew *c, struct err *e);
bool crew_is_set_up(const struct crew *c);
/* No rank will be started; op unhooked follows, if there are providers. */
void crew_give_up(struct crew *c);
/* Nothing is left to do for providers. */
bool crew_unhooked(const struct crew *c);

/* Start every rank, or as many as can be; who fails is told.  -1 and e if not even
 * the preparations worked. */
int  crew_start(struct crew *c, struct err *e);

/* Instead: rank 0, the only one, runs already; fd is its connection (taken). */
int  crew_adopt(struct crew *c, int fd, struct err *e);

/* Have that removed when a rank here has ended (which it may have already), or, whole, all of
 * them have.  0, or -1: no memory. */
int  crew_cleanup(struct crew *c, int rank, bool whole, const struct erase *what);
/* All of them have: begin with the rest. */
void crew_cleanup_all(struct crew *c);
/* A rank here, or NULL. */
struct rank *crew_rank(struct crew *c, int rank);
/* Signal the process group of a rank, or (-1) of all. */
void crew_kill(struct crew *c, int rank, int signo);
/* Let go on who is held, that rank or (-1) all, but for those whom somebody traces: they are
 * his. */
void crew_release(struct crew *c, int rank);
/* Whether a rank here waits, at exec or in init, to be let go on. */
bool crew_rank_is_held(const struct crew *c, const struct rank *r);
/* Hold ranks here in init, as the plan says; and one of them has come there: whether all that
 * are here to be held there have. */
void crew_hold_init(struct crew *c);
bool crew_held(struct crew *c);
/* All that descends from us has been killed. */
void crew_swept(struct crew *c);
/* A rank is to blame for what comes now, unless it was made to. */
void crew_blame(struct crew *c, int rank);
/* What is known of a rank that is to blame; NULL: nothing. */
const struct blame *crew_blamed(const struct crew *c, int rank);
/* For output_args.wrote, host being the crew. */
void crew_wrote(void *crew, int rank);
/* Others have died: those ranks that want to know hear it by SIGUSR1. */
void crew_tell_died(struct crew *c);
/* The short name of a rank's program. */
const char *crew_program(const struct crew *c, int rank);
/* Tell each rank's state (SIGQUIT). */
void crew_report(struct crew *c);

/* For node.c: the connection of a rank is gone; true if the rank is with it. */
bool crew_hung_up(struct crew *c, int rank);
/* A child has ended; false if it is no rank of this crew. */
bool crew_reaped(struct crew *c, pid_t pid, int wstatus);
/* It was stopped, and goes on. */
bool crew_continued(struct crew *c, pid_t pid);

/* Between the crew's files: crew_bind.c.  What ranks of a block get; lines for the user are
 * told.  0, or -1 and e; b is to be cleared either way. */
struct binding;
int  crew_bind(struct crew *c, size_t app, struct binding *b, struct err *e);
/* The i-th rank here gets these processors; NULL: it runs where we do. */
struct cpus;
void crew_note_cpus(struct crew *c, int i, const struct cpus *cpus);
/* Between the crew's files: crew_hooks.c */
void crew_hook_started(struct crew *c);                  /* those that could be */
void crew_hook_ended(struct crew *c, int rank, int wstatus);
/* crew_pmi.c */
void crew_initialized(struct crew *c, struct rank *r);   /* a rank has spoken PMI */
int  crew_listen(struct crew *c, struct err *e);         /* -pmi-port */
void crew_peer_closed(struct port_peer *p);
void crew_close_pmi(struct crew *c);
/* PMI_PORT: serve what this member, or somebody who has not said who it is, has sent. */
void crew_drain_peers(struct crew *c, const struct member *m);

#endif
