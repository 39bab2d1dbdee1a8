/* root_start.c - give every rank its descriptors and environment, and start it. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/env.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The two ends of a pipe or socket pair; -1: none. */
struct ends {
    int  ours, theirs;
    bool lent;               /* theirs is somebody's who keeps it */
};

struct rank_ends {
    struct ends pmi, out, err, in;
};

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_theirs(struct rank_ends *x)
{
    close_end(&x->pmi.theirs);
    close_end(&x->out.theirs);
    if (!x->err.lent)
        close_end(&x->err.theirs);
    if (!x->in.lent)
        close_end(&x->in.theirs);
}

static void close_ours(struct rank_ends *x)
{
    close_end(&x->pmi.ours);
    close_end(&x->out.ours);
    close_end(&x->err.ours);
    close_end(&x->in.ours);
}

/* A pipe whose end `ours` (0: read, 1: write) does not block. */
static int make_pipe(struct ends *x, int ours)
{
    int fd[2];

    if (pipe2(fd, O_CLOEXEC) < 0)
        return -1;
    x->ours = fd[ours];
    x->theirs = fd[!ours];
    return fcntl(x->ours, F_SETFL, O_NONBLOCK);
}

static int make_pmi(struct ends *x)
{
    int fd[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
        return -1;
    x->ours = fd[0];
    x->theirs = fd[1];
    return 0;
}

/* Most ranks have no stdin: they share one descriptor of /dev/null. */
static int no_input(struct root *r)
{
    if (r->null < 0)
        r->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return r->null;
}

/* stdin of a rank: a pipe of the feed, our own or a file, or nothing. */
static int make_input(struct root *r, int rank, struct ends *x)
{
    const struct plan *p = r->plan;
    bool chosen = p->stdin_mode == STDIN_ALL ||
                  (p->stdin_mode != STDIN_NONE && p->stdin_rank == rank);

    if (chosen && r->feed)
        return make_pipe(x, 1);
    x->lent = true;
    x->theirs = chosen ? r->args->input : no_input(r);
    return x->theirs < 0 ? -1 : 0;
}

/* Merged with stdout, stderr is the same pipe, so that a rank's own order stays. */
static int make_errors(struct root *r, struct rank_ends *x)
{
    if (!r->plan->merge)
        return make_pipe(&x->err, 0);
    x->err.theirs = x->out.theirs;
    x->err.lent = true;
    return 0;
}

static int make_ends(struct root *r, int rank, struct rank_ends *x)
{
    static const struct ends none = { -1, -1, false };

    *x = (struct rank_ends){ none, none, none, none };
    if ((!r->listener && make_pmi(&x->pmi) < 0) || make_pipe(&x->out, 0) < 0 ||
        make_errors(r, x) < 0 || make_input(r, rank, &x->in) < 0)
        return -1;
    return 0;
}

/* The launcher's ends go to those who serve them; on failure too they are taken. */
static int take_ends(struct root *r, int rank, struct rank_ends *x, struct err *e)
{
    int rc = output_add(r->output, rank, x->out.ours, x->err.ours, e);

    x->out.ours = x->err.ours = -1;
    if (rc < 0)
        close_ours(x);
    if (x->in.ours >= 0 && feed_add(r->feed, x->in.ours) < 0)
        rc = err_set(e, ERR_NOMEM, "no memory for stdin");
    x->in.ours = -1;
    if (x->pmi.ours >= 0 && pmi_conn_init(&r->ranks[rank].conn, &r->conn_env, r->job,
                                          job_member(r->job, rank), x->pmi.ours) < 0)
        rc = err_set(e, ERR_NOMEM, "no memory for rank %d", rank);
    x->pmi.ours = -1;
    return rc;
}

static pid_t start_process(struct root *r, int rank, size_t app, char **envp, size_t common,
                           const struct rank_ends *x, const char **step)
{
    struct rank_env vars = { .fd = x->pmi.theirs, .rank = rank, .size = r->size,
                             .port = r->listener ? listen_address(r->listener) : NULL,
                             .local_rank = rank, .local_size = r->size,
                             .jobid = r->jobid, .hostname = r->hostname };
    struct child_spec spec = { .path = r->args->programs[app],
                               .argv = r->plan->apps[app].argv.v, .envp = envp,
                               .dir = r->plan->apps[app].wdir, .in = x->in.theirs,
                               .out = x->out.theirs, .err = x->err.theirs,
                               .keep = x->pmi.theirs, .user = r->args->user };
    char text[ENV_RANK_TEXT];

    *step = "environment";
    if (env_rank_vars(&vars, text, sizeof text, envp + common, NULL) < 0) {
        errno = E2BIG;
        return -1;
    }
    return child_start(&spec, step);
}

static void failed_to_start(struct root *r, int rank, size_t app, const char *step,
                            int errnum)
{
    char text[PATH_MAX + 16];

    if (!strcmp(step, "chdir"))
        snprintf(text, sizeof text, "chdir to %s", r->plan->apps[app].wdir);
    else
        snprintf(text, sizeof text, "%s", step);
    launch_failed_to_start(&r->launch, root_now(r), rank, text, errnum);
}

/* False when the rank could not be started: launch knows.  Our ends are taken first,
 * as an output file that cannot be opened should start nothing. */
static bool start_rank(struct root *r, int rank, size_t app, char **envp, size_t common)
{
    const char *step = "descriptors";
    struct rank_ends x;
    struct err e = { 0 };
    pid_t pid = -1;

    if (make_ends(r, rank, &x) < 0) {
        failed_to_start(r, rank, app, step, errno);
        close_ours(&x);
    } else if (take_ends(r, rank, &x, &e) < 0) {
        launch_broken(&r->launch, root_now(r), EXIT_LAUNCHER, e.text);
    } else {
        pid = start_process(r, rank, app, envp, common, &x, &step);
        if (pid < 0)
            failed_to_start(r, rank, app, step, errno);
    }
    close_theirs(&x);
    if (pid < 0)
        return false;
    r->ranks[rank].pid = pid;
    launch_started(&r->launch, rank, pid);
    return true;
}

static int start_app(struct root *r, size_t app, int *rank, struct err *e)
{
    struct strlist common = { 0 };
    int rc = env_build(r->plan, app, environ, &common, e);
    char **envp = rc == 0 ? malloc((common.n + ENV_RANK_MAX) * sizeof *envp) : NULL;

    if (envp) {
        if (common.n)
            memcpy(envp, common.v, common.n * sizeof *envp);
        for (int i = 0; i < r->plan->apps[app].n && !r->launch.ending; i++)
            if (!start_rank(r, (*rank)++, app, envp, common.n))
                break;
    } else if (rc == 0) {
        rc = err_set(e, ERR_NOMEM, "no memory for an environment");
    }
    free(envp);
    strlist_clear(&common);
    return rc;
}

/* Three descriptors a rank, and more for what it asks; some for everything else. */
static int check_files(struct root *r, struct err *e)
{
    size_t each = 3 + !!r->feed + !!r->plan->outfile + !!r->plan->errfile;
    size_t want = (size_t)r->size * each + 64;
    struct rlimit now = r->user.files;

    now.rlim_cur = now.rlim_max;
    setrlimit(RLIMIT_NOFILE, &now);
    getrlimit(RLIMIT_NOFILE, &now);
    if (now.rlim_cur < want)
        return err_set(e, ERR_OTHER, "%d ranks need %zu descriptors, the limit is %ju "
                       "(ulimit -n)", r->size, want, (uintmax_t)now.rlim_cur);
    return 0;
}

int root_start_ranks(struct root *r, struct err *e)
{
    int rank = 0;

    if (check_files(r, e) < 0)
        return -1;
    for (size_t app = 0; app < r->plan->napps && !r->launch.ending; app++)
        if (start_app(r, app, &rank, e) < 0)
            return -1;
    return 0;
}
