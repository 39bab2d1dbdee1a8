/* allocation.h - the nodes that a resource manager has granted, as the environment of its
 * job names them.
 *
 * Names, files and their syntax are those of the managers' own manuals: sbatch(1) for
 * slurm, qsub(1B) for pbs, bsub(1) for lsf, sge_pe(5) for sge, the guides of Cobalt and
 * LoadLeveler.  Nothing is asked of the manager itself, but of Flux (flux.h). */
#ifndef MPIEXEC_LITE_ALLOCATION_H
#define MPIEXEC_LITE_ALLOCATION_H

#include "mpiexec_lite/hosts.h"
#include "wire/buf.h"

/* Where a manager names its nodes: a variable, and what its value is. */
struct allocation_source {
    const char *variable;
    bool        file;        /* the value is the path of a file that does */
    /* Add what text says; name: of the text, for errors.  0, or -1 and e. */
    int       (*read)(struct hosts *h, const char *text, const char *name,
                      char *const *envp, struct err *e);
};

struct allocation_kind {
    const char *name;        /* as -rmk has it */
    struct allocation_source sources[2];     /* the first that is set counts */
    bool        launches;    /* -launcher NAME is known to work in all its jobs */
};

/* By name, in any case; NULL: unknown. */
const struct allocation_kind *allocation_find(const char *name);
/* The first kind whose environment this is; NULL: none. */
const struct allocation_kind *allocation_detect(char *const *envp);
/* Add its nodes and their slots.  0, or -1 and e, which begins with what was read. */
int allocation_read(const struct allocation_kind *k, char *const *envp, struct hosts *h,
                    struct err *e);
/* "slurm, pbs ...", for messages. */
void allocation_names(struct buf *out);

#endif
