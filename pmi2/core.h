/* core.h - the insides of the server core, for pmi2/ and the handlers of
 * pmix_ext/ only.  Hosts and tests of the outside use server.h. */
#ifndef PMI2_CORE_H
#define PMI2_CORE_H

#include "pmi2/commands.h"
#include "pmi2/kvs.h"
#include "pmi2/names.h"
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
    bool         held;       /* its init gets no answer yet */
    char        *refused;    /* owned: a key that the root did not take of it, which its
                                next fence says; or NULL */
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
    bool                ours;        /* it knows our extensions: it can copy another job's keys */
    bool                draining;    /* its process has ended: serve on, send nothing */
    bool                reading;     /* replies are gathered in server->batch */
    unsigned            parked;      /* requests in the list */
    size_t              queued;      /* reply bytes that the host has not sent yet */
    struct buf          later;       /* owned: input to be served when it may go on */
    struct requests     order;       /* parked, by arrival */
    struct blocks      *blocks;      /* owned: PMI-1: of a spawn that is not complete; or NULL */
    bool                relayed;     /* has sent commands that went up (relay.c) */
    size_t              owed;        /* bytes written for the root that it has not heard of */
    struct peer        *via;         /* root: it stands for rank via_rank, of another node */
    int                 via_rank;
    struct party       *tool;        /* owned: whose it is; NULL: no tool's */
    void               *layer;       /* the layer's, about this connection; or NULL */
};

/* A rank of another node that has sent extended commands. */
struct relay {
    struct peer *via;                /* NULL: none */
    struct conn *conn;               /* owned; root */
};

struct fence;
TAILQ_HEAD(fences, fence);

struct peer {                        /* the link to another server */
    struct server *server;
    void          *link;             /* the host's */
    bool           up;               /* it is the one above */
    TAILQ_ENTRY(peer) in_server;     /* of those below */
};
TAILQ_HEAD(peers, peer);

struct ask;
TAILQ_HEAD(asks, ask);
TAILQ_HEAD(spawns, spawn);
TAILQ_HEAD(name_asks, name_ask);
TAILQ_HEAD(fars, far);
TAILQ_HEAD(far_asks, far_ask);
struct blocks;
struct copy_part;

/* Has ended; inside PMI; the node of it is lost; fences of the whole job, of this node,
 * do without it from now on; it was here or below. */
enum { RANK_GONE = 1, RANK_DEAD = 2, RANK_LOST = 4, RANK_OUT = 8, RANK_OUT_NODE = 16,
       RANK_MINE = 32 };

