/* root_told.c - what the servers of the other nodes tell the root. */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/events.h"
#include "mpiexec_lite/machine.h"

#include <errno.h>
#include <string.h>

/* A server speaks for itself and for those below it only. */
static int check_position(struct root *r, const struct remote *from, int position,
                          struct err *e)
{
    if (from->position == position || tree_next(&r->tree, from->position, position) >= 0)
        return 0;
    return err_set(e, ERR_INVALID_ARG, "it speaks for position %d", position);
}

static int check_rank(struct root_job *j, const struct remote *from, int rank, struct err *e)
{
    int node = placement_node(&j->bundle.place, rank);

    return check_position(j->root, from, j->root->positions[node], e);
}

/* The position that a message names, or -1 and e. */
static int position_of(struct root *r, const struct msg *m, struct err *e)
{
    const struct pair *p = msg_find(m, "position");
    long long n;

    if (!p)
        return err_set(e, ERR_INVALID_ARG, "%s: no position", m->cmd);
    return pair_int(p, 1, r->servers - 1, &n, e) < 0 ? -1 : (int)n;
}

/* Words about a trial from the server that made it, on their way when it was given up. */
static bool is_late(const struct root *r, const struct remote *from, int position)
{
    return position == r->tried && from->position == 1;
}

/* --- messages ---------------------------------------------------------- */

static void rank_ended(struct root_job *j, const struct rank_end *x)
{
    struct rank_state *s = &j->launch.ranks[x->rank];

    if (x->wstatus == RANK_NEVER_RAN) {
        launch_never_ran(&j->launch, x->rank);
        return;
    }
    s->pid = x->pid;
    s->pmi = (enum pmi_phase)x->pmi;
    s->fenced = x->fenced;
    root_say(j->root, 2, "%srank %d (pid %d): ended, status %d", root_job_name(j).text, x->rank,
             x->pid, shell_status(x->wstatus));
    root_rank_ended(j, x->rank, x->wstatus);
}

/* A message of a server below, with what its row in the table has asked for. */
struct told {
    struct remote    *from;
    const struct msg *m;
    const char       *payload;
    size_t            len;
    int               position;          /* whose it is */
    const char       *text;              /* "" if there is none */
};

static int on_out(struct root *r, const struct told *t, struct err *e)
{
    return root_take_output(r, t->from, t->m, t->payload, t->len, e);
}

static int on_watched(struct root *r, const struct told *t, struct err *e)
{
    return root_take_watched(r, t->from, t->m, t->payload, t->len, e);
}

static int on_ended(struct root *r, const struct told *t, struct err *e)
{
    const char *at = t->payload;
    size_t len = t->len;
    struct rank_end x;
    int got;

    while ((got = events_next(&at, &len, &x, e)) > 0) {
        struct root_job *j = root_job_find(r, x.job);

        if (x.job < 0 || x.job > r->numbers)
            return err_set(e, ERR_INVALID_ARG, "the end of a rank of job %d", x.job);
        if (!j)
            continue;
        if (x.rank < 0 || x.rank >= j->launch.size || x.pmi < PMI_NONE || x.pmi > PMI_DONE)
            return err_set(e, ERR_INVALID_ARG, "the end of rank %d", x.rank);
        if (check_rank(j, t->from, x.rank, e) < 0)
            return -1;
        if (j->launch.ranks[x.rank].pid && !j->launch.ranks[x.rank].ended)
            rank_ended(j, &x);
    }
    return got;
}

static void act_on_event(struct root_job *j, const char *kind, int rank, int code,
                         const char *text)
{
    struct launch *l = &j->launch;
    double now = root_now(j->root);

    if (!strcmp(kind, "not-started"))
        root_job_not_started(j, rank, text, code ? code : EIO);
    else if (!strcmp(kind, "abort"))
        root_rank_aborted(j, rank, true, code, text);
    else if (!strcmp(kind, "abort-alone"))
        root_rank_aborted(j, rank, false, code, text);
    else if (!strcmp(kind, "protocol"))
        launch_protocol(l, now, rank, text);
    else if (!strcmp(kind, "hung-up"))
        launch_hung_up(l, now, rank);
    else if (!strcmp(kind, "went-on"))
        root_hold_went_on(j, rank);
}

