/* listen.c - see listen.h */
#include "mpiexec_lite/listen.h"

#include "mpiexec_lite/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const double TRY_AGAIN = 0.1;     /* seconds, when there are no descriptors */

struct listener {
    struct ev_loop *loop;
    const struct listen_ops *ops;
    void           *host;
    int             fd;
    unsigned        port;
    char            address[32];
    ev_io           readable;
    ev_timer        again;
};

/* /proc/net/tcp has it.  Only an established socket counts: one that its process has
 * closed is listed as root's. */
int listen_owner(unsigned port, unsigned to, uid_t *uid)
{
    FILE *f = fopen("/proc/net/tcp", "re");
    char line[512];
    unsigned local = htonl(INADDR_LOOPBACK), here, hport, there, tport, state, owner;
    int rc = -1;

    while (f && rc < 0 && fgets(line, sizeof line, f))
        if (sscanf(line, " %*u: %x:%x %x:%x %x %*x:%*x %*x:%*x %*x %u", &here, &hport, &there,
                   &tport, &state, &owner) == 6 &&
            state == TCP_ESTABLISHED && here == local && there == local && hport == port &&
            tport == to) {
            *uid = owner;
            rc = 0;
        }
    if (f)
        fclose(f);
    return rc;
}

static bool is_ours(struct listener *l, const struct sockaddr_in *peer)
{
    uid_t uid;

    if (peer->sin_family != AF_INET || peer->sin_addr.s_addr != htonl(INADDR_LOOPBACK) ||
        listen_owner(ntohs(peer->sin_port), l->port, &uid) < 0) {
        l->ops->refused(l->host, "PMI port: the owner of a connection is not known: refused");
        return false;
    }
    if (uid == geteuid() || uid == 0)
        return true;
    l->ops->refused(l->host, "PMI port: a connection of another user was refused");
    return false;
}

/* One connection.  False when there is none. */
static bool accept_one(struct listener *l)
{
    struct sockaddr_in peer = { 0 };
    socklen_t len = sizeof peer;
    int fd = accept4(l->fd, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC), on = 1;

    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
        ev_io_stop(l->loop, &l->readable);       /* look again in a while */
        ev_timer_set(&l->again, TRY_AGAIN, 0.);
        ev_timer_start(l->loop, &l->again);
    }
    if (fd < 0)
        return errno == ECONNABORTED || errno == EINTR;
    if (!is_ours(l, &peer)) {
        close(fd);
        return true;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    l->ops->accepted(l->host, fd);
    return true;
}

void listen_accept(struct listener *l)
{
    while (accept_one(l))
        ;
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop;
    (void)revents;
    accept_one(w->data);
}

static void on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct listener *l = w->data;

    (void)revents;
    ev_io_start(loop, &l->readable);
}

static int open_port(struct listener *l, const struct port_range *ports, struct err *e)
{
    struct sockaddr_in me = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0 || ports_bind(l->fd, ports, &me) < 0 || listen(l->fd, 1024) < 0)
        return err_set(e, ERR_OTHER, "cannot open a PMI port: %s", strerror(errno));
    l->port = ntohs(me.sin_port);
    snprintf(l->address, sizeof l->address, "127.0.0.1:%u", l->port);
    return 0;
}

struct listener *listen_start(struct ev_loop *loop, const struct port_range *ports,
                              const struct listen_ops *ops, void *host, struct err *e)
{
    struct listener *l = calloc(1, sizeof *l);

    if (!l) {
        err_set(e, ERR_NOMEM, "no memory for a PMI port");
        return NULL;
    }
    l->loop = loop;
    l->ops = ops;
    l->host = host;
    if (open_port(l, ports, e) < 0) {
        if (l->fd >= 0)
            close(l->fd);
        free(l);
        return NULL;
    }
    ev_io_init(&l->readable, on_readable, l->fd, EV_READ);
    ev_timer_init(&l->again, on_again, 0., 0.);
    l->readable.data = l->again.data = l;
    ev_io_start(loop, &l->readable);
    return l;
}

const char *listen_address(const struct listener *l)
{
    return l->address;
}

void listen_stop(struct listener *l)
{
    if (!l)
        return;
    ev_io_stop(l->loop, &l->readable);
    ev_timer_stop(l->loop, &l->again);
    close(l->fd);
    free(l);
}
