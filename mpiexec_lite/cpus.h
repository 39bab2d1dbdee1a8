/* cpus.h - sets of processors, by the system's numbers, and how they are written: 0,2-5.
 * Pure. */
#ifndef MPIEXEC_LITE_CPUS_H
#define MPIEXEC_LITE_CPUS_H

#include "wire/buf.h"

#include <sched.h>
#include <stdbool.h>

enum { CPUS_MAX = 8192 };                /* as the kernel can be built for */

struct cpus {                            /* a set, for the CPU_..._S macros */
    cpu_set_t part[CPUS_MAX / CPU_SETSIZE];
};

bool cpus_has(const struct cpus *s, int cpu);
void cpus_add(struct cpus *s, int cpu);
int  cpus_count(const struct cpus *s);
void cpus_keep(struct cpus *s, const struct cpus *of);   /* what is in both */
void cpus_join(struct cpus *s, const struct cpus *more);
bool cpus_meet(const struct cpus *a, const struct cpus *b);

/* Numbers and ranges, joined by that character, up to another one: *at moves there.
 * False: it is no such list. */
bool cpus_take(const char **at, char joint, struct cpus *out);
/* All of a text is numbers and ranges, joined by commas. */
bool cpus_read(const char *text, struct cpus *out);
void cpus_print(const struct cpus *s, struct buf *out);

/* The processors that this process may use.  0, or -1 and e. */
int  cpus_allowed(struct cpus *out, struct err *e);

#endif
