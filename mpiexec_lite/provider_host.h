/* provider_host.h - the process that a set-up provider runs in: `PROGRAM --run-provider PATH`.
 *
 * A server starts its own program once more for each provider, so that no foreign code, and
 * no look at a file system that may hang, is ever in the server; what was executed anew has
 * none of the server's memory either.  The provider is checked, and then
 *
 *     an executable      takes the place of this process, and reads and writes the lines
 *     a shared object    is opened, and mpiexec_lite_provider() called for each line
 *
 * with an environment of PATH and LC_ALL only, in "/", without descriptors beside 0, 1 and 2,
 * without blocked or ignored signals, and without core files. */
#ifndef MPIEXEC_LITE_PROVIDER_HOST_H
#define MPIEXEC_LITE_PROVIDER_HOST_H

/* Returns the exit status, if it returns.  What is wrong is said as an answer on stdout. */
int provider_host_run(const char *path);

#endif
