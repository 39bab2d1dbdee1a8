/* root_new.c - jobs that ranks start. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/env.h"
#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/spawned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- refused ----------------------------------------------------------- */

/* Nothing was started, as the command that is to blame failed. */
static void refuse(struct spawn *s, const struct spawn_blame *blame, const struct err *why)
{
    const struct spawn_request *want = spawn_wants(s);
    size_t n = (size_t)spawn_size(want), at = 0;
    int *codes = n <= PLAN_RANKS_MAX ? calloc(n ? n : 1, sizeof *codes) : NULL;

    for (size_t c = 0; codes && c < want->n; c++)
        for (int i = 0; i < want->commands[c].procs; i++)
            codes[at++] = c == blame->command ? blame->code : ECANCELED;
    spawn_done(s, NULL, codes, codes ? n : 0, why);
    free(codes);
}

static void refuse_all(struct spawn *s, const char *text)
{
    struct err why;

    err_set(&why, ERR_OTHER, "%s", text);
    refuse(s, &(struct spawn_blame){ 0, ECANCELED }, &why);
}

void root_refuse_asked(struct root *r, const char *why)
{
    while (r->nasked)
        refuse_all(r->asked[--r->nasked], why);
}

/* --- started ----------------------------------------------------------- */

/* Who has asked is told once it is known how all have fared. */
static void settle(struct root_job *j)
{
    enum starting_state state = j->spawn ? starting_look(&j->starting, launch_over(&j->launch))
                                         : STARTING_OPEN;
    struct spawn *s = j->spawn;
    struct err why;

    if (state == STARTING_OPEN)
        return;
    j->spawn = NULL;
    j->refused = state == STARTING_FAILED;
    if (!j->refused) {
        spawn_done(s, j->crew.job, NULL, 0, NULL);
        return;
    }
    err_set(&why, ERR_OTHER, "not all processes could be started");
    spawn_done(s, NULL, j->starting.codes, (size_t)j->launch.size, &why);
}

void root_new_started(struct root_job *j, int position)
{
    if (j->spawn)
        starting_said(&j->starting, position);
    settle(j);
}

void root_new_failed(struct root_job *j, int rank, int errnum)
{
    if (j->spawn)
        starting_failed(&j->starting, rank, errnum);
}

void root_new_look(struct root_job *j)
{
    settle(j);
}

/* --- asked ------------------------------------------------------------- */

void root_ask(struct root *r, struct spawn *s)
{
    if (r->nasked == r->asked_cap) {
        size_t cap = r->asked_cap ? r->asked_cap * 2 : 8;
        struct spawn **v = reallocarray(r->asked, cap, sizeof *v);

        if (!v)
            fatal("out of memory", 0);
        r->asked = v;
        r->asked_cap = cap;
    }
    r->asked[r->nasked++] = s;
}

/* Ranks that live on each host. */
static long *count_used(struct root *r)
{
    long *used = calloc(r->plan->nhosts, sizeof *used);
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        for (int i = 0; used && i < j->launch.size; i++)
            if (j->launch.ranks[i].pid && !j->launch.ranks[i].ended)
                used[placement_node(&j->bundle.place, i)]++;
    return used;
}

static int make_bundle(struct root_job *j, struct root_job *parent, struct spawn *s,
                       struct spawn_blame *blame, struct err *e)
{
    struct root *r = j->root;
    long *used = count_used(r);
    char id[80];
    int rc;

    snprintf(id, sizeof id, "%s.%d", r->jobid, j->number);
    rc = spawned_bundle(&parent->bundle, spawn_rank(s), spawn_wants(s), used, id, &j->bundle,
                        blame, e);
    free(used);
    for (size_t i = 0; i < j->bundle.plan.warnings.n; i++)
        root_say(r, 1, "%s", j->bundle.plan.warnings.v[i]);
    return rc;
}

/* Whether ranks of a block are on this host. */
static bool is_here(const struct root_job *j, size_t app)
{
    const struct placement *place = &j->bundle.place;

    for (size_t i = 0; i < place->nruns; i++) {
        const struct run *run = &place->runs[i];

        if (run->node == j->root->node.args.index &&
            plan_app_of(&j->bundle.plan, run->first) <= app &&
            app <= plan_app_of(&j->bundle.plan, run->first + run->n - 1))
            return true;
    }
    return false;
}

