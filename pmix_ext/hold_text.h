/* hold_text.h - where the ranks of a job that is started wait for a debugger, as its infos say it
 * (PMIX_DEBUG_STOP_ON_EXEC, ..._IN_INIT, ..._IN_APP) and as the launcher's option -hold does:
 * "exec", "init" or "app", with ":0,3-5" behind it if they are not all.  No I/O; thread-safe. */
#ifndef PMIX_EXT_HOLD_TEXT_H
#define PMIX_EXT_HOLD_TEXT_H

#include "pmix_ext/pmix_ext_common.h"
#include "wire/buf.h"

#include <stdbool.h>

/* The place of one of these keys, or NULL: it is another. */
const char *hold_place_of(const char *key);
/* And the key of a place, of n bytes; or NULL: there is no such place. */
const char *hold_key_of(const char *place, size_t n);

/* Whether a value of this type says some ranks, in place of a bool. */
bool hold_is_ranks(pmix_data_type_t type);
/* Append the text; nothing if the value is false.  False: it is no bool, rank or process, nor
 * an array of those. */
bool hold_text(const char *place, const pmix_value_t *v, struct buf *out);

#endif
