/* node.h - a host's part in the run: the PMI server, and the crews, one a job, whose
 * ranks are here. */
#ifndef MPIEXEC_LITE_NODE_H
#define MPIEXEC_LITE_NODE_H

#include "mpiexec_lite/child.h"
#include "mpiexec_lite/cleanup.h"
#include "mpiexec_lite/conn.h"
#include "mpiexec_lite/hooks.h"
#include "mpiexec_lite/moments.h"
#include "mpiexec_lite/oom.h"
#include "mpiexec_lite/plan.h"
#include "mpiexec_lite/topo_fetch.h"
#include "mpiexec_lite/topology.h"
#include "wire/buf.h"

#include <sys/queue.h>
#include <sys/types.h>

enum { NODE_BUFFER = 65536 };

struct crew;
TAILQ_HEAD(crews, crew);

struct node_ops {
    void (*started)(void *host, struct crew *c, int rank, pid_t pid);
    /* The step that failed and errno of it. */
    void (*not_started)(void *host, struct crew *c, int rank, const char *step, int errnum);
    void (*initialized)(void *host, struct crew *c, int rank);
    void (*finalized)(void *host, struct crew *c, int rank);
    /* All ranks here that are to be held in init are. */
    void (*held)(void *host, struct crew *c);
    /* One that was held at exec goes on, and it is not us who let it. */
    void (*went_on)(void *host, struct crew *c, int rank);
    void (*aborted)(void *host, struct crew *c, int rank, bool world, int code,
                    const char *text);
    void (*protocol)(void *host, struct crew *c, int rank, const char *why);
    void (*hung_up)(void *host, struct crew *c, int rank);
    /* Set-up providers: ranks may be started; they are not to be, and why (errnum: EPERM,
     * or ECANCELED as the job is ending); after their end all is done.  From the loop. */
    void (*prepared)(void *host, struct crew *c);
    void (*unprepared)(void *host, struct crew *c, const char *why, int errnum);
    void (*unhooked)(void *host, struct crew *c);
    /* Before the server core hears of it. */
    void (*ended)(void *host, struct crew *c, int rank, int wstatus);
    /* At the root: a fence of rank waiting misses rank missing. */
    void (*stuck)(void *host, struct crew *c, int missing, int waiting);
    /* The node cannot go on. */
    void (*broken)(void *host, const char *why);
    /* A line for the user; made safe for a terminal by who shows it. */
    void (*tell)(void *host, const char *text);
    /* A line of the wire trace. */
    void (*trace)(void *host, struct buf *line);
    /* At the root: a rank starts a further job; see server.h. */
    void (*spawn)(void *host, struct spawn *s);
    /* Likewise. */
    bool (*name)(void *host, struct name_ask *a);
    void (*timer)(void *host, unsigned id, double seconds);
    bool (*introduce)(void *host, struct far_ask *a);
    /* In a proxy: server.h's op answer. */
    bool (*answer)(void *host, struct member *m, const struct frame *f, struct buf *reply);
};

struct node_args {
    const struct plan *plan;         /* of the command line: what holds for all jobs */
    int               index;         /* of the plan's hosts; -1: no rank is here */
    const char       *hostname;      /* for messages and PMI_HOSTNAME */
    const struct inherited *user;
    bool              trace;         /* trace the wire */
    bool              timeline;      /* keep moments */
};

struct node {
    struct all_hooks  hooks;         /* theirs who have made them */
    struct node_args args;           /* borrowed, as are the next three */
    const struct node_ops *ops;
    void             *host;
    struct ev_loop   *loop;
    struct server    *server;        /* owned, as is what follows */
    struct crews      crews;         /* theirs who have made them */
    struct batches    cleanups;      /* that have begun */
    struct pmi_conn_env conn_env;
    struct topology   topology;      /* hwloc's XML */
    struct topo_here  here;          /* what processes are bound to, once it was needed */
    int               null;          /* /dev/null, for the stdin of most ranks; -1: none */
    int               warned;        /* warnings of the server so far */
    struct oom        oom;           /* since ranks were started here */
    struct moments    moments;       /* of ranks here, where args.timeline is set */
    char             *buffer;        /* NODE_BUFFER bytes for all reads */
};

/* 0, or -1 and e; to be cleared either way, after its crews.  The core is there
 * afterwards, and peers may be added to it. */
int  node_init(struct node *n, struct ev_loop *loop, const struct node_args *args,
               const struct node_ops *ops, void *host, struct err *e);
void node_clear(struct node *n);
/* A warning for the user, unless there were many. */
void node_warn(struct node *n, const char *text);
/* A child of ours has ended; false if it is no rank. */
bool node_reaped(struct node *n, pid_t pid, int wstatus);
/* A child of ours was stopped, and goes on. */
void node_continued(struct node *n, pid_t pid);
/* Nothing of any crew runs here any more: remove what is to be removed, and wait for that
 * (cleanup.h). */
void node_cleanup(struct node *n);
/* Keep this moment of a rank, if moments are kept. */
void node_note(struct node *n, const struct crew *c, int rank, enum moment_kind kind, int value);
void node_report(struct node *n);         /* crew_report for all crews */

#endif
