/* taken.h - which processors of this node the user's bound jobs have, so that two of them
 * do not take the same ones without saying so.
 *
 * A file for each such job in the user's runtime folder (rundir.h), with the job's name
 * and its processors.  Its maker holds a lock on it as long as it lives, so a file without
 * one is stale, however its maker ended, and is removed by whoever finds it.  Where there
 * is no such folder, nothing is known and nothing is told: it is a courtesy, no right. */
#ifndef MPIEXEC_LITE_TAKEN_H
#define MPIEXEC_LITE_TAKEN_H

#include "mpiexec_lite/cpus.h"
#include "pmix_ext/rundir.h"

struct taken {                   /* what a job has here */
    int  fd;                     /* owned; -1: nothing */
    char path[RUNDIR_PATH + 32];
    struct cpus cpus;
};
#define TAKEN_INIT { .fd = -1 }

struct taken_by {                /* what others have */
    struct cpus all;             /* of other jobs of this launcher, too */
    struct cpus foreign;         /* of other launchers */
    char job[80];                /* one of those; "": there is none */
};

/* Keep others from deciding meanwhile: a descriptor for taken_end, -1 if that cannot be. */
int  taken_begin(void);
void taken_end(int lock);
/* Between the two: what jobs other than this one have. */
void taken_look(const char *jobid, struct taken_by *out);
/* This job has these, too. */
void taken_add(struct taken *t, const char *jobid, const struct cpus *cpus);

void taken_release(struct taken *t);

#endif
