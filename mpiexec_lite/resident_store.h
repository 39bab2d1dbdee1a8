/* resident_store.h - published names on disk, so that they outlive the resident server:
 * SQLite, write-ahead log, in a folder of this machine.
 *
 * What is changed takes effect at the commit, of which there is one a loop turn; whoever
 * has been told that his name is published is told after it.  One process has the folder
 * at a time.  Not thread-safe. */
#ifndef MPIEXEC_LITE_RESIDENT_STORE_H
#define MPIEXEC_LITE_RESIDENT_STORE_H

#include "mpiexec_lite/registry.h"

struct store;

/* folder: exists, and only its owner can write to it.  Refused on a file system of
 * another machine.  NULL and e. */
struct store *store_open(const char *folder, struct err *e);
void          store_close(struct store *s);      /* NULL is fine */

/* All names, in order of publication: 0, or -1 and e (or `each` said -1). */
int  store_load(struct store *s, int (*each)(void *user, const struct reg_name *n), void *user,
                struct err *e);
/* What fails here fails the commit. */
void store_add(struct store *s, const struct reg_name *n);
void store_remove(struct store *s, long long serial);
/* Nothing has been changed since the last commit. */
bool store_is_clean(const struct store *s);
/* 0: it is on the disk.  -1 and e: all changes since the last one are undone. */
int  store_commit(struct store *s, struct err *e);

#endif
