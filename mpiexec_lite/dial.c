/* dial.c - see dial.h */
#include "mpiexec_lite/dial.h"

#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/handshake.h"
#include "mpiexec_lite/sealed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

struct dial {
    struct handshake h;              /* first */
    int              stream;
};

_Noreturn static void give_up(const char *why)
{
    fprintf(stderr, "pmi2_proxy: cannot log in at the launcher: %s\n", why);
    _exit(1);
}

/* --- connecting -------------------------------------------------------- */

/* "10.0.0.1:4000"; a connection within five seconds, or -1. */
static int dial_one(const char *address)
{
    struct timeval limit = { 5, 0 };
    struct sockaddr_in to = { .sin_family = AF_INET };
    const char *colon = strrchr(address, ':');
    char ip[INET_ADDRSTRLEN];
    int fd;

    if (!colon || (size_t)(colon - address) >= sizeof ip)
        return -1;
    memcpy(ip, address, (size_t)(colon - address));
    ip[colon - address] = '\0';
    to.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (inet_pton(AF_INET, ip, &to.sin_addr) != 1)
        return -1;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* The first that answers; *address is which. */
static int dial_any(char *addresses, char **address)
{
    char *rest = addresses;

    while ((*address = strsep(&rest, ","))) {
        int fd = dial_one(*address);

        if (fd >= 0)
            return fd;
    }
    return -1;
}

/* --- the login --------------------------------------------------------- */

static void on_lost(void *host, struct sealed *s, const char *why)
{
    (void)host;
    (void)s;
    if (*why)
        fprintf(stderr, "pmi2_proxy: the launcher is lost: %s\n", why);
    _exit(*why ? 1 : 0);
}

static void on_over(struct handshake *h, bool accepted)
{
    struct dial *d = (struct dial *)h;

    if (!accepted)
        give_up(h->login.e.text);
    if (!sealed_new_on(h->loop, h->fd, d->stream, &h->login.keys, &h->in, on_lost, NULL))
        give_up("no memory");
    h->fd = -1;
    handshake_clear(h);
}

static void run(const struct dial_args *args, int stream)
{
    struct dial d = { .stream = stream };
    char *addresses = strdup(args->addresses), *address = NULL;
    struct login_conf conf = { .job = args->job, .uid = geteuid(), .node = args->position };
    struct ev_loop *loop = fatal_loop_new();
    struct munger *munger = loop ? munger_new(loop, args->munge_socket, NULL) : NULL;
    int tcp;

    if (!addresses || !munger)
        give_up("no memory");
    tcp = dial_any(addresses, &address);
    if (tcp < 0)
        give_up("none of its addresses answers");
    conf.address = address;
    handshake_start(&d.h, loop, munger, tcp, LOGIN_CLIENT, &conf, on_over);
    ev_run(loop, 0);
    _exit(1);
}

int dial_start(const struct dial_args *args, int stream, int other)
{
    pid_t parent = getpid(), pid = fork();

    if (pid != 0)
        return pid;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(1);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  /* keys will be in our memory */
    signal(SIGPIPE, SIG_IGN);
    close(other);
    run(args, stream);
    _exit(1);
}
