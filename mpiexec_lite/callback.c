/* callback.c - see callback.h */
#include "mpiexec_lite/callback.h"

#include "mpiexec_lite/gate.h"
#include "mpiexec_lite/launchers.h"
#include "mpiexec_lite/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct callback {
    const struct callback_ops *ops;  /* borrowed, as host */
    void        *host;
    const struct launch_options *how;    /* borrowed, as ports */
    const struct port_range *ports;
    struct gate *gate;               /* owned */
    struct buf   addresses;          /* owned */
    bool         works;              /* munge has answered */
};

/* --- what the gate says ------------------------------------------------ */

static void accepted(void *host, int node, uid_t uid, const char *from, int fd)
{
    struct callback *c = host;

    (void)uid;                           /* our own */
    (void)from;
    c->ops->accepted(c->host, node, fd);
}

static void refused(void *host, int node, const char *why)
{
    struct callback *c = host;

    c->ops->refused(c->host, node, why);
}

static void tried(void *host, const char *why)
{
    struct callback *c = host;
    char text[440];

    c->works = !*why;
    if (c->works) {
        c->ops->works(c->host);
        return;
    }
    snprintf(text, sizeof text, "-launcher %s needs munge: %s",
             launcher_way(c->how->launcher)->name, why);
    c->ops->broken(c->host, text);
}

static void log_line(void *host, const char *text)
{
    struct callback *c = host;

    c->ops->log(c->host, text);
}

static const struct gate_ops gate_ops = { accepted, refused, tried, log_line };

static bool claim(void *host, int node)
{
    struct callback *c = host;

    return c->ops->claim(c->host, node);
}

/* --- set-up ------------------------------------------------------------ */

static int no_addresses(const struct callback *c, struct err *e)
{
    if (!c->how->iface)
        return err_set(e, ERR_OTHER, "this host has no IPv4 address");
    return err_set(e, ERR_OTHER, "-iface %.60s: there is no such interface with an IPv4 address",
                   c->how->iface);
}

static void add_address(struct callback *c, const struct sockaddr_in *in, unsigned port)
{
    char ip[INET_ADDRSTRLEN];

    if (inet_ntop(AF_INET, &in->sin_addr, ip, sizeof ip))
        buf_printf(&c->addresses, c->addresses.len ? ",%s:%u" : "%s:%u", ip, port);
}

/* -iface: those of the interface.  Else every address of this host that others can reach,
 * or loopback if it has none. */
static bool is_wanted(const struct callback *c, const struct ifaddrs *a, bool loopback)
{
    if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || !(a->ifa_flags & IFF_UP))
        return false;
    return c->how->iface ? !strcmp(c->how->iface, a->ifa_name)
                         : !!(a->ifa_flags & IFF_LOOPBACK) == loopback;
}

static void add_addresses(struct callback *c, unsigned port, bool loopback)
{
    struct ifaddrs *all = NULL;

    if (getifaddrs(&all) < 0)
        return;
    for (struct ifaddrs *a = all; a; a = a->ifa_next)
        if (is_wanted(c, a, loopback))
            add_address(c, (const void *)a->ifa_addr, port);
    freeifaddrs(all);
}

/* -localhost: what this name stands for. */
static int add_named(struct callback *c, const char *name, unsigned port, struct err *e)
{
    struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *all;
    int rc = getaddrinfo(name, NULL, &hints, &all);

    if (rc)
        return err_set(e, ERR_OTHER, "-localhost %.60s: %s", name, gai_strerror(rc));
    for (struct addrinfo *a = all; a; a = a->ai_next)
        add_address(c, (const void *)a->ai_addr, port);
    freeaddrinfo(all);
    return 0;
}

static int list_addresses(struct callback *c, unsigned port, struct err *e)
{
    buf_reset(&c->addresses);
    if (c->how->localhost && add_named(c, c->how->localhost, port, e) < 0)
        return -1;
    if (!c->how->localhost)
        add_addresses(c, port, false);
    if (!c->how->localhost && !c->addresses.len)
        add_addresses(c, port, true);
    if (c->addresses.failed)
        return err_set(e, ERR_NOMEM, "no memory for the addresses of this host");
    return c->addresses.len ? 0 : no_addresses(c, e);
}

/* The port, bound; or -1 and e. */
static int open_port(struct callback *c, struct err *e)
{
    struct sockaddr_in me = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || ports_bind(fd, c->ports, &me) < 0)
        err_set(e, ERR_OTHER, "cannot open a call-back port: %s", strerror(errno));
    else if (list_addresses(c, ntohs(me.sin_port), e) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

struct callback *callback_new(struct ev_loop *loop, const struct callback_args *args,
                              const struct callback_ops *ops, void *host, struct err *e)
{
    struct callback *c = calloc(1, sizeof *c);
    struct gate_args how = { .name = "call-back port", .munge_socket = args->how->munge_socket,
                             .conf = { .job = args->job, .uid = geteuid(),
                                       .nodes = args->positions, .claim = claim, .host = c } };
    int fd;

    if (!c) {
        err_set(e, ERR_NOMEM, "no memory for a call-back port");
        return NULL;
    }
    c->ops = ops;
    c->host = host;
    c->how = args->how;
    c->ports = args->ports;
    fd = open_port(c, e);
    c->gate = fd < 0 ? NULL : gate_new(loop, fd, &how, &gate_ops, c, e);
    if (c->gate)
        return c;
    callback_free(c);
    return NULL;
}

int callback_open(struct callback *c, int positions, struct err *e)
{
    int fd;

    if (gate_is_open(c->gate)) {
        gate_expect(c->gate, positions);
        return 0;
    }
    c->works = false;
    fd = open_port(c, e);
    if (fd < 0)
        return -1;
    if (gate_open(c->gate, fd, positions, e) == 0)
        return 0;
    gate_stop(c->gate);
    return -1;
}

bool callback_works(const struct callback *c)
{
    return c->works;
}

const char *callback_addresses(const struct callback *c)
{
    return buf_bytes(&c->addresses);
}

void callback_stop(struct callback *c)
{
    if (c)
        gate_stop(c->gate);
}

void callback_free(struct callback *c)
{
    if (!c)
        return;
    gate_free(c->gate);
    buf_clear(&c->addresses);
    free(c);
}
