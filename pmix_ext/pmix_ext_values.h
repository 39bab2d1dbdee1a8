/* pmix_ext_values.h - making, filling, copying and freeing the standard's structs: the
 * macros of its C binding, each of which calls one function of this library.
 *
 * For each struct there are
 *   _CONSTRUCT(m)  make *m empty, whatever it held;
 *   _DESTRUCT(m)   free what *m points to and make it empty;
 *   _CREATE(m, n)  set m to n empty ones in one block, or to NULL if n is 0 or there is no
 *                  memory;
 *   _FREE(m, n)    destruct n of them, free the block and set m to NULL; m may be NULL;
 *   _RELEASE(m)    the same of one.
 * A struct owns what it points to, except the value of an info with
 * PMIX_INFO_PERSISTENT, what a PMIX_POINTER points to, and the bitmap of a cpuset or the
 * topology of hwloc, which whoever made them frees. */
#ifndef PMIX_EXT_VALUES_H
#define PMIX_EXT_VALUES_H

#include "pmix_ext_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- all structs -------------------------------------------------------------- */

PMIX_EXPORT void PMIx_Proc_construct(pmix_proc_t *p);
PMIX_EXPORT void PMIx_Proc_destruct(pmix_proc_t *p);
PMIX_EXPORT pmix_proc_t *PMIx_Proc_create(size_t n);
PMIX_EXPORT void PMIx_Proc_free(pmix_proc_t *p, size_t n);
PMIX_EXPORT void PMIx_Proc_info_construct(pmix_proc_info_t *p);
PMIX_EXPORT void PMIx_Proc_info_destruct(pmix_proc_info_t *p);
PMIX_EXPORT pmix_proc_info_t *PMIx_Proc_info_create(size_t n);
PMIX_EXPORT void PMIx_Proc_info_free(pmix_proc_info_t *p, size_t n);
PMIX_EXPORT void PMIx_Value_construct(pmix_value_t *p);
PMIX_EXPORT void PMIx_Value_destruct(pmix_value_t *p);
PMIX_EXPORT pmix_value_t *PMIx_Value_create(size_t n);
PMIX_EXPORT void PMIx_Value_free(pmix_value_t *p, size_t n);
PMIX_EXPORT void PMIx_Info_construct(pmix_info_t *p);
PMIX_EXPORT void PMIx_Info_destruct(pmix_info_t *p);
PMIX_EXPORT pmix_info_t *PMIx_Info_create(size_t n);
PMIX_EXPORT void PMIx_Info_free(pmix_info_t *p, size_t n);
PMIX_EXPORT void PMIx_Pdata_construct(pmix_pdata_t *p);
PMIX_EXPORT void PMIx_Pdata_destruct(pmix_pdata_t *p);
PMIX_EXPORT pmix_pdata_t *PMIx_Pdata_create(size_t n);
PMIX_EXPORT void PMIx_Pdata_free(pmix_pdata_t *p, size_t n);
PMIX_EXPORT void PMIx_App_construct(pmix_app_t *p);
PMIX_EXPORT void PMIx_App_destruct(pmix_app_t *p);
PMIX_EXPORT pmix_app_t *PMIx_App_create(size_t n);
PMIX_EXPORT void PMIx_App_free(pmix_app_t *p, size_t n);
PMIX_EXPORT void PMIx_Query_construct(pmix_query_t *p);
PMIX_EXPORT void PMIx_Query_destruct(pmix_query_t *p);
PMIX_EXPORT pmix_query_t *PMIx_Query_create(size_t n);
PMIX_EXPORT void PMIx_Query_free(pmix_query_t *p, size_t n);
PMIX_EXPORT void PMIx_Regattr_construct(pmix_regattr_t *p);
PMIX_EXPORT void PMIx_Regattr_destruct(pmix_regattr_t *p);
PMIX_EXPORT pmix_regattr_t *PMIx_Regattr_create(size_t n);
PMIX_EXPORT void PMIx_Regattr_free(pmix_regattr_t *p, size_t n);
PMIX_EXPORT void PMIx_Envar_construct(pmix_envar_t *p);
PMIX_EXPORT void PMIx_Envar_destruct(pmix_envar_t *p);
PMIX_EXPORT pmix_envar_t *PMIx_Envar_create(size_t n);
PMIX_EXPORT void PMIx_Envar_free(pmix_envar_t *p, size_t n);
PMIX_EXPORT void PMIx_Byte_object_construct(pmix_byte_object_t *p);
PMIX_EXPORT void PMIx_Byte_object_destruct(pmix_byte_object_t *p);
PMIX_EXPORT pmix_byte_object_t *PMIx_Byte_object_create(size_t n);
PMIX_EXPORT void PMIx_Byte_object_free(pmix_byte_object_t *p, size_t n);
PMIX_EXPORT void PMIx_Coord_construct(pmix_coord_t *p);
PMIX_EXPORT void PMIx_Coord_destruct(pmix_coord_t *p);
PMIX_EXPORT void PMIx_Coord_free(pmix_coord_t *p, size_t n);
PMIX_EXPORT void PMIx_Cpuset_construct(pmix_cpuset_t *p);
PMIX_EXPORT void PMIx_Cpuset_destruct(pmix_cpuset_t *p);
PMIX_EXPORT pmix_cpuset_t *PMIx_Cpuset_create(size_t n);
PMIX_EXPORT void PMIx_Cpuset_free(pmix_cpuset_t *p, size_t n);
PMIX_EXPORT void PMIx_Topology_construct(pmix_topology_t *p);
PMIX_EXPORT void PMIx_Topology_destruct(pmix_topology_t *p);
PMIX_EXPORT pmix_topology_t *PMIx_Topology_create(size_t n);
PMIX_EXPORT void PMIx_Topology_free(pmix_topology_t *p, size_t n);
PMIX_EXPORT void PMIx_Geometry_construct(pmix_geometry_t *p);
PMIX_EXPORT void PMIx_Geometry_destruct(pmix_geometry_t *p);
PMIX_EXPORT pmix_geometry_t *PMIx_Geometry_create(size_t n);
PMIX_EXPORT void PMIx_Geometry_free(pmix_geometry_t *p, size_t n);
PMIX_EXPORT void PMIx_Device_distance_construct(pmix_device_distance_t *p);
PMIX_EXPORT void PMIx_Device_distance_destruct(pmix_device_distance_t *p);
PMIX_EXPORT pmix_device_distance_t *PMIx_Device_distance_create(size_t n);
PMIX_EXPORT void PMIx_Device_distance_free(pmix_device_distance_t *p, size_t n);
PMIX_EXPORT void PMIx_Endpoint_construct(pmix_endpoint_t *p);
PMIX_EXPORT void PMIx_Endpoint_destruct(pmix_endpoint_t *p);
PMIX_EXPORT pmix_endpoint_t *PMIx_Endpoint_create(size_t n);
PMIX_EXPORT void PMIx_Endpoint_free(pmix_endpoint_t *p, size_t n);
PMIX_EXPORT void PMIx_Proc_stats_construct(pmix_proc_stats_t *p);
PMIX_EXPORT void PMIx_Proc_stats_destruct(pmix_proc_stats_t *p);
PMIX_EXPORT pmix_proc_stats_t *PMIx_Proc_stats_create(size_t n);
PMIX_EXPORT void PMIx_Proc_stats_free(pmix_proc_stats_t *p, size_t n);
PMIX_EXPORT void PMIx_Disk_stats_construct(pmix_disk_stats_t *p);
PMIX_EXPORT void PMIx_Disk_stats_destruct(pmix_disk_stats_t *p);
PMIX_EXPORT pmix_disk_stats_t *PMIx_Disk_stats_create(size_t n);
PMIX_EXPORT void PMIx_Disk_stats_free(pmix_disk_stats_t *p, size_t n);
PMIX_EXPORT void PMIx_Net_stats_construct(pmix_net_stats_t *p);
PMIX_EXPORT void PMIx_Net_stats_destruct(pmix_net_stats_t *p);
PMIX_EXPORT pmix_net_stats_t *PMIx_Net_stats_create(size_t n);
PMIX_EXPORT void PMIx_Net_stats_free(pmix_net_stats_t *p, size_t n);
PMIX_EXPORT void PMIx_Node_stats_construct(pmix_node_stats_t *p);
PMIX_EXPORT void PMIx_Node_stats_destruct(pmix_node_stats_t *p);
PMIX_EXPORT pmix_node_stats_t *PMIx_Node_stats_create(size_t n);
PMIX_EXPORT void PMIx_Node_stats_free(pmix_node_stats_t *p, size_t n);

