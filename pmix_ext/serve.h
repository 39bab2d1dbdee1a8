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
#include "pmix_ext/parts.h"
#include "pmix_ext/query.h"
#include "pmix_ext/survey.h"

#include <jansson.h>

/* Field 0 of every row. */
enum { STATUS_OUT };

enum { EXT_GATHERED = 64 };

struct session {                         /* what the layer knows of a connection */
    TAILQ_ENTRY(session) in_ext;
    struct ext  *ext;                    /* borrowed */
    struct conn *conn;                   /* borrowed */
    struct party who;
    bool         payload;                /* it takes bytes behind a frame */
    struct parts_list parts;             /* owned: replies that are on their way */
    double       log_at, log_left;       /* pmix-log: when it came last; bytes it may write */
    int          at;                     /* where it is: the same number, the same node */
    TAILQ_ENTRY(session) in_listening;   /* while it has registrations */
    struct registrations registrations;  /* owned */
    size_t       nregistrations, last_registration;  /* how many; the last id */
    TAILQ_HEAD(, monitor) monitors;      /* owned: pmix-monitor */
    size_t       nmonitors;
    unsigned long long missed;           /* events that were dropped, and not told yet */
};
TAILQ_HEAD(sessions, session);

struct pull;
TAILQ_HEAD(pulls, pull);
struct failure;                          /* event_system.c */
TAILQ_HEAD(failures, failure);

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
    struct sessions listening;           /* those that have asked for events */
    struct events   kept;                /* owned: for those who ask later */
    size_t          nkept, kept_bytes;
    struct failures failures;            /* owned: of jobs that have not ended */
    unsigned        looks;               /* numbers given to looks at files so far */
    size_t          nfiles;              /* that are monitored */
    struct buf      text;                /* a reply's, until it is made */
};

static inline struct ext *ext_of(const struct request *rq)
{
    return rq->conn->server->layer;
}

/* The session of a connection, made when it is first asked for; NULL and e: no memory. */
struct session *session_of(struct request *rq, struct err *e);

/* A reply's status.  The second also fills e, and is what the handler returns then. */
void         reply_status(struct request *rq, int status);
enum outcome ext_fail(struct request *rq, struct err *e, int status, const char *fmt, ...)
    PRINTF(4, 5);
/* The same where e is filled already. */
enum outcome ext_refuse(struct request *rq, int status);
/* Set a field to a JSON value's text, which lives until the server's next reply; it takes
 * the reference.  REPLY, or FAILED: no memory. */
enum outcome reply_json(struct request *rq, int field, json_t *value, struct err *e);

/* serve_iof.c: a connection ends; it can take more. */
void iof_forget(struct session *s);
void iof_drained(struct session *s);

/* The node that the caller is on; -1: none that has ranks. */
int session_node(const struct session *s);

command_fn ext_tool_connect, ext_capabilities, ext_query, ext_resolve_peers,
           ext_resolve_nodes, ext_log, ext_iof_pull, ext_iof_deregister;
command_fn ext_event_register, ext_event_deregister, ext_notify, ext_job_control, ext_monitor,
           ext_heartbeat;

#endif
