/* cmd_spawn.c - spawn and connecting jobs: answered with an error that says so,
 * as this version has neither. */
#include "pmi2/core.h"

/* The user should know too, as few programs tell. */
static enum outcome refuse(struct request *rq, const char *why, struct err *e)
{
    server_log(rq->conn->server, LOG_WARN, rq->conn->member, "%s", why);
    err_set(e, ERR_OTHER, "%s", why);
    return FAILED;
}

enum { SPAWN_TOTAL, SPAWN_SO_FAR };

/* PMI-1 sends a block per command; the last one is answered. */
enum outcome cmd_spawn_unsupported(struct request *rq, struct err *e)
{
    const struct value *total = &rq->arg[SPAWN_TOTAL], *so_far = &rq->arg[SPAWN_SO_FAR];

    if (total->s && so_far->s && so_far->n < total->n)
        return SILENT;
    return refuse(rq, "starting further processes is not supported by this launcher", e);
}

enum outcome cmd_job_unsupported(struct request *rq, struct err *e)
{
    return refuse(rq, "connecting jobs is not supported by this launcher", e);
}