#define PMIX_PROC_CONSTRUCT(m)            PMIx_Proc_construct(m)
#define PMIX_PROC_DESTRUCT(m)             PMIx_Proc_destruct(m)
#define PMIX_PROC_CREATE(m, n)            ((m) = PMIx_Proc_create(n))
#define PMIX_PROC_FREE(m, n)              (PMIx_Proc_free((m), (n)), (m) = NULL)
#define PMIX_PROC_RELEASE(m)              PMIX_PROC_FREE(m, 1)
#define PMIX_PROC_INFO_CONSTRUCT(m)       PMIx_Proc_info_construct(m)
#define PMIX_PROC_INFO_DESTRUCT(m)        PMIx_Proc_info_destruct(m)
#define PMIX_PROC_INFO_CREATE(m, n)       ((m) = PMIx_Proc_info_create(n))
#define PMIX_PROC_INFO_FREE(m, n)         (PMIx_Proc_info_free((m), (n)), (m) = NULL)
#define PMIX_PROC_INFO_RELEASE(m)         PMIX_PROC_INFO_FREE(m, 1)
#define PMIX_VALUE_CONSTRUCT(m)           PMIx_Value_construct(m)
#define PMIX_VALUE_DESTRUCT(m)            PMIx_Value_destruct(m)
#define PMIX_VALUE_CREATE(m, n)           ((m) = PMIx_Value_create(n))
#define PMIX_VALUE_FREE(m, n)             (PMIx_Value_free((m), (n)), (m) = NULL)
#define PMIX_VALUE_RELEASE(m)             PMIX_VALUE_FREE(m, 1)
#define PMIX_INFO_CONSTRUCT(m)            PMIx_Info_construct(m)
#define PMIX_INFO_DESTRUCT(m)             PMIx_Info_destruct(m)
#define PMIX_INFO_CREATE(m, n)            ((m) = PMIx_Info_create(n))
#define PMIX_INFO_FREE(m, n)              (PMIx_Info_free((m), (n)), (m) = NULL)
#define PMIX_INFO_RELEASE(m)              PMIX_INFO_FREE(m, 1)
#define PMIX_PDATA_CONSTRUCT(m)           PMIx_Pdata_construct(m)
#define PMIX_PDATA_DESTRUCT(m)            PMIx_Pdata_destruct(m)
#define PMIX_PDATA_CREATE(m, n)           ((m) = PMIx_Pdata_create(n))
#define PMIX_PDATA_FREE(m, n)             (PMIx_Pdata_free((m), (n)), (m) = NULL)
#define PMIX_PDATA_RELEASE(m)             PMIX_PDATA_FREE(m, 1)
#define PMIX_APP_CONSTRUCT(m)             PMIx_App_construct(m)
#define PMIX_APP_DESTRUCT(m)              PMIx_App_destruct(m)
#define PMIX_APP_CREATE(m, n)             ((m) = PMIx_App_create(n))
#define PMIX_APP_FREE(m, n)               (PMIx_App_free((m), (n)), (m) = NULL)
#define PMIX_APP_RELEASE(m)               PMIX_APP_FREE(m, 1)
#define PMIX_QUERY_CONSTRUCT(m)           PMIx_Query_construct(m)
#define PMIX_QUERY_DESTRUCT(m)            PMIx_Query_destruct(m)
#define PMIX_QUERY_CREATE(m, n)           ((m) = PMIx_Query_create(n))
#define PMIX_QUERY_FREE(m, n)             (PMIx_Query_free((m), (n)), (m) = NULL)
#define PMIX_QUERY_RELEASE(m)             PMIX_QUERY_FREE(m, 1)
#define PMIX_REGATTR_CONSTRUCT(m)         PMIx_Regattr_construct(m)
#define PMIX_REGATTR_DESTRUCT(m)          PMIx_Regattr_destruct(m)
#define PMIX_REGATTR_CREATE(m, n)         ((m) = PMIx_Regattr_create(n))
#define PMIX_REGATTR_FREE(m, n)           (PMIx_Regattr_free((m), (n)), (m) = NULL)
#define PMIX_REGATTR_RELEASE(m)           PMIX_REGATTR_FREE(m, 1)
#define PMIX_ENVAR_CONSTRUCT(m)           PMIx_Envar_construct(m)
#define PMIX_ENVAR_DESTRUCT(m)            PMIx_Envar_destruct(m)
#define PMIX_ENVAR_CREATE(m, n)           ((m) = PMIx_Envar_create(n))
#define PMIX_ENVAR_FREE(m, n)             (PMIx_Envar_free((m), (n)), (m) = NULL)
#define PMIX_ENVAR_RELEASE(m)             PMIX_ENVAR_FREE(m, 1)
#define PMIX_BYTE_OBJECT_CONSTRUCT(m)     PMIx_Byte_object_construct(m)
#define PMIX_BYTE_OBJECT_DESTRUCT(m)      PMIx_Byte_object_destruct(m)
#define PMIX_BYTE_OBJECT_CREATE(m, n)     ((m) = PMIx_Byte_object_create(n))
#define PMIX_BYTE_OBJECT_FREE(m, n)       (PMIx_Byte_object_free((m), (n)), (m) = NULL)
#define PMIX_BYTE_OBJECT_RELEASE(m)       PMIX_BYTE_OBJECT_FREE(m, 1)
#define PMIX_COORD_CONSTRUCT(m)           PMIx_Coord_construct(m)
#define PMIX_COORD_DESTRUCT(m)            PMIx_Coord_destruct(m)
#define PMIX_COORD_FREE(m, n)             (PMIx_Coord_free((m), (n)), (m) = NULL)
#define PMIX_COORD_RELEASE(m)             PMIX_COORD_FREE(m, 1)
#define PMIX_CPUSET_CONSTRUCT(m)          PMIx_Cpuset_construct(m)
#define PMIX_CPUSET_DESTRUCT(m)           PMIx_Cpuset_destruct(m)
#define PMIX_CPUSET_CREATE(m, n)          ((m) = PMIx_Cpuset_create(n))
#define PMIX_CPUSET_FREE(m, n)            (PMIx_Cpuset_free((m), (n)), (m) = NULL)
#define PMIX_CPUSET_RELEASE(m)            PMIX_CPUSET_FREE(m, 1)
#define PMIX_TOPOLOGY_CONSTRUCT(m)        PMIx_Topology_construct(m)
#define PMIX_TOPOLOGY_DESTRUCT(m)         PMIx_Topology_destruct(m)
#define PMIX_TOPOLOGY_CREATE(m, n)        ((m) = PMIx_Topology_create(n))
#define PMIX_TOPOLOGY_FREE(m, n)          (PMIx_Topology_free((m), (n)), (m) = NULL)
#define PMIX_TOPOLOGY_RELEASE(m)          PMIX_TOPOLOGY_FREE(m, 1)
#define PMIX_GEOMETRY_CONSTRUCT(m)        PMIx_Geometry_construct(m)
#define PMIX_GEOMETRY_DESTRUCT(m)         PMIx_Geometry_destruct(m)
#define PMIX_GEOMETRY_CREATE(m, n)        ((m) = PMIx_Geometry_create(n))
#define PMIX_GEOMETRY_FREE(m, n)          (PMIx_Geometry_free((m), (n)), (m) = NULL)
#define PMIX_GEOMETRY_RELEASE(m)          PMIX_GEOMETRY_FREE(m, 1)
#define PMIX_DEVICE_DIST_CONSTRUCT(m)     PMIx_Device_distance_construct(m)
#define PMIX_DEVICE_DIST_DESTRUCT(m)      PMIx_Device_distance_destruct(m)
#define PMIX_DEVICE_DIST_CREATE(m, n)     ((m) = PMIx_Device_distance_create(n))
#define PMIX_DEVICE_DIST_FREE(m, n)       (PMIx_Device_distance_free((m), (n)), (m) = NULL)
#define PMIX_DEVICE_DIST_RELEASE(m)       PMIX_DEVICE_DIST_FREE(m, 1)
#define PMIX_ENDPOINT_CONSTRUCT(m)        PMIx_Endpoint_construct(m)
#define PMIX_ENDPOINT_DESTRUCT(m)         PMIx_Endpoint_destruct(m)
#define PMIX_ENDPOINT_CREATE(m, n)        ((m) = PMIx_Endpoint_create(n))
#define PMIX_ENDPOINT_FREE(m, n)          (PMIx_Endpoint_free((m), (n)), (m) = NULL)
#define PMIX_ENDPOINT_RELEASE(m)          PMIX_ENDPOINT_FREE(m, 1)
#define PMIX_PROC_STATS_CONSTRUCT(m)      PMIx_Proc_stats_construct(m)
#define PMIX_PROC_STATS_DESTRUCT(m)       PMIx_Proc_stats_destruct(m)
#define PMIX_PROC_STATS_CREATE(m, n)      ((m) = PMIx_Proc_stats_create(n))
#define PMIX_PROC_STATS_FREE(m, n)        (PMIx_Proc_stats_free((m), (n)), (m) = NULL)
#define PMIX_PROC_STATS_RELEASE(m)        PMIX_PROC_STATS_FREE(m, 1)
#define PMIX_DISK_STATS_CONSTRUCT(m)      PMIx_Disk_stats_construct(m)
#define PMIX_DISK_STATS_DESTRUCT(m)       PMIx_Disk_stats_destruct(m)
#define PMIX_DISK_STATS_CREATE(m, n)      ((m) = PMIx_Disk_stats_create(n))
#define PMIX_DISK_STATS_FREE(m, n)        (PMIx_Disk_stats_free((m), (n)), (m) = NULL)
#define PMIX_DISK_STATS_RELEASE(m)        PMIX_DISK_STATS_FREE(m, 1)
#define PMIX_NET_STATS_CONSTRUCT(m)       PMIx_Net_stats_construct(m)
#define PMIX_NET_STATS_DESTRUCT(m)        PMIx_Net_stats_destruct(m)
#define PMIX_NET_STATS_CREATE(m, n)       ((m) = PMIx_Net_stats_create(n))
#define PMIX_NET_STATS_FREE(m, n)         (PMIx_Net_stats_free((m), (n)), (m) = NULL)
#define PMIX_NET_STATS_RELEASE(m)         PMIX_NET_STATS_FREE(m, 1)
#define PMIX_NODE_STATS_CONSTRUCT(m)      PMIx_Node_stats_construct(m)
#define PMIX_NODE_STATS_DESTRUCT(m)       PMIx_Node_stats_destruct(m)
#define PMIX_NODE_STATS_CREATE(m, n)      ((m) = PMIx_Node_stats_create(n))
#define PMIX_NODE_STATS_FREE(m, n)        (PMIx_Node_stats_free((m), (n)), (m) = NULL)
#define PMIX_NODE_STATS_RELEASE(m)        PMIX_NODE_STATS_FREE(m, 1)

