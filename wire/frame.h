/* frame.h - cut a byte stream into PMI messages.
 *
 * One stream carries both framings: lines while it speaks PMI-1 (and for the
 * opening exchange of PMI-2), six-digit lengths once PMI-2 is agreed.  Input
 * may come in any pieces.  A frame that lies whole in the caller's bytes is
 * handed out where it lies; only the beginning of an incomplete one is kept,
 * so an idle connection holds no memory.  Sizes are checked before anything is
 * allocated.  No I/O; one framer per stream; not thread-safe.
 *
 * Wire: wire/FORMAT; PMI-1 lines, PMI-2 "%6d" lengths (MPICH wiki, "PMI-2 Wire
 * Protocol"). */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include "wire/buf.h"

enum wire { WIRE_1, WIRE_2, WIRES };     /* also an index of per-wire names */

enum frame_kind {
    FRAME_LINE,      /* one PMI-1 line, without its newline */
    FRAME_BLOCK,     /* mcmd=spawn line to endcmd line, newlines inside */
    FRAME_BODY,      /* PMI-2 body, always ending in ';' (added if it was missing) */
    FRAME_PAYLOAD    /* raw bytes announced with framer_expect_payload */
};

struct frame {
    enum frame_kind kind;
    char  *text;     /* writable.  Valid until the next framer call.  For LINE and
                        BLOCK text[len] may be written too */
    size_t len;
    const char *raw; /* the frame as it came, length field or newline included */
    size_t raw_len;
};

struct framer {
    enum wire  wire;         /* framing in force from the next byte on */
    size_t     max;          /* largest body or line accepted, bytes */
    size_t     payload;      /* raw bytes still to come before the next frame */
    struct buf held;         /* owned: beginning of an incomplete frame */
    size_t     scanned;      /* bytes of held known to hold no end of frame */
    bool       handed;       /* the last frame lies in held: drop it first */
    bool       miscounts;    /* bodies have been longer than their messages */
    unsigned long long offset;  /* bytes of the stream before the next frame */
};

void framer_init(struct framer *f, size_t max);
void framer_clear(struct framer *f);

/* Take the next frame from *data, *len, which are moved past what was used.
 * 1: *out is filled.  0: all input is used, more is needed.  -1: the stream is
 * broken at byte f->offset, e says how; it cannot be continued. */
int framer_next(struct framer *f, char **data, size_t *len, struct frame *out,
                struct err *e);

/* The next n bytes are payload: they come as FRAME_PAYLOAD pieces, as large as
 * the input has them. */
static inline void framer_expect_payload(struct framer *f, size_t n) { f->payload = n; }

#endif
