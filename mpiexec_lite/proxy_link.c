/* proxy_link.c - what a proxy says to the server above, and passes on from below. */
#include "mpiexec_lite/proxy_impl.h"

#include "mpiexec_lite/fatal.h"
#include "wire/limits.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct msg *proxy_message(struct proxy *p, const char *cmd)
{
    msg_start(&p->msg, cmd);
    return &p->msg;
}

void proxy_send(struct proxy *p, const char *payload, size_t len)
{
    link_message(p->up, LINK_CONTROL, &p->msg, payload, len, NULL);
}

void proxy_send_event(struct proxy_job *j, const char *kind, int rank, int code,
                      const char *text)
{
    const struct rank *r = crew_rank(&j->crew, rank);
    struct msg *m = proxy_job_message(j, "event");

    msg_str(m, "kind", kind);
    msg_int(m, "rank", rank);
    msg_int(m, "pid", r ? r->pid : 0);
    msg_int(m, "pmi", r ? (int)r->pmi : 0);
    msg_int(m, "code", code);
    msg_str(m, "text", text);
    proxy_send(j->proxy, NULL, 0);
}

/* --- from above -------------------------------------------------------- */

struct msg *proxy_copy(struct proxy *p, const struct msg *m)
{
    struct msg *out = proxy_message(p, m->cmd);

    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->pairs[i].key, "payload"))
            msg_bytes(out, m->pairs[i].key, m->pairs[i].val, m->pairs[i].len);
    return out;
}

void proxy_pass_down(struct proxy *p, const struct msg *m, const char *payload, size_t len)
{
    remotes_send(&p->below, proxy_copy(p, m), payload, len);
}

void proxy_pass_towards(struct proxy *p, long long position, enum link_class c,
                        const struct msg *m, const char *payload, size_t len)
{
    struct remote *to = remotes_towards(&p->below, (int)position);

    if (to && to->state == REMOTE_UP)    /* else it is being lost */
        link_message(to->link, c, proxy_copy(p, m), payload, len, NULL);
}

struct proxy_job *proxy_job_named(struct proxy *p, const struct msg *m, struct err *e)
{
    long long number = 0;

    if (msg_find(m, "number") && msg_number(m, "number", 0, INT_MAX, &number, e) < 0)
        return NULL;
    return proxy_job_find(p, number);
}

static int on_setup(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                    struct err *e)
{
    long long position;

    if (p->main)
        return err_set(e, ERR_INVALID_ARG, "set up already");
    if (msg_number(m, "position", 1, INT_MAX, &position, e) < 0)
        return -1;
    return proxy_set_up(p, (int)position, payload, len, e);
}

static int on_grow(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                   struct err *e)
{
    long long width, trial = 0;

    (void)payload;
    (void)len;
    if (msg_number(m, "width", 0, INT_MAX, &width, e) < 0 ||
        msg_number(m, "trial", 0, 1, &trial, e) < 0)
        return -1;
    return proxy_grow(p, (int)width, trial, e);
}

/* Before a rank of it can ask. */
static int take_mixed(struct proxy_job *j, const struct msg *m, struct err *e)
{
    long long mixed = 0;

    if (msg_find(m, "mixed") && msg_number(m, "mixed", 0, 1, &mixed, e) < 0)
        return -1;
    if (mixed && j->crew.job)
        job_set_mixed(j->crew.job);
    return 0;
}

static int on_start(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                    struct err *e)
{
    proxy_pass_down(p, m, payload, len);
    if (take_mixed(p->main, m, e) < 0)
        return -1;
    proxy_job_start(p->main);
    return 0;
}

/* A job that a rank has started. */
static int on_job(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                  struct err *e)
{
    struct proxy_job *j;
    long long number;

    if (msg_number(m, "number", 1, INT_MAX, &number, e) < 0)
        return -1;
    if (!p->grown || proxy_job_find(p, number))
        return err_set(e, ERR_INVALID_ARG, "job %lld cannot be begun", number);
    proxy_pass_down(p, m, payload, len);
    j = proxy_job_new(p, (int)number, payload, len, e);
    if (j)
        j->watched = msg_find(m, "watch") != NULL;
    return j && proxy_job_begin(j, e) == 0 ? take_mixed(j, m, e) : -1;
}

static int on_job_end(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                      struct err *e)
{
    struct proxy_job *j = proxy_job_named(p, m, e);

    if (e->code || j == p->main)
        return e->code ? -1 : err_set(e, ERR_INVALID_ARG, "the end of the first job");
    proxy_pass_down(p, m, payload, len);
    if (j)
        proxy_job_free(j);
    return 0;
}

/* What the launcher has decided with it: the rank that it is for ends alone, and counts as this
 * code, or by an order, or (no rank) the job ends.  0, or -1 and e. */
static int note_signal(struct proxy_job *j, const struct msg *m, long long rank, struct err *e)
{
    struct rank_state *r = rank < 0 ? NULL : proxy_job_state(j, rank);
    long long code = 0;

    if (msg_find(m, "code") && msg_number(m, "code", 1, 255, &code, e) < 0)
        return -1;
    j->ending = j->ending || msg_find(m, "ending");
    if (r && code) {
        r->forgiven = true;
        r->code = (int)code;
    }
    if (r && msg_find(m, "ordered"))
        r->commanded = true;
    return 0;
}