struct job {
    struct server *server;
    TAILQ_ENTRY(job) in_server;
    char           id[LIMIT_JOBID];
    int            number;           /* 0, 1, ... in order of creation */
    int            size, universe;
    int           *local;            /* owned: the ranks that are here; NULL: all are */
    int            nlocal, subtree;  /* here; here and below */
    struct member *members;          /* owned, nlocal of them, in order of rank */
    struct kvs    *kvs, *node;       /* owned: the space, the node's attributes */
    struct buf     late;             /* data that has come down and is not in kvs yet */
    int            searched;         /* times since then that it was looked through */
    struct kvs    *missing;          /* owned: keys that the root does not have; or NULL */
    struct buf     news;             /* records (share_record.c) that go up with the next fence;
                                        at the root: down with the next release */
    struct buf     again;            /* root: keys of news that were put before */
    bool           news_big;         /* root: news was too much to keep */
    bool           fixes;            /* a key was put read-only, as far as is known here */
    bool           used;             /* data of other nodes was looked at since the last
                                        release */
    unsigned       used_below;       /* servers below where it was */
    bool           pushed;           /* root: the last data went with its release */
    struct buf     held;             /* data of release held_seq; empty: it is not here */
    unsigned long long held_seq;     /* the release whose data is held; 0: none is */
    bool           held_due;         /* it is to be asked for, above */
    unsigned       asked;            /* root: questions about keys since then */
    uint32_t       open;             /* block of kvs for the puts of this node that have not
                                        gone up yet; 0: none */
    uint32_t       guard;            /* puts of this node in blocks from this one on are not
                                        known to have been released */
    unsigned long long seq;          /* releases and failures of fences so far */
    unsigned long long shrunk;       /* seq when ranks went out the last time */
    struct buf     failed;           /* fences that failed, and the seq of that: see
                                        fence_missing.c */
    unsigned char *ranks;            /* owned, by rank: RANK_ bits; NULL: none is set */
    struct buf     gone_news, dead_news; /* lists of ranks that have ended, to be told */
    int            out, out_mine, out_node;  /* ranks with RANK_OUT; with RANK_MINE as well;
                                                with RANK_OUT_NODE */
    bool           report;           /* somebody has ended somewhere: the root wants to
                                        know who waits */
    struct waiters attr_waiters;     /* info-getnodeattr;wait=TRUE */
    struct waiters init_waiters;     /* who is held in init */
    struct waiters find_waiters;     /* who waits for what the host is to find out */
    bool           asked_host, told; /* it has been asked; it has said */
    char          *xml;              /* owned: PMI_hwloc_xmlfile; NULL: none */
    struct kvs    *given;            /* owned: attributes that the host has added; NULL: none */
    char          *dims, *coords;    /* owned: cartDims, cartCoords; NULL: not known */
    char          *alloc_kinds;      /* owned: PMI_mpi_memory_alloc_kinds, or NULL */
    bool           in_env;           /* ranks have its constants in their environment */
    bool           mixed;            /* its nodes are of different kinds */
    struct fences  fences;           /* in progress */
    struct mapping_block *map;       /* owned */
    size_t         nmap;
    char          *mapping;          /* owned: PMI_process_mapping */
    int            gone;             /* members whose process has ended */
    int            gone_all;         /* root: ranks of the job that have */
    bool           lost;             /* root: some of them with their node */
    bool           look_later;       /* at the end of the turn: at what fences miss them */
    void          *link;             /* the host's */
    void          *layer;            /* the layer's, about this job; or NULL */
    char          *spawner;          /* owned: id of the job that has started this one; NULL */
    char          *target;           /* owned: id of the job that its ranks look after, as tools'
                                        daemons (of none: ""); NULL: they are none */
    struct relay  *relays;           /* owned: by rank; NULL: there are none */
    struct job   **linked;           /* owned; root: jobs that it is connected to */
    size_t         nlinked;
    unsigned       seen;             /* the last walk over connected jobs that came by */
    /* Of a job of another launcher (foreign.c), which has id, server, kvs, and what it is
     * connected to, of the above: */
    bool           foreign;
    struct far    *far;              /* the link to its launcher; NULL: kvs is a copy */
    struct kvs    *coming;           /* owned: a copy that is not complete; NULL: none */
    size_t         came;             /* entries of it so far */
    struct job    *copier;           /* whose ranks hand it over; NULL: none */
    int            failed_with;      /* exit status of its failure; 0: it has not failed */
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
    struct name_asks      names_asked;   /* root: name commands that wait */
    unsigned              timer_id;  /* of the last timer */
    struct peer          *up;        /* owned; NULL: this is the root */
    struct peers          down;      /* owned */
    struct asks           asks;      /* what was asked of the server above */
    unsigned              ask_id;    /* of the last one */
    struct spawns         spawns;    /* root: that the host is at work on */
    unsigned              walk;      /* over connected jobs, the last one */
    struct jobs           foreign;   /* root: jobs of other launchers, in order of number */
    int                   nforeign, foreign_count;   /* how many; numbers given so far */
    struct fars           fars;      /* owned: root: links to other launchers */
    struct far_asks       far_asks;  /* root: what was asked of them */
    unsigned              far_id;    /* of the last question */
    const struct layer_ops *layer_ops;   /* of the extended commands; NULL: there are none */
    void                 *layer;     /* theirs */
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
struct job *job_named(struct server *s, const char *id);         /* or NULL */
/* A number for a timer, never 0. */
static inline unsigned server_timer_id(struct server *s)
{
    return ++s->timer_id ? s->timer_id : ++s->timer_id;
}
void server_log(struct server *s, enum log_level level, struct member *m,
                const char *fmt, ...) PRINTF(4, 5);

/* --- requests (request.c) --- */

/* A copy that lasts, in conn order; waits is the list it joins, or NULL.  NULL
 * and e when too many are parked or there is no memory. */
struct request *request_park(struct request *rq, struct waiters *w, struct err *e);
/* A parked request waits for something else now. */
void request_await(struct request *rq, struct waiters *w);
/* Answer a request that was not parked (o is REPLY, NOT_FOUND or FAILED); the
 * answer may have to wait for its turn. */
void request_answer(struct request *rq, enum outcome o, const struct err *e);
/* Answer a parked request and free it, once its turn has come. */
void request_finish(struct request *rq, enum outcome o, const struct err *e);
/* The same with a whole frame that the caller has made, beginning with request_message. */
void request_finish_frame(struct request *rq, const char *frame, size_t len);
/* The beginning of a message of PMI-2 that answers it: name and thread id. */
struct msg *request_message(struct request *rq);
/* Forget a parked request without an answer. */
void request_free(struct request *rq);
void waiters_init(struct waiters *w);

void reply_text(struct request *rq, int field, const char *s, size_t len);
void reply_int(struct request *rq, int field, long long n);
static inline struct job *request_job(struct request *rq) { return rq->conn->job; }

/* --- connections (serve.c) --- */

/* Serve the text of a request of PMI-2 that has not come as a frame; it is edited.  A handler
 * may do that, which must not look at its own arguments any more. */
void conn_serve(struct conn *c, char *text, size_t len);
/* Send bytes of a reply. */
void conn_send(struct conn *c, const char *data, size_t len);
/* Send what is gathered while it is read, so that c->queued is what waits. */
void conn_flush(struct conn *c);
/* Bind a PMI_PORT connection to a rank: 0, or -1 and e. */
int  conn_claim(struct conn *c, long long rank, struct err *e);
/* The connection cannot go on. */
void conn_fail(struct conn *c, const char *why);

/* --- extended commands of ranks on other nodes (relay.c) --- */

/* Whether a frame is for the root, and this is another server; then it goes there. */
bool relay_takes(const struct conn *c, const struct frame *f);
void relay_up(struct conn *c, const struct frame *f);
void relay_end(struct conn *c);
/* All that the root has sent to it is written. */
void relay_taken(struct conn *c);
/* At the root: to a rank of another node; bytes that are then on their way. */
size_t relay_send(struct conn *c, const char *data, size_t len);
void relay_fail(struct conn *c, const char *why);
void relays_free(struct job *j);
void relays_forget(struct server *s, const struct peer *p);

/* --- members (server.c) --- */

int by_rank(const void *a, const void *b);       /* the order of ints: qsort, bsearch */

/* --- fences (fence.c and fence_*.c) --- */

enum fence_kind { FENCE_GROUP, FENCE_NODE, FENCE_RING };

/* Whom a fence is for, and under which tag: fences of the same set, tag and kind
 * are the same one.  ranks NULL: all of the job. */
struct fence_id { enum fence_kind kind; long long tag; const int *ranks; size_t n; };

/* rq enters; it is parked, and perhaps answered at once.  PARKED or FAILED. */
enum outcome fence_enter(struct request *rq, const struct fence_id *id, struct err *e);
void fences_free(struct job *j);
/* A rank has ended, here or elsewhere, and every open fence may miss it: tell the
 * host, or the waiting ranks. */
void fences_look(struct job *j);
/* group=<who>:<tag> (PMI-1.2): who is WORLD, NODE or a list of ranks.  *ranks is
 * malloc'ed, sorted, and what id->ranks points to, or NULL.  0, or -1 and e. */
int  fence_parse_group(const char *text, int size, struct fence_id *id, int **ranks,
                       struct err *e);

/* Handlers of messages between servers that are about a fence. */
struct fence_msg;
typedef int fence_fn(struct job *j, const struct fence_msg *in, struct err *e);
fence_fn fence_in, fence_out, fence_wait, fence_check, fence_missing, fence_fail;
/* Take such a message apart, with the fields that it must have, and run its handler. */
enum { WITH_RANK = 1, WITH_SEQ = 2 };
int  fence_input(fence_fn *run, unsigned with, struct job *j, const struct msg *m,
                 const char *payload, size_t len, struct err *e);

/* --- peers (peer.c) --- */

static inline bool is_root(const struct server *s) { return !s->up; }

/* Send the message that s->out holds, with payload, to one peer or to all below. */
void peer_send(struct peer *p, const char *payload, size_t len);
void peers_send_down(struct server *s, const char *payload, size_t len);
/* Begin such a message about a job. */
struct msg *peer_message(struct job *j, const char *cmd);
/* Send a message on to all below, as it came. */
void peers_pass_down(struct job *j, const struct msg *m, const char *payload, size_t len);

typedef int peer_fn(struct peer *p, struct job *j, const struct msg *m, const char *payload,
                    size_t len, struct err *e);
peer_fn fence_stuck, share_data, ask_get, ask_at, ask_names, ask_answer, ask_link, ask_get_of,
        ask_spawn_up, ask_read, ask_copy_up, relay_on_ext, relay_on_end, relay_on_taken,
        relay_on_out, relay_on_fail;
void peers_free(struct server *s);
/* A rank that is here has ended, dead: inside PMI. */
void peers_rank_ended(struct job *j, int rank, bool dead);
/* Set RANK_ bits of a rank; false if they were set, or there is no memory. */
bool rank_mark(struct job *j, int rank, unsigned char bits);
/* ranks=3,4,9 of a message: each of them.  0, or -1 and e. */
int  ranks_take(struct job *j, const struct msg *m, bool dead,
                void (*each)(struct job *, int, bool), struct err *e);

/* --- data of the key-value space between servers (share.c and share_*.c) --- */

/* A rank has put this; fixed: for good, and so it must be the first to put the key. */
int  share_put(struct job *j, int src, const char *key, const char *value, size_t len,
               bool fixed, struct err *e);
/* Send the first parts of data (j->news or j->again), so that the rest, which is left
 * there, goes with one message. */
void share_send_head(struct job *j, struct buf *data);
void share_sent(struct job *j);          /* and that has gone */
/* All that was sent up to block `last` of j->kvs has been released. */
void share_known(struct job *j, uint32_t last);
/* Data that came up; or down, with a release, which decides what a key is; or as an
 * answer, which only adds: what is here already is as new, or newer. */
int  share_take_up(struct job *j, const char *data, size_t len, struct err *e);
int  share_take_down(struct job *j, const char *data, size_t len, struct err *e);
int  share_take_answer(struct job *j, const char *data, size_t len, struct err *e);
/* At the root: what goes with the release of this number, that is being made: new data, as
 * long as somebody looks at it, or the names of keys that were put again. */
struct buf *share_release(struct job *j, unsigned long long seq);
/* What there is here of a key: 1 and *out, valid until the next put or message; or 0. */
int  share_find(struct job *j, const char *key, struct kvs_entry *out);
/* The same for another server: without what is not known to have been released, which
 * the root may decide otherwise. */
int  share_find_known(struct job *j, const char *key, struct kvs_entry *out);
/* Put into j->kvs what has come and is not there yet. */
void share_settle(struct job *j);
/* A release has come: what was missing may be there now. */
void share_released(struct job *j);
/* Append a record to out. */
void share_add(struct buf *out, int src, const char *key, const char *value, size_t len,
               bool fixed);
/* Take the next record off data: 1; 0: none is left; -1 and e.  key and value are
 * terminated only in the copy that entry->key and ->value point to: the data itself. */
struct share_record { int src; const char *key, *value; size_t len; bool drop, fixed; };
int  share_next(const char **data, size_t *len, struct share_record *r, struct err *e);
/* Append this entry, and what lies in the same block, up to LIMIT_ANSWER bytes. */
void share_add_block(struct job *j, const struct kvs_entry *found, struct buf *out);

/* --- data that is held (held.c) --- */

/* At the root: j->news stays for who asks; or what was held does no longer. */
void held_keep(struct job *j, unsigned long long seq);
void held_drop(struct job *j);
/* A release says: that one's data is held; 0: none is. */
void held_told(struct job *j, unsigned long long seq);

/* --- questions to the root (ask.c and ask_*.c) --- */

/* rq waits for what the server above says of a key.  PARKED or FAILED. */
enum outcome ask_key(struct request *rq, const char *key, struct err *e);
/* The same for a name command. */
enum outcome ask_name(struct request *rq, const struct name_want *want, struct err *e);
/* The same for an entry by its number (getbyidx). */
enum outcome ask_index(struct request *rq, long long index, struct err *e);
/* The same for "job-connect" (key: "copy", where the client can), "job-disconnect", and
 * "job-get" of a key of another job (and, in jobid, for the number of an entry: "kvs-at",
 * "kvs-read"). */
enum outcome ask_job(struct request *rq, const char *cmd, const char *jobid,
                     const char *key, struct err *e);
/* The same for a spawn; and one that a server below asks for. */
enum outcome ask_spawn(struct request *rq, const struct spawn_request *want, struct err *e);
int ask_spawn_on(struct peer *p, struct job *j, unsigned id, int rank, const char *request,
                 size_t len, struct err *e);
/* The same for a part of a copy (copy.c). */
enum outcome ask_copy(struct request *rq, const struct copy_part *part, struct err *e);
/* Answer question id of a server below.  key: of an entry, the id of a new job, or
 * NULL; text: the value, or a new job's error codes. */
void ask_tell(struct peer *p, struct job *j, unsigned id, enum outcome o, const char *key,
              const char *text, size_t len, const struct err *why);
/* That peer is gone; p NULL: all end. */
void asks_forget(struct server *s, const struct peer *p);
/* That job is. */
void asks_forget_job(struct job *j);

/* --- starting jobs (cmd_spawn.c) --- */

void spawns_free(struct server *s);
/* That job, or that server below, is gone (NULL: none). */
void spawns_forget(struct server *s, const struct job *j, const struct peer *p);
void blocks_free(struct blocks *b);      /* NULL is fine */
/* The fields of a reply to spawn; jobid NULL: there is none.  Nothing is copied. */
void spawn_reply(struct request *rq, const char *jobid, const char *codes, size_t len);

/* --- connected jobs (linked.c), at the root --- */

int  job_connect(struct job *a, struct job *b, struct err *e);
void job_disconnect(struct job *a, struct job *b);
void job_unlink(struct job *j);          /* from all */
bool job_linked(const struct job *a, const struct job *b);       /* not by others */

/* Who asks for something about another job: a request here, or a server below by its
 * number of the question. */
struct asked_by {
    struct request *rq;
    struct peer    *peer;
    unsigned        id;
    bool            copies;              /* the client can copy another job's keys */
};
/* Connect to, or disconnect from, the job of that id; and what it has of a key, if it is
 * connected.  PARKED: another launcher is asked; whoever asks hears of it.  What is found
 * is in found->value, of a connection "TRUE" where the client is to copy; valid until the
 * next call. */
enum outcome linked_connect(struct job *j, const char *id, const struct asked_by *by,
                            struct kvs_entry *found, struct err *e);
enum outcome linked_disconnect(struct job *j, const char *id, struct err *e);
enum outcome linked_get(struct job *j, const char *id, const char *key,
                        const struct asked_by *by, struct kvs_entry *found, struct err *e);

/* --- jobs of other launchers (foreign.c, far.c), at the root --- */

enum outcome foreign_connect(struct job *j, const char *id, const struct asked_by *by,
                             struct kvs_entry *found, struct err *e);
enum outcome foreign_get(struct job *j, const char *id, const char *key,
                         const struct asked_by *by, struct kvs_entry *found, struct err *e);
void foreign_disconnect(struct job *j, struct job *x);           /* tell its launcher */
struct job *foreign_named(struct server *s, const char *id);     /* or NULL */
struct job *foreign_add(struct server *s, const char *id, struct err *e);
/* That job of ours, or that server below, is gone (NULL: none). */
void foreign_forget(struct server *s, struct job *j, const struct peer *p);
void foreign_free(struct server *s);

/* --- copies of their keys (copy.c) --- */

struct copy_part {                       /* all borrowed */
    const char *id;                      /* of the other job */
    size_t      index;                   /* entries that came before */
    bool        last;
    const char *data;
    size_t      len;
};
/* At the root.  0, or -1 and e. */
int copy_take(struct job *j, const struct copy_part *part, struct err *e);
/* Entries of the job from this one on: found->value; and (key) the number of the one that
 * follows them, "0": none.  Both are valid until the next call.  0, or -1 and e. */
int copy_read(struct job *j, size_t index, struct kvs_entry *found, struct err *e);

/* --- names (cmd_name.c) --- */

/* A name command of a server below, at the root. */
int  names_take(struct peer *p, struct job *j, unsigned id, const struct name_want *want);
void names_free(struct server *s);
/* That job, or that server below, is gone (NULL: none). */
void names_forget(struct server *s, const struct job *j, const struct peer *p);

/* A name command of the layer's: of a job, or (NULL) of a tool, whose number is below 0. */
typedef void name_told_fn(void *who, enum outcome o, const char *port, const struct err *why);
struct name_call {                       /* all borrowed */
    struct name_want want;
    struct job      *job;
    int              owner;
    name_told_fn    *told;
    void            *who;
};
/* REPLY (*port: what was looked up, tag and all; valid until the next publish), NOT_FOUND or
 * FAILED; or PARKED: told(who, ...) says it later, unless *a is dropped before that. */
enum outcome name_ask_for(struct server *s, const struct name_call *call, struct name_ask **a,
                          const char **port, struct err *e);
void name_ask_drop(struct name_ask *a);
/* What that owner has published here ends, but for what was to outlive him. */
void names_end(struct server *s, int owner);

/* --- attributes (cmd_info.c) --- */

/* A member has ended: nobody may be left to put what another waits for. */
void attr_member_ended(struct member *m);

/* Answer rq with a job attribute; PARKED while the host finds it out. */
enum outcome attr_get(struct request *rq, const char *key, struct err *e);

command_fn cmd_init, cmd_initack, cmd_fullinit, cmd_maxes, cmd_appnum, cmd_universe,
           cmd_jobid, cmd_finalize, cmd_abort,
           cmd_put, cmd_get, cmd_getbyidx, cmd_create_kvs,
           cmd_fence, cmd_ring,
           cmd_put_node_attr, cmd_get_node_attr, cmd_get_job_attr,
           cmd_publish, cmd_unpublish, cmd_lookup,
           cmd_spawn, cmd_connect, cmd_disconnect, cmd_read, cmd_copy;

#endif
