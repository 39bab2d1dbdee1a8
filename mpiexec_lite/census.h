/* census.h - what a server says of the ranks of a job on its node, as records: who runs, and
 * what their processes use.  Numbers are little-endian.  Pure, but for crew_census. */
#ifndef MPIEXEC_LITE_CENSUS_H
#define MPIEXEC_LITE_CENSUS_H

#include "mpiexec_lite/crew.h"
#include "pmix_ext/facts.h"

enum census_kind {
    CENSUS_RANK,                 /* of a rank that runs */
    CENSUS_PROGRAM,              /* of a block: what is executed here, as an absolute path */
    CENSUS_SERVER                /* of the server itself: usage.rss */
};

struct census {
    enum census_kind kind;
    int    index;                /* rank; block; 0 */
    pid_t  pid;
    enum pmi_phase pmi;
    bool   used;                 /* usage is there */
    struct fact_usage usage;
    const char *path;            /* CENSUS_PROGRAM; in the record, not terminated */
    size_t path_len;
};

void census_add(struct buf *out, const struct census *x);
/* Take the first one off data: 1; 0: none is left; -1 and e. */
int  census_next(const char **data, size_t *len, struct census *x, struct err *e);

/* Append the records of a crew; cwd: the directory that its programs' are relative to. */
void crew_census(struct crew *c, const char *cwd, bool usage, struct buf *out);
/* The program of a block as an absolute path without links, malloc'ed; NULL: it is not
 * known here. */
char *crew_path(const struct crew *c, size_t app, const char *cwd);

/* What a process uses; false: it is not there. */
bool process_usage(pid_t pid, struct fact_usage *out);

#endif
