/* root_new.c - jobs that ranks and tools start. */
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

/* A job that waits for providers is no other part of the root's business. */
static void drop_job(struct root *r, struct root_job *j)
{
    if (!j)
        return;
    TAILQ_INSERT_TAIL(&r->jobs, j, in_root);
    root_job_free(j);
}

static void refuse_all(struct spawn *s, const char *text)
{
    struct err why;

    err_set(&why, ERR_OTHER, "%s", text);
    refuse(s, &(struct spawn_blame){ 0, ECANCELED }, &why);
}

void root_refuse_asked(struct root *r, const char *why)
{
    while (r->nasked) {
        struct asked *a = &r->asked[--r->nasked];

        refuse_all(a->spawn, why);
        drop_job(r, a->job);
    }
}

/* --- started ----------------------------------------------------------- */

/* Who has asked is told once it is known how all have fared. */
static void settle(struct root_job *j)
{
    enum starting_state state = j->spawn ? starting_look(&j->starting, launch_over(&j->launch))
                                         : STARTING_OPEN;
    struct spawn *s = j->spawn;

    if (state == STARTING_OPEN)
        return;
    j->spawn = NULL;
    j->refused = state == STARTING_FAILED;
    if (!j->refused) {
        spawn_done(s, j->crew.job, NULL, 0, NULL);
        return;
    }
    starting_cancel(&j->starting);
    spawn_done(s, NULL, j->starting.codes, (size_t)j->launch.size, &j->missing);
}

void root_new_started(struct root_job *j, int position)
{
    if (j->spawn)
        starting_said(&j->starting, position);
    settle(j);
}

static void note_missing(struct root_job *j, const struct err *why)
{
    if (!j->missing.code)
        j->missing = *why;
}

/* Its host does not try the rest of the same program; where it tells of each that it has
 * not tried, all that is known since the first. */
static void set_codes(struct root_job *j, int rank, int errnum)
{
    size_t app = plan_app_of(&j->bundle.plan, rank);
    int node = placement_node(&j->bundle.place, rank);

    if (j->starting.codes[rank])
        return;
    for (int i = rank; i < j->launch.size && plan_app_of(&j->bundle.plan, i) == app; i++)
        if (placement_node(&j->bundle.place, i) == node)
            starting_failed(&j->starting, i, errnum);
}

void root_new_failed(struct root_job *j, double now, int rank, const char *step, int errnum)
{
    struct err why = { 0 };

    err_set(&why, strncmp(step, "chdir", 5) ? ERR_OTHER : ERR_INVALID_ARG,
            "%s: cannot start rank %d (%s): %s: %s", j->launch.hostname(j->launch.host, rank), rank,
            crew_program(&j->crew, rank), step, strerror(errnum));
    root_say(j->root, 1, "job %d: %s", j->number, why.text);
    note_missing(j, &why);
    set_codes(j, rank, errnum);
    launch_end(&j->launch, now, 0);
}

void root_new_lost(struct root_job *j, int rank)
{
    struct err why = { 0 };

    if (!j->spawn)
        return;
    err_set(&why, ERR_OTHER, "rank %d is lost with its host", rank);
    note_missing(j, &why);
    starting_failed(&j->starting, rank, EHOSTUNREACH);
    launch_end(&j->launch, root_now(j->root), 0);        /* also where a job outlives a host */
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
        struct asked *v = reallocarray(r->asked, cap, sizeof *v);

        if (!v)
            fatal("out of memory", 0);
        r->asked = v;
        r->asked_cap = cap;
    }
    r->asked[r->nasked++] = (struct asked){ .spawn = s };
}

void root_ask_again(struct root *r)
{
    for (size_t i = 0; i < r->nasked; i++)
        if (!r->asked[i].job)
            r->asked[i].waits = false;
}

/* Ranks that live on each host, without tools' daemons, which need no slots. */
static long *count_used(struct root *r)
{
    long *used = calloc(r->plan->nhosts, sizeof *used);
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        for (int i = 0; used && !j->bundle.plan.target && i < j->launch.size; i++)
            if (j->launch.ranks[i].pid && !j->launch.ranks[i].ended)
                used[placement_node(&j->bundle.place, i)]++;
    for (size_t k = 0; used && k < r->nasked; k++)       /* as good as started */
        for (int i = 0; r->asked[k].job && i < r->asked[k].job->bundle.place.size; i++)
            used[placement_node(&r->asked[k].job->bundle.place, i)]++;
    return used;
}

