/* spawn_env.h - changes of the environment that a spawn asks for by info keys.
 *
 *     env-unset    NAME               it is not there
 *     env-set      :NAME=VALUE        whatever it was
 *     env-add      :NAME=VALUE        unless it is there
 *     env-prepend  :NAME=VALUE        VALUE:old
 *     env-append   :NAME=VALUE        old:VALUE
 *     env-first    :NAME=VALUE        VALUE:old, and no second VALUE in old
 *     env-own      NAME=VALUE         of this command, whatever the others say
 *
 * The sign in front is what parts old from new.  They are made in the order of this list,
 * prepend, append and first as they come.  What the launcher sets itself stays as it is.
 * Pure; thread-safe. */
#ifndef MPIEXEC_LITE_SPAWN_ENV_H
#define MPIEXEC_LITE_SPAWN_ENV_H

#include "mpiexec_lite/plan.h"
#include "pmi2/spawn.h"

/* 0, or -1 and e. */
int spawn_env_change(struct strlist *env, const struct spawn_pairs *info, struct err *e);
bool spawn_env_key(const char *key);     /* is one of these */

#endif