/* What differs from the rest: coordinates are made with their number of dimensions, a data
 * array with its type and size, a buffer alone. */
PMIX_EXPORT pmix_coord_t *PMIx_Coord_create(size_t dims, size_t number);
#define PMIX_COORD_CREATE(m, n, dims) ((m) = PMIx_Coord_create((dims), (n)))

PMIX_EXPORT void PMIx_Data_array_init(pmix_data_array_t *d, pmix_data_type_t type);
PMIX_EXPORT void PMIx_Data_array_construct(pmix_data_array_t *d, size_t n,
                                           pmix_data_type_t type);
PMIX_EXPORT void PMIx_Data_array_destruct(pmix_data_array_t *d);
PMIX_EXPORT pmix_data_array_t *PMIx_Data_array_create(size_t n, pmix_data_type_t type);
PMIX_EXPORT void PMIx_Data_array_free(pmix_data_array_t *d);
#define PMIX_DATA_ARRAY_INIT(m, t)         PMIx_Data_array_init((m), (t))
#define PMIX_DATA_ARRAY_CONSTRUCT(m, n, t) PMIx_Data_array_construct((m), (n), (t))
#define PMIX_DATA_ARRAY_DESTRUCT(m)        PMIx_Data_array_destruct(m)
#define PMIX_DATA_ARRAY_CREATE(m, n, t)    ((m) = PMIx_Data_array_create((n), (t)))
#define PMIX_DATA_ARRAY_FREE(m)            (PMIx_Data_array_free(m), (m) = NULL)

