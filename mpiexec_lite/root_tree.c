/* root_tree.c - the servers of the other nodes, as the root sees them: bringing them
 * up, what they tell, and losing them. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* How long a person waits without a word, and how often the line changes then. */
static const double PROGRESS_AFTER = 1.0, PROGRESS_STEP = 0.25;

bool root_is_alone(const struct root *r)
{
    return r->tree.n == 1;
}

void root_send(struct root *r, const char *cmd, const char *key, int n,
               const char *key2, int n2)
{
    struct msg m;

    msg_init(&m);
    msg_start(&m, cmd);
    if (key)
        msg_int(&m, key, n);
    if (key2)
        msg_int(&m, key2, n2);
    remotes_send(&r->below, &m);
    msg_clear(&m);
}

/* --- progress ---------------------------------------------------------- */

static void on_progress(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct root *r = w->data;

    (void)loop;
    (void)revents;
    dprintf(STDERR_FILENO, "\rmpiexec_lite: starting: %d of %d hosts answer, %d ready ",
            r->connected, r->tree.n - 1, r->ready);
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
    r->tree.width = r->below.args.tree.width = width;
    n = tree_children(&r->tree, 0, &first);
    if (node_add_job(&r->node, r->args->place->size, &e) < 0) {
        root_broken(r, EXIT_LAUNCHER, e.text);
        return;
    }
    for (int i = 0; i < r->below.n; i++)
        if (r->below.v[i].state == REMOTE_UP)
            grow(&r->below.v[i], width, false);
    if (remotes_launch(&r->below, first, n, r->tree.n - 1) < 0)
        root_broken(r, EXIT_LAUNCHER, "no memory for servers");
}

/* The first server below a server has come up, or has not. */
static void trial_over(struct root *r, bool ok, const char *why)
{
    if (r->decided)
        return;
    if (ok)
        root_say(r, 1, "launch: hosts can reach each other: a tree of width %d",
                 r->tree.width);
    else
        root_say(r, 1, "launch: hosts cannot reach each other (%s): every host is started "
                 "from here", why);
    decide(r, ok ? r->tree.width : 0);
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

static void no_munge(void *host, const char *why)
{
    root_broken(host, EXIT_LAUNCHER, why);
}

static void log_callback(void *host, const char *text)
{
    root_tell(host, "%s", text);
}

static const struct callback_ops callback_ops = {
    .claim = claim, .accepted = accepted, .refused = refused, .broken = no_munge,
    .log = log_callback,
};

static int listen_for_callbacks(struct root *r, struct remotes_args *args, struct err *e)
{
    const struct launch_options *o = &r->plan->remote;
    struct callback_args how = { r->jobid, r->tree.n, o->munge_socket };

    if (root_is_alone(r) || (o->launcher != LAUNCHER_TCP && o->launcher != LAUNCHER_MANUAL))
        return 0;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);      /* keys are in our memory */
    r->callback = callback_new(r->loop, &how, &callback_ops, r, e);
    if (!r->callback)
        return -1;
    args->connect = callback_addresses(r->callback);
    args->job = r->jobid;
    return 0;
}

int root_tree_init(struct root *r, struct err *e)
{
    struct remotes_args args = { .loop = r->loop, .plan = r->plan, .tree = r->tree,
                                 .server = r->node.server, .bundle = buf_bytes(&r->bundle),
                                 .bundle_len = r->bundle.len, .proxy = r->beside,
                                 .user = &r->user, .ops = &root_remote_ops, .host = r };
    int first, n;

    if (listen_for_callbacks(r, &args, e) < 0)
        return -1;
    r->progress.data = r;
    ev_timer_init(&r->progress, on_progress, 0., 0.);
    remotes_init(&r->below, &args);
    r->tree.width = r->below.args.tree.width = tree_width(r->plan);
    if (root_is_alone(r) || !r->tree.width || r->plan->remote.launcher == LAUNCHER_FORK) {
        decide(r, r->tree.width);
    } else {
        n = tree_children(&r->tree, 0, &first);
        if (remotes_launch(&r->below, first, n, r->tree.n - 1) < 0)
            return err_set(e, ERR_NOMEM, "no memory for servers");
    }
    if (!root_is_alone(r))
        watch_progress(r);
    root_check_ready(r);
    return 0;
}

