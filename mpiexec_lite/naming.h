/* naming.h - the launcher's line to a resident server (pmi2_server): its jobs are told
 * there, and name commands are carried out there.  The messages are resident.h's.
 *
 * Nothing here waits: what is asked is answered later by name_done (pmi2/server.h), in
 * NAMING_PATIENCE seconds at most but for a lookup that waits while the server lives.  A
 * server that is lost is looked for again and again, and told about the jobs again.  What
 * it was asked and has not answered is an error then, or, if it was a lookup, is asked
 * again.  Not thread-safe. */
#ifndef MPIEXEC_LITE_NAMING_H
#define MPIEXEC_LITE_NAMING_H

#include "pmi2/server.h"

#include <sys/types.h>

#define NAMING_PATIENCE 5.0          /* seconds */

struct ev_loop;
struct naming;

struct naming_job {                  /* all borrowed; copied */
    const char *id, *host, *command;
    pid_t       pid;
    int         size;
};

struct naming_args {                 /* borrowed */
    const char *where;               /* the path of a socket; or HOST:PORT */
    const char *munge_socket;        /* for the latter; NULL: the usual one */
    int         interrupt;           /* a descriptor: when it is readable, naming_new waits
                                        no longer; -1: none */
    void      (*tell)(void *host, const char *text);         /* a line for the user */
    void       *host;
};

/* Connect.  Only this waits, and only for a server of another host.  NULL and e. */
struct naming *naming_new(struct ev_loop *loop, const struct naming_args *args, struct err *e);
/* What was asked is not answered any more.  NULL is fine. */
void naming_free(struct naming *n);

/* 0, or -1: no memory. */
int  naming_add_job(struct naming *n, const struct naming_job *j);
/* The launcher of this job has a socket for tools now: there. */
void naming_set_tools(struct naming *n, const char *id, const char *path);
void naming_end_job(struct naming *n, const char *id);

/* Host operation name of the core. */
void naming_ask(struct naming *n, struct name_ask *a);

/* Introductions (resident.h), for whom the rest here does not care: messages about them
 * are handed to take, which returns -1 and e if they make no sense. */
void naming_introduces(struct naming *n,
                       int (*take)(void *host, const struct msg *m, struct err *e), void *host);
/* Begin such a message, *id: its number; NULL: the server is not there.  And send it. */
struct msg *naming_begin(struct naming *n, const char *cmd, long long *id);
void naming_send(struct naming *n);

#endif
