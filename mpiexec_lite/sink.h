/* sink.h - one place that output goes to: our stdout, our stderr, or a file.
 *
 * Writes never block.  Our own stdout is a file description that we share with
 * the shell and others, so it is not made non-blocking: a pipe or terminal is
 * opened anew, a socket is sent to with MSG_DONTWAIT, a file does not block. */
#ifndef MPIEXEC_LITE_SINK_H
#define MPIEXEC_LITE_SINK_H

#include "mpiexec_lite/iof.h"

#include <ev.h>

struct sink;

/* Where bytes go instead of a descriptor: how many were taken; fewer than len when it
 * is full, until sink_go_on. */
typedef size_t sink_put(void *host, struct sink *s, const char *data, size_t len);

struct sink_ops {
    /* The sink, which was full, can take more again. */
    void (*resume)(void *host, struct sink *s);
    /* A write failed with errnum; the sink drops everything from then on. */
    void (*failed)(void *host, struct sink *s, int errnum);
};

struct sink {
    struct ev_loop *loop;            /* borrowed */
    const struct sink_ops *ops;
    void           *host;
    int             fd;              /* what is written to; -1: put takes it */
    sink_put       *put;
    int             rank;            /* for put: whose output it is alone; -1: of several */
    bool            errors;          /* for put: it is stderr */
    bool            owned;           /* fd is ours to close */
    bool            chosen, socket, poll;    /* how not to block; see sink.c */
    bool            dead;            /* a write has failed */
    bool            widened;         /* a pipe: was made larger */
    bool            blocked;         /* waits until fd can take bytes */
    struct buf      out;             /* owned: not yet written */
    ev_io           writable;
    struct iof_line line;
    char           *name;            /* owned; "stdout", "stderr" or a file name */
};

/* A sink whose bytes are taken by put.  0, or -1: no memory. */
int  sink_init_put(struct sink *s, struct ev_loop *loop, sink_put *put, int rank, bool errors,
                   const struct sink_ops *ops, void *host);
/* put can take more again. */
void sink_go_on(struct sink *s);

/* A sink on fd (owned: it is closed at the end).  0, or -1: no memory. */
int  sink_init(struct sink *s, struct ev_loop *loop, int fd, bool owned, const char *name,
               const struct sink_ops *ops, void *host);
void sink_clear(struct sink *s);

/* Open a file for output as a cautious program does: not through a link; a regular
 * file or FIFO only if it is ours, a regular file only if it has one name.  It is
 * written at its end, and not emptied yet.  The descriptor, or -1 and e. */
int  sink_open_file(const char *name, struct err *e);
/* Empty a file that was opened.  0, or -1 and e. */
int  sink_empty_file(int fd, const char *name, struct err *e);

/* Write all to a descriptor of no sink, now; a FIFO that is full is waited for a little.  0,
 * or -1 and errno. */
int  sink_write_all(int fd, const char *data, size_t len);

/* Write len bytes behind what is waiting; what cannot be written now waits. */
void sink_write(struct sink *s, const char *data, size_t len);
/* Try to write what waits in s->out. */
void sink_flush(struct sink *s);
/* What feeds it should wait: it waits for its own reader. */
static inline bool sink_full(const struct sink *s) { return s->blocked; }
static inline bool sink_idle(const struct sink *s) { return !s->out.len; }

#endif