static int on_event(struct root *r, const struct told *t, struct err *e)
{
    const char *kind = msg_get(t->m, "kind");
    struct root_job *j = root_job_named(r, t->m, e);
    long long rank, pid, pmi, code;

    if (!j)
        return e->code ? -1 : 0;
    if (msg_number(t->m, "rank", 0, j->launch.size - 1, &rank, e) < 0 ||
        msg_number(t->m, "pid", 0, INT_MAX, &pid, e) < 0 ||
        msg_number(t->m, "pmi", PMI_NONE, PMI_DONE, &pmi, e) < 0 ||
        msg_number(t->m, "code", INT_MIN, INT_MAX, &code, e) < 0 ||
        check_rank(j, t->from, (int)rank, e) < 0)
        return -1;
    if (!kind)
        return err_set(e, ERR_INVALID_ARG, "event without kind");
    if (pid)
        j->launch.ranks[rank].pid = (pid_t)pid;
    j->launch.ranks[rank].pmi = (enum pmi_phase)pmi;
    act_on_event(j, kind, (int)rank, (int)code, t->text);
    return 0;
}

static int on_connected(struct root *r, const struct told *t, struct err *e)
{
    (void)e;
    root_server_connected(r, t->position);
    root_trial_over(r, true, "");
    return 0;
}

static int on_ready(struct root *r, const struct told *t, struct err *e)
{
    const char *machine = msg_get(t->m, "machine");
    int kind = machine ? machine_kind(&r->machines, machine) : 0;

    if (!machine || kind < 0)
        return err_set(e, machine ? ERR_NOMEM : ERR_INVALID_ARG, "ready: no %s",
                       machine ? "memory" : "machine");
    r->at[t->position].machine = kind;
    r->ready += r->at[t->position].state == AT_CONNECTED;
    r->at[t->position].state = AT_READY;
    root_timeline_host(r, t->position, true);
    root_check_ready(r);
    root_host_ready(r, t->position);
    root_tools_ready(r);
    return 0;
}

static int on_failed(struct root *r, const struct told *t, struct err *e)
{
    (void)e;
    root_server_failed(r, t->position, t->text);
    return 0;
}

static int on_lost(struct root *r, const struct told *t, struct err *e)
{
    (void)e;
    root_server_lost(r, t->position, t->text);
    return 0;
}

static int on_quiet(struct root *r, const struct told *t, struct err *e)
{
    struct root_job *j = root_job_named(r, t->m, e);

    if (j)
        root_job_quiet(j, t->position);
    return e->code ? -1 : 0;
}

static int on_unhooked(struct root *r, const struct told *t, struct err *e)
{
    struct root_job *j = root_job_named(r, t->m, e);

    if (j)
        root_job_unhooked(j, t->position);
    return e->code ? -1 : 0;
}

/* "0-1:2-3", a set for each rank there. */
static int take_cpusets(struct root_job *j, const struct told *t, struct err *e)
{
    struct job_at *at = &j->at[t->position];

    if (!t->len || at->cpusets)
        return 0;
    for (size_t i = 0; i < t->len; i++)
        if (!strchr("0123456789,-:", t->payload[i]) || !t->payload[i])
            return err_set(e, ERR_INVALID_VAL, "started: that is no list of sets of processors");
    at->cpusets = strndup(t->payload, t->len);
    return at->cpusets ? 0 : err_set(e, ERR_NOMEM, "no memory");
}

static int on_started(struct root *r, const struct told *t, struct err *e)
{
    struct root_job *j = root_job_named(r, t->m, e);

    if (j && take_cpusets(j, t, e) < 0)
        return -1;
    if (j) {
        root_job_tried(j, t->position);
        root_new_started(j, t->position);
    }
    return e->code ? -1 : 0;
}

static int on_held(struct root *r, const struct told *t, struct err *e)
{
    struct root_job *j = root_job_named(r, t->m, e);
    long long ranks;

    if (e->code || msg_number(t->m, "ranks", 1, INT_MAX / 2, &ranks, e) < 0)
        return -1;
    if (j && ranks > j->launch.size - j->held)
        return err_set(e, ERR_INVALID_ARG, "held: %lld ranks more than there are", ranks);
    if (j)
        root_hold_add(j, (int)ranks);
    return 0;
}

static int on_done(struct root *r, const struct told *t, struct err *e)
{
    long long left;

    if (msg_number(t->m, "left", 0, INT_MAX, &left, e) < 0)
        return -1;
    if (!r->finishing)
        return err_set(e, ERR_INVALID_ARG, "done before it was told to finish");
    r->left += (int)left;
    root_card_counted(r, t->from->position);
    remote_done(t->from);
    return 0;
}

static int on_broken(struct root *r, const struct told *t, struct err *e)
{
    long long status;

    if (msg_number(t->m, "status", 1, 255, &status, e) < 0)
        return -1;
    root_broken(r, (int)status, t->text);
    return 0;
}

static int on_tell(struct root *r, const struct told *t, struct err *e)
{
    (void)e;
    root_tell(r, "%s", t->text);
    return 0;
}

