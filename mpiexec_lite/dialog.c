/* dialog.c - see dialog.h */
#include "mpiexec_lite/dialog.h"

#include "wire/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_SIZE = 65536 };

void dialog_clear(struct dialog *d)
{
    if (!d->loop)
        return;
    ev_io_stop(d->loop, &d->readable);
    ev_io_stop(d->loop, &d->writable);
    if (d->fd >= 0)
        close(d->fd);
    d->fd = -1;
    framer_clear(&d->framer);
    msg_clear(&d->msg);
    buf_clear(&d->out);
    d->loop = NULL;
}

/* Last: d may be gone after this. */
static void end(struct dialog *d, const char *why)
{
    ev_io_stop(d->loop, &d->readable);
    ev_io_stop(d->loop, &d->writable);
    close(d->fd);
    d->fd = -1;
    d->ops->closed(d->host, d, why);
}

/* Frames of what was read.  -1: the stream makes no sense. */
static int take(struct dialog *d, char *data, size_t len, struct err *e)
{
    struct frame f;
    int rc;

    while ((rc = framer_next(&d->framer, &data, &len, &f, e)) > 0)
        if (wire_v2.parse(&d->msg, f.text, f.len, e) < 0 ||
            d->ops->message(d->host, d, &d->msg, e) < 0)
            return -1;
    return rc;
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct dialog *d = w->data;
    char data[READ_SIZE];
    struct err e = { 0 };
    ssize_t n = recv(d->fd, data, sizeof data, 0);

    (void)revents;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        end(d, n < 0 && errno != ECONNRESET ? strerror(errno) : "");
        return;
    }
    if (take(d, data, (size_t)n, &e) < 0) {
        dialog_flush(d);
        end(d, e.text);
    } else if (d->out.failed) {
        end(d, "no memory for what is to be sent");
    } else if (d->out.len > LIMIT_QUEUED) {
        d->held = true;
        ev_io_stop(loop, w);
    }
}

void dialog_flush(struct dialog *d)
{
    while (d->fd >= 0 && d->out.len) {
        ssize_t n = send(d->fd, buf_bytes(&d->out), d->out.len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;                       /* full; or its end, which reading sees */
        buf_consume(&d->out, (size_t)n);
    }
    if (d->out.len || d->fd < 0)
        return;
    ev_io_stop(d->loop, &d->writable);
    if (d->held)
        ev_io_start(d->loop, &d->readable);
    d->held = false;
}

/* Whoever is held and has gone is not seen by reading. */
static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct dialog *d = w->data;
    int wrong = 0;
    socklen_t len = sizeof wrong;

    (void)loop;
    (void)revents;
    if (d->out.failed) {
        end(d, "no memory for what is to be sent");
        return;
    }
    dialog_flush(d);
    if (d->out.len && getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &wrong, &len) == 0 && wrong)
        end(d, strerror(wrong));
    else if (d->out.len && send(d->fd, "", 0, MSG_NOSIGNAL) < 0 && errno == EPIPE)
        end(d, "");
}

void dialog_init(struct dialog *d, struct ev_loop *loop, int fd, size_t max,
                 const struct dialog_ops *ops, void *host)
{
    *d = (struct dialog){ .loop = loop, .ops = ops, .host = host, .fd = fd };
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    framer_init(&d->framer, max);
    d->framer.wire = WIRE_2;
    msg_init(&d->msg);
    ev_io_init(&d->readable, on_readable, fd, EV_READ);
    ev_io_init(&d->writable, on_writable, fd, EV_WRITE);
    d->readable.data = d->writable.data = d;
    ev_io_start(loop, &d->readable);
}

void dialog_send_bytes(struct dialog *d, const char *frame, size_t len)
{
    if (d->fd < 0)
        return;
    buf_add(&d->out, frame, len);
    ev_io_start(d->loop, &d->writable);
}

void dialog_send(struct dialog *d, const struct msg *m)
{
    if (d->fd < 0)
        return;
    if (wire_v2.format(m, LIMIT_FRAME_LINK, &d->out, NULL) < 0)
        d->out.failed = true;
    ev_io_start(d->loop, &d->writable);
}
