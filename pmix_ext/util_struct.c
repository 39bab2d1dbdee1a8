/* util_struct.c - making and freeing the standard's structs; see pmix_ext_values.h.
 *
 * What a struct owns, and how it is freed, is known by its row in types.c alone. */
#include "pmix_ext/pmix_ext.h"
#include "pmix_ext/types.h"
#include "pmix_ext/value.h"

static void *zeroed(size_t n, size_t size)
{
    return n ? calloc(n, size) : NULL;
}

/* The four functions of each struct. */
#define CONSTRUCT(name, c_type) \
    void PMIx_##name##_construct(c_type *p) { memset(p, 0, sizeof *p); }
#define CREATE(name, c_type) \
    c_type *PMIx_##name##_create(size_t n) { return zeroed(n, sizeof(c_type)); }
#define FREE(name, c_type, number) \
    void PMIx_##name##_destruct(c_type *p) { value_clear(number, p); } \
    void PMIx_##name##_free(c_type *p, size_t n) { value_free_array(number, p, n); }
#define STRUCT(name, c_type, number) \
    CONSTRUCT(name, c_type) CREATE(name, c_type) FREE(name, c_type, number)

STRUCT(Proc, pmix_proc_t, PMIX_PROC)
STRUCT(Proc_info, pmix_proc_info_t, PMIX_PROC_INFO)
STRUCT(Value, pmix_value_t, PMIX_VALUE)
STRUCT(Pdata, pmix_pdata_t, PMIX_PDATA)
STRUCT(App, pmix_app_t, PMIX_APP)
STRUCT(Query, pmix_query_t, PMIX_QUERY)
STRUCT(Regattr, pmix_regattr_t, PMIX_REGATTR)
STRUCT(Envar, pmix_envar_t, PMIX_ENVAR)
STRUCT(Byte_object, pmix_byte_object_t, PMIX_BYTE_OBJECT)
STRUCT(Geometry, pmix_geometry_t, PMIX_GEOMETRY)
STRUCT(Device_distance, pmix_device_distance_t, PMIX_DEVICE_DIST)
STRUCT(Endpoint, pmix_endpoint_t, PMIX_ENDPOINT)
STRUCT(Proc_stats, pmix_proc_stats_t, PMIX_PROC_STATS)
STRUCT(Disk_stats, pmix_disk_stats_t, PMIX_DISK_STATS)
STRUCT(Net_stats, pmix_net_stats_t, PMIX_NET_STATS)
STRUCT(Node_stats, pmix_node_stats_t, PMIX_NODE_STATS)

/* --- those with something of their own ------------------------------------------ */

CONSTRUCT(Info, pmix_info_t)
FREE(Info, pmix_info_t, PMIX_INFO)

pmix_info_t *PMIx_Info_create(size_t n)
{
    pmix_info_t *info = zeroed(n, sizeof *info);

    if (info)
        PMIX_INFO_SET_END(&info[n - 1]);
    return info;
}

CONSTRUCT(Coord, pmix_coord_t)
FREE(Coord, pmix_coord_t, PMIX_COORD)

pmix_coord_t *PMIx_Coord_create(size_t dims, size_t number)
{
    pmix_coord_t *coord = zeroed(number, sizeof *coord);

    for (size_t i = 0; coord && dims && i < number; i++) {
        coord[i].coord = calloc(dims, sizeof *coord[i].coord);
        coord[i].dims = dims;
        if (!coord[i].coord) {
            coord[i].dims = 0;
            PMIx_Coord_free(coord, number);
            return NULL;
        }
    }
    return coord;
}

/* What hwloc made is hwloc's to free: only the name of its maker is ours. */
CONSTRUCT(Cpuset, pmix_cpuset_t)
CREATE(Cpuset, pmix_cpuset_t)

void PMIx_Cpuset_destruct(pmix_cpuset_t *p)
{
    free(p->source);
    PMIx_Cpuset_construct(p);
}

void PMIx_Cpuset_free(pmix_cpuset_t *p, size_t n)
{
    for (size_t i = 0; p && i < n; i++)
        PMIx_Cpuset_destruct(&p[i]);
    free(p);
}

CONSTRUCT(Topology, pmix_topology_t)
CREATE(Topology, pmix_topology_t)

void PMIx_Topology_destruct(pmix_topology_t *p)
{
    free(p->source);
    PMIx_Topology_construct(p);
}

void PMIx_Topology_free(pmix_topology_t *p, size_t n)
{
    for (size_t i = 0; p && i < n; i++)
        PMIx_Topology_destruct(&p[i]);
    free(p);
}

CONSTRUCT(Fabric, pmix_fabric_t)

CONSTRUCT(Data_buffer, pmix_data_buffer_t)

void PMIx_Data_buffer_destruct(pmix_data_buffer_t *b)
{
    value_clear(PMIX_DATA_BUFFER, b);
}

pmix_data_buffer_t *PMIx_Data_buffer_create(void)
{
    return zeroed(1, sizeof(pmix_data_buffer_t));
}

void PMIx_Data_buffer_release(pmix_data_buffer_t *b)
{
    value_free_array(PMIX_DATA_BUFFER, b, 1);
}

/* --- arrays ------------------------------------------------------------------------ */

void PMIx_Data_array_init(pmix_data_array_t *d, pmix_data_type_t type)
{
    *d = (pmix_data_array_t){ .type = type };
}

/* Infos know which of them is the last. */
void PMIx_Data_array_construct(pmix_data_array_t *d, size_t n, pmix_data_type_t type)
{
    const struct type *t = type_of(type);

    PMIx_Data_array_init(d, type);
    if (t)
        d->array = type == PMIX_INFO ? PMIx_Info_create(n) : zeroed(n, t->size);
    if (d->array)
        d->size = n;
}

void PMIx_Data_array_destruct(pmix_data_array_t *d)
{
    value_clear(PMIX_DATA_ARRAY, d);
}

pmix_data_array_t *PMIx_Data_array_create(size_t n, pmix_data_type_t type)
{
    pmix_data_array_t *d = malloc(sizeof *d);

    if (d)
        PMIx_Data_array_construct(d, n, type);
    return d;
}

void PMIx_Data_array_free(pmix_data_array_t *d)
{
    value_free_array(PMIX_DATA_ARRAY, d, 1);
}

/* --- filling ------------------------------------------------------------------------ */

void PMIx_App_info_create(pmix_app_t *app, size_t n)
{
    app->info = PMIx_Info_create(n);
    app->ninfo = app->info ? n : 0;
}

void PMIx_Query_qualifiers_create(pmix_query_t *q, size_t n)
{
    q->qualifiers = PMIx_Info_create(n);
    q->nqual = q->qualifiers ? n : 0;
}

static char *copy_of(const char *text)
{
    return text ? strdup(text) : NULL;
}

void PMIx_Envar_load(pmix_envar_t *e, const char *var, const char *value, char separator)
{
    *e = (pmix_envar_t){ copy_of(var), copy_of(value), separator };
}

void PMIx_Regattr_load(pmix_regattr_t *a, const char *name, const char *key,
                       pmix_data_type_t type, const char *description)
{
    PMIx_Regattr_construct(a);
    a->name = copy_of(name);
    PMIx_Load_key(a->string, key);
    a->type = type;
    if (description)
        PMIx_Argv_append_nosize(&a->description, description);
}

void PMIx_Regattr_xfer(pmix_regattr_t *dest, const pmix_regattr_t *src)
{
    value_copy(PMIX_REGATTR, src, dest, NULL);
}
