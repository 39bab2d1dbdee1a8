/* serve_cleanup.h - the directives of pmix-job-control by which a rank says what is to be
 * removed when it, or its job, has ended. */
#ifndef PMIX_EXT_SERVE_CLEANUP_H
#define PMIX_EXT_SERVE_CLEANUP_H

#include "pmix_ext/serve.h"

/* Whether it is one of them. */
bool          cleanup_is(const char *key);
/* Take one; its texts are borrowed from it.  The status, and e. */
pmix_status_t cleanup_take(struct ext_cleanup *c, const pmix_info_t *info, struct err *e);
/* Whether files or folders are named; the others only say how. */
bool          cleanup_asked(const struct ext_cleanup *c);
/* Have it done, for these targets, which are the asker itself or its whole job. */
pmix_status_t cleanup_begin(struct session *s, struct ext_cleanup *c, const pmix_proc_t *targets,
                            size_t n, struct err *e);

#endif
