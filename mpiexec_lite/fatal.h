/* fatal.h - when a process of the launcher cannot go on at all.
 *
 * Front end and root guard each other: the one that ends here leaves it to the
 * other to end the job and every process of it. */
#ifndef MPIEXEC_LITE_FATAL_H
#define MPIEXEC_LITE_FATAL_H

/* Say why (and errno's text, unless it is 0) on stderr, and _exit with 255.  Uses no
 * memory. */
_Noreturn void fatal(const char *why, int errnum);

struct ev_loop;

/* A loop for this process, or NULL with errno.  Where libev would abort (it is out of
 * memory) or stop watching a descriptor in silence (the kernel is), it is fatal. */
struct ev_loop *fatal_loop_new(void);

#endif
