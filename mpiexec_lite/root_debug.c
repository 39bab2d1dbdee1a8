/* root_debug.c - what a debugger of the launcher wants to know: which processes the job of
 * the command line has.  The front end asks for them row by row, as it may be stopped at any
 * moment; and it says when those that are held may go on. */
#include "mpiexec_lite/root_impl.h"

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
    if (r->plan->debugged) {
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

void root_debug_release(void *host)
{
    struct root *r = host;

    if (r->main)
        root_hold_release(r->main, -1);
}

void root_debug_aborted(struct root_job *j, const char *text)
{
    if (!j->number && j->root->plan->debugged)
        control_send_abort(&j->root->control, text);
}

void root_debug_clear(struct root *r)
{
    if (r->loop)
        ev_timer_stop(r->loop, &r->list_processes);
    survey_free(r->processes);
    r->processes = NULL;
}
