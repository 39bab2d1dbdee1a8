/* resident.h - the resident server's loop: its socket, its clients, and what they say.
 *
 * Who a client is, the kernel says (SO_PEERCRED), or, of one on another host, munge
 * (login.h).  A user's server serves its user and root; the system's, which is root's,
 * serves everybody, and starts, signals and opens nothing for anybody, but for the process
 * behind the request tool, which has become that user before it does.  Messages are PMI-2
 * frames (wire/FORMAT) without an opening exchange; every request has a number (id) that its
 * reply repeats, and replies may overtake each other.
 *
 *   hello           version=1           -> version, uid (as the kernel says), system,
 *                                          pid
 *   job             job pid size host   a launcher runs this job, until the connection
 *                   command tools       ends, or it says job-end; tools: the path of its
 *                                       socket for tools, absent while there is none
 *   job-end         job
 *   name-publish    name port range     fields of pmi2/names.h; job: one that was told of
 *                   persistence job     by its user and runs, or absent: in person
 *   name-unpublish  name job owner      owner: a uid, for root; see registry.h
 *   name-lookup     name job wait       -> value, or miss=1
 *                   timeout
 *   list-names      after               -> up to LIST_ROWS rows behind that serial: n, and
 *                                          serial0 owner0 name0 port0 job0 range0
 *                                          persistence0 since0, serial1 ..., and more=1
 *                                          if these are not all
 *   list-jobs       after               -> likewise: serial owner job pid size host
 *                                          command since
 *   introduce       job                 -> path, secret, answer: of the launcher of that
 *                                          job, if it is the asker's user's
 *   ping
 *   tool            pid                 of a client of another host: what follows is a
 *                                       tool's stream to the launcher of its user that is
 *                                       this process, or that is alone.  No reply, but the
 *                                       first words of pmi2_proxy --tool (pmix_ext/find.h);
 *                                       a refusal is said in the same way
 *
 * A launcher whose job is asked for by introduce is told, without having asked (id=0):
 *
 *   introduce-to    number secret       somebody of your user wants to call: listen; says
 *                   answer              introduced number=N with path, or errmsg
 *
 * The one that calls shows secret, the other answer (mpiexec_lite/foreign.h).
 *
 * A reply is CMD-response with id, rc, and errmsg where rc is not 0.  One turn of the loop
 * takes what has come, commits once, and then sends the replies: what has been answered
 * is on the disk.  A message that cannot be understood ends the connection. */
#ifndef MPIEXEC_LITE_RESIDENT_H
#define MPIEXEC_LITE_RESIDENT_H

#include "wire/err.h"

#include <stdbool.h>

enum { RESIDENT_VERSION = 1, LIST_ROWS = 64 };

struct resident_args {
    bool        system;          /* for every user */
    const char *socket, *state;  /* the socket's path; the folder of the store */
    const char *listen;          /* ADDRESS[:PORT] for other hosts; NULL: no port */
    const char *munge_socket;    /* NULL: the usual one */
    bool        no_tools;        /* no tool can connect */
    bool        no_guests;       /* nor can tools of other hosts */
    bool        public_jobs;     /* the system's: everybody may know of everybody's jobs */
    bool        verbose;
};

struct resident;

/* Everything is there and the socket listens; or NULL and e. */
struct resident *resident_new(const struct resident_args *args, struct err *e);
/* Serve until SIGTERM, SIGINT or SIGHUP.  0; -1: it cannot go on, which has been said. */
int  resident_run(struct resident *r);
void resident_free(struct resident *r);          /* NULL is fine */

#endif
