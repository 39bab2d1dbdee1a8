/* crew_hold.c - ranks that wait, stopped, for a debugger: let go on. */
#include "mpiexec_lite/crew.h"

#include "mpiexec_lite/hold.h"

#include <signal.h>
#include <stdio.h>

/* Who traces it; 0: nobody, or it cannot be told. */
static int tracer(pid_t pid)
{
    char path[40], line[200];
    int who = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "TracerPid: %d", &who) == 1)
            break;
    if (f)
        fclose(f);
    return who;
}

void crew_release(struct crew *c, int rank)
{
    for (int i = 0; i < c->n; i++) {
        struct rank *r = &c->ranks[i];

        if (rank >= 0 && r->rank != rank)
            continue;
        if (r->pid && r->held && !tracer(r->pid))
            kill(r->pid, SIGCONT);
        r->held = false;
    }
    if (c->job)
        job_release(c->job, rank);
}

/* Others may send SIGCONT, too. */
bool crew_continued(struct crew *c, pid_t pid)
{
    for (int i = 0; i < c->n; i++) {
        struct rank *r = &c->ranks[i];

        if (r->pid != pid)
            continue;
        if (r->held)
            c->node->ops->went_on(c->node->host, c, r->rank);
        r->held = false;
        return true;
    }
    return false;
}

bool crew_rank_is_held(const struct crew *c, const struct rank *r)
{
    const struct member *m = c->job ? job_member(c->job, r->rank) : NULL;

    return r->held || (m && member_is_held(m));
}

void crew_hold_init(struct crew *c)
{
    for (int i = 0; i < c->n; i++)
        if (hold_has(c->args.plan, HOLD_INIT, c->ranks[i].rank)) {
            job_hold(c->job, c->ranks[i].rank);
            c->to_hold++;
        }
}

bool crew_held(struct crew *c)
{
    return ++c->held == c->to_hold;
}
