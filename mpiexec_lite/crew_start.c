/* crew_start.c - give every rank its descriptors and environment, and start it. */
#include "mpiexec_lite/crew.h"

#include "mpiexec_lite/child.h"
#include "mpiexec_lite/env.h"
#include "mpiexec_lite/hold.h"
#include "mpiexec_lite/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
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
static int no_input(struct node *n)
{
    if (n->null < 0)
        n->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return n->null;
}

/* stdin of a rank: a pipe of the feed, our own or a file, or nothing. */
static int make_input(struct crew *c, int rank, struct ends *x)
{
    const struct plan *p = c->args.plan;
    bool chosen = p->stdin_mode == STDIN_ALL ||
                  (p->stdin_mode != STDIN_NONE && p->stdin_rank == rank);

    if (chosen && c->feed)
        return make_pipe(x, 1);
    x->lent = true;
    x->theirs = chosen ? c->args.input : no_input(c->node);
    return x->theirs < 0 ? -1 : 0;
}

/* Merged with stdout, stderr is the same pipe, so that a rank's own order stays. */
static int make_errors(struct crew *c, struct rank_ends *x)
{
    if (!c->args.plan->merge)
        return make_pipe(&x->err, 0);
    x->err.theirs = x->out.theirs;
    x->err.lent = true;
    return 0;
}

static int make_ends(struct crew *c, int rank, struct rank_ends *x)
{
    static const struct ends none = { -1, -1, false };

    *x = (struct rank_ends){ none, none, none, none };
    if ((!c->listener && make_pmi(&x->pmi) < 0) || make_pipe(&x->out, 0) < 0 ||
        make_errors(c, x) < 0 || make_input(c, rank, &x->in) < 0)
        return -1;
    return 0;
}

/* The launcher's ends go to those who serve them; on failure too they are taken. */
static int take_ends(struct crew *c, struct rank *r, struct rank_ends *x, struct err *e)
{
    int rc = output_add(c->output, r->rank, x->out.ours, x->err.ours, e);

    x->out.ours = x->err.ours = -1;
    if (rc < 0)
        close_ours(x);
    if (x->in.ours >= 0 && feed_add(c->feed, x->in.ours) < 0)
        rc = err_set(e, ERR_NOMEM, "no memory for stdin");
    x->in.ours = -1;
    if (x->pmi.ours >= 0 && pmi_conn_init(&r->conn, &c->node->conn_env, c->job,
                                          job_member(c->job, r->rank), x->pmi.ours) < 0)
        rc = err_set(e, ERR_NOMEM, "no memory for rank %d", r->rank);
    x->pmi.ours = -1;
    return rc;
}

/* A rank that is being started, with what its process uses of ours. */
struct start {
    struct rank *rank;
    char       **envp;           /* owned; strings of the block, or of: */
    struct strlist changed;      /* owned: its own environment; empty: it has none */
    char         text[ENV_RANK_TEXT];
    struct buf   gpus;
};

/* Ranks of one block are started side by side. */
struct starts {
    struct crew    *crew;
    size_t          app;
    const struct strlist *env;   /* borrowed: of the block; or: */
    struct strlist  changed;     /* owned: the same, as providers have changed it */
    struct strlist  constants;   /* owned: what ranks of the block need not ask for */
    struct binding  binding;     /* owned: what they run on */
    char           *agent;       /* owned: executed in place of the program; NULL: nothing is */
    char          **argv;        /* owned: then, its words and the program's */
    struct children children;
    struct start   *v;           /* owned; as many as children can have */
};

/* A variable that is there already, or the end of the list. */
static char **find_variable(char **envp, const char *entry)
{
    size_t len = env_name_len(entry) + 1;

    while (*envp && strncmp(*envp, entry, len))
        envp++;
    return envp;
}

