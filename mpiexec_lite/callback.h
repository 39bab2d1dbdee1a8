/* callback.h - proxies that call back (-launcher tcp and manual): the port they dial,
 * and their login.  gate.h says what strangers can do. */
#ifndef MPIEXEC_LITE_CALLBACK_H
#define MPIEXEC_LITE_CALLBACK_H

#include "mpiexec_lite/plan.h"

#include <stdbool.h>

struct callback_ops {
    /* Is the server of this position still expected?  True takes its place. */
    bool (*claim)(void *host, int position);
    /* It has logged in: fd (taken) is its stream, opened. */
    void (*accepted)(void *host, int position, int fd);
    /* A true proxy that cannot be let in: it will not come. */
    void (*refused)(void *host, int position, const char *why);
    /* munge works here: they can come.  Or it does not: nobody can. */
    void (*works)(void *host);
    void (*broken)(void *host, const char *why);
    void (*log)(void *host, const char *text);
};

struct callback_args {
    const char *job;                 /* its id; borrowed */
    int         positions;
    const struct launch_options *how;    /* munge's socket, and where they call; borrowed */
    const struct port_range *ports;  /* (ports.h); borrowed */
};

struct ev_loop;
struct callback;

/* Listen, and see whether munge works.  NULL and e. */
struct callback *callback_new(struct ev_loop *loop, const struct callback_args *args,
                              const struct callback_ops *ops, void *host, struct err *e);
/* Servers of so many positions may call, also where the port had been closed: it is
 * another one then, and munge is tried again.  0, or -1 and e. */
int  callback_open(struct callback *c, int positions, struct err *e);
/* Has munge answered since the port was opened? */
bool callback_works(const struct callback *c);
/* Where to dial: "ADDRESS:PORT[,ADDRESS:PORT...]". */
const char *callback_addresses(const struct callback *c);
/* Nobody else is expected: close the port.  Streams that are open stay. */
void callback_stop(struct callback *c);
void callback_free(struct callback *c);

#endif
