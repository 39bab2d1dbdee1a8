/* quota.h - how much of a processor time cgroups allow this process: cpu.max of cgroups 2,
 * cpu.cfs_quota_us of cgroups 1, of its own group and all above. */
#ifndef MPIEXEC_LITE_QUOTA_H
#define MPIEXEC_LITE_QUOTA_H

/* In processors, rounded up; 0: as many as there are.  own: what has the place of
 * /proc/self/cgroup; mount: of /sys/fs/cgroup. */
int quota_processors(const char *own, const char *mount);

/* The processors that this process can really keep busy: those that it may run on, or
 * fewer by quota; 1 and up. */
int usable_processors(void);

#endif
