/* crew_hold.c - ranks that wait, stopped, for a debugger: let go on. */
#include "mpiexec_lite/crew.h"

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

void crew_release(struct crew *c)
{
    for (int i = 0; i < c->n; i++) {
        struct rank *r = &c->ranks[i];

        if (r->pid && r->held && !tracer(r->pid))
            kill(r->pid, SIGCONT);
        r->held = false;
    }
    if (c->job)
        job_release(c->job);
}
