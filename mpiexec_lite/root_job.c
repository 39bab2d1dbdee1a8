/* root_job.c - a job, from its start to its end. */
#include "mpiexec_lite/root_impl.h"

#include "pmix_ext/ext.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long pipes that outlived the last rank are waited for (what holds them may
 * have something to say), and how long after a failure. */
static const double GRACE = 2.0, GRACE_FAILED = 0.3;

/* How long what is still to be written waits for its reader once the job is being
 * ended, and how long a sweep may take. */
static const double LAST_WORDS = 2.0, SWEEP_TIME = 5.0;

/* How long the servers of other nodes have to tell that their ranks have ended, once
 * KILL and the sweep after it were ordered: they may be stopped or cut off, and without a
 * lease for ever. */
static const double SILENCE = 3.0;

/* --- operations of the launch ------------------------------------------ */

/* To ranks elsewhere, with what was decided of them: their servers answer for how they end, too
 * (proxy_query.c).  rank -1: all. */
static void send_signal(struct root_job *j, int rank, int signo)
{
    const struct rank_state *s = rank < 0 ? NULL : &j->launch.ranks[rank];
    struct msg m;

    msg_init(&m);
    msg_start(&m, "signal");
    msg_int(&m, "signo", signo);
    if (s)
        msg_int(&m, "rank", rank);
    if (s && s->commanded)
        msg_int(&m, "ordered", 1);
    if (s && s->forgiven)
        msg_int(&m, "code", s->code);
    if (!s && j->launch.ending)
        msg_int(&m, "ending", 1);
    if (j->number)
        msg_int(&m, "number", j->number);
    remotes_send(&j->root->below, &m, NULL, 0);
    msg_clear(&m);
}

static void op_kill_rank(void *host, int rank, int signo)
{
    struct root_job *j = host;

    if (crew_rank(&j->crew, rank))
        crew_kill(&j->crew, rank, signo);
    else
        send_signal(j, rank, signo);
}

static void op_kill_all(void *host, int signo)
{
    struct root_job *j = host;

    crew_kill(&j->crew, -1, signo);
    send_signal(j, -1, signo);
}

static void op_tell(void *host, const char *text)
{
    struct root_job *j = host;

    root_tell(j->root, "%s", text);
}

/* What cannot be told apart goes with the last job. */
static int sweep(struct root_job *j)
{
    struct root *r = j->root;
    bool alone = TAILQ_FIRST(&r->jobs) == j && !TAILQ_NEXT(j, in_root);

    return remotes_sweep(&r->below, &r->node.hooks, &r->scheduler,
                         alone ? NULL : j->bundle.jobid, SWEEP_TIME);
}

/* A rank that KILL did not reach: in another group, or not ours to signal. */
static void op_sweep(void *host)
{
    struct root_job *j = host;
    struct root *r = j->root;
    int left = sweep(j);

    if (left)
        root_tell(r, "cleanup incomplete on %s: %d processes could not be killed", r->hostname,
                  left);
    root_send(j, "sweep", NULL, 0, NULL, 0);
    if (j->crew.job)
        crew_swept(&j->crew);            /* reaped by the sweep */
    j->give_up = root_now(r) + SILENCE;
}

static const struct launch_ops launch_ops = { op_kill_all, op_kill_rank, op_tell, op_sweep };

static const char *op_hostname(void *host, int rank)
{
    struct root_job *j = host;

    return crew_rank(&j->crew, rank) ? j->root->hostname
           : j->bundle.plan.hosts[placement_node(&j->bundle.place, rank)].name;
}

static const char *op_program(void *host, int rank)
{
    struct root_job *j = host;

    return crew_program(&j->crew, rank);
}

/* --- made -------------------------------------------------------------- */

struct root_job *root_job_find(struct root *r, int number)
{
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (j->number == number)
            return j;
    return NULL;
}

struct root_job *root_job_named(struct root *r, const struct msg *m, struct err *e)
{
    long long number = 0;

