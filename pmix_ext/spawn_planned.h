/* spawn_planned.h - daemons that a tool has described in the directives for a launcher that waits
 * (LITE_DAEMONS): they are started beside the job of its command line, once that runs. */
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
void planned_clear(struct plans *plans);
/* All of them are the layer's from now on; *plans is empty then. */
void planned_keep(struct ext *x, struct plans *plans);
/* Forget those behind this one; NULL: all. */
void planned_take_back(struct ext *x, struct planned *last);
/* All ranks of a job are started. */
void planned_start(struct ext *x, const char *job);
/* That tool is gone: only those that are to outlive it are started. */
void planned_forget(const struct session *s);

#endif