static int on_trace(struct root *r, const struct told *t, struct err *e)
{
    const struct pair *p = msg_find(t->m, "text");
    struct buf line = BUF_INIT;

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

static int on_surveyed(struct root *r, const struct told *t, struct err *e)
{
    long long id;

    if (msg_number(t->m, "id", 1, UINT32_MAX, &id, e) < 0)
        return -1;
    return root_survey_take(r, (unsigned)id, t->position, t->payload, t->len, e);
}

static int on_tool(struct root *r, const struct told *t, struct err *e)
{
    return root_tools_told(r, t->from, t->position, t->m, t->payload, t->len, e);
}

static int on_stdin_taken(struct root *r, const struct told *t, struct err *e)
{
    struct root_job *j = root_job_named(r, t->m, e);
    long long bytes;

    if (e->code || msg_number(t->m, "bytes", 0, INT_MAX, &bytes, e) < 0)
        return -1;
    if (!j || j->number)
        return j ? root_push_taken(j, t->position, (size_t)bytes, e) : 0;
    if (r->at[t->position].taken + (size_t)bytes > r->input_given + CONTROL_CREDIT)
        return err_set(e, ERR_INVALID_ARG, "more of stdin was taken than was sent");
    root_input_taken(r, t->position, (size_t)bytes);
    return 0;
}

static int on_stdin_closed(struct root *r, const struct told *t, struct err *e)
{
    struct root_job *j = root_job_named(r, t->m, e);

    if (j && j->number)
        root_push_closed(j, t->position);
    else if (j)
        root_input_closed(r, t->position);
    return e->code ? -1 : 0;
}

static int on_blame(struct root *r, const struct told *t, struct err *e)
{
    struct root_job *j = root_job_named(r, t->m, e);
    long long rank;

    if (!j)
        return e->code ? -1 : 0;
    if (msg_number(t->m, "rank", 0, j->launch.size - 1, &rank, e) < 0 ||
        check_rank(j, t->from, (int)rank, e) < 0)
        return -1;
    return root_card_blamed(j, (int)rank, t->text, t->payload, t->len, e);
}

static int on_clock(struct root *r, const struct told *t, struct err *e)
{
    return root_timeline_clock(r, t->position, t->m, e);
}

static int on_moments(struct root *r, const struct told *t, struct err *e)
{
    return root_timeline_moments(r, t->position, t->m, t->payload, t->len, e);
}

static int on_looked(struct root *r, const struct told *t, struct err *e)
{
    return root_looked(r, t->m, e);
}

enum needs { NOTHING, POSITION };        /* that are checked before */

static const struct row {
    const char *cmd;
    int       (*run)(struct root *r, const struct told *t, struct err *e);
    enum needs  needs;
} rows[] = {
    { "out", on_out, NOTHING }, { "iof", on_watched, NOTHING },
    { "held", on_held, POSITION },
    { "started", on_started, POSITION }, { "unhooked", on_unhooked, POSITION },
    { "quiet", on_quiet, POSITION }, { "ended", on_ended, NOTHING },
    { "event", on_event, NOTHING }, { "connected", on_connected, POSITION },
    { "ready", on_ready, POSITION }, { "failed", on_failed, POSITION },
    { "lost", on_lost, POSITION }, { "done", on_done, NOTHING },
    { "broken", on_broken, NOTHING }, { "tell", on_tell, NOTHING },
    { "trace", on_trace, NOTHING }, { "stdin-taken", on_stdin_taken, POSITION },
    { "stdin-closed", on_stdin_closed, POSITION }, { "surveyed", on_surveyed, POSITION },
    { "looked", on_looked, POSITION }, { "blame", on_blame, NOTHING },
    { "clock", on_clock, POSITION }, { "moments", on_moments, POSITION },
    { "tool-open", on_tool, POSITION }, { "tool-bytes", on_tool, POSITION },
    { "tool-taken", on_tool, POSITION }, { "tool-close", on_tool, POSITION },
};

static const struct row *find_row(const char *cmd)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].cmd, cmd))
            return &rows[i];
    return NULL;
}

int root_told(void *host, struct remote *from, const struct msg *m, const char *payload,
              size_t len, struct err *e)
{
    struct root *r = host;
    const struct row *row = find_row(m->cmd);
    struct told t = { .from = from, .m = m, .payload = payload, .len = len,
                      .text = msg_get(m, "text") };

    if (!row)
        return err_set(e, ERR_OTHER, "unknown message %.40s", m->cmd);
    if (row->needs == POSITION) {
        t.position = position_of(r, m, e);
        if (t.position > 0 && is_late(r, from, t.position))
            return 0;
        if (t.position < 0 || check_position(r, from, t.position, e) < 0)
            return -1;
    }
    if (!t.text)
        t.text = "";
    return row->run(r, &t, e);
}
