/* ext.h - the layer of extended commands ("pmix-...") of one launcher, as its host sees it.
 *
 * It lives at the root only: commands of ranks on other nodes, and of tools, come to it
 * over connections of the core like those of the root's own ranks (pmi2/relay.c).  Like the
 * core it never touches a descriptor, a clock or the event loop; what it needs to know or
 * to have done it asks of the host by the operations below, each of which returns at once
 * and never calls back before that.
 *
 * The commands: pmix_ext/PROTOCOL.md.  Not thread-safe; one for each server. */
#ifndef PMIX_EXT_EXT_H
#define PMIX_EXT_EXT_H

#include "pmi2/server.h"
#include "pmix_ext/facts.h"
#include "pmix_ext/rendezvous.h"
#include "pmix_ext/schedule.h"

#include <time.h>

struct ext;

enum ext_log { EXT_LOG_STDOUT, EXT_LOG_STDERR, EXT_LOG_SYSLOG, EXT_LOG_RECORD, EXT_LOG_STORE };

enum ext_order_kind { EXT_SIGNAL, EXT_PAUSE, EXT_RESUME, EXT_TERMINATE, EXT_KILL,
                      EXT_RELEASE,       /* of those that are held for a debugger: go on */
                      EXT_LEAVE };       /* of daemons: nobody needs them any more */

struct ext_order {                       /* pmix-job-control */
    enum ext_order_kind kind;
    int         signo;                   /* EXT_SIGNAL */
    const char *who;                     /* has given it, for people */
};

/* What a rank wants removed on its node when it ends (PMIX_REGISTER_CLEANUP, ...): absolute
 * paths, and names in folders that stay, each list with commas, borrowed; NULL: none. */
struct ext_cleanup {
    const char *files, *folders, *ignore;
    bool        recursive, empty, leave_top;
    bool        whole_job;               /* when all ranks of its job there have ended */
};

struct ext_file {
    bool            there;
    long long       size;
    struct timespec accessed, modified;
};

struct ext_ops {
    /* This host's name. */
    const char *(*hostname)(void *host);
    /* Wall clock, seconds since 1970. */
    double (*now)(void *host);
    /* Show (ext_output) what this rank of a job, or with -1 all of its ranks, write from now
     * on; or not any more.  The job may have ended. */
    void (*watch)(void *host, const char *nspace, int rank, bool on);
    /* Write to the stdin of those ranks of a job that a tool feeds, if there are any; data
     * NULL: its end.  ext_pushed is to say when they have taken it.  False: there are none. */
    bool (*push)(void *host, const char *nspace, const char *data, size_t len);
    /* What ranks that are watched write can be taken again (ext_output_full). */
    void (*output_room)(void *host);
    const struct fact_ops *facts;        /* borrowed */
    /* Have that done to a rank of a job, or (-1) to all of it.  False: there is no such, or it
     * has ended. */
    bool (*order)(void *host, const char *job, int rank, const struct ext_order *order);
    /* What that rank of a job wants removed; NULL: never.  False: it has ended, or there is no
     * memory. */
    bool (*cleanup)(void *host, const char *job, int rank, const struct ext_cleanup *what);
    /* Look at a file of a node (-1: of the launcher's host, which has no ranks), and say by
     * ext_looked what there was.  NULL: never. */
    void (*look)(void *host, int node, unsigned number, const char *path);
    /* Whether this host has commands of a scheduler that makes allocations.  NULL: it has not. */
    bool (*allocates)(void *host);
    /* Ask the scheduler of this host, and say by ext_scheduled what came of it.  PMIX_SUCCESS;
     * or why it will not be answered, and e: PMIX_ERR_NOT_SUPPORTED where there is none.  NULL:
     * never. */
    pmix_status_t (*schedule)(void *host, unsigned number, const struct sched_ask *ask,
                              struct err *e);
    /* Nobody waits for that any more; an allocation that it would have made is given back. */
    void (*unschedule)(void *host, unsigned number);
    /* A rank says that it waits for a debugger at a place of its own.  False: it is not to; as
     * where this is NULL. */
    bool (*waits)(void *host, const char *job, int rank);
    /* A tool has directives, as a spawn has them, for a launcher that waits for one before it
     * starts anything; or lets it go on, with more of them.  1: done; 0: it does not wait; -1 and
     * e: they are wrong.  NULL: none waits. */
    int  (*direct)(void *host, const struct spawn_command *directives, struct err *e);
    int  (*go)(void *host, const struct spawn_command *directives, struct err *e);
    /* A tool that has given such directives has gone. */
    void (*left)(void *host);
    /* Something that belongs to the job cannot be done: all of it is to end. */
    void (*broken)(void *host, const char *why);
    /* A line for a log, without its end, safe to show; job: of the rank that says it, NULL: a
     * tool does.  0, or an errno; ENOTSUP: there is no such log. */
    int (*log)(void *host, enum ext_log to, int priority, const char *job, const char *line,
               size_t len);
    /* The servers of this host that a process of this user may know, malloc'ed; their
     * number, or -1: no memory.  What is not known of one is zero or "". */
    int (*servers)(void *host, uid_t uid, struct rendezvous **list);
    /* NULL but for a resident server (pmi2_server), which runs no job: it serves what can be
     * said about servers and jobs alone, and all else answers NOT_SUPPORTED.  Appends the ids
     * of the jobs that a process of this user may know, with commas. */
    void (*known_jobs)(void *host, uid_t uid, struct buf *list);
};

