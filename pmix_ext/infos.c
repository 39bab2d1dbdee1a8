/* infos.c - see infos.h */
#include "pmix_ext/infos.h"

#include "pmix_ext/value.h"

#include <string.h>

int infos_take(struct infos *x, const char *text, size_t len, const char *what, struct err *e)
{
    void *v = NULL;

    *x = (struct infos){ NULL, 0 };
    if (text && value_decode_array(PMIX_INFO, text, len, what, &v, &x->n, e) < 0)
        return -1;
    x->v = v;
    return 0;
}

void infos_clear(struct infos *x)
{
    value_free_array(PMIX_INFO, x->v, x->n);
    *x = (struct infos){ NULL, 0 };
}

const pmix_info_t *info_find(const struct infos *x, const char *key)
{
    for (size_t i = 0; i < x->n; i++)
        if (!strcmp(x->v[i].key, key))
            return &x->v[i];
    return NULL;
}

bool info_is_true(const pmix_info_t *info)
{
    return info->value.type == PMIX_UNDEF ||
           (info->value.type == PMIX_BOOL && info->value.data.flag);
}

bool infos_say(const struct infos *x, const char *key)
{
    const pmix_info_t *info = info_find(x, key);

    return info && info_is_true(info);
}

/* Any integer as a wide one; false: it is none, or too large to be one. */
static bool widen(const pmix_value_t *v, long long *out)
{
    switch (v->type) {
    case PMIX_INT:    *out = v->data.integer; return true;
    case PMIX_INT8:   *out = v->data.int8; return true;
    case PMIX_INT16:  *out = v->data.int16; return true;
    case PMIX_INT32:  *out = v->data.int32; return true;
    case PMIX_INT64:  *out = v->data.int64; return true;
    case PMIX_UINT:   *out = v->data.uint; return true;
    case PMIX_UINT8:  *out = v->data.uint8; return true;
    case PMIX_UINT16: *out = v->data.uint16; return true;
    case PMIX_UINT32: *out = v->data.uint32; return true;
    case PMIX_UINT64: *out = (long long)v->data.uint64; return v->data.uint64 <= INT64_MAX;
    default: return false;
    }
}

int info_number(const pmix_info_t *info, long long min, long long max, long long *out,
                struct err *e)
{
    if (!widen(&info->value, out))
        return err_set(e, ERR_INVALID_VAL, "%s is no integer", info->key);
    if (*out < min || *out > max)
        return err_set(e, ERR_INVALID_VAL, "%s: %lld is not within %lld..%lld", info->key, *out,
                       min, max);
    return 0;
}

const char *info_text(const pmix_info_t *info, struct err *e)
{
    if (info->value.type == PMIX_STRING && info->value.data.string && *info->value.data.string)
        return info->value.data.string;
    err_set(e, ERR_INVALID_VAL, "%s is no text", info->key);
    return NULL;
}

int info_procs(const pmix_info_t *info, const pmix_proc_t **procs, size_t *n, struct err *e)
{
    const pmix_value_t *v = &info->value;

    if (v->type == PMIX_PROC && v->data.proc) {
        *procs = v->data.proc;
        *n = 1;
        return 0;
    }
    if (v->type != PMIX_DATA_ARRAY || !v->data.darray || v->data.darray->type != PMIX_PROC)
        return err_set(e, ERR_INVALID_VAL, "%s is neither a process nor an array of them",
                       info->key);
    *procs = v->data.darray->array;
    *n = v->data.darray->size;
    return 0;
}

const pmix_info_t *infos_unknown(const struct infos *x, const char *const *known)
{
    for (size_t i = 0; i < x->n; i++) {
        size_t k = 0;

        if (!(x->v[i].flags & PMIX_INFO_REQD))
            continue;
        while (known[k] && strcmp(known[k], x->v[i].key))
            k++;
        if (!known[k])
            return &x->v[i];
    }
    return NULL;
}
