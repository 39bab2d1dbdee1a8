/* stage.h - pmi2_proxy for a host that has none (-stage-proxy). */
#ifndef MPIEXEC_LITE_STAGE_H
#define MPIEXEC_LITE_STAGE_H

#include "wire/buf.h"

/* Read the program that lies beside this one, or this one, into program, and put the
 * shell words that receive it (spread.h) into words.  0, or -1 and e. */
int stage_read(struct buf *program, struct buf *words, struct err *e);

/* The path of pmi2_proxy beside this program, in size bytes; -1: it is too long. */
int stage_beside(char *path, size_t size);

#endif
