/* node.h - the ranks of one node: started, served, signalled, reaped.
 *
 * The same in the launcher's root and in a proxy on another node; what differs is
 * whom it tells (node_ops): the root decides at once, a proxy tells the one above.
 * Ranks are named by their number in the job. */
#ifndef MPIEXEC_LITE_NODE_H
#define MPIEXEC_LITE_NODE_H

#include "mpiexec_lite/child.h"
#include "mpiexec_lite/conn.h"
#include "mpiexec_lite/feed.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/listen.h"
#include "mpiexec_lite/output.h"
#include "mpiexec_lite/place.h"

#include <sys/queue.h>

enum { NODE_BUFFER = 65536 };

struct node_ops {
    void (*started)(void *host, int rank, pid_t pid);
    /* The step that failed and errno of it. */
    void (*not_started)(void *host, int rank, const char *step, int errnum);
    void (*initialized)(void *host, int rank);
    void (*finalized)(void *host, int rank);
    void (*aborted)(void *host, int rank, bool world, int code, const char *text);
    void (*protocol)(void *host, int rank, const char *why);
    void (*hung_up)(void *host, int rank);
    /* Before the server core hears of it. */
    void (*ended)(void *host, int rank, int wstatus);
    /* At the root: a fence of rank waiting misses rank missing. */
    void (*stuck)(void *host, int missing, int waiting);
    /* The node cannot go on. */
    void (*broken)(void *host, const char *why);
    /* A line for the user; made safe for a terminal by who shows it. */
    void (*tell)(void *host, const char *text);
    /* A line of the wire trace. */
    void (*trace)(void *host, struct buf *line);
};

struct node_args {
    const struct plan      *plan;
    const struct placement *place;
    int               node;          /* index of the plan's hosts; -1: no rank is here */
    char *const      *programs;      /* by block: what to execute; NULL where no rank is */
    const struct strlist *envs;      /* by block: environment of its ranks */
    const char       *jobid;
    const char       *hostname;      /* for messages and PMI_HOSTNAME */
    const struct inherited *user;
    int               input;         /* the stdin that a rank gets itself; -1: forwarded */
    bool              trace;         /* trace the wire */
};

struct rank {
    int             rank;
    pid_t           pid;             /* 0: not running */
    enum pmi_phase  pmi;
    struct pmi_conn conn;            /* fd -1: none */
};

struct port_peer;
TAILQ_HEAD(port_peers, port_peer);

struct node {
    struct node_args args;           /* borrowed, as are the next three */
    const struct node_ops *ops;
    void             *host;
    struct ev_loop   *loop;
    struct server    *server;        /* owned, as is what follows */
    struct job       *job;
    struct output    *output;
    struct feed      *feed;          /* NULL: no stdin is forwarded to ranks here */
    struct listener  *listener;      /* -pmi-port, until all ranks are in */
    struct port_peers peers;
    struct rank      *ranks;         /* in order of rank */
    int               n, running, unbound;   /* ranks here; alive; not bound to a port peer */
    struct pmi_conn_env conn_env;
    int               null;          /* /dev/null, for the stdin of most ranks; -1: none */
    int               warned;        /* warnings of the server so far */
    bool              spoke_pmi, checked_mpi;
    char             *buffer;        /* NODE_BUFFER bytes for all reads */
};

/* 0, or -1 and e; to be cleared either way.  The core is there afterwards, and peers
 * may be added to it. */
int  node_init(struct node *n, struct ev_loop *loop, const struct node_args *args,
               const struct node_ops *ops, void *host, struct err *e);
void node_clear(struct node *n);
/* Make the job, once peers are known.  subtree: ranks here and below.  0, or -1, e. */
int  node_add_job(struct node *n, int subtree, struct err *e);
/* Start every rank, or as many as can be; who fails is told.  -1 and e if not even
 * the preparations worked. */
int  node_start(struct node *n, struct err *e);
/* Whether all ranks of this node can have their descriptors. */
int  node_check_files(struct node *n, struct err *e);

/* A rank here, or NULL. */
struct rank *node_rank(struct node *n, int rank);
/* Signal the process group of a rank, or (-1) of all. */
void node_kill(struct node *n, int rank, int signo);
/* A child of ours has ended; false if it is no rank. */
bool node_reaped(struct node *n, pid_t pid, int wstatus);
/* All that descends from us has been killed. */
void node_swept(struct node *n);
/* The short name of a rank's program. */
const char *node_program(const struct node *n, int rank);
/* Tell each rank's state (SIGQUIT). */
void node_report(struct node *n);

/* Between the node's files: node_pmi.c */
int  node_pmi_init(struct node *n, struct err *e);
void node_pmi_clear(struct node *n);
/* PMI_PORT: serve what this member, or somebody who has not said who it is, has sent. */
void node_drain_peers(struct node *n, const struct member *m);

#endif
