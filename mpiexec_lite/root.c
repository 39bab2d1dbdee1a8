/* root.c - the root from its set-up to its end, and what it says to the user. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/env.h"
#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/machine.h"
#include "mpiexec_lite/now.h"
#include "mpiexec_lite/sweep.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const double SWEEP_TIME = 5.0;    /* how long a sweep may take */

double root_now(struct root *r)
{
    (void)r;
    return now_seconds();
}

static void tell(struct root *r, const char *fmt, va_list ap)
{
    struct buf safe = BUF_INIT;
    char text[2048];

    root_progress_end(r);
    vsnprintf(text, sizeof text, fmt, ap);
    buf_escaped(&safe, text, strlen(text));
    places_tell(&r->places, safe.failed ? "(no memory)" : buf_bytes(&safe));
    buf_clear(&safe);
}

void root_tell(struct root *r, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    tell(r, fmt, ap);
    va_end(ap);
}

void root_say(struct root *r, int level, const char *fmt, ...)
{
    va_list ap;

    if (r->plan->verbose < level)
        return;
    va_start(ap, fmt);
    tell(r, fmt, ap);
    va_end(ap);
}

void root_broken(struct root *r, int status, const char *text)
{
    struct root_job *j;

    if (!r->main->launch.ending)
        root_tell(r, "%s", text);
    if (!r->status)
        r->status = status;
    TAILQ_FOREACH(j, &r->jobs, in_root)
        launch_end(&j->launch, root_now(r), status);
}

/* --- set-up, run, clear ------------------------------------------------ */

/* The job of the command line, as other jobs have theirs; all but the environments is
 * lent. */
static int make_main(struct root *r, struct err *e)
{
    struct root_job *j = r->main = root_job_new(r, 0, e);

    if (!j)
        return -1;
    r->cwd = getcwd(NULL, 0);
    if (!r->cwd)
        return err_set(e, ERR_OTHER, "cannot tell the working directory: %s", strerror(errno));
    j->programs = (char **)r->args->programs;
    j->bundle = (struct bundle){ .plan = *r->plan, .place = *r->args->place, .cwd = r->cwd,
                                 .jobid = r->jobid, .trace = r->node.args.trace,
                                 .timeline = r->node.args.timeline,
                                 .umask = umask(0) };
    umask((mode_t)j->bundle.umask);
    j->bundle.envs = calloc(r->plan->napps, sizeof *j->bundle.envs);
    if (!j->bundle.envs)
        return err_set(e, ERR_NOMEM, "no memory for environments");
    for (size_t a = 0; a < r->plan->napps; a++)
        if (env_build(r->plan, a, environ, &j->bundle.envs[a], e) < 0)
            return -1;
    return root_job_init(j, e);
}

int root_write_bundle(struct root *r, const struct plan *hosts, struct err *e)
{
    struct bundle b = r->main->bundle;
    struct buf bytes = BUF_INIT;

    b.plan.hosts = hosts->hosts;
    b.plan.nhosts = hosts->nhosts;
    bundle_write(&b, &bytes);
    if (!bytes.failed && bytes.len <= LINK_PAYLOAD) {
        buf_clear(&r->bundle);
        r->bundle = bytes;
        return 0;
    }
    if (bytes.failed)
        err_set(e, ERR_NOMEM, "no memory for the job");
    else
        err_set(e, ERR_LENGTH, "the job, with hosts, arguments and environment, has %zu bytes; "
                "%d can be sent to other hosts", bytes.len, LINK_PAYLOAD);
    buf_clear(&bytes);
    return -1;
}

static int own_node(const struct plan *p)
{
    for (size_t i = 0; i < p->nhosts; i++)
        if (p->hosts[i].local)
            return (int)i;
    return -1;
}

static int prepare_node(struct root *r, struct err *e)
{
    const struct plan *p = r->plan;
    struct node_args args = { .plan = p, .index = own_node(p), .hostname = r->hostname,
                              .user = &r->user,
                              .trace = r->args->trace >= 0 || p->verbose >= 3,
                              .timeline = p->timeline != NULL };
    char machine[MACHINE_TEXT];
    unsigned random;

    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return err_set(e, ERR_OTHER, "no random numbers");
    if (p->single_id)
        snprintf(r->jobid, sizeof r->jobid, "%s", p->single_id);
    else
        snprintf(r->jobid, sizeof r->jobid, "job-%d-%08x", (int)getppid(), random);
    if (node_init(&r->node, r->loop, &args, &root_node_ops, r, e) < 0)
        return -1;
    r->servers = r->tree.n = tree_positions(p);
    r->listed = p->nhosts;
    r->at = calloc((size_t)r->tree.n, sizeof *r->at);
    r->positions = malloc(p->nhosts * sizeof *r->positions);
    for (int i = 0, n = 0; r->positions && (size_t)i < p->nhosts; i++)
        r->positions[i] = p->hosts[i].local ? 0 : ++n;
    machine_text(machine);
    return r->at && r->positions && machine_kind(&r->machines, machine) == 0
           ? 0 : err_set(e, ERR_NOMEM, "no memory for %d servers", r->tree.n);
}

