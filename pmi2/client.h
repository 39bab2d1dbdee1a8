/* client.h - one process's connection to its PMI-2 server: requests and replies.
 *
 * Any number of threads may call at once; a call blocks its own thread alone.
 * With a server that announced thread ids (extensions=thrid in its fullinit
 * reply) many requests are under way, each marked with a small number of ours
 * that the reply repeats; one of the waiting threads reads the socket and hands
 * replies to the others, there is no helper thread.  With any other server
 * requests take turns.
 *
 * Nothing in a reply is trusted.  One that is malformed, too long, unexpected or
 * answers another question breaks the connection: that call and all others, now
 * and later, fail at once with the reason.  SIGPIPE never comes from here.
 *
 * Without PMI_FD and PMI_PORT the process is its own server, until it asks for what it
 * cannot do alone: then it starts a launcher (client_singleton.c, client_launcher.c).
 *
 * Sources: PMI v2 API draft ("Thread Safety", "Initializing"), MPICH wiki "PMI-2
 * Wire Protocol".  All functions are thread-safe but client_clear; none may be
 * used from a signal handler, nor in a child after fork.  A function that fails
 * returns -1 and fills e; codes are PMI2_ERR_* (wire/err.h). */
#ifndef PMI2_CLIENT_H
#define PMI2_CLIENT_H

#include "wire/limits.h"
#include "wire/msg.h"

#include <pthread.h>
#include <sys/queue.h>

struct kvs;
struct client;

enum {
    /* Body of a request: with its length field 64 KiB, all that Slurm's and
     * MPICH's servers have room for. */
    CLIENT_REQUEST_MAX = LIMIT_FRAME_RANK - 6,
    /* Body of a reply: a value of the longest request, every byte of it a
     * doubled ';', and room for the list of a large spawn's error codes. */
    CLIENT_REPLY_MAX = 4 * LIMIT_FRAME_RANK,
    /* Requests under way; further threads wait.  Below the server's own limit,
     * LIMIT_PARKED, above which it would stop reading us. */
    CLIENT_CALLS = LIMIT_PARKED / 2,
    CLIENT_CONSTANTS = 4,
    CLIENT_READ = 16384          /* bytes asked of the socket at once */
};

enum client_state {
    CLIENT_NEW,              /* not initialised */
    CLIENT_OPENING,          /* in the opening exchange */
    CLIENT_UP,
    CLIENT_SINGLE,           /* no server: see client_singleton.c */
    CLIENT_BROKEN,           /* why says what happened */
    CLIENT_DONE              /* finalised */
};

/* One reply, parsed; its strings lie in text. */
struct reply {
    struct msg m;
    int        rc;           /* the server's; 0: success */
    bool       answers;      /* it has an rc: it is a reply indeed */
    char       text[];
};

struct call;

/* Called by the thread that reads, without lock: a part of the reply, which is there until
 * this returns; last: there are no more, and the call is the caller's again.  NULL: none
 * will come, as why says. */
typedef void call_done(struct call *k, const struct reply *r, bool last,
                       const struct err *why);

/* One request until its reply: lives on the stack of the thread that asks; or, if it is
 * posted, where its done finds it. */
struct call {
    struct client *c;        /* borrowed */
    struct msg     req;      /* borrows what the caller adds */
    call_done     *done;     /* of a posted one; NULL: a thread waits */
    char           thrid[12];    /* "" where requests take turns */
    struct reply  *reply;    /* owned; NULL until it came */
    bool           waiting;  /* in wake: may be asked to read */
    pthread_cond_t wake;     /* the reply is there, or reading is our turn */
    TAILQ_ENTRY(call) link;
};

/* A message that answers no request: without rc. */
typedef void client_told(void *host, const struct msg *m);

struct client {
    pthread_mutex_t lock;    /* of everything below but fd's two directions */
    pthread_cond_t  turn;    /* room for another call, or broken */
    pthread_cond_t  idle;    /* ncalls came to 0 */
    pthread_mutex_t writing; /* who writes to fd; taken without lock held */

    enum client_state state;
    bool        joining;     /* a thread starts a launcher, and has fd and state; others
                                wait for turn, and CLIENT_SINGLE is what they are told */
    double      deadline;    /* when the reply that is read must be there, on the clock of
                                client_now; 0: at any time */
    struct err  why;         /* of CLIENT_BROKEN */
    int         fd;          /* owned; -1 if none */
    bool        shows_abort; /* the server shows the text of an abort */
    bool        thrids;      /* the server knows them: calls overlap, values are long */
    bool        read_only;   /* the server knows puts that are read-only */
    bool        copies;      /* the server takes copies of another job's keys */
    bool        extended;    /* the server has the extended commands */
    bool        trace;       /* PMI2_DEBUG or PMI_DEBUG is set: messages go to stderr */
    int         spawned, size, rank, appnum;
    int         version, subversion;     /* the server's; 0.0 until it told */

