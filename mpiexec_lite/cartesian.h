/* cartesian.h - where hosts are in a Cartesian network, as a file of the user's says:
 *
 *     # four by two
 *     dims   4,2
 *     node0  0,0
 *     node1  1,0
 *
 * Hosts that the job does not have are passed over; hosts of the job that the file does
 * not have get no coordinates.  No I/O. */
#ifndef MPIEXEC_LITE_CARTESIAN_H
#define MPIEXEC_LITE_CARTESIAN_H

#include "mpiexec_lite/hosts.h"

enum { CARTESIAN_DIMS_MAX = 16 };

/* Give the plan of h its dims, and its hosts their coords, from the text of a file.  0, or
 * -1 and e, which begins with the file's name and the line. */
int cartesian_read(struct hosts *h, const char *text, const char *file, struct err *e);

#endif
