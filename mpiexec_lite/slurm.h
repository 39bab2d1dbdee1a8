/* slurm.h - what is asked of Slurm, as words of its commands, and what they print, as values
 * (salloc, sinfo, squeue, scontrol, scancel: their manuals).
 *
 * What is to become a word comes from peers, what is read from a program: both are checked
 * character by character.  No I/O; thread-safe. */
#ifndef MPIEXEC_LITE_SLURM_H
#define MPIEXEC_LITE_SLURM_H

#include "mpiexec_lite/plan.h"
#include "pmix_ext/schedule.h"

enum { SLURM_QUEUES = 4096 };            /* most that are listed */

/* The command that does what is asked; name: of the new allocation.  0, or -1 and e. */
int slurm_words(const struct sched_ask *ask, const char *name, struct strlist *out,
                struct err *e);
/* That which tells the nodes and the time of an allocation; that which ends all of a name.
 * Likewise. */
int slurm_show_words(const char *id, struct strlist *out, struct err *e);
int slurm_cancel_words(const char *name, struct strlist *out, struct err *e);
/* The environment of these commands: what the job around them has set says nothing of theirs. */
int slurm_environment(char *const *envp, struct strlist *out, struct err *e);

/* What the command for SCHED_QUEUES prints: malloc'ed.  0, or -1 and e. */
int slurm_queues(const char *text, struct sched_queue **queues, size_t *n, struct err *e);
/* What salloc says: the id of the allocation; false: it does not say. */
bool slurm_granted(const char *words, char id[SCHED_ID]);
/* What the command of slurm_show_words prints: text is cut to the nodes, of which there may be
 * none, and *time is in seconds, 0: no limit is said.  0, or -1. */
int slurm_shown(char *text, uint32_t *time);
/* A command's words say that no Slurm is set up here. */
bool slurm_absent(const char *words);

#endif
