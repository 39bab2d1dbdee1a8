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
