/* serve_spawn.h - from PMIx's apps and infos to what a spawn of PMI asks for. */
#ifndef PMIX_EXT_SERVE_SPAWN_H
#define PMIX_EXT_SERVE_SPAWN_H

#include "pmi2/spawn.h"
#include "pmix_ext/directives.h"

/* Add the apps to *want, which is to be cleared either way; infos are for all of them.  The
 * status, and e if it is not PMIX_SUCCESS.  Pure; thread-safe. */
pmix_status_t spawn_translate(const struct infos *infos, const pmix_app_t *apps, size_t n,
                              struct spawn_request *want, struct err *e);

/* Of infos alone, as pairs of a command that has no program. */
pmix_status_t spawn_directives(const pmix_info_t *infos, size_t n, struct spawn_command *c,
                               struct err *e);

/* Channels (PMIX_FWD_) that the caller wants to read along, as infos of the job say, which
 * spawn_translate has taken. */
unsigned spawn_forwards(const struct infos *infos);

#endif
