/* hwloc_child.h - the process that asks hwloc.
 *
 * hwloc takes tens of milliseconds and loads plugins of others, which may hang or crash;
 * so a child does it, which alone opens the library, and which has a time limit. */
#ifndef MPIEXEC_LITE_HWLOC_CHILD_H
#define MPIEXEC_LITE_HWLOC_CHILD_H

#include <stddef.h>
#include <sys/types.h>

enum {
    HWLOC_CHILD_WHY = 200,               /* bytes of a reason, NUL included */
    HWLOC_CHILD_PATIENCE = 10            /* seconds */
};

/* Write the result to descriptor out.  NULL, or why not; what is allocated goes with the
 * process. */
typedef const char *hwloc_child_work(int out, const void *arg);

/* In a child of `parent`: do the work, then write one byte '+' to say, or instead of it
 * why that did not work. */
_Noreturn void hwloc_child_run(int out, int say, pid_t parent, hwloc_child_work *work,
                               const void *arg);
/* 0, or -1 with errno. */
int hwloc_child_write(int fd, const char *data, size_t len);

#endif
