/* ports.h - the TCP ports that a user lets us listen at (MPIEXEC_PORT_RANGE). */
#ifndef MPIEXEC_LITE_PORTS_H
#define MPIEXEC_LITE_PORTS_H

#include "mpiexec_lite/plan.h"

#include <netinet/in.h>

/* Bind a socket to the address of me and a free port of the range (NULL, or 0 to 0: any);
 * me gets the port.  0, or -1 and errno: EADDRINUSE when all are taken. */
int ports_bind(int fd, const struct port_range *range, struct sockaddr_in *me);

#endif
