/* output.h - the stdout and stderr of one job's ranks, from their pipes to their
 * places.
 *
 * When a place can take no more, the pipes of its ranks are simply not read until it
 * can, and the ranks wait. */
#ifndef MPIEXEC_LITE_OUTPUT_H
#define MPIEXEC_LITE_OUTPUT_H

#include "mpiexec_lite/places.h"
#include "mpiexec_lite/plan.h"

struct output;

/* Somebody reads along what ranks write, beside the places. */
struct output_tap {
    /* Whether it can take all of a read.  If not, ranks that are watched wait, until
     * output_go_on. */
    bool (*ready)(void *host);
    /* len 0: the stream has ended. */
    void (*take)(void *host, int rank, bool errors, const char *data, size_t len);
};

struct output_args {             /* all borrowed */
    struct places     *places;
    const struct plan *plan;     /* of the job: labels, files, who is shown */
    int         job;             /* its number: %g of patterns */
    int         node;            /* ours, as an index of the plan's hosts; -1: none */
    const char *hostname;        /* ours */
    char       *buffer;          /* size bytes that all reads share */
    size_t      size;
    void      (*wrote)(void *host, int rank);    /* a stream of a rank here has its first
                                    bytes; NULL: nobody wants to know */
    void       *host;
};

/* NULL and e on failure.  To be freed before the places. */
struct output *output_new(const struct output_args *args, struct err *e);
void output_free(struct output *o);

/* Others write to the same place: bytes no longer pass as they come. */
void output_mind_lines(struct output *o);
/* input is what the rank that has stdin reads from (borrowed; -1, as at first: nobody
 * reads; -2: somebody does, but not from here).  While it has nothing to read, a line
 * that this rank leaves unfinished is taken for a prompt and shown. */
void output_set_input(struct output *o, int input);

/* What watched ranks write goes there, too; borrowed.  None is at first. */
void output_tap(struct output *o, const struct output_tap *tap, void *host);
/* This rank, whether it is here or not, or with -1 all; each but once. */
void output_watch(struct output *o, int rank, bool on);
void output_go_on(struct output *o);
/* Forward a rank's pipes (read ends, non-blocking; taken, also on failure; err_fd -1:
 * stderr comes with stdout).
 * 0, or -1 and e: an output file cannot be opened, or no memory. */
int  output_add(struct output *o, int rank, int out_fd, int err_fd, struct err *e);

/* Output of another node, as its send gave it.  node: index of the plan's hosts; rank:
 * as there.  The beginning of a line waits for its rest unless flush says that there is
 * none.  False: that is enough for now, until places_ops.taken. */
bool output_take(struct output *o, int node, int rank, bool errors, bool flush,
                 const char *data, size_t len);
/* Open the files of a rank of another node.  0, or -1 and e. */
int  output_open(struct output *o, int node, int rank, struct err *e);
/* Nothing more comes from other nodes: what they left unfinished is shown. */
void output_end_far(struct output *o);

/* Append the last lines that a rank here has written to stderr. */
void output_last_words(const struct output *o, int rank, struct buf *out);
bool output_ended(const struct output *o);       /* every stream has ended */
/* Hand on what has arrived and close every stream that is still open. */
void output_close_streams(struct output *o);

/* For places.c: this sink can take more. */
void outputs_resume(struct places *p, struct sink *s);

#endif