/* Adds its commands to the server, which it is then a part of.  NULL and e. */
struct ext *ext_new(struct server *s, const struct ext_ops *ops, void *host, struct err *e);
/* Of a survey that the host was asked for (facts.h): a rank, usage NULL if that was not
 * wanted; its stack, or why there is none; the memory of the server itself, bytes; its end. */
void        ext_seen(struct ext *x, unsigned id, int rank, const struct fact_seen *seen,
                     const struct fact_usage *usage);
void        ext_seen_stack(struct ext *x, unsigned id, int rank, bool there, const char *text,
                           size_t len);
void        ext_seen_server(struct ext *x, unsigned id, int node, uint64_t rss);
void        ext_survey_over(struct ext *x, unsigned id);
/* Before the server is freed, its connections are gone or go without it. */
void        ext_free(struct ext *x);

/* A rank that is watched has written bytes; len 0: it writes no more. */
void        ext_output(struct ext *x, const char *nspace, int rank, bool errors,
                       const char *data, size_t len);
/* What ops.push was given last for that job is written, or nobody reads it any more. */
void        ext_pushed(struct ext *x, const char *nspace);
/* Ranks that are watched are to wait, until ops.output_room. */
bool        ext_output_full(const struct ext *x);
/* Bytes that are put aside for connections that do not take them. */
size_t      ext_held(const struct ext *x);
/* What the scheduler has answered; to one that nobody waits for it does no harm. */
void ext_scheduled(struct ext *x, unsigned number, const struct sched_answer *a);
/* All is about to end: allocations that are not to be kept are given back. */
void ext_give_back(struct ext *x);
/* Whether a tool that is connected has started this job as its daemons; `who`, if there is room: that
 * tool, for people. */
bool ext_daemons_tool(const struct ext *x, const char *job, char *who, size_t size);
/* What a look at a file has found; one that is over does no harm. */
void ext_looked(struct ext *x, unsigned number, const struct ext_file *file);

/* --- what happens, told to those who have asked for such events (PROTOCOL.md, "Events of
 * the launcher") --- */

struct ext_rank {
    const char *job;
    int         rank, node;              /* node: as facts.h numbers them */
};
struct ext_end {                         /* of a process */
    int         wstatus;                 /* as wait4 gave it */
    bool        inside;                  /* between PMI's init and finalize */
    bool        aborted;                 /* it had called abort */
    bool        commanded;               /* its end was ordered */
};
/* The state it has from then on. */
pmix_proc_state_t ext_end_state(const struct ext_end *how);
/* The launcher is up, and waits for a tool (ops.go). */
void ext_launcher_ready(struct ext *x);
/* A job has its name and can be asked for, and none of its ranks exists. */
void ext_job_created(struct ext *x, const char *job);
/* The first ranks of a job are started; then all of them are. */
void ext_job_started(struct ext *x, const char *job);
void ext_job_launched(struct ext *x, const char *job);
/* All its ranks that are to wait for a debugger do, at that place (PMIX_BREAKPOINT). */
void ext_job_ready(struct ext *x, const char *job, const char *where);
/* The first of those that waited are let go on. */
void ext_job_released(struct ext *x, const char *job);
void ext_rank_not_started(struct ext *x, const struct ext_rank *r, const char *why);
/* It has called abort. */
void ext_rank_aborts(struct ext *x, const struct ext_rank *r, int code, const char *text);
void ext_rank_ended(struct ext *x, const struct ext_rank *r, const struct ext_end *how);
/* It has gone with its node, which is told before. */
void ext_rank_lost(struct ext *x, const struct ext_rank *r);
void ext_node_lost(struct ext *x, const char *node);
/* Nothing is known of it any more, not even a record (facts.h). */
void ext_job_forgotten(struct ext *x, const char *job);
/* All its ranks have ended, with this exit status as a whole. */
void ext_job_ended(struct ext *x, const char *job, int status);

#endif
