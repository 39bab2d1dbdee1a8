/* root_pause.c - a launcher that waits for a tool before it starts anything (RFC0023, indirect
 * launch), because the tool that has started it says so (root_meet.c).
 *
 * Its server is up meanwhile, so that the tool can connect and ask, and listen for what will
 * happen.  The event PMIX_DEBUGGER_RELEASE lets it go on; directives that come with that, or
 * before, are about the job: where its ranks wait, their environment, what becomes them in place
 * of their program.  The tool that was called, or has given directives, is what the launcher
 * waits for: when it goes, the launcher ends; so it does when what -tool has started ends.  One
 * that does not come strands it for -tool-timeout seconds at most.  A debugger that knows MPIR has us stop by itself. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/hold.h"
#include "mpiexec_lite/spawn_env.h"
#include "pmix_ext/ext.h"
#include "pmix_ext/pmix_ext_keys.h"
#include "wire/rank_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void root_pause_failed(struct root *r, const char *why)
{
    root_pause_end(r);
    r->main->refused = true;             /* there is nothing to be said of it */
    root_broken(r, EXIT_LAUNCHER, why);
}

static void on_time(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct root *r = w->data;
    char text[120];

    (void)loop;
    (void)revents;
    snprintf(text, sizeof text, "no tool has let the launcher go on in %g s (%s; -tool-timeout)",
             r->plan->tool_timeout, r->meeting.uri ? PMIX_LAUNCHER_RNDZ_URI
                                                   : PMIX_LAUNCHER_PAUSE_FOR_TOOL);
    root_pause_failed(r, text);
}

void root_pause_lost(void *host)
{
    struct root *r = host;

    if (r->paused)
        root_pause_failed(r, "the tool that the launcher waits for has gone");
}

static void on_starter(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop;
    (void)revents;
    root_pause_lost(w->data);
}

/* A kernel without pidfds leaves it to -tool-timeout. */
static void watch_starter(struct root *r)
{
    int fd = r->meeting.starter > 0 ? (int)syscall(SYS_pidfd_open, r->meeting.starter, 0) : -1;

    ev_io_init(&r->on_starter, on_starter, fd, EV_READ);
    r->on_starter.data = r;
    if (fd >= 0)
        ev_io_start(r->loop, &r->on_starter);
}

bool root_pause_begin(struct root *r)
{
    if (!root_meet_waits(r))
        return false;
    r->paused = true;
    ev_timer_init(&r->patience, on_time, r->plan->tool_timeout, 0.);
    r->patience.data = r;
    if (r->plan->tool_timeout > 0)
        ev_timer_start(r->loop, &r->patience);
    watch_starter(r);
    root_say(r, 1, "waiting for a tool to let the launcher go on");
    ext_launcher_ready(r->ext);
    return true;
}

void root_pause_end(struct root *r)
{
    if (!r->paused)
        return;
    ev_timer_stop(r->loop, &r->patience);
    ev_io_stop(r->loop, &r->on_starter);
    if (r->on_starter.fd >= 0)
        close(r->on_starter.fd);
    r->paused = false;
}

static int take_hold(struct root *r, const char *text, struct err *e)
{
    if (hold_read(r->plan, text, e) < 0)
        return -1;
    if (!r->plan->hold_ranks || rank_list_check(r->plan->hold_ranks, r->main->launch.size, e) == 0)
        return 0;
    hold_drop(r->plan);
    return err_context(e, "hold");
}

/* What directives set is for the job, and not for a tool's daemons. */
static int keep_envs(struct root *r, struct err *e)
{
    const struct bundle *b = &r->main->bundle;
    int rc = 0;

    if (r->plain_envs)
        return 0;
    r->plain_envs = calloc(b->plan.napps, sizeof *r->plain_envs);
    for (size_t a = 0; r->plain_envs && a < b->plan.napps && rc == 0; a++)
        rc = strlist_copy(&r->plain_envs[a], &b->envs[a]);
    return r->plain_envs && rc == 0 ? 0 : err_set(e, ERR_NOMEM, "no memory for environments");
}

void root_pause_clear(struct root *r)
{
    root_pause_end(r);
    for (size_t a = 0; r->plain_envs && a < r->plan->napps; a++)
        strlist_clear(&r->plain_envs[a]);
    free(r->plain_envs);
}

static int take_agent(struct root *r, const char *text, struct err *e)
{
    strlist_clear(&r->plan->agent);
    return strlist_add_words(&r->plan->agent, text) < 0
           ? err_set(e, ERR_NOMEM, "no memory for an agent") : 0;
}

/* What the directives say; the plan is the main job's as well (make_main). */
static int take(struct root *r, const struct spawn_command *c, struct err *e)
{
    const char *hold = spawn_info(c, "hold"), *agent = spawn_info(c, "fork-agent");
    struct bundle *b = &r->main->bundle;

    if (keep_envs(r, e) < 0)
        return -1;
    if (hold && take_hold(r, hold, e) < 0)
        return -1;
    if (agent && take_agent(r, agent, e) < 0)
        return -1;
    b->plan.agent = r->plan->agent;
    b->plan.hold = r->plan->hold;
    b->plan.hold_ranks = r->plan->hold_ranks;
    for (size_t a = 0; a < b->plan.napps; a++)
        if (spawn_env_change(&b->envs[a], &c->info, e) < 0)
            return -1;
    return root_is_alone(r) ? 0 : root_write_bundle(r, r->plan, e);
}

int root_pause_direct(void *host, const struct spawn_command *directives, struct err *e)
{
    struct root *r = host;

    if (!r->paused)
        return 0;
    return take(r, directives, e) < 0 ? -1 : 1;
}

int root_pause_go(void *host, const struct spawn_command *directives, struct err *e)
{
    struct root *r = host;
    int rc = root_pause_direct(host, directives, e);

    if (rc <= 0)
        return rc;
    root_pause_end(r);
    root_say(r, 1, "a tool lets the launcher go on");
    root_setup_main(r);
    return 1;
}
