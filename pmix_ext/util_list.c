/* util_list.c - lists of infos that grow; see pmix_ext_values.h. */
#include "pmix_ext/pmix_ext.h"
#include "pmix_ext/value.h"

struct info_list {
    pmix_info_t *info;       /* owned, and so are their values */
    size_t       n, room;
};

void *PMIx_Info_list_start(void)
{
    return calloc(1, sizeof(struct info_list));
}

/* The place of one more, which counts once l->n says so; NULL if there is no memory. */
static pmix_info_t *next(struct info_list *l)
{
    size_t room = l->room ? 2 * l->room : 8;
    pmix_info_t *more;

    if (l->n < l->room)
        return &l->info[l->n];
    more = realloc(l->info, room * sizeof *more);
    if (!more)
        return NULL;
    l->info = more;
    l->room = room;
    return &more[l->n];
}

pmix_status_t PMIx_Info_list_add(void *ptr, const char *key, const void *value,
                                 pmix_data_type_t type)
{
    struct info_list *l = ptr;
    pmix_info_t *info = l ? next(l) : NULL;
    pmix_status_t rc;

    if (!l)
        return PMIX_ERR_BAD_PARAM;
    if (!info)
        return PMIX_ERR_NOMEM;
    rc = PMIx_Info_load(info, key, value, type);
    l->n += rc == PMIX_SUCCESS;
    return rc;
}

pmix_status_t PMIx_Info_list_insert(void *ptr, pmix_info_t *info)
{
    struct info_list *l = ptr;
    pmix_info_t *place = l ? next(l) : NULL;

    if (!l || !info)
        return PMIX_ERR_BAD_PARAM;
    if (!place)
        return PMIX_ERR_NOMEM;
    *place = *info;
    l->n++;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Info_list_xfer(void *ptr, const pmix_info_t *info)
{
    struct info_list *l = ptr;
    pmix_info_t *place = l ? next(l) : NULL;
    pmix_status_t rc;

    if (!l || !info)
        return PMIX_ERR_BAD_PARAM;
    if (!place)
        return PMIX_ERR_NOMEM;
    rc = PMIx_Info_xfer(place, info);
    l->n += rc == PMIX_SUCCESS;
    return rc;
}

pmix_status_t PMIx_Info_list_convert(void *ptr, pmix_data_array_t *par)
{
    const struct info_list *l = ptr;
    struct err e;

    if (!l || !par)
        return PMIX_ERR_BAD_PARAM;
    PMIx_Data_array_init(par, PMIX_INFO);
    if (!l->n)
        return PMIX_ERR_EMPTY;
    if (value_copy_array(PMIX_INFO, l->info, l->n, &par->array, &e) < 0)
        return e.code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_BAD_PARAM;
    par->size = l->n;
    return PMIX_SUCCESS;
}

void PMIx_Info_list_release(void *ptr)
{
    struct info_list *l = ptr;

    if (!l)
        return;
    value_free_array(PMIX_INFO, l->info, l->n);
    free(l);
}
