/* starting.h - whether a job that a rank starts has come up.
 *
 * Every host with ranks of it says once that it has tried to start them; of a rank that
 * could not be started, why is told before that.  Who has asked for the job is told when
 * all hosts have spoken; where ranks are missing, when the others have been ended, too.
 * Pure; not thread-safe. */
#ifndef MPIEXEC_LITE_STARTING_H
#define MPIEXEC_LITE_STARTING_H

#include "wire/err.h"

#include <stdbool.h>

struct starting {
    bool *waits;             /* owned; by position (tree.h): it has not spoken yet */
    int   positions;         /* those that came later have no ranks of it */
    int   awaited;           /* how many of them */
    int  *codes;             /* owned; by rank: 0, or why it does not run, as an errno */
    int   ranks, failed;     /* how many there are; how many do not run */
};

enum starting_state { STARTING_OPEN, STARTING_DONE, STARTING_FAILED };

/* 0, or -1 and e: no memory; to be cleared either way. */
int  starting_init(struct starting *x, int ranks, int positions, struct err *e);
void starting_clear(struct starting *x);         /* zeroed is fine */
/* A position has ranks of the job; it has tried to start them, or is lost. */
void starting_await(struct starting *x, int position);
void starting_said(struct starting *x, int position);
/* A rank does not run; its first reason counts. */
void starting_failed(struct starting *x, int rank, int errnum);
/* The job is not to be: ranks that have no reason of their own were given up with the
 * others (ECANCELED). */
void starting_cancel(struct starting *x);
/* over: no rank of it runs. */
enum starting_state starting_look(const struct starting *x, bool over);

#endif