static int on_signal(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                     struct err *e)
{
    struct proxy_job *j = proxy_job_named(p, m, e);
    long long signo, rank = -1;

    if (e->code || msg_number(m, "signo", 1, 64, &signo, e) < 0 ||
        (msg_find(m, "rank") && msg_number(m, "rank", 0, INT_MAX, &rank, e) < 0))
        return -1;
    proxy_pass_down(p, m, payload, len);
    if (j && note_signal(j, m, rank, e) < 0)
        return -1;
    if (j)
        crew_kill(&j->crew, (int)rank, (int)signo);
    return 0;
}

static int on_release(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                      struct err *e)
{
    struct proxy_job *j = proxy_job_named(p, m, e);
    long long rank;

    if (e->code || msg_number(m, "rank", -1, INT_MAX, &rank, e) < 0)
        return -1;
    proxy_pass_down(p, m, payload, len);
    if (j)
        j->released = true;
    if (j)
        crew_release(&j->crew, (int)rank);
    return 0;
}

/* A rank has told the launcher that it waits for a debugger. */
static int on_waits(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                    struct err *e)
{
    struct proxy_job *j = proxy_job_named(p, m, e);
    struct rank_state *r;
    long long position, rank;

    if (e->code || msg_number(m, "position", 1, INT_MAX, &position, e) < 0 ||
        msg_number(m, "rank", 0, INT_MAX, &rank, e) < 0)
        return -1;
    if (position != p->position) {
        proxy_pass_towards(p, position, LINK_CONTROL, m, payload, len);
        return 0;
    }
    r = j ? proxy_job_state(j, rank) : NULL;
    if (r)
        r->waits = true;
    return 0;
}

static int on_watch(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                    struct err *e)
{
    struct proxy_job *j = proxy_job_named(p, m, e);
    long long on, rank;

    if (e->code || msg_number(m, "on", 0, 1, &on, e) < 0 ||
        msg_number(m, "rank", -1, INT_MAX, &rank, e) < 0)
        return -1;
    proxy_pass_down(p, m, payload, len);
    if (j && j->crew.output)
        output_watch(j->crew.output, (int)rank, on);
    return 0;
}

static int on_report(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                     struct err *e)
{
    (void)e;
    proxy_pass_down(p, m, payload, len);
    node_report(&p->node);
    return 0;
}

static int on_sweep(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                    struct err *e)
{
    struct proxy_job *j = proxy_job_named(p, m, e);

    if (e->code)
        return -1;
    proxy_pass_down(p, m, payload, len);
    if (j)
        proxy_job_sweep(j);
    return 0;
}

static int on_close_streams(struct proxy *p, const struct msg *m, const char *payload,
                            size_t len, struct err *e)
{
    struct proxy_job *j = proxy_job_named(p, m, e);

    if (e->code)
        return -1;
    proxy_pass_down(p, m, payload, len);
    if (j)
        proxy_job_close_streams(j);
    return 0;
}

static int on_finish(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                     struct err *e)
{
    (void)e;
    proxy_pass_down(p, m, payload, len);
    proxy_finish(p);
    return 0;
}

/* A piece of stdin, or (nothing) its end, for the ranks of a position; -1: of all. */
static int on_stdin(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                    struct err *e)
{
    struct proxy_job *j = proxy_job_named(p, m, e);
    struct remote *to, *only;
    long long position;

    if (e->code || msg_number(m, "position", -1, INT_MAX, &position, e) < 0 ||
        link_take(p->up, len, e) < 0)
        return -1;
    link_grant(p->up, LINK_BULK, len);
    only = position < 0 ? NULL : remotes_towards(&p->below, (int)position);
    for (int i = 0; i < p->below.n; i++) {
        to = p->below.v[i];
        if (to->state != REMOTE_UP || (position >= 0 && to != only))
            continue;
        msg_int(proxy_message(p, "stdin"), "position", position);
        if (j && j->number)
            msg_int(&p->msg, "number", j->number);
        link_message(to->link, LINK_BULK, &p->msg, payload, len, NULL);
    }
    if (!j || !j->crew.feed || (position >= 0 && position != p->position))
        return 0;
    if (len)
        feed_write(j->crew.feed, payload, len);
    else
        feed_end(j->crew.feed);
    return 0;
}

static int on_look(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                   struct err *e)
{
    (void)payload;
    (void)len;
    return proxy_look(p, m, e);
}

static int on_clock(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                    struct err *e)
{
    (void)payload;
    (void)len;
    return proxy_clock(p, m, e);
}

