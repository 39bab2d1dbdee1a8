/* handshake.c - see handshake.h */
#include "mpiexec_lite/handshake.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

static void go_on(struct handshake *h, enum login_want want);

void handshake_clear(struct handshake *h)
{
    if (!h->loop)
        return;
    ev_io_stop(h->loop, &h->readable);
    ev_io_stop(h->loop, &h->writable);
    ev_timer_stop(h->loop, &h->deadline);
    munger_cancel(h->munger, h);
    login_clear(&h->login);
    seal_wipe_buf(&h->in);
    buf_clear(&h->in);
    buf_clear(&h->out);
    if (h->fd >= 0)
        close(h->fd);
    h->fd = -1;
    h->loop = NULL;
}

static void on_munged(void *user, const struct munge_result *r)
{
    struct handshake *h = user;

    go_on(h, login_munged(&h->login, r, &h->out));
}

static bool send_out(struct handshake *h)
{
    while (h->out.len) {
        ssize_t n = send(h->fd, buf_bytes(&h->out), h->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            ev_io_start(h->loop, &h->writable);
            return true;
        }
        if (n < 0)
            return false;
        buf_consume(&h->out, (size_t)n);
    }
    ev_io_stop(h->loop, &h->writable);
    return true;
}

static int ask(struct handshake *h, bool encode, struct err *e)
{
    const struct buf *b = &h->login.ask;

    return encode ? munger_encode(h->munger, buf_bytes(b), b->len, h->login.reader, on_munged,
                                  h, e)
                  : munger_decode(h->munger, buf_bytes(b), b->len, on_munged, h, e);
}

/* Last: h may be gone after this. */
static void go_on(struct handshake *h, enum login_want want)
{
    struct err e = { 0 };

    if (want == LOGIN_ENCODE || want == LOGIN_DECODE) {
        if (ask(h, want == LOGIN_ENCODE, &e) < 0)
            want = login_end(&h->login, e.text);
    }
    if (!send_out(h))
        want = login_end(&h->login, "connection closed");
    h->accepted = want == LOGIN_ACCEPTED;
    if (h->accepted && h->out.len)
        return;                          /* on_writable comes back to this */
    if (want == LOGIN_ACCEPTED || want == LOGIN_REFUSED)
        h->over(h, want == LOGIN_ACCEPTED);
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct handshake *h = w->data;

    (void)loop;
    (void)revents;
    if (!send_out(h))
        go_on(h, login_end(&h->login, "connection closed"));
    else if (!h->out.len && h->accepted)
        h->over(h, true);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct handshake *h = w->data;
    char data[4096];
    ssize_t n = recv(h->fd, data, sizeof data, MSG_DONTWAIT);

    (void)loop;
    (void)revents;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        go_on(h, login_end(&h->login, n < 0 && errno != ECONNRESET ? strerror(errno)
                                                                   : "connection closed"));
        return;
    }
    buf_add(&h->in, data, (size_t)n);
    go_on(h, login_input(&h->login, &h->in));
}

static void on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct handshake *h = w->data;
    char text[40];

    (void)loop;
    (void)revents;
    snprintf(text, sizeof text, "no answer for %d s", HANDSHAKE_SECONDS);
    go_on(h, login_end(&h->login, text));
}

/* A peer that is cut off is noticed after some 25 seconds.  Between launcher and proxy
 * there is a lease instead, which the user may set. */
static void notice_silence(int fd)
{
    static const struct { int level, name, value; } options[] = {
        { SOL_SOCKET, SO_KEEPALIVE, 1 }, { IPPROTO_TCP, TCP_KEEPIDLE, 10 },
        { IPPROTO_TCP, TCP_KEEPINTVL, 5 }, { IPPROTO_TCP, TCP_KEEPCNT, 3 },
        { IPPROTO_TCP, TCP_USER_TIMEOUT, 25000 },
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

static void begin(struct handshake *h, enum login_side side, const struct login_conf *conf)
{
    struct login_conf own = *conf;
    unsigned char random[LOGIN_RANDOM];

    own.address = h->address;
    if (getrandom(random, sizeof random, 0) != sizeof random) {
        h->login.node = -1;
        err_set(&h->login.e, ERR_OTHER, "no random numbers");
        h->over(h, false);
        return;
    }
    go_on(h, login_start(&h->login, side, &own, random, &h->out));
    seal_wipe(random, sizeof random);
}

void handshake_start(struct handshake *h, struct ev_loop *loop, struct munger *munger, int fd,
                     enum login_side side, const struct login_conf *conf, handshake_over *over)
{
    int on = 1;

    *h = (struct handshake){ .loop = loop, .munger = munger, .over = over, .fd = fd };
    snprintf(h->address, sizeof h->address, "%s", conf->address);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (conf->purpose == LOGIN_NAMES)
        notice_silence(fd);
    ev_io_init(&h->readable, on_readable, fd, EV_READ);
    ev_io_init(&h->writable, on_writable, fd, EV_WRITE);
    ev_timer_init(&h->deadline, on_deadline, (double)HANDSHAKE_SECONDS, 0.);
    h->readable.data = h->writable.data = h->deadline.data = h;
    ev_now_update(loop);
    ev_io_start(loop, &h->readable);
    ev_timer_start(loop, &h->deadline);
    begin(h, side, conf);
}
