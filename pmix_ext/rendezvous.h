/* rendezvous.h - how tools find servers: the entries that servers leave for them.
 *
 * A server that takes tools has, in a folder of rundir.h's, a socket and beside it an entry,
 * a small file of key=value lines:
 *
 *     HOST.PID   a launcher's, or a proxy's, in the user's own folder (or the one that
 *                PMIX_SERVER_TMPDIR names)
 *     HOST.PID.t no entry, but the socket of a tool that launchers are to call
 *     HOST.sys   the system's server's, in root's (or PMIX_SYSTEM_TMPDIR's): one a host
 *
 * The socket has the same name and ".s" behind it.  An entry counts if it is a regular file
 * of the user's own or of root, in a folder where nobody else can write, and if the process
 * that it names lives and began when it says; a stale one is removed by its owner.  Who
 * serves the socket is checked again when one connects (rundir_connect).
 * (pmix_ext/PROTOCOL.md, "Rendezvous".) */
#ifndef PMIX_EXT_RENDEZVOUS_H
#define PMIX_EXT_RENDEZVOUS_H

#include "pmix_ext/rundir.h"

enum { RENDEZVOUS_MOST = 1000, RENDEZVOUS_NAME = 64, RENDEZVOUS_HOST = 65 };

struct rendezvous {
    char      socket[RUNDIR_PATH];       /* its path */
    char      host[RENDEZVOUS_HOST];
    char      nspace[RENDEZVOUS_NAME];   /* the server's name: of a launcher its job's id */
    pid_t     pid;
    unsigned long long start;            /* of that process, in clock ticks since boot */
    uid_t     uid;
    gid_t     gid;
    long long created;                   /* seconds since 1970 */
    bool      system;
    bool      resident;                  /* a pmi2_server's: it runs no ranks */
};

/* The folder for entries of this kind, made if it is a user's.  0, or -1 and e. */
int rendezvous_folder(bool system, char *path, size_t size, struct err *e);
/* The paths of an entry and of its socket in a folder.  0, or -1 and e: too long. */
int rendezvous_paths(const char *folder, const char *host, pid_t pid, bool system,
                     char entry[RUNDIR_PATH], char socket[RUNDIR_PATH], struct err *e);
/* The path of the socket on which this process, a tool, is called by launchers that it has
 * started: HOST.PID.t.  0, or -1 and e. */
int rendezvous_calls(const char *folder, pid_t pid, char path[RUNDIR_PATH], struct err *e);
/* Leave this entry; it is there at once and whole.  Fills start, uid, gid and created.
 * 0, or -1 and e; an entry of this name whose server lives is not replaced. */
int rendezvous_write(struct rendezvous *r, const char *entry, struct err *e);
/* The same, once it is written, into a file of another name, where somebody expects it.  What
 * is there, or under the name with .new behind it, is replaced only if it is an empty file of
 * ours, or the entry of a server that has ended; nothing is followed. */
int rendezvous_give(const struct rendezvous *r, const char *file, struct err *e);
/* Remove that, if it is still the entry of this process. */
void rendezvous_take_back(const char *file, pid_t pid);
/* Remove the entry and socket of a launcher on this host that has ended. */
void rendezvous_sweep(pid_t pid);
/* Remove the entries and sockets of our own launchers on this host that were killed together
 * with whoever would have swept; and their private folders (rundir.h). */
void rendezvous_tidy(void);
/* Its process lives, and is still the same. */
bool rendezvous_lives(const struct rendezvous *r);
/* Its parent, or 0. */
pid_t rendezvous_parent_of(pid_t pid);
/* When a process began, in clock ticks since boot; 0: there is no such. */
unsigned long long rendezvous_start_of(pid_t pid);
/* One entry, whatever its name: 1; 0: there is none; -1 and e: there is one, but it cannot
 * be trusted, or makes no sense. */
int rendezvous_read(const char *entry, struct rendezvous *r, struct err *e);
/* Live servers of this kind on this host, as they are found in that folder (NULL: the one that
 * the environment names, or the usual one), at most RENDEZVOUS_MOST, in order of creation;
 * *list is malloc'ed, or NULL.  Their number, or -1 and e. */
int rendezvous_list(bool system, const char *folder, struct rendezvous **list, struct err *e);

#endif
