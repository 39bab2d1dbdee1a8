/* guard.c - see guard.h */
#include "mpiexec_lite/guard.h"

#include "mpiexec_lite/dial.h"
#include "mpiexec_lite/proxy.h"
#include "mpiexec_lite/spread.h"
#include "mpiexec_lite/sweep.h"
#include "pmix_ext/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int complain(const char *what)
{
    fprintf(stderr, "pmi2_proxy: %s: %s\n", what, strerror(errno));
    return 255;
}

/* The proxy speaks first, so that what a login script prints is told apart. */
static int say_who(int out)
{
    char host[HOST_NAME_MAX + 1] = "", text[HOST_NAME_MAX + 100];
    int n;

    gethostname(host, sizeof host - 1);
    n = snprintf(text, sizeof text, "%s%d %s %s\n", PROXY_MARKER, PROXY_PROTOCOL, VERSION, host);
    return write(out, text, (size_t)n) == n ? 0 : -1;
}

static void be_proxy(const struct inherited *user, int in, int out, int guard)
{
    struct proxy_args args = { .in = in, .out = out, .guard = guard, .user = user };

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setsid();
    _exit(proxy_run(&args));
}

/* How long a proxy may take to end by itself once its stream has. */
enum { PATIENCE = 3000 };        /* ms */

/* Wait for the end of the proxy; but one that does not end with its stream, as it is
 * stopped, say, is killed. */
static void watch(pid_t proxy, int in)
{
    struct pollfd p[2] = { { .fd = (int)syscall(SYS_pidfd_open, proxy, 0), .events = POLLIN },
                           { .fd = in, .events = POLLRDHUP } };

    if (p[0].fd < 0)
        return;
    while (poll(p, 2, -1) < 0 && errno == EINTR)
        ;
    if (!p[0].revents && poll(p, 1, PATIENCE) == 0)
        kill(proxy, SIGKILL);
    close(p[0].fd);
}

/* Wait for the proxy, then leave nothing behind. */
static int guard(pid_t proxy, int in)
{
    int status;

    prctl(PR_SET_NAME, "pmi2_guard");    /* killall does not get both at once */
    watch(proxy, in);
    close(in);
    while (waitpid(proxy, &status, 0) < 0 && errno == EINTR)
        ;
    rendezvous_sweep(proxy);             /* one that was killed */
    if (sweep_any() && sweep_all(5) > 0)
        return 255;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* The stream gets descriptors of its own, and 0 and 1 become /dev/null: nothing that
 * is started here can write into it by mistake. */
static int take_stream(int *in, int *out)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (*in < 0) {
        *in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        *out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    }
    if (null < 0 || *in < 0 || *out < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
        return -1;
    close(null);
    return 0;
}

/* A stream that another process of ours dials and keeps sealed. */
static int dial(const struct dial_args *call, int *in, int *out)
{
    int fd[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
        return -1;
    *in = *out = fd[0];
    return dial_start(call, fd[1], fd[0]) < 0 ? -1 : close(fd[1]);
}

int guard_run(const struct inherited *user, const struct dial_args *call)
{
    int in = -1, out = STDOUT_FILENO, fd[2];
    pid_t pid;

    if ((call && dial(call, &in, &out) < 0) || say_who(out) < 0 ||
        take_stream(&in, &out) < 0 || sweep_prepare() < 0 || pipe2(fd, O_CLOEXEC) < 0)
        return complain("cannot set up");
    pid = fork();
    if (pid < 0)
        return complain("fork");
    if (pid == 0) {
        close(fd[1]);
        be_proxy(user, in, out, fd[0]);
    }
    close(fd[0]);
    if (out != in)
        close(out);
    return guard(pid, in);
}