void root_check_ready(struct root *r)
{
    if (r->started || !r->decided || r->ready < r->tree.n - 1 || r->launch.ending)
        return;
    root_progress_end(r);
    if (!root_is_alone(r))
        root_say(r, 1, "launch: %d other hosts: first answer after %.3f s, all ready after %.3f s",
                 r->tree.n - 1, r->first_up - r->began, root_now(r) - r->began);
    root_start(r);
}

/* --- positions --------------------------------------------------------- */

/* A server speaks for itself and for those below it only. */
static int check_position(struct root *r, const struct remote *from, int position,
                          struct err *e)
{
    if (from->position == position || tree_next(&r->tree, from->position, position) >= 0)
        return 0;
    return err_set(e, ERR_INVALID_ARG, "it speaks for position %d", position);
}

static int check_rank(struct root *r, const struct remote *from, int rank, struct err *e)
{
    int node = placement_node(r->args->place, rank);

    return check_position(r, from, r->positions[node], e);
}

/* The position that a message names, or -1 and e. */
static int position_of(struct root *r, const struct remote *from, const struct msg *m,
                       struct err *e)
{
    const struct pair *p = msg_find(m, "position");
    long long n;

    if (!p)
        return err_set(e, ERR_INVALID_ARG, "%s: no position", m->cmd);
    if (pair_int(p, 1, r->tree.n - 1, &n, e) < 0 || check_position(r, from, (int)n, e) < 0)
        return -1;
    return (int)n;
}

static const char *host_at(const struct root *r, int position)
{
    return r->plan->hosts[tree_node(r->plan, position)].name;
}

static void quiet(struct root *r, int position)
{
    r->quiet += !r->at[position].quiet;
    r->at[position].quiet = true;
}

static void connected(struct root *r, int position)
{
    if (r->at[position].state != AT_AWAY)
        return;
    r->at[position].state = AT_CONNECTED;
    if (!r->connected++)
        r->first_up = root_now(r);
    if (r->connected == r->tree.n - 1)
        callback_stop(r->callback);
    root_say(r, 2, "launch: %s answers", host_at(r, position));
}

/* The ranks of one position go with it. */
static void lose_ranks(struct root *r, int position)
{
    int *ranks = NULL, n = placement_ranks(r->args->place, tree_node(r->plan, position), &ranks);

    for (int i = 0; r->started && i < n; i++) {
        if (!r->launch.ranks[ranks[i]].ended)
            job_rank_lost(r->node.job, ranks[i]);
        launch_lost(&r->launch, ranks[i]);
    }
    free(ranks);
}

/* A server is gone, and all below it. */
static void lost(struct root *r, int position, const char *why)
{
    if (r->started)
        launch_node_lost(&r->launch, root_now(r), why);
    else
        root_broken(r, EXIT_LAUNCHER, why);
    for (int i = position; i < r->tree.n; i++)
        if (i == position || tree_next(&r->tree, position, i) >= 0) {
            lose_ranks(r, i);
            quiet(r, i);
            r->at[i].state = AT_LOST;
            root_input_closed(r, i);
        }
}

static void failed(struct root *r, int position, const char *why)
{
    if (!r->decided && tree_parent(&r->tree, position) > 0) {
        trial_over(r, false, why);       /* and it is tried from here */
        return;
    }
    r->at[position].state = AT_FAILED;
    root_broken(r, EXIT_LAUNCHER, why);
}

/* --- what they tell ---------------------------------------------------- */

static void rank_ended(struct root *r, const struct rank_end *x)
{
    struct rank_state *s = &r->launch.ranks[x->rank];

    if (x->wstatus == RANK_NEVER_RAN) {
        launch_never_ran(&r->launch, x->rank);
        return;
    }
    s->pid = x->pid;
    s->pmi = (enum pmi_phase)x->pmi;
    root_say(r, 2, "rank %d (pid %d): ended, status %d", x->rank, x->pid,
             shell_status(x->wstatus));
    launch_ended(&r->launch, root_now(r), x->rank, x->wstatus);
}

