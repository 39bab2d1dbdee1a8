/* ports.c - see ports.h */
#include "mpiexec_lite/ports.h"

#include <errno.h>
#include <sys/socket.h>

int ports_bind(int fd, const struct port_range *range, struct sockaddr_in *me)
{
    int low = range ? range->low : 0, high = range ? range->high : 0;
    socklen_t len = sizeof *me;
    int rc = -1;

    for (int port = low; rc < 0 && port <= high; port++) {
        me->sin_port = htons((uint16_t)port);
        rc = bind(fd, (struct sockaddr *)me, sizeof *me);
        if (rc < 0 && errno != EADDRINUSE)
            return -1;
    }
    return rc < 0 ? -1 : getsockname(fd, (struct sockaddr *)me, &len);
}
