/* root_hold.c - ranks that wait for a debugger: counted until all that shall do, which is told
 * once (PMIX_READY_FOR_DEBUG), and let go on. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/hold.h"
#include "pmix_ext/ext.h"

#include <stdlib.h>
#include <string.h>

static void look(struct root_job *j)
{
    if (j->ready || !j->launched || !j->to_hold || j->held < j->to_hold)
        return;
    j->ready = true;
    root_say(j->root, 1, "%sready for a debugger: %d held (%s)", root_job_name(j).text, j->held,
             hold_place(j->bundle.plan.hold));
    ext_job_ready(j->root->ext, j->bundle.jobid, hold_place(j->bundle.plan.hold));
}

void root_hold_launched(struct root_job *j)
{
    const struct plan *p = &j->bundle.plan;

    j->to_hold = hold_count(p, j->launch.size);
    if (p->hold == HOLD_EXEC)
        j->held = j->to_hold;
    look(j);
}

void root_hold_add(struct root_job *j, int ranks)
{
    j->held += ranks;
    look(j);
}

/* Its own server answers for it, too. */
static void tell_waits(struct root_job *j, int rank)
{
    struct root *r = j->root;
    int position = r->positions[placement_node(&j->bundle.place, rank)];
    struct remote *to = position > 0 ? remotes_towards(&r->below, position) : NULL;
    struct msg m;

    if (!to || to->state != REMOTE_UP)
        return;
    msg_init(&m);
    msg_start(&m, "waits");
    msg_int(&m, "position", position);
    msg_int(&m, "rank", rank);
    if (j->number)
        msg_int(&m, "number", j->number);
    link_message(to->link, LINK_CONTROL, &m, NULL, 0, NULL);
    msg_clear(&m);
}

bool root_hold_waits(void *host, const char *job, int rank)
{
    struct root_job *j = root_job_by_id(host, job);

    if (!j || rank >= j->launch.size || !hold_has(&j->bundle.plan, HOLD_APP, rank))
        return false;
    if (j->launch.ranks[rank].waits)
        return true;
    j->launch.ranks[rank].waits = true;
    tell_waits(j, rank);
    root_hold_add(j, 1);
    return true;
}

static void note_release(struct root_job *j)
{
    if (!j->released && j->launched)
        ext_job_released(j->root->ext, j->bundle.jobid);
    j->released = true;
}

void root_hold_went_on(struct root_job *j, int rank)
{
    root_say(j->root, 1, "%srank %d: goes on, by SIGCONT", root_job_name(j).text, rank);
    note_release(j);
}

void root_hold_release(struct root_job *j, int rank)
{
    if (j->bundle.plan.hold == HOLD_NONE)
        return;
    note_release(j);
    crew_release(&j->crew, rank);
    root_send(j, "release", "rank", rank, NULL, 0);
}
