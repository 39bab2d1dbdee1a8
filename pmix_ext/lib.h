/* lib.h - what the files of libpmix_ext share.
 *
 * The standard's interface names no connection, so there is one struct lib for the process.
 * A call is an op: its arguments become a request to the server that answers (the primary
 * one), whose reply the connection's reader takes apart; then either the thread that waits
 * goes on, or the callback thread calls back.
 *
 * Threads: those of the program; one reader for each connection with extended commands
 * (client_serve), which never runs the program's code; and one that runs all callbacks, in
 * the order in which things came. */
#ifndef PMIX_EXT_LIB_H
#define PMIX_EXT_LIB_H

#include "pmi2/client.h"
#include "pmix_ext/pmix_ext.h"
#include "pmix_ext/rundir.h"

#include <jansson.h>

#include <stddef.h>

#define container_of(p, type, member) ((type *)(void *)((char *)(p) - offsetof(type, member)))

/* --- callbacks ----------------------------------------------------- lib_callback.c */

/* Something for the callback thread; embedded in what it is about. */
struct note {
    TAILQ_ENTRY(note) in_queue;
    void (*run)(struct note *n);         /* may free n */
    bool unasked;
};

struct callbacks {
    pthread_mutex_t lock;
    pthread_cond_t  some, room;
    TAILQ_HEAD(, note) queue;
    unsigned  unasked;       /* of those: what no request asked for */
    bool      started, ends;
    bool      waits;         /* the thread itself waits for a reply */
    pthread_t thread;
};

int  callbacks_start(struct callbacks *c);       /* 0, or -1: no thread */
void callbacks_stop(struct callbacks *c);        /* what is queued is run before */
void callback_add(struct callbacks *c, struct note *n);
/* The same of something unasked for; the reader waits while too much of it is queued, so
 * that the server comes to know, unless what it reads is waited for by a callback. */
void callback_add_unasked(struct callbacks *c, struct note *n);
/* Whether this is the callback thread. */
bool callback_here(const struct callbacks *c);
/* Around a wait for a reply; nothing on other threads. */
void callback_waits(struct callbacks *c, bool waits);

/* A thread that takes no signals, which are for those of the program.  0, or -1. */
int  thread_start(pthread_t *thread, void *(*fn)(void *), void *arg);

/* --- connections ------------------------------------------------------- lib_link.c */

struct link {
    TAILQ_ENTRY(link) in_lib;
    struct client client;
    pthread_t   reader;
    unsigned    refs;        /* under lib's lock; the list has one */
    bool        extended;    /* there is a reader; else it is plain PMI-2 */
    bool        rank;        /* over PMI_FD or PMI_PORT, not as a tool */
    bool        resident;    /* its server runs no job */
    bool        closing;
    bool        called, met; /* the server has called us (lib_listen.c); somebody has waited for it */
    pid_t       caller[2];   /* then: of the process that did, and its parent */
    pmix_status_t refused;   /* what it has said to our directives */
    pthread_mutex_t whole;   /* of who sends a request in parts; one at a time can be */
    pmix_proc_t me, server;  /* what this process is to it; its name */
};

/* To the server of the rank that this process is.  NULL and *status. */
struct link *link_open_rank(pmix_status_t *status);
/* As a tool over a connected descriptor, which is taken; name: wanted, "" and
 * PMIX_RANK_UNDEF: any; server: what
 * its entry calls it ("": the server says). */
struct link *link_open_tool(int fd, const pmix_proc_t *name, const char *server,
                            pmix_status_t *status, struct err *e);
/* Take it out of the list and close it; all that waits for it fails.  The lock is not held. */
void link_close(struct link *l);
/* The one that answers, or NULL; to be dropped. */
struct link *link_primary(void);
struct link *link_keep(struct link *l);          /* once more; to be dropped */
void link_drop(struct link *l);
/* What a plain PMI-2 call said. */
pmix_status_t status_of_err(struct link *l, const struct err *e);

/* --- events ------------------------------------------------ lib_event.c, lib_chain.c */

struct handler {
    TAILQ_ENTRY(handler) in_lib;
    size_t         id;
    unsigned       refs;         /* the list's, and those of chains that are at it */
    bool           gone, oneshot;
    bool           ready;        /* the server has registered it */
    struct link   *link;         /* only compared: whose server_id it is */
    long long      server_id;
    int            place;        /* category: see lib_event.c */
    char          *name;         /* owned, or NULL */
    pmix_status_t *codes;        /* owned */
    size_t         ncodes;       /* 0: a default handler */
    pmix_info_t   *own;          /* owned: what it is called with besides the event's infos */
    size_t         nown;
    pmix_notification_fn_t fn;
};
TAILQ_HEAD(handlers, handler);

