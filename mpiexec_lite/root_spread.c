/* root_spread.c - bringing up the servers of the other nodes: as a tree or flat, and what
 * a person sees of it. */
#include "mpiexec_lite/launchers.h"
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/machine.h"

#include <stdio.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

/* How long a person waits without a word, and how often the line changes then. */
static const double PROGRESS_AFTER = 1.0, PROGRESS_STEP = 0.25;

/* How much longer than the first host took its trial may take.  Where a firewall drops
 * what hosts say to each other, ssh would find out in 10 s, and who is down would be
 * waited for twice as long. */
static const double TRIAL_TIME = 2.0;

/* --- progress ---------------------------------------------------------- */

/* How many have failed and are tried again, of those that are started from here. */
static int failed_once(const struct root *r)
{
    int n = 0;

    for (int i = 0; i < r->below.n; i++)
        n += r->below.v[i]->tries > 0 && (r->below.v[i]->state == REMOTE_WAITING ||
                                          r->below.v[i]->state == REMOTE_STARTING);
    return n;
}

/* The first host that is not ready; "" if there is none. */
static const char *waited_for(const struct root *r)
{
    for (int i = 1; i < r->tree.n; i++)
        if (!r->at[i].lost && r->at[i].state != AT_READY)
            return r->plan->hosts[tree_node(r->plan, i)].name;
    return "";
}

