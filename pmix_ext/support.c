/* support.c - see support.h */
#include "pmix_ext/support.h"

#include "pmix_ext/query.h"
#include "pmix_ext/serve_spawn.h"

#include <string.h>

static bool query_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    *key = query_qualifiers[i].key;
    *type = query_qualifiers[i].type;
    return *key != NULL;
}

const struct function_support functions_supported[] = {
    { "PMIx_Get", .rules = get_rules }, { "PMIx_Get_nb", .rules = get_rules },
    { "PMIx_Fence", .rules = fence_rules }, { "PMIx_Fence_nb", .rules = fence_rules },
    { "PMIx_Publish", .rules = publish_rules }, { "PMIx_Publish_nb", .rules = publish_rules },
    { "PMIx_Lookup", .rules = lookup_rules }, { "PMIx_Lookup_nb", .rules = lookup_rules },
    { "PMIx_Query_info", .attribute = query_attribute },
    { "PMIx_Query_info_nb", .attribute = query_attribute },
    { "PMIx_Spawn", .attribute = spawn_attribute },
    { "PMIx_Spawn_nb", .attribute = spawn_attribute },
    { .name = NULL }
};

bool support_attribute(const struct function_support *f, size_t i, const char **key,
                       pmix_data_type_t *type)
{
    if (f->attribute)
        return f->attribute(i, key, type);
    *key = f->rules[i].key;
    *type = f->rules[i].type;
    return *key != NULL;
}

void support_list(const char *function, bool (*pass)(const char *key), struct buf *out)
{
    const struct function_support *f = functions_supported;
    size_t start = out->len;
    pmix_data_type_t type;
    const char *key;

    while (f->name && strcmp(f->name, function))
        f++;
    for (size_t i = 0; f->name && support_attribute(f, i, &key, &type); i++)
        if (!pass || pass(key))
            buf_printf(out, "%s%s", out->len > start ? "," : "", key);
}
