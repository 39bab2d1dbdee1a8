/* child.c - see child.h
 *
 * vfork: the child borrows our memory until it executes, so no page table is
 * copied, and how it failed is simply a variable.  Until then it may only make
 * system calls; all signals are blocked, so that no handler runs in it.
 *
 * Of many, we wait for none before the next is made: each borrows our memory on a stack
 * of its own (clone), and the kernel clears a word when it has given it back.  errno is
 * shared for that moment: of two that fail at once one may tell the other's reason, but
 * that it has failed never gets lost, and nobody is told of before all are through. */
#include "mpiexec_lite/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <linux/futex.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void inherited_save(struct inherited *in)
{
    sigprocmask(SIG_BLOCK, NULL, &in->mask);
    sigaction(SIGPIPE, NULL, &in->sigpipe);
    sigaction(SIGCHLD, NULL, &in->sigchld);
    getrlimit(RLIMIT_NOFILE, &in->files);
}

bool signal_ignored(int signo)
{
    struct sigaction now;

    return sigaction(signo, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* Written by the child while it has our memory, read by us: hence volatile, as the
 * compiler does not know that vfork comes back after the child has run. */
struct outcome_note {
    const char *step;
    int         errnum;
    bool        untraced;        /* it cannot be stopped by ptrace, and stops itself */
};

/* dup2 of a descriptor onto itself would leave it close-on-exec. */
static int place(int fd, int at)
{
    return fd == at ? fcntl(fd, F_SETFD, 0) : dup2(fd, at);
}

static int set_up(const struct child_spec *spec, pid_t parent)
{
    if ((spec->session ? setsid() : setpgid(0, 0)) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return -1;
    if (getppid() != parent) {
        errno = ESRCH;
        return -1;
    }
    if (place(spec->in, 0) < 0 || place(spec->out, 1) < 0 || place(spec->err, 2) < 0)
        return -1;
    if (spec->keep >= 0 && fcntl(spec->keep, F_SETFD, 0) < 0)
        return -1;
    /* With Yama's ptrace_scope 1 only ancestors may trace it, unless it says so; what else
     * descends from its server looks at stacks, and is a tool's daemon. */
    prctl(PR_SET_PTRACER, spec->for_debugger ? PR_SET_PTRACER_ANY : (unsigned long)parent);
    setrlimit(RLIMIT_NOFILE, &spec->user->files);
    sigaction(SIGPIPE, &spec->user->sigpipe, NULL);
    sigaction(SIGCHLD, &spec->user->sigchld, NULL);
    return 0;
}

/* Binary, for a shell: it has a NUL in its beginning. */
static bool is_text(const char *path)
{
    char head[128];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head);

    if (fd >= 0)
        close(fd);
    return n >= 0 && !memchr(head, '\0', (size_t)n);
}

/* A text file without "#!" is a shell script, as execvp has it; with up to 253
 * arguments, as no memory may be asked for here. */
static void exec_script(const struct child_spec *spec)
{
    char *args[256];
    size_t n = 0;

    if (!is_text(spec->path)) {
        errno = ENOEXEC;
        return;
    }
    args[n++] = (char *)"/bin/sh";
    args[n++] = (char *)spec->path;
    for (size_t i = 1; spec->argv[0] && spec->argv[i]; i++) {
        if (n == 255) {
            errno = E2BIG;
            return;
        }
        args[n++] = spec->argv[i];
    }
    args[n] = NULL;
    execve(args[0], args, spec->envp);
}

/* Where nobody may trace (Yama's ptrace_scope 2 or 3, seccomp of a container) it is a shell that
 * stops, and goes on as the program. */
static void exec_stopping(const struct child_spec *spec)
{
    char *args[256] = { (char *)"/bin/sh", (char *)"-c",
                        (char *)"kill -STOP $$; exec \"$0\" \"$@\"", (char *)spec->path };
    size_t n = 4;

    for (size_t i = 1; spec->argv[0] && spec->argv[i]; i++) {
        if (n == 255) {
            errno = E2BIG;
            return;
        }
        args[n++] = spec->argv[i];
    }
    execve(args[0], args, spec->envp);
}

/* Local memory has no list of nodes.  The kernel looks at one bit less than it is told. */
static int set_memory(const struct memory_policy *p)
{
    bool listed = p->mode != MPOL_LOCAL;

    return (int)syscall(SYS_set_mempolicy, p->mode, listed ? p->nodes : NULL,
                        listed ? (unsigned long)MEMORY_NODES_MAX + 1 : 0ul);
}

/* All that comes before the program itself. */
static int enter_place(const struct child_spec *spec, pid_t parent,
                       volatile struct outcome_note *note)
{
    note->step = "set up";
    if (set_up(spec, parent) < 0)
        return -1;
    note->step = "bind";
    if (spec->cpus && sched_setaffinity(0, sizeof *spec->cpus, spec->cpus->part) < 0)
        return -1;
    note->step = "membind";
    if (spec->memory && set_memory(spec->memory) < 0)
        return -1;
    note->step = "chdir";
    if (spec->dir && chdir(spec->dir) < 0)
        return -1;
    note->step = "hold";
    if (!spec->hold || ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
        return 0;
    note->untraced = errno == EPERM || errno == ENOSYS;
    return note->untraced ? 0 : -1;
}

/* It stops at its first instruction, as it is traced; so it stays when it no longer is.  True
 * but where it has been killed meanwhile: then it has ended for us, too. */
static bool stay_stopped(pid_t pid, bool untraced)
{
    int wstatus;

    while (waitpid(pid, &wstatus, untraced ? WUNTRACED : 0) < 0)
        if (errno != EINTR)
            return false;
    if (untraced)
        return WIFSTOPPED(wstatus);
    return WIFSTOPPED(wstatus) && ptrace(PTRACE_DETACH, pid, NULL, (void *)(long)SIGSTOP) == 0;
}

__attribute__((noreturn))
static void run_child(const struct child_spec *spec, pid_t parent,
                      volatile struct outcome_note *note)
{
    int why;

    if (enter_place(spec, parent, note) == 0) {
        note->step = "exec";
        sigprocmask(SIG_SETMASK, &spec->user->mask, NULL);
        if (note->untraced)
            exec_stopping(spec);
        else
            execve(spec->path, spec->argv, spec->envp);
        if (errno == ENOEXEC)
            exec_script(spec);
    }
    why = errno;
    note->errnum = why ? why : ECANCELED;        /* another of many has set it meanwhile */
    _exit(127);
}

pid_t child_start(const struct child_spec *spec, const char **step)
{
    volatile pid_t pid;
    volatile struct outcome_note note = { .step = "fork" };
    pid_t self = getpid();
    sigset_t all, before;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid = vfork();
    if (pid == 0)
        run_child(spec, self, &note);
    if (pid < 0)
        note.errnum = errno;
    else if (note.errnum)
        waitpid(pid, NULL, 0);
    else if (spec->hold && !stay_stopped(pid, note.untraced))
        note = (struct outcome_note){ .step = "hold", .errnum = ECHILD };
    sigprocmask(SIG_SETMASK, &before, NULL);
    *step = note.step;
    errno = note.errnum;
    return note.errnum ? -1 : pid;
}

/* --- many -------------------------------------------------------------- */

enum { STACK = 64 << 10 };

struct child {
    struct child_spec spec;
    volatile struct outcome_note note;
    pid_t  pid, parent;
    pid_t  borrows;              /* the kernel's to clear: not 0 while it has our memory */
};

/* The address sanitizer does not know of other stacks. */
static int at_a_time(int most)
{
#if defined __SANITIZE_ADDRESS__
    most = 1;
#elif defined __has_feature
#if __has_feature(address_sanitizer)
    most = 1;
#endif
#endif
    return most;
}

int children_init(struct children *cs, int most)
{
    sigset_t all;

    *cs = (struct children){ .most = at_a_time(most > 0 ? most : 1) };
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &cs->before);
    cs->v = calloc((size_t)cs->most, sizeof *cs->v);
    if (!cs->v)
        return -1;
    if (cs->most > 1)
        cs->stacks = mmap(NULL, (size_t)cs->most * STACK, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (cs->stacks == MAP_FAILED)
        cs->stacks = NULL;
    return 0;
}

static int enter(void *arg)
{
    struct child *x = arg;

    run_child(&x->spec, x->parent, &x->note);
}

void children_add(struct children *cs, const struct child_spec *spec)
{
    char *stack = cs->stacks ? cs->stacks + (size_t)(cs->n + 1) * STACK : NULL;
    struct child *x = &cs->v[cs->n++];
    const char *step;

    x->spec = *spec;
    x->parent = getpid();
    x->borrows = 0;
    x->note.step = "fork";
    x->note.errnum = 0;
    x->note.untraced = false;
    if (stack) {
        x->borrows = 1;
        x->pid = clone(enter, stack, CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD, x, NULL, NULL,
                       &x->borrows);
    } else {
        x->pid = child_start(spec, &step);
        x->note.step = step;
    }
    if (x->pid < 0) {
        x->borrows = 0;
        x->note.errnum = errno;
    }
}

static void await_memory(struct child *x)
{
    while (__atomic_load_n(&x->borrows, __ATOMIC_ACQUIRE))
        syscall(SYS_futex, &x->borrows, FUTEX_WAIT, 1, NULL, NULL, 0);
}

pid_t children_end(struct children *cs, int i, const char **step)
{
    struct child *x = &cs->v[i];

    for (int k = i; k < cs->n; k++)      /* errno is ours alone only then */
        await_memory(&cs->v[k]);
    if (x->pid > 0 && x->note.errnum)
        waitpid(x->pid, NULL, 0);
    else if (cs->stacks && x->pid > 0 && x->spec.hold && !stay_stopped(x->pid, x->note.untraced)) {
        x->note.step = "hold";
        x->note.errnum = ECHILD;
    }
    *step = x->note.step;
    errno = x->note.errnum;
    return x->note.errnum ? -1 : x->pid;
}

void children_clear(struct children *cs)
{
    sigprocmask(SIG_SETMASK, &cs->before, NULL);
    if (cs->stacks)
        munmap(cs->stacks, (size_t)cs->most * STACK);
    free(cs->v);
    *cs = (struct children){ 0 };
}

/* --- finding the program ----------------------------------------------- */

/* a/b/c, of those that there are.  0, or -1 and errno. */
static int join(char *out, size_t size, const char *a, const char *b, const char *c)
{
    const char *const parts[] = { a, b, c };
    size_t at = 0;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t len = parts[i] ? strlen(parts[i]) : 0;

        if (!parts[i])
            continue;
        if (at + len + 2 > size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        if (i)
            out[at++] = '/';
        memcpy(out + at, parts[i], len);
        at += len;
    }
    out[at] = '\0';
    return 0;
}

static int absolute(const char *dir, const char *name, char *out, size_t size)
{
    char cwd[PATH_MAX];

    if (*name == '/')
        return join(out, size, name, NULL, NULL);
    if (dir && *dir == '/')
        return join(out, size, dir, name, NULL);
    return getcwd(cwd, sizeof cwd) ? join(out, size, cwd, dir, name) : -1;
}

/* 0 if out can be executed, else errno: ENOENT or why not. */
static int executable(const char *file)
{
    struct stat st;

    if (stat(file, &st) < 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    return access(file, X_OK) < 0 ? errno : 0;
}

static int try(const char *dir, const char *name, char *out, size_t size, int *why)
{
    int rc = absolute(dir, name, out, size) < 0 ? errno : executable(out);

    if (rc && rc != ENOENT && rc != ENOTDIR)
        *why = rc;           /* there, but of no use: worth more than "not found" */
    return rc;
}

static int search(const char *list, const char *name, char *out, size_t size, int *why)
{
    char dir[PATH_MAX];

    while (list) {
        const char *colon = strchrnul(list, ':');
        size_t n = (size_t)(colon - list);

        if (n < sizeof dir) {
            memcpy(dir, n ? list : ".", n ? n : 1);
            dir[n ? n : 1] = '\0';
            if (try(dir, name, out, size, why) == 0)
                return 0;
        }
        list = *colon ? colon + 1 : NULL;
    }
    return -1;
}

int program_find(const char *name, const char *dir, const char *first, const char *path,
                 char *out, size_t size, int *status, struct err *e)
{
    int why = ENOENT;
    bool found;

    if (!*name) {                        /* else it would be a folder of PATH */
        *status = 127;
        return err_set(e, ERR_OTHER, "the name of the program is empty");
    }
    if (strchr(name, '/'))
        found = try(dir, name, out, size, &why) == 0 ||
                (dir && *name != '/' && try(NULL, name, out, size, &why) == 0);
    else
        found = search(first, name, out, size, &why) == 0 ||
                search(path, name, out, size, &why) == 0;
    if (found)
        return 0;
    *status = why == ENOENT ? 127 : 126;
    return err_set(e, ERR_OTHER, "%s: %s", name, why == ENOENT && !strchr(name, '/') ?
                   "not found in PATH" : strerror(why));
}
