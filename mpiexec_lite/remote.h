/* remote.h - the servers below this one: started through a launcher, spoken to over
 * its stdin and stdout, and seen to their end.
 *
 * Each goes waiting -> starting -> up -> done -> ended; a server that does not come up
 * or is lost is told once.  The same in the root and in proxies. */
#ifndef MPIEXEC_LITE_REMOTE_H
#define MPIEXEC_LITE_REMOTE_H

#include "mpiexec_lite/child.h"
#include "mpiexec_lite/hooks.h"
#include "mpiexec_lite/link.h"
#include "mpiexec_lite/noise.h"
#include "mpiexec_lite/scheduler.h"
#include "mpiexec_lite/spread.h"
#include "mpiexec_lite/tree.h"
#include "pmi2/server.h"

struct remote;

struct remote_ops {
    /* A message that is not the server core's. */
    int  (*message)(void *host, struct remote *r, const struct msg *m, const char *payload,
                    size_t len, struct err *e);
    void (*connected)(void *host, int position);
    /* It never came up; status is of the launcher (EXIT_...). */
    void (*failed)(void *host, int position, const char *why);
    /* It was up, and is gone, with all below it. */
    void (*lost)(void *host, int position, const char *why);
    void (*tell)(void *host, const char *text);
    /* manual: a line for stdout.  NULL: there is no such launcher here. */
    void (*print)(void *host, const char *line);
};

struct remotes_args {
    struct ev_loop   *loop;
    const struct plan *plan;
    struct tree       tree;
    struct server    *server;            /* gets a peer for each */
    struct link      *up;                /* of a proxy: data from below waits for room there;
                                            NULL: the root, which keeps it */
    const char       *bundle;            /* what each is sent first; borrowed */
    size_t            bundle_len;
    const char       *connect, *job;     /* tcp, manual: where proxies call back; job id */
    const struct inherited *user;
    const struct remote_ops *ops;
    void             *host;
};

enum remote_state { REMOTE_WAITING, REMOTE_STARTING, REMOTE_UP, REMOTE_DONE, REMOTE_ENDED };

struct remotes;

struct remote {
    struct remotes   *all;
    int               position;
    const struct host *where;
    enum remote_state state;
    enum proxy_where  how;
    struct remote    *leader;            /* whose launcher program starts this one as well;
                                            mostly itself */
    int               together;          /* of a leader: those that have not ended */
    pid_t             pid;               /* of a leader's launcher program; 0: none */
    int               status;            /* its wait status, once it has ended */
    struct link      *link;              /* owned; NULL: none */
    struct peer      *peer;              /* owned */
    int               errors;            /* a leader's: stderr of that; -1: none */
    ev_io             on_errors;
    ev_timer          timer;
    struct buf        words;             /* owned: what it said on stderr last */
    int               tries;
    size_t            held;              /* for its owner: bulk not granted again yet */
    size_t            watched;           /* the same, of what is read along */
    size_t            held_data;         /* data that was taken while there was no room up */
    bool              claimed;           /* tcp: its proxy has logged in */
    bool              cut, silent;       /* the stream has ended; by silence */
    char              why[160];          /* and why, if that is known */
};

struct remotes {
    struct remotes_args args;
    struct remote  **v;                  /* owned, and each of them */
    int              n, starting, left;  /* all; being started; not ended */
    int              next;               /* first that was not started yet */
    bool             ending;             /* nothing is started, or told as lost, any more */
    bool             held;               /* nothing is started yet */
    char            *proxy;              /* owned: path of pmi2_proxy beside this program */
    char            *staging;            /* owned: shell words of -stage-proxy, once needed */
    struct buf       program;            /* owned: its bytes */
    struct noise     noise;              /* what hosts print, until all are up */
};

void remotes_init(struct remotes *rs, const struct remotes_args *args);
void remotes_clear(struct remotes *rs);  /* kills what still runs */
/* Start servers at n positions from first on, a window of them at a time; those that
 * were given earlier are not started again, and dropped where n is less.  0, or -1: no
 * memory. */
int  remotes_launch(struct remotes *rs, int first, int n);
/* n more, once those are there: hosts that have been added to the plan. */
int  remotes_add(struct remotes *rs, int position, int n);
/* Kill and reap all descendants but these and what is theirs; of those that name their
 * job (PMI_JOBID) only the ones of this job, NULL: any.  How many are left. */
int  remotes_sweep(struct remotes *rs, const struct all_hooks *hooks,
                   const struct scheduler *scheduler, const char *jobid,
                   double seconds);
/* Who was added from now on is started only once this is taken back: it is not certain
 * that they can come. */
void remotes_hold(struct remotes *rs, bool held);
/* A child has ended; false if it is none of these. */
bool remotes_reaped(struct remotes *rs, pid_t pid, int wstatus);

/* The one at or above this position; NULL. */
struct remote *remotes_towards(struct remotes *rs, int position);
/* There is room for data on the link up. */
void remotes_room(struct remotes *rs);
/* Queue a message for all that are up. */
void remotes_send(struct remotes *rs, struct msg *m, const char *payload, size_t len);
/* tcp, manual: whether a proxy of this position is awaited, which has come with that;
 * and its stream (taken). */
bool remotes_claim(struct remotes *rs, int position);
void remotes_accept(struct remotes *rs, int position, int fd);
/* It will not come: why. */
void remotes_refuse(struct remotes *rs, int position, const char *why);
/* It has said that it is done: its stream may end. */
void remote_done(struct remote *r);
/* It is awaited no more, and nothing is told of it; its launcher program is killed. */
void remote_drop(struct remote *r);
/* From now on an end is no loss: who is not up is given up. */
void remotes_end(struct remotes *rs);
/* Who has neither said that it is done nor ended. */
struct remote *remotes_unfinished(struct remotes *rs);

#endif