PMIX_EXPORT void PMIx_Data_buffer_construct(pmix_data_buffer_t *b);
PMIX_EXPORT void PMIx_Data_buffer_destruct(pmix_data_buffer_t *b);
PMIX_EXPORT pmix_data_buffer_t *PMIx_Data_buffer_create(void);
PMIX_EXPORT void PMIx_Data_buffer_release(pmix_data_buffer_t *b);
#define PMIX_DATA_BUFFER_CONSTRUCT(m) PMIx_Data_buffer_construct(m)
#define PMIX_DATA_BUFFER_DESTRUCT(m)  PMIx_Data_buffer_destruct(m)
#define PMIX_DATA_BUFFER_CREATE(m)    ((m) = PMIx_Data_buffer_create())
#define PMIX_DATA_BUFFER_RELEASE(m)   (PMIx_Data_buffer_release(m), (m) = NULL)

PMIX_EXPORT void PMIx_Fabric_construct(pmix_fabric_t *f);
#define PMIX_FABRIC_CONSTRUCT(m) PMIx_Fabric_construct(m)

/* --- names and ranks ---------------------------------------------------------- */

/* Longer strings are cut; NULL is the empty one. */
PMIX_EXPORT void PMIx_Load_key(char *key, const char *src);
PMIX_EXPORT void PMIx_Load_nspace(char *nspace, const char *src);
PMIX_EXPORT void PMIx_Load_procid(pmix_proc_t *p, const char *nspace, pmix_rank_t rank);
PMIX_EXPORT void PMIx_Xfer_procid(pmix_proc_t *dest, const pmix_proc_t *src);
#define PMIX_LOAD_KEY(a, b)       PMIx_Load_key((char *)(a), (const char *)(b))
#define PMIX_LOAD_NSPACE(a, b)    PMIx_Load_nspace((char *)(a), (b))
#define PMIX_LOAD_PROCID(a, b, c) PMIx_Load_procid((a), (b), (c))
#define PMIX_PROC_LOAD(m, n, r)   PMIx_Load_procid((m), (n), (r))
#define PMIX_XFER_PROCID(a, b)    PMIx_Xfer_procid((a), (b))
#define PMIX_PROCID_XFER(a, b)    PMIx_Xfer_procid((a), (b))

