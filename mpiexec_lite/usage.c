/* usage.c - see usage.h */
#include "mpiexec_lite/usage.h"

#include <stdio.h>
#include <sys/resource.h>

long usage_peak_kib(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    long kib = 0;

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib;
}

double usage_cpu(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}