static int on_ended(struct root *r, struct remote *from, const struct msg *m,
                    const char *payload, size_t len, struct err *e)
{
    struct rank_end x;
    int got;

    (void)m;
    while ((got = events_next(&payload, &len, &x, e)) > 0) {
        if (x.rank < 0 || x.rank >= r->launch.size || x.pmi < PMI_NONE || x.pmi > PMI_DONE)
            return err_set(e, ERR_INVALID_ARG, "the end of rank %d", x.rank);
        if (check_rank(r, from, x.rank, e) < 0)
            return -1;
        if (r->launch.ranks[x.rank].pid && !r->launch.ranks[x.rank].ended)
            rank_ended(r, &x);
    }
    return got;
}

static void act_on_event(struct root *r, const char *kind, int rank, int code,
                         const char *text)
{
    struct launch *l = &r->launch;
    double now = root_now(r);

    if (!strcmp(kind, "not-started"))
        launch_failed_to_start(l, now, rank, text, code);
    else if (!strcmp(kind, "abort"))
        launch_aborted(l, now, rank, true, code, text);
    else if (!strcmp(kind, "abort-alone"))
        launch_aborted(l, now, rank, false, code, text);
    else if (!strcmp(kind, "protocol"))
        launch_protocol(l, now, rank, text);
    else if (!strcmp(kind, "hung-up"))
        launch_hung_up(l, now, rank);
}

static int on_event(struct root *r, struct remote *from, const struct msg *m,
                    const char *payload, size_t len, struct err *e)
{
    const char *kind = msg_get(m, "kind"), *text = msg_get(m, "text");
    long long rank, pid, pmi, code;

    (void)payload;
    (void)len;
    if (msg_number(m, "rank", 0, r->launch.size - 1, &rank, e) < 0 ||
        msg_number(m, "pid", 0, INT_MAX, &pid, e) < 0 ||
        msg_number(m, "pmi", PMI_NONE, PMI_DONE, &pmi, e) < 0 ||
        msg_number(m, "code", INT_MIN, INT_MAX, &code, e) < 0)
        return -1;
    if (check_rank(r, from, (int)rank, e) < 0)
        return -1;
    if (!kind || !text)
        return err_set(e, ERR_INVALID_ARG, "event without kind or text");
    if (pid)
        r->launch.ranks[rank].pid = (pid_t)pid;
    r->launch.ranks[rank].pmi = (enum pmi_phase)pmi;
    act_on_event(r, kind, (int)rank, (int)code, text);
    return 0;
}

static int on_connected(struct root *r, struct remote *from, const struct msg *m,
                        const char *payload, size_t len, struct err *e)
{
    int position = position_of(r, from, m, e);

    (void)payload;
    (void)len;
    if (position < 0)
        return -1;
    connected(r, position);
    trial_over(r, true, "");
    return 0;
}

static int on_ready(struct root *r, struct remote *from, const struct msg *m,
                    const char *payload, size_t len, struct err *e)
{
    int position = position_of(r, from, m, e);

    (void)payload;
    (void)len;
    if (position < 0)
        return -1;
    r->ready += r->at[position].state == AT_CONNECTED;
    r->at[position].state = AT_READY;
    root_check_ready(r);
    return 0;
}

static int on_failed(struct root *r, struct remote *from, const struct msg *m,
                     const char *payload, size_t len, struct err *e)
{
    int position = position_of(r, from, m, e);

    (void)payload;
    (void)len;
    if (position < 0)
        return -1;
    failed(r, position, msg_get(m, "text") ? msg_get(m, "text") : "");
    return 0;
}

static int on_lost(struct root *r, struct remote *from, const struct msg *m,
                   const char *payload, size_t len, struct err *e)
{
    int position = position_of(r, from, m, e);

    (void)payload;
    (void)len;
    if (position < 0)
        return -1;
    lost(r, position, msg_get(m, "text") ? msg_get(m, "text") : "");
    return 0;
}

static int on_quiet(struct root *r, struct remote *from, const struct msg *m,
                    const char *payload, size_t len, struct err *e)
{
    int position = position_of(r, from, m, e);

    (void)payload;
    (void)len;
    if (position < 0)
        return -1;
    quiet(r, position);
    return 0;
}

