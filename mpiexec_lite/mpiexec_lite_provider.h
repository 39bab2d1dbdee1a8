/* mpiexec_lite_provider.h - what a shared object exports to be a set-up provider of
 * mpiexec_lite.  See mpiexec_lite-providers(7).
 *
 * For every hook of a job on a node the function is called with one JSON object, as text,
 * and returns another, malloc'ed, which the caller frees; NULL is the same as "{}", all is
 * well.  It runs in a process of its own, with one thread, and may block; a call that takes
 * longer than its time-out is ended with the process. */
#ifndef MPIEXEC_LITE_PROVIDER_H
#define MPIEXEC_LITE_PROVIDER_H

#ifdef __cplusplus
extern "C"
#endif
__attribute__((visibility("default"))) char *mpiexec_lite_provider(const char *request);

#endif