static const struct {
    const char *cmd;
    int (*run)(struct proxy *p, const struct msg *m, const char *payload, size_t len,
               struct err *e);
    bool early;                      /* makes sense before the set-up */
} from_above[] = {
    { "setup", on_setup, true }, { "grow", on_grow, false }, { "start", on_start, false },
    { "signal", on_signal, false }, { "release", on_release, false },
    { "waits", on_waits, false },
    { "tell-states", on_report, false },
    { "sweep", on_sweep, false }, { "close-streams", on_close_streams, false },
    { "finish", on_finish, true }, { "stdin", on_stdin, false },
    { "job", on_job, false }, { "job-end", on_job_end, false },
    { "iof-watch", on_watch, false },
    { "survey", proxy_survey, false },
    { "look", on_look, false }, { "cleanup", proxy_cleanup, false },
    { "clock", on_clock, false },
    { "tool-bytes", proxy_tools_told, false }, { "tool-taken", proxy_tools_told, false },
    { "tool-close", proxy_tools_told, false },
    { "tools", proxy_tools_open, false },
};

static int message_from_above(void *host, struct link *l, const struct msg *m,
                              const char *payload, size_t len, struct err *e)
{
    struct proxy *p = host;

    (void)l;
    for (size_t i = 0; i < sizeof from_above / sizeof *from_above; i++)
        if (!strcmp(from_above[i].cmd, m->cmd)) {
            if (!p->position && !from_above[i].early)
                return err_set(e, ERR_INVALID_ARG, "%.40s before the set-up", m->cmd);
            return from_above[i].run(p, m, payload, len, e);
        }
    if (p->peer && p->main->crew.job && peer_input(p->peer, m, payload, len, e) == 0)
        return 0;
    return e->code ? -1 : err_set(e, ERR_OTHER, "unknown message %.40s", m->cmd);
}

static void closed_from_above(void *host, struct link *l, const char *why)
{
    struct proxy *p = host;

    (void)l;
    if (*why && !p->done && !l->lost)
        fprintf(stderr, "pmi2_proxy: %s\n", why);
    ev_break(p->loop, EVBREAK_ALL);
}

static void room_above(void *host, struct link *l)
{
    struct proxy *p = host;
    struct proxy_job *j;

    if (link_room(l, LINK_DATA))
        remotes_room(&p->below);
    if (p->peer)
        TAILQ_FOREACH(j, &p->jobs, in_proxy)
            proxy_job_room(j);
}

const struct link_ops proxy_link_ops = {
    .message = message_from_above, .closed = closed_from_above, .room = room_above,
};

/* --- from below -------------------------------------------------------- */

/* As it came, to the one above, in its class. */
static void pass_up(struct proxy *p, struct remote *r, enum link_class c, const struct msg *m,
                    const char *payload, size_t len)
{
    link_message(p->up, c, proxy_copy(p, m), payload, len,
                 c == LINK_BULK && len ? r->link : NULL);
}

static int message_from_below(void *host, struct remote *r, const struct msg *m,
                              const char *payload, size_t len, struct err *e)
{
    struct proxy *p = host;
    long long left = 0;

    if (!strcmp(m->cmd, "ended")) {
        buf_add(&p->ended, payload, len);        /* together with our own */
    } else if (!strcmp(m->cmd, "done")) {
        if (msg_number(m, "left", 0, INT_MAX, &left, e) < 0)
            return -1;
        if (!p->finishing)
            return err_set(e, ERR_INVALID_ARG, "done before it was told to finish");
        p->left += (int)left;
        remote_done(r);
    } else if (!strcmp(m->cmd, "out") || !strcmp(m->cmd, "iof") || !strcmp(m->cmd, "quiet") ||
               tool_streams_is_bulk(m->cmd)) {
        if (link_take(r->link, len, e) < 0)
            return -1;
        pass_up(p, r, LINK_BULK, m, payload, len);
    } else {
        pass_up(p, r, LINK_CONTROL, m, payload, len);
    }
    return 0;
}

static void below_connected(void *host, int position)
{
    struct proxy *p = host;
    struct remote *r = remotes_towards(&p->below, position);

    msg_int(proxy_message(p, "connected"), "position", position);
    proxy_send(p, NULL, 0);
    if (p->tried && !p->grown)
        return;                              /* what it is to do depends on the trial */
    msg_int(proxy_message(p, "grow"), "width", p->tree.width);
    msg_int(&p->msg, "trial", 0);
    link_message(r->link, LINK_CONTROL, &p->msg, NULL, 0, NULL);
}

static void tell_position(struct proxy *p, const char *cmd, int position, const char *why)
{
    msg_int(proxy_message(p, cmd), "position", position);
    msg_str(&p->msg, "text", why);
    proxy_send(p, NULL, 0);
}

static void below_failed(void *host, int position, const char *why)
{
    tell_position(host, "failed", position, why);
}

static void below_lost(void *host, int position, const char *why)
{
    tell_position(host, "lost", position, why);
}

static void below_tell(void *host, const char *text)
{
    struct proxy *p = host;

    msg_str(proxy_message(p, "tell"), "text", text);
    proxy_send(p, NULL, 0);
}

const struct remote_ops proxy_remote_ops = {
    .message = message_from_below, .connected = below_connected, .failed = below_failed,
    .lost = below_lost, .tell = below_tell,
};
