/* hold_text.c - see hold_text.h */
#include "pmix_ext/hold_text.h"

#include "pmix_ext/pmix_ext_keys.h"

#include <string.h>

static const struct { const char *key, *place; } places[] = {
    { PMIX_DEBUG_STOP_ON_EXEC, "exec" }, { PMIX_DEBUG_STOP_IN_INIT, "init" },
    { PMIX_DEBUG_STOP_IN_APP, "app" },
};
enum { PLACES = sizeof places / sizeof *places };

const char *hold_place_of(const char *key)
{
    for (size_t i = 0; i < PLACES; i++)
        if (!strcmp(places[i].key, key))
            return places[i].place;
    return NULL;
}

const char *hold_key_of(const char *place, size_t n)
{
    for (size_t i = 0; i < PLACES; i++)
        if (strlen(places[i].place) == n && !memcmp(places[i].place, place, n))
            return places[i].key;
    return NULL;
}

bool hold_is_ranks(pmix_data_type_t type)
{
    return type == PMIX_PROC_RANK || type == PMIX_PROC || type == PMIX_DATA_ARRAY;
}

/* One more of them: a wildcard is all, and stands alone. */
static bool add_rank(struct buf *out, pmix_rank_t rank, size_t before)
{
    if (rank == PMIX_RANK_WILDCARD)
        return before == 0;
    buf_printf(out, "%c%u", before ? ',' : ':', rank);
    return rank <= PMIX_RANK_VALID;
}

/* Processes say their job, too, which has no name yet when it is started: it does not count. */
static bool add_array(struct buf *out, const pmix_data_array_t *a)
{
    const pmix_proc_t *procs = a ? a->array : NULL;
    const pmix_rank_t *ranks = a ? a->array : NULL;
    bool good = a && a->size && (a->type == PMIX_PROC || a->type == PMIX_PROC_RANK);

    for (size_t i = 0; good && i < a->size; i++)
        good = add_rank(out, a->type == PMIX_PROC ? procs[i].rank : ranks[i], i);
    return good;
}

bool hold_text(const char *place, const pmix_value_t *v, struct buf *out)
{
    if (v->type == PMIX_BOOL && !v->data.flag)
        return true;
    buf_str(out, place);
    switch (v->type) {
    case PMIX_PROC_RANK:
        return add_rank(out, v->data.rank, 0);
    case PMIX_PROC:
        return v->data.proc && add_rank(out, v->data.proc->rank, 0);
    case PMIX_DATA_ARRAY:
        return add_array(out, v->data.darray);
    default:
        return v->type == PMIX_BOOL || v->type == PMIX_UNDEF;
    }
}
