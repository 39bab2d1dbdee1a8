/* hwloc_lib.c - see hwloc_lib.h */
#include "mpiexec_lite/hwloc_lib.h"

#include <dlfcn.h>
#include <string.h>

const char *hwloc_lib_load(struct hwloc_lib *lib, const char *library)
{
    const struct { const char *name; void *to; } symbols[] = {
        { "hwloc_cpukinds_get_nr", &lib->kinds },        /* these two may be missing */
        { "hwloc_cpukinds_get_info", &lib->kind },
        { "hwloc_topology_init", &lib->init },
        { "hwloc_topology_destroy", &lib->destroy },
        { "hwloc_topology_set_flags", &lib->set_flags },
        { "hwloc_topology_set_io_types_filter", &lib->io },
        { "hwloc_topology_set_icache_types_filter", &lib->icache },
        { "hwloc_topology_set_synthetic", &lib->set_synthetic },
        { "hwloc_topology_set_xmlbuffer", &lib->set_xml },
        { "hwloc_topology_load", &lib->load },
        { "hwloc_topology_export_xmlbuffer", &lib->export },
        { "hwloc_get_obj_by_depth", &lib->object },
        { "hwloc_topology_get_allowed_cpuset", &lib->allowed },
        { "hwloc_topology_is_thissystem", &lib->is_here },
        { "hwloc_bitmap_isset", &lib->isset },
        { "hwloc_bitmap_alloc", &lib->bitmap },
        { "hwloc_bitmap_free", &lib->free_bitmap },
    };
    /* Its plugins, for PCI and full XML, use its names without being linked to it. */
    void *so = dlopen(library ? library : "libhwloc.so.15", RTLD_NOW | RTLD_GLOBAL);

    for (size_t i = 0; so && i < sizeof symbols / sizeof *symbols; i++) {
        void *at = dlsym(so, symbols[i].name);

        if (!at && i >= 2)
            return dlerror();
        memcpy(symbols[i].to, &at, sizeof at);   /* an object pointer for a function's */
    }
    return so ? NULL : dlerror();
}