/* Of a line that wraps, '\r' would reach the last piece only. */
static int columns(void)
{
    struct winsize size = { 0 };

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

static void on_progress(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct root *r = w->data;
    int others = r->tree.n - 1, failed = failed_once(r), more = others - r->ready - 1;
    const char *host = waited_for(r);
    char again[60] = "", rest[30] = "", line[400];

    (void)loop;
    (void)revents;
    if (failed)
        snprintf(again, sizeof again, ", %d failed and tried again", failed);
    if (more > 0)
        snprintf(rest, sizeof rest, " and %d more", more);
    snprintf(line, sizeof line, "mpiexec_lite: starting: %d of %d hosts answer, %d ready%s%s%.255s%s",
             r->connected, others, r->ready, again, *host ? "; waiting for " : "", host,
             *host ? rest : "");
    dprintf(STDERR_FILENO, "\r%.*s\033[K", columns() - 1, line);
    r->line_shown = true;
}

void root_progress_end(struct root *r)
{
    ev_timer_stop(r->loop, &r->progress);
    if (r->line_shown)
        dprintf(STDERR_FILENO, "\r\033[K");
    r->line_shown = false;
}

static void watch_progress(struct root *r)
{
    if (!isatty(STDERR_FILENO))
        return;
    ev_timer_set(&r->progress, PROGRESS_AFTER, PROGRESS_STEP);
    ev_timer_start(r->loop, &r->progress);
}

/* --- tree or flat ------------------------------------------------------ */

static void grow(struct remote *to, int width, bool trial)
{
    struct msg m;

    msg_init(&m);
    msg_start(&m, "grow");
    msg_int(&m, "width", width);
    msg_int(&m, "trial", trial);
    link_message(to->link, LINK_CONTROL, &m, NULL, 0, NULL);
    msg_clear(&m);
}

/* The shape is known: the job can be made, and everybody told. */
static void decide(struct root *r, int width)
{
    struct err e = { 0 };
    int first, n;

    r->decided = true;
    ev_timer_stop(r->loop, &r->trial);
    r->tree.width = r->below.args.tree.width = width;
    n = tree_children(&r->tree, 0, &first);
    if (crew_add_job(&r->main->crew, r->main->bundle.place.size, &e) < 0 ||
        crew_take_setup(&r->main->crew, r->main->bundle.setup, &e) < 0 ||
        crew_set_up(&r->main->crew, &e) < 0) {
        root_broken(r, EXIT_LAUNCHER, e.text);
        return;
    }
    for (int i = 0; i < r->below.n; i++)
        if (r->below.v[i]->state == REMOTE_UP)
            grow(r->below.v[i], width, false);
    if (remotes_launch(&r->below, first, n) < 0)
        root_broken(r, EXIT_LAUNCHER, "no memory for servers");
}

void root_trial_over(struct root *r, bool ok, const char *why)
{
    int width = r->tree.width;

    if (r->decided || r->finishing)
        return;
    if (ok) {
        root_say(r, 1, "launch: hosts can reach each other: a tree of width %d", width);
    } else {
        tree_children(&r->tree, 1, &r->tried);
        root_say(r, 1, "launch: hosts cannot reach each other (%s): every host is started "
                 "from here", why);
    }
    decide(r, ok ? width : 0);
}

static void on_trial(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop;
    (void)revents;
    root_trial_over(w->data, false, "no answer yet");
}

/* The first server is up, and others are to be below it: can it start them? */
static void try_below(struct root *r, struct remote *first)
{
    double now = root_now(r);

    grow(first, r->tree.width, true);
    ev_timer_set(&r->trial, now - r->began + TRIAL_TIME, 0.);
    ev_timer_start(r->loop, &r->trial);
}

void root_grow(struct root *r, struct remote *x)
{
    if (r->decided)                      /* one that comes later has none below */
        grow(x, x->position < r->tree.n ? r->tree.width : 0, false);
    else if (x->position == 1)
        try_below(r, x);
}

/* --- proxies that call back -------------------------------------------- */

static bool claim(void *host, int position)
{
    return remotes_claim(&((struct root *)host)->below, position);
}

static void accepted(void *host, int position, int fd)
{
    remotes_accept(&((struct root *)host)->below, position, fd);
}

static void refused(void *host, int position, const char *why)
{
    remotes_refuse(&((struct root *)host)->below, position, why);
}

static void munge_works(void *host)
{
    remotes_hold(&((struct root *)host)->below, false);
}

/* Once ranks run, it is those who start more that cannot. */
static void no_munge(void *host, const char *why)
{
    struct root *r = host;

    if (r->main->started)
        root_hosts_refuse(r, why);
    else
        root_broken(r, EXIT_LAUNCHER, why);
}

static void log_callback(void *host, const char *text)
{
    root_tell(host, "%s", text);
}

static const struct callback_ops callback_ops = {
    .claim = claim, .accepted = accepted, .refused = refused, .works = munge_works,
    .broken = no_munge, .log = log_callback,
};

static bool calls_back(const struct root *r)
{
    return launcher_way(r->plan->remote.launcher)->calls_back;
}

int root_await_calls(struct root *r, int positions, struct err *e)
{
    struct callback_args how = { r->jobid, positions, &r->plan->remote, &r->plan->ports };

    if (!calls_back(r))
        return 0;
    if (!r->callback)
        r->callback = callback_new(r->loop, &how, &callback_ops, r, e);
    else if (callback_open(r->callback, positions, e) < 0)
        return -1;
    if (!r->callback)
        return -1;
    r->below.args.connect = callback_addresses(r->callback);
    r->below.args.job = r->jobid;
    remotes_hold(&r->below, !callback_works(r->callback));
    return 0;
}

void root_check_calls(struct root *r)
{
    if (r->connected >= r->tree.n - 1 - r->spared && !root_hosts_awaited(r))
        callback_stop(r->callback);
}

int root_spread_init(struct root *r, struct err *e)
{
    struct remotes_args args = { .loop = r->loop, .plan = r->plan, .tree = r->tree,
                                 .server = r->node.server, .bundle = buf_bytes(&r->bundle),
                                 .bundle_len = r->bundle.len, .user = &r->user, .ops = &root_remote_ops, .host = r };
    int first, n;

    if (calls_back(r))                   /* also later: keys will be in our memory */
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    r->progress.data = r->trial.data = r;
    ev_timer_init(&r->progress, on_progress, 0., 0.);
    ev_timer_init(&r->trial, on_trial, 0., 0.);
    remotes_init(&r->below, &args);
    if (!root_is_alone(r) && root_await_calls(r, r->tree.n, e) < 0)
        return -1;
    r->tree.width = r->below.args.tree.width = tree_width(r->plan);
    if (root_is_alone(r) || !r->tree.width || r->plan->remote.launcher == LAUNCHER_FORK) {
        decide(r, r->tree.width);
    } else {
        n = tree_children(&r->tree, 0, &first);
        if (remotes_launch(&r->below, first, n) < 0)
            return err_set(e, ERR_NOMEM, "no memory for servers");
    }
    if (!root_is_alone(r))
        watch_progress(r);
    root_check_ready(r);
    return 0;
}

/* -arch: one of the blocks wants another machine than its run is on. */
static bool is_wrong_arch(struct root *r, const struct run *run)
{
    const char *have = machine_arch(r->machines.v[r->at[r->positions[run->node]].machine]);
    size_t last = plan_app_of(r->plan, run->first + run->n - 1);
    char text[400];

    for (size_t a = plan_app_of(r->plan, run->first); a <= last; a++) {
        const struct app *app = &r->plan->apps[a];

        if (!app->arch || !strcasecmp(app->arch, have))
            continue;
        snprintf(text, sizeof text, "%.100s is %.40s, and -arch wants %.40s for %.100s",
                 r->plan->hosts[run->node].name, have, app->arch, app->argv.v[0]);
        root_broken(r, EXIT_LAUNCHER, text);
        return true;
    }
    return false;
}

static bool any_arch(const struct plan *p)
{
    for (size_t a = 0; a < p->napps; a++)
        if (p->apps[a].arch)
            return true;
    return false;
}

static bool arch_is_right(struct root *r)
{
    const struct placement *place = &r->main->bundle.place;

    for (size_t i = 0; any_arch(r->plan) && i < place->nruns; i++)
        if (is_wrong_arch(r, &place->runs[i]))
            return false;
    return true;
}

void root_check_ready(struct root *r)
{
    if (r->main->started || !r->decided || r->ready < r->tree.n - 1 - r->spared || r->main->launch.ending ||
        !crew_is_set_up(&r->main->crew))
        return;
    root_progress_end(r);
    if (!arch_is_right(r))
        return;
    if (r->connected)
        root_say(r, 1, "launch: %d other hosts: first answer after %.3f s, all ready after %.3f s",
                 r->ready, r->first_up - r->began, root_now(r) - r->began);
    root_job_start(r->main);
    root_input_start(r);
}
