/* root_ext.c - the extended commands: what they ask of the launcher (ext_ops), and tools. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/tools.h"
#include "pmix_ext/ext.h"

#include <time.h>
#include <unistd.h>

static const char *op_hostname(void *host)
{
    struct root *r = host;

    return r->hostname;
}

static double op_now(void *host)
{
    struct timespec t;

    (void)host;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char *op_job(void *host, size_t i, int *size)
{
    struct root *r = host;
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (!i--) {
            *size = j->launch.size;
            return j->bundle.jobid;
        }
    return NULL;
}

static const struct ext_ops ext_ops = { .hostname = op_hostname, .now = op_now, .job = op_job };

int root_ext_init(struct root *r, struct err *e)
{
    r->ext = ext_new(r->node.server, &ext_ops, r, e);
    return r->ext ? 0 : -1;
}

static void tell(void *host, const char *text)
{
    root_say(host, 1, "%s", text);
}

/* After the ranks were started; what cannot be is no reason to end the job. */
void root_ext_open(struct root *r)
{
    struct tools_args args = { r->loop, r->node.server, r->node.buffer, NODE_BUFFER, tell, r,
                               getppid() };
    struct err e = { 0 };

    r->tools = tools_new(&args, &e);
    if (!r->tools)
        root_say(r, 1, "no tools can connect: %s", e.text);
}

void root_ext_clear(struct root *r)
{
    tools_free(r->tools);
    ext_free(r->ext);
}
