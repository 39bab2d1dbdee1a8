/* crew.c - see crew.h */
#include "mpiexec_lite/crew.h"

#include "mpiexec_lite/env.h"
#include "mpiexec_lite/mpicheck.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int by_rank(const void *key, const void *at)
{
    int x = *(const int *)key, y = ((const struct rank *)at)->rank;

    return (x > y) - (x < y);
}

struct rank *crew_rank(struct crew *c, int rank)
{
    return c->n ? bsearch(&rank, c->ranks, (size_t)c->n, sizeof *c->ranks, by_rank) : NULL;
}

const char *crew_program(const struct crew *c, int rank)
{
    size_t app = plan_app_of(c->args.plan, rank);
    const char *path = c->args.programs[app], *slash;

    if (c->args.plan->single)            /* its name was not told */
        return "singleton";
    if (!path)
        path = c->args.plan->apps[app].argv.v[0];
    slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* --- signals ----------------------------------------------------------- */

/* Its process group; and it alone, if it has left that. */
static void kill_rank(const struct rank *r, int signo)
{
    if (!r->pid)
        return;
    kill(-r->pid, signo);
    if (getpgid(r->pid) != r->pid)
        kill(r->pid, signo);
}


/* Whether a process has a handler for a signal. */
static bool catches(pid_t pid, int signo)
{
    unsigned long long mask = 0;
    char path[40], line[200];
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "SigCgt: %llx", &mask) == 1)
            break;
    if (f)
        fclose(f);
    return mask >> (signo - 1) & 1;
}

/* As Hydra does, but not to those whom it would kill. */
void crew_tell_died(struct crew *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->ranks[i].pid && catches(c->ranks[i].pid, SIGUSR1))
            kill(c->ranks[i].pid, SIGUSR1);
}

/* A program that this one has run, perhaps, as it is named in it or its arguments. */
static bool wraps_mpi(const struct crew *c, size_t app, char *program, size_t program_size,
                      char *library, size_t size)
{
    const struct app *a = &c->args.plan->apps[app];
    const char *path = env_get(c->args.envs[app].v, "PATH");

    path = path ? path : "/usr/bin:/bin";
    for (size_t i = 1; i < a->argv.n; i++)
        if (mpicheck_named(a->argv.v[i], a->wdir, path, program, program_size, library, size))
            return true;
    return mpicheck_script(c->args.programs[app], a->wdir, path, program, program_size, library,
                           size);
}

/* A Python that has imported mpi4py, perhaps, by its arguments and its script. */
static bool imports_mpi(const struct crew *c, size_t app, char *where, size_t size)
{
    const struct app *a = &c->args.plan->apps[app];
    struct buf words = BUF_INIT;
    bool found;

    buf_str(&words, c->args.programs[app]);
    for (size_t i = 1; i < a->argv.n; i++) {
        buf_char(&words, '\n');
        buf_str(&words, a->argv.v[i]);
    }
    found = !words.failed && mpicheck_python(buf_bytes(&words), NULL, a->wdir, where, size);
    buf_clear(&words);
    return found || mpicheck_python(NULL, c->args.programs[app], a->wdir, where, size);
}

/* What may have been an MPI that has no PMI; false: nothing. */
static bool suspect_mpi(const struct crew *c, int rank, char *line, size_t size)
{
    static const char alone[] = "as rank 0 of 1, as that MPI cannot be started this way";
    size_t app = plan_app_of(c->args.plan, rank);
    const char *name = crew_program(c, rank);
    char what[256], wrapped[256];

    if (mpicheck_library(c->args.programs[app], what, sizeof what))
        snprintf(line, size, "warning: %s is linked to %s, but did not use PMI: that MPI "
                 "cannot be started this way, and each process has run alone, as rank 0 of 1",
                 name, what);
    else if (wraps_mpi(c, app, wrapped, sizeof wrapped, what, sizeof what))
        snprintf(line, size, "warning: %s did not use PMI, and %s, which it names, is linked "
                 "to %s: if that has run, each process was alone, %s", name, wrapped, what, alone);
    else if (imports_mpi(c, app, wrapped, sizeof wrapped))
        snprintf(line, size, "warning: %s did not use PMI, but %s%s: if MPI was imported, each "
                 "process was alone, %s", name, strncmp(wrapped, "mpi4py", 6) ? "mpi4py is named in "
                 : "names ", wrapped, alone);
    else
        return false;
    return true;
}

