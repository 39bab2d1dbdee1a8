/* spawn_planned.h - daemons that are described together with the job that they are for, and started
 * beside it once that runs: in the directives for a launcher that waits (LITE_DAEMONS), for the job
 * of its command line; or as apps of a spawn that are marked PMIX_DEBUGGER_DAEMONS. */
#ifndef PMIX_EXT_SPAWN_PLANNED_H
#define PMIX_EXT_SPAWN_PLANNED_H

#include "pmix_ext/directives.h"

#include <sys/queue.h>

struct ext;
struct session;

struct planned;
TAILQ_HEAD(plans, planned);
#define PLANS_INIT(p) TAILQ_HEAD_INITIALIZER(p)

/* Add those that one of the directives describes; other directives are passed over.  The status,
 * and e if it is not PMIX_SUCCESS; *to is to be cleared either way. */
pmix_status_t planned_take(const pmix_info_t *info, const struct session *owner, struct plans *to,
                           struct err *e);
/* The same of such apps of a spawn; those of the job itself go to rest, which has room for n, and
 * borrows: *nrest. */
pmix_status_t planned_split(const pmix_app_t *apps, size_t n, const struct session *owner,
                            struct plans *to, pmix_app_t *rest, size_t *nrest, struct err *e);
void planned_clear(struct plans *plans);
/* Behind those of *to; *from is empty then. */
void planned_move(struct plans *to, struct plans *from);
/* Whether a job is that of the launcher's command line. */
bool planned_is_main(struct ext *x, const char *job);
/* Forget those behind this one; NULL: all. */
void planned_take_back(struct ext *x, struct planned *last);
/* All ranks of a job are started: those of the layer, if it is the launcher's; or these. */
void planned_start(struct ext *x, const char *job);
void planned_start_all(struct ext *x, struct plans *plans, const char *job);
/* That tool is gone: only those that are to outlive it are started. */
void planned_forget(const struct session *s, struct plans *plans);

#endif
