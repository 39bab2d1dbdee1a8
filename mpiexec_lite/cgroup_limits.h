/* cgroup_limits.h - what the cgroups of this process (of either version) let it have: of its
 * own and all above, the narrowest. */
#ifndef MPIEXEC_LITE_CGROUP_LIMITS_H
#define MPIEXEC_LITE_CGROUP_LIMITS_H

struct cgroup_limits {           /* each -1: no limit */
    long long memory;            /* bytes */
    long long pids;              /* that may be added */
    double    cpus;              /* processors' time */
};

/* own: what has the place of /proc/self/cgroup; mount: of /sys/fs/cgroup. */
void cgroup_limits_read(struct cgroup_limits *to, const char *own, const char *mount);

#endif