/* A rank that ended without PMI, of several, may be an MPI that has none. */
static void check_mpi(struct crew *c, int rank)
{
    char line[900];

    if (c->checked_mpi || c->spoke_pmi || c->args.place->size < 2)
        return;
    c->checked_mpi = true;
    if (suspect_mpi(c, rank, line, sizeof line))
        c->node->ops->tell(c->node->host, line);
}

/* --- who is to blame --------------------------------------------------- */

const struct blame *crew_blamed(const struct crew *c, int rank)
{
    for (int i = 0; i < c->nblames; i++)
        if (c->blames[i].rank == rank)
            return &c->blames[i];
    return NULL;
}

static struct blame *blame(struct crew *c, int rank)
{
    if (c->killing || c->nblames == CREW_BLAMES || crew_blamed(c, rank))
        return NULL;
    c->blames[c->nblames] = (struct blame){ .rank = rank };
    return &c->blames[c->nblames++];
}

void crew_blame(struct crew *c, int rank)
{
    blame(c, rank);
}

static void blame_end(struct crew *c, const struct rank *r, int wstatus)
{
    struct blame *b = wstatus || r->pmi == PMI_INSIDE ? blame(c, r->rank) : NULL;

    if (b && WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGKILL)
        oom_evidence(&c->node->oom, r->pid, b->memory, sizeof b->memory);
}

/* --- ends -------------------------------------------------------------- */

void crew_wrote(void *crew, int rank)
{
    struct crew *c = crew;

    node_note(c->node, c, rank, MOMENT_OUTPUT, 0);
}

/* Serve what a rank said before it ended, then take note. */
static void rank_ended(struct crew *c, struct rank *r, int wstatus)
{
    struct member *m = job_member(c->job, r->rank);

    pmi_conn_drain(&r->conn);
    crew_drain_peers(c, m);
    pmi_conn_close(&r->conn);
    if (!member_ever_initialized(m))
        check_mpi(c, r->rank);
    node_note(c->node, c, r->rank, MOMENT_EXIT, wstatus);
    blame_end(c, r, wstatus);
    c->running--;
    c->node->ops->ended(c->node->host, c, r->rank, wstatus);
    crew_hook_ended(c, r->rank, wstatus);
    r->pid = 0;
    r->adopted = false;
    member_ended(m);
    cleanups_begin(&c->cleanups, r->rank, &c->node->cleanups);
}

void crew_cleanup_all(struct crew *c)
{
    for (int i = 0; i < c->n; i++)       /* of one whose end nobody has seen */
        cleanups_begin(&c->cleanups, c->ranks[i].rank, &c->node->cleanups);
    cleanups_begin(&c->cleanups, CLEANUP_WHOLE_JOB, &c->node->cleanups);
}

int crew_cleanup(struct crew *c, int rank, bool whole, const struct erase *what)
{
    struct rank *r = crew_rank(c, rank);

    if (cleanups_add(&c->cleanups, whole ? CLEANUP_WHOLE_JOB : rank, what) < 0)
        return -1;
    if (!whole && !(r && (r->pid || r->adopted)))
        cleanups_begin(&c->cleanups, rank, &c->node->cleanups);
    return 0;
}

/* Of one that is not ours to signal, the connection is all there is to end. */
static bool is_end(int signo)
{
    return signo == SIGTERM || signo == SIGKILL;
}

/* The job is being ended: who waits in a fence, before the first of them is gone. */
static void begin_killing(struct crew *c)
{
    for (int i = 0; i < c->n && !c->killing; i++) {
        const struct member *m = c->job ? job_member(c->job, c->ranks[i].rank) : NULL;

        c->ranks[i].fenced = m && c->ranks[i].pmi == PMI_INSIDE && member_in_fence(m);
    }
    c->killing = true;
}

