/* child.h - start one process of a job. */
#ifndef MPIEXEC_LITE_CHILD_H
#define MPIEXEC_LITE_CHILD_H

#include "mpiexec_lite/binding.h"
#include "wire/err.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* What the user's process was given at its start and a child gets back; taken
 * before the launcher changes any of it. */
struct inherited {
    sigset_t      mask;
    struct sigaction sigpipe, sigchld;
    struct rlimit files;         /* RLIMIT_NOFILE */
};
void inherited_save(struct inherited *in);

/* Was the signal ignored when the launcher started (nohup, background job of a
 * script)?  Then it stays so: a blocked signal reaches a signalfd all the same. */
bool signal_ignored(int signo);

struct child_spec {
    const char  *path;           /* what to execute: absolute, or relative to dir */
    char *const *argv, *const *envp;
    const char  *dir;            /* NULL: the launcher's own */
    int          in, out, err;   /* descriptors that become 0, 1, 2; stay the caller's */
    int          keep;           /* a close-on-exec descriptor that the child keeps, or -1 */
    bool         hold;           /* leave it stopped (T) where its program begins; nobody
                                    traces it then.  Where nobody may, it is a shell that is
                                    stopped, and becomes the program */
    bool         for_debugger;   /* other processes than our own may trace it, if we may say so */
    bool         session;        /* a session of its own, and not a process group only */
    const struct cpus *cpus;     /* processors that it may use; NULL: as we */
    const struct memory_policy *memory;  /* where its memory comes from; NULL: as ours */
    const struct inherited *user;
};

/* Start it, in a process group or session of its own, to be killed when we die.  Returns
 * when the program runs (or could not be): its pid, or -1 with errno and *step
 * the name of what failed ("fork", "bind", "membind", "chdir", "exec"). */
pid_t child_start(const struct child_spec *spec, const char **step);

/* Many, without waiting for each: they execute side by side.  Not thread-safe, as it
 * blocks all signals from init to clear. */
struct child;
struct children {
    struct child *v;             /* owned */
    char         *stacks;        /* owned; NULL: each is waited for after all */
    int           n, most;       /* being started; how many at a time can be */
    sigset_t      before;
};
/* 0, or -1: no memory; to be cleared either way. */
int   children_init(struct children *cs, int most);
/* Start one more of at most `most`.  What spec points to stays as it is until the last
 * one has been ended; its descriptors may be closed. */
void  children_add(struct children *cs, const struct child_spec *spec);
/* How number i fared, as child_start tells it. */
pid_t children_end(struct children *cs, int i, const char **step);
/* After the last one, every one of them having been ended. */
void  children_clear(struct children *cs);

/* Find a program as a shell does: name with a '/' as it is (relative to dir, else
 * to the launcher's directory), else in the directories of `first`, then `path`
 * (colon lists, either may be NULL).  0 and out (size bytes), or -1: e says why
 * and *status is 127 (missing) or 126 (not executable). */
int program_find(const char *name, const char *dir, const char *first, const char *path,
                 char *out, size_t size, int *status, struct err *e);

#endif
