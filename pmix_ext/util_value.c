/* util_value.c - filling and reading values and infos; see pmix_ext_values.h. */
#include "pmix_ext/pmix_ext.h"
#include "pmix_ext/types.h"
#include "pmix_ext/value.h"

#include <ctype.h>
#include <inttypes.h>
#include <strings.h>

/* The status of what value.h answers. */
static pmix_status_t status_of(int rc, const struct err *e)
{
    if (rc == 0)
        return PMIX_SUCCESS;
    return e->code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_BAD_PARAM;
}

/* --- load ----------------------------------------------------------------------------- */

/* Behind a pointer: a block of its own. */
static pmix_status_t load_behind(const struct type *t, pmix_value_t *val, const void *data)
{
    struct err e;
    int rc;

    val->data.ptr = calloc(1, t->size);
    if (!val->data.ptr)
        return PMIX_ERR_NOMEM;
    if (val->type == PMIX_PROC_NSPACE) {
        /* data is a string, which may be shorter than the type. */
        PMIx_Load_nspace(val->data.ptr, data);
        return PMIX_SUCCESS;
    }
    rc = value_copy(val->type, data, val->data.ptr, &e);
    if (rc < 0) {
        free(val->data.ptr);
        val->data.ptr = NULL;
    }
    return status_of(rc, &e);
}

/* A regular expression is handed in as its text, and kept with its NUL. */
static pmix_status_t load_regex(pmix_value_t *val, const char *text)
{
    val->data.bo.bytes = strdup(text);
    if (!val->data.bo.bytes)
        return PMIX_ERR_NOMEM;
    val->data.bo.size = strlen(text) + 1;
    return PMIX_SUCCESS;
}

static pmix_status_t load_data(const struct type *t, pmix_value_t *val, const void *data)
{
    struct err e;

    switch (val->type) {
    case PMIX_REGEX:
        return load_regex(val, data);
    case PMIX_STRING:
        return status_of(value_copy(PMIX_STRING, &data, &val->data, &e), &e);
    case PMIX_POINTER:
        memcpy(&val->data.ptr, &data, sizeof data);
        return PMIX_SUCCESS;
    default:
        if (t->place == PLACE_BEHIND)
            return load_behind(t, val, data);
        return status_of(value_copy(val->type, data, &val->data, &e), &e);
    }
}

pmix_status_t PMIx_Value_load(pmix_value_t *val, const void *data, pmix_data_type_t type)
{
    const struct type *t = type_of(type);
    pmix_status_t rc = PMIX_SUCCESS;

    if (!val)
        return PMIX_ERR_BAD_PARAM;
    PMIx_Value_construct(val);
    if (!t || t->place == PLACE_NONE)
        return PMIX_ERR_UNKNOWN_DATA_TYPE;
    val->type = type;
    if (data)
        rc = load_data(t, val, data);
    else if (type == PMIX_BOOL)
        val->data.flag = true;
    if (rc != PMIX_SUCCESS)
        val->type = PMIX_UNDEF;
    return rc;
}

/* --- unload --------------------------------------------------------------------------- */

static bool fixed_size(const struct type *t)
{
    switch (t->form) {
    case FORM_BOOL: case FORM_INT: case FORM_UINT: case FORM_REAL: case FORM_RANK:
    case FORM_FLAGS: case FORM_CHARS:
        return true;
    default:
        return t == type_of(PMIX_PROC) || t == type_of(PMIX_TIMEVAL);
    }
}

static const void *place_of(const struct type *t, const pmix_value_t *val)
{
    return t->place == PLACE_BEHIND ? val->data.ptr : &val->data;
}

/* To a block of the caller, or to a new one. */
static pmix_status_t unload_struct(const struct type *t, const void *from, void **data,
                                   size_t *sz)
{
    pmix_data_type_t type = type_number(t);
    struct err e;
    void *to = malloc(t->size);
    int rc;

    if (!to)
        return PMIX_ERR_NOMEM;
    rc = value_copy(type, from, to, &e);
    if (rc < 0) {
        free(to);
        return status_of(rc, &e);
    }
    *data = to;
    *sz = t->size;
    return PMIX_SUCCESS;
}