static int prepare(struct root *r, struct err *e)
{
    r->began = root_now(r);
    gethostname(r->hostname, sizeof r->hostname - 1);
    r->loop = fatal_loop_new();
    if (!r->loop || root_open_signals(r) < 0 || sweep_prepare() < 0)
        return err_set(e, ERR_OTHER, "cannot set up: %s", strerror(errno));
    control_init(&r->control, r->args->control, &root_control_ops, r);
    if (root_places_init(r, e) < 0 || prepare_node(r, e) < 0 || make_main(r, e) < 0 ||
        root_timeline_init(r, e) < 0 ||
        (!root_is_alone(r) && root_write_bundle(r, r->plan, e) < 0) || root_input_init(r, e) < 0 ||
        root_names_init(r, e) < 0 || root_ext_init(r, e) < 0 || root_meet_init(r, e) < 0)
        return -1;
    root_foreign_init(r);
    if (r->plan->stdin_mode == STDIN_RANK && r->main->crew.n)
        output_set_input(r->main->crew.output, STDIN_FILENO);
    root_watch(r);
    return crew_check_files(&r->main->crew, e);
}

static void run(struct root *r)
{
    struct err e = { 0 };

    if (root_is_alone(r))
        root_say(r, 1, "job %s on %s: size %d", r->jobid, r->hostname,
                 r->main->launch.size);
    else
        root_say(r, 1, "job %s: size %d, hosts %zu", r->jobid, r->main->launch.size,
                 r->plan->nhosts);
    if (root_meet(r, &e) < 0)
        root_pause_failed(r, e.text);
    else if (!root_pause_begin(r))
        root_setup_main(r);
    ev_run(r->loop, 0);
}

/* Nothing stays: daemons of ranks go last; where the front end is gone, all goes. */
static void clean_up(struct root *r)
{
    int left = sweep_any() ? sweep_all(SWEEP_TIME) : 0;

    if (!r->front_gone)
        root_timeline_write(r);
    root_card_show(r, left);
    if (left > 0)
        fatal("cleanup incomplete: a process could not be killed", 0);
    if (r->front_gone)
        r->status = EXIT_LAUNCHER;
}

static void clear(struct root *r)
{
    struct root_job *j;

    root_refuse_asked(r, "the launcher is ending");
    free(r->asked);
    remotes_clear(&r->below);
    callback_free(r->callback);
    for (size_t a = 0; r->main && r->main->bundle.envs && a < r->plan->napps; a++)
        strlist_clear(&r->main->bundle.envs[a]);
    if (r->main) {
        free(r->main->bundle.envs);
        setup_free_text(r->main->bundle.setup);
    }
    while ((j = TAILQ_FIRST(&r->jobs))) {
        if (!j->done && j->crew.job)     /* cut off */
            job_failed(j->crew.job, EXIT_LAUNCHER);
        root_job_free(j);
    }
    root_records_clear(r);
    root_timeline_clear(r);
    root_foreign_clear(r);
    root_debug_clear(r);
    root_pause_clear(r);
    root_meet_clear(r);
    root_ext_clear(r);
    if (r->node.buffer)
        node_clear(&r->node);
    root_single_clear(r);
    root_names_clear(r);
    places_clear(&r->places);
    control_clear(&r->control);
    buf_clear(&r->bundle);
    buf_clear(&r->card);
    buf_clear(&r->banner);
    for (int i = 0; r->at && i < r->servers; i++)
        free(r->at[i].why);
    free(r->at);
    free(r->positions);
    strlist_clear(&r->machines);
    free(r->cwd);
    if (r->loop)
        ev_loop_destroy(r->loop);
}

int root_run(const struct root_args *args)
{
    struct root *r = calloc(1, sizeof *r);
    struct err e = { 0 };
    int status = EXIT_LAUNCHER;

    if (!r)
        fatal("out of memory", 0);
    r->args = args;
    r->plan = args->plan;
    r->user = *args->user;
    TAILQ_INIT(&r->jobs);
    TAILQ_INIT(&r->records);
    TAILQ_INIT(&r->timers);
    TAILQ_INIT(&r->surveys);
    if (prepare(r, &e) < 0) {
        fprintf(stderr, "mpiexec_lite: %s\n", e.text);
    } else {
        run(r);
        clean_up(r);
        status = r->status;
    }
    clear(r);
    free(r);
    return status;
}
