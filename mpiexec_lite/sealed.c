/* sealed.c - see sealed.h
 *
 * Plain bytes carry a frame of their own: a first byte 1 and data, or 0, the end. */
#include "mpiexec_lite/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 32768 };

struct sealed {
    struct ev_loop *loop;            /* borrowed */
    sealed_over    *over;
    void           *host;
    int             tcp, plain;      /* owned */
    struct seal     seal;
    struct buf      out, in;         /* owned: to go to tcp, and to plain */
    ev_io           tcp_in, tcp_out, plain_in, plain_out;
    bool            ended_here, ended_there;     /* the end was announced */
};

void sealed_free(struct sealed *s)
{
    if (!s)
        return;
    ev_io_stop(s->loop, &s->tcp_in);
    ev_io_stop(s->loop, &s->tcp_out);
    ev_io_stop(s->loop, &s->plain_in);
    ev_io_stop(s->loop, &s->plain_out);
    close(s->tcp);
    close(s->plain);
    seal_clear(&s->seal);
    seal_wipe_buf(&s->out);
    seal_wipe_buf(&s->in);
    buf_clear(&s->out);
    buf_clear(&s->in);
    free(s);
}

static void end(struct sealed *s, const char *why)
{
    s->over(s->host, s, why);
    sealed_free(s);
}

/* Write what waits.  False when the descriptor is of no use. */
static bool push(struct sealed *s, int fd, struct buf *b, ev_io *writable)
{
    while (b->len) {
        ssize_t n = send(fd, buf_bytes(b), b->len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            ev_io_start(s->loop, writable);
            return true;
        }
        if (n < 0)
            return false;
        buf_consume(b, (size_t)n);
    }
    ev_io_stop(s->loop, writable);
    return true;
}

/* Go on with what can go on; s may be gone afterwards. */
static void go_on(struct sealed *s)
{
    if (!push(s, s->tcp, &s->out, &s->tcp_out)) {    /* gone: in order or not, what it has sent */
        buf_reset(&s->out);                          /* before tells, as does its end */
        s->ended_here = true;
        ev_io_stop(s->loop, &s->tcp_out);
        ev_io_stop(s->loop, &s->plain_in);
    }
    if (!push(s, s->plain, &s->in, &s->plain_out))
        buf_reset(&s->in);               /* who read it is gone: its end comes by reading */
    if (s->out.len < 4 * PIECE && !s->ended_here)
        ev_io_start(s->loop, &s->plain_in);
    if (s->in.len < 4 * PIECE && !s->ended_there)
        ev_io_start(s->loop, &s->tcp_in);
    if (s->ended_there && !s->in.len)
        shutdown(s->plain, SHUT_WR);
    if (s->ended_here && s->ended_there && !s->out.len && !s->in.len)
        end(s, "");
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop;
    (void)revents;
    go_on(w->data);
}

static void wrap(struct sealed *s, const char *data, size_t len)
{
    char piece[PIECE + 1];

    piece[0] = len > 0;
    if (len)
        memcpy(piece + 1, data, len);
    seal_wrap(&s->seal, piece, len + 1, &s->out);
}

static void on_plain(struct ev_loop *loop, ev_io *w, int revents)
{
    struct sealed *s = w->data;
    char data[PIECE];
    ssize_t n = recv(s->plain, data, sizeof data, MSG_DONTWAIT);

    (void)revents;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    wrap(s, data, n > 0 ? (size_t)n : 0);
    s->ended_here = n <= 0;
    if (s->ended_here || s->out.len >= 4 * PIECE)
        ev_io_stop(loop, w);
    if (s->out.failed)
        end(s, "no memory");
    else
        go_on(s);
}

/* Open the records in data.  False and e when one does not open. */
static bool unwrap(struct sealed *s, char *data, size_t len, struct err *e)
{
    size_t n;
    char *plain;
    int rc;

    while ((rc = seal_unwrap(&s->seal, &data, &len, &plain, &n, e)) > 0) {
        if (*plain)
            buf_add(&s->in, plain + 1, n - 1);
        else
            s->ended_there = true;
    }
    return rc == 0;
}

static void on_tcp(struct ev_loop *loop, ev_io *w, int revents)
{
    struct sealed *s = w->data;
    char data[PIECE];
    struct err e = { 0 };
    ssize_t n = recv(s->tcp, data, sizeof data, MSG_DONTWAIT);

    (void)revents;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 && !s->ended_there) {
        end(s, "the connection was cut");
        return;
    }
    if (n <= 0) {
        ev_io_stop(loop, w);
        return;
    }
    if (!unwrap(s, data, (size_t)n, &e)) {
        end(s, e.text);
        return;
    }
    if (s->ended_there || s->in.len >= 4 * PIECE)
        ev_io_stop(loop, w);
    go_on(s);
}

void sealed_finish(struct sealed *s)
{
    char data[PIECE];
    ssize_t n = 1;

    while (!s->ended_here && n > 0) {
        n = recv(s->plain, data, sizeof data, MSG_DONTWAIT);
        if (n >= 0)
            wrap(s, data, (size_t)n);
    }
    push(s, s->tcp, &s->out, &s->tcp_out);
    sealed_free(s);
}

static void watch(struct sealed *s)
{
    ev_io_init(&s->tcp_in, on_tcp, s->tcp, EV_READ);
    ev_io_init(&s->tcp_out, on_writable, s->tcp, EV_WRITE);
    ev_io_init(&s->plain_in, on_plain, s->plain, EV_READ);
    ev_io_init(&s->plain_out, on_writable, s->plain, EV_WRITE);
    s->tcp_in.data = s->tcp_out.data = s->plain_in.data = s->plain_out.data = s;
    ev_io_start(s->loop, &s->tcp_in);
    ev_io_start(s->loop, &s->plain_in);
}

struct sealed *sealed_new_on(struct ev_loop *loop, int tcp, int plain,
                             const struct seal_keys *keys, struct buf *early,
                             sealed_over *over, void *host)
{
    struct sealed *s = calloc(1, sizeof *s);
    struct err e = { 0 };

    if (!s) {
        close(tcp);
        close(plain);
        return NULL;
    }
    *s = (struct sealed){ .loop = loop, .over = over, .host = host, .tcp = tcp,
                          .plain = plain };
    fcntl(tcp, F_SETFL, fcntl(tcp, F_GETFL) | O_NONBLOCK);
    seal_init(&s->seal, keys);
    watch(s);
    if (early->len && !unwrap(s, buf_bytes(early), early->len, &e)) {
        sealed_free(s);
        errno = EBADMSG;
        return NULL;
    }
    buf_consume(early, early->len);
    if (s->in.len)
        ev_feed_event(loop, &s->plain_out, EV_WRITE);
    return s;
}

struct sealed *sealed_new(struct ev_loop *loop, int tcp, const struct seal_keys *keys,
                          struct buf *early, int *plain, sealed_over *over, void *host)
{
    struct sealed *s;
    int fd[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0) {
        close(tcp);
        return NULL;
    }
    s = sealed_new_on(loop, tcp, fd[0], keys, early, over, host);
    if (s)
        *plain = fd[1];
    else
        close(fd[1]);
    return s;
}
