/* root_daemons.c - jobs of tools' daemons (plan.target): they are their tool's to end, and end with
 * its connection (pmix_ext/serve_spawn.c), not with the job that they look after.  The launcher
 * stays for them, and says so.  Those that no tool is there for any more (PMIX_NOHUP, a debugger's
 * by MPIR, a rank's) end some time after the last job, which leaves them the time to say what they
 * have seen; and all of them do when the time of the run is up. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/now.h"

static const double GRACE = 2.0;         /* seconds */

/* The launcher that waits for a tool's daemons says so after so many seconds. */
static const double SAY_AFTER = 2.0;

/* Does anything run but daemons? */
static bool has_work(const struct root *r)
{
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (!j->bundle.plan.target && !(j->started && launch_over(&j->launch)))
            return true;
    return false;
}

/* -timeout is for the main job while that runs. */
static double time_is_up(const struct root *r)
{
    return r->concluded && r->plan->timeout > 0 ? r->began + r->plan->timeout : 0;
}

double root_daemons_step(struct root_job *d, double now)
{
    struct root *r = d->root;
    double limit = time_is_up(r);

    if (!d->bundle.plan.target || !d->started || d->launch.ending || launch_over(&d->launch))
        return 0;
    if (ext_daemons_tool(r->ext, d->bundle.jobid, NULL, 0) || has_work(r))
        d->leave_at = 0;
    else if (!d->leave_at)
        d->leave_at = now + GRACE;
    limit = earlier(limit, d->leave_at);
    if (!limit || now < limit)
        return limit;
    root_say(r, 1, "job %s: ended, as %s", d->bundle.jobid,
             limit == d->leave_at ? "all jobs have, and no tool is there for it" : "time is up");
    launch_end(&d->launch, now, 0);
    return 0;
}

bool root_daemons_alone(const struct root *r)
{
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (j != r->main && !j->bundle.plan.target)
            return false;
    return true;
}

double root_daemons_wait(struct root *r, double now)
{
    char who[200];
    struct root_job *j;

    if (r->told_daemons)
        return 0;
    if (!r->daemons_since)
        r->daemons_since = now;
    if (now < r->daemons_since + SAY_AFTER)
        return r->daemons_since + SAY_AFTER;
    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (ext_daemons_tool(r->ext, j->bundle.jobid, who, sizeof who)) {
            root_tell(r, "the job has ended; its launcher stays for the daemons of %s, with which "
                      "they end (Ctrl-C ends them, too)", who);
            break;
        }
    r->told_daemons = true;
    return 0;
}
