/* passing.h - the frames of a PMI-2 stream that is passed on as it comes: where they begin and
 * end, and the text of those that are short.
 *
 * Nothing is changed, and nothing kept for long: of each frame at most PASSING_HELD bytes,
 * until it is whole or longer than that.  What cannot be cut into frames passes uncut from
 * there on: whoever it is for has to judge it.  Pure; not thread-safe. */
#ifndef MPIEXEC_LITE_PASSING_H
#define MPIEXEC_LITE_PASSING_H

#include "wire/buf.h"

enum { PASSING_HELD = 4096 };

struct passing {
    bool       opened;       /* the opening line has passed */
    bool       uncut;        /* from here on */
    size_t     rest;         /* bytes still to come of a long frame, or behind a short one */
    struct buf held;         /* owned: the beginning of a frame.  failed: no memory, and bytes
                                are lost */
    bool       handed;       /* it was handed out, and goes first */
};

struct passed {
    const char *data;        /* valid until the next call */
    size_t      len;
    const char *text;        /* of a whole frame; NULL: it is a piece of something else */
    size_t      text_len;
};

void passing_clear(struct passing *p);   /* a zeroed one is a stream's beginning */
/* The next piece of *data, *len, which are moved past what was used; false: all is. */
bool passing_next(struct passing *p, const char **data, size_t *len, struct passed *out);
/* So many raw bytes come behind the frame that was handed out last. */
void passing_payload(struct passing *p, size_t n);
/* Whether the next byte begins a frame, or would if there were one. */
bool passing_between(const struct passing *p);

#endif
