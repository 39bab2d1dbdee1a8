/* output.h - the ranks' stdout and stderr, from their pipes to where they go.
 *
 * All memory is bounded: when a place can take no more, its ranks' pipes are
 * simply not read until it can, and the ranks wait. */
#ifndef MPIEXEC_LITE_OUTPUT_H
#define MPIEXEC_LITE_OUTPUT_H

#include "mpiexec_lite/plan.h"

#include <ev.h>

struct output;

struct output_ops {
    /* What ("write to stdout", ...) failed with errnum.  Told once. */
    void (*failed)(void *host, const char *what, int errnum);
    /* On a node that is not the launcher's: send output to where it goes.  rank: whose
     * it is, or -1: of any.  How many bytes were taken; with less than len, output_go_on
     * tells when more can be.  NULL: output goes to our own stdout, stderr and files. */
    size_t (*send)(void *host, int rank, bool errors, const char *data, size_t len);
    /* What was held back by output_take may come now. */
    void (*taken)(void *host);
};

/* node, hostname: ours, the former as an index of the plan's hosts (-1: not one of
 * them).  buffer: size bytes that all reads share (borrowed).  NULL and e on failure. */
struct output *output_new(struct ev_loop *loop, const struct plan *plan, int node,
                          const char *hostname, char *buffer, size_t size,
                          const struct output_ops *ops, void *host, struct err *e);
void output_free(struct output *o);

/* input is what the rank that has stdin reads from (borrowed; -1, as at first: nobody
 * reads; -2: somebody does, but not from here).  While it has nothing to read, a line that this rank leaves unfinished is
 * taken for a prompt and shown. */
void output_set_input(struct output *o, int input);

/* Forward a rank's pipes (read ends, non-blocking; taken, also on failure; err_fd -1:
 * stderr comes with stdout).
 * 0, or -1 and e: an output file cannot be opened, or no memory. */
int  output_add(struct output *o, int rank, int out_fd, int err_fd, struct err *e);

/* Output of another node, as its send gave it.  node: index of the plan's hosts; rank:
 * as there.  The beginning of a line waits for its rest unless flush says that there is
 * none.  False: that is enough for now, until ops.taken. */
bool output_take(struct output *o, int node, int rank, bool errors, bool flush,
                 const char *data, size_t len);
/* Open the files of a rank of another node.  0, or -1 and e. */
int  output_open(struct output *o, int node, int rank, struct err *e);
/* Nothing more comes from other nodes: what they left unfinished is shown. */
void output_end_far(struct output *o);
/* Some place waits for its reader. */
bool output_full(const struct output *o);
/* ops.send can take more. */
void output_go_on(struct output *o);

bool output_ended(const struct output *o);       /* every stream has ended */
bool output_flushed(const struct output *o);     /* nothing waits to be written */
/* Write what has been put together; to be called once a loop turn, before waiting. */
void output_flush(struct output *o);
/* Hand on what has arrived and close every stream that is still open. */
void output_close_streams(struct output *o);
/* Write a line of our own to stderr, behind what ranks wrote there. */
void output_tell(struct output *o, const char *line);

#endif
