/* serve.h - what the handlers of extended commands share: the layer's state, what is kept
 * of a connection, and how a reply says a PMIx status.
 *
 * A row's first reply field is always `status`, a PMIx status number: 0 where the command
 * succeeded; where it failed it goes with PMI's own rc and errmsg. */
#ifndef PMIX_EXT_SERVE_H
#define PMIX_EXT_SERVE_H

#include "pmi2/core.h"
#include "pmix_ext/after.h"
#include "pmix_ext/event.h"
#include "pmix_ext/ext.h"
#include "pmix_ext/pmix_ext_common.h"
#include "pmix_ext/parts.h"
#include "pmix_ext/query.h"
#include "pmix_ext/schedule.h"
#include "pmix_ext/spawn_planned.h"
#include "pmix_ext/survey.h"

#include <jansson.h>

/* Field 0 of every row. */
enum { STATUS_OUT };

enum { EXT_GATHERED = 64 };

struct own_name;
struct datum;

struct session {                         /* what the layer knows of a connection */
    TAILQ_ENTRY(session) in_ext;
    struct ext  *ext;                    /* borrowed */
    struct conn *conn;                   /* borrowed */
    struct party who;
    bool         payload;                /* it takes bytes behind a frame */
    struct parts_list parts;             /* owned: replies that are on their way */
    size_t       asked;                  /* bytes of the queries that are not answered yet */
    double       log_at, log_left;       /* pmix-log: when it came last; bytes it may write */
    int          at;                     /* its node, for events, once placed */
    bool         placed;
    TAILQ_ENTRY(session) in_listening;   /* while it has registrations */
    struct registrations registrations;  /* owned */
    size_t       nregistrations, last_registration;  /* how many; the last id */
    TAILQ_HEAD(, monitor) monitors;      /* owned: pmix-monitor */
    size_t       nmonitors;
    unsigned     ncleanups;              /* that it has asked for */
    unsigned long long missed;           /* events that were dropped, and not told yet */
    STAILQ_HEAD(, own_name) own_names;   /* owned: published until the connection ends */
    int          owner;                  /* of a tool that has published: below 0 */
    bool         directs;                /* it has given directives to a launcher that waits */
    struct whole *whole;                 /* owned: the request that comes in parts; or NULL */
};
TAILQ_HEAD(sessions, session);

struct pull;
TAILQ_HEAD(pulls, pull);
struct whole;
TAILQ_HEAD(wholes, whole);
struct push;
TAILQ_HEAD(pushes, push);
struct failure;                          /* event_system.c */
TAILQ_HEAD(failures, failure);
struct data;
struct get_wait;
struct gathering;
struct publishing;
struct lookup;
struct starter;
struct alloc;
TAILQ_HEAD(get_waits, get_wait);
TAILQ_HEAD(gatherings, gathering);
TAILQ_HEAD(publishings, publishing);
TAILQ_HEAD(lookups, lookup);
TAILQ_HEAD(starters, starter);
struct tied;
TAILQ_HEAD(ties, tied);
struct ending;
TAILQ_HEAD(endings, ending);
struct awaited;
TAILQ_HEAD(awaiteds, awaited);
TAILQ_HEAD(allocs, alloc);

struct ext_job {                         /* what the layer knows of a job */
    struct data *data;                   /* owned: what its ranks have put; or NULL */
    const struct session *feeder;        /* borrowed: with whom its stdin ends; or NULL */
};