static pmix_status_t unload_fixed(const struct type *t, const void *from, void **data,
                                  size_t *sz)
{
    if (!*data)
        return PMIX_ERR_BAD_PARAM;
    memcpy(*data, from, t->size);
    *sz = t->form == FORM_CHARS ? strnlen(from, t->size) : t->size;
    return PMIX_SUCCESS;
}

static pmix_status_t unload_bytes(const char *from, size_t n, size_t room, void **data,
                                  size_t *sz)
{
    char *to = from ? calloc(1, room) : NULL;

    if (from && !to)
        return PMIX_ERR_NOMEM;
    if (from)
        memcpy(to, from, n);
    *data = to;
    *sz = from ? n : 0;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Value_unload(pmix_value_t *val, void **data, size_t *sz)
{
    const struct type *t = val ? type_of(val->type) : NULL;
    const void *from;
    size_t unused, n;

    if (!val || !data)
        return PMIX_ERR_BAD_PARAM;
    if (!t || t->form == FORM_NONE || t->place == PLACE_NONE)
        return PMIX_ERR_UNKNOWN_DATA_TYPE;
    from = place_of(t, val);
    sz = sz ? sz : &unused;
    if (!from)
        return PMIX_ERR_BAD_PARAM;
    if (fixed_size(t))
        return unload_fixed(t, from, data, sz);
    switch (t->form) {
    case FORM_STRING:
        n = val->data.string ? strlen(val->data.string) : 0;
        return unload_bytes(val->data.string, n, n + 1, data, sz);
    case FORM_BYTES:
        n = val->data.bo.size;
        return unload_bytes(val->data.bo.bytes, n, n ? n : 1, data, sz);
    case FORM_OPAQUE:
        *data = val->data.ptr;
        *sz = sizeof(void *);
        return PMIX_SUCCESS;
    default:
        return unload_struct(t, from, data, sz);
    }
}

/* --- copy, compare, read --------------------------------------------------------------- */

pmix_status_t PMIx_Value_xfer(pmix_value_t *dest, const pmix_value_t *src)
{
    struct err e;

    if (!dest || !src)
        return PMIX_ERR_BAD_PARAM;
    return status_of(value_copy(PMIX_VALUE, src, dest, &e), &e);
}

pmix_value_cmp_t PMIx_Value_compare(pmix_value_t *v1, pmix_value_t *v2)
{
    const struct type *t = type_of(v1->type);
    int order;

    if (v1->type != v2->type)
        return PMIX_VALUE_TYPE_DIFFERENT;
    if (!t || t->place == PLACE_NONE || t->form == FORM_OPAQUE)
        return PMIX_VALUE_COMPARISON_NOT_AVAIL;
    order = value_compare(PMIX_VALUE, v1, v2);
    return order == 0 ? PMIX_EQUAL : order > 0 ? PMIX_VALUE1_GREATER : PMIX_VALUE2_GREATER;
}

static pmix_boolean_t text_true(const char *text)
{
    while (text && isspace((unsigned char)*text))
        text++;
    if (!text || !*text)
        return PMIX_BOOL_TRUE;
    if (isdigit((unsigned char)*text))
        return strtoumax(text, NULL, 10) ? PMIX_BOOL_TRUE : PMIX_BOOL_FALSE;
    if (!strncasecmp(text, "yes", 3) || !strncasecmp(text, "true", 4))
        return PMIX_BOOL_TRUE;
    if (!strncasecmp(text, "no", 2) || !strncasecmp(text, "false", 5))
        return PMIX_BOOL_FALSE;
    return PMIX_NON_BOOL;
}

pmix_boolean_t PMIx_Value_true(const pmix_value_t *val)
{
    switch (val->type) {
    case PMIX_UNDEF:
        return PMIX_BOOL_TRUE;
    case PMIX_BOOL:
        return val->data.flag ? PMIX_BOOL_TRUE : PMIX_BOOL_FALSE;
    case PMIX_STRING:
        return text_true(val->data.string);
    default:
        return PMIX_NON_BOOL;
    }
}

static pmix_status_t is_signed(pmix_ext_number_t *n, int64_t i)
{
    n->kind = PMIX_EXT_SIGNED;
    n->i = i;
    return PMIX_SUCCESS;
}

static pmix_status_t is_unsigned(pmix_ext_number_t *n, uint64_t u)
{
    n->kind = PMIX_EXT_UNSIGNED;
    n->u = u;
    return PMIX_SUCCESS;
}

static pmix_status_t is_real(pmix_ext_number_t *n, double d)
{
    n->kind = PMIX_EXT_REAL;
    n->d = d;
    return PMIX_SUCCESS;
}

/* Which types are numbers is the standard's list, not the table's: a status or a state is
 * none, though both hold one. */
pmix_status_t pmix_ext_number(const pmix_value_t *val, pmix_ext_number_t *n)
{
    switch (val->type) {
    case PMIX_INT:       return is_signed(n, val->data.integer);
    case PMIX_INT8:      return is_signed(n, val->data.int8);
    case PMIX_INT16:     return is_signed(n, val->data.int16);
    case PMIX_INT32:     return is_signed(n, val->data.int32);
    case PMIX_INT64:     return is_signed(n, val->data.int64);
    case PMIX_PID:       return is_signed(n, val->data.pid);
    case PMIX_SIZE:      return is_unsigned(n, val->data.size);
    case PMIX_UINT:      return is_unsigned(n, val->data.uint);
    case PMIX_UINT8:     return is_unsigned(n, val->data.uint8);
    case PMIX_UINT16:    return is_unsigned(n, val->data.uint16);
    case PMIX_UINT32:    return is_unsigned(n, val->data.uint32);
    case PMIX_UINT64:    return is_unsigned(n, val->data.uint64);
    case PMIX_PROC_RANK: return is_unsigned(n, val->data.rank);
    case PMIX_FLOAT:     return is_real(n, (double)val->data.fval);
    case PMIX_DOUBLE:    return is_real(n, val->data.dval);
    default:             return PMIX_ERR_BAD_PARAM;
    }
}

/* --- infos ------------------------------------------------------------------------------ */

pmix_status_t PMIx_Info_load(pmix_info_t *info, const char *key, const void *data,
                             pmix_data_type_t type)
{
    if (!info || !key)
        return PMIX_ERR_BAD_PARAM;
    PMIx_Info_construct(info);
    PMIx_Load_key(info->key, key);
    return PMIx_Value_load(&info->value, data, type);
}

/* A copy owns its value, whoever owns the original's. */
pmix_status_t PMIx_Info_xfer(pmix_info_t *dest, const pmix_info_t *src)
{
    if (!dest || !src)
        return PMIX_ERR_BAD_PARAM;
    PMIx_Load_key(dest->key, src->key);
    dest->flags = src->flags & ~(pmix_info_directives_t)PMIX_INFO_PERSISTENT;
    return PMIx_Value_xfer(&dest->value, &src->value);
}

void PMIx_Pdata_load(pmix_pdata_t *dest, const pmix_proc_t *p, const char *key,
                     const void *data, pmix_data_type_t type)
{
    PMIx_Load_procid(&dest->proc, p->nspace, p->rank);
    PMIx_Load_key(dest->key, key);
    PMIx_Value_load(&dest->value, data, type);
}

void PMIx_Pdata_xfer(pmix_pdata_t *dest, const pmix_pdata_t *src)
{
    PMIx_Xfer_procid(&dest->proc, &src->proc);
    PMIx_Load_key(dest->key, src->key);
    PMIx_Value_xfer(&dest->value, &src->value);
}
