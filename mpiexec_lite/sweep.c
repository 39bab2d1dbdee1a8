/* sweep.c - see sweep.h
 *
 * One pass reads the parent of every process in /proc, follows the chains that
 * lead to us, and stops, then kills, what hangs on them.  Stopping first keeps a
 * process from forking between the look and the blow; passes repeat until no
 * child is left, as what a killed process had becomes ours. */
#include "mpiexec_lite/sweep.h"

#include "mpiexec_lite/now.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct proc {
    pid_t pid, parent;
    bool  ours, spared;
};

struct procs {
    struct proc *v;          /* owned */
    size_t       n, cap;
};

int sweep_prepare(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

bool sweep_any(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* The parent in /proc/PID/stat: the second field behind the last ')'. */
static pid_t parent_of(const char *pid)
{
    char path[64], text[512], *paren;
    int fd, parent = -1;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    paren = strrchr(text, ')');
    if (!paren || sscanf(paren + 1, " %*c %d", &parent) != 1)
        return -1;
    return parent;
}

static int add(struct procs *p, pid_t pid, pid_t parent)
{
    if (p->n == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 256;
        struct proc *v = realloc(p->v, cap * sizeof *v);

        if (!v)
            return -1;
        p->v = v;
        p->cap = cap;
    }
    p->v[p->n++] = (struct proc){ .pid = pid, .parent = parent };
    return 0;
}

/* Fewer than all when memory is short: the next pass finds the others. */
static void read_all(struct procs *p)
{
    DIR *d = opendir("/proc");
    struct dirent *ent;

    while (d && (ent = readdir(d))) {
        pid_t parent;

        if (!isdigit((unsigned char)ent->d_name[0]))
            continue;
        parent = parent_of(ent->d_name);
        if (parent > 0 && add(p, (pid_t)strtol(ent->d_name, NULL, 10), parent) < 0)
            break;
    }
    if (d)
        closedir(d);
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const struct proc *)a)->pid, y = ((const struct proc *)b)->pid;

    return (x > y) - (x < y);
}

static struct proc *find(const struct procs *p, pid_t pid)
{
    struct proc key = { .pid = pid };

    return p->n ? bsearch(&key, p->v, p->n, sizeof *p->v, by_pid) : NULL;
}

/* Does the chain of parents of pr lead to us?  Marks the chain's first if so. */
static bool descends(const struct procs *p, const struct proc *pr, pid_t self)
{
    for (size_t depth = 0; pr && depth < 4096; depth++) {
        if (pr->spared)
            return false;
        if (pr->parent == self || pr->ours)
            return true;
        pr = find(p, pr->parent);
    }
    return false;
}

/* Signal this very process: its number may have been given to another since. */
static void signal_one(const struct proc *pr, int signo)
{
    int fd = (int)syscall(SYS_pidfd_open, pr->pid, 0);
    char pid[16];

    if (fd < 0) {
        if (errno == ENOSYS)             /* before Linux 5.3 */
            kill(pr->pid, signo);
        return;
    }
    snprintf(pid, sizeof pid, "%d", (int)pr->pid);
    if (parent_of(pid) == pr->parent)    /* else it has moved: the next pass finds it */
        syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0);
    close(fd);
}

static void signal_ours(const struct procs *p, int signo)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].ours)
            signal_one(&p->v[i], signo);
}

/* Those that are not waited for with all others: at once, as the next pass cannot tell
 * whose a dead process was. */
static void reap_ours(const struct procs *p, pid_t self)
{
    const struct timespec pause = { 0, 200000 };

    for (size_t i = 0; i < p->n; i++)
        for (int tries = 0; p->v[i].ours && p->v[i].parent == self && tries < 50; tries++) {
            if (waitpid(p->v[i].pid, NULL, WNOHANG | __WALL))
                break;
            nanosleep(&pause, NULL);
        }
}

/* Whether a process says that it is of this job. */
static bool is_of_job(pid_t pid, const char *jobid)
{
    char path[40], *line = NULL;
    size_t cap = 0, len = strlen(jobid);
    bool found = false;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    f = fopen(path, "re");
    while (f && !found && getdelim(&line, &cap, '\0', f) > 0)
        found = !strncmp(line, "PMI_JOBID=", 10) && !strncmp(line + 10, jobid, len + 1);
    free(line);
    if (f)
        fclose(f);
    return found;
}

static void spare_other_jobs(struct procs *p, pid_t self, const char *jobid)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].parent == self && !is_of_job(p->v[i].pid, jobid))
            p->v[i].spared = true;
}

/* One pass.  freeze: stop all before the first is killed, so that none can fork meanwhile;
 * should we be killed just then, they stay stopped.  The number of descendants seen. */
static int pass(const pid_t *spared, size_t n, const char *jobid, bool freeze)
{
    struct procs p = { 0 };
    pid_t self = getpid();
    int seen = 0;

    read_all(&p);
    if (p.n)
        qsort(p.v, p.n, sizeof *p.v, by_pid);
    for (size_t i = 0; i < n; i++) {
        struct proc *pr = find(&p, spared[i]);

        if (pr)
            pr->spared = true;
    }
    if (jobid)
        spare_other_jobs(&p, self, jobid);
    for (size_t i = 0; i < p.n; i++) {
        p.v[i].ours = p.v[i].pid != self && descends(&p, &p.v[i], self);
        seen += p.v[i].ours;
    }
    if (freeze)
        signal_ours(&p, SIGSTOP);
    signal_ours(&p, SIGKILL);
    if (n || jobid)
        reap_ours(&p, self);
    free(p.v);
    return seen;
}

/* Reap what has ended.  False when there is no child at all. */
static bool reap(void)
{
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
        ;
    return pid == 0 || errno != ECHILD;
}

/* Passes after which those that are still found are taken to fork faster than they are
 * killed. */
enum { PATIENT = 5 };

int sweep_but(double seconds, const pid_t *spared, size_t n, const char *jobid)
{
    bool some = n || jobid;
    const struct timespec pause = { 0, 2000000 };        /* 2 ms */
    double end = now_seconds() + seconds;
    int seen = 0;

    for (int passes = 0; some || reap(); passes++) {
        if (now_seconds() > end)
            return seen ? seen : 1;
        seen = pass(spared, n, jobid, passes >= PATIENT);
        if (some && !seen)
            return 0;
        nanosleep(&pause, NULL);
    }
    return 0;
}

int sweep_all(double seconds)
{
    return sweep_but(seconds, NULL, 0, NULL);
}
