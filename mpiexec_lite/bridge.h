/* bridge.h - pmi2_proxy --tool: a tool of another host calls a server here, by ssh. */
#ifndef MPIEXEC_LITE_BRIDGE_H
#define MPIEXEC_LITE_BRIDGE_H

#include <sys/types.h>

/* Find the server of this pid (0: the one that a tool without a word about it finds), and
 * be its stream to stdin and stdout until one of them ends.  The exit status. */
int bridge_run(pid_t pid);

#endif