/* The variables that name a rank's GPUs take the place of those of the same name. */
static int set_gpus(struct starts *s, struct start *x, char **envp)
{
    char *line, *rest;

    buf_reset(&x->gpus);
    binding_gpus(&s->binding, (int)(x->rank - s->crew->ranks), &x->gpus);
    if (x->gpus.failed)
        return -1;
    rest = x->gpus.len ? buf_bytes(&x->gpus) : NULL;
    while ((line = strsep(&rest, "\n")) && *line) {
        char **at = find_variable(envp, line);

        if (!*at)
            at[1] = NULL;
        *at = line;
    }
    return 0;
}

/* The environment of a block, changed as providers have said: for all, or one rank. */
static int change_env(const struct starts *s, const struct setup *setup,
                      const struct strlist *from, struct strlist *out, struct err *e)
{
    const struct plan *p = s->crew->args.plan;
    const struct strlist *own[] = { &p->env.set, &p->apps[s->app].env.set };

    strlist_clear(out);
    if (strlist_copy(out, from) < 0)
        return err_set(e, ERR_NOMEM, "no memory for an environment");
    return setup_change_env(setup, own, 2, out, e);
}

/* What providers have said of this rank alone.  0, or -1 with errno. */
static int change_rank(const struct starts *s, struct start *x)
{
    const struct crew *c = s->crew;
    const struct setup *setup = c->hooks ? hooks_child(c->hooks, (int)(x->rank - c->ranks)) : NULL;
    struct err e;

    if (!setup || !setup->infos.n || change_env(s, setup, s->env, &x->changed, &e) == 0)
        return 0;
    errno = ENOMEM;
    return -1;
}

/* 0, or -1 with errno. */
static int make_env(struct starts *s, struct start *x, const struct rank_ends *ends)
{
    struct crew *c = s->crew;
    const struct strlist *env = x->changed.n ? &x->changed : s->env, *more = &s->constants;
    struct rank_env vars = { .fd = ends->pmi.theirs, .rank = x->rank->rank,
                             .size = c->args.place->size,
                             .port = c->listener ? listen_address(c->listener) : NULL,
                             .local_rank = (int)(x->rank - c->ranks), .local_size = c->n,
                             .jobid = c->args.jobid, .spawned = c->args.spawner != NULL,
                             .hostname = c->node->args.plan->hide_hostname
                                         ? NULL : c->node->args.hostname };

    x->envp = malloc((env->n + more->n + ENV_RANK_MAX + BINDING_GPU_VARIABLES) *
                     sizeof *x->envp);
    if (!x->envp)
        return -1;
    if (env->n)
        memcpy(x->envp, env->v, env->n * sizeof *x->envp);
    if (more->n)
        memcpy(x->envp + env->n, more->v, more->n * sizeof *x->envp);
    if (env_rank_vars(&vars, x->text, sizeof x->text, x->envp + env->n + more->n, NULL) >= 0 &&
        (!s->binding.gpus || set_gpus(s, x, x->envp) == 0))
        return 0;
    errno = E2BIG;
    return -1;
}

static int begin_process(struct starts *s, struct rank *r, const struct rank_ends *ends)
{
    const struct crew *c = s->crew;
    const struct app *app = &c->args.plan->apps[s->app];
    struct start *x = &s->v[s->children.n];
    struct child_spec spec = { .path = s->agent ? s->agent : c->args.programs[s->app],
                               .argv = s->agent ? s->argv : app->argv.v, .dir = app->wdir,
                               .in = ends->in.theirs, .out = ends->out.theirs,
                               .err = ends->err.theirs, .keep = ends->pmi.theirs,
                               .cpus = binding_cpus(&s->binding, (int)(r - c->ranks)),
                               .memory = binding_memory(&s->binding, (int)(r - c->ranks)),
                               .hold = hold_has(c->args.plan, HOLD_EXEC, r->rank),
                               .for_debugger = c->args.plan->hold != HOLD_NONE,
                               /* The kernel shares processors out among sessions first: in one
                                * with us, an MPI that spins would keep us, who are to answer it,
                                * and what it has spawned, waiting. */
                               .session = true,
                               .user = c->node->args.user };

    x->rank = r;
    x->envp = NULL;
    if (change_rank(s, x) < 0 || make_env(s, x, ends) < 0) {
        free(x->envp);
        strlist_clear(&x->changed);
        return -1;
    }
    spec.envp = x->envp;
    children_add(&s->children, &spec);
    return 0;
}

