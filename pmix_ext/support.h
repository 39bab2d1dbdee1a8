/* support.h - which attributes the functions of the PMIx standard take here: answered to
 * tools that ask before they rely on one.
 *
 * Each function lists the rows of the very table by which its command reads its infos. */
#ifndef PMIX_EXT_SUPPORT_H
#define PMIX_EXT_SUPPORT_H

#include "pmix_ext/directives.h"
#include "wire/buf.h"

#include <stdbool.h>

/* The i-th attribute: its key and type; false: there are no more. */
typedef bool attribute_fn(size_t i, const char **key, pmix_data_type_t *type);

struct function_support {
    const char   *name;          /* "PMIx_Query_info"; NULL: the end */
    attribute_fn *attribute;
};
extern const struct function_support functions_supported[];

attribute_fn cleanup_attribute, get_attribute, fence_attribute, publish_attribute, lookup_attribute,
    spawn_attribute, log_attribute, register_attribute, notify_attribute, control_attribute,
    monitor_attribute, pull_attribute, alloc_attribute;

/* One that is known by its key alone: of the type that the standard gives it. */
void attribute_standard(const char *name, const char **key, pmix_data_type_t *type);
/* The i-th of a list of such keys, which NULL ends; false: there are no more. */
bool attribute_at(const char *const *keys, size_t i, const char **key, pmix_data_type_t *type);

/* Append the keys that a function takes, with commas: all, or those that pass (may be
 * NULL). */
void support_list(const char *function, bool (*pass)(const char *key), struct buf *out);

#endif
