/* callback.c - see callback.h */
#include "mpiexec_lite/callback.h"

#include "mpiexec_lite/login.h"
#include "mpiexec_lite/now.h"
#include "mpiexec_lite/sealed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STRANGERS = 64, LOGS_A_SECOND = 3, ADDRESS = 64 };
static const double LOGIN_TIME = 10.0, STRANGER_TIME = 2.0, LOOK_AGAIN = 0.25;

struct caller {                      /* somebody who has not logged in yet */
    struct callback *all;
    int              fd;             /* owned */
    char             address[ADDRESS];   /* ours, as it has dialled it */
    struct login     login;
    struct login_conf conf;
    struct buf       in, out;        /* owned */
    ev_io            readable, writable;
    ev_timer         deadline;
    double           since;          /* when it came */
    bool             accepted;       /* once all that is due to it has been sent */
    TAILQ_ENTRY(caller) in_list;
};
TAILQ_HEAD(callers, caller);

struct stream {                      /* one that has */
    struct callback *all;
    struct sealed   *sealed;
    SLIST_ENTRY(stream) next;
};

struct callback {
    struct ev_loop *loop;            /* borrowed, as the next three */
    struct callback_args args;
    const struct callback_ops *ops;
    void           *host;
    int             fd;              /* owned; -1: closed */
    ev_io           readable;
    ev_timer        again;           /* full: whether somebody can be closed by now */
    struct munger  *munger;          /* owned */
    struct callers  callers;         /* owned; oldest first */
    int             n;
    SLIST_HEAD(, stream) streams;    /* owned */
    struct buf      addresses;       /* owned */
    double          logged_at;
    int             logged;          /* lines in this second */
};

/* Strangers can make us write lines: not many. */
static void log_line(struct callback *c, const char *text)
{
    double now = now_seconds();

    if (now - c->logged_at >= 1) {
        c->logged_at = now;
        c->logged = 0;
    }
    if (c->logged++ < LOGS_A_SECOND)
        c->ops->log(c->host, text);
}

static void caller_free(struct caller *x)
{
    struct callback *c = x->all;

    TAILQ_REMOVE(&c->callers, x, in_list);
    c->n--;
    if (c->fd >= 0)
        ev_io_start(c->loop, &c->readable);      /* there is room for another */
    ev_io_stop(c->loop, &x->readable);
    ev_io_stop(c->loop, &x->writable);
    ev_timer_stop(c->loop, &x->deadline);
    munger_cancel(c->munger, x);
    login_clear(&x->login);
    seal_wipe_buf(&x->in);
    buf_clear(&x->in);
    buf_clear(&x->out);
    if (x->fd >= 0)
        close(x->fd);
    free(x);
}

static void refuse(struct caller *x)
{
    struct callback *c = x->all;
    int position = x->login.node;
    char text[400];

    snprintf(text, sizeof text, "call-back port: a connection was refused: %s", x->login.e.text);
    if (position >= 0)
        c->ops->refused(c->host, position, x->login.e.text);
    else
        log_line(c, text);
    caller_free(x);
}

static void stream_over(void *host, struct sealed *s, const char *why)
{
    struct stream *x = host;
    struct callback *c = x->all;

    (void)s;
    if (*why && c->fd >= 0)              /* later, who uses the stream says what it means */
        log_line(c, why);
    SLIST_REMOVE(&c->streams, x, stream, next);
    free(x);
}

static void accept_caller(struct caller *x)
{
    struct callback *c = x->all;
    struct stream *st = calloc(1, sizeof *st);
    int position = x->login.node, plain, tcp = x->fd;

    x->fd = -1;
    if (st) {
        st->all = c;
        st->sealed = sealed_new(c->loop, tcp, &x->login.keys, &x->in, &plain, stream_over, st);
    }
    caller_free(x);
    if (!st || !st->sealed) {
        free(st);
        c->ops->refused(c->host, position, "no memory or descriptors for its stream");
        return;
    }
    SLIST_INSERT_HEAD(&c->streams, st, next);
    c->ops->accepted(c->host, position, plain);
}

static void go_on(struct caller *x, enum login_want want);

static void on_munged(void *user, const struct munge_result *r)
{
    struct caller *x = user;

    go_on(x, login_munged(&x->login, r, &x->out));
}

static bool send_out(struct caller *x)
{
    while (x->out.len) {
        ssize_t n = send(x->fd, buf_bytes(&x->out), x->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            ev_io_start(x->all->loop, &x->writable);
            return true;
        }
        if (n < 0)
            return false;
        buf_consume(&x->out, (size_t)n);
    }
    ev_io_stop(x->all->loop, &x->writable);
    return true;
}

