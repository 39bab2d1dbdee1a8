/* stack_stop.c - a thread of another process is stopped, and goes on as if nothing had been.
 * (ptrace(2).) */
#include "mpiexec_lite/stack_helper.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

/* A thread that does not stop so soon sleeps in the kernel, on a file system perhaps. */
enum { STOP_TRIES = 500, OTHERS_TRIES = 3000 };
static const struct timespec TRY = { 0, 1000000 };

/* A line of /proc/PID/status as a number, or 0; a letter as itself. */
static long status_of(pid_t pid, const char *name)
{
    char path[40], line[256];
    long value = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        char *at = line + strlen(name);

        if (strncmp(line, name, strlen(name)) || *at++ != ':')
            continue;
        at += strspn(at, " \t");
        value = *at >= 'A' ? *at : strtol(at, NULL, 10);
        break;
    }
    if (f)
        fclose(f);
    return value;
}

static long yama_scope(void)
{
    FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    long n = 0;

    if (f && fscanf(f, "%ld", &n) != 1)
        n = 0;
    if (f)
        fclose(f);
    return n;
}

static void tracer_name(long pid, char *name, size_t size)
{
    char path[40];
    FILE *f;

    snprintf(path, sizeof path, "/proc/%ld/comm", pid);
    f = fopen(path, "re");
    if (!f || !fgets(name, (int)size, f))
        snprintf(name, size, "?");
    name[strcspn(name, "\n")] = '\0';
    if (f)
        fclose(f);
}

static void explain(pid_t pid, int errnum, struct stack_why *why)
{
    long tracer = status_of(pid, "TracerPid"), state = status_of(pid, "State");
    char name[32];

    if (tracer) {
        tracer_name(tracer, name, sizeof name);
        snprintf(why->text, sizeof why->text, "it is traced by process %ld (%s)", tracer, name);
    } else if (errnum == ESRCH || !state || state == 'Z' || state == 'X') {
        snprintf(why->text, sizeof why->text, "it has ended");
    } else if (errnum == EPERM && yama_scope() > 0) {
        snprintf(why->text, sizeof why->text, "not permitted (kernel.yama.ptrace_scope is %ld)",
                 yama_scope());
    } else {
        snprintf(why->text, sizeof why->text, "it cannot be stopped: %s", strerror(errnum));
    }
}

/* Another of us, who looks for somebody else, has it for some milliseconds; longer only while that
 * reads what names the first process's frames. */
static bool is_ours(long tracer)
{
    char name[32];

    tracer_name(tracer, name, sizeof name);
    return !strcmp(name, STACK_HELPER);
}

static int seize(pid_t tid)
{
    bool free = false;

    for (int i = 0; ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0; i++) {
        long tracer = errno == EPERM ? status_of(tid, "TracerPid") : -1;

        /* Nobody has it (any more): once more, as it may have been that. */
        if (i == OTHERS_TRIES || tracer < 0 || (tracer ? !is_ours(tracer) : free)) {
            errno = tracer < 0 ? errno : EPERM;
            return -1;
        }
        free = !tracer;
        nanosleep(&TRY, NULL);
    }
    return 0;
}

int stack_stop(pid_t pid, pid_t tid, struct stopped *out, struct stack_why *why)
{
    int status;

    *out = (struct stopped){ .tid = tid };
    if (seize(tid) < 0 ||
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0) {
        explain(pid, errno, why);
        return -1;
    }
    for (int i = 0; i < STOP_TRIES; i++) {
        pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

        if (got == tid && WIFSTOPPED(status)) {
            /* Not our interruption but a signal on its way to it: it gets that then. */
            if (status >> 16 != PTRACE_EVENT_STOP)
                out->signal = WSTOPSIG(status);
            return 0;
        }
        if (got) {
            explain(pid, ESRCH, why);
            return -1;
        }
        nanosleep(&TRY, NULL);
    }
    snprintf(why->text, sizeof why->text, "it does not stop: state %c",
             (char)status_of(tid, "State"));
    return -1;
}

void stack_resume(const struct stopped *s)
{
    ptrace(PTRACE_DETACH, s->tid, NULL, (void *)(intptr_t)s->signal);
}
