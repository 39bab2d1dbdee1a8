/* server.h - the PMI server core, as its host (launcher, proxy, simulator, test)
 * sees it.
 *
 * The core decides and never touches a descriptor, a clock or an event loop.
 * The host feeds it what happened - bytes of a connection, the end of one, a
 * process that ended - and it answers through the host operations, each of
 * which returns at once and never calls back into the core.  So the same code
 * runs behind sockets, in the simulator and in unit tests.
 *
 * Objects: a *connection* is a byte stream with its codec; a *member* is one
 * rank of one job; a *request* is one command until it is answered.  A
 * connection stands for one member: known from the start (PMI_FD), or from its
 * initack or fullinit on (PMI_PORT).
 *
 * The ranks of a job may be spread over several nodes, with a server on each:
 * the servers form a tree, and what one of them calls a *peer* is its link to the
 * one above or to one below.  The server without one above is the root.  Peers
 * talk in messages (pmi2/PEERS), which the host carries.
 *
 * Not thread-safe; any number of servers may exist side by side. */
#ifndef PMI2_SERVER_H
#define PMI2_SERVER_H

#include "pmi2/mapping.h"
#include "pmi2/names.h"
#include "pmi2/spawn.h"
#include "wire/limits.h"
#include "wire/msg.h"

#include <stdint.h>
#include <sys/types.h>

struct server;
struct request;
struct job;
struct member;
struct conn;
struct command;              /* pmi2/commands.h */
struct peer;
struct spawn;
struct name_ask;
struct far;
struct far_ask;

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* What the core asks of its host.  `host` is what server_new was given; a
 * connection is named by the pointer that conn_new was given as its link. */
struct host_ops {
    /* Send bytes, or queue them.  The number of bytes then waiting unsent. */
    size_t (*send)(void *host, void *link, const char *data, size_t len);
    /* The peer broke the protocol: send what is queued if that is possible at
     * once, then close.  The host calls conn_free when it has. */
    void (*fail)(void *host, void *link, struct member *m, const char *why);
    /* member asked that it (world: its job) be ended; code as the caller gave
     * it; text is from the peer: escape before showing.  "" if none. */
    void (*abort)(void *host, struct member *m, bool world, int code, const char *text);
    /* A member has finished init / finalize. */
    void (*initialized)(void *host, struct member *m);
    void (*finalized)(void *host, struct member *m);
    /* At the root: a fence can never complete, as rank `missing` of the job has ended
     * and `waiting` is in the fence. */
    void (*stuck)(void *host, struct job *j, int missing, int waiting);
    /* One line of text, already safe to show. */
    void (*log)(void *host, enum log_level level, struct member *m, const char *text);
    /* Wire trace; NULL when off.  from_peer: the direction. */
    void (*trace)(void *host, struct member *m, bool from_peer, const char *data, size_t len);
    /* Send a message to another server: a PMI-2 frame, and len bytes of payload that
     * it has announced.  Messages of one link stay in order.  NULL where there is
     * one server only. */
    void (*peer_send)(void *host, void *link, const char *frame, size_t frame_len,
                      const char *payload, size_t len);
    /* The same to n of them; NULL: one after the other. */
    void (*peer_send_all)(void *host, void *const *links, size_t n, const char *frame,
                          size_t frame_len, const char *payload, size_t len);
    /* At the root: a rank starts a further job; spawn_done is to say what has become
     * of it, after this has returned.  NULL: that is not supported. */
    void (*spawn)(void *host, struct spawn *s);
    /* At the root: have a name command carried out by a resident server, and name_done
     * say later what has come of it.  False: there is none; the core keeps names itself.
     * NULL: never. */
    bool (*name)(void *host, struct name_ask *a);
    /* Call server_timer with this id once, after so many seconds; 0: not any more.  NULL:
     * a lookup that waits with a time-out does not. */
    void (*timer)(void *host, unsigned id, double seconds);
    /* An attribute of this node that a rank asks for: its text, which is copied; NULL
     * with *later: job_told is going to say it; else there is none. */
    const char *(*find)(void *host, struct job *j, const char *key, bool *later);
    /* Fault tolerant: ranks of the job have died, as PMI_dead_processes says now; those
     * that live here are to hear of it.  NULL: they do not. */
    void (*died)(void *host, struct job *j);
    /* At the root: look for the launcher that runs the job far_job(a), which is not here;
     * far_found is to say later what has come of it.  False, or NULL: there is no way to
     * find one. */
    bool (*introduce)(void *host, struct far_ask *a);
    /* Send a message to another launcher; messages of one link stay in order.  len 0: no
     * memory, the link is of no use any more. */
    void (*far_send)(void *host, void *link, const char *frame, size_t len);
    /* A member enters a fence, or is let go; whole: one of all ranks of its job.  NULL:
     * nobody wants to know. */
    void (*fenced)(void *host, struct member *m, bool enters, bool whole);
    /* A member waits in init, as it is held there (job_hold).  NULL: nobody wants to know. */
    void (*held)(void *host, struct member *m);
    /* An extended command of a rank here, which is the root's to serve: its reply, whole frames, if
     * the host can give that itself.  False: it cannot, and reply is as it was.  NULL: never. */
    bool (*answer)(void *host, struct member *m, const struct frame *f, struct buf *reply);
};

