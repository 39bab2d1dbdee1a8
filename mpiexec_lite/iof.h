/* iof.h - what the ranks print, put together by lines: without I/O.
 *
 * Whole lines are handed on as they end; the beginning of a line is kept until
 * then, so that lines of different ranks never mix and a label stands only at
 * the start of a line.  Bytes are never changed, added to (but for labels) or
 * lost.  A line longer than IOF_LINE is handed on in pieces. */
#ifndef MPIEXEC_LITE_IOF_H
#define MPIEXEC_LITE_IOF_H

#include "wire/buf.h"

enum { IOF_LINE = 65536 };       /* longest line that is kept together, bytes */

struct iof {                     /* one stream (stdout or stderr) of one rank */
    struct buf held;             /* owned: the beginning of a line */
};

/* Who last left a line unfinished on one output: NULL, or a stream.  With labels,
 * the next stream to write there ends that line first. */
struct iof_line { const struct iof *open; };

/* len bytes came from f.  Finished lines go to out, each behind label (NULL:
 * none).  out->failed tells of no memory: then something is lost. */
void iof_feed(struct iof *f, struct iof_line *line, const char *label, const char *data,
              size_t len, struct buf *out);

/* Hand on what is held, finished or not: a prompt, or the end of the stream. */
void iof_flush(struct iof *f, struct iof_line *line, const char *label, struct buf *out);

/* How many of the first bytes of data are whole lines that may go out as they
 * are: nothing is held, and no label is wanted.  0 if they may not. */
size_t iof_whole(const struct iof *f, const char *data, size_t len);

/* Keep the beginning of a line. */
void iof_hold(struct iof *f, struct iof_line *line, const char *label, const char *data,
              size_t len, struct buf *out);

#endif