void crew_kill(struct crew *c, int rank, int signo)
{
    if (rank < 0 && (is_end(signo) || signo == SIGINT || signo == SIGHUP))
        begin_killing(c);
    if (rank < 0 && is_end(signo) && c->step == CREW_SETTING_UP)
        hooks_cancel(c->hooks);
    for (int i = 0; i < c->n; i++) {
        struct rank *r = &c->ranks[i];

        if ((rank >= 0 && r->rank != rank) || (r->held && signo == SIGCONT))
            continue;                    /* who is held waits for crew_release */
        kill_rank(r, signo);
        if (r->pid && r->held && signo == SIGTERM) {
            r->held = false;
            kill(r->pid, SIGCONT);       /* or it would not hear it */
        }
        if (r->adopted && is_end(signo))
            rank_ended(c, r, signo);
    }
}

bool crew_hung_up(struct crew *c, int rank)
{
    struct rank *r = crew_rank(c, rank);

    if (!r->adopted)
        return false;
    rank_ended(c, r, 0);
    return true;
}

bool crew_reaped(struct crew *c, pid_t pid, int wstatus)
{
    for (int i = 0; i < c->n; i++)
        if (c->ranks[i].pid == pid) {
            rank_ended(c, &c->ranks[i], wstatus);
            return true;
        }
    return false;
}

void crew_swept(struct crew *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->ranks[i].pid)
            rank_ended(c, &c->ranks[i], SIGKILL);
}

/* --- set-up ------------------------------------------------------------ */

static int add_ranks(struct crew *c, struct err *e)
{
    int *ranks = NULL;

    if (c->node->args.index >= 0)
        c->n = placement_ranks(c->args.place, c->node->args.index, &ranks);
    c->ranks = c->n < 0 ? NULL : calloc((size_t)(c->n ? c->n : 1), sizeof *c->ranks);
    for (int i = 0; c->ranks && i < c->n; i++) {
        c->ranks[i].rank = ranks[i];
        c->ranks[i].conn.fd = -1;
    }
    free(ranks);
    if (c->ranks)
        return 0;
    c->n = 0;
    return err_set(e, ERR_NOMEM, "no memory for ranks");
}

int crew_init(struct crew *c, struct node *n, const struct crew_args *args, struct err *e)
{
    *c = (struct crew){ .node = n, .args = *args, .taken = TAKEN_INIT };
    TAILQ_INIT(&c->peers);
    TAILQ_INIT(&c->cleanups);
    TAILQ_INSERT_TAIL(&n->crews, c, in_node);
    return add_ranks(c, e);
}

int crew_add_job(struct crew *c, int subtree, struct err *e)
{
    const struct placement *place = c->args.place;
    struct job_spec spec = { .id = c->args.jobid, .size = place->size,
                             .universe = c->args.plan->usize, .map = place->map,
                             .map_blocks = place->nmap, .spread = c->n != place->size,
                             .nlocal = c->n, .subtree = subtree,
                             .spawner = c->args.spawner, .link = c,
                             .target = c->args.plan->target,
                             .in_env = !plan_is_single(c->args.plan),
                             .cart_dims = c->args.plan->dims,
                             .alloc_kinds = c->node->args.plan->alloc_kinds };
    int index = c->node->args.index;
    size_t room = (size_t)(c->n ? c->n : 1);
    int *appnums = malloc(room * sizeof *appnums), *local = malloc(room * sizeof *local);

    for (int i = 0; appnums && local && i < c->n; i++) {
        local[i] = c->ranks[i].rank;
        appnums[i] = (int)plan_app_of(c->args.plan, local[i]);
    }
    if (index >= 0)
        spec.cart_coords = c->args.plan->hosts[index].coords;
    spec.appnums = appnums;
    spec.local = local;
    if (appnums && local)
        c->job = server_add_job(c->node->server, &spec, e);
    else
        err_set(e, ERR_NOMEM, "no memory for %d ranks", c->n);
    free(appnums);
    free(local);
    if (!c->job)
        return -1;
    crew_hold_init(c);
    return c->args.plan->pmi_port && c->n ? crew_listen(c, e) : 0;
}

void crew_clear(struct crew *c)
{
    if (!c->node)
        return;
    crew_cleanup_all(c);
    cleanups_clear(&c->cleanups);
    feed_free(c->feed);
    crew_close_pmi(c);
    output_free(c->output);
    hooks_free(c->hooks);
    setup_clear(&c->setup);
    if (c->job)
        server_remove_job(c->job);
    taken_release(&c->taken);
    buf_clear(&c->cpusets);
    free(c->ranks);
    TAILQ_REMOVE(&c->node->crews, c, in_node);
    c->node = NULL;
}
