/* root_impl.h - what the root's source files share: root.c (the loop, signals, the
 * end), root_node.c (its own ranks and all output), root_spread.c (bringing up the
 * servers of other nodes), root_tree.c (these servers) and root_input.c (stdin). */
#ifndef MPIEXEC_LITE_ROOT_IMPL_H
#define MPIEXEC_LITE_ROOT_IMPL_H

#include "mpiexec_lite/bundle.h"
#include "mpiexec_lite/callback.h"
#include "mpiexec_lite/control.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/node.h"
#include "mpiexec_lite/remote.h"
#include "mpiexec_lite/root.h"

#include <limits.h>

enum position_state { AT_AWAY, AT_CONNECTED, AT_READY };

struct position {                /* a server of the tree */
    enum position_state state;
    bool     quiet;              /* all output of its ranks has come */
    bool     reads;              /* ranks there read stdin */
    size_t   taken;              /* bytes of stdin that they have taken */
};

struct root {
    const struct root_args *args;
    const struct plan *plan;
    struct ev_loop   *loop;      /* owned, as is what follows */
    struct node       node;      /* the ranks of this host */
    struct launch     launch;
    struct strlist   *envs;      /* by block */
    struct buf        bundle;    /* the job, for the servers of other nodes */
    struct tree       tree;
    struct remotes    below;
    struct callback  *callback;  /* -launcher tcp and manual; else NULL */
    struct position  *at;        /* by position */
    int              *positions; /* by node */
    int               connected, ready, quiet;   /* positions, the root's own left out */
    bool              decided;   /* tree or flat */
    int               tried;     /* position that a server could not reach in a trial; 0: none */
    bool              started, closing_streams;
    struct control    control;
    struct inherited  user;
    char              hostname[HOST_NAME_MAX + 1];
    char              beside[PATH_MAX];  /* pmi2_proxy beside this program */
    char              jobid[40];
    size_t            input_given;       /* bytes of stdin that were granted again */
    int               signals;   /* signalfd */
    ev_io             on_signals, on_control;
    ev_timer          tick, progress, trial;
    ev_prepare        prepare;
    double            due;       /* what tick is set for; 0: not set */
    double            began, first_up;   /* when; the first other server was there */
    double            over, ended;       /* when the last rank ended, and when that, or a
                                            cause after it, was a failure; 0: not yet */
    double            give_up;   /* when hosts whose ranks live are given up; 0: not set */
    double            finish_by; /* when the other servers have had time enough to end */
    int               left;      /* processes that they could not kill */
    int               status;    /* exit status, once concluded */
    bool              front_gone, concluded, finishing, trace_ended;
    bool              line_shown;        /* of progress */
    bool              told_left;         /* who has not ended in time */
};

/* A warning or message for the user; made safe for a terminal. */
void root_tell(struct root *r, const char *fmt, ...) PRINTF(2, 3);
/* The same, for -v given at least `level` times. */
void root_say(struct root *r, int level, const char *fmt, ...) PRINTF(3, 4);
double root_now(struct root *r);         /* seconds; only goes forward */
/* Every server is ready: start the ranks. */
void root_start(struct root *r);
void root_broken(struct root *r, int status, const char *text);

/* root_node.c */
extern const struct node_ops root_node_ops;
int  root_output_init(struct root *r, struct err *e);
void root_output_failed(void *host, const char *what, int errnum);
/* Open the output files of all ranks of other nodes. */
int  root_open_files(struct root *r, struct err *e);
/* A message of a server below with output. */
int  root_take_output(struct root *r, struct remote *from, const struct msg *m,
                      const char *payload, size_t len, struct err *e);
void root_write_trace(struct root *r, struct buf *line);

/* root_spread.c */
int  root_spread_init(struct root *r, struct err *e);
void root_check_ready(struct root *r);
void root_progress_end(struct root *r);
/* A server of ours is up: who is below it, once that is known. */
void root_grow(struct root *r, struct remote *x);
/* The first server below a server has come up, or has not. */
void root_trial_over(struct root *r, bool ok, const char *why);

/* root_tree.c */
extern const struct remote_ops root_remote_ops;
bool root_is_alone(const struct root *r);        /* no other server takes part */
void root_send(struct root *r, const char *cmd, const char *key, int n,
               const char *key2, int n2);
/* Give up the hosts whose ranks did not end, as they do not answer. */
void root_drop_silent(struct root *r);
/* Name the hosts that have not ended in time. */
void root_tell_unfinished(struct root *r);

/* root_input.c */
int  root_input_init(struct root *r, struct err *e);
void root_input(struct root *r, const char *data, size_t len);   /* len 0: its end */
void root_input_taken(struct root *r, int position, size_t bytes);
void root_input_closed(struct root *r, int position);

#endif