/* Who speaks on a connection. */
struct party {
    char     nspace[LIMIT_JOBID];    /* of a rank its job's id; a tool's name, "": it has
                                        none yet */
    uint32_t rank;
    uid_t    uid;                    /* as the kernel says of a tool; ranks are the server's */
    gid_t    gid;
    pid_t    pid;                    /* 0: not known here */
    bool     tool;
    unsigned called;                 /* a tool's: it has called the server of this node, and 1 more;
                                        0: this one */
};

/* What the layer of extended commands (pmix_ext/) is told by the core. */
struct layer_ops {
    /* A tool says that it leaves (finalize).  True: the layer has parked that, and answers. */
    bool (*leaves)(void *layer, struct request *rq);
    /* The connection ends; what is kept about it is to be forgotten. */
    void (*conn_gone)(void *layer, struct conn *c);
    /* What was sent on it is written, or nearly: more may be sent. */
    void (*conn_drained)(void *layer, struct conn *c);
    /* A job ends; its connections have gone before. */
    void (*job_gone)(void *layer, struct job *j);
    /* A rank has ended, wherever it was; told once. */
    void (*rank_ended)(void *layer, struct job *j, int rank);
    /* A timer is due that the core does not know. */
    void (*timer)(void *layer, unsigned id);
};

struct server_options {
    int  pmi1_subversion;    /* 2: answer 1.2 (group barriers) to clients that ask for
                                1.1, as MPICH 5 likes; 1: answer what was asked */
    bool fault_tolerant;     /* a fence that misses a dead rank answers an error */
    bool no_names;           /* no name service: publish answers an error */
    uid_t  uid;              /* whose processes the ranks are */
    gid_t  gid;
    size_t release_bytes;    /* new data of a fence up to so many bytes is sent to all
                                servers with its release, if they want it; what is not is
                                fetched when it is asked for */
};

/* NULL with errno when there is no memory. */
struct server *server_new(const struct host_ops *ops, void *host, uint64_t seed,
                          const struct server_options *options);
/* Also frees its jobs; the connections must be gone. */
void server_free(struct server *s);

/* Add a table of commands (pmix_ext).  0, or -1 and e: no memory, or a name that
 * is taken.  The rows are borrowed. */
int server_add_commands(struct server *s, const struct command *rows, size_t n,
                        struct err *e);

/* At the root: the layer, which has added its commands; borrowed. */
void server_set_layer(struct server *s, const struct layer_ops *ops, void *layer);

struct job_spec {
    const char *id;          /* job id and PMI-1 kvsname: at most LIMIT_JOBID - 1 bytes, no
                                ';', '=' or blank; copied */
    int         size;        /* ranks */
    int         universe;    /* universe size, or -1: unknown */
    const int  *appnums;     /* size of them; copied */
    const struct mapping_block *map;     /* copied, as text */
    size_t      map_blocks;
    bool        spread;      /* not all ranks are here, but those of the next three */
    const int  *local;       /* in rising order; copied.  appnums has nlocal entries then */
    int         nlocal;
    int         subtree;     /* ranks here and at all servers below */
    const char *spawner;     /* id of the job that has started this one, or NULL; copied */
    const char *target;      /* its ranks are tools' daemons: id of the job that they look after,
                                "": of none; NULL: they are none.  Copied */
    void       *link;        /* the host's name for it, if it has one */
    bool        in_env;      /* its constants are in the environment of its ranks; see
                                mpiexec_lite/env.h */
    const char *cart_dims, *cart_coords;     /* what these attributes say ("4,4", "0,3";
                                                coordinates of this node); NULL: nothing.
                                                Copied */
    const char *alloc_kinds;     /* PMI_mpi_memory_alloc_kinds, or NULL; copied */
};

