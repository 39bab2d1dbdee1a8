/* rundir.h - where the resident server (pmi2_server) is found, and folders that nobody
 * else can put something into.
 *
 *     a user's     $XDG_RUNTIME_DIR/pmi2_server/socket, or /run/user/UID/..., or
 *                  /tmp/pmi2_server-UID/socket
 *     the system's /run/pmi2_server/socket
 *
 * A folder counts only if it is the user's own (or root's), no symbolic link, and no other
 * can write to it; so a socket in it is the user's or root's. */
#ifndef PMIX_EXT_RUNDIR_H
#define PMIX_EXT_RUNDIR_H

#include "wire/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { RUNDIR_PATH = 108 };          /* what a socket's address has room for */

#define RUNDIR_SYSTEM "/run/pmi2_server"

/* The folder for the socket of a server that is to be started; it is made.  0, or -1 and
 * e. */
int  rundir_make(bool system, char *path, size_t size, struct err *e);
/* A new folder, empty and ours alone, for a file "socket".  0, or -1 and e. */
int  rundir_private(char *path, size_t size, struct err *e);
/* Remove such folders of this process, which was killed. */
void rundir_sweep(pid_t pid);
/* Remove such folders of processes that are gone, with whoever would have swept.  Looks where
 * rundir_private would make one now. */
void rundir_tidy(void);
/* A folder that belongs to us, with this mode, made if it is not there; one that is there
 * must be ours and may have less.  0, or -1 and e. */
int  rundir_check(const char *path, mode_t mode, struct err *e);
/* A folder, no link, that is ours (or root's), and that nobody else can write to. */
bool rundir_is_safe(const char *path, bool roots_too);
/* The user's own folder, or the system's, where it is there; "" where it is not. */
void rundir_folder(bool system, char *path, size_t size);
/* The socket of the user's server, or else of the system's.  False: there is none. */
bool rundir_find(char *path, size_t size);
/* Connect to such a socket, without blocking, if a process of our own uid or of root
 * serves it.  The descriptor, or -1 and e. */
int  rundir_connect(const char *path, struct err *e);
/* Likewise for a tool that was told of this socket: root may look at the jobs of any user, and
 * then talks to a server of that user. */
int  rundir_connect_told(const char *path, struct err *e);

#endif