static int ask(struct caller *x, bool encode, struct err *e)
{
    struct callback *c = x->all;
    const struct buf *b = &x->login.ask;

    return encode ? munger_encode(c->munger, buf_bytes(b), b->len, on_munged, x, e)
                  : munger_decode(c->munger, buf_bytes(b), b->len, on_munged, x, e);
}

static void go_on(struct caller *x, enum login_want want)
{
    struct err e = { 0 };

    if (want == LOGIN_ENCODE || want == LOGIN_DECODE) {
        if (ask(x, want == LOGIN_ENCODE, &e) < 0)
            want = login_end(&x->login, e.text);
    }
    if (!send_out(x))
        want = login_end(&x->login, "connection closed");
    x->accepted = want == LOGIN_ACCEPTED;
    if (x->accepted && x->out.len)
        return;                          /* on_writable comes back to this */
    if (want == LOGIN_ACCEPTED)
        accept_caller(x);
    else if (want == LOGIN_REFUSED)
        refuse(x);
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct caller *x = w->data;

    (void)loop;
    (void)revents;
    if (!send_out(x))
        go_on(x, login_end(&x->login, "connection closed"));
    else if (!x->out.len && x->accepted)
        accept_caller(x);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct caller *x = w->data;
    char data[4096];
    ssize_t n = recv(x->fd, data, sizeof data, MSG_DONTWAIT);

    (void)loop;
    (void)revents;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        go_on(x, login_end(&x->login, "connection closed"));
        return;
    }
    buf_add(&x->in, data, (size_t)n);
    go_on(x, login_input(&x->login, &x->in));
}

static void on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct caller *x = w->data;

    (void)loop;
    (void)revents;
    go_on(x, login_end(&x->login, "no answer for 10 s"));
}

static void on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct callback *c = w->data;

    (void)revents;
    ev_io_start(loop, &c->readable);
}

static bool claim(void *host, int position)
{
    struct callback *c = host;

    return c->ops->claim(c->host, position);
}

/* Our end of the connection, as the other has dialled it. */
static int own_address(int fd, char *text, size_t size)
{
    struct sockaddr_in me = { 0 };
    socklen_t len = sizeof me;
    char ip[INET_ADDRSTRLEN];

    if (getsockname(fd, (struct sockaddr *)&me, &len) < 0 ||
        !inet_ntop(AF_INET, &me.sin_addr, ip, sizeof ip))
        return -1;
    snprintf(text, size, "%s:%u", ip, ntohs(me.sin_port));
    return 0;
}

static int start_login(struct caller *x)
{
    struct callback *c = x->all;
    unsigned char random[LOGIN_RANDOM];
    int rc = -1;

    x->conf = (struct login_conf){ .job = c->args.job, .address = x->address,
                                   .uid = geteuid(), .nodes = c->args.positions,
                                   .claim = claim, .host = c };
    if (own_address(x->fd, x->address, sizeof x->address) == 0 &&
        getrandom(random, sizeof random, 0) == sizeof random) {
        go_on(x, login_start(&x->login, LOGIN_SERVER, &x->conf, random, &x->out));
        rc = 0;
    }
    seal_wipe(random, sizeof random);
    return rc;
}

/* Close the oldest connection that has had time to say something and has not. */
static bool make_room(struct callback *c)
{
    struct caller *x = TAILQ_FIRST(&c->callers);

    if (now_seconds() - x->since < STRANGER_TIME || x->login.ask.len)
        return false;
    log_line(c, "call-back port: too many connections at once; the oldest was closed");
    caller_free(x);
    return true;
}

static void on_caller(struct ev_loop *loop, ev_io *w, int revents)
{
    struct callback *c = w->data;
    struct caller *x;
    int fd, on = 1;

    (void)revents;
    if (c->n >= STRANGERS && !make_room(c)) {
        ev_io_stop(loop, w);             /* the others wait in the kernel's queue */
        ev_timer_set(&c->again, LOOK_AGAIN, 0.);
        ev_timer_start(loop, &c->again);
        return;
    }
    fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        ev_io_stop(loop, w);             /* no descriptor, or no memory: in a while */
        ev_timer_set(&c->again, LOOK_AGAIN, 0.);
        ev_timer_start(loop, &c->again);
    }
    if (fd < 0)
        return;
    x = calloc(1, sizeof *x);
    if (!x) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    x->all = c;
    x->fd = fd;
    x->since = now_seconds();
    TAILQ_INSERT_TAIL(&c->callers, x, in_list);
    c->n++;
    ev_io_init(&x->readable, on_readable, fd, EV_READ);
    ev_io_init(&x->writable, on_writable, fd, EV_WRITE);
    ev_timer_init(&x->deadline, on_deadline, LOGIN_TIME, 0.);
    x->readable.data = x->writable.data = x->deadline.data = x;
    ev_io_start(loop, &x->readable);
    ev_timer_start(loop, &x->deadline);
    if (start_login(x) < 0)
        caller_free(x);
}