    if (msg_find(m, "number") && msg_number(m, "number", 0, r->numbers, &number, e) < 0)
        return NULL;
    return root_job_find(r, (int)number);
}

struct job_name root_job_name(const struct root_job *j)
{
    struct job_name name = { "" };

    if (j->number)
        snprintf(name.text, sizeof name.text, "job %d: ", j->number);
    return name;
}

bool root_job_settled(const struct root_job *j)
{
    return j->root->concluded && !j->number;
}

struct root_job *root_job_of(const struct crew *c)
{
    return c->args.owner;
}

struct root_job *root_job_new(struct root *r, int number, struct err *e)
{
    struct root_job *j = calloc(1, sizeof *j);

    if (!j) {
        err_set(e, ERR_NOMEM, "no memory for a job");
        return NULL;
    }
    j->root = r;
    j->number = number;
    TAILQ_INSERT_TAIL(&r->jobs, j, in_root);
    return j;
}

static int init_launch(struct root_job *j, struct err *e)
{
    struct launch *l = &j->launch;
    const struct plan *p = &j->bundle.plan;

    if (launch_init(l, &launch_ops, j, j->bundle.place.size) < 0)
        return err_set(e, ERR_NOMEM, "no memory for %d ranks", j->bundle.place.size);
    l->number = j->number;
    l->hostname = op_hostname;
    l->program = op_program;
    l->end_on_nonzero = p->policy == END_ON_ANY_NONZERO;
    l->keep_going = p->keep_going;
    if (p->timeout > 0)
        l->deadline = root_now(j->root) + p->timeout;
    l->limit = p->timeout;
    return 0;
}

/* Output comes from wherever ranks are; the main job's from every server. */
static int init_at(struct root_job *j, struct err *e)
{
    const struct root *r = j->root;
    const struct placement *place = &j->bundle.place;

    j->at = calloc((size_t)r->servers, sizeof *j->at);
    if (!j->at)
        return err_set(e, ERR_NOMEM, "no memory for %d servers", r->servers);
    for (size_t i = 0; i < place->nruns; i++) {
        struct job_at *at = &j->at[r->positions[place->runs[i].node]];

        at->loud = at->starts = true;
        at->hooked = j->bundle.plan.providers.n > 0;
    }
    for (int i = 1; i < r->servers; i++) {
        j->starts += j->at[i].starts;
        j->at[i].loud = j->at[i].loud || !j->number;
        j->loud += j->at[i].loud;
        j->hooked += j->at[i].hooked;
    }
    return 0;
}

int root_job_init(struct root_job *j, struct err *e)
{
    struct root *r = j->root;
    const struct bundle *b = &j->bundle;
    struct crew_args args = { .plan = &b->plan, .place = &b->place, .programs = j->programs,
                              .envs = b->envs, .jobid = b->jobid, .spawner = b->spawner,
                              .number = j->number, .input = j->number ? -1 : r->args->input,
                              .owner = j };
    struct output_args out = { .places = &r->places, .plan = &b->plan, .job = j->number,
                               .node = r->node.args.index, .hostname = r->hostname,
                               .buffer = r->node.buffer, .size = NODE_BUFFER,
                               .wrote = r->node.args.timeline ? crew_wrote : NULL,
                               .host = &j->crew };

    if (init_launch(j, e) < 0 || init_at(j, e) < 0 || crew_init(&j->crew, &r->node, &args, e) < 0)
        return -1;
    j->crew.output = output_new(&out, e);
    if (j->crew.output)
        root_iof_init(j);
    return j->crew.output ? 0 : -1;
}

