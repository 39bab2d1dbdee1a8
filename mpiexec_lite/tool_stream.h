/* tool_stream.h - connections of tools that another server carries: the bytes between a
 * descriptor here and the one at the other end of some links.
 *
 * What the proxy can answer itself (op asked) it does: answers come between the other end's
 * frames, in any order, as each names its request.
 *
 * A proxy has the tool's own connection, the root one end of a pair whose other end is served
 * like a tool of its own host; both do the same with theirs.  What is read goes as messages
 * (pmi2/PEERS, "Tools of other nodes"), at most STREAM_WINDOW bytes of each stream ahead of
 * what the other end has written, whoever reads or does not.  The end of one end is the end of
 * the other.  A stream is named by the position of its proxy and a number of that one's.
 *
 * Not thread-safe. */
#ifndef MPIEXEC_LITE_TOOL_STREAM_H
#define MPIEXEC_LITE_TOOL_STREAM_H

#include "mpiexec_lite/link.h"

enum { STREAM_WINDOW = 65536 };

struct tool_stream;
TAILQ_HEAD(tool_streams_list, tool_stream);

struct tool_streams_ops {
    /* Send a message towards the other end of this position's streams. */
    void (*send)(void *host, int position, enum link_class c, struct msg *m,
                 const char *payload, size_t len);
    /* The body of a frame of a tool that the other end has let in: whether it is answered here,
     * by the frames appended to reply; it does not go to the other end then.  NULL: nothing is,
     * and no byte is looked at. */
    bool (*asked)(void *host, const char *text, size_t len, struct buf *reply);
};

struct tool_streams {
    struct ev_loop *loop;            /* borrowed, as ops and host */
    const struct tool_streams_ops *ops;
    void           *host;
    struct tool_streams_list list;   /* owned */
    struct msg      msg;             /* scratch */
};

void tool_streams_init(struct tool_streams *ss, struct ev_loop *loop,
                       const struct tool_streams_ops *ops, void *host);
void tool_streams_clear(struct tool_streams *ss);        /* fine on a zeroed struct */

/* A stream begins here; fd is taken and made non-blocking.  -1: no memory, fd is closed. */
int  tool_streams_add(struct tool_streams *ss, int position, long long number, int fd);
/* Say that there is none of this name. */
void tool_streams_refuse(struct tool_streams *ss, int position, long long number);
/* The way to this position is lost: its streams end. */
void tool_streams_lost(struct tool_streams *ss, int position);

/* Bytes on their way to the other ends of all streams: not written there yet, or still to be
 * read here. */
size_t tool_streams_untaken(const struct tool_streams *ss);

/* Whether a message is one about streams; and whether such a one costs credit of bulk. */
bool tool_streams_knows(const char *cmd);
bool tool_streams_is_bulk(const char *cmd);
/* A message about a stream of this position: 0; -1 and e: it makes no sense.  About one that
 * has ended it is passed over. */
int  tool_streams_told(struct tool_streams *ss, int position, const struct msg *m,
                       const char *payload, size_t len, struct err *e);

#endif
