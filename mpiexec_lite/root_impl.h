/* root_impl.h - what the root's source files share: root.c (the loop, signals,
 * the end), root_start.c (starting ranks) and root_pmi.c (the server core's
 * host). */
#ifndef MPIEXEC_LITE_ROOT_IMPL_H
#define MPIEXEC_LITE_ROOT_IMPL_H

#include "mpiexec_lite/conn.h"
#include "mpiexec_lite/control.h"
#include "mpiexec_lite/feed.h"
#include "mpiexec_lite/launch.h"
#include "mpiexec_lite/listen.h"
#include "mpiexec_lite/output.h"
#include "mpiexec_lite/root.h"

#include <limits.h>
#include <sys/queue.h>

enum { ROOT_BUFFER = 65536 };

struct rank {
    pid_t           pid;         /* 0: not running */
    struct pmi_conn conn;        /* fd -1: none */
};

struct port_peer {               /* a PMI_PORT connection: nobody's, then a rank's */
    struct pmi_conn conn;
    TAILQ_ENTRY(port_peer) in_list;
};
TAILQ_HEAD(port_peers, port_peer);

struct root {
    const struct root_args *args;
    const struct plan *plan;
    struct ev_loop   *loop;      /* owned, as is what follows */
    struct server    *server;
    struct job       *job;
    struct launch     launch;
    struct output    *output;
    struct feed      *feed;      /* NULL: no stdin is forwarded */
    struct listener  *listener;  /* -pmi-port, until all ranks are in */
    struct port_peers peers;
    struct rank      *ranks;     /* by rank */
    int               size, unbound;     /* ranks; of them not yet bound to a port peer */
    struct pmi_conn_env conn_env;
    struct control    control;
    struct inherited  user;
    char              hostname[HOST_NAME_MAX + 1];
    char              jobid[40];
    int               signals;   /* signalfd */
    int               null;      /* /dev/null, for the stdin of most ranks; -1: none */
    int               warned;    /* warnings of the server so far */
    ev_io             on_signals, on_control;
    ev_timer          tick;
    ev_prepare        prepare;
    double            due;       /* what tick is set for; 0: not set */
    double            over, ended;       /* when the last rank ended, and when that, or a
                                            cause after it, was a failure; 0: not yet */
    int               status;    /* exit status, once concluded */
    bool              front_gone, concluded, spoke_pmi, checked_mpi, trace_ended;
    char             *buffer;    /* ROOT_BUFFER bytes for all reads */
};

/* A warning or message for the user; made safe for a terminal. */
void root_tell(struct root *r, const char *fmt, ...) PRINTF(2, 3);
/* The same, for -v given at least `level` times. */
void root_say(struct root *r, int level, const char *fmt, ...) PRINTF(3, 4);
double root_now(struct root *r);         /* seconds; only goes forward */

/* root_start.c: start every rank, or as many as can be; the rest is told to
 * r->launch.  -1 and e if not even the preparations worked. */
int root_start_ranks(struct root *r, struct err *e);

/* root_pmi.c */
int  root_pmi_init(struct root *r, struct err *e);
void root_pmi_clear(struct root *r);
/* The short name of a rank's program. */
const char *root_program(void *host, int rank);
/* Each rank's state on stderr (SIGQUIT). */
void root_report(struct root *r);

#endif
