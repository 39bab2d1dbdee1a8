/* bundle.h - a job as bytes: what the launcher sends to every proxy.
 *
 * The same for all of them, so that it travels down the tree as it came: hosts,
 * placement, programs with arguments, environment, directory and umask, options.
 * Every byte of the user's text arrives as it was.  What is read back is checked
 * like any input from outside.  Pure; thread-safe. */
#ifndef MPIEXEC_LITE_BUNDLE_H
#define MPIEXEC_LITE_BUNDLE_H

#include "mpiexec_lite/place.h"
#include "wire/buf.h"

struct bundle {
    struct plan      plan;       /* owned; env rules are already applied: see envs */
    struct placement place;      /* owned */
    struct strlist  *envs;       /* owned; by block: env_build's result, complete */
    char            *cwd;        /* the launcher's directory; blocks' wdir is relative to it */
    unsigned         umask;      /* of the user */
    bool             trace;      /* the wire is traced */
    bool             timeline;   /* moments are kept (moments.h) */
    char            *jobid, *spawner;    /* spawner: id of the job that has started it, or
                                            NULL */
    char            *setup;      /* what set-up providers have said of it, as setup_write has
                                    it; NULL: nothing */
};

/* Append the bytes of a job.  envs: one list a block.  out->failed: no memory. */
void bundle_write(const struct bundle *b, struct buf *out);
/* Read them back.  0, or -1 and e (what was wrong and where); b is to be cleared
 * either way. */
int  bundle_read(struct bundle *b, const char *data, size_t len, struct err *e);
void bundle_clear(struct bundle *b);

#endif
