/* explain.h - --explain: what a command line would run, where and why, without starting any
 * of it.
 *
 * The answer is one JSON object (its members: mpiexec_lite(1), EXPLAIN); the text is made
 * from it.  Time and memory grow with hosts, programs and settings, not with ranks. */
#ifndef MPIEXEC_LITE_EXPLAIN_H
#define MPIEXEC_LITE_EXPLAIN_H

#include "wire/err.h"

#include <stdio.h>

/* The words, which are good, are read again, noting who says what.  envp: ours.  0, or the
 * exit status and e. */
int explain_run(int argc, char **argv, char *const *envp, FILE *out, struct err *e);

#endif
