/* hwloc_xml.c - see hwloc_xml.h */
#include "mpiexec_lite/hwloc_xml.h"

#include "mpiexec_lite/hwloc_child.h"
#include "mpiexec_lite/hwloc_lib.h"

#include <errno.h>
#include <string.h>

/* NULL, or why not.  What is allocated goes with the process. */
static const char *export(int xml, const void *library)
{
    hwloc_topology_t topology;
    struct hwloc_lib lib;
    const char *why = hwloc_lib_load(&lib, library);
    char *text;
    int len;

    if (why)
        return why;
    if (lib.init(&topology) < 0 || lib.io(topology, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
        lib.load(topology) < 0 || lib.export(topology, &text, &len, 0) < 0)
        return "hwloc does not understand this machine";
    if (len && !text[len - 1])           /* len counts the NUL */
        len--;
    return hwloc_child_write(xml, text, (size_t)len) < 0 ? strerror(errno) : NULL;
}

_Noreturn void hwloc_xml_run(int xml, int say, const char *library, pid_t parent)
{
    hwloc_child_run(xml, say, parent, export, library);
}
