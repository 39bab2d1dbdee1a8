/* spawned_info.h - what the info keys of a command to be spawned say: its own ones, and
 * those of the file that its key `file` names (MPI standard, 11.8.4).
 *
 * The file is text on the launcher's host.  A line is "key = value", with the keys of
 * spawned.h; blanks around both, empty lines and lines that begin with '#' do not count.
 * Lines of env add up; of another key the last one holds.  What the command says itself
 * comes before the file: the same key, and of host, hosts and hostfile any of them.
 * Thread-safe. */
#ifndef MPIEXEC_LITE_SPAWNED_INFO_H
#define MPIEXEC_LITE_SPAWNED_INFO_H

#include "mpiexec_lite/plan.h"
#include "pmi2/spawn.h"
#include "wire/buf.h"

enum spawned_key {
    SPAWNED_HOST, SPAWNED_HOSTS, SPAWNED_HOSTFILE, SPAWNED_WDIR, SPAWNED_PATH, SPAWNED_SOFT,
    SPAWNED_ENV, SPAWNED_BIND, SPAWNED_TIMEOUT, SPAWNED_END_ON_NONZERO,
    SPAWNED_STDIN, SPAWNED_MAP, SPAWNED_RANK, SPAWNED_PSET, SPAWNED_HOLD, SPAWNED_PLACE,
    SPAWNED_DAEMONS, SPAWNED_AGENT, SPAWNED_FILE,
    SPAWNED_KEYS
};

struct spawned_info {
    struct buf value[SPAWNED_KEYS];      /* owned; a text, or empty: not said */
    int        line[SPAWNED_KEYS];       /* of the file; 0: said by the command */
};

enum { SPAWNED_FILE_MAX = 64 << 10 };    /* bytes of such a file: what a command can say too */

/* Read them; keys that mean nothing are added to warnings.  0, or -1 and e: what is wrong
 * with the file, and where.  in is to be cleared either way. */
int  spawned_info_read(struct spawned_info *in, const struct spawn_command *c,
                       struct strlist *warnings, struct err *e);
void spawned_info_clear(struct spawned_info *in);
/* What a key says, or NULL.  Borrowed from in. */
const char *spawned_says(const struct spawned_info *in, enum spawned_key key);
/* A value of that key is wrong, as e says: add where it stands.  -1. */
int  spawned_info_wrong(const struct spawned_info *in, enum spawned_key key, struct err *e);
/* All of a text file that is no pipe or device: these could keep the launcher waiting.
 * 0, or -1 and e. */
int  spawned_read_file(const char *path, struct buf *text, struct err *e);

#endif
