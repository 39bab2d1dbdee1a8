/* proxy_impl.h - what the proxy's source files share: proxy.c (the loop, its own ranks,
 * the end) and proxy_link.c (messages from above and below). */
#ifndef MPIEXEC_LITE_PROXY_IMPL_H
#define MPIEXEC_LITE_PROXY_IMPL_H

#include "mpiexec_lite/bundle.h"
#include "mpiexec_lite/events.h"
#include "mpiexec_lite/node.h"
#include "mpiexec_lite/proxy.h"
#include "mpiexec_lite/remote.h"

#include <limits.h>

struct proxy {
    const struct proxy_args *args;
    struct ev_loop *loop;            /* owned, as is what follows */
    struct bundle   bundle;
    struct buf      raw;             /* the bundle as it came, for those below */
    struct tree     tree;
    int             position;        /* 0: not set up yet */
    struct node     node;
    struct remotes  below;
    struct link    *up;
    struct peer    *peer;            /* the core's name for it */
    char          **programs;        /* by block; NULL where no rank is here */
    char            hostname[HOST_NAME_MAX + 1], beside[PATH_MAX];
    int             signals;
    ev_io           on_signals, on_guard;
    ev_prepare      prepare;
    struct buf      ended;           /* records of ranks that have, to be sent */
    struct msg      msg;             /* scratch */
    bool            tried;           /* the first below was started alone, as a trial */
    bool            grown, started, quiet, finishing, done;
    int             left;            /* processes that could not be killed, here and below */
};

/* proxy.c */
int  proxy_set_up(struct proxy *p, int position, const char *bundle, size_t len,
                  struct err *e);
int  proxy_grow(struct proxy *p, int width, bool trial, struct err *e);
void proxy_start(struct proxy *p);
void proxy_sweep(struct proxy *p);
void proxy_close_streams(struct proxy *p);
void proxy_finish(struct proxy *p);
/* It cannot go on: that is the job's end. */
void proxy_broken(struct proxy *p, const char *why);

/* proxy_link.c */
extern const struct link_ops proxy_link_ops;
extern const struct remote_ops proxy_remote_ops;
struct msg *proxy_message(struct proxy *p, const char *cmd);     /* p->msg, begun */
void proxy_send(struct proxy *p, const char *payload, size_t len);
void proxy_send_event(struct proxy *p, const char *kind, int rank, int code,
                      const char *text);

#endif