struct event {
    pmix_status_t status;
    pmix_proc_t   source;
    pmix_info_t  *infos;         /* owned */
    size_t        ninfos;
    struct link  *link;          /* only compared: who sent it; NULL: it is of this process */
    long long    *ids;           /* owned: of the handlers that the server means */
    size_t        nids;
};

/* An event has come: run the handlers.  What it owns is taken. */
void event_raise(const struct event *ev, bool unasked);
/* The same of a pmix-event. */
void event_take(struct link *l, const struct msg *m);
void handlers_clear(void);
/* The first handler behind h (NULL: of all) that wants it, referenced; or NULL.  lib.lock is
 * held. */
struct handler *handler_next(const struct handler *h, const struct event *ev);
/* lib.lock is held. */
void handler_drop(struct handler *h);
/* Out of the list, so that no event finds it any more.  lib.lock is held. */
void handler_remove(struct handler *h);
/* Tell the server that a handler it knows is gone; nobody waits. */
void handler_forget(struct link *l, long long server_id);

/* --- output ------------------------------------------------------------- lib_iof.c */

struct pull {
    TAILQ_ENTRY(pull) in_lib;
    long long          id;       /* the server's */
    struct link       *link;     /* borrowed; only compared */
    pmix_iof_cbfunc_t  fn;
};
TAILQ_HEAD(pulls, pull);

void iof_take(struct link *l, const struct msg *m);      /* pmix-iof-data */
void pulls_clear(void);

/* --- the process --------------------------------------------------------- lib_life.c */

struct datum {                   /* staged by PMIx_Put, or kept by PMIx_Store_internal */
    STAILQ_ENTRY(datum) next;
    pmix_proc_t  proc;           /* kept: whose */
    pmix_scope_t scope;          /* staged: for whom */
    pmix_info_t  info;
};
STAILQ_HEAD(data, datum);

struct plain_rank {              /* what a rank has committed, as far as it was fetched */
    STAILQ_ENTRY(plain_rank) next;
    pmix_rank_t rank;
    unsigned    commits;         /* fetched */
    unsigned    fences;          /* of ours when it was last looked for more */
    struct data data;            /* owned; newer ones first */
};

struct plain {                   /* lib_plain.c: without extended commands */
    pthread_mutex_t lock;        /* of these, and held while the server is asked */
    unsigned        commits;     /* of this process */
    unsigned        fences;
    STAILQ_HEAD(, plain_rank) ranks;     /* owned */
};

struct hosting {                 /* lib_server.c: for a host that is no server of ours */
    unsigned        inits;       /* PMIx_server_init less its ends */
    LIST_HEAD(, helper) helpers; /* processes that are at it */
    unsigned        running;     /* of those, and those that are just being cleared away */
    pthread_cond_t  left;        /* one of them, or of their users, less */
    LIST_HEAD(, known) known;    /* owned: jobs that were registered */
};

struct listening {               /* lib_listen.c: for launchers that call */
    pthread_mutex_t life;        /* of all but busy */
    pthread_cond_t  came;        /* a link more, under lib's lock */
    bool            on;
    int             fd, wake[2]; /* owned; -1: none */
    int             busy;        /* a call that is being taken, under lib's lock; or -1 */
    pthread_t       thread;
    char            path[RUNDIR_PATH];
};

struct op;

struct lib {
    pthread_mutex_t life;        /* starting, ending, attaching: one at a time */
    pthread_mutex_t lock;        /* of all below but callbacks */
    unsigned        inits;       /* PMIx_Init and PMIx_tool_init less their ends */
    pmix_proc_t     me;
    TAILQ_HEAD(links, link) links;       /* owned; the primary first */
    struct handlers handlers;            /* owned, in the order in which they run */
    size_t          next_id;             /* of handlers */
    struct pulls    pulls;               /* owned */
    struct data     staged, kept;        /* owned */
    char          **published;           /* owned: keys, which this process can take back */
    struct plain    plain;
    struct hosting  hosting;
    struct listening listening;
    struct callbacks callbacks;
};
extern struct lib lib;

