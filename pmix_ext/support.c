/* support.c - see support.h */
#include "pmix_ext/support.h"

#include "pmix_ext/names.h"
#include "pmix_ext/query.h"
#include "pmix_ext/serve_spawn.h"

#include <string.h>

static bool query_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    *key = query_qualifiers[i].key;
    *type = query_qualifiers[i].type;
    return *key != NULL;
}

void attribute_standard(const char *name, const char **key, pmix_data_type_t *type)
{
    const struct attribute *a = attribute_of_key(name);

    *key = name;
    *type = a ? a->type : PMIX_UNDEF;
}

bool attribute_at(const char *const *keys, size_t i, const char **key, pmix_data_type_t *type)
{
    if (keys[i])
        attribute_standard(keys[i], key, type);
    return keys[i] != NULL;
}

const struct function_support functions_supported[] = {
    { "PMIx_Query_info", query_attribute },
    { "PMIx_Query_info_nb", query_attribute },
    { "PMIx_Get", get_attribute }, { "PMIx_Get_nb", get_attribute },
    { "PMIx_Fence", fence_attribute }, { "PMIx_Fence_nb", fence_attribute },
    { "PMIx_Publish", publish_attribute }, { "PMIx_Publish_nb", publish_attribute },
    { "PMIx_Lookup", lookup_attribute }, { "PMIx_Lookup_nb", lookup_attribute },
    { "PMIx_Unpublish", publish_attribute }, { "PMIx_Unpublish_nb", publish_attribute },
    { "PMIx_Spawn", spawn_attribute }, { "PMIx_Spawn_nb", spawn_attribute },
    { "PMIx_Log", log_attribute }, { "PMIx_Log_nb", log_attribute },
    { "PMIx_Register_event_handler", register_attribute },
    { "PMIx_Notify_event", notify_attribute },
    { "PMIx_Job_control", control_attribute }, { "PMIx_Job_control_nb", control_attribute },
    { "PMIx_Process_monitor", monitor_attribute },
    { "PMIx_Process_monitor_nb", monitor_attribute },
    { "PMIx_IOF_pull", pull_attribute },
    { "PMIx_Allocation_request", alloc_attribute },
    { "PMIx_Allocation_request_nb", alloc_attribute },
    { NULL, NULL }
};

void support_list(const char *function, bool (*pass)(const char *key), struct buf *out)
{
    const struct function_support *f = functions_supported;
    size_t start = out->len;
    pmix_data_type_t type;
    const char *key;

    while (f->name && strcmp(f->name, function))
        f++;
    for (size_t i = 0; f->name && f->attribute(i, &key, &type); i++)
        if (!pass || pass(key))
            buf_printf(out, "%s%s", out->len > start ? "," : "", key);
}
