/* root_tools.c - tools: the launcher's socket for them, and those that call the servers of
 * other nodes, whose bytes come over the links (tool_stream.h). */
#include "mpiexec_lite/root_impl.h"

#include "mpiexec_lite/hold.h"
#include "mpiexec_lite/naming.h"
#include "mpiexec_lite/tools.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const double TOOLS_AFTER = 0.05;      /* seconds that a job is old before tools may come */

/* --- here -------------------------------------------------------------- */

/* Not on hosts of -launcher fork, which are all this one. */
static void open_others(struct root *r)
{
    if (r->tools && r->plan->remote.launcher != LAUNCHER_FORK)
        root_send_all(r, "tools");
}

int root_tools_open_now(struct root *r, struct err *e)
{
    struct tools_args args = { .loop = r->loop, .server = r->node.server,
                               .buffer = r->node.buffer, .size = NODE_BUFFER,
                               .pid = getppid(), .hostname = r->hostname, .nspace = r->jobid,
                               .host = r, .lost = root_pause_lost };

    r->tools = tools_new(&args, e);
    if (r->tools && r->naming)
        naming_set_tools(r->naming, r->jobid, tools_entry(r->tools)->socket);
    rendezvous_tidy();
    open_others(r);
    return r->tools ? 0 : -1;
}

/* What cannot be is no reason to end the job, unless its ranks would wait for a tool for ever;
 * to be said where the user has named the folder. */
static void open_socket(struct root *r)
{
    struct err e = { 0 };

    if (root_tools_open_now(r, &e) == 0)
        return;
    if (!hold_needs_tool(r->plan)) {
        root_say(r, getenv("PMIX_SERVER_TMPDIR") ? 0 : 1, "no tools can connect: %s", e.text);
        return;
    }
    err_context(&e, "nobody could release the ranks that are held, as no tools can connect");
    root_broken(r, EXIT_LAUNCHER, e.text);
}

static void on_time(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop;
    (void)revents;
    open_socket(w->data);
}

/* A short job is over before it costs anything; one that is held waits for nothing else. */
void root_tools_open(struct root *r)
{
    if (r->plan->no_tools || r->tools || ev_is_active(&r->open_tools))
        return;
    ev_timer_init(&r->open_tools, on_time, r->plan->hold == HOLD_NONE ? TOOLS_AFTER : 0., 0.);
    r->open_tools.data = r;
    ev_timer_start(r->loop, &r->open_tools);
}

void root_tools_ready(struct root *r)
{
    open_others(r);
}

/* --- on other nodes ---------------------------------------------------- */

static void send_stream(void *host, int position, enum link_class c, struct msg *m,
                        const char *payload, size_t len)
{
    struct root *r = host;
    struct remote *to = remotes_towards(&r->below, position);

    if (to && to->state == REMOTE_UP)
        link_message(to->link, c, m, payload, len, NULL);
}

static const struct tool_streams_ops stream_ops = { .send = send_stream };

static unsigned node_at(const struct root *r, int position)
{
    for (size_t i = 0; i < r->plan->nhosts; i++)
        if (r->positions[i] == position)
            return (unsigned)i + 1;
    return 0;
}

/* It is served like one of this host, over a pair of sockets. */
static int open_stream(struct root *r, int position, const struct msg *m, struct err *e)
{
    long long number, uid, gid, pid;
    int fd[2];

    if (msg_number(m, "number", 1, INT64_MAX, &number, e) < 0 ||
        msg_number(m, "uid", 0, UINT32_MAX, &uid, e) < 0 ||
        msg_number(m, "gid", 0, UINT32_MAX, &gid, e) < 0 ||
        msg_number(m, "pid", 0, INT_MAX, &pid, e) < 0)
        return -1;
    if (!r->tools || tools_full(r->tools) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) < 0) {
        tool_streams_refuse(&r->streams, position, number);
        return 0;
    }
    tools_enter(r->tools, fd[0], &(struct party){ .uid = (uid_t)uid, .gid = (gid_t)gid,
                                                  .pid = (pid_t)pid, .tool = true,
                                                  .called = node_at(r, position) });
    if (tool_streams_add(&r->streams, position, number, fd[1]) < 0)
        tool_streams_refuse(&r->streams, position, number);
    return 0;
}

int root_tools_told(struct root *r, struct remote *from, int position, const struct msg *m,
                    const char *payload, size_t len, struct err *e)
{
    if (tool_streams_is_bulk(m->cmd)) {
        if (link_take(from->link, len, e) < 0)
            return -1;
        link_grant(from->link, LINK_BULK, len);
    }
    return !strcmp(m->cmd, "tool-open")
               ? open_stream(r, position, m, e)
               : tool_streams_told(&r->streams, position, m, payload, len, e);
}

void root_tools_lost(struct root *r, int position)
{
    tool_streams_lost(&r->streams, position);
}

/* --- its beginning and end --------------------------------------------- */

void root_tools_init(struct root *r)
{
    tool_streams_init(&r->streams, r->loop, &stream_ops, r);
}

void root_tools_clear(struct root *r)
{
    if (r->loop)
        ev_timer_stop(r->loop, &r->open_tools);
    tools_free(r->tools);
    tool_streams_clear(&r->streams);
}
