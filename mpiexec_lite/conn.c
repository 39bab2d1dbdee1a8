/* conn.c - see conn.h */
#include "mpiexec_lite/conn.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

void pmi_conn_close(struct pmi_conn *c)
{
    if (c->fd < 0)
        return;
    ev_io_stop(c->env->loop, &c->readable);
    ev_io_stop(c->env->loop, &c->writable);
    close(c->fd);
    c->fd = -1;
    conn_free(c->core);
    c->core = NULL;
    buf_clear(&c->out);
}

static void closed(struct pmi_conn *c)
{
    struct member *m = conn_member(c->core);

    pmi_conn_close(c);
    c->env->ops->closed(c->env->host, c, m);
}

/* One read, served.  False when there was nothing, or the stream is over. */
static bool serve_some(struct pmi_conn *c)
{
    ssize_t n = 0;

    while (!c->failed &&
           (n = recv(c->fd, c->env->buffer, c->env->size, MSG_DONTWAIT)) < 0 && errno == EINTR)
        ;
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n > 0) {
        if (!(c->heard > 0) && c->env->ops->spoke)
            c->env->ops->spoke(c->env->host, c);
        c->heard = ev_now(c->env->loop);
        conn_input(c->core, c->env->buffer, (size_t)n);
        if (!c->failed)
            return true;
    } else if (n == 0 && !c->failed) {
        conn_eof(c->core);
    }
    closed(c);
    return false;
}

/* Not read while it does not take its replies, or has too many open requests.
 * Also fed, without input, when something changed for a connection held back. */
static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct pmi_conn *c = w->data;

    (void)revents;
    if (c->held && !c->failed) {
        conn_resume(c->core, c->out.len);
        if (conn_full(c->core))
            return;
        c->held = false;
        ev_io_start(loop, w);
        return;
    }
    if (serve_some(c) && conn_full(c->core)) {
        c->held = true;
        ev_io_stop(loop, w);
    }
}

/* It is not the peer's fault, but it cannot be served on. */
static void pmi_conn_broken(struct pmi_conn *c, const char *why)
{
    if (c->failed)
        return;
    pmi_conn_fail(c);
    c->env->ops->broken(c->env->host, c, why);
}

/* Send bytes now.  How many went; all of them where none matter any more: the peer
 * is gone (its end is seen by reading), or the connection is failed for another
 * reason. */
static size_t send_now(struct pmi_conn *c, const char *data, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = send(c->fd, data + done, len - done, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n >= 0) {
            done += (size_t)n;
        } else if (errno == EAGAIN) {
            return done;
        } else if (errno != EINTR) {
            if (errno != EPIPE && errno != ECONNRESET)
                pmi_conn_broken(c, strerror(errno));
            return len;
        }
    }
    return done;
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct pmi_conn *c = w->data;

    (void)revents;
    buf_consume(&c->out, send_now(c, buf_bytes(&c->out), c->out.len));
    if (c->held)
        ev_feed_event(loop, &c->readable, EV_READ);
    if (c->out.len)
        return;
    ev_io_stop(loop, &c->writable);
    if (!c->failed)
        conn_drained(c->core, 0);
}

/* Serve fd for the core's connection; NULL: there was no memory for one. */
static int begin(struct pmi_conn *c, struct conn *core, int fd)
{
    c->core = core;
    if (!c->core) {
        close(fd);
        c->fd = -1;
        return -1;
    }
    ev_io_init(&c->readable, on_readable, fd, EV_READ);
    ev_io_init(&c->writable, on_writable, fd, EV_WRITE);
    c->readable.data = c->writable.data = c;
    ev_io_start(c->env->loop, &c->readable);
    return 0;
}

int pmi_conn_init(struct pmi_conn *c, const struct pmi_conn_env *env, struct job *j,
                  struct member *m, int fd)
{
    *c = (struct pmi_conn){ .env = env, .fd = fd };
    return begin(c, conn_new(env->server, j, m, c), fd);
}

int pmi_conn_init_tool(struct pmi_conn *c, const struct pmi_conn_env *env,
                       const struct party *who, int fd)
{
    *c = (struct pmi_conn){ .env = env, .fd = fd };
    return begin(c, conn_new_tool(env->server, who, c), fd);
}

void pmi_conn_drain(struct pmi_conn *c)
{
    if (c->fd < 0)
        return;
    conn_drain(c->core);
    pmi_conn_serve(c);
}

void pmi_conn_serve(struct pmi_conn *c)
{
    int left = 0;

    if (c->fd >= 0)
        ioctl(c->fd, FIONREAD, &left);       /* a fork of the process may still be writing */
    for (; left > 0 && c->fd >= 0 && serve_some(c); left -= (int)c->env->size)
        ;
    if (c->fd >= 0)
        serve_some(c);                   /* its end, perhaps */
}

size_t pmi_conn_send(struct pmi_conn *c, const char *data, size_t len)
{
    size_t n;

    if (c->fd < 0 || c->failed)
        return 0;
    if (c->held)                         /* an answer: perhaps it may be read again */
        ev_feed_event(c->env->loop, &c->readable, EV_READ);
    n = c->out.len ? 0 : send_now(c, data, len);
    if (n == len)
        return 0;
    buf_add(&c->out, data + n, len - n);
    if (c->out.failed)
        pmi_conn_broken(c, "no memory for replies");
    else
        ev_io_start(c->env->loop, &c->writable);
    return c->out.len;
}

void pmi_conn_fail(struct pmi_conn *c)
{
    if (c->failed || c->fd < 0)
        return;
    c->failed = true;
    ev_feed_event(c->env->loop, &c->readable, EV_READ);
}
