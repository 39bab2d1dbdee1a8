/* words.h - what the numbers of the enumerations are called: their names in the standard,
 * but for ranks and flags, whose words are also the wire's (PROTOCOL.md, "Values").
 * Where one number has several names, the first is the one in use. */
#ifndef PMIX_EXT_WORDS_H
#define PMIX_EXT_WORDS_H

#include "pmix_ext/types.h"

extern const struct word words_status[], words_rank[], words_flags[], words_scope[],
    words_range[], words_persist[], words_proc_state[], words_job_state[], words_alloc[],
    words_link_state[], words_iof[];

#endif