/* --- set-up ------------------------------------------------------------ */

/* Every address of this host that others can reach, or loopback if it has none. */
static void add_addresses(struct callback *c, unsigned port, bool loopback)
{
    struct ifaddrs *all = NULL;
    char ip[INET_ADDRSTRLEN];

    if (getifaddrs(&all) < 0)
        return;
    for (struct ifaddrs *a = all; a; a = a->ifa_next) {
        const struct sockaddr_in *in = (const void *)a->ifa_addr;

        if (!in || in->sin_family != AF_INET || !(a->ifa_flags & IFF_UP) ||
            !!(a->ifa_flags & IFF_LOOPBACK) != loopback ||
            !inet_ntop(AF_INET, &in->sin_addr, ip, sizeof ip))
            continue;
        buf_printf(&c->addresses, c->addresses.len ? ",%s:%u" : "%s:%u", ip, port);
    }
    freeifaddrs(all);
}

static int open_port(struct callback *c, struct err *e)
{
    struct sockaddr_in me = { .sin_family = AF_INET };
    socklen_t len = sizeof me;

    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0 || bind(c->fd, (struct sockaddr *)&me, len) < 0 ||
        listen(c->fd, 1024) < 0 || getsockname(c->fd, (struct sockaddr *)&me, &len) < 0)
        return err_set(e, ERR_OTHER, "cannot open a call-back port: %s", strerror(errno));
    add_addresses(c, ntohs(me.sin_port), false);
    if (!c->addresses.len)
        add_addresses(c, ntohs(me.sin_port), true);
    return c->addresses.len ? 0 : err_set(e, ERR_OTHER, "this host has no IPv4 address");
}

/* The first question, only to know whether there is an answer. */
static void on_tried(void *user, const struct munge_result *r)
{
    struct callback *c = user;
    char text[400];

    if (r->code == MUNGE_OK)
        return;
    snprintf(text, sizeof text, "-launcher tcp and manual need munge: %s", r->text);
    c->ops->broken(c->host, text);
}

struct callback *callback_new(struct ev_loop *loop, const struct callback_args *args,
                              const struct callback_ops *ops, void *host, struct err *e)
{
    struct callback *c = calloc(1, sizeof *c);

    if (!c) {
        err_set(e, ERR_NOMEM, "no memory for a call-back port");
        return NULL;
    }
    *c = (struct callback){ .loop = loop, .args = *args, .ops = ops, .host = host, .fd = -1 };
    TAILQ_INIT(&c->callers);
    c->munger = munger_new(loop, args->munge_socket, NULL);
    if (!c->munger)
        err_set(e, ERR_NOMEM, "no memory for munge");
    if (!c->munger || open_port(c, e) < 0 ||
        munger_encode(c->munger, "", 0, on_tried, c, e) < 0) {
        callback_free(c);
        return NULL;
    }
    ev_io_init(&c->readable, on_caller, c->fd, EV_READ);
    ev_timer_init(&c->again, on_again, 0., 0.);
    c->readable.data = c->again.data = c;
    ev_io_start(loop, &c->readable);
    return c;
}

const char *callback_addresses(const struct callback *c)
{
    return buf_bytes(&c->addresses);
}

void callback_stop(struct callback *c)
{
    struct caller *x;

    if (!c || c->fd < 0)
        return;
    ev_io_stop(c->loop, &c->readable);
    ev_timer_stop(c->loop, &c->again);
    close(c->fd);
    c->fd = -1;
    while ((x = TAILQ_FIRST(&c->callers)))
        caller_free(x);
}

void callback_free(struct callback *c)
{
    struct stream *x;

    if (!c)
        return;
    callback_stop(c);
    while ((x = SLIST_FIRST(&c->streams))) {
        SLIST_REMOVE_HEAD(&c->streams, next);
        sealed_free(x->sealed);
        free(x);
    }
    munger_free(c->munger);
    buf_clear(&c->addresses);
    free(c);
}
