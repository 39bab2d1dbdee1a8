/* usage.h - what this process has used. */
#ifndef MPIEXEC_LITE_USAGE_H
#define MPIEXEC_LITE_USAGE_H

/* Peak resident memory in KiB (VmHWM of /proc/self/status; 0 if unknown).  Not
 * getrusage, which also counts what the process was before exec. */
long usage_peak_kib(void);

/* Processor time of this process so far, user and system, in seconds. */
double usage_cpu(void);

#endif
