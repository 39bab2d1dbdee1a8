/* naming_start.h - -nameserver start: the user's resident server, if none runs. */
#ifndef MPIEXEC_LITE_NAMING_START_H
#define MPIEXEC_LITE_NAMING_START_H

#include "wire/err.h"

/* To be called before this process adopts orphans, as the server is to stay.  0: one runs;
 * -1 and e. */
int naming_start(struct err *e);

#endif
