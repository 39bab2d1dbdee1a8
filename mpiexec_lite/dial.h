/* dial.h - a proxy that calls back: dial, log in, and be a plain stream to it. */
#ifndef MPIEXEC_LITE_DIAL_H
#define MPIEXEC_LITE_DIAL_H

struct dial_args {
    const char *addresses;           /* "ADDRESS:PORT[,...]": the first that answers */
    const char *job;
    int         position;
    const char *munge_socket;        /* NULL: the usual one */
};

/* Fork a process that connects `stream` (one end of a socket pair; `other` is the
 * caller's) with the launcher; it ends with either.  Its pid, or -1 and errno. */
int dial_start(const struct dial_args *args, int stream, int other);

#endif