/* An empty name matches any, and so does PMIX_RANK_WILDCARD any rank. */
PMIX_EXPORT bool PMIx_Check_key(const char *key, const char *str);
PMIX_EXPORT bool PMIx_Check_reserved_key(const char *key);
PMIX_EXPORT bool PMIx_Nspace_invalid(const char *nspace);
PMIX_EXPORT bool PMIx_Check_nspace(const char *a, const char *b);
PMIX_EXPORT bool PMIx_Check_rank(pmix_rank_t a, pmix_rank_t b);
PMIX_EXPORT bool PMIx_Check_procid(const pmix_proc_t *a, const pmix_proc_t *b);
PMIX_EXPORT bool PMIx_Procid_invalid(const pmix_proc_t *p);
#define PMIX_CHECK_KEY(a, b)       PMIx_Check_key((a)->key, (b))
#define PMIX_CHECK_RESERVED_KEY(a) PMIx_Check_reserved_key(a)
#define PMIX_NSPACE_INVALID(a)     PMIx_Nspace_invalid(a)
#define PMIX_CHECK_NSPACE(a, b)    PMIx_Check_nspace((a), (b))
#define PMIX_CHECK_RANK(a, b)      PMIx_Check_rank((a), (b))
#define PMIX_CHECK_PROCID(a, b)    PMIx_Check_procid((a), (b))
#define PMIX_PROCID_INVALID(a)     PMIx_Procid_invalid(a)

/* "cluster:nspace"; empty if that is too long. */
PMIX_EXPORT void PMIx_Multicluster_nspace_construct(char *target, const char *cluster,
                                                    const char *nspace);
PMIX_EXPORT void PMIx_Multicluster_nspace_parse(const char *target, char *cluster,
                                                char *nspace);
#define PMIX_MULTICLUSTER_NSPACE_CONSTRUCT(t, c, n) \
    PMIx_Multicluster_nspace_construct((t), (c), (n))
#define PMIX_MULTICLUSTER_NSPACE_PARSE(t, c, n) PMIx_Multicluster_nspace_parse((t), (c), (n))

/* --- values ------------------------------------------------------------------- */

/* Put a copy of *data into val; a string's data is the string, a pointer's is kept as it
 * is.  Data NULL is true for a bool, and empty or 0 for the rest. */
PMIX_EXPORT pmix_status_t PMIx_Value_load(pmix_value_t *val, const void *data,
                                          pmix_data_type_t type);
/* Copy a value out.  What is fixed in size goes to *data, which must have room; strings,
 * bytes and structs go to a new block that *data is set to and the caller frees.  *sz (may
 * be NULL) gets the bytes copied. */
PMIX_EXPORT pmix_status_t PMIx_Value_unload(pmix_value_t *val, void **data, size_t *sz);
PMIX_EXPORT pmix_status_t PMIx_Value_xfer(pmix_value_t *dest, const pmix_value_t *src);
PMIX_EXPORT pmix_value_cmp_t PMIx_Value_compare(pmix_value_t *v1, pmix_value_t *v2);
/* Whether a value says yes: PMIX_UNDEF and empty strings do, as true, yes, and numbers but 0
 * in words do. */
PMIX_EXPORT pmix_boolean_t PMIx_Value_true(const pmix_value_t *val);
#define PMIX_VALUE_LOAD(v, d, t)        PMIx_Value_load((v), (d), (t))
#define PMIX_VALUE_UNLOAD(r, k, d, s)   ((r) = PMIx_Value_unload((k), (d), (s)))
#define PMIX_VALUE_XFER_DIRECT(r, v, s) ((r) = PMIx_Value_xfer((v), (s)))
/* Into a new value if v is NULL. */
#define PMIX_VALUE_XFER(r, v, s)                                                      \
    ((v) = NULL != (v) ? (v) : PMIx_Value_create(1),                                  \
     (r) = NULL != (v) ? PMIx_Value_xfer((v), (s)) : PMIX_ERR_NOMEM)
