/* feed.h - stdin on its way to ranks, at the root: what the front end sends is
 * written to one rank's pipe or to those of all, and only then is more asked
 * for.  (A rank that may have the launcher's own stdin gets that descriptor
 * itself, and no feed exists.) */
#ifndef MPIEXEC_LITE_FEED_H
#define MPIEXEC_LITE_FEED_H

#include "wire/buf.h"

#include <ev.h>

struct feed;

struct feed_ops {
    void (*credit)(void *host, size_t bytes);    /* so much more can be taken */
    void (*closed)(void *host);                  /* nobody reads any more */
    void (*failed)(void *host, int errnum);      /* a write failed; a reader lacks bytes */
};

/* NULL: no memory. */
struct feed *feed_new(struct ev_loop *loop, const struct feed_ops *ops, void *host);
void feed_free(struct feed *f);                  /* closes its pipes */
/* Add a reader: the write end (non-blocking) of its pipe; taken. */
int  feed_add(struct feed *f, int fd);
void feed_write(struct feed *f, const char *data, size_t len);
void feed_end(struct feed *f);                   /* end of file, after what is queued */

#endif
