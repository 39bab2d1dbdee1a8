/* names.h - what the standard's statuses and attributes are called and mean: the tables
 * statuses.def and attributes.def, from which PMIx_Error_string and PMIx_Get_attribute_*
 * (pmix_ext.h) answer as well.  Constant, thread-safe. */
#ifndef PMIX_EXT_NAMES_H
#define PMIX_EXT_NAMES_H

#include "pmix_ext/pmix_ext_common.h"

struct attribute {
    char name[40];           /* "PMIX_JOB_SIZE".  No pointers: they would be relocated at */
    char key[32];            /* "pmix.job.size"   every start, of programs that ask for none */
    pmix_data_type_t type;   /* of its value; PMIX_UNDEF: it varies */
};

/* What a status means, for people ("not permitted"); NULL if nobody knows it. */
const char *status_meaning(pmix_status_t status);

/* The attribute of that name or key, or NULL.  Of several names of one key, the one in
 * use. */
const struct attribute *attribute_named(const char *name);
const struct attribute *attribute_of_key(const char *key);

#endif
