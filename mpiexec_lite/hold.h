/* hold.h - where ranks wait for a debugger, and which of them: read from a text, asked of a
 * plan.  No I/O. */
#ifndef MPIEXEC_LITE_HOLD_H
#define MPIEXEC_LITE_HOLD_H

#include "mpiexec_lite/plan.h"

/* "exec", "init" or "app", and ":RANKS" (rank_list.h) behind it if they are not all.  The plan
 * has it then.  0, or -1 and e. */
int  hold_read(struct plan *p, const char *text, struct err *e);
/* Nobody waits. */
void hold_drop(struct plan *p);
/* Whether that rank waits there. */
bool hold_has(const struct plan *p, enum hold where, int rank);
/* How many of a job of this size wait, wherever. */
int  hold_count(const struct plan *p, int size);
/* Only a tool can let them go on; those that are stopped at exec go on by SIGCONT, too. */
bool hold_needs_tool(const struct plan *p);
/* The place, as PMIX_BREAKPOINT names it. */
const char *hold_place(enum hold where);

#endif
