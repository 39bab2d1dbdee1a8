/* root_debug.c - what a debugger of the launcher wants to know: which processes the job of
 * the command line has.  The front end asks for them row by row, as it may be stopped at any
 * moment; and it says when those that are held may go on.  And its daemons, one on each host. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/node_runs.h"
#include "mpiexec_lite/shown.h"
#include "pmix_ext/survey.h"

/* Who attaches to a launcher finds the table there; a job that is over before this costs
 * nothing for it. */
static const double TABLE_AFTER = 1.0;

/* The table is complete: the front end may ask. */
static void surveyed(void *who)
{
    struct root *r = who;

    control_send_table(&r->control, r->main->launch.size, r->main->bundle.jobid);
}

static void survey(struct root *r)
{
    struct fact_job job;
    struct err e = { 0 };

    if (r->processes || r->front_gone || !r->main || !root_facts.job(r, 0, &job) || job.number)
        return;
    r->processes = survey_new(r->ext, &job, -1, 0, 0, surveyed, r, &e);
    if (!r->processes)
        root_tell(r, "no debugger can see the processes of the job: %s", e.text);
    else if (r->processes->over)
        surveyed(r);
}

static void on_time(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop;
    (void)revents;
    survey(w->data);
}

void root_debug_launched(struct root_job *j)
{
    struct root *r = j->root;

    if (j->number || plan_is_single(r->plan))
        return;
    if (r->plan->debugged || r->plan->gdb) {
        survey(r);
        return;
    }
    ev_timer_init(&r->list_processes, on_time, TABLE_AFTER, 0.);
    r->list_processes.data = r;
    ev_timer_start(r->loop, &r->list_processes);
}

/* --- what the front end asks ------------------------------------------- */

static void send_row(struct root *r, int rank)
{
    struct root_job *j = r->main;
    struct control_row row = { rank, r->processes->ranks[rank].pid, "", "" };
    struct fact_node node;
    struct fact_app app;

    if (root_facts.node(r, placement_node(&j->bundle.place, rank), &node))
        row.host = node.name;
    if (root_facts.app(r, j, (int)plan_app_of(&j->bundle.plan, rank), &app))
        row.program = app.path ? app.path : app.argv[0];
    control_send_row(&r->control, &row);
}

void root_debug_rows(void *host, int from)
{
    struct root *r = host;
    int end = from + CONTROL_ROWS;

    if (!r->processes || !r->processes->over || !r->main)
        return;
    for (int i = from; i < end && i < r->processes->size; i++)
        send_row(r, i);
}

void root_debug_release(void *host, int rank)
{
    struct root *r = host;

    if (r->main)
        root_hold_release(r->main, rank);
}

/* Before its ranks have, of themselves. */
void root_debug_ending(struct root_job *j)
{
    if (!j->number && j->root->plan->gdb)
        control_send(&j->root->control, "ending", NULL, 0);
}

/* --- a program of the debugger on each host ------------------------------ */

/* It has been started, or cannot be: the debugger goes on either way. */
static void told(void *who, const char *jobid, const int *codes, size_t n, const struct err *why)
{
    struct root *r = who;

    (void)codes;
    (void)n;
    r->daemons_asked = NULL;
    if (!jobid)
        root_tell(r, "the debugger's daemons were not started: %s", why ? why->text : "");
    control_send(&r->control, "daemons", NULL, 0);
}

/* One on every host where the job has ranks, as tools' daemons are (root_daemons.c). */
static int place_daemons(const struct root *r, struct spawn_command *c, struct err *e)
{
    const struct placement *place = &r->main->bundle.place;
    struct node_runs by_node;
    struct buf nodes = BUF_INIT;
    int rc = node_runs_init(&by_node, place, r->plan->nhosts);

    c->procs = 0;
    for (size_t i = 0; rc == 0 && i < r->plan->nhosts; i++)
        if (node_ranks(&by_node, place, i))
            buf_printf(&nodes, c->procs++ ? ",%zu" : "%zu", i);
    node_runs_clear(&by_node);
    if (rc < 0 || nodes.failed || spawn_add_info(c, "place", buf_bytes(&nodes)) < 0 ||
        spawn_add_info(c, "daemons", r->jobid) < 0 || spawn_add_info(c, "bind", "none") < 0)
        rc = err_set(e, ERR_NOMEM, "no memory");
    buf_clear(&nodes);
    return rc;
}

void root_debug_spawn(void *host, struct spawn_request *want)
{
    struct root *r = host;
    struct spawn_call call = { .rank = -1, .told = told, .who = r };
    struct err e = { 0 };

    if (r->daemons_asked)
        return;
    if (!r->main || place_daemons(r, &want->commands[0], &e) < 0 ||
        !(r->daemons_asked = spawn_ask_for(r->node.server, &call, want, &e)))
        told(r, NULL, NULL, 0, &e);
}

/* A debugger shows it on a terminal: a rank's words are made safe for that. */
void root_debug_aborted(struct root_job *j, const char *text)
{
    struct buf safe = BUF_INIT;

    if (j->number || !j->root->plan->debugged)
        return;
    buf_shown(&safe, text ? text : "");
    control_send_abort(&j->root->control, safe.failed ? "" : buf_bytes(&safe));
    buf_clear(&safe);
}

void root_debug_clear(struct root *r)
{
    if (r->loop)
        ev_timer_stop(r->loop, &r->list_processes);
    survey_free(r->processes);
    r->processes = NULL;
}
