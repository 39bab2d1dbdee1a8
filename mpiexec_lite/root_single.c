/* root_single.c - the only rank is a program that runs already. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/single.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Its connection may be held open by what it has forked: its own end is what counts. */
static void on_ended(struct ev_loop *loop, ev_io *w, int revents)
{
    struct root *r = w->data;

    (void)revents;
    ev_io_stop(loop, w);
    if (crew_rank(&r->main->crew, 0))
        crew_hung_up(&r->main->crew, 0);
}

/* Not where the kernel has no pidfd: then the end of the connection is all there is. */
static void watch(struct root *r)
{
    int fd = (int)syscall(SYS_pidfd_open, r->args->program, 0);

    if (fd < 0)
        return;
    ev_io_init(&r->on_program, on_ended, fd, EV_READ);
    r->on_program.data = r;
    ev_io_start(r->loop, &r->on_program);
}

int root_single_start(struct root_job *j, struct err *e)
{
    struct root *r = j->root;
    int fd = single_connect(r->plan, j->bundle.jobid, e);

    if (fd < 0 || crew_adopt(&j->crew, fd, e) < 0)
        return -1;
    if (r->args->program > 1) {
        j->launch.ranks[0].pid = r->args->program;
        watch(r);
    }
    return 0;
}

void root_single_gone(struct root_job *j, int rank)
{
    char text[200];

    snprintf(text, sizeof text, "rank 0 (pid %d, %.80s), which was not started by this launcher, "
             "has ended without finalize, or closed its connection", (int)j->root->args->program,
             crew_program(&j->crew, rank));
    launch_broken(&j->launch, root_now(j->root), 1, text);
}

void root_single_clear(struct root *r)
{
    if (r->on_program.data)
        close(r->on_program.fd);
}
