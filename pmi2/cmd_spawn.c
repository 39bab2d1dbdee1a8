/* cmd_spawn.c - spawn and connecting jobs: answered with an error that says so,
 * as this version has neither. */
#include "pmi2/core.h"

enum { SPAWN_TOTAL, SPAWN_SO_FAR };

/* PMI-1 sends a block per command; the last one is answered. */
enum outcome cmd_spawn_unsupported(struct request *rq, struct err *e)
{
    const struct value *total = &rq->arg[SPAWN_TOTAL], *so_far = &rq->arg[SPAWN_SO_FAR];

    if (total->s && so_far->s && so_far->n < total->n)
        return SILENT;
    err_set(e, ERR_OTHER, "starting further processes is not supported by this launcher");
    return FAILED;
}

enum outcome cmd_job_unsupported(struct request *rq, struct err *e)
{
    (void)rq;
    err_set(e, ERR_OTHER, "connecting jobs is not supported by this launcher");
    return FAILED;
}
