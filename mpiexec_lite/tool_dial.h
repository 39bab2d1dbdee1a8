/* tool_dial.h - pmi2_proxy --dial: a tool here calls a pmi2_server of another host, by munge. */
#ifndef MPIEXEC_LITE_TOOL_DIAL_H
#define MPIEXEC_LITE_TOOL_DIAL_H

/* Log in there ("HOST:PORT", naming_far.h), and carry what stdin, a socket, says and is told,
 * until one of them ends.  That it cannot is said on stdout as bridge.h says it.  The exit
 * status. */
int tool_dial_run(const char *where, const char *munge_socket);

#endif
