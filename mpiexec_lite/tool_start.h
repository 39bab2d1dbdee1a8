/* tool_start.h - become a tool, which starts the launcher again (-tool): RFC0023's indirect
 * launch, as "TOOL mpiexec_lite ..." is. */
#ifndef MPIEXEC_LITE_TOOL_START_H
#define MPIEXEC_LITE_TOOL_START_H

#include "mpiexec_lite/plan.h"

/* The variable that tells the launcher the tool's pid: it waits for no other, and no longer than
 * that lives. */
#define TOOL_START_PID "PMIX_LITE_TOOL_PID"

/* p->tool, its words, the launcher, and what else argv has.  It returns only with -1 and e. */
int tool_start(const struct plan *p, char *const *argv, struct err *e);

#endif