/* By node. */
static bool *list_lost(const struct root *r)
{
    bool *lost = calloc(r->plan->nhosts, sizeof *lost);

    for (size_t i = 0; lost && i < r->plan->nhosts; i++)
        lost[i] = r->at[r->positions[i]].lost;
    return lost;
}

/* 0; 1: hosts have to be added first; -1. */
static int make_bundle(struct root_job *j, struct root_job *parent, struct spawn *s,
                       struct spawn_blame *blame, struct err *e)
{
    struct root *r = j->root;
    long *used = count_used(r);
    bool *lost = list_lost(r);
    struct spawned_hosts hosts = { r->plan, r->listed, lost, used };
    struct bundle from = parent->bundle; /* borrowed */
    char id[80];
    int rc;

    snprintf(id, sizeof id, "%s.%d", r->jobid, j->number);
    if (spawn_rank(s) < 0 && r->plain_envs)
        from.envs = r->plain_envs;
    rc = used && lost ? spawned_bundle(&from, spawn_rank(s), spawn_wants(s), &hosts, id,
                                       &j->bundle, blame, e)
                      : err_set(e, ERR_NOMEM, "no memory for a job");
    free(used);
    free(lost);
    for (size_t i = 0; rc == 0 && i < j->bundle.plan.warnings.n; i++)
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

    if (starting_init(&j->starting, place->size, r->servers, e) < 0)
        return -1;
    for (size_t i = 0; i < place->nruns; i++) {
        const struct run *run = &place->runs[i];
        int position = r->positions[run->node];

        if (r->at[position].lost) {
            *blame = (struct spawn_blame){ plan_app_of(&j->bundle.plan, run->first),
                                           EHOSTUNREACH };
            return r->at[position].why
                   ? err_set(e, ERR_OTHER, "%s", r->at[position].why)
                   : err_set(e, ERR_OTHER, "%s is lost", r->plan->hosts[run->node].name);
        }
        if (position || j->bundle.plan.providers.n)
            starting_await(&j->starting, position);
    }
    return 0;
}

static int send_bundle(struct root_job *j, struct err *e)
{
    struct buf bytes = BUF_INIT;
    struct msg m;

    j->sent = true;
    if (root_is_alone(j->root) || !j->starting.awaited)
        return 0;
    bundle_write(&j->bundle, &bytes);
    if (bytes.failed || bytes.len > LINK_PAYLOAD) {
        buf_clear(&bytes);
        return err_set(e, ERR_LENGTH, "the job is too large to be sent to other hosts");
    }
    msg_init(&m);
    msg_start(&m, "job");
    msg_int(&m, "number", j->number);
    if (root_job_mixed(j))
        msg_int(&m, "mixed", 1);
    if (j->watched)
        msg_int(&m, "watch", 1);
    remotes_send(&j->root->below, &m, buf_bytes(&bytes), bytes.len);
    msg_clear(&m);
    buf_clear(&bytes);
    return 0;
}

/* Everything that it needs, so that it can be started. */
static int prepare(struct root_job *j, struct spawn *s, struct spawn_blame *blame, struct err *e)
{
    if (find_programs(j, blame, e) < 0)
        return -1;
    *blame = (struct spawn_blame){ 0, EAGAIN };
    if (root_job_init(j, e) < 0 || root_push_init(j, e) < 0 || await(j, blame, e) < 0 ||
        crew_check_files(&j->crew, e) < 0 ||
        crew_add_job(&j->crew, j->bundle.place.size, e) < 0 ||
        crew_take_setup(&j->crew, j->bundle.setup, e) < 0 || spawn_fill(s, j->crew.job, e) < 0)
        return -1;
    return crew_set_up(&j->crew, e) < 0 ? -1 : send_bundle(j, e);
}

/* Providers have spoken: whoever waits for that is looked at again. */
static void set_up(struct root_job *j, const char *why)
{
    struct root *r = j->root;

    if (why)
        err_set(&j->missing, ERR_OTHER, "%s", why);
    for (size_t i = 0; i < r->nasked; i++)
        if (r->asked[i].job == j)
            r->asked[i].waits = false;
}

/* 0, or -1; hosts that are not known are added. */
static int place(struct root_job *j, struct root_job *parent, struct spawn *s,
                 struct spawn_blame *blame, struct err *e)
{
    int rc = make_bundle(j, parent, s, blame, e);

    if (rc <= 0)
        return rc;
    *blame = (struct spawn_blame){ 0, EHOSTUNREACH };
    if (root_hosts_add(j->root, &j->bundle.plan, e) < 0)
        return -1;
    bundle_clear(&j->bundle);
    return make_bundle(j, parent, s, blame, e);
}

