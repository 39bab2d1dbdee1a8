/* resident_far.c - clients of other hosts (--listen): a port, and who they are by munge. */
#include "mpiexec_lite/resident_impl.h"

#include "mpiexec_lite/address.h"
#include "mpiexec_lite/gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool trusts(void *host, uid_t uid)
{
    const struct resident *r = host;

    return r->args.system || uid == geteuid() || uid == 0;
}

static void accepted(void *host, int node, uid_t uid, const char *from, int fd)
{
    (void)node;
    resident_enter(host, fd, uid, from, FAR_DESCRIPTORS);
}

static void tried(void *host, const char *why)
{
    struct resident *r = host;

    r->tried = true;
    if (*why)
        err_set(&r->munge, ERR_OTHER, "--listen needs munge: %.200s", why);
}

static void log_line(void *host, const char *text)
{
    (void)host;
    resident_say("%s", text);
}

static const struct gate_ops gate_ops = { accepted, NULL, tried, log_line };

/* The port, bound; or -1 and e. */
static int open_port(const char *where, struct err *e)
{
    struct sockaddr_in me = { .sin_family = AF_INET };
    struct address a;
    int fd, on = 1;

    if (address_read(&a, where, NAMES_PORT, e) < 0)
        return -1;
    if (inet_pton(AF_INET, a.host, &me.sin_addr) != 1)
        return err_set(e, ERR_INVALID_VAL, "'%.80s' is no IPv4 address", a.host);
    me.sin_port = htons((uint16_t)a.port);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&me, sizeof me) == 0)
        return fd;
    err_set(e, ERR_OTHER, "%.40s:%u: %s", a.host, a.port, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Nobody is let in, nor told that we are ready, before munge has answered once. */

int resident_far_open(struct resident *r, struct err *e)
{
    struct gate_args args = { .name = "--listen", .munge_socket = r->args.munge_socket,
                              .conf = { .purpose = LOGIN_NAMES, .job = "", .uid = geteuid(),
                                        .nodes = 1, .trusts = trusts, .host = r } };
    int fd;

    if (!r->args.listen)
        return 0;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  /* keys will be in our memory */
    fd = open_port(r->args.listen, e);
    if (fd < 0)
        return err_context(e, "--listen");
    r->gate = gate_new(r->loop, fd, &args, &gate_ops, r, e);
    while (r->gate && !r->tried)
        ev_run(r->loop, EVRUN_ONCE);
    if (!r->gate || !r->munge.code)
        return r->gate ? 0 : -1;
    *e = r->munge;
    return -1;
}
