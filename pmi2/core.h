/* core.h - the insides of the server core, for pmi2/ and the handlers of
 * pmix_ext/ only.  Hosts and tests of the outside use server.h. */
#ifndef PMI2_CORE_H
#define PMI2_CORE_H

#include "pmi2/commands.h"
#include "pmi2/kvs.h"
#include "wire/limits.h"

#include <sys/queue.h>

struct value {               /* an argument or a reply field */
    const char *s;           /* NULL: absent, or a number.  Borrowed, terminated */
    size_t      len;
    long long   n;           /* ARG_INT, ARG_BOOL, number */
    bool        number;      /* a reply field that is n */
};

/* One command of one connection until it is answered.  It lives on the stack
 * while its handler runs; request_park makes it last. */
struct request {
    struct conn          *conn;
    const struct command *cmd;
    struct value          arg[ARGS_MAX];     /* by position in cmd->args; only while
                                                the handler runs */
    struct value          field[FIELDS_MAX]; /* by position in cmd->fields; what they
                                                point to lives until the reply is made */
    char                  thrid[LIMIT_THRID + 1];    /* "" if none */
    const char           *reply_name;        /* instead of the row's; only at once */
    bool                  tagged;            /* its answer may overtake others */
    /* Only once parked: */
    TAILQ_ENTRY(request)  in_conn;           /* order of arrival */
    TAILQ_ENTRY(request)  in_wait;           /* what it waits for */
    struct waiters       *waits;             /* the list of in_wait, or NULL */
    bool                  answered;          /* reply is made, waits for its turn */
    struct buf            reply;             /* owned */
    unsigned              epoch;             /* of a fence */
    char                 *text[2];           /* owned copies that the handler keeps */
};
TAILQ_HEAD(requests, request);
struct waiters { struct requests list; };

struct member {
    struct job  *job;
    int          rank, appnum;
    struct conn *conn;       /* borrowed; NULL while it has none */
    bool         initialized, finalized, gone, warned_rank;
};

struct conn {
    struct server      *server;
    struct job         *job;
    struct member      *member;      /* NULL until a PMI_PORT peer has said who it is */
    void               *link;        /* the host's */
    struct framer       framer;
    enum wire           next_wire;   /* in force after the request being served */
    enum conn_state     state;
    int                 subversion;  /* PMI-1: 1, or 2: barrier_out carries a tag */
    bool                wide;        /* can take values over LIMIT_VALUE_OLD */
    bool                draining;    /* its process has ended: serve on, send nothing */
    bool                reading;     /* replies are gathered in server->batch */
    unsigned            parked;      /* requests in the list */
    size_t              queued;      /* reply bytes that the host has not sent yet */
    struct buf          later;       /* owned: input to be served when it may go on */
    struct requests     order;       /* parked, by arrival */
};

struct fence;
TAILQ_HEAD(fences, fence);

struct job {
    struct server *server;
    TAILQ_ENTRY(job) in_server;
    char           id[LIMIT_JOBID];
    int            number;           /* 0, 1, ... in order of creation */
    int            size, universe;
    struct member *members;          /* owned, by rank */
    struct kvs    *kvs, *node;       /* owned: the space, the node's attributes */
    struct waiters attr_waiters;     /* info-getnodeattr;wait=TRUE */
    struct fences  fences;           /* in progress */
    char          *mapping;          /* owned: PMI_process_mapping */
    int            gone;             /* members whose process has ended */
};
TAILQ_HEAD(jobs, job);

struct server {
    struct host_ops       ops;
    void                 *host;
    struct server_options options;
    uint64_t              seed;
    struct jobs           jobs;
    int                   job_count;
    struct kvs           *names;     /* service -> port; src: the owner job's number */
    const struct command **rows;     /* owned array of borrowed rows */
    size_t                nrows;
    const struct command **by_name[WIRES];   /* owned, sorted by that wire's name */
    size_t                nby_name[WIRES];
    struct msg            in, out;   /* scratch of the message being served / built */
    struct buf            batch;     /* replies to the connection being read */
    struct buf            attr;      /* an attribute's text until its reply is made */
    struct buf            scratch;   /* one reply to another connection */
};

/* The row of a name on a wire, or NULL. */
const struct command *server_find(const struct server *s, enum wire w, const char *name);
void server_log(struct server *s, enum log_level level, struct member *m,
                const char *fmt, ...) PRINTF(4, 5);

/* --- requests (request.c) --- */

/* A copy that lasts, in conn order; waits is the list it joins, or NULL.  NULL
 * and e when too many are parked or there is no memory. */
struct request *request_park(struct request *rq, struct waiters *w, struct err *e);
/* Answer a request that was not parked (o is REPLY, NOT_FOUND or FAILED); the
 * answer may have to wait for its turn. */
void request_answer(struct request *rq, enum outcome o, const struct err *e);
/* Answer a parked request and free it, once its turn has come. */
void request_finish(struct request *rq, enum outcome o, const struct err *e);
/* Forget a parked request without an answer. */
void request_free(struct request *rq);
void waiters_init(struct waiters *w);

void reply_text(struct request *rq, int field, const char *s, size_t len);
void reply_int(struct request *rq, int field, long long n);
static inline struct job *request_job(struct request *rq) { return rq->conn->job; }

/* --- connections (serve.c) --- */

/* Send bytes of a reply. */
void conn_send(struct conn *c, const char *data, size_t len);
/* Bind a PMI_PORT connection to a rank: 0, or -1 and e. */
int  conn_claim(struct conn *c, long long rank, struct err *e);
/* The connection cannot go on. */
void conn_fail(struct conn *c, const char *why);

/* --- fences (fence.c) --- */

enum fence_kind { FENCE_GROUP, FENCE_NODE, FENCE_RING };

/* Whom a fence is for, and under which tag: fences of the same set, tag and kind
 * are the same one.  ranks NULL: all of the job. */
struct fence_id { enum fence_kind kind; long long tag; const int *ranks; size_t n; };

/* rq enters; it is parked, and perhaps answered at once.  PARKED or FAILED. */
enum outcome fence_enter(struct request *rq, const struct fence_id *id, struct err *e);
/* A member has ended: tell the host, or the waiting ranks, who misses. */
void fences_member_ended(struct member *m);
void fences_free(struct job *j);

/* --- attributes (cmd_info.c) --- */

/* A member has ended: nobody may be left to put what another waits for. */
void attr_member_ended(struct member *m);

/* A job attribute of member m: 1 with text in out, 0 if there is none. */
int job_attribute(struct member *m, const char *key, struct buf *out);

command_fn cmd_init, cmd_initack, cmd_fullinit, cmd_maxes, cmd_appnum, cmd_universe,
           cmd_jobid, cmd_finalize, cmd_abort,
           cmd_put, cmd_get, cmd_getbyidx, cmd_create_kvs,
           cmd_fence, cmd_ring,
           cmd_put_node_attr, cmd_get_node_attr, cmd_get_job_attr,
           cmd_publish, cmd_unpublish, cmd_lookup,
           cmd_spawn_unsupported, cmd_job_unsupported;

#endif
