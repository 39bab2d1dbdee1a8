/* fatal.h - when a process of the launcher cannot go on at all.
 *
 * Front end and root guard each other: the one that ends here leaves it to the
 * other to end the job and every process of it. */
#ifndef MPIEXEC_LITE_FATAL_H
#define MPIEXEC_LITE_FATAL_H

/* Say why (and errno's text, unless it is 0) on stderr, and _exit with 255.  Uses no
 * memory. */
_Noreturn void fatal(const char *why, int errnum);

/* Make libev's own lack of memory fatal, instead of an abort with a core. */
void fatal_set_allocator(void);

/* For every watcher's callback: revents may say that the descriptor cannot be
 * watched any more (no memory in the kernel). */
void fatal_if_unwatched(int revents);

#endif
