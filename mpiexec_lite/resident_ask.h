/* resident_ask.h - what a person asks of a resident server that runs: lists, and taking a
 * name back.  Blocks, for a few seconds at most. */
#ifndef MPIEXEC_LITE_RESIDENT_ASK_H
#define MPIEXEC_LITE_RESIDENT_ASK_H

#include "wire/err.h"

/* Print the names and the running jobs that may be seen, as tables.  0, or -1 and e. */
int resident_list(const char *socket, struct err *e);
/* owner: a user's name or uid; NULL: one's own. */
int resident_unpublish(const char *socket, const char *name, const char *owner, struct err *e);

#endif
