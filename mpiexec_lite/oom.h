/* oom.h - was a process killed because memory ran out?  What the kernel says of it: its log,
 * where that can be read, and how often it has killed in our control group (memory.events of
 * cgroup v2, memory.oom_control of v1; Documentation/admin-guide/cgroup-v2.rst). */
#ifndef MPIEXEC_LITE_OOM_H
#define MPIEXEC_LITE_OOM_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

struct oom {
    char path[PATH_MAX];     /* of the file with the count; "": there is none */
    long kills;              /* when it was looked at first */
};

/* Look at the control group of this process.  list is /proc/self/cgroup, mount /sys/fs/cgroup
 * (others in tests). */
void oom_begin(struct oom *o, const char *list, const char *mount);
/* What speaks for it that this process, which was killed (SIGKILL), was killed so, as words
 * for the user; "": nothing. */
void oom_evidence(const struct oom *o, pid_t pid, char *text, size_t size);

#endif
