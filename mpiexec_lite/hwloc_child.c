/* hwloc_child.c - see hwloc_child.h */
#include "mpiexec_lite/hwloc_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int hwloc_child_write(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno != EINTR)
            return -1;
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Nothing of the server's stays open: 3 is out, 4 is say. */
static void close_others(int out, int say)
{
    int null = open("/dev/null", O_RDWR), a = fcntl(out, F_DUPFD, 5), b = fcntl(say, F_DUPFD, 5);

    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
    dup2(a, 3);
    dup2(b, 4);
    if (syscall(SYS_close_range, 5u, ~0u, 0u) < 0)       /* before Linux 5.9 */
        for (int i = 5; i < 65536; i++)
            close(i);
}

_Noreturn void hwloc_child_run(int out, int say, pid_t parent, hwloc_child_work *work,
                               const void *arg)
{
    char text[HWLOC_CHILD_WHY];
    const char *why;
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    close_others(out, say);
    signal(SIGALRM, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(HWLOC_CHILD_PATIENCE);
    setenv("HWLOC_HIDE_ERRORS", "2", 1);
    why = work(3, arg);
    snprintf(text, sizeof text, "%s", why ? why : "+");
    hwloc_child_write(4, text, strlen(text));
    _exit(why != NULL);
}