#define PMIX_CHECK_TRUE(v) (PMIX_BOOL_TRUE == PMIx_Value_true(v))
#define PMIX_CHECK_BOOL(v) (PMIX_NON_BOOL != PMIx_Value_true(v))

/* The number a value holds, in the widest type of its kind. */
enum pmix_ext_kind { PMIX_EXT_SIGNED, PMIX_EXT_UNSIGNED, PMIX_EXT_REAL };
typedef struct {
    enum pmix_ext_kind kind;
    int64_t i;
    uint64_t u;
    double d;
} pmix_ext_number_t;
/* PMIX_ERR_BAD_PARAM if the value is no number. */
PMIX_EXPORT pmix_status_t pmix_ext_number(const pmix_value_t *val, pmix_ext_number_t *n);
/* Status s and number n of the C type t from value m; n keeps what it was on an error. */
#define PMIX_VALUE_GET_NUMBER(s, m, n, t)                                             \
    do {                                                                              \
        pmix_ext_number_t pmix_ext_n_;                                                \
        (s) = pmix_ext_number((m), &pmix_ext_n_);                                     \
        if (PMIX_SUCCESS == (s))                                                      \
            (n) = PMIX_EXT_REAL == pmix_ext_n_.kind       ? (t)pmix_ext_n_.d          \
                  : PMIX_EXT_UNSIGNED == pmix_ext_n_.kind ? (t)pmix_ext_n_.u          \
                                                          : (t)pmix_ext_n_.i;         \
    } while (0)

/* --- infos -------------------------------------------------------------------- */

PMIX_EXPORT pmix_status_t PMIx_Info_load(pmix_info_t *info, const char *key, const void *data,
                                         pmix_data_type_t type);
PMIX_EXPORT pmix_status_t PMIx_Info_xfer(pmix_info_t *dest, const pmix_info_t *src);
#define PMIX_INFO_LOAD(i, k, d, t) ((void)PMIx_Info_load((i), (k), (d), (t)))
#define PMIX_INFO_XFER(d, s)       ((void)PMIx_Info_xfer((d), (s)))
#define PMIX_INFO_TRUE(m)          PMIX_CHECK_TRUE(&(m)->value)

#define PMIX_INFO_REQUIRED(m)       ((m)->flags |= PMIX_INFO_REQD)
#define PMIX_INFO_OPTIONAL(m)       ((m)->flags &= ~PMIX_INFO_REQD)
#define PMIX_INFO_IS_REQUIRED(m)    (0 != ((m)->flags & PMIX_INFO_REQD))
#define PMIX_INFO_IS_OPTIONAL(m)    (0 == ((m)->flags & PMIX_INFO_REQD))
#define PMIX_INFO_PROCESSED(m)      ((m)->flags |= PMIX_INFO_REQD_PROCESSED)
#define PMIX_INFO_WAS_PROCESSED(m)  (0 != ((m)->flags & PMIX_INFO_REQD_PROCESSED))
#define PMIX_INFO_SET_END(m)        ((m)->flags |= PMIX_INFO_ARRAY_END)
#define PMIX_INFO_IS_END(m)         (0 != ((m)->flags & PMIX_INFO_ARRAY_END))
#define PMIX_INFO_SET_QUALIFIER(m)  ((m)->flags |= PMIX_INFO_QUALIFIER)
#define PMIX_INFO_IS_QUALIFIER(m)   (0 != ((m)->flags & PMIX_INFO_QUALIFIER))
#define PMIX_INFO_SET_PERSISTENT(m) ((m)->flags |= PMIX_INFO_PERSISTENT)
#define PMIX_INFO_IS_PERSISTENT(m)  (0 != ((m)->flags & PMIX_INFO_PERSISTENT))

/* A list of infos that grows.  add and xfer copy; insert takes the value over, and info
 * must not be destructed after.  convert copies all into par, an array of PMIX_INFO, and
 * answers PMIX_ERR_EMPTY if there are none. */
PMIX_EXPORT void *PMIx_Info_list_start(void);
PMIX_EXPORT pmix_status_t PMIx_Info_list_add(void *ptr, const char *key, const void *value,
                                             pmix_data_type_t type);
PMIX_EXPORT pmix_status_t PMIx_Info_list_insert(void *ptr, pmix_info_t *info);
PMIX_EXPORT pmix_status_t PMIx_Info_list_xfer(void *ptr, const pmix_info_t *info);
PMIX_EXPORT pmix_status_t PMIx_Info_list_convert(void *ptr, pmix_data_array_t *par);
PMIX_EXPORT void PMIx_Info_list_release(void *ptr);
#define PMIX_INFO_LIST_START(p)           ((p) = PMIx_Info_list_start())
#define PMIX_INFO_LIST_ADD(r, p, k, v, t) ((r) = PMIx_Info_list_add((p), (k), (v), (t)))
#define PMIX_INFO_LIST_INSERT(r, p, i)    ((r) = PMIx_Info_list_insert((p), (i)))
#define PMIX_INFO_LIST_XFER(r, p, i)      ((r) = PMIx_Info_list_xfer((p), (i)))
#define PMIX_INFO_LIST_CONVERT(r, p, m)   ((r) = PMIx_Info_list_convert((p), (m)))
#define PMIX_INFO_LIST_RELEASE(p)         PMIx_Info_list_release(p)

/* --- filling the other structs ------------------------------------------------ */

