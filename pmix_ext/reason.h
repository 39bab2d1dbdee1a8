/* reason.h - why a call of the library has failed, in words: those of the server's reply, or of
 * what was tried before one was asked.  The standard's calls answer a number alone; pmix_tool
 * shows people both. */
#ifndef PMIX_EXT_REASON_H
#define PMIX_EXT_REASON_H

#include "pmix_ext/pmix_ext_common.h"

#include <stddef.h>

/* Of the last call of this thread, if that has answered this status; else "".  In a callback it
 * is of the call that calls back.  Valid until the thread's next call. */
const char *reason_of(pmix_status_t status);
/* A call begins (PMIX_SUCCESS), or has ended with this status, for this reason ("": none is
 * known). */
void        reason_keep(pmix_status_t status, const char *text);

#endif
