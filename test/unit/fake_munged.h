/* fake_munged.h - munged daemons of the test's own: in a new directory, with a new key
 * that they share.  One is "this host's", the other "another host's".
 *
 * cmocka's group set-up and tear-down.  Where munged is not installed NEED_MUNGED()
 * skips the test; NEED_ROOT() also where we cannot become somebody else. */
#ifndef TEST_FAKE_MUNGED_H
#define TEST_FAKE_MUNGED_H

#include "mpiexec_lite/fatal.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY 65534

static char dir[] = "/tmp/test_munger.XXXXXX";
static struct ev_loop *loop;

struct munged {
    pid_t pid;
    char  socket[64];
};

static struct munged here, there;        /* this host's, another host's */

static inline double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline void nap(double seconds)
{
    struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

    nanosleep(&t, NULL);
}

/* In a fresh chroot, perhaps not. */
static inline bool others_may_enter(void)
{
    struct stat st;

    return stat("/", &st) == 0 && (st.st_mode & S_IXOTH);
}

static inline int try_connect(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    rc = connect(fd, (struct sockaddr *)&a, sizeof a);
    close(fd);
    return rc;
}

/* Where faketime's library is, or NULL. */
static inline const char *faketime_library(void)
{
    static char path[200];
    glob_t g;

    if (!*path && glob("/usr/lib*/*/faketime/libfaketimeMT.so.1", 0, NULL, &g) == 0) {
        snprintf(path, sizeof path, "%s", g.gl_pathv[0]);
        globfree(&g);
    }
    return *path ? path : NULL;
}

static inline char *option(const char *name, const char *munged, const char *file)
{
    char *text = NULL;

    if (asprintf(&text, "--%s=%s/%s%s", name, dir, munged, file) < 0)
        abort();
    return text;
}

__attribute__((noreturn))
static inline void exec_munged(const char *name, const char *offset)
{
    char *argv[] = { (char *)"munged", (char *)"--foreground", (char *)"--num-threads=2",
                     option("key-file", "", "key"), option("socket", name, ".sock"),
                     option("pid-file", name, ".pid"), option("log-file", name, ".log"),
                     option("seed-file", name, ".seed"), NULL };
    int null = open("/dev/null", O_RDWR);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    if (offset) {
        setenv("LD_PRELOAD", faketime_library(), 1);
        setenv("FAKETIME", offset, 1);
    }
    execv("/usr/sbin/munged", argv);
    _exit(127);
}

/* offset: of its clock ("+61s"), or NULL.  0, or -1. */
static inline int munged_start(struct munged *d, const char *name, const char *offset)
{
    double end = now() + 10;

    snprintf(d->socket, sizeof d->socket, "%s/%s.sock", dir, name);
    d->pid = fork();
    if (d->pid == 0)
        exec_munged(name, offset);
    while (try_connect(d->socket) < 0) {
        if (now() > end || waitpid(d->pid, NULL, WNOHANG) != 0)
            return -1;
        nap(0.005);
    }
    return 0;
}

static inline void munged_stop(struct munged *d)
{
    if (d->pid <= 0)
        return;
    kill(d->pid, SIGKILL);
    waitpid(d->pid, NULL, 0);
    d->pid = 0;
}

static inline int set_up_group(void **state)
{
    char path[64], key[128];
    int fd;

    (void)state;
    loop = fatal_loop_new();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!loop || !mkdtemp(dir) || chmod(dir, 0711) < 0)
        return -1;
    snprintf(path, sizeof path, "%s/key", dir);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (getrandom(key, sizeof key, 0) != sizeof key || write(fd, key, sizeof key) != sizeof key)
        return -1;
    close(fd);
    if (access("/usr/sbin/munged", X_OK) < 0)
        return 0;                        /* each test then skips */
    if (!others_may_enter())             /* munged refuses to run where they may not */
        return 0;
    return munged_start(&here, "here", NULL) < 0 ||
           munged_start(&there, "there", NULL) < 0 ? -1 : 0;
}

static inline int tear_down_group(void **state)
{
    char command[64];

    (void)state;
    munged_stop(&here);
    munged_stop(&there);
    ev_loop_destroy(loop);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

#define NEED_MUNGED()                                        \
    do {                                                     \
        if (!here.pid) {                                     \
            print_message("  munged is not installed, or cannot run: only root may enter /\n");    \
            skip();                                          \
        }                                                    \
    } while (0)

#define NEED_ROOT()                                          \
    do {                                                     \
        NEED_MUNGED();                                       \
        if (geteuid() != 0) {                                \
            print_message("  only root can be another\n");   \
            skip();                                          \
        }                                                    \
        if (!others_may_enter()) {                           \
            print_message("  only root may enter /\n");      \
            skip();                                          \
        }                                                    \
    } while (0)

/* Run a munge program as another user.  Its exit status; what it wrote is in out. */
static inline int as_nobody(const char *program, const char *input, size_t len, char *out,
                            size_t size)
{
    int in[2], from[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t pid;

    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(from, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(from[1], 1);
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
        if (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
            _exit(126);
        execlp(program, program, "-S", here.socket, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(from[1]);
    assert_int_equal(write(in[1], input, len), len);
    close(in[1]);
    while ((got = read(from[0], out + n, size - 1 - n)) > 0)
        n += (size_t)got;
    close(from[0]);
    out[n] = '\0';
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
