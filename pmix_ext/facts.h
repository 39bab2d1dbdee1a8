/* facts.h - what the host knows of jobs, their ranks and programs, and nodes.
 *
 * Facts are told at once.  What only the server of another node knows (pids, what a process
 * uses) is gathered by a survey, which takes as long as the slowest of them.
 *
 * Nodes are numbered from 0, for all jobs alike; ranks are of one job.  Texts are borrowed
 * until the host is called again after this has returned to it. */
#ifndef PMIX_EXT_FACTS_H
#define PMIX_EXT_FACTS_H

#include "pmix_ext/pmix_ext_common.h"

#include <stdbool.h>
#include <stddef.h>

struct fact_job {
    const void *of;              /* the host's name for it, valid while the job is */
    const char *nspace;
    pid_t       launcher;        /* the process that its user sees, on this server's host */
    const char *parent;          /* who has started it, and its rank there; NULL: nobody */
    int         parent_rank;
    int         number;          /* 0: of the command line */
    unsigned    offset;          /* ranks of all jobs started before it */
    int         size, universe;  /* ranks; slots of all nodes, or as the user has said */
    int         napps;
    size_t      nruns;
    double      began;           /* when its ranks were started, s since 1970; 0: not yet */
    double      ended;           /* and when they had all ended, of a record; 0: they have not */
    int         exit_code;       /* of the job as a whole, then */
    double      remaining;       /* s that it may still run; 0: no limit is set */
    bool        ending;          /* it has failed, or is being ended */
    bool        launched;        /* all its ranks are started */
    bool        held, running;   /* then: all that are to wait for a debugger do; or none is to,
                                    or the first are let go on */
    bool        lost;            /* ranks of it, with their node */
    pmix_status_t status;        /* why, then */
    const char *target;          /* its ranks are tools' daemons, and look after this job ("": of
                                    none); they count nowhere but here.  NULL: they are none */
    bool        stops;           /* ranks are to wait for a debugger at a place of their own: */
    const char *stop_ranks;      /* these (rank_list.h); NULL: all */
};

/* n ranks from first on, on one node. */
struct fact_run { int node, first, n; };

struct fact_app {                /* the programs of a job, in order of their ranks */
    int         first, n;
    const char *path;            /* absolute; NULL: not known (yet) */
    const char *wdir;            /* absolute */
    const char *pset;            /* process set of its ranks; NULL: none */
    const char *const *argv;     /* NULL at the end; as typed */
};

struct fact_rank {
    pid_t       pid;             /* 0: it never ran, or its node has not been asked */
    pmix_proc_state_t state;
    int         exit_code;       /* as a shell has it; 0 until it has ended */
    bool        ended;
    bool        here;            /* on this server's node */
};

struct fact_node {
    const char *name;
    const char *alias;           /* as the user wrote it, if that differs; or NULL */
    int         slots;
    bool        here, lost;
};

/* What a survey finds of a rank. */
struct fact_seen {
    pid_t       pid;             /* 0: it does not run */
    pmix_proc_state_t state;
};

/* What it looks for besides. */
enum {
    FACT_USAGE = 1,              /* what processes use */
    FACT_STACKS = 2,             /* where they are: the first thread of each */
    FACT_THREADS = 4             /* and all others */
};

/* With FACT_USAGE. */
enum { FACT_OP = 24 };
struct fact_usage {
    uint64_t rss, vsize;         /* bytes */
    uint64_t cpu;                /* microseconds, user and system */
    uint32_t threads;
    int32_t  priority;
    uint16_t processor;          /* where it ran last */
    char     state;              /* as ps shows it: R, S, D, T, Z */
    char     op[FACT_OP];        /* PMI command that it waits in; "": none */
    uint32_t op_time;            /* since when, ms */
};

struct fact_ops {
    /* The i-th job that has not ended, oldest first; false: there are no more. */
    bool (*job)(void *host, size_t i, struct fact_job *out);
    /* The i-th of those that have ended and of which there is a record still, oldest first; the
     * other operations take it as they take jobs.  NULL: there are none. */
    bool (*ended)(void *host, size_t i, struct fact_job *out);
    /* By number from 0; false: there are no more. */
    bool (*run)(void *host, const void *job, size_t i, struct fact_run *out);
    bool (*app)(void *host, const void *job, int i, struct fact_app *out);
    bool (*node)(void *host, int i, struct fact_node *out);
    /* rank is one of the job's. */
    void (*rank)(void *host, const void *job, int rank, struct fact_rank *out);
    /* What ranks of a job on a node are bound to, in their order, a colon between two: "0-1:2-3".
     * NULL: to nothing. */
    const char *(*cpusets)(void *host, const void *job, int node);
    /* What set-up providers have said of a job under this key, borrowed; NULL: nothing. */
    const pmix_value_t *(*said)(void *host, const void *job, const char *key);
    /* Ask the servers of the nodes of a job (node -1: all) about its ranks there.  What
     * they say comes by ext_seen and ext_seen_server; of this server's own node before it
     * returns.  How many others are asked: ext_survey_over follows once all of them have
     * answered or are lost, and not before this has returned; with 0 it does not.  what:
     * FACT_..., ORed; stacks take time on every node, this one included. */
    int  (*survey)(void *host, unsigned id, const void *job, int node, unsigned what);
    /* Nobody waits for its end any more. */
    void (*survey_stop)(void *host, unsigned id);
};

#endif