PMIX_EXPORT void PMIx_Pdata_load(pmix_pdata_t *dest, const pmix_proc_t *p, const char *key,
                                 const void *data, pmix_data_type_t type);
PMIX_EXPORT void PMIx_Pdata_xfer(pmix_pdata_t *dest, const pmix_pdata_t *src);
#define PMIX_PDATA_LOAD(m, p, k, v, t) PMIx_Pdata_load((m), (p), (k), (v), (t))
#define PMIX_PDATA_XFER(d, s)          PMIx_Pdata_xfer((d), (s))

PMIX_EXPORT void PMIx_App_info_create(pmix_app_t *app, size_t n);
PMIX_EXPORT void PMIx_Query_qualifiers_create(pmix_query_t *q, size_t n);
#define PMIX_APP_INFO_CREATE(m, n)         PMIx_App_info_create((m), (n))
#define PMIX_QUERY_QUALIFIERS_CREATE(m, n) PMIx_Query_qualifiers_create((m), (n))

PMIX_EXPORT void PMIx_Envar_load(pmix_envar_t *e, const char *var, const char *value,
                                 char separator);
#define PMIX_ENVAR_LOAD(m, e, v, s) PMIx_Envar_load((m), (e), (v), (s))

PMIX_EXPORT void PMIx_Regattr_load(pmix_regattr_t *a, const char *name, const char *key,
                                   pmix_data_type_t type, const char *description);
PMIX_EXPORT void PMIx_Regattr_xfer(pmix_regattr_t *dest, const pmix_regattr_t *src);
#define PMIX_REGATTR_LOAD(a, n, k, t, v) PMIx_Regattr_load((a), (n), (k), (t), (v))
#define PMIX_REGATTR_XFER(a, b)          PMIx_Regattr_xfer((a), (b))

/* These two take the bytes over: d becomes NULL and s 0. */
#define PMIX_BYTE_OBJECT_LOAD(b, d, s) \
    ((b)->bytes = (char *)(d), (b)->size = (s), (d) = NULL, (s) = 0)
PMIX_EXPORT void PMIx_Data_buffer_load(pmix_data_buffer_t *b, char *bytes, size_t size);
PMIX_EXPORT void PMIx_Data_buffer_unload(pmix_data_buffer_t *b, char **bytes, size_t *size);
#define PMIX_DATA_BUFFER_LOAD(b, d, s) PMIx_Data_buffer_load((b), (char *)(d), (s))
#define PMIX_DATA_BUFFER_UNLOAD(b, d, s)                       \
    do {                                                       \
        char *pmix_ext_d_;                                     \
        size_t pmix_ext_s_;                                    \
        PMIx_Data_buffer_unload((b), &pmix_ext_d_, &pmix_ext_s_); \
        (d) = pmix_ext_d_;                                     \
        (s) = pmix_ext_s_;                                     \
    } while (0)

/* --- lists of strings that end with NULL -------------------------------------- */

/* argv may be NULL for the empty list.  What grows a list may move it; what makes one
 * returns NULL for an empty list, too. */
PMIX_EXPORT int PMIx_Argv_count(char **argv);
PMIX_EXPORT pmix_status_t PMIx_Argv_append_nosize(char ***argv, const char *arg);
PMIX_EXPORT pmix_status_t PMIx_Argv_prepend_nosize(char ***argv, const char *arg);
PMIX_EXPORT pmix_status_t PMIx_Argv_append_unique_nosize(char ***argv, const char *arg);
PMIX_EXPORT char **PMIx_Argv_split(const char *str, int delimiter);
PMIX_EXPORT char **PMIx_Argv_split_with_empty(const char *str, int delimiter);
PMIX_EXPORT char *PMIx_Argv_join(char **argv, int delimiter);
PMIX_EXPORT char **PMIx_Argv_copy(char **argv);
PMIX_EXPORT void PMIx_Argv_free(char **argv);
#define PMIX_ARGV_COUNT(r, a)            ((r) = PMIx_Argv_count(a))
#define PMIX_ARGV_APPEND(r, a, b)        ((r) = PMIx_Argv_append_nosize(&(a), (b)))
#define PMIX_ARGV_PREPEND(r, a, b)       ((r) = PMIx_Argv_prepend_nosize(&(a), (b)))
#define PMIX_ARGV_APPEND_UNIQUE(r, a, b) ((r) = PMIx_Argv_append_unique_nosize((a), (b)))
#define PMIX_ARGV_SPLIT(a, b, c)         ((a) = PMIx_Argv_split((b), (c)))
#define PMIX_ARGV_JOIN(a, b, c)          ((a) = PMIx_Argv_join((b), (c)))
#define PMIX_ARGV_COPY(a, b)             ((a) = PMIx_Argv_copy(b))
#define PMIX_ARGV_FREE(a)                PMIx_Argv_free(a)

/* Set name=value in an environment; value NULL is the empty one, but takes the variable out
 * of environ itself.  PMIX_ERR_EXISTS if it is set and not to be overwritten. */
PMIX_EXPORT pmix_status_t PMIx_Setenv(const char *name, const char *value, bool overwrite,
                                      char ***env);
#define PMIX_SETENV(r, name, value, env) ((r) = PMIx_Setenv((name), (value), true, (env)))