struct ext {
    struct server  *server;              /* borrowed */
    struct ext_ops  ops;
    void           *host;
    struct sessions sessions;            /* owned */
    struct surveys  surveys;             /* that run; theirs who wait */
    unsigned        survey_id;           /* of the last one */
    struct queries  queries;             /* being answered */
    struct afters   afters;              /* that run; theirs who wait */
    unsigned        tools;               /* numbers given to tools so far */
    uint64_t        gathered[EXT_GATHERED];      /* pmix-log: sums of texts of late */
    size_t          ngathered;
    struct pulls    pulls;               /* owned: of output */
    unsigned        pull_id;             /* of the last one */
    struct pushes   pushes;              /* owned: to stdin, in order */
    struct sessions listening;           /* those that have asked for events */
    struct events   kept;                /* owned: for those who ask later */
    size_t          nkept, kept_bytes;
    struct failures failures;            /* owned: of jobs that have not ended */
    uint64_t        told;                /* events of the launcher so far */
    unsigned        looks;               /* numbers given to looks at files so far */
    size_t          nfiles;              /* that are monitored */
    struct get_waits   gets;             /* owned: pmix-get that wait */
    struct gatherings  gatherings;       /* owned: pmix-fence in progress */
    struct publishings publishings;      /* owned: pmix-publish, pmix-unpublish under way */
    struct lookups     lookups;          /* owned: pmix-lookup that wait */
    struct starters    starters;         /* owned: pmix-spawn under way */
    struct plans       plans;            /* owned: daemons for a job that is to be started */
    struct ties        tied;             /* owned: jobs that end with their tool */
    struct endings     endings;          /* owned: requests that wait for ends */
    struct awaiteds    awaited;          /* borrowed: of those three, what requests wait for */
    struct allocs      allocs;           /* owned: asked for by pmix-alloc */
    size_t             nallocs;
    struct sched_calls sched_calls;      /* under way; theirs who wait */
    unsigned           sched_number;     /* of the last one */
    int             owners;              /* tools that have published, as numbers below 0 */
    struct wholes   wholes;              /* requests that come in parts, in order of beginning */
    size_t          whole_bytes;         /* what they may come to, but for those that wait */
    struct buf      text;                /* a reply's, until it is made */
    struct command *rows;                /* owned: of a resident server; or NULL */
};

static inline struct ext *ext_of(const struct request *rq)
{
    return rq->conn->server->layer;
}

/* The session of a connection, made when it is first asked for; NULL and e: no memory. */
struct session *session_of(struct request *rq, struct err *e);
/* For the host's log: who it is, as the connection says and no message can, and what it
 * does. */
void session_audit(const struct session *s, const char *what);
/* "2026-11-24T18:00:00Z ", as lines begin that say when they were written. */
void ext_add_time(struct buf *out, time_t when);

/* A reply's status.  The second also fills e, and is what the handler returns then. */
void         reply_status(struct request *rq, int status);
enum outcome ext_fail(struct request *rq, struct err *e, int status, const char *fmt, ...)
    PRINTF(4, 5);
/* The same where e is filled already. */
enum outcome ext_refuse(struct request *rq, int status);
/* Set a field to a JSON value's text, which lives until the server's next reply; it takes
 * the reference.  REPLY, or FAILED: no memory. */
enum outcome reply_json(struct request *rq, int field, json_t *value, struct err *e);

/* serve_iof.c, serve_iof_send.c: a connection ends; it can take more. */
void iof_forget(struct session *s);
void iof_drained(struct session *s);
/* serve_part.c: what has come in parts is forgotten. */
void part_forget(struct session *s);
/* serve_long.c: answer pmix-get by a value that is too long for one reply; parked: the request
 * waits already. */
bool         value_is_long(const struct request *rq, const struct datum *d);
enum outcome reply_long(struct request *rq, bool parked, struct job *j, const char *key,
                        const struct datum *d, struct err *e);
/* The same by the text of what is told of a job, which is copied. */
enum outcome reply_long_text(struct request *rq, const struct buf *text, struct err *e);
/* Of a text that goes in pieces: at most so many bytes, whole characters of UTF-8. */
size_t piece_length(const char *text, size_t len, size_t most);
/* serve_push.c */
void push_job_gone(struct ext *x, const struct job *j);
/* Its stdin, if it has one to be pushed, ends with that connection, or (NULL) now. */
void push_feeds(struct ext *x, const struct session *s, struct job *j);
void push_forget(const struct session *s);
void pushes_clear(struct ext *x);
/* Who asks for this gets what all ranks of a job write, as pull number 0. */
void iof_forward(struct request *rq, struct job *j, unsigned channels);
/* The job of that name: "" or NULL the caller's own; else one that is connected to it, for a
 * tool any.  NULL, *status and e. */
struct job *ext_job_for(struct request *rq, const char *nspace, pmix_status_t *status,
                        struct err *e);
/* What is kept of a job, made when it is first asked for; NULL: no memory. */
struct ext_job *ext_job_of(struct job *j);
bool ext_rank_gone(const struct job *j, int rank);

