/* lib_reason.c - see reason.h */
#include "pmix_ext/reason.h"

#include "wire/err.h"

/* As errno is: each thread's own. */
static _Thread_local struct { pmix_status_t status; struct err why; } last;

void reason_keep(pmix_status_t status, const char *text)
{
    last.status = status;
    err_set(&last.why, ERR_NONE, "%s", text);
}

const char *reason_of(pmix_status_t status)
{
    return last.status == status ? last.why.text : "";
}