    bool          reading;   /* a thread has framer and in, without lock */
    bool          served;    /* a thread is in client_serve, or about to be: only it reads */
    client_told  *told;      /* of client_serve, for host */
    void         *host;
    struct framer framer;
    char         *at;        /* into in: what the framer has not seen */
    size_t        left;
    char          in[CLIENT_READ];

    TAILQ_HEAD(call_list, call) calls;   /* under way, oldest first */
    unsigned      ncalls;
    unsigned      next_thrid;

    struct kvs   *kvs, *node;            /* owned; of a singleton */
    char          id[LIMIT_JOBID + 1];   /* the job's id, of a singleton; also when it has
                                            a launcher */
    char         *constants[CLIENT_CONSTANTS];   /* owned: attributes that the launcher has put
                                            into the environment, by number (client_cmd.c);
                                            NULL: to be asked for */
};

#define CLIENT_INIT(c)                                                                  \
    {                                                                                   \
        .lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER,            \
        .idle = PTHREAD_COND_INITIALIZER, .writing = PTHREAD_MUTEX_INITIALIZER,         \
        .fd = -1, .calls = TAILQ_HEAD_INITIALIZER((c).calls)                            \
    }

/* What a process knows of itself before it talks to the server; NULL: nothing. */
struct client_id {
    const char *jobid;       /* PMI_JOBID */
    const char *rank;        /* PMI_ID, else PMI_RANK: decimal */
};

/* --- life cycle ------------------------------------------------- client_boot.c */

/* Find the server through PMI_FD or PMI_PORT and open; a singleton if neither is
 * set.  Again when open already: 0, nothing happens.  After a failure or
 * client_close: an error.  c->version and subversion are set when the server
 * told them, even if it refused us. */
int client_open(struct client *c, struct err *e);

/* Open over a connected descriptor, which the client takes. */
int client_open_fd(struct client *c, int fd, const struct client_id *id, struct err *e);

/* The same, of a process that is no rank: hello tells the server who it is, after the
 * opening line, and may say that thrids are known (c->thrids). */
typedef int client_hello(struct client *c, void *user, struct err *e);
int client_open_as(struct client *c, int fd, client_hello *hello, void *user, struct err *e);

/* The opening exchange with the server that is at c->fd.  0, or -1 and e.  The caller
 * has set the state to CLIENT_OPENING, and sets the next one. */
int client_greet(struct client *c, const struct client_id *id, struct err *e);

/* Say goodbye and close.  Calls of other threads fail; waits until they are out. */
int client_close(struct client *c, struct err *e);

/* Tell the server that we abort, if it can be told within two seconds; no reply.
 * Later calls fail.  code: the job's exit status, for servers with extended commands; 0:
 * none is said.  text: may be NULL; at most LIMIT_ABORT_TEXT bytes of it go.
 * True if the server has it and shows it to the user (extensions=abort-text). */
bool client_abort(struct client *c, bool world, int code, const char *text);

/* Where c stands. */
enum client_state client_state(struct client *c);

/* --- engine ---------------------------------------------------------- client.c */

/* Begin a request; the caller adds its pairs to k->req.  Always call_end after. */
void call_start(struct call *k, struct client *c, const char *cmd);

/* Send it and wait for the reply: 0 with k->reply, whose rc is 0; -1 and e if it
 * could not be done (k->reply is NULL) or the server refused (k->reply is there,
 * e has the server's words and code: its rc if that is 2..14, else ERR_OTHER). */
int  call_run(struct call *k, struct err *e);
void call_end(struct call *k);

/* Send it and return; what the request borrows is no longer needed then, but for its
 * name.  0: k->done will be called, and may have been; -1 and e: it will not.  Only while
 * a thread serves, with a server that knows thrids. */
int  call_post(struct call *k, struct err *e);
/* The same of a request that the caller sends in another way, after this.  call_forget: it was
 * not sent, and k is the caller's again; not if the connection is broken, as k->done is
 * called then. */
int  call_expect(struct call *k, struct err *e);
void call_forget(struct call *k);

/* Read for everybody until the connection ends; all that was posted is then done.  The
 * caller has set c->served before it made the thread that calls this.  client_close waits
 * for it to return. */
void client_serve(struct client *c, client_told *told, void *host);

/* Write bytes; one message is never torn by another.  A failure breaks c.
 * wait: seconds to wait for other writers, or -1 for ever. */
int client_send(struct client *c, const char *data, size_t len, int wait, struct err *e);

/* Read up to the end of the next frame.  Only the thread that opens, or that
 * set c->reading, may.  0, or -1 and e: end of the stream included. */
int client_next_frame(struct client *c, struct frame *f, struct err *e);

/* Seconds on a clock that only goes forward. */
double client_now(void);

/* 0 if a request can be made, or -1 and e.  c->lock is held. */
int client_usable(const struct client *c, struct err *e);

/* Remember what the environment has; the server says that it is right. */
void client_take_constants(struct client *c);

/* Make every call fail with e from now on.  c->lock is held. */
void client_break(struct client *c, const struct err *e);

/* Close fd, drop the stores, become state.  c->lock is held; waits for calls. */
void client_shut(struct client *c, enum client_state state);

