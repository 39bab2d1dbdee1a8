/* census.h - what a server says of the ranks of a job on its node, as records: who runs, and
 * what their processes use.  Numbers are little-endian.  Pure, but for crew_census. */
#ifndef MPIEXEC_LITE_CENSUS_H
#define MPIEXEC_LITE_CENSUS_H

#include "mpiexec_lite/crew.h"
#include "pmix_ext/facts.h"

enum census_kind {
    CENSUS_RANK,                 /* of a rank that runs */
    CENSUS_PROGRAM,              /* of a block: what is executed here, as an absolute path */
    CENSUS_SERVER,               /* of the server itself: usage.rss */
    CENSUS_STACK,                /* where a rank is, as in pmix_ext/calltree.h */
    CENSUS_NO_STACK              /* why that cannot be said */
};

struct census {
    enum census_kind kind;
    int    index;                /* rank; block; 0 */
    pid_t  pid;
    enum pmi_phase pmi;
    bool   held;                 /* it waits to be let go on */
    bool   used;                 /* usage is there */
    struct fact_usage usage;
    const char *text;            /* the path of a program, or what is said of a stack; in the
                                    record, not terminated */
    size_t text_len;
};

void census_add(struct buf *out, const struct census *x);
/* Take the first one off data: 1; 0: none is left; -1 and e. */
int  census_next(const char **data, size_t *len, struct census *x, struct err *e);

/* Append the records of a crew; cwd: the directory that its programs' are relative to. */
void crew_census(struct crew *c, const char *cwd, bool usage, struct buf *out);
/* The processes of its ranks, for stacker.h: their number. */
size_t crew_pids(const struct crew *c, pid_t *pids);     /* room for c->n */
/* Append the records of their stacks, from what the stacker's process has written: each rank
 * that runs has one. */
void crew_stacks(const struct crew *c, const char *data, size_t len, struct buf *out);
/* The program of a block as an absolute path without links, malloc'ed; NULL: it is not
 * known here. */
char *crew_path(const struct crew *c, size_t app, const char *cwd);

/* What a process uses; false: it is not there. */
bool process_usage(pid_t pid, struct fact_usage *out);

#endif
