/* lib_publish.c - values under names, for others to find; see lib.h */
#include "pmix_ext/lib.h"

#include <stdlib.h>
#include <string.h>

static const struct ask publish_ask = { "pmix-publish", NULL, TAKES_NOTHING, 0, plain_publish };
static const struct ask lookup_ask = { "pmix-lookup", "data", TAKES_LIST, PMIX_PDATA,
                                       plain_lookup };
static const struct ask unpublish_ask = { "pmix-unpublish", NULL, TAKES_NOTHING, 0,
                                          plain_unpublish };

/* --- publish ----------------------------------------------------------- */

/* Of those that are no directives. */
static void note_published(const pmix_info_t *infos, size_t n)
{
    pthread_mutex_lock(&lib.lock);
    for (size_t i = 0; i < n; i++)
        if (strncmp(infos[i].key, "pmix.", 5))
            PMIx_Argv_append_unique_nosize(&lib.published, infos[i].key);
    pthread_mutex_unlock(&lib.lock);
}

static struct op *publish(const pmix_info_t *infos, size_t n)
{
    struct op *op = op_new(&publish_ask);

    if (!op)
        return NULL;
    if (op->status == PMIX_SUCCESS && (!infos || !n))
        op->status = PMIX_ERR_BAD_PARAM;
    op->infos = infos;
    op->ninfos = n;
    op_array(op, "infos", PMIX_INFO, infos, n);
    if (op->status == PMIX_SUCCESS)
        note_published(infos, n);
    return op;
}

pmix_status_t PMIx_Publish(const pmix_info_t info[], size_t ninfo)
{
    return op_run_new(publish(info, ninfo));
}

pmix_status_t PMIx_Publish_nb(const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc,
                              void *cbdata)
{
    return op_post_op(publish(info, ninfo), cbfunc, cbdata);
}

/* --- lookup ------------------------------------------------------------ */

/* keys: NULL at its end; only of unpublish NULL itself. */
static struct op *with_keys(const struct ask *ask, char **keys, const pmix_info_t *infos,
                            size_t n)
{
    struct op *op = op_new(ask);

    if (!op)
        return NULL;
    op->keys = keys;
    op->infos = infos;
    op->ninfos = n;
    if (keys)
        op_strings(op, "keys", keys);
    op_array(op, "infos", PMIX_INFO, infos, n);
    return op;
}

/* Fill in what was found.  How many that are. */
static size_t fill(pmix_pdata_t *data, size_t n, const pmix_pdata_t *found, size_t nfound)
{
    size_t filled = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < nfound; k++)
            if (PMIX_CHECK_KEY(&data[i], found[k].key)) {
                PMIX_VALUE_DESTRUCT(&data[i].value);
                PMIX_PDATA_XFER(&data[i], &found[k]);
                filled++;
                break;
            }
    return filled;
}

pmix_status_t PMIx_Lookup(pmix_pdata_t data[], size_t ndata, const pmix_info_t info[],
                          size_t ninfo)
{
    char **keys;
    pmix_status_t status;
    struct op *op;

    if (!data || !ndata)
        return lib_begun() ? PMIX_ERR_BAD_PARAM : PMIX_ERR_INIT;
    keys = calloc(ndata + 1, sizeof *keys);
    if (!keys)
        return PMIX_ERR_NOMEM;
    for (size_t i = 0; i < ndata; i++)
        keys[i] = data[i].key;
    op = with_keys(&lookup_ask, keys, info, ninfo);
    status = op ? op_run(op) : PMIX_ERR_NOMEM;
    if (op && op->n && fill(data, ndata, op->array, op->n) < ndata && status == PMIX_SUCCESS)
        status = PMIX_ERR_PARTIAL_SUCCESS;
    if (op && !op->n && status == PMIX_SUCCESS)
        status = PMIX_ERR_NOT_FOUND;
    op_free(op);
    free(keys);
    return status;
}

static void deliver_lookup(struct op *op)
{
    op->cb.lookup(op->status, op->array, op->n, op->cbdata);
    op_free(op);
}

pmix_status_t PMIx_Lookup_nb(char **keys, const pmix_info_t info[], size_t ninfo,
                             pmix_lookup_cbfunc_t cbfunc, void *cbdata)
{
    struct op *op;

    if (!cbfunc || !keys || !keys[0])
        return lib_begun() ? PMIX_ERR_BAD_PARAM : PMIX_ERR_INIT;
    op = with_keys(&lookup_ask, keys, info, ninfo);
    if (op)
        op->cb.lookup = cbfunc;
    return op_post(op, deliver_lookup, cbdata);
}

/* --- unpublish --------------------------------------------------------- */

/* What this process has published, and forgets now. */
static char **all_keys(void)
{
    char **keys;

    pthread_mutex_lock(&lib.lock);
    keys = lib.published;
    lib.published = NULL;
    pthread_mutex_unlock(&lib.lock);
    return keys;
}

pmix_status_t PMIx_Unpublish(char **keys, const pmix_info_t info[], size_t ninfo)
{
    char **all = keys ? NULL : all_keys();
    pmix_status_t status = PMIX_SUCCESS;

    if (keys || all || !lib_begun())
        status = op_run_new(with_keys(&unpublish_ask, keys ? keys : all, info, ninfo));
    PMIx_Argv_free(all);
    return status;
}

static void deliver_unpublish(struct op *op)
{
    PMIx_Argv_free(op->more);
    deliver_op(op);
}

pmix_status_t PMIx_Unpublish_nb(char **keys, const pmix_info_t info[], size_t ninfo,
                                pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    char **all = keys ? NULL : all_keys();
    pmix_status_t status;
    struct op *op;

    if (!keys && !all && lib_begun())
        return PMIX_OPERATION_SUCCEEDED;
    op = with_keys(&unpublish_ask, keys ? keys : all, info, ninfo);
    if (op) {
        op->more = all;
        op->cb.op = cbfunc;
    }
    status = op_post(op, deliver_unpublish, cbdata);
    if (status != PMIX_SUCCESS)
        PMIx_Argv_free(all);
    return status;
}
