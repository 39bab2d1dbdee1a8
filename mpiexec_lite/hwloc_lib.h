/* hwloc_lib.h - libhwloc, loaded when it is needed.
 *
 * Only hwloc_*.c and topo_hwloc.c include this, so nothing else knows hwloc; and only a
 * process that looks at a machine loads it, so a plain start does not. */
#ifndef MPIEXEC_LITE_HWLOC_LIB_H
#define MPIEXEC_LITE_HWLOC_LIB_H

#include <hwloc.h>
#include <hwloc/cpukinds.h>

struct hwloc_lib {
    __typeof__(hwloc_topology_init) *init;
    __typeof__(hwloc_topology_destroy) *destroy;
    __typeof__(hwloc_topology_set_flags) *set_flags;
    __typeof__(hwloc_topology_set_io_types_filter) *io;
    __typeof__(hwloc_topology_set_icache_types_filter) *icache;
    __typeof__(hwloc_topology_set_synthetic) *set_synthetic;
    __typeof__(hwloc_topology_set_xmlbuffer) *set_xml;
    __typeof__(hwloc_topology_load) *load;
    __typeof__(hwloc_topology_export_xmlbuffer) *export;
    __typeof__(hwloc_get_obj_by_depth) *object;
    __typeof__(hwloc_topology_get_allowed_cpuset) *allowed;
    __typeof__(hwloc_topology_is_thissystem) *is_here;
    __typeof__(hwloc_bitmap_isset) *isset;
    __typeof__(hwloc_bitmap_alloc) *bitmap;
    __typeof__(hwloc_bitmap_free) *free_bitmap;
    __typeof__(hwloc_cpukinds_get_nr) *kinds;        /* NULL before hwloc 2.4, as is */
    __typeof__(hwloc_cpukinds_get_info) *kind;
};

/* library: NULL, or another libhwloc's path.  NULL, or why not. */
const char *hwloc_lib_load(struct hwloc_lib *lib, const char *library);

#endif