static int find_programs(struct root_job *j, struct spawn_blame *blame, struct err *e)
{
    const struct bundle *b = &j->bundle;

    j->programs = calloc(b->plan.napps, sizeof *j->programs);
    if (!j->programs)
        return err_set(e, ERR_NOMEM, "no memory for programs");
    for (size_t a = 0; a < b->plan.napps; a++) {
        const struct app *app = &b->plan.apps[a];
        const char *path = b->envs[a].n ? env_get(b->envs[a].v, "PATH") : NULL;
        char found[PATH_MAX];
        int status;

        if (!is_here(j, a))
            continue;
        if (program_find(app->argv.v[0], app->wdir, app->path, path ? path : "/usr/bin:/bin",
                         found, sizeof found, &status, e) < 0) {
            *blame = (struct spawn_blame){ a, status == EXIT_NOT_FOUND ? ENOENT : EACCES };
            return -1;
        }
        j->programs[a] = strdup(found);
        if (!j->programs[a])
            return err_set(e, ERR_NOMEM, "no memory for programs");
    }
    return 0;
}

/* Who has ranks is to answer. */
static int await(struct root_job *j, struct spawn_blame *blame, struct err *e)
{
    const struct placement *place = &j->bundle.place;
    struct root *r = j->root;

    if (starting_init(&j->starting, place->size, r->tree.n, e) < 0)
        return -1;
    for (size_t i = 0; i < place->nruns; i++) {
        const struct run *run = &place->runs[i];
        int position = r->positions[run->node];

        if (r->at[position].lost) {
            *blame = (struct spawn_blame){ plan_app_of(&j->bundle.plan, run->first),
                                           EHOSTUNREACH };
            return err_set(e, ERR_OTHER, "%s is lost", r->plan->hosts[run->node].name);
        }
        if (position)
            starting_await(&j->starting, position);
    }
    return 0;
}

static int send_bundle(struct root_job *j, struct err *e)
{
    struct buf bytes = BUF_INIT;
    struct msg m;

    if (!j->starting.awaited)
        return 0;
    bundle_write(&j->bundle, &bytes);
    if (bytes.failed || bytes.len > LINK_PAYLOAD) {
        buf_clear(&bytes);
        return err_set(e, ERR_LENGTH, "the job is too large to be sent to other hosts");
    }
    msg_init(&m);
    msg_start(&m, "job");
    msg_int(&m, "number", j->number);
    remotes_send(&j->root->below, &m, buf_bytes(&bytes), bytes.len);
    msg_clear(&m);
    buf_clear(&bytes);
    return 0;
}

static int make(struct root_job *j, struct root_job *parent, struct spawn *s,
                struct spawn_blame *blame, struct err *e)
{
    if (make_bundle(j, parent, s, blame, e) < 0 || find_programs(j, blame, e) < 0)
        return -1;
    *blame = (struct spawn_blame){ 0, EAGAIN };
    if (root_job_init(j, e) < 0 || await(j, blame, e) < 0 || crew_check_files(&j->crew, e) < 0 ||
        crew_add_job(&j->crew, j->bundle.place.size, e) < 0 || spawn_fill(s, j->crew.job, e) < 0)
        return -1;
    return send_bundle(j, e);
}

static void start(struct root *r, struct spawn *s, struct root_job *parent)
{
    struct spawn_blame blame = { 0, EAGAIN };
    struct err e = { 0 };
    struct root_job *j = root_job_new(r, ++r->numbers, &e);

    if (!j || make(j, parent, s, &blame, &e) < 0) {
        root_say(r, 1, "spawn by rank %d: %s", spawn_rank(s), e.text);
        if (j)
            root_job_free(j);
        refuse(s, &blame, &e);
        return;
    }
    root_say(r, 1, "job %s: size %d, started by rank %d of %s", j->bundle.jobid, j->launch.size,
             spawn_rank(s), parent->bundle.jobid);
    output_mind_lines(r->main->crew.output);
    j->spawn = s;
    root_job_start(j);
    settle(j);
}

void root_start_asked(struct root *r)
{
    for (size_t i = 0; i < r->nasked; i++) {
        struct spawn *s = r->asked[i];
        struct job *asks = spawn_parent(s);
        struct root_job *parent = asks ? root_job_of(job_link(asks)) : NULL;

        if (!parent || parent->launch.ending || r->concluded)
            refuse_all(s, "the job that asks is ending");
        else
            start(r, s, parent);
    }
    r->nasked = 0;
}
