/* explain.h - --explain: what a command line would run, where and why, without starting any
 * of it.
 *
 * The answer is one JSON object (its members: mpiexec_lite(1), EXPLAIN); the text is made
 * from it.  Time and memory grow with hosts, programs and settings, not with ranks. */
#ifndef MPIEXEC_LITE_EXPLAIN_H
#define MPIEXEC_LITE_EXPLAIN_H

#include "mpiexec_lite/plan.h"
#include "mpiexec_lite/said.h"

#include <stdio.h>

/* Whether -explain is among the words (of the launcher, or of a program: it may be for
 * nothing), so that who says what is to be noted from the first one on. */
bool explain_is_asked(char *const *words);
/* said: as noted when p was read.  envp: ours.  0, or the exit status and e. */
int explain_run(const struct plan *p, const struct said *said, char *const *envp, FILE *out,
                struct err *e);

#endif
