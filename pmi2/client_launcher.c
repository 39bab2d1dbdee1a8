/* client_launcher.c - start a launcher from within a program that has none.
 *
 * Nothing of the program is to notice: the launcher is no child of its (so no SIGCHLD,
 * and nothing for its wait()), has none of its descriptors but stdout and stderr, none
 * of its signal handlers, and memory is never copied: fork may be slow in a large
 * program, and is a danger to one that has registered memory with a network card.
 * So a child that shares our memory starts another one, which becomes the launcher,
 * while this thread waits for both.
 *
 * They talk over a socket pair: nothing listens, and nobody else can connect. */
#include "pmi2/client.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 60.0
#define STACK    (size_t)(256 << 10)     /* of each of the two; execvpe puts PATH there */
enum { THEIR_FD = 3 };                   /* the connection, in the launcher */

double launcher_patience(void)
{
    const char *text = secure_getenv("PMI2_LAUNCHER_TIMEOUT");
    double seconds = text ? strtod(text, NULL) : 0;

    return seconds > 0 && seconds < 1e6 ? seconds : PATIENCE;
}

/* ------------------------------------------------------------------- which */

/* The program beside the library: "../bin" of its folder. */
static bool beside(char *path, size_t size)
{
    Dl_info info;
    const char *slash;
    int n;

    if (!dladdr((void *)(size_t)&launcher_start, &info))
        return false;
    slash = strrchr(info.dli_fname, '/');
    if (!slash)
        return false;
    n = snprintf(path, size, "%.*s/../bin/mpiexec_lite", (int)(slash - info.dli_fname),
                 info.dli_fname);
    return n > 0 && (size_t)n < size && access(path, X_OK) == 0;
}

static int find(char *path, size_t size, struct err *e)
{
    const char *named = getenv("PMI2_LAUNCHER");
    int n = 0;

    if (getauxval(AT_SECURE))
        return err_set(e, ERR_OTHER, "this process was started without a launcher, and has "
                       "rights that its user has not: it starts none");
    if (named && !*named)
        return err_set(e, ERR_OTHER, "this process was started without a launcher, and "
                       "PMI2_LAUNCHER is empty: it starts none");
    if (named || !beside(path, size))
        n = snprintf(path, size, "%s", named ? named : "mpiexec_lite");
    return (size_t)n < size ? 0 : err_set(e, ERR_OTHER, "PMI2_LAUNCHER is too long");
}

/* ------------------------------------------------------------------- start */

struct start {               /* shared with the two children */
    const char *path;
    char **argv, **envp;
    int    fd;               /* the launcher's end */
    char  *stack;            /* of the launcher, its upper end */
    pid_t  pid;              /* of the launcher */
    int    error;            /* why it could not be started */
};

/* Handlers are ours, and would run in our memory. */
static void reset_signals(void)
{
    struct sigaction now, none = { .sa_handler = SIG_DFL };
    sigset_t empty;

    for (int signo = 1; signo < NSIG; signo++)
        if (sigaction(signo, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(signo, &none, NULL);
    sigemptyset(&empty);
    sigprocmask(SIG_SETMASK, &empty, NULL);
}

static int be_launcher(void *arg)
{
    struct start *s = arg;

    reset_signals();
    dup2(s->fd, THEIR_FD);
    fcntl(THEIR_FD, F_SETFD, 0);
    syscall(SYS_close_range, THEIR_FD + 1, ~0U, 0);      /* an older kernel has it not */
    close(STDIN_FILENO);
    open("/dev/null", O_RDONLY);
    execvpe(s->path, s->argv, s->envp);
    s->error = errno;
    return 127;
}

/* Ends at once, so that the launcher is nobody's child but init's. */
static int be_between(void *arg)
{
    struct start *s = arg;

    s->pid = clone(be_launcher, s->stack, CLONE_VM | CLONE_VFORK, s);
    if (s->pid < 0)
        s->error = errno;
    return 0;
}

/* The one between sends no signal when it ends, and only who asks for it by __WCLONE
 * can wait for it. */
static int start_between(struct start *s)
{
    char *stacks = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    sigset_t all, before;
    pid_t pid;

    if (stacks == MAP_FAILED)
        return -1;
    s->stack = stacks + STACK;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = clone(be_between, stacks + 2 * STACK, CLONE_VM | CLONE_VFORK, s);
    if (pid < 0)
        s->error = errno;
    while (pid > 0 && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stacks, 2 * STACK);
    errno = s->error;
    return s->error ? -1 : 0;
}

int launcher_start(struct launcher *l, const char *jobid, struct err *e)
{
    char option[LIMIT_JOBID + 16], name[] = "-singleton-fd", dashes[] = "--";
    char *argv[] = { l->path, name, option, dashes, program_invocation_short_name, NULL };
    struct start s = { .path = l->path, .argv = argv, .envp = environ };
    int fd[2], rc;

    l->pidfd = -1;
    if (find(l->path, sizeof l->path, e) < 0)
        return -1;
    snprintf(option, sizeof option, "%d:%s", THEIR_FD, jobid);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
        return err_set(e, ERR_OTHER, "no connection to a launcher: %s", strerror(errno));
    l->fd = fd[0];
    s.fd = fd[1];
    rc = start_between(&s);
    if (rc < 0)
        err_set(e, ERR_OTHER, "this process was started without a launcher, and cannot start "
                "%.80s: %s", l->path, strerror(errno));
    else
        l->pidfd = (int)syscall(SYS_pidfd_open, s.pid, 0);
    close(fd[1]);
    if (rc < 0)
        close(fd[0]);
    return rc;
}

void launcher_keep(struct launcher *l)
{
    if (l->pidfd >= 0)
        close(l->pidfd);
    l->pidfd = -1;
}

void launcher_end(struct launcher *l)
{
    if (l->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
    launcher_keep(l);
    close(l->fd);
    l->fd = -1;
}
