/* control.c - see control.h */
#include "mpiexec_lite/control.h"

#include "mpiexec_lite/fatal.h"
#include "wire/limits.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>

void control_init(struct control *c, int fd, const struct control_ops *ops, void *host)
{
    c->fd = fd;
    c->ops = ops;
    c->host = host;
    framer_init(&c->framer, LIMIT_FRAME_LINK);
    c->framer.wire = WIRE_2;
    msg_init(&c->msg);
}

void control_clear(struct control *c)
{
    framer_clear(&c->framer);
    msg_clear(&c->msg);
}

static void send_all(struct control *c, const char *data, size_t len)
{
    while (len) {
        ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return;                      /* it has ended: reading sees that */
        if (n < 0)
            fatal("cannot reach the launcher's other process", errno);
        data += n;
        len -= (size_t)n;
    }
}

static void send_message(struct control *c)
{
    struct buf out = BUF_INIT;

    if (wire_v2.format(&c->msg, LIMIT_FRAME_LINK, &out, NULL) < 0)
        fatal("out of memory", 0);
    send_all(c, buf_bytes(&out), out.len);
    buf_clear(&out);
}

void control_send(struct control *c, const char *cmd, const char *key, long long n)
{
    msg_start(&c->msg, cmd);
    if (key)
        msg_int(&c->msg, key, n);
    send_message(c);
}

void control_send_table(struct control *c, int ranks, const char *jobid)
{
    msg_start(&c->msg, "table");
    msg_int(&c->msg, "ranks", ranks);
    msg_str(&c->msg, "jobid", jobid);
    send_message(c);
}

void control_send_row(struct control *c, const struct control_row *row)
{
    msg_start(&c->msg, "row");
    msg_int(&c->msg, "rank", row->rank);
    msg_int(&c->msg, "pid", row->pid);
    msg_str(&c->msg, "host", row->host);
    msg_str(&c->msg, "program", row->program);
    send_message(c);
}

int control_send_spawn(struct control *c, const struct spawn_request *want, struct err *e)
{
    struct buf out = BUF_INIT;
    int rc = spawn_write(want, &out, e);

    if (rc == 0)
        send_all(c, buf_bytes(&out), out.len);
    buf_clear(&out);
    return rc;
}

void control_send_abort(struct control *c, const char *text)
{
    msg_start(&c->msg, "aborting");
    msg_str(&c->msg, "text", text);
    send_message(c);
}

void control_send_input(struct control *c, const char *data, size_t len)
{
    control_send(c, "stdin", "payload", (long long)len);
    send_all(c, data, len);
}

static const char *text_of(const struct msg *m, const char *key)
{
    const char *text = msg_get(m, key);

    return text ? text : "";
}

static int take_row(struct control *c, struct err *e)
{
    struct control_row row = { .host = text_of(&c->msg, "host"),
                               .program = text_of(&c->msg, "program") };
    long long rank, pid;

    if (msg_number(&c->msg, "rank", 0, INT_MAX, &rank, e) < 0 ||
        msg_number(&c->msg, "pid", 0, INT_MAX, &pid, e) < 0)
        return -1;
    row.rank = (int)rank;
    row.pid = (pid_t)pid;
    c->ops->row(c->host, &row);
    return 0;
}

static int take_spawn(struct control *c, struct err *e)
{
    struct spawn_request want = { 0 };
    int rc = spawn_read(&want, &c->msg, e);

    if (rc == 0)
        c->ops->spawn(c->host, &want);
    spawn_clear(&want);
    return rc;
}

/* About the processes of the job, for debuggers.  1: it is none of these. */
static int act_on_table(struct control *c, struct err *e)
{
    const char *cmd = c->msg.cmd;
    long long n;

    if (!strcmp(cmd, "rows") && c->ops->rows) {
        if (msg_number(&c->msg, "from", 0, INT_MAX, &n, e) < 0)
            return -1;
        c->ops->rows(c->host, (int)n);
    } else if (!strcmp(cmd, "table") && c->ops->table) {
        if (msg_number(&c->msg, "ranks", 1, INT_MAX, &n, e) < 0)
            return -1;
        c->ops->table(c->host, (int)n, text_of(&c->msg, "jobid"));
    } else if (!strcmp(cmd, "row") && c->ops->row) {
        return take_row(c, e);
    } else if (!strcmp(cmd, "release") && c->ops->release) {
        if (msg_number(&c->msg, "rank", -1, INT_MAX, &n, e) < 0)
            return -1;
        c->ops->release(c->host, (int)n);
    } else if (!strcmp(cmd, "spawn") && c->ops->spawn) {
        return take_spawn(c, e);
    } else if (!strcmp(cmd, "daemons") && c->ops->daemons) {
        c->ops->daemons(c->host);
    } else if (!strcmp(cmd, "aborting") && c->ops->aborting) {
        c->ops->aborting(c->host, text_of(&c->msg, "text"));
    } else if (!strcmp(cmd, "ending") && c->ops->ending) {
        c->ops->ending(c->host);
    } else {
        return 1;
    }
    return 0;
}

static int act(struct control *c, struct err *e)
{
    const char *cmd = c->msg.cmd;
    long long n;

    if (!strcmp(cmd, "signal") && c->ops->signal) {
        if (msg_number(&c->msg, "signo", 0, 64, &n, e) < 0)
            return -1;
        c->ops->signal(c->host, (int)n);
    } else if (!strcmp(cmd, "stdin") && c->ops->input) {
        if (msg_number(&c->msg, "payload", 0, CONTROL_CREDIT, &n, e) < 0)
            return -1;
        framer_expect_payload(&c->framer, (size_t)n);
    } else if (!strcmp(cmd, "stdin-eof") && c->ops->input_end) {
        c->ops->input_end(c->host);
    } else if (!strcmp(cmd, "credit") && c->ops->credit) {
        if (msg_number(&c->msg, "bytes", 0, CONTROL_CREDIT, &n, e) < 0)
            return -1;
        c->ops->credit(c->host, (size_t)n);
    } else if (!strcmp(cmd, "stdin-closed") && c->ops->input_closed) {
        c->ops->input_closed(c->host);
    } else if (!strcmp(cmd, "stopped") && c->ops->stopped) {
        c->ops->stopped(c->host);
    } else {
        int rc = act_on_table(c, e);

        return rc > 0 ? err_set(e, ERR_OTHER, "unknown message %.40s", cmd) : rc;
    }
    return 0;
}

int control_read(struct control *c, struct err *e)
{
    char space[4096], *data = space;
    ssize_t got = recv(c->fd, space, sizeof space, MSG_DONTWAIT);
    size_t len = got > 0 ? (size_t)got : 0;
    struct frame f;
    int rc;

    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 1 : 0;
    if (got == 0)
        return 0;
    while ((rc = framer_next(&c->framer, &data, &len, &f, e)) > 0) {
        if (f.kind == FRAME_PAYLOAD)
            c->ops->input(c->host, f.text, f.len);
        else if (wire_v2.parse(&c->msg, f.text, f.len, e) < 0 || act(c, e) < 0)
            return -1;
    }
    return rc < 0 ? -1 : 1;
}