static int on_done(struct root *r, struct remote *from, const struct msg *m,
                   const char *payload, size_t len, struct err *e)
{
    long long left;

    (void)payload;
    (void)len;
    if (msg_number(m, "left", 0, INT_MAX, &left, e) < 0)
        return -1;
    if (!r->finishing)
        return err_set(e, ERR_INVALID_ARG, "done before it was told to finish");
    r->left += (int)left;
    remote_done(from);
    return 0;
}

static int on_broken(struct root *r, struct remote *from, const struct msg *m,
                     const char *payload, size_t len, struct err *e)
{
    long long status;

    (void)from;
    (void)payload;
    (void)len;
    if (msg_number(m, "status", 1, 255, &status, e) < 0)
        return -1;
    root_broken(r, (int)status, msg_get(m, "text") ? msg_get(m, "text") : "");
    return 0;
}

static int on_tell(struct root *r, struct remote *from, const struct msg *m,
                   const char *payload, size_t len, struct err *e)
{
    (void)from;
    (void)payload;
    (void)len;
    (void)e;
    root_tell(r, "%s", msg_get(m, "text") ? msg_get(m, "text") : "");
    return 0;
}

static int on_trace(struct root *r, struct remote *from, const struct msg *m,
                    const char *payload, size_t len, struct err *e)
{
    const struct pair *p = msg_find(m, "text");
    struct buf line = BUF_INIT;

    (void)from;
    (void)payload;
    (void)len;
    (void)e;
    for (size_t i = 0; p && i < p->len; i++)     /* a trace is text that can be shown */
        if ((unsigned char)p->val[i] < ' ')
            return err_set(e, ERR_INVALID_VAL, "a trace with control characters");
    if (p)
        buf_add(&line, p->val, p->len);
    if (line.len)
        root_write_trace(r, &line);
    buf_clear(&line);
    return 0;
}

static int on_input(struct root *r, struct remote *from, const struct msg *m,
                    const char *payload, size_t len, struct err *e)
{
    int position = position_of(r, from, m, e);
    long long bytes;

    (void)payload;
    (void)len;
    if (position < 0 || msg_number(m, "bytes", 0, CONTROL_CREDIT, &bytes, e) < 0)
        return -1;
    if (r->at[position].taken + (size_t)bytes > r->input_given + CONTROL_CREDIT)
        return err_set(e, ERR_INVALID_ARG, "more of stdin was taken than was sent");
    if (!strcmp(m->cmd, "stdin-closed"))
        root_input_closed(r, position);
    else
        root_input_taken(r, position, (size_t)bytes);
    return 0;
}

typedef int message_fn(struct root *r, struct remote *from, const struct msg *m,
                       const char *payload, size_t len, struct err *e);

static const struct {
    const char *cmd;
    message_fn *run;
} messages[] = {
    { "out", root_take_output }, { "quiet", on_quiet }, { "ended", on_ended },
    { "event", on_event }, { "connected", on_connected }, { "ready", on_ready },
    { "failed", on_failed }, { "lost", on_lost }, { "done", on_done },
    { "broken", on_broken }, { "tell", on_tell }, { "trace", on_trace },
    { "stdin-taken", on_input }, { "stdin-closed", on_input },
};

static int remote_message(void *host, struct remote *from, const struct msg *m,
                          const char *payload, size_t len, struct err *e)
{
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        if (!strcmp(messages[i].cmd, m->cmd))
            return messages[i].run(host, from, m, payload, len, e);
    return err_set(e, ERR_OTHER, "unknown message %.40s", m->cmd);
}

static void remote_connected(void *host, int position)
{
    struct root *r = host;
    struct remote *x = remotes_towards(&r->below, position);

    connected(r, position);
    if (r->decided)
        grow(x, r->tree.width, false);
    else if (position == 1)              /* the first one has others below it */
        grow(x, r->tree.width, true);
}

static void remote_failed(void *host, int position, const char *why)
{
    failed(host, position, why);
}

static void remote_lost(void *host, int position, const char *why)
{
    lost(host, position, why);
}

static void remote_tell(void *host, const char *text)
{
    root_tell(host, "%s", text);
}

const struct remote_ops root_remote_ops = {
    .message = remote_message, .connected = remote_connected, .failed = remote_failed,
    .lost = remote_lost, .tell = remote_tell,
};
