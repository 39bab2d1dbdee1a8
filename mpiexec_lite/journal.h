/* journal.h - where pmix-log goes beside the launcher's own output: the system's log, and,
 * with -log-dir DIR, files of JSON lines in that folder: JOBID.record for what is said about
 * a job, "store" for all jobs.
 *
 * Nothing blocks: a log daemon that does not read misses messages.  Files are ours, not
 * reached through a link, mode 0600, and grow to JOURNAL_MOST bytes. */
#ifndef MPIEXEC_LITE_JOURNAL_H
#define MPIEXEC_LITE_JOURNAL_H

#include <stddef.h>

#define JOURNAL_MOST ((long long)256 << 20)

/* All: 0, or an errno; ENOTSUP: there is no such place. */
int journal_syslog(int priority, const char *text, size_t len);
/* name NULL: the store.  dir NULL: there is none. */
int journal_write(const char *dir, const char *name, const char *line, size_t len);

#endif
