/* lib_server.h - what a host of a server asks of set-up providers (RFC0012).
 *
 * Providers are started and watched by a process of our own behind the library, one for each
 * step of a job (a helper: `mpiexec_lite --host-providers`; mpiexec_lite/hook_host.h has the
 * lines).  A helper has a thread here that reads its answers; what a caller is told is told
 * by the callback thread, which also takes leave of the helper when that has ended. */
#ifndef PMIX_EXT_LIB_SERVER_H
#define PMIX_EXT_LIB_SERVER_H

#include "pmix_ext/lib.h"
#include "pmix_ext/pmix_ext_server.h"

struct helper {
    LIST_ENTRY(helper) in_lib;
    pmix_nspace_t   nspace;
    bool            local;           /* setup-local; else setup-application */
    int             fd;              /* owned */
    pthread_t       reader;
    unsigned        users;           /* calls that are at it; under lib.lock */
    pthread_mutex_t asking;          /* held by who writes a line, until it is answered */

    pthread_mutex_t lock;            /* of these */
    pthread_cond_t  came;
    bool            ready, over;
    json_t         *answer;          /* owned: to the line that was written; NULL: none yet */

    struct note     said;            /* ready or failed, once */
    bool            settled;         /* it was; the reader's alone */
    pmix_status_t   status;
    pmix_info_t    *infos;           /* owned until they are handed out */
    size_t          ninfos;
    pmix_setup_application_cbfunc_t on_application;
    pmix_op_cbfunc_t on_local;
    void           *cbdata;

    struct note     ended;           /* the process has; under lib.lock: */
    pmix_op_cbfunc_t on_end;         /* NULL: nobody waits */
    void           *end_data;
};

/* Start one with its first line, which is taken; h has nspace, local and who is to be told.
 * It is the list's then.  PMIX_SUCCESS; or (PMIX_ERR_EXISTS: the
 * job has been set up here) nobody will be told, and h is the caller's. */
pmix_status_t helper_start(struct helper *h, json_t *request);
/* The one that sets up a job's ranks here, or NULL; to be dropped. */
struct helper *helper_find(const char *nspace);
void           helper_drop(struct helper *h);
bool           helper_is_ready(struct helper *h);
/* Write a line, which is taken, and wait for its answer; NULL: it has ended.  To be freed. */
json_t *helper_ask(struct helper *h, json_t *line);
/* The same without an answer. */
void    helper_tell(struct helper *h, json_t *line);
/* The job is over here; on_end (may be NULL) is called when all is done.  false: it is known
 * already, and on_end is not taken. */
bool    helper_end(struct helper *h, pmix_op_cbfunc_t on_end, void *cbdata);
/* End all, and wait until they have. */
void    helpers_end(void);

#endif
