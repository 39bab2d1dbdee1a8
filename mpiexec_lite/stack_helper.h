/* stack_helper.h - the process that looks at the stacks of other processes, for stacker.h.
 *
 * It stops each for some milliseconds, by PTRACE_SEIZE, which leaves no signal behind: one
 * that is stopped stays so, all others go on, also when this process is killed.  Frames and
 * names come from libdw, which is opened here; where it is not there, from eu-stack or gdb. */
#ifndef MPIEXEC_LITE_STACK_HELPER_H
#define MPIEXEC_LITE_STACK_HELPER_H

#include "wire/buf.h"

#include <stdbool.h>
#include <sys/types.h>

#define STACK_HELPER "mpiexec-stack"     /* as ps has it */

/* What went wrong with one process. */
struct stack_why { char text[160]; };

/* --- stack_helper.c: called in the forked child --- */

/* Write to fd, for each process, a record (census.h) whose pid it is, and end.  parent: who
 * forked it, and at whose end it ends. */
_Noreturn void stack_helper_run(int fd, const pid_t *pids, size_t n, bool threads, pid_t parent);

/* --- stack_stop.c: ptrace --- */

struct stopped { pid_t tid; int signal; };       /* signal: what it is to be given then */

/* Stop a thread of a process.  0, or -1 and why. */
int  stack_stop(pid_t pid, pid_t tid, struct stopped *out, struct stack_why *why);
void stack_resume(const struct stopped *s);

/* --- stack_dw.c: libdw --- */

struct stack_dw;
/* NULL: it is not there.  It lasts as long as the process. */
struct stack_dw *stack_dw_open(void);
/* Append the stacks of these threads of a process, which are stopped.  0, or -1 and why. */
int stack_dw_walk(struct stack_dw *dw, pid_t pid, const struct stopped *threads, size_t n,
                  struct buf *out, struct stack_why *why);

/* --- stack_program.c: eu-stack and gdb --- */

/* The same of a process that runs, by a program. */
int stack_program_walk(pid_t pid, bool threads, struct buf *out, struct stack_why *why);
/* Append the stacks of such a program's output. */
void stack_program_read(const char *text, size_t len, struct buf *out);

#endif