static void failed_to_start(struct crew *c, int rank, size_t app, const char *step,
                            int errnum)
{
    const struct strlist *agent = &c->args.plan->agent;
    char text[PATH_MAX + 16];

    if (!strcmp(step, "exec") && agent->n)
        snprintf(text, sizeof text, LAUNCH_AGENT " %s", agent->v[0]);
    else if (!strcmp(step, "chdir"))
        snprintf(text, sizeof text, "chdir to %s", c->args.plan->apps[app].wdir);
    else
        snprintf(text, sizeof text, "%s", step);
    c->node->ops->not_started(c->node->host, c, rank, text, errnum);
}

/* False when the rank could not be started, which is told.  Our ends are taken first,
 * as an output file that cannot be opened should start nothing. */
static bool begin_rank(struct starts *s, struct rank *r)
{
    struct crew *c = s->crew;
    struct rank_ends x;
    struct err e = { 0 };
    bool ok = false;

    if (make_ends(c, r->rank, &x) < 0) {
        failed_to_start(c, r->rank, s->app, "descriptors", errno);
        close_ours(&x);
    } else if (take_ends(c, r, &x, &e) < 0) {
        c->node->ops->broken(c->node->host, e.text);
    } else {
        ok = begin_process(s, r, &x) == 0;
        if (!ok)
            failed_to_start(c, r->rank, s->app, "environment", errno);
    }
    close_theirs(&x);
    return ok;
}

static bool end_rank(struct starts *s, int i)
{
    struct crew *c = s->crew;
    struct rank *r = s->v[i].rank;
    const char *step;
    pid_t pid = children_end(&s->children, i, &step);

    free(s->v[i].envp);
    strlist_clear(&s->v[i].changed);
    if (pid < 0) {
        failed_to_start(c, r->rank, s->app, step, errno);
        return false;
    }
    r->pid = pid;
    r->held = hold_has(c->args.plan, HOLD_EXEC, r->rank);
    c->running++;
    node_note(c->node, c, r->rank, MOMENT_EXEC, pid);
    c->node->ops->started(c->node->host, c, r->rank, pid);
    return true;
}

/* Wait for those that have been begun.  False: one could not be started. */
static bool end_all(struct starts *s)
{
    bool ok = true;

    for (int i = 0; i < s->children.n; i++)
        ok = end_rank(s, i) && ok;
    s->children.n = 0;
    return ok;
}

static void drop_agent(struct starts *s)
{
    free(s->agent);
    free(s->argv);
    s->agent = NULL;
    s->argv = NULL;
}

/* An agent that is not there is executed by its name, which fails and says so (rank by rank, as
 * a program does that cannot be executed). */
static int set_agent(struct starts *s, struct err *e)
{
    const struct plan *p = s->crew->args.plan;
    const struct strlist *words = &p->agent, *argv = &p->apps[s->app].argv;
    const char *path = s->env->n ? env_get(s->env->v, "PATH") : NULL;
    char found[PATH_MAX];
    int status;

    drop_agent(s);
    if (!words->n)
        return 0;
    if (program_find(words->v[0], NULL, NULL, path ? path : "/usr/bin:/bin", found, sizeof found,
                     &status, e) < 0)
        snprintf(found, sizeof found, "%s", words->v[0]);
    s->agent = strdup(found);
    s->argv = calloc(words->n + argv->n + 1, sizeof *s->argv);
    if (!s->agent || !s->argv)
        return err_set(e, ERR_NOMEM, "no memory for an agent");
    memcpy(s->argv, words->v, words->n * sizeof *s->argv);
    memcpy(s->argv + words->n, argv->v, argv->n * sizeof *s->argv);
    return 0;
}