/* A host of it is on its way. */
static bool must_wait(const struct root_job *j)
{
    const struct placement *place = &j->bundle.place;
    const struct root *r = j->root;

    for (size_t i = 0; i < place->nruns; i++)
        if (root_host_awaited(r, r->positions[place->runs[i].node]))
            return true;
    return false;
}

/* 0; 1: it waits, for hosts or (j->application) for providers; -1. */
static int make(struct root_job *j, struct root_job *parent, struct spawn *s,
                struct spawn_blame *blame, struct err *e)
{
    int rc;

    if (j->application)                  /* they have been asked */
        return prepare(j, s, blame, e);
    if (place(j, parent, s, blame, e) < 0)
        return -1;
    if (must_wait(j))
        return 1;
    rc = root_setup_begin(j, set_up, e);
    return rc ? rc : prepare(j, s, blame, e);
}

static void start(struct root_job *j, const struct root_job *parent, struct spawn *s)
{
    struct root *r = j->root;

    if (spawn_alone(s))
        root_say(r, 1, "job %s: size %d, started by a tool", j->bundle.jobid, j->launch.size);
    else
        root_say(r, 1, "job %s: size %d, started by rank %d of %s", j->bundle.jobid,
                 j->launch.size, spawn_rank(s), parent->bundle.jobid);
    j->alone = spawn_alone(s) || j->bundle.plan.target;
    output_mind_lines(r->main->crew.output);
    j->spawn = s;
    j->parent_rank = spawn_rank(s);
    root_job_start(j);
    settle(j);
}

/* The job of a request: that which has waited for providers, or a new one.  NULL and e. */
static struct root_job *job_of(struct root *r, struct asked *a, struct err *e)
{
    struct root_job *j = a->job;

    if (!j)
        return root_job_new(r, r->numbers + 1, e);
    a->job = NULL;
    TAILQ_INSERT_TAIL(&r->jobs, j, in_root);
    if (!j->missing.code)
        return j;
    *e = j->missing;
    root_job_free(j);
    return NULL;
}

/* Nobody else is to see it yet; its number is taken. */
static void put_aside(struct root *r, struct asked *a, struct root_job *j)
{
    TAILQ_REMOVE(&r->jobs, j, in_root);
    a->job = j;
    r->numbers = j->number;
}

static void tell_refused(struct root *r, struct spawn *s, const struct err *e)
{
    if (spawn_alone(s))
        root_say(r, 1, "spawn by a tool: %s", e->text);
    else
        root_say(r, 1, "spawn by rank %d: %s", spawn_rank(s), e->text);
}

/* True: it waits. */
static bool try_start(struct root *r, struct asked *a, struct root_job *parent)
{
    struct spawn_blame blame = { 0, a->job ? EPERM : EAGAIN };
    struct err e = { 0 };
    struct root_job *j = job_of(r, a, &e);
    int rc = j ? make(j, parent, a->spawn, &blame, &e) : -1;

    if (rc == 0) {
        if (j->number > r->numbers)
            r->numbers = j->number;
        start(j, parent, a->spawn);
        return false;
    }
    if (rc > 0 && j->application) {
        put_aside(r, a, j);
        return true;
    }
    if (j)
        root_job_free(j);
    if (rc > 0)
        return true;
    tell_refused(r, a->spawn, &e);
    refuse(a->spawn, &blame, &e);
    return false;
}

/* Who asks, or whose options a tool's job has.  NULL: it is gone. */
static struct root_job *parent_of(struct root *r, struct spawn *s)
{
    struct job *asks = spawn_parent(s);

    if (spawn_alone(s))
        return r->main;
    return asks ? root_job_of(job_link(asks)) : NULL;
}

/* True: it waits. */
static bool take(struct root *r, struct asked *a)
{
    struct spawn *s = a->spawn;
    struct root_job *parent = parent_of(r, s);

    if (parent && !parent->launch.ending && !r->concluded)
        return a->waits || try_start(r, a, parent);
    drop_job(r, a->job);
    refuse_all(s, spawn_alone(s) ? "the launcher is ending" : "the job that asks is ending");
    return false;
}

void root_start_asked(struct root *r)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->nasked; i++) {     /* more may come meanwhile */
        struct asked a = r->asked[i];

        r->asked[i].job = NULL;                  /* it is a's now */
        a.waits = (a.waits && !a.job) || take(r, &a);
        if (a.waits)
            r->asked[kept++] = a;
    }
    r->nasked = kept;
}