/* Answer whoever waits on that list, if he still does, with what is in e unless the status
 * is a good one; the list is empty then. */
struct request *ext_waiting(struct waiters *w);
void ext_finish(struct waiters *w, pmix_status_t status, const struct err *e);
/* Forget that they wait: what the list lies in is about to go. */
void ext_abandon(struct waiters *w);

/* What requests wait for, and what goes when the connections of all of them have: by `free`, which
 * ends it. */
struct awaited {
    TAILQ_ENTRY(awaited) in_ext;
    struct ext    *ext;                  /* borrowed */
    struct waiters waiters;
    void         (*free)(struct awaited *a);
};
void awaited_begin(struct awaited *a, struct ext *x, void (*free)(struct awaited *a));
void awaited_end(struct awaited *a);     /* who waits does so no more */

/* What happens elsewhere, for each part of the layer. */
void debug_forget(const struct session *s);
void data_rank_ended(struct ext *x, struct job *j, int rank);
void data_job_gone(struct ext *x, struct job *j);
void fences_rank_ended(struct ext *x, struct job *j, int rank);
void fences_job_gone(struct ext *x, struct job *j);
void own_names_clear(struct session *s);
void names_conn_gone(struct ext *x, struct conn *c);
void spawns_conn_gone(struct ext *x);
/* Jobs of daemons: start one that spawn_planned.h has, which ends with its owner if it is to follow;
 * it cannot be started.  Jobs that end with their tool's connection: that is gone; that job is. */
pmix_status_t daemons_start(struct ext *x, const struct session *owner, const char *job,
                            struct spawn_request *want, bool follow, struct err *e);
void daemons_failed(struct ext *x, const char *job, const struct err *why);
void daemons_forget(const struct session *s);
/* The launcher's own job is to be held, as that tool wants it: likewise, while it is. */
void daemons_tie_main(const struct session *owner);
void daemons_job_gone(struct ext *x, const char *job);
/* A tool says that it leaves.  True: that is answered when those of its jobs that end with it
 * have; false: there are none. */
bool daemons_leave(struct request *rq);
void data_clear(struct ext *x);
void fences_clear(struct ext *x);
void names_clear(struct ext *x);
void spawns_clear(struct ext *x);

/* serve_ends.c: that request is answered when these processes, or jobs (PMIX_RANK_WILDCARD), all of
 * which run, have ended; after so many seconds (0: never) by PMIX_ERR_TIMEOUT. */
enum outcome ends_await(struct request *rq, const pmix_proc_t *procs, size_t n, double seconds,
                        struct err *e);
/* A rank, or (-1) a job with all of them, has ended. */
void ends_told(struct ext *x, const char *job, int rank);
void ends_clear(struct ext *x);

/* serve_alloc.c: whether there is a scheduler to ask. */
bool ext_allocates(const struct ext *x);
/* What such a connection has asked for is given back, unless it is to be kept. */
void allocs_forget(const struct session *s);
void allocs_clear(struct ext *x);

/* An argument that names processes, as malloc'ed array, where "local_node" and "local_peers" are
 * the ranks that they mean to who asks; none: 0 of them.  The status, and e; *procs is the
 * caller's either way. */
pmix_status_t ext_take_procs(const struct session *s, const struct value *text, const char *what,
                             pmix_proc_t **procs, size_t *n, struct err *e);
/* The node that the caller is on; -1: none that has ranks. */
int session_node(const struct session *s);

/* serve_resident.c: the rows of a resident server, malloc'ed; NULL: no memory. */
struct command *ext_resident_rows(void);
/* Whether this server serves a command; a resident one does not serve all. */
bool ext_serves(const struct ext *x, const struct command *row);

command_fn ext_tool_connect, ext_capabilities, ext_query, ext_resolve_peers,
           ext_resolve_nodes, ext_log, ext_iof_pull, ext_iof_deregister, ext_iof_push;
command_fn ext_event_register, ext_event_deregister, ext_notify, ext_job_control, ext_monitor,
           ext_heartbeat, ext_part;
command_fn ext_put, ext_commit, ext_get, ext_fence, ext_publish, ext_lookup, ext_unpublish,
           ext_spawn, ext_launch_directives, ext_connect, ext_disconnect, ext_servers, ext_alloc;

#endif
