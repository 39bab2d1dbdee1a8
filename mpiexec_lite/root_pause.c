/* root_pause.c - a launcher that waits for a tool before it starts anything (RFC0023, indirect
 * launch): PMIX_LAUNCHER_PAUSE_FOR_TOOL in its environment, as a tool sets it that runs one.
 *
 * Its server is up meanwhile, so that the tool can connect and ask, and listen for what will
 * happen.  The event PMIX_DEBUGGER_RELEASE lets it go on; directives that come with that are
 * about the job: where its ranks wait, and their environment.  A tool that does not come, or
 * dies, strands it for PATIENCE at most.  A
 * debugger that knows MPIR has us stop by itself. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/hold.h"
#include "mpiexec_lite/spawn_env.h"
#include "pmix_ext/ext.h"
#include "wire/rank_list.h"

#include <stdlib.h>
#include <string.h>

static const double PATIENCE = 300.0;    /* seconds */

static bool is_wanted(void)
{
    const char *said = getenv("PMIX_LAUNCHER_PAUSE_FOR_TOOL");

    return said && *said && strcmp(said, "0");
}

static void on_time(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct root *r = w->data;

    (void)loop;
    (void)revents;
    root_pause_end(r);
    root_broken(r, EXIT_LAUNCHER, "no tool has let the launcher go on (PMIX_LAUNCHER_PAUSE_FOR_TOOL)");
}

bool root_pause_begin(struct root *r)
{
    if (!is_wanted() || r->plan->no_tools || r->plan->debugged)
        return false;
    r->paused = true;
    ev_timer_init(&r->patience, on_time, PATIENCE, 0.);
    r->patience.data = r;
    ev_timer_start(r->loop, &r->patience);
    root_tools_open(r);
    root_say(r, 1, "waiting for a tool to let the launcher go on");
    ext_launcher_ready(r->ext);
    return true;
}

void root_pause_end(struct root *r)
{
    if (r->paused)
        ev_timer_stop(r->loop, &r->patience);
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

/* What the directives say; the plan is the main job's as well (make_main). */
static int take(struct root *r, const struct spawn_command *c, struct err *e)
{
    const char *hold = spawn_info(c, "hold");
    struct bundle *b = &r->main->bundle;

    if (hold && take_hold(r, hold, e) < 0)
        return -1;
    b->plan.hold = r->plan->hold;
    b->plan.hold_ranks = r->plan->hold_ranks;
    for (size_t a = 0; a < b->plan.napps; a++)
        if (spawn_env_change(&b->envs[a], &c->info, e) < 0)
            return -1;
    return root_is_alone(r) ? 0 : root_write_bundle(r, r->plan, e);
}

int root_pause_go(void *host, const struct spawn_command *directives, struct err *e)
{
    struct root *r = host;

    if (!r->paused)
        return 0;
    if (take(r, directives, e) < 0)
        return -1;
    root_pause_end(r);
    root_say(r, 1, "a tool lets the launcher go on");
    root_setup_main(r);
    return 1;
}
