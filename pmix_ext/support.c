/* support.c - see support.h */
#include "pmix_ext/support.h"

#include "pmix_ext/query.h"

#include <string.h>

static bool query_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    *key = query_qualifiers[i].key;
    *type = query_qualifiers[i].type;
    return *key != NULL;
}

const struct function_support functions_supported[] = {
    { "PMIx_Query_info", query_attribute },
    { "PMIx_Query_info_nb", query_attribute },
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
