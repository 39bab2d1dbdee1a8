/* dial.c - see dial.h */
#include "mpiexec_lite/dial.h"

#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/login.h"
#include "mpiexec_lite/sealed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

struct dial {
    struct ev_loop *loop;
    struct munger  *munger;
    struct login    login;
    struct buf      in, out;
    ev_io           readable;
    int             tcp, stream;
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
    int fd, on = 1;

    if (!colon || (size_t)(colon - address) >= sizeof ip)
        return -1;
    memcpy(ip, address, (size_t)(colon - address));
    ip[colon - address] = '\0';
    to.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (inet_pton(AF_INET, ip, &to.sin_addr) != 1)
        return -1;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return fd;
    }
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

static void go_on(struct dial *d, enum login_want want);

static void on_munged(void *user, const struct munge_result *r)
{
    struct dial *d = user;

    go_on(d, login_munged(&d->login, r, &d->out));
}

static void on_over(void *host, struct sealed *s, const char *why)
{
    (void)host;
    (void)s;
    if (*why)
        fprintf(stderr, "pmi2_proxy: the launcher is lost: %s\n", why);
    _exit(*why ? 1 : 0);
}

static void accepted(struct dial *d)
{
    ev_io_stop(d->loop, &d->readable);
    if (!sealed_new_on(d->loop, d->tcp, d->stream, &d->login.keys, &d->in, on_over, d))
        give_up("no memory");
    login_clear(&d->login);
}

static void go_on(struct dial *d, enum login_want want)
{
    struct err e = { 0 };
    const struct buf *ask = &d->login.ask;
    int rc = 0;

    if (want == LOGIN_ENCODE)
        rc = munger_encode(d->munger, buf_bytes(ask), ask->len, on_munged, d, &e);
    else if (want == LOGIN_DECODE)
        rc = munger_decode(d->munger, buf_bytes(ask), ask->len, on_munged, d, &e);
    if (rc < 0)
        give_up(e.text);
    while (d->out.len) {
        ssize_t n = send(d->tcp, buf_bytes(&d->out), d->out.len, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            give_up(strerror(errno));
        if (n > 0)
            buf_consume(&d->out, (size_t)n);
    }
    if (want == LOGIN_REFUSED)
        give_up(d->login.e.text);
    if (want == LOGIN_ACCEPTED)
        accepted(d);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct dial *d = w->data;
    char data[4096];
    ssize_t n = recv(d->tcp, data, sizeof data, MSG_DONTWAIT);

    (void)loop;
    (void)revents;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        give_up("the connection was closed (see the launcher's messages)");
    buf_add(&d->in, data, (size_t)n);
    go_on(d, login_input(&d->login, &d->in));
}

static void run(const struct dial_args *args, int stream)
{
    struct dial d = { .stream = stream };
    char *addresses = strdup(args->addresses), *address = NULL;
    struct login_conf conf = { .job = args->job, .uid = geteuid(), .node = args->position };
    unsigned char random[LOGIN_RANDOM];

    d.loop = fatal_loop_new();
    d.munger = d.loop ? munger_new(d.loop, args->munge_socket, NULL) : NULL;
    if (!addresses || !d.munger || getrandom(random, sizeof random, 0) != sizeof random)
        give_up("no memory");
    d.tcp = dial_any(addresses, &address);
    if (d.tcp < 0)
        give_up("none of its addresses answers");
    conf.address = address;
    ev_io_init(&d.readable, on_readable, d.tcp, EV_READ);
    d.readable.data = &d;
    ev_io_start(d.loop, &d.readable);
    go_on(&d, login_start(&d.login, LOGIN_CLIENT, &conf, random, &d.out));
    seal_wipe(random, sizeof random);
    ev_run(d.loop, 0);
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
