/* cleanup.h - what ranks of this node want removed when they, or their job, have ended:
 * kept until then, and done by processes of its own, as a file system may not answer.
 *
 * Those processes are children of this one, and a sweep may end them with what ranks have
 * left; so what was not finished is done once more before the server ends (cleanups_finish),
 * which waits CLEANUP_PATIENCE seconds at most. */
#ifndef MPIEXEC_LITE_CLEANUP_H
#define MPIEXEC_LITE_CLEANUP_H

#include "mpiexec_lite/erase.h"

#include <stddef.h>
#include <sys/queue.h>

enum { CLEANUP_PATIENCE = 5, CLEANUP_WHOLE_JOB = -1 };

struct cleanup;
TAILQ_HEAD(cleanups, cleanup);
struct batch;
TAILQ_HEAD(batches, batch);              /* what has begun */

/* Keep what is to be removed at the end of this rank, or (CLEANUP_WHOLE_JOB) of the job; copies.
 * 0, or -1: no memory. */
int  cleanups_add(struct cleanups *list, int rank, const struct erase *what);
/* A rank has ended, or all of the job: begin with what was kept for that, which goes over to
 * `running`. */
void cleanups_begin(struct cleanups *list, int rank, struct batches *running);
/* Nothing of it is done. */
void cleanups_clear(struct cleanups *list);
/* Wait for them, and clear the list. */
void cleanups_finish(struct batches *running);

#endif
