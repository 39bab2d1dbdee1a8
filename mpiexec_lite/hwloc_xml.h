/* hwloc_xml.h - this machine as hwloc's XML, by a process of its own.
 *
 * hwloc takes tens of milliseconds and loads plugins of others; so a child does it, which
 * alone opens the library. */
#ifndef MPIEXEC_LITE_HWLOC_XML_H
#define MPIEXEC_LITE_HWLOC_XML_H

#include <sys/types.h>

enum { HWLOC_XML_WHY = 200 };            /* bytes of a reason, NUL included */

/* In a child of `parent`: write the XML to descriptor xml, then one byte '+' to say, or
 * instead of it why that did not work.  library: NULL, or another libhwloc's path. */
_Noreturn void hwloc_xml_run(int xml, int say, const char *library, pid_t parent);

#endif
