/* now.h - the time, for everything that waits. */
#ifndef MPIEXEC_LITE_NOW_H
#define MPIEXEC_LITE_NOW_H

/* Seconds of a clock that only goes forward and that nobody sets. */
double now_seconds(void);

#endif