/* Begin to use the library as whatever open makes of it, or count one more use; proc: who
 * we are (may be NULL).  open gets infos, and answers NULL and a status; PMIX_SUCCESS and
 * NULL: there is no server, which is fine. */
typedef struct link *open_fn(const pmix_info_t *infos, size_t n, pmix_status_t *status);
pmix_status_t lib_begin(open_fn *open, const pmix_info_t *infos, size_t n, pmix_proc_t *proc);
pmix_status_t lib_finish(void);
/* Make l the last or the first (primary) of the servers. */
void lib_add(struct link *l, bool primary);
/* The first of them without lib.life held, so that the end of the library does not wait for it;
 * false: that has come. */
bool lib_add_late(struct link *l);
/* Likewise; lib.lock is held. */
void lib_insert(struct link *l, bool primary);
bool lib_begun(void);
/* lib_listen.c: our URI, for a launcher that is to call; listening begins with the first of
 * them. */
pmix_status_t listen_uri(char *uri, size_t size);
void          listen_end(void);
/* The link of a server of that name, or ("") of the first launcher that has called and was not
 * waited for: of this process, if it is not 0, and while that lives.  For so many seconds at most;
 * NULL: it does not come.  To be dropped. */
struct link  *listen_wait(const char *nspace, unsigned seconds, pid_t pid);
/* Directives for a launcher that waits; those that the program has kept for such (PMIX_SUCCESS
 * where it has none, or the server does not wait). */
pmix_status_t link_direct_kept(struct link *l);
pmix_status_t link_direct(struct link *l, const pmix_data_array_t *directives);
/* The directives that a value is; NULL: it is none.  An empty array of whatever type is none to
 * follow. */
const pmix_data_array_t *directives_of(const pmix_value_t *v);
pmix_status_t link_go(struct link *l);           /* it is not to wait any longer (lib_event.c) */
/* lib_tool.c: a spawn of a tool that has no server: start a launcher, which is its server from
 * then on.  As PMIx_Spawn; and as PMIx_Spawn_nb, by the callback thread. */
pmix_status_t tool_start_launcher(const pmix_info_t *infos, size_t ninfo, const pmix_app_t *apps,
                                  size_t napps, pmix_nspace_t nspace);
pmix_status_t tool_post_launcher(const pmix_info_t *infos, size_t ninfo, const pmix_app_t *apps,
                                 size_t napps, pmix_spawn_cbfunc_t cbfunc, void *cbdata);

/* Whether a spawn is of a launcher, which the caller names. */
bool tool_is_launcher(const pmix_info_t *infos, size_t n);

/* The value of an info with that key, or NULL; and whether there is one that is true. */
const pmix_value_t *attr_find(const pmix_info_t *infos, size_t n, const char *key);
bool                attr_true(const pmix_info_t *infos, size_t n, const char *key);
/* PMIX_ERR_NOT_SUPPORTED if an info is required that knows (NULL: nothing) does not know. */
pmix_status_t       attr_required(const pmix_info_t *infos, size_t n, bool (*knows)(const char *key));

void data_drop(struct data *d);
/* A copy as a new datum, or NULL: no memory. */
struct datum *datum_new(const pmix_proc_t *proc, const char *key, const pmix_value_t *value);
/* The first with that key, or NULL. */
struct datum *datum_find(struct data *d, const char *key);

/* --- plain PMI-2 -------------------------------------------- lib_plain.c, lib_keys.c */

/* What ops are without extended commands: all wait. */
pmix_status_t plain_get(struct op *op), plain_fence(struct op *op), plain_publish(struct op *op),
              plain_lookup(struct op *op), plain_unpublish(struct op *op);
pmix_status_t plain_commit(struct link *l, const struct data *staged);
void          plain_clear(void);
/* What the standard's own keys say of a rank or the job.  PMIX_ERR_NOT_FOUND: nothing. */
/* Likewise, of the job (or tool) that this process is, without asking. */
pmix_status_t own_key(struct link *l, const pmix_proc_t *proc, const char *key,
                      pmix_value_t *value);
pmix_status_t plain_key(struct link *l, const pmix_proc_t *proc, const char *key,
                        pmix_value_t *value);

/* --- ops ------------------------------------------------------------------ lib_op.c */

enum takes { TAKES_NOTHING, TAKES_TEXT, TAKES_NUMBER, TAKES_ONE, TAKES_LIST };