void root_job_close(struct root_job *j)
{
    root_stacks_drop(j);
    crew_clear(&j->crew);
    for (size_t a = 0; j->number && a < j->bundle.plan.napps; a++) {
        if (j->programs)
            free(j->programs[a]);
        if (j->bundle.envs)
            strlist_clear(&j->bundle.envs[a]);
    }
    if (j->number)
        free(j->programs);
    j->programs = NULL;
    for (int i = 0; j->at && i < j->root->servers; i++)
        free(j->at[i].cpusets);
    free(j->at);
    j->at = NULL;
    starting_clear(&j->starting);
}

void root_job_free(struct root_job *j)
{
    hooks_free(j->application);
    strlist_clear(&j->takers);
    root_facts_clear(j);                 /* it is as long as the job has programs */
    root_job_close(j);
    launch_clear(&j->launch);
    root_facts_clear(j);
    if (j->number)
        bundle_clear(&j->bundle);
    root_card_clear(j);
    TAILQ_REMOVE(j->recorded ? &j->root->records : &j->root->jobs, j, in_root);
    free(j);
}

/* --- started ----------------------------------------------------------- */

bool root_job_mixed(const struct root_job *j)
{
    const struct root *r = j->root;
    const struct placement *place = &j->bundle.place;

    for (size_t i = 1; i < place->nruns; i++)
        if (r->at[r->positions[place->runs[i].node]].machine !=
            r->at[r->positions[place->runs[0].node]].machine)
            return true;
    return false;
}

void root_job_start(struct root_job *j)
{
    struct root *r = j->root;
    bool mixed = root_job_mixed(j);
    struct err e = { 0 };

    j->started = true;
    j->since = (double)time(NULL);
    j->began = root_now(r);
    root_timeline_job(j);
    j->offset = r->offset;
    if (!j->bundle.plan.target)
        r->offset += (unsigned)j->launch.size;
    if (mixed && j->crew.job)
        job_set_mixed(j->crew.job);
    root_names_add(j);
    if (root_open_files(j, &e) < 0) {
        root_broken(r, EXIT_LAUNCHER, e.text);
        return;
    }
    for (int i = 0; i < j->launch.size; i++)
        launch_started(&j->launch, i, -1);
    if (!j->number)
        root_send(j, "start", mixed ? "mixed" : NULL, 1, NULL, 0);
    if (!plan_is_single(&j->bundle.plan))
        root_setup_start(j);
    else if (root_single_start(j, &e) < 0) {
        launch_never_ran(&j->launch, 0);
        root_broken(r, EXIT_LAUNCHER, e.text);
    }
    if (!j->number)
        root_tools_open(r);
    root_events_started(j);
    root_events_look(j);
}

void root_job_not_started(struct root_job *j, int rank, const char *step, int errnum)
{
    double now = root_now(j->root);

    root_rank_not_started(j, rank, step, errnum);
    if (j->spawn)
        root_new_failed(j, now, rank, step, errnum);
    else
        launch_failed_to_start(&j->launch, now, rank, step, errnum);
}

/* --- lost -------------------------------------------------------------- */

void root_job_quiet(struct root_job *j, int position)
{
    j->loud -= j->at[position].loud;
    j->at[position].loud = false;
}

/* Whether ranks are on the host of a position or below it. */
static bool concerns(const struct root_job *j, int position)
{
    const struct placement *place = &j->bundle.place;
    const struct root *r = j->root;
    bool found = false;

    for (size_t i = 0; i < place->nruns && !found; i++) {
        int at = r->positions[place->runs[i].node];

        found = at == position || tree_next(&r->tree, position, at) >= 0;
    }
    return found;
}

bool root_job_node_lost(struct root_job *j, int position, const char *why)
{
    if (!j->started || j->launch.ending || root_job_settled(j) || !concerns(j, position))
        return false;
    launch_node_lost(&j->launch, root_now(j->root), why);
    return true;
}

