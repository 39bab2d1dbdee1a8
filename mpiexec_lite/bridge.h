/* bridge.h - the stream of a tool of another host to a server here: of one that calls by ssh
 * (pmi2_proxy --tool), or by munge (pmi2_server, resident_guest.c). */
#ifndef MPIEXEC_LITE_BRIDGE_H
#define MPIEXEC_LITE_BRIDGE_H

#include <sys/types.h>

/* Find the server of this pid (0: the one that a tool without a word about it finds), and
 * be its stream to stdin and stdout until one of them ends.  The exit status. */
int bridge_run(pid_t pid);
/* The same with the server at this socket, if it is our own user's or root's. */
int bridge_run_to(const char *socket);

#endif
