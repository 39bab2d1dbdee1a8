/* soft.h - numbers of processes that will do (MPI standard, 11.8.4 and 11.5: -soft and the
 * info key soft): "1,4,10:20:2"; a:b:c is a, a+c, a+2c ... not beyond b.  No I/O. */
#ifndef MPIEXEC_LITE_SOFT_H
#define MPIEXEC_LITE_SOFT_H

#include "wire/err.h"

/* The largest number of the list that is at most max; -1 and e: none, or it makes no
 * sense. */
int soft_largest(const char *list, int max, struct err *e);

#endif
