/* root_events.c - what becomes of jobs and ranks, told to the launch, which decides, and to
 * those who have asked for events, in the order in which it happens. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/rank_states.h"
#include "pmix_ext/ext.h"

#include <stdio.h>
#include <string.h>

static struct ext_rank who(const struct root_job *j, int rank)
{
    return (struct ext_rank){ j->bundle.jobid, rank, placement_node(&j->bundle.place, rank) };
}

/* Told after ranks have been started, who would wait for it, but before all else that is told
 * of the job. */
static void tell_created(struct root_job *j)
{
    if (!j->created)
        ext_job_created(j->root->ext, j->bundle.jobid);
    j->created = true;
}

/* --- ranks ------------------------------------------------------------- */

static bool lives(const struct root_job *j, int rank)
{
    return j->launch.ranks[rank].pid && !j->launch.ranks[rank].ended;
}

void root_rank_ended(struct root_job *j, int rank, int wstatus)
{
    const struct rank_state *s = &j->launch.ranks[rank];
    struct ext_end how = rank_end(s, wstatus, j->launch.ending);
    struct ext_rank r = who(j, rank);

    if (!lives(j, rank))
        return;
    launch_ended(&j->launch, root_now(j->root), rank, wstatus);
    ext_rank_ended(j->root->ext, &r, &how);
}

void root_rank_aborted(struct root_job *j, int rank, bool world, int code, const char *text)
{
    struct ext_rank r = who(j, rank);

    if (lives(j, rank))
        ext_rank_aborts(j->root->ext, &r, code, text);
    if (world)
        root_debug_aborted(j, text);
    launch_aborted(&j->launch, root_now(j->root), rank, world, code, text);
}

void root_rank_not_started(struct root_job *j, int rank, const char *step, int errnum)
{
    struct ext_rank r = who(j, rank);
    char why[300];

    tell_created(j);
    snprintf(why, sizeof why, "%s: %s", step, strerror(errnum));
    ext_rank_not_started(j->root->ext, &r, why);
}

void root_rank_lost(struct root_job *j, int rank)
{
    struct ext_rank r = who(j, rank);

    if (lives(j, rank))
        ext_rank_lost(j->root->ext, &r);
    j->ranks_lost = true;
    launch_lost(&j->launch, rank);
}

/* --- jobs -------------------------------------------------------------- */

void root_events_started(struct root_job *j)
{
    tell_created(j);
    ext_job_started(j->root->ext, j->bundle.jobid);
}

void root_job_tried(struct root_job *j, int position)
{
    j->starts -= j->at[position].starts;
    j->at[position].starts = false;
}

/* Of a job that somebody waits for it is not known before all have said how it went. */
void root_events_look(struct root_job *j)
{
    if (j->launched || !j->started || j->starts || j->spawn || j->refused || j->launch.ending)
        return;
    j->launched = true;
    ext_job_launched(j->root->ext, j->bundle.jobid);
    root_hold_launched(j);
    root_debug_launched(j);
}

void root_events_ended(struct root_job *j)
{
    if (j->started)
        tell_created(j);
    ext_job_ended(j->root->ext, j->bundle.jobid,
                  j->refused ? EXIT_LAUNCHER : launch_outcome(&j->launch));
}
