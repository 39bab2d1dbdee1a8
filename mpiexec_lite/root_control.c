/* root_control.c - what tools and ranks order for jobs (pmix-job-control). */
#include "mpiexec_lite/root_impl.h"

#include "pmix_ext/ext.h"

#include <string.h>

struct root_job *root_job_by_id(struct root *r, const char *id)
{
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (!strcmp(j->bundle.jobid, id))
            return j;
    return NULL;
}

bool root_order(void *host, const char *job, int rank, const struct ext_order *order)
{
    static const enum order orders[] = {
        [EXT_SIGNAL] = ORDER_SIGNAL, [EXT_PAUSE] = ORDER_PAUSE, [EXT_RESUME] = ORDER_RESUME,
        [EXT_TERMINATE] = ORDER_TERMINATE, [EXT_KILL] = ORDER_KILL,
    };
    struct root *r = host;
    struct root_job *j = root_job_by_id(r, job);

    if (!j || !j->started || launch_over(&j->launch) || rank >= j->launch.size)
        return false;
    if (rank >= 0 && (!j->launch.ranks[rank].pid || j->launch.ranks[rank].ended))
        return false;
    if (order->kind == EXT_RESUME && rank < 0)
        root_debug_release_job(j);
    launch_order(&j->launch, root_now(r), rank, orders[order->kind], order->signo, order->who);
    return true;
}
