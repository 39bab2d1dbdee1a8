/* flux.h - the nodes of a job of Flux, which its environment does not name: flux(1) is asked
 * for the job's resource set (RFC 20 of the Flux framework, "R"). */
#ifndef MPIEXEC_LITE_FLUX_H
#define MPIEXEC_LITE_FLUX_H

#include "mpiexec_lite/hosts.h"

enum { FLUX_PATIENCE = 10 };         /* seconds to wait for flux(1) */

/* What the words print, which runs a program of PATH, is such a set: add its nodes, with their
 * cores as slots.  0, or -1 and e. */
int flux_ask(struct hosts *h, char *const *words, char *const *envp, struct err *e);
/* Add the nodes of this text.  0, or -1 and e. */
int flux_add(struct hosts *h, const char *text, struct err *e);

#endif
