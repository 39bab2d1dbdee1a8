/* info_array.c - the keys of info.h whose value is an array of infos: all that the others say
 * of a rank, a program, a node, a job, or of the session. */
#include "pmix_ext/info_impl.h"

#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

/* What the rest is about comes first, as the standard wants it.  (Of the session there is one
 * alone, which has no number.) */
static const char *const heads[INFO_REALMS] = {
    [INFO_RANK] = PMIX_RANK, [INFO_APP] = PMIX_APPNUM, [INFO_NODE] = PMIX_NODEID,
    [INFO_JOB] = PMIX_NSPACE, [INFO_SESSION] = PMIX_USERID
};

/* Append what the key says, if it says something. */
static pmix_status_t add(struct ext *x, const struct info_of *of, const char *key,
                         pmix_data_array_t *to)
{
    pmix_info_t *info = (pmix_info_t *)to->array + to->size;
    pmix_status_t status = info_get(x, of, key, &info->value);

    if (status == PMIX_SUCCESS) {
        strncpy(info->key, key, sizeof info->key - 1);
        to->size++;
    }
    return status == PMIX_ERR_NOT_FOUND ? PMIX_SUCCESS : status;
}

static pmix_status_t all_of(struct ext *x, const struct info_of *of, enum info_realm realm,
                            pmix_value_t *v)
{
    struct info_of what = *of;
    pmix_data_array_t *a = calloc(1, sizeof *a);
    pmix_status_t status = PMIX_ERR_NOMEM;
    size_t n = 0;

    while (info_keys[n].key)
        n++;
    if (a && (a->array = calloc(n, sizeof(pmix_info_t)))) {
        a->type = PMIX_INFO;
        what.realm = realm;
        status = add(x, &what, heads[realm], a);
    }
    for (const struct info_key *k = info_keys; k->key && status == PMIX_SUCCESS; k++)
        if ((k->realms & 1u << realm) && k->type != PMIX_DATA_ARRAY && strcmp(k->key, heads[realm]))
            status = add(x, &what, k->key, a);
    v->type = PMIX_DATA_ARRAY;
    v->data.darray = a;
    if (status != PMIX_SUCCESS)
        value_clear(PMIX_VALUE, v);
    return status;
}

pmix_status_t info_get_rank_array(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    return all_of(x, of, INFO_RANK, v);
}

pmix_status_t info_get_app_array(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    return all_of(x, of, INFO_APP, v);
}

pmix_status_t info_get_node_array(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    return all_of(x, of, INFO_NODE, v);
}

pmix_status_t info_get_job_array(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    return all_of(x, of, INFO_JOB, v);
}

pmix_status_t info_get_session_array(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    return all_of(x, of, INFO_SESSION, v);
}