void root_job_lose(struct root_job *j, int position)
{
    struct root *r = j->root;
    int node = tree_node(r->plan, position), *ranks = NULL;
    int n = placement_ranks(&j->bundle.place, node, &ranks);

    for (int i = 0; j->started && i < n; i++) {
        job_rank_lost(j->crew.job, ranks[i]);    /* also one that has ended: its server may
                                                    not have told the core's */
        root_rank_lost(j, ranks[i]);
        root_new_lost(j, ranks[i]);
    }
    free(ranks);
    root_job_tried(j, position);
    root_new_started(j, position);
    root_job_quiet(j, position);
    root_job_unhooked(j, position);
}

/* --- ended ------------------------------------------------------------- */

/* Every stream of every rank has ended. */
static bool is_quiet(const struct root_job *j)
{
    return !j->started || (output_ended(j->crew.output) && !j->loud);
}

/* Providers of every node are through; with a second Ctrl-C nobody waits for them. */
static bool is_unhooked(struct root_job *j)
{
    crew_give_up(&j->crew);              /* unless there were ranks */
    return j->launch.interrupts > 1 ||
           (crew_unhooked(&j->crew) && (!j->started || !j->hooked));
}

/* What the ranks left behind still holds their pipes: it goes now. */
static void end_leftovers(struct root_job *j)
{
    if (j->closing_streams)
        return;
    j->closing_streams = true;
    root_say(j->root, 1, "ending what the ranks left behind: it holds their output open");
    root_send(j, "close-streams", NULL, 0, NULL, 0);
    sweep(j);
    output_close_streams(j->crew.output);
}

/* Once every rank has ended: when all their output is here; not later than the limits
 * above allow. */
double root_job_step(struct root_job *j, double now)
{
    double until;

    root_new_look(j);
    root_events_look(j);
    if (j->done || j->spawn || !launch_over(&j->launch) || (!j->started && !j->launch.ending))
        return 0;
    if (j->launch.ending && !j->followed)
        return now;                      /* it was just told that it had started */
    if (!(j->over > 0))
        j->over = now;
    if (j->launch.ending && !(j->ended > 0))
        j->ended = now;
    until = j->over + (j->launch.ending ? GRACE_FAILED : GRACE);
    if (!is_quiet(j) && now < until)
        return until;
    if (!is_quiet(j))
        end_leftovers(j);
    if (!is_quiet(j) && now < until + LAST_WORDS)
        return until + LAST_WORDS;
    if (!is_unhooked(j))
        return 0;                        /* each hook has its own time */
    j->done = true;
    root_events_ended(j);
    return 0;
}

/* The time of the whole run is over, not that of a job which was given its own. */
static bool ends_all(const struct root_job *j)
{
    return j->launch.timed_out && !j->number;
}

/* Whether b is to end as a has. */
static bool follows(struct root_job *b, struct root_job *a)
{
    if (b == a || b->launch.ending || b->done || a->refused)
        return false;
    return ends_all(a) ||
           (a->crew.job && b->crew.job && job_connected(a->crew.job, b->crew.job));
}

/* End all that are to end with it: one line, however many they are. */
static void lead(struct root_job *failed)
{
    struct root *r = failed->root;
    struct root_job *j, *last = NULL;
    int n = 0;

    TAILQ_FOREACH(j, &r->jobs, in_root)
        if (follows(j, failed)) {
            launch_end(&j->launch, root_now(r), failed->launch.status);
            last = j;
            n++;
        }
    if (n == 1 && !ends_all(failed))
        root_tell(r, "job %d ends with job %d, to which it is connected", last->number,
                  failed->number);
    else if (n && !ends_all(failed))
        root_tell(r, "%d jobs end with job %d, to which they are connected", n, failed->number);
}

void root_jobs_follow(struct root *r)
{
    struct root_job *j;

    TAILQ_FOREACH(j, &r->jobs, in_root) {
        if (!j->launch.ending || j->followed || j->spawn)
            continue;                    /* of one that is being started it is not known yet
                                            whether it is refused */
        j->followed = true;
        root_debug_ending(j);
        if (j->crew.job && !j->refused)
            job_failed(j->crew.job, j->launch.status);
        lead(j);
    }
}
