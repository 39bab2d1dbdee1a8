/* link.h - a stream to another server: messages with payload, in three classes.
 *
 * Control goes before data of the key-value space, and that before bulk (output and
 * stdin); within its class everything stays in order.  The payload of data and of bulk
 * moves only against credit that the other end has granted, each its own, and bulk in
 * pieces of at most LIMIT_CHUNK and only when nothing else can go, so that neither a
 * flood nor a stopped reader delays a fence or a heartbeat (flow.h).  A link is always
 * read.
 *
 * Frames are PMI-2's with payload (wire/FORMAT).  cmd=beat and cmd=credit are the
 * link's own.  A message that names a job is data.  Not thread-safe. */
#ifndef MPIEXEC_LITE_LINK_H
#define MPIEXEC_LITE_LINK_H

#include "mpiexec_lite/flow.h"
#include "mpiexec_lite/lease.h"
#include "wire/msg.h"

#include <ev.h>

/* Data on its way at most, bytes, and bulk likewise; the longest payload of a message. */
enum { LINK_WINDOW = 131072, LINK_PAYLOAD = 16 << 20 };

struct link;

struct link_ops {
    /* A message; the strings live until this returns.  -1 and e: the stream makes no
     * sense and ends. */
    int  (*message)(void *host, struct link *l, const struct msg *m, const char *payload,
                    size_t len, struct err *e);
    /* It is over: the other end has closed it ("" ), or why it is of no use.  Nothing
     * is called any more; link_free may be. */
    void (*closed)(void *host, struct link *l, const char *why);
    /* Credit has come, and there is room, for data or for bulk: link_room says how
     * much. */
    void (*room)(void *host, struct link *l);
    /* Bytes before the first frame that are none of it (link_await). */
    void (*noise)(void *host, struct link *l, const char *text, size_t len);
    /* The other end has said its first words. */
    void (*spoke)(void *host, struct link *l, const char *words);
};

struct blob;                         /* bytes that several links send */

struct link {
    struct ev_loop *loop;            /* borrowed, as ops and host */
    const struct link_ops *ops;
    void           *host;
    int             in, out;         /* owned; out may be in (a socket) */
    ev_io           readable, writable;
    ev_timer        timer;
    ev_prepare      prepare;
    struct lease    lease;
    struct framer   framer;
    struct msg      msg;             /* the message being read */
    struct buf      head, payload;   /* owned: one whose payload is not complete */
    size_t          want;            /* of payload */
    struct flow     flow;            /* its pieces are owned */
    struct pieces   now;             /* owned: being written */
    size_t          going, done;     /* bytes of now to go; gone of its first */
    size_t          fresh;           /* cost of the data that is just being told */
    const char     *marker;          /* awaited first words; NULL: they have come */
    struct buf      noise;           /* owned: what has come before them */
    bool            closed, lost;    /* over; as its lease has run out */
};

/* A link over two descriptors, which it makes non-blocking and closes at its end.
 * beat and lease in seconds (lease.h).  NULL: no memory. */
struct link *link_new(struct ev_loop *loop, int in, int out, double beat, double lease,
                      const struct link_ops *ops, void *host);
void link_free(struct link *l);
/* Other times from now on. */
void link_set_lease(struct link *l, double beat, double lease);
/* Before frames come, the other end is to say a line that begins with marker; what
 * comes earlier is noise. */
void link_await(struct link *l, const char *marker);

/* Queue a frame that was made by format, with its payload. */
void link_send(struct link *l, enum link_class c, const char *frame, size_t frame_len,
               const char *payload, size_t len);
/* The same for a frame that many links get. */
struct blob *blob_new(const char *frame, size_t frame_len, const char *payload, size_t len);
void blob_drop(struct blob *b);          /* the links that have it keep it */
void link_send_blob(struct link *l, enum link_class c, struct blob *b);
/* Make the frame of m (payload is added to it) and queue it.  from, if not NULL, is
 * granted as much of that class when it has gone. */
void link_message(struct link *l, enum link_class c, struct msg *m, const char *payload,
                  size_t len, struct link *from);
/* How much data or bulk may be queued before it has to wait for credit, bytes. */
size_t link_room(const struct link *l, enum link_class c);
/* len bytes of bulk have come.  0, or -1 and e: more than was granted, or in too large a
 * piece.  Of data the link sees to it itself. */
int    link_take(struct link *l, size_t len, struct err *e);
/* For ops.message only: what this message costs will be granted later, by link_grant;
 * so much.  Otherwise its data is granted when ops.message returns. */
size_t link_hold(struct link *l);
/* So much data or bulk has been dealt with: that much more may come. */
void   link_grant(struct link *l, enum link_class c, size_t cost);
/* Everything queued has been written. */
bool   link_idle(const struct link *l);
/* Say nothing more: the other end sees the end of the stream. */
void   link_shut(struct link *l);

#endif
