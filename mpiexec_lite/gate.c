/* gate.c - see gate.h */
#include "mpiexec_lite/gate.h"

#include "mpiexec_lite/now.h"
#include "mpiexec_lite/sealed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STRANGERS = 64, LOGS_A_SECOND = 3, BACKLOG = 1024 };
static const double STRANGER_TIME = 2.0, LOOK_AGAIN = 0.25;

struct caller {                      /* somebody who has not logged in yet */
    struct handshake h;              /* first */
    struct gate     *gate;
    char             from[INET_ADDRSTRLEN];
    double           since;          /* when it came */
    TAILQ_ENTRY(caller) in_list;
};
TAILQ_HEAD(callers, caller);

struct stream {                      /* one that has */
    struct gate   *gate;
    struct sealed *sealed;
    char           from[INET_ADDRSTRLEN];
    LIST_ENTRY(stream) in_list;
};

struct gate {
    struct ev_loop *loop;            /* borrowed, as the next three */
    struct gate_args args;
    const struct gate_ops *ops;
    void           *host;
    int             fd;              /* owned; -1: closed */
    ev_io           readable;
    ev_timer        again;           /* full: whether somebody can be closed by now */
    struct munger  *munger;          /* owned */
    struct callers  callers;         /* owned; oldest first */
    int             n;
    LIST_HEAD(, stream) streams;     /* owned */
    double          logged_at;
    int             logged;          /* lines in this second */
};

static void log_line(struct gate *g, const char *text, const char *from)
{
    double now = now_seconds();
    char line[440];

    if (now - g->logged_at >= 1) {
        g->logged_at = now;
        g->logged = 0;
    }
    if (g->logged++ >= LOGS_A_SECOND)
        return;
    snprintf(line, sizeof line, "%s: %.320s (from %s)", g->args.name, text, from);
    g->ops->log(g->host, line);
}

static void caller_free(struct caller *x)
{
    struct gate *g = x->gate;

    TAILQ_REMOVE(&g->callers, x, in_list);
    g->n--;
    if (g->fd >= 0)
        ev_io_start(g->loop, &g->readable);      /* there is room for another */
    handshake_clear(&x->h);
    free(x);
}

static void refuse(struct caller *x)
{
    struct gate *g = x->gate;
    struct err why = x->h.login.e;
    int node = x->h.login.node;
    char text[320];

    snprintf(text, sizeof text, "a connection was refused: %s", why.text);
    if (node < 0 || !g->ops->refused)
        log_line(g, text, x->from);
    caller_free(x);
    if (node >= 0 && g->ops->refused)
        g->ops->refused(g->host, node, why.text);
}

static void stream_over(void *host, struct sealed *s, const char *why)
{
    struct stream *x = host;
    struct gate *g = x->gate;

    (void)s;
    if (*why && g->fd >= 0)              /* later, who uses the stream says what it means */
        log_line(g, why, x->from);
    LIST_REMOVE(x, in_list);
    free(x);
}

/* A stream of this caller; *plain: our user's end of it.  NULL: no memory. */
static struct stream *stream_new(struct caller *x, int *plain)
{
    struct stream *s = calloc(1, sizeof *s);
    struct gate *g = x->gate;

    if (!s)
        return NULL;
    *s = (struct stream){ .gate = g };
    memcpy(s->from, x->from, sizeof s->from);
    s->sealed = sealed_new(g->loop, x->h.fd, &x->h.login.keys, &x->h.in, plain, stream_over, s);
    x->h.fd = -1;
    if (!s->sealed) {
        free(s);
        return NULL;
    }
    LIST_INSERT_HEAD(&g->streams, s, in_list);
    return s;
}

static void on_over(struct handshake *h, bool accepted)
{
    struct caller *x = (struct caller *)h;
    struct gate *g = x->gate;
    int plain, node = h->login.node;
    uid_t uid = h->login.peer;
    struct stream *s = accepted ? stream_new(x, &plain) : NULL;

    if (s) {
        caller_free(x);                  /* first: the gate may be stopped by what follows */
        g->ops->accepted(g->host, node, uid, s->from, plain);
        return;
    }
    if (accepted)
        err_set(&h->login.e, ERR_NOMEM, "no memory or descriptors for its stream");
    refuse(x);
}

/* --- who comes --------------------------------------------------------- */

static void on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct gate *g = w->data;

    (void)revents;
    ev_io_start(loop, &g->readable);
}

