/* usage.c - see usage.h */
#include "mpiexec_lite/usage.h"

#include <stdio.h>

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