/* --- commands ---------------------------------------------------- client_cmd.c */

/* Keys, values and names are checked here: see check_* in client_cmd.c. */
int client_put(struct client *c, const char *key, const char *val, struct err *e);
/* The same, and nobody is to put the key again.  A hint, where the server knows none. */
int client_put_read_only(struct client *c, const char *key, const char *val, struct err *e);
int client_fence(struct client *c, struct err *e);

/* found false, no error: there is no such key.  The value is appended to out. */
int client_get(struct client *c, const char *jobid, int src, const char *key,
               struct buf *out, bool *found, struct err *e);
int client_put_attr(struct client *c, const char *key, const char *val, struct err *e);
/* wait: until someone on this node puts it (node attributes). */
int client_get_attr(struct client *c, bool node, const char *key, bool wait,
                    struct buf *out, bool *found, struct err *e);

struct client_info { const char *key, *val; };  /* as PMI2_keyval_t */
enum { CLIENT_NAME_INFOS = 4 };                 /* twice what there are of one command */
/* infos: n of them, at most CLIENT_NAME_INFOS. */
int client_publish(struct client *c, const char *name, int n, const struct client_info *infos,
                   const char *port, struct err *e);
/* The port is appended to out. */
int client_lookup(struct client *c, const char *name, int n, const struct client_info *infos,
                  struct buf *out, struct err *e);
int client_unpublish(struct client *c, const char *name, struct err *e);
int client_job_id(struct client *c, struct buf *out, struct err *e);
int client_disconnect(struct client *c, const char *jobid, struct err *e);

/* Give value to both neighbours of the ring of the job's processes; theirs are
 * appended to left and right, pos is ours in the ring. */
int client_ring(struct client *c, const char *value, int *pos, struct buf *left,
                struct buf *right, struct err *e);

/* --- connecting ------------------------------------------------ client_connect.c */

struct client_channel {      /* to the process that leads the other job; all borrowed */
    int (*read)(void *buf, int maxlen, void *ctx);       /* as read(2) and write(2) */
    int (*write)(const void *buf, int len, void *ctx);
    void *ctx;
    int   master;            /* 1: we send first; 0: the other does; -1: whose job's id comes
                                first in the order of bytes */
};

/* Where the server does not know the other job, both sides' keys are exchanged over ch;
 * NULL: that is an error then. */
int client_connect(struct client *c, const char *jobid, const struct client_channel *ch,
                   struct err *e);

/* --- spawn ------------------------------------------------------ client_spawn.c */


struct client_spawn {        /* all borrowed */
    int                 ncmds;
    const char        **cmds;
    const int          *argcs;       /* NULL: each argv ends with NULL */
    const char       ***argvs;       /* NULL: no arguments; so may each of them be */
    const int          *maxprocs;
    const int          *ninfos;      /* NULL: none */
    const struct client_info **infos;
    int                 npreput;
    const struct client_info *preput;
};

/* The new job's id is appended to jobid.  errors, if not NULL: one code for each
 * process, sum of maxprocs of them; filled on failure, too. */
int client_spawn(struct client *c, const struct client_spawn *s, struct buf *jobid,
                 int *errors, struct err *e);

/* Key, text and length rules shared by the commands; -1 and e if broken. */
int check_key(const char *key, struct err *e);
/* A text other than these: at most max bytes, not empty. */
int check_text(const char *what, const char *text, size_t max, struct err *e);
int check_value(const struct client *c, const char *val, struct err *e);

/* --- no server ---------------------------------------------- client_singleton.c */

int single_open(struct client *c, struct err *e);            /* c->lock is held */

/* Whether c has no server.  If so its lock is held until single_leave, which passes rc
 * through.  Waits while another thread starts a launcher. */
bool single_enter(struct client *c);
int  single_leave(struct client *c, int rc);

/* Get a server, if c has none: start a launcher, and tell it all that was put.  0, also
 * in any other state; or -1 and e, and nothing has changed. */
int single_join(struct client *c, struct err *e);

/* Between single_enter and single_leave: */
int single_put(struct client *c, bool node, const char *key, const char *val,
               bool read_only, struct err *e);
/* found false: there is none. */
int single_get(struct client *c, bool node, const char *key, struct buf *out, bool *found,
               struct err *e);

/* --- a launcher ---------------------------------------------- client_launcher.c */

struct launcher {
    int  fd;                 /* owned: its PMI connection to us */
    int  pidfd;              /* owned; -1: the kernel has none */
    char path[4096];         /* the program, as it was started */
};

/* Start the launcher of a job of one, us: in the background, no child of this process,
 * with our stdout and stderr.  jobid: what the job is called.  0, or -1 and e; does not
 * wait for more than the exec. */
int  launcher_start(struct launcher *l, const char *jobid, struct err *e);
/* It did not do what it should: end it.  Closes both descriptors, as keep does pidfd. */
void launcher_end(struct launcher *l);
void launcher_keep(struct launcher *l);

/* How long it may take to answer: seconds (PMI2_LAUNCHER_TIMEOUT, or 60). */
double launcher_patience(void);

#endif
