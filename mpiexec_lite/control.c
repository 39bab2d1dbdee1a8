/* control.c - see control.h */
#include "mpiexec_lite/control.h"

#include "mpiexec_lite/fatal.h"
#include "wire/limits.h"

#include <errno.h>
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

void control_send(struct control *c, const char *cmd, const char *key, long long n)
{
    struct buf out = BUF_INIT;

    msg_start(&c->msg, cmd);
    if (key)
        msg_int(&c->msg, key, n);
    if (wire_v2.format(&c->msg, LIMIT_FRAME_LINK, &out, NULL) < 0)
        fatal("out of memory", 0);
    send_all(c, buf_bytes(&out), out.len);
    buf_clear(&out);
}

void control_send_input(struct control *c, const char *data, size_t len)
{
    control_send(c, "stdin", "payload", (long long)len);
    send_all(c, data, len);
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
        return err_set(e, ERR_OTHER, "unknown message %.40s", cmd);
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
