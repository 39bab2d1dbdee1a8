/* stack_helper.c - see stack_helper.h: one process after the other */
#include "mpiexec_lite/stack_helper.h"

#include "mpiexec_lite/census.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { THREADS = 256 };                  /* of a process that are looked at */

static void write_all(int fd, const struct buf *b)
{
    for (size_t done = 0; done < b->len;) {
        ssize_t n = write(fd, buf_bytes(b) + done, b->len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(1);
        done += (size_t)n;
    }
}

/* The other threads of a process behind its first: their number, with that. */
static size_t list_threads(pid_t pid, pid_t *tids)
{
    const struct dirent *entry;
    char path[40];
    size_t n = 1;
    DIR *d;

    tids[0] = pid;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    d = opendir(path);
    while (d && n < THREADS && (entry = readdir(d))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (tid > 0 && tid != pid)
            tids[n++] = tid;
    }
    if (d)
        closedir(d);
    return n;
}

/* Threads that end meanwhile, all but the first, are left out. */
static int look(struct stack_dw *dw, pid_t pid, bool threads, struct buf *out,
                struct stack_why *why)
{
    struct stopped stopped[THREADS];
    struct stack_why other;
    pid_t tids[THREADS] = { pid };
    size_t n = threads ? list_threads(pid, tids) : 1, m = 0;
    int rc;

    for (size_t i = 0; i < n; i++)
        if (stack_stop(pid, tids[i], &stopped[m], i ? &other : why) == 0)
            m++;
        else if (!i)
            return -1;
    rc = stack_dw_walk(dw, pid, stopped, m, out, why);
    while (m--)
        stack_resume(&stopped[m]);
    return rc;
}

/* Whether it can be stopped at all: the programs do not say why not. */
static int try_stop(pid_t pid, struct stack_why *why)
{
    struct stopped s;

    if (stack_stop(pid, pid, &s, why) < 0)
        return -1;
    stack_resume(&s);
    return 0;
}

static void tell(int fd, struct stack_dw *dw, pid_t pid, bool threads)
{
    struct census x = { .kind = CENSUS_STACK, .index = -1, .pid = pid };
    struct buf stack = BUF_INIT, record = BUF_INIT;
    struct stack_why why = { "" };
    int rc = dw ? look(dw, pid, threads, &stack, &why) : try_stop(pid, &why);

    if (!dw && rc == 0)
        rc = stack_program_walk(pid, threads, &stack, &why);
    x.text = rc == 0 ? buf_bytes(&stack) : why.text;
    x.text_len = rc == 0 ? stack.len : strlen(why.text);
    if (rc < 0)
        x.kind = CENSUS_NO_STACK;
    census_add(&record, &x);
    if (!stack.failed && !record.failed)
        write_all(fd, &record);
    buf_clear(&stack);
    buf_clear(&record);
}

_Noreturn void stack_helper_run(int fd, const pid_t *pids, size_t n, bool threads, pid_t parent)
{
    struct stack_dw *dw;
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || dup2(fd, 0) < 0)
        _exit(1);
    prctl(PR_SET_NAME, STACK_HELPER);
    close_range(1, ~0U, 0);
    setenv("DEBUGINFOD_URLS", "", 1);    /* no symbols from the network */
    dw = stack_dw_open();
    for (size_t i = 0; i < n; i++)
        tell(0, dw, pids[i], threads);
    _exit(0);
}
