/* proxy_main.c - pmi2_proxy: the guard, and its fork, the proxy.
 *
 * The guard is what the launcher program (ssh) has started: it only waits.  Both are
 * subreapers; the death of either makes the other kill all that is left. */
#include "mpiexec_lite/proxy.h"
#include "mpiexec_lite/spread.h"
#include "mpiexec_lite/stage.h"
#include "mpiexec_lite/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] =
    "pmi2_proxy is started by mpiexec_lite on the hosts of a job, never by hand.\n"
    "It speaks to the launcher over its stdin and stdout.  See pmi2_proxy(1).\n"
    "\n"
    "  --version   print the version\n"
    "  --help      print this text\n";

static int complain(const char *what)
{
    fprintf(stderr, "pmi2_proxy: %s: %s\n", what, strerror(errno));
    return 255;
}

/* The proxy speaks first, so that what a login script prints is told apart. */
static int say_who(void)
{
    char host[HOST_NAME_MAX + 1] = "", text[HOST_NAME_MAX + 100];
    int n;

    gethostname(host, sizeof host - 1);
    n = snprintf(text, sizeof text, "%s%d %s %s\n", PROXY_MARKER, PROXY_PROTOCOL, VERSION, host);
    return write(STDOUT_FILENO, text, (size_t)n) == n ? 0 : -1;
}

static void be_proxy(const struct inherited *user, int in, int out, int guard)
{
    struct proxy_args args = { .in = in, .out = out, .guard = guard, .user = user };

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setsid();
    exit(proxy_run(&args));
}

/* Wait for the proxy, then leave nothing behind. */
static int guard(pid_t proxy)
{
    int status;

    while (waitpid(proxy, &status, 0) < 0 && errno == EINTR)
        ;
    if (sweep_any() && sweep_all(5) > 0)
        return 255;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* The stream gets descriptors of its own, and 0 and 1 become /dev/null: nothing that
 * is started here can write into it by mistake. */
static int take_stream(int *in, int *out)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    *in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    *out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (null < 0 || *in < 0 || *out < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
        return -1;
    close(null);
    return 0;
}

static int run(void)
{
    struct inherited user;
    int in, out, fd[2];
    pid_t pid;

    inherited_save(&user);
    if (say_who() < 0 || take_stream(&in, &out) < 0 || sweep_prepare() < 0 ||
        pipe2(fd, O_CLOEXEC) < 0)
        return complain("cannot set up");
    pid = fork();
    if (pid < 0)
        return complain("fork");
    if (pid == 0) {
        close(fd[1]);
        be_proxy(&user, in, out, fd[0]);
    }
    close(fd[0]);
    close(in);
    close(out);
    return guard(pid);
}

/* Sent ahead of the stream, and not needed as a file any more. */
static void remove_staged(void)
{
    char path[PATH_MAX], *slash;

    if (stage_beside(path, sizeof path) < 0)
        return;
    unlink(path);
    slash = strrchr(path, '/');
    *slash = '\0';
    rmdir(path);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--version")) {
        printf("pmi2_proxy %s, protocol %d\n", VERSION, PROXY_PROTOCOL);
        return 0;
    }
    if (argc == 2 && !strcmp(argv[1], "--help")) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc == 2 && !strcmp(argv[1], "--staged")) {
        remove_staged();
    } else if (argc != 1) {
        fprintf(stderr, "pmi2_proxy: unknown argument %.80s\n%s", argv[1], usage);
        return 2;
    }
    if (argc == 1 && isatty(STDIN_FILENO)) {
        fputs(usage, stderr);
        return 2;
    }
    return run();
}
