/* alloc.h - an allocation of our own (-alloc): we become the command of a salloc, which
 * waits for the nodes, and gives them back when we end. */
#ifndef MPIEXEC_LITE_ALLOC_H
#define MPIEXEC_LITE_ALLOC_H

#include "mpiexec_lite/plan.h"

/* Add the words of salloc for "N[:TIME][,OPTION=VALUE]...".  0, or -1 and e.  No I/O. */
int alloc_words(const char *text, struct strlist *out, struct err *e);
/* Execute salloc for this plan, with the same command line.  -1 and e: it cannot be. */
int alloc_run(const struct plan *p, char *const *argv, struct err *e);

#endif
