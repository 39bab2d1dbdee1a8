/* proxy_impl.h - what the proxy's source files share: proxy.c (the loop, the set-up, the
 * end), proxy_job.c (a job's part here), proxy_survey.c (what its ranks use, where they are),
 * proxy_query.c (what is answered here), proxy_look.c (looks at files), proxy_tools.c (tools of
 * its node), proxy_timeline.c (what was when) and proxy_link.c (messages from above and below). */
#ifndef MPIEXEC_LITE_PROXY_IMPL_H
#define MPIEXEC_LITE_PROXY_IMPL_H

#include "mpiexec_lite/bundle.h"
#include "mpiexec_lite/crew.h"
#include "mpiexec_lite/events.h"
#include "mpiexec_lite/glance.h"
#include "mpiexec_lite/proxy.h"
#include "mpiexec_lite/remote.h"
#include "mpiexec_lite/stacker.h"
#include "mpiexec_lite/tool_stream.h"
#include "mpiexec_lite/tools.h"

#include <limits.h>

struct proxy_job {
    TAILQ_ENTRY(proxy_job) in_proxy;
    struct proxy   *proxy;           /* borrowed */
    int             number;          /* 0: of the command line */
    struct bundle   bundle;          /* owned, as is what follows */
    char          **programs;        /* by block; NULL where no rank is here */
    struct places   places;
    struct crew     crew;
    struct rank_state *states;       /* by index in crew.ranks: what the launcher knows of them
                                        too, as far as it comes by here */
    bool            ending;          /* it is being ended */
    bool            released;        /* ranks that wait at a place of their own, likewise */
    bool            started, quiet;
    bool            unhooked;        /* set-up providers have nothing left to do, and that was
                                        said */
    bool            watched;         /* its output is from the start */
};
TAILQ_HEAD(proxy_jobs, proxy_job);

struct proxy {
    const struct proxy_args *args;
    struct ev_loop *loop;            /* owned, as is what follows */
    struct proxy_jobs jobs;
    struct proxy_job *main;          /* of the command line; NULL: not set up yet */
    struct buf      raw;             /* its bundle as it came, for those below */
    struct tree     tree;
    int             position;        /* 0: not set up yet */
    struct node     node;
    struct remotes  below;
    struct link    *up;
    struct peer    *peer;            /* the core's name for it */
    char            hostname[HOST_NAME_MAX + 1];
    int             signals;
    ev_io           on_signals, on_guard;
    ev_prepare      prepare;
    struct buf      ended;           /* records of ranks that have, to be sent */
    struct glances  glances;
    struct stacker  stacker;
    struct msg      msg;             /* scratch */
    bool            tried;           /* the first below was started alone, as a trial */
    struct tools   *tools;           /* whose socket is open; NULL: it is not */
    struct tool_streams streams;     /* those of tools */
    long long       tool_number;     /* of the last one */
    bool            grown, finishing, done;
    int             left;            /* processes that could not be killed, here and below */
};

/* proxy.c */
int  proxy_set_up(struct proxy *p, int position, const char *bundle, size_t len,
                  struct err *e);
int  proxy_grow(struct proxy *p, int width, bool trial, struct err *e);
void proxy_finish(struct proxy *p);
void proxy_say_ready(struct proxy *p);
void proxy_send_ended(struct proxy *p);                  /* ranks that have, since the last time */
/* It cannot go on: that is the job's end, with this status. */
void proxy_broken_with(struct proxy *p, int status, const char *why);
void proxy_broken(struct proxy *p, const char *why);     /* EXIT_LAUNCHER */

/* proxy_job.c */
/* From a bundle as it came.  NULL and e. */
struct proxy_job *proxy_job_new(struct proxy *p, int number, const char *data, size_t len,
                                struct err *e);
/* Its crew and output, once the node is there.  0, or -1 and e. */
int  proxy_job_init(struct proxy_job *j, struct err *e);
void proxy_job_free(struct proxy_job *j);
struct proxy_job *proxy_job_find(struct proxy *p, long long number);     /* or NULL */
struct proxy_job *proxy_job_of(const struct crew *c);
struct rank_state *proxy_job_state(struct proxy_job *j, long long rank); /* or NULL: not here */
int  proxy_job_ranks_below(const struct proxy_job *j);   /* here and below */
/* The job of the command line: whatever its ranks need; failure is told, and -1. */
int  proxy_job_prepare(struct proxy_job *j);
void proxy_job_start(struct proxy_job *j);
/* Providers have set up this node; or not, as why says. */
void proxy_job_prepared(struct proxy_job *j);
void proxy_job_unprepared(struct proxy_job *j, const char *why, int errnum);
/* Another job: all at once; what fails is told for each rank.  -1 and e: the job cannot
 * be made at all. */
int  proxy_job_begin(struct proxy_job *j, struct err *e);
void proxy_job_sweep(struct proxy_job *j);
void proxy_job_close_streams(struct proxy_job *j);
/* The link can take more of its output. */
void proxy_job_room(struct proxy_job *j);
/* When all output of ranks here has been handed to the link: say so, once. */
void proxy_job_say_quiet(struct proxy_job *j);
/* Likewise for providers. */
void proxy_job_say_unhooked(struct proxy_job *j);
struct msg *proxy_job_message(struct proxy_job *j, const char *cmd);     /* proxy->msg */

/* proxy_survey.c: the message survey */
void proxy_survey_init(struct proxy *p);
int  proxy_survey(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                  struct err *e);
/* proxy_query.c: a request (the body of a frame) is answered here, if it can be: the frames of
 * the reply.  mine: the job of who asks; NULL: it is a tool. */
#define PROXY_QUERY "cmd=pmix-query;"        /* one that can begins with this */
bool proxy_query(struct proxy *p, const char *mine, const char *text, size_t len,
                 struct buf *reply);
/* That of a rank here; server.h's op answer, host being the proxy. */
bool proxy_answer(void *host, struct member *m, const struct frame *f, struct buf *reply);
/* proxy_cleanup.c */
int  proxy_cleanup(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                   struct err *e);       /* a message */
/* proxy_look.c */
void proxy_look_init(struct proxy *p);
int  proxy_look(struct proxy *p, const struct msg *m, struct err *e);    /* a message */

/* proxy_timeline.c: the message clock; what was kept of ranks here goes up */
int  proxy_clock(struct proxy *p, const struct msg *m, struct err *e);
void proxy_send_moments(struct proxy *p);

/* proxy_tools.c: the message tools; those about streams of tools */
int  proxy_tools_open(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                      struct err *e);
int  proxy_tools_told(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                      struct err *e);
void proxy_tools_clear(struct proxy *p);

/* proxy_link.c */
extern const struct link_ops proxy_link_ops;
extern const struct remote_ops proxy_remote_ops;
struct msg *proxy_message(struct proxy *p, const char *cmd);     /* p->msg, begun */
void proxy_send(struct proxy *p, const char *payload, size_t len);
/* A message as it came: in p->msg; to all below. */
struct msg *proxy_copy(struct proxy *p, const struct msg *m);
void proxy_pass_down(struct proxy *p, const struct msg *m, const char *payload, size_t len);
/* To the one below that leads to this position, if there is a way. */
void proxy_pass_towards(struct proxy *p, long long position, enum link_class c,
                        const struct msg *m, const char *payload, size_t len);
/* The job that a message is about; NULL: it is over, or (e) makes no sense. */
struct proxy_job *proxy_job_named(struct proxy *p, const struct msg *m, struct err *e);
void proxy_send_event(struct proxy_job *j, const char *kind, int rank, int code,
                      const char *text);

#endif
