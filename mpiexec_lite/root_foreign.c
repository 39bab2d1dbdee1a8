/* root_foreign.c - jobs of other launchers: finding them, and ending with them. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/foreign.h"

static void say(void *host, const char *text)
{
    root_say(host, 1, "%s", text);
}

void root_foreign_init(struct root *r)
{
    if (r->naming)
        r->foreign = foreign_new(r->loop, r->node.server, r->naming, say, r);
}

void root_foreign_clear(struct root *r)
{
    foreign_free_links(r->foreign);
    r->foreign = NULL;
}

bool root_introduce(void *host, struct far_ask *a)
{
    struct root *r = host;

    return r->foreign && foreign_introduce(r->foreign, a);
}

/* All that is connected to this job, which has failed. */
static void follow(struct root *r, struct job *failed, int status)
{
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root) {
        if (j->launch.ending || j->done || !j->crew.job || !job_connected(failed, j->crew.job))
            continue;
        root_tell(r, "job %d ends with job %s of another launcher, to which it is connected",
                  j->number, job_id(failed));
        launch_end(&j->launch, root_now(r), status);
    }
}

void root_foreign_follow(struct root *r)
{
    struct job *failed;
    int status;

    while ((failed = server_failed(r->node.server, &status))) {
        follow(r, failed, status);
        server_forget(failed);
    }
}
