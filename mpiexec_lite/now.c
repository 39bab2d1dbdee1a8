/* now.c - see now.h */
#include "mpiexec_lite/now.h"

#include <time.h>

double now_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
