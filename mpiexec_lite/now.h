/* now.h - the time, for everything that waits. */
#ifndef MPIEXEC_LITE_NOW_H
#define MPIEXEC_LITE_NOW_H

/* Seconds of a clock that only goes forward and that nobody sets. */
double now_seconds(void);

/* The earlier one of two times, of which 0 is never. */
static inline double earlier(double a, double b)
{
    if (!(a > 0))
        return b;
    return b > 0 && b < a ? b : a;
}

#endif