/* NULL and e on failure. */
struct job *server_add_job(struct server *s, const struct job_spec *spec, struct err *e);
/* Its ranks here have ended, their connections are gone.  Messages about it that are
 * still on their way are ignored. */
void        server_remove_job(struct job *j);

/* The member of a rank; NULL if it is not here. */
struct member *job_member(struct job *j, int rank);
const char    *job_id(const struct job *j);
void          *job_link(const struct job *j);
const char    *job_mapping(const struct job *j);         /* PMI_process_mapping */
size_t         job_kvs_bytes(const struct job *j);
/* What find was asked for; value NULL: there is no such attribute.  Copied. */
void           job_told(struct job *j, const char *key, const char *value);
/* A further attribute of it, for ranks here; those that every job has win.  Copied.  0, or
 * -1 and e. */
int            job_add_attribute(struct job *j, const char *key, const char *value,
                                 struct err *e);
/* Its nodes are of different kinds (isHeterogeneous). */
void           job_set_mixed(struct job *j);
/* That rank, which is here, gets no answer when it comes to init, which the host hears of. */
void           job_hold(struct job *j, int rank);
/* It gets one, now if it waits; rank -1: all that are held. */
void           job_release(struct job *j, int rank);

int         member_rank(const struct member *m);
struct job *member_job(const struct member *m);

/* Where a member stands, for messages and decisions. */
enum member_state {
    MEMBER_NEW,              /* has not spoken PMI */
    MEMBER_GREETED,          /* PMI-2: init done, fullinit to come */
    MEMBER_READY,
    MEMBER_FINAL,            /* finalized */
    MEMBER_GONE              /* its process has ended */
};
enum member_state member_state(const struct member *m);
bool              member_ever_initialized(const struct member *m);
/* The command it waits in ("kvs-fence", ...), or NULL. */
const char       *member_waits_in(const struct member *m);
/* That is a fence of all ranks of its job. */
bool              member_in_fence(const struct member *m);
/* It waits in init, as it is held there (job_hold). */
bool              member_is_held(const struct member *m);

/* The process of a member has ended: fences that miss it are looked at. */
void member_ended(struct member *m);
/* A rank that is on another node has ended with that node.  At the root; fault tolerant,
 * also at every server that it was below, before that says so to the root. */
void job_rank_lost(struct job *j, int rank);

/* Starting jobs, at the root.  The request lives until spawn_done, the job that asks
 * perhaps not so long: NULL then. */
const struct spawn_request *spawn_wants(const struct spawn *s);
struct job *spawn_parent(const struct spawn *s);
int         spawn_rank(const struct spawn *s);           /* of the parent, which asks */
bool        spawn_alone(const struct spawn *s);          /* there never was a parent: it is a
                                                            tool that asks */
/* The new job has been added: its key-value space begins with what was asked for, and
 * it is connected to its parent.  0, or -1 and e. */
int         spawn_fill(struct spawn *s, struct job *child, struct err *e);
/* All processes of child have been started; or (child NULL) it was not to be, for the
 * reason why; its code is ERR_INVALID_ARG where the directory is to blame.  codes: n of
 * them, by process: 0, or what was wrong, as an errno.  Frees s. */
void        spawn_done(struct spawn *s, struct job *child, const int *codes, size_t n,
                       const struct err *why);
/* A spawn that the host or the layer asks for: of a rank, or (parent NULL) of a tool, whose job is
 * connected to no other; ops.spawn is called for it.  told: what spawn_done says, once; jobid NULL: it was not started. */
typedef void spawn_told_fn(void *who, const char *jobid, const int *codes, size_t n,
                           const struct err *why);