/* The others wait in the kernel's queue. */
static void pause_a_while(struct gate *g)
{
    ev_io_stop(g->loop, &g->readable);
    ev_timer_set(&g->again, LOOK_AGAIN, 0.);
    ev_timer_start(g->loop, &g->again);
}

/* Close the oldest connection that has had time to say something and has not. */
static bool make_room(struct gate *g)
{
    struct caller *x = TAILQ_FIRST(&g->callers);

    if (now_seconds() - x->since < STRANGER_TIME || x->h.login.ask.len)
        return false;
    log_line(g, "too many connections at once; the oldest was closed", x->from);
    caller_free(x);
    return true;
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

static void on_caller(struct ev_loop *loop, ev_io *w, int revents)
{
    struct gate *g = w->data;
    struct login_conf conf = g->args.conf;
    struct sockaddr_in from = { 0 };
    socklen_t len = sizeof from;
    char address[HANDSHAKE_ADDRESS];
    struct caller *x;
    int fd;

    (void)revents;
    if (g->n >= STRANGERS && !make_room(g)) {
        pause_a_while(g);
        return;
    }
    fd = accept4(g->fd, (struct sockaddr *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        pause_a_while(g);                /* no descriptor, or no memory */
    if (fd < 0)
        return;
    x = calloc(1, sizeof *x);
    if (!x || own_address(fd, address, sizeof address) < 0) {
        free(x);
        close(fd);
        return;
    }
    x->gate = g;
    x->since = now_seconds();
    inet_ntop(AF_INET, &from.sin_addr, x->from, sizeof x->from);
    TAILQ_INSERT_TAIL(&g->callers, x, in_list);
    g->n++;
    conf.address = address;
    handshake_start(&x->h, loop, g->munger, fd, LOGIN_SERVER, &conf, on_over);
}

/* --- life -------------------------------------------------------------- */

/* The first question, only to know whether there is an answer. */
static void on_tried(void *user, const struct munge_result *r)
{
    struct gate *g = user;

    g->ops->tried(g->host, r->code == MUNGE_OK ? "" : r->text);
}

int gate_open(struct gate *g, int fd, int nodes, struct err *e)
{
    g->fd = fd;
    g->args.conf.nodes = nodes;
    ev_io_set(&g->readable, fd, EV_READ);
    if (listen(fd, BACKLOG) < 0)
        return err_set(e, ERR_OTHER, "the %s cannot listen: %s", g->args.name, strerror(errno));
    if (munger_encode(g->munger, "", 0, g->args.conf.uid, on_tried, g, e) < 0)
        return -1;
    ev_io_start(g->loop, &g->readable);
    return 0;
}

void gate_expect(struct gate *g, int nodes)
{
    g->args.conf.nodes = nodes;
}

bool gate_is_open(const struct gate *g)
{
    return g->fd >= 0;
}

struct gate *gate_new(struct ev_loop *loop, int fd, const struct gate_args *args,
                      const struct gate_ops *ops, void *host, struct err *e)
{
    struct gate *g = calloc(1, sizeof *g);

    if (!g) {
        close(fd);
        err_set(e, ERR_NOMEM, "no memory for the %s", args->name);
        return NULL;
    }
    *g = (struct gate){ .loop = loop, .args = *args, .ops = ops, .host = host, .fd = -1 };
    TAILQ_INIT(&g->callers);
    LIST_INIT(&g->streams);
    ev_init(&g->readable, on_caller);
    ev_timer_init(&g->again, on_again, 0., 0.);
    g->readable.data = g->again.data = g;
    g->munger = munger_new(loop, args->munge_socket, NULL);
    if (!g->munger) {
        err_set(e, ERR_NOMEM, "no memory for munge");
        close(fd);
    } else if (gate_open(g, fd, args->conf.nodes, e) == 0) {
        return g;
    }
    gate_free(g);
    return NULL;
}

void gate_stop(struct gate *g)
{
    struct caller *x;

    if (g->fd < 0)
        return;
    ev_io_stop(g->loop, &g->readable);
    ev_timer_stop(g->loop, &g->again);
    close(g->fd);
    g->fd = -1;
    while ((x = TAILQ_FIRST(&g->callers)))
        caller_free(x);
}

void gate_free(struct gate *g)
{
    struct stream *x;

    if (!g)
        return;
    gate_stop(g);
    while ((x = LIST_FIRST(&g->streams))) {
        LIST_REMOVE(x, in_list);
        sealed_free(x->sealed);
        free(x);
    }
    munger_free(g->munger);
    free(g);
}