static int set_block(struct starts *s, size_t app, struct err *e)
{
    struct crew *c = s->crew;
    struct env_constants k = { c->args.plan->usize, app, job_mapping(c->job), NULL, c->n };
    int *local = malloc((size_t)(c->n ? c->n : 1) * sizeof *local), rc;

    if (!local)
        return err_set(e, ERR_NOMEM, "no memory for an environment");
    for (int i = 0; i < c->n; i++)
        local[i] = c->ranks[i].rank;
    k.local = local;
    s->app = app;
    strlist_clear(&s->constants);
    binding_clear(&s->binding);
    rc = crew_bind(c, app, &s->binding, e) < 0 ? -1 : env_add_constants(&k, &s->constants, e);
    s->env = &c->args.envs[app];
    if (rc == 0 && c->setup.infos.n) {
        rc = change_env(s, &c->setup, s->env, &s->changed, e);
        s->env = &s->changed;
    }
    free(local);
    return rc == 0 ? set_agent(s, e) : rc;
}

/* 0; 1: a rank could not be started; -1 and e. */
static int start_all(struct starts *s, struct err *e)
{
    struct crew *c = s->crew;

    for (int i = 0; i < c->n; i++) {
        size_t app = plan_app_of(c->args.plan, c->ranks[i].rank);

        if ((app != s->app || s->children.n == s->children.most) && !end_all(s))
            return 1;
        if (app != s->app && set_block(s, app, e) < 0)
            return -1;
        crew_note_cpus(c, i, binding_cpus(&s->binding, i));
        if (!begin_rank(s, &c->ranks[i]))
            return 1;
    }
    return 0;
}

/* Three descriptors a rank, and more for what it asks; some for everything else. */
int crew_check_files(struct crew *c, struct err *e)
{
    size_t each = 3 + !!c->feed + !!c->args.plan->outfile + !!c->args.plan->errfile;
    size_t want = (size_t)c->n * each + 64;
    struct rlimit now = c->node->args.user->files;

    now.rlim_cur = now.rlim_max;
    setrlimit(RLIMIT_NOFILE, &now);
    getrlimit(RLIMIT_NOFILE, &now);
    if (now.rlim_cur < want)
        return err_set(e, ERR_OTHER, "%d ranks need %zu descriptors, the limit is %ju "
                       "(ulimit -n)", c->n, want, (uintmax_t)now.rlim_cur);
    return 0;
}

int crew_adopt(struct crew *c, int fd, struct err *e)
{
    struct rank *r = &c->ranks[0];

    if (pmi_conn_init(&r->conn, &c->node->conn_env, c->job, job_member(c->job, 0), fd) < 0)
        return err_set(e, ERR_NOMEM, "no memory for a rank");
    r->adopted = true;
    c->running++;
    return 0;
}

/* Providers first (RFC0012): no process of the job before they have answered. */
static int check_step(const struct crew *c, struct err *e)
{
    return c->step == CREW_SET_UP || (c->step == CREW_PREPPED && !c->args.plan->providers.n)
           ? 0 : err_set(e, ERR_OTHER, "ranks cannot be started: providers have not been asked");
}

int crew_start(struct crew *c, struct err *e)
{
    int window = c->args.plan->start_window;
    struct starts s = { .crew = c, .app = SIZE_MAX };
    int rc;

    if (check_step(c, e) < 0)
        return -1;
    c->step = CREW_FORKED;
    rc = children_init(&s.children, window < c->n ? window : c->n);
    s.v = calloc((size_t)s.children.most, sizeof *s.v);
    if (rc < 0 || !s.v)
        rc = err_set(e, ERR_NOMEM, "no memory to start ranks");
    else
        rc = start_all(&s, e);
    end_all(&s);
    for (int i = 0; s.v && i < s.children.most; i++)
        buf_clear(&s.v[i].gpus);
    if (c->n && !*c->node->oom.path)     /* while they start */
        oom_begin(&c->node->oom, "/proc/self/cgroup", "/sys/fs/cgroup");
    children_clear(&s.children);
    strlist_clear(&s.constants);
    strlist_clear(&s.changed);
    binding_clear(&s.binding);
    drop_agent(&s);
    free(s.v);
    crew_hook_started(c);
    return rc < 0 ? -1 : 0;
}
