/* serve_query.c - pmix-query: what runs here.  (PMIx standard, "Query".) */
#include "pmix_ext/serve.h"

#include <string.h>

/* PMIX_QUERY_NAMESPACES: a comma-separated list. */
static json_t *namespaces(struct ext *x)
{
    struct buf list = BUF_INIT;
    json_t *text = NULL;
    const char *id;
    int size;

    for (size_t i = 0; (id = x->ops.job(x->host, i, &size)); i++)
        buf_printf(&list, "%s%s", i ? "," : "", id);
    if (!list.failed)
        text = json_string(list.len ? buf_bytes(&list) : "");
    buf_clear(&list);
    return text;
}

enum outcome ext_query(struct request *rq, struct err *e)
{
    struct ext *x = ext_of(rq);
    json_error_t why;
    json_t *queries = json_loadb(rq->arg[0].s, rq->arg[0].len, 0, &why), *results, *q;
    size_t i;

    if (!queries)
        return ext_fail(rq, e, -27, "queries: %s", why.text);
    results = json_array();
    json_array_foreach(queries, i, q) {
        json_t *keys = json_object_get(q, "keys"), *key;
        size_t k;

        json_array_foreach(keys, k, key)
            if (json_is_string(key) && !strcmp(json_string_value(key), "pmix.qry.ns"))
                json_array_append_new(results, json_pack("{s:i, s:s, s:s, s:o}", "query", (int)i,
                                                         "key", "pmix.qry.ns", "type",
                                                         "PMIX_STRING", "value",
                                                         namespaces(x)));
    }
    json_decref(queries);
    return reply_json(rq, 1, results, e);
}
