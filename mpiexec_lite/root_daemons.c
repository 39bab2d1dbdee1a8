/* root_daemons.c - jobs of tools' daemons (plan.target): they end some time after the job that
 * they look after, which leaves them the time to say what they have seen. */
#include "mpiexec_lite/root_impl.h"

#include <string.h>

static const double GRACE = 2.0;         /* seconds */

/* Does anything run that they are there for? */
static bool has_work(const struct root_job *d)
{
    const char *target = d->bundle.plan.target;
    struct root_job *j;

    TAILQ_FOREACH(j, &d->root->jobs, in_root)
        if (!j->bundle.plan.target && (!*target || !strcmp(j->bundle.jobid, target)) &&
            !(j->started && launch_over(&j->launch)))
            return true;
    return false;
}

double root_daemons_step(struct root_job *d, double now)
{
    if (!d->bundle.plan.target || !d->started || d->launch.ending || launch_over(&d->launch))
        return 0;
    if (!d->leave_at && !has_work(d))
        d->leave_at = now + GRACE;
    if (!d->leave_at || now < d->leave_at)
        return d->leave_at;
    root_say(d->root, 1, "job %s: ended with the job that it looks after", d->bundle.jobid);
    launch_end(&d->launch, now, 0);
    return 0;
}
