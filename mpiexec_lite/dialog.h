/* dialog.h - a connected socket over which short messages go both ways: PMI-2 frames
 * (wire/FORMAT), without payload and without an opening exchange.
 *
 * Neither side blocks.  Who does not read what is sent to him is not read either.  Not
 * thread-safe. */
#ifndef MPIEXEC_LITE_DIALOG_H
#define MPIEXEC_LITE_DIALOG_H

#include "wire/msg.h"

#include <ev.h>

struct dialog;

struct dialog_ops {
    /* A message; its strings live until this returns.  -1 and e: it makes no sense, the
     * connection ends. */
    int  (*message)(void *host, struct dialog *d, const struct msg *m, struct err *e);
    /* It is over: closed by the other side (""), or why.  The descriptor is closed; the
     * dialog may be cleared and freed here. */
    void (*closed)(void *host, struct dialog *d, const char *why);
};

struct dialog {
    struct ev_loop *loop;            /* borrowed, as ops and host */
    const struct dialog_ops *ops;
    void           *host;
    int             fd;              /* owned; -1: closed */
    ev_io           readable, writable;
    struct framer   framer;
    struct msg      msg;             /* scratch of reading */
    struct buf      out;             /* owned: not yet sent */
    bool            held;            /* not read, as it does not read */
};

/* fd is taken and made non-blocking; max: the longest body that is accepted. */
void dialog_init(struct dialog *d, struct ev_loop *loop, int fd, size_t max,
                 const struct dialog_ops *ops, void *host);
/* Close, without a call of closed.  Safe twice, and on a zeroed struct. */
void dialog_clear(struct dialog *d);
/* Queue a message.  No memory for it: the connection will end. */
void dialog_send(struct dialog *d, const struct msg *m);
/* The same with a frame that is ready. */
void dialog_send_bytes(struct dialog *d, const char *frame, size_t len);
/* Send at once what can be. */
void dialog_flush(struct dialog *d);

#endif
