/* places.h - where output goes: the launcher's stdout and stderr, and files.
 *
 * On another node than the launcher's, places hand on what they get (ops.send) and
 * keep apart what is to go to different files.  All memory is bounded: a place that
 * can take no more says so (sink_full), and when it can again (ops.resume). */
#ifndef MPIEXEC_LITE_PLACES_H
#define MPIEXEC_LITE_PLACES_H

#include "mpiexec_lite/sink.h"

#include <sys/queue.h>

struct places_ops {
    /* What ("write to stdout", ...) failed with errnum.  Told once. */
    void (*failed)(void *host, const char *what, int errnum);
    /* On a node that is not the launcher's: send output to where it goes.  rank: whose
     * it is, or -1: of any.  How many bytes were taken; with less than len, places_go_on
     * tells when more can be.  NULL: output goes to our own stdout, stderr and files. */
    size_t (*send)(void *host, int rank, bool errors, const char *data, size_t len);
    /* What was held back for a full place may come now.  Or NULL. */
    void (*taken)(void *host);
};

struct place {                   /* a sink and its name in a list */
    struct sink sink;
    TAILQ_ENTRY(place) in_list;
};
TAILQ_HEAD(place_list, place);

struct output;
TAILQ_HEAD(outputs, output);

struct places {
    struct ev_loop    *loop;     /* borrowed, like the next two */
    const struct places_ops *ops;
    void              *host;
    struct sink        out, err; /* ours; err is not used if both are one place */
    struct sink       *errors;   /* where stderr goes: &err or &out */
    struct place_list  files;    /* owned */
    struct outputs     outputs;  /* whose streams go here (output.h) */
    unsigned long      untold;   /* messages dropped since the last one that was not */
    bool               failed;
};

/* 0, or -1 and e; to be cleared either way, when no output is left. */
int  places_init(struct places *p, struct ev_loop *loop, const struct places_ops *ops,
                 void *host, struct err *e);
void places_clear(struct places *p);

/* The file of that name, opened and emptied if it is new.  NULL and e. */
struct sink *places_file(struct places *p, const char *name, struct err *e);
/* Where ops.send is set: the place for what this rank alone writes.  NULL and e. */
struct sink *places_of_rank(struct places *p, int rank, bool errors, struct err *e);

/* errnum has come up with this sink; told if it is the first. */
void places_failed(struct places *p, const char *what, int errnum);
/* Bytes were added to s->out: write them if they are many. */
void places_added(struct places *p, struct sink *s);

/* Write what has been put together; to be called once a loop turn, before waiting. */
void places_flush(struct places *p);
bool places_flushed(const struct places *p);     /* nothing waits to be written */
bool places_full(const struct places *p);        /* some place waits for its reader */
void places_go_on(struct places *p);             /* ops.send can take more */
/* Write a line as it is to stdout or stderr, behind what ranks wrote there.  False: so much
 * waits to be written that it is lost. */
bool places_line(struct places *p, bool errors, const char *line, size_t len);
/* Write a line of our own to stderr, behind what ranks wrote there. */
void places_tell(struct places *p, const char *line);

#endif
