/* binding.h - the processors that processes of a job run on: what can be asked for, and
 * who gets which on this machine.
 *
 *     none       those that the launcher may use; so it is if nothing is said
 *     core       a core each, with all its hardware threads
 *     hwthread   a hardware thread each, core by core
 *     socket     a socket each, with all its cores
 *     numa       a NUMA node each
 *     rr         a processor each, in the order of the system's numbers
 *     user:LIST  what is listed: 0,2,4-7,1+9 is four sets of processors
 *
 * Processes of a job on a host take turns, from the first on.  Nobody gets a processor
 * that the launcher may not use.  Linux tells who is together (/sys/devices/system/cpu). */
#ifndef MPIEXEC_LITE_BINDING_H
#define MPIEXEC_LITE_BINDING_H

#include "wire/err.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

enum { CPUS_MAX = 8192 };                /* as the kernel can be built for */

struct cpus {                            /* a set, for the CPU_..._S macros */
    cpu_set_t part[CPUS_MAX / CPU_SETSIZE];
};
struct binding {
    struct cpus *sets;                   /* owned */
    size_t       n, cap;                 /* n 0: nobody is bound */
};

/* Whether a text is one of these. */
bool binding_is_known(const char *how);
/* The processors that this process may use.  0, or -1 and e. */
int  binding_allowed(struct cpus *out, struct err *e);
/* The sets that processes get, of the allowed ones.  system: the folder where Linux tells
 * of processors.  0, or -1 and e: the machine does not tell, none is left, or no memory;
 * b is to be cleared either way. */
int  binding_init(struct binding *b, const char *how, const char *system,
                  const struct cpus *allowed, struct err *e);
void binding_clear(struct binding *b);
/* The one of a process, by its number among those of its job here; NULL: it is not bound. */
const struct cpus *binding_of(const struct binding *b, int local_rank);

#define BINDING_SYSTEM "/sys/devices/system/cpu"

#endif