/* Names that the standard does not have, but libpmix's header does, and programs use. */
#define pmix_argv_count                PMIx_Argv_count
#define pmix_argv_append_nosize        PMIx_Argv_append_nosize
#define pmix_argv_prepend_nosize       PMIx_Argv_prepend_nosize
#define pmix_argv_append_unique_nosize PMIx_Argv_append_unique_nosize
#define pmix_argv_split                PMIx_Argv_split
#define pmix_argv_split_with_empty     PMIx_Argv_split_with_empty
#define pmix_argv_join                 PMIx_Argv_join
#define pmix_argv_copy                 PMIx_Argv_copy
#define pmix_argv_free                 PMIx_Argv_free
#define pmix_setenv                    PMIx_Setenv

/* --- empty ones, as initialisers ---------------------------------------------- */

#define PMIX_PROC_STATIC_INIT        {.nspace = {0}, .rank = PMIX_RANK_UNDEF}
#define PMIX_PROC_INFO_STATIC_INIT                                                    \
    {.proc = PMIX_PROC_STATIC_INIT, .hostname = NULL, .executable_name = NULL, .pid = 0, \
     .exit_code = 0, .state = PMIX_PROC_STATE_UNDEF}
#define PMIX_VALUE_STATIC_INIT       {.type = PMIX_UNDEF, .data = {.ptr = NULL}}
#define PMIX_INFO_STATIC_INIT        {.key = {0}, .flags = 0, .value = PMIX_VALUE_STATIC_INIT}
#define PMIX_LOOKUP_STATIC_INIT \
    {.proc = PMIX_PROC_STATIC_INIT, .key = {0}, .value = PMIX_VALUE_STATIC_INIT}
#define PMIX_APP_STATIC_INIT                                                          \
    {.cmd = NULL, .argv = NULL, .env = NULL, .cwd = NULL, .maxprocs = 0, .info = NULL, \
     .ninfo = 0}
#define PMIX_QUERY_STATIC_INIT       {.keys = NULL, .qualifiers = NULL, .nqual = 0}
#define PMIX_REGATTR_STATIC_INIT \
    {.name = NULL, .string = {0}, .type = PMIX_UNDEF, .description = NULL}
#define PMIX_ENVAR_STATIC_INIT       {.envar = NULL, .value = NULL, .separator = '\0'}
#define PMIX_BYTE_OBJECT_STATIC_INIT {.bytes = NULL, .size = 0}
#define PMIX_DATA_ARRAY_STATIC_INIT  {.type = PMIX_UNDEF, .size = 0, .array = NULL}
#define PMIX_DATA_BUFFER_STATIC_INIT                                                  \
    {.base_ptr = NULL, .pack_ptr = NULL, .unpack_ptr = NULL, .bytes_allocated = 0,    \
     .bytes_used = 0}
#define PMIX_COORD_STATIC_INIT       {.view = PMIX_COORD_VIEW_UNDEF, .coord = NULL, .dims = 0}
#define PMIX_CPUSET_STATIC_INIT      {.source = NULL, .bitmap = NULL}
#define PMIX_TOPOLOGY_STATIC_INIT    {.source = NULL, .topology = NULL}
#define PMIX_GEOMETRY_STATIC_INIT \
    {.fabric = 0, .uuid = NULL, .osname = NULL, .coordinates = NULL, .ncoords = 0}
#define PMIX_DEVICE_DIST_STATIC_INIT                                                  \
    {.uuid = NULL, .osname = NULL, .type = PMIX_DEVTYPE_UNKNOWN, .mindist = 0, .maxdist = 0}
#define PMIX_ENDPOINT_STATIC_INIT \
    {.uuid = NULL, .osname = NULL, .endpt = PMIX_BYTE_OBJECT_STATIC_INIT}
#define PMIX_FABRIC_STATIC_INIT \
    {.name = NULL, .index = 0, .info = NULL, .ninfo = 0, .module = NULL}
#define PMIX_PROC_STATS_STATIC_INIT                                                   \
    {.node = NULL, .proc = PMIX_PROC_STATIC_INIT, .pid = 0, .cmd = NULL, .state = 0,  \
     .time = {0, 0}, .percent_cpu = 0, .priority = 0, .num_threads = 0, .pss = 0,     \
     .vsize = 0, .rss = 0, .peak_vsize = 0, .processor = 0, .sample_time = {0, 0}}
#define PMIX_DISK_STATS_STATIC_INIT                                                   \
    {.disk = NULL, .num_reads_completed = 0, .num_reads_merged = 0,                   \
     .num_sectors_read = 0, .milliseconds_reading = 0, .num_writes_completed = 0,     \
     .num_writes_merged = 0, .num_sectors_written = 0, .milliseconds_writing = 0,     \
     .num_ios_in_progress = 0, .milliseconds_io = 0, .weighted_milliseconds_io = 0}
#define PMIX_NET_STATS_STATIC_INIT                                                    \
    {.net_interface = NULL, .num_bytes_recvd = 0, .num_packets_recvd = 0,             \
     .num_recv_errs = 0, .num_bytes_sent = 0, .num_packets_sent = 0, .num_send_errs = 0}
#define PMIX_NODE_STATS_STATIC_INIT                                                   \
    {.node = NULL, .la = 0, .la5 = 0, .la15 = 0, .total_mem = 0, .free_mem = 0,       \
     .buffers = 0, .cached = 0, .swap_cached = 0, .swap_total = 0, .swap_free = 0,    \
     .mapped = 0, .sample_time = {0, 0}, .diskstats = NULL, .ndiskstats = 0,          \
     .netstats = NULL, .nnetstats = 0}

#ifdef __cplusplus
}
#endif

#endif
