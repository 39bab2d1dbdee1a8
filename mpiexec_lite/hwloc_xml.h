/* hwloc_xml.h - this machine as hwloc's XML, by a process of its own (hwloc_child.h). */
#ifndef MPIEXEC_LITE_HWLOC_XML_H
#define MPIEXEC_LITE_HWLOC_XML_H

#include <sys/types.h>

/* In a child of `parent`: write the XML to descriptor xml, then one byte '+' to say, or
 * instead of it why that did not work.  library: NULL, or another libhwloc's path. */
_Noreturn void hwloc_xml_run(int xml, int say, const char *library, pid_t parent);

#endif