struct spawn_call {
    struct job    *parent;
    int            rank;
    spawn_told_fn *told;
    void         (*begun)(void *who, struct job *child);     /* it is made, none of it runs yet */
    void          *who;
};
/* Takes what *want holds, unless it is NULL and e. */
struct spawn *spawn_ask_for(struct server *s, const struct spawn_call *call,
                            struct spawn_request *want, struct err *e);
void spawn_drop(struct spawn *s);        /* nobody is to be told any more */

/* Name commands, at the root.  One lives until name_done, the job that asks perhaps not
 * so long: NULL then. */
const struct name_want *name_wants(const struct name_ask *a);
struct job *name_job(const struct name_ask *a);
/* It is done; port: what was looked up, NULL: there is none; or it was not, for the reason
 * why.  Frees a. */
void name_done(struct name_ask *a, const char *port, const struct err *why);
/* A timer is due. */
void server_timer(struct server *s, unsigned id);
/* Jobs of other launchers of the same user, at the root (pmi2/PEERS, "Launchers").  A link
 * to another launcher is a struct far; link: the host's name for it.  NULL: no memory. */
const char *far_job(const struct far_ask *a);    /* the id that is looked for */
struct far *far_new(struct server *s, void *link);
/* The launcher of that job; NULL: it was not found.  Frees a. */
void        far_found(struct far_ask *a, struct far *f);
/* A message of it.  0, or -1 and e: it makes no sense, the link is of no use any more. */
int         far_input(struct far *f, const struct msg *m, struct err *e);
/* The link is gone: jobs of it that have not ended have failed. */
void        far_free(struct far *f);
/* A job of ours has failed: tell the launchers of jobs that it is connected to. */
void        job_failed(struct job *j, int status);
/* A job of another launcher that has failed, with its exit status, or NULL.  What is
 * connected to it (job_connected) is to end; then it is to be forgotten. */
struct job *server_failed(struct server *s, int *status);
void        server_forget(struct job *foreign);
/* Whether two jobs are connected, directly or by others; at the root. */
bool        job_connected(struct job *a, struct job *b);
/* Whether ranks of a have a say in b: it is connected, or they are daemons that look after it. */
bool        job_minds(struct job *a, struct job *b);

/* Peers.  link: the host's name for it.  The server above comes first of all, before
 * any job; a server that has none is the root.  NULL: no memory. */
struct peer *server_set_up(struct server *s, void *link);
struct peer *server_add_down(struct server *s, void *link);
/* The link is gone; what was asked for by it is forgotten. */
void         peer_free(struct peer *p);
/* A message of a peer.  1: it is not one of the core's; 0: taken; -1 and e: it makes no
 * sense, the link is of no use any more. */
int          peer_input(struct peer *p, const struct msg *m, const char *payload, size_t len,
                        struct err *e);
/* Tell the others what was gathered since the last call (ranks that have ended); to be
 * called once a loop turn. */
void         server_flush(struct server *s);

/* A new connection.  m: whose it is (PMI_FD), or NULL (PMI_PORT: any rank of
 * job j that has no connection may claim it).  link: the host's name for it. */
struct conn *conn_new(struct server *s, struct job *j, struct member *m, void *link);
void         conn_free(struct conn *c);          /* its parked requests are dropped */

/* Bytes arrived; they are edited in place.  Afterwards the connection may have
 * been failed (host op), never freed. */
void conn_input(struct conn *c, char *data, size_t len);
/* The peer's process has ended: what it has sent is still served, without pause, but
 * no reply is sent any more. */
void conn_drain(struct conn *c);
/* The peer closed its end. */
void conn_eof(struct conn *c);
/* Whether the core wants no more input now: too many requests wait for their
 * answers, or too many replies for the peer to read them.  It keeps what it was
 * given meanwhile and goes on with it at conn_resume. */
bool conn_full(const struct conn *c);
/* queued reply bytes of this connection are still unsent; goes on if it may. */
void conn_resume(struct conn *c, size_t queued);
/* The host has written all that was sent but `queued` bytes. */
void conn_drained(struct conn *c, size_t queued);
struct member *conn_member(const struct conn *c);
/* A new connection of a tool, at the root; who is copied.  NULL: no memory. */
struct conn *conn_new_tool(struct server *s, const struct party *who, void *link);
void conn_party(const struct conn *c, struct party *out);

#endif
