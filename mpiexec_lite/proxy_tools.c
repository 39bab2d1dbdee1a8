/* proxy_tools.c - tools that call a proxy, on its node: their bytes are carried to the
 * launcher, which serves them (tool_stream.h), but for what proxy_query.c answers here.  Who may is decided here, where the kernel
 * says who calls. */
#include "mpiexec_lite/proxy_impl.h"

#include <unistd.h>

static void send_stream(void *host, int position, enum link_class c, struct msg *m,
                        const char *payload, size_t len)
{
    struct proxy *p = host;

    (void)position;                      /* they are all our own */
    link_message(p->up, c, m, payload, len, NULL);
}

/* What asks for the process table of this node. */
static bool asked(void *host, const char *text, size_t len, struct buf *reply)
{
    return proxy_query(host, NULL, text, len, reply);
}

static const struct tool_streams_ops stream_ops = { send_stream, asked };

static void enter(void *host, int fd, const struct party *who)
{
    struct proxy *p = host;
    struct msg *m = proxy_message(p, "tool-open");

    msg_int(m, "position", p->position);
    msg_int(m, "number", ++p->tool_number);
    msg_int(m, "uid", who->uid);
    msg_int(m, "gid", who->gid);
    msg_int(m, "pid", who->pid);
    link_message(p->up, LINK_BULK, m, NULL, 0, NULL);
    if (tool_streams_add(&p->streams, p->position, p->tool_number, fd) < 0)
        tool_streams_refuse(&p->streams, p->position, p->tool_number);
}

/* The launcher takes tools now.  What cannot be here is no reason to end the job. */
int proxy_tools_open(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                     struct err *e)
{
    struct tools_args args = { .loop = p->loop, .pid = getpid(), .hostname = p->hostname,
                               .nspace = p->main->bundle.jobid, .enter = enter, .host = p };
    struct err why = { 0 };

    (void)e;
    proxy_pass_down(p, m, payload, len);
    if (p->tools)
        return 0;
    if (!p->streams.loop)
        tool_streams_init(&p->streams, p->loop, &stream_ops, p);
    p->tools = tools_new(&args, &why);
    rendezvous_tidy();
    if (!p->tools && p->main->bundle.plan.verbose) {
        msg_str(proxy_message(p, "tell"), "text", why.text);
        proxy_send(p, NULL, 0);
    }
    return 0;
}

int proxy_tools_told(struct proxy *p, const struct msg *m, const char *payload, size_t len,
                     struct err *e)
{
    bool bulk = tool_streams_is_bulk(m->cmd);
    long long position;

    if (msg_number(m, "position", 1, INT_MAX, &position, e) < 0 ||
        (bulk && link_take(p->up, len, e) < 0))
        return -1;
    if (bulk)
        link_grant(p->up, LINK_BULK, len);
    if (position == p->position)
        return p->tools ? tool_streams_told(&p->streams, p->position, m, payload, len, e) : 0;
    proxy_pass_towards(p, position, bulk ? LINK_BULK : LINK_CONTROL, m, payload, len);
    return 0;
}

void proxy_tools_clear(struct proxy *p)
{
    tools_free(p->tools);
    tool_streams_clear(&p->streams);
}