struct ask {                     /* a command, and what is taken from its reply */
    const char      *cmd, *field;
    enum takes       takes;
    pmix_data_type_t type;
    pmix_status_t  (*plain)(struct op *op);      /* without extended commands; NULL: never */
};

enum { OP_TEXTS = 6 };

struct own_key {
    const char *key;             /* static */
    size_t      before;          /* so many answers of the server stand before it */
};

struct op {
    struct note       note;
    struct call       call;
    const struct ask *ask;
    struct link      *link;      /* referenced; NULL: there is none */
    struct buf        texts[OP_TEXTS];   /* the request's JSON */
    unsigned          ntexts;
    pmix_status_t     status;
    struct err        why;       /* the server's words where it has failed */
    bool              known;     /* nobody needs to be asked: the result is there */
    struct own_key   *own;       /* owned: keys that the library answers itself (lib_query.c), */
    size_t            nown, placed;      /* in their order; as many have a place in the array */
    bool              sent;      /* the reader has it until it is over */
    bool              over;
    pthread_cond_t    came;      /* over is true */

    /* What the caller handed in and still has; for plain PMI-2. */
    pmix_proc_t        proc;
    const char        *key;
    char             **keys;
    const pmix_info_t *infos;
    size_t             ninfos;

    /* The result. */
    struct buf        whole;     /* owned: of one that comes in pieces, its JSON so far */
    void             *array;     /* owned: TAKES_ONE, TAKES_LIST */
    size_t            n;
    char             *text;      /* owned */
    long long         number;
    struct value_answer *answers;    /* owned: a list of infos, until all parts are there */
    size_t            nanswers;
    pmix_status_t     unanswered;    /* the first of those that answers said */

    /* Of an _nb call. */
    void (*deliver)(struct op *op);
    union {
        pmix_op_cbfunc_t       op;
        pmix_info_cbfunc_t     info;
        pmix_value_cbfunc_t    value;
        pmix_lookup_cbfunc_t   lookup;
        pmix_spawn_cbfunc_t    spawn;
        pmix_hdlr_reg_cbfunc_t reg;
    } cb;
    void             *cbdata;
    void            (*settle)(struct op *op);    /* by the reader, before what comes behind
                                                    the reply is looked at; or NULL */
    void             *more;      /* what these two need besides */
};

/* An op on the caller's stack, or (op_new; NULL: no memory) one that op_post takes.  What
 * goes wrong meanwhile is remembered in status; the functions below then do nothing. */
void       op_start(struct op *op, const struct ask *ask);
/* The same to that server. */
void       op_start_on(struct op *op, const struct ask *ask, struct link *l);
struct op *op_new(const struct ask *ask);
void       op_end(struct op *op);
void       op_free(struct op *op);       /* of op_new; NULL is fine */

/* Arguments.  NULL texts and empty arrays that are NULL are left out. */
void op_text(struct op *op, const char *name, const char *text);
void op_number(struct op *op, const char *name, long long number);
void op_array(struct op *op, const char *name, pmix_data_type_t type, const void *from,
              size_t n);
void op_one(struct op *op, const char *name, pmix_data_type_t type, const void *from);
void op_bytes(struct op *op, const char *name, const char *data, size_t n);   /* as base64 */
void op_strings(struct op *op, const char *name, char *const *list);

/* Send and wait: the status.  The op has the result. */
pmix_status_t op_run(struct op *op);
/* The same in two steps, of an op with extended commands. */
void          op_send(struct op *op);
pmix_status_t op_wait(struct op *op);
/* Send; deliver is called by the callback thread, and frees the op.  PMIX_SUCCESS; or else
 * it will not be called and the op is gone. */
pmix_status_t op_post(struct op *op, void (*deliver)(struct op *op), void *cbdata);
/* op_run, op_end. */
pmix_status_t op_do(struct op *op);
/* op_run of one of op_new, or op_post of it for callbacks without a result; NULL is no
 * memory. */
pmix_status_t op_run_new(struct op *op);
pmix_status_t op_post_op(struct op *op, pmix_op_cbfunc_t cbfunc, void *cbdata);

/* lib_whole.c: post the request of an op, which is too long for a frame, in parts.
 * PMIX_SUCCESS: its call's done will be called, and may have been. */
pmix_status_t whole_post(struct op *op);

void deliver_op(struct op *op);
void deliver_info(struct op *op);

#endif
