/* registry_impl.h - what the registry's source files share: registry.c (who may do what),
 * registry_table.c (names by name), registry_jobs.c (jobs, and what comes back from the
 * store). */
#ifndef MPIEXEC_LITE_REGISTRY_IMPL_H
#define MPIEXEC_LITE_REGISTRY_IMPL_H

#include "mpiexec_lite/registry.h"

#include <sys/queue.h>

struct name {
    struct reg_name n;                   /* its texts lie behind this struct */
    TAILQ_ENTRY(name)  in_all;           /* by serial */
    struct name *next;                   /* of the same hash */
};
TAILQ_HEAD(names, name);

struct job {
    struct reg_job j;                    /* likewise */
    TAILQ_ENTRY(job) in_all;
};
TAILQ_HEAD(jobs, job);

struct wait {
    struct reg_who who;                  /* who.job and name lie behind this struct */
    const char    *name;
    double         until;                /* 0: no limit */
    void          *ticket;
    TAILQ_ENTRY(wait) in_all;
};
TAILQ_HEAD(waits, wait);

struct registry {
    const struct registry_ops *ops;
    void        *host;
    uint64_t     seed;
    struct names names;
    struct jobs  jobs;
    struct waits waits;
    struct name **table;                 /* owned */
    size_t       slots, nnames, njobs;
    long long    serial;                 /* the last one */
    double       return_by;              /* when lost jobs are given up; 0: none is */
    struct name *last;                   /* owned: looked up and gone; or NULL */
};

/* Copy a text to *at, which moves on. */
const char *registry_put_text(char **at, const char *text);
int         registry_no_memory(struct err *e);

/* registry_table.c */
struct name *registry_name_new(const struct reg_name *from);
/* 0, or -1: no memory. */
int          registry_add(struct registry *r, struct name *x);
/* All of that hash, by next. */
struct name *registry_first(const struct registry *r, const char *name);
/* It is gone, but its texts are valid until the next call. */
void         registry_drop(struct registry *r, struct name *x);
/* What was lent by the last call is not valid any more. */
void         registry_forget_last(struct registry *r);

/* registry_jobs.c: jobs that have not come back have ended. */
void registry_drop_lost(struct registry *r);

#endif
