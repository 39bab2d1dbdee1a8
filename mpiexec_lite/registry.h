/* registry.h - what the resident server (pmi2_server) knows: published names and running
 * jobs, and who may do what with them.
 *
 * Identity is a uid that the kernel has proved, and a job of that uid.  A name has an
 * owner (uid and job), a range and a persistence (pmi2/names.h).
 *
 *   seen by       range job: that job; user: its owner; node: everybody
 *   looked up     the job's own first, then the user's, then the node's
 *   published     refused if the same name is there with the same range for the same
 *                 people; so nobody can find out, or take away, another user's names
 *                 but those of range node
 *   taken back    by its owner; while the job that published it runs, by that job, or
 *                 by the owner in person (no job); by root
 *   ends          with its job: persistence job and first-read, and range job.  A job
 *                 of which a name was found in the store, and that does not come back
 *                 within REGISTRY_RETURN seconds, has ended
 *
 * Jobs are seen by their user and root.  They end with the connection (client) of the
 * launcher that has told of them.
 *
 * Pure: no I/O, no clock; what is to be stored goes out by the ops, which never call
 * back.  Not thread-safe. */
#ifndef MPIEXEC_LITE_REGISTRY_H
#define MPIEXEC_LITE_REGISTRY_H

#include "pmi2/names.h"

#include <stdint.h>
#include <sys/types.h>

#define REGISTRY_RETURN 30.0     /* seconds */

enum {
    REGISTRY_JOBS = 4096,        /* of one user */
    REGISTRY_WAITS = 4096,       /* lookups of one user that wait */
    REGISTRY_COMMAND = 512       /* bytes of a job's command that are kept */
};

struct registry;

struct reg_name {
    long long   serial;          /* 1 and up, in order of publication */
    uid_t       owner;
    const char *job, *name, *port;       /* the registry's, as all texts that it gives */
    enum name_range range;
    enum name_persistence persistence;
    int64_t     since;           /* seconds since 1970 */
};

struct reg_job {
    long long   serial;
    uid_t       owner;
    const char *id, *host, *command;
    const char *tools;           /* path of its socket for tools; "": none */
    long        pid, size;
    int64_t     since;
    void       *client;          /* whose connection has told of it */
};

struct reg_who {
    uid_t       uid;
    const char *job;             /* ""; or of that uid, and running (registry_runs) */
};

struct registry_ops {
    /* To be stored, and not any more.  A failure shows at the commit only. */
    void (*store)(void *host, const struct reg_name *n);
    void (*drop)(void *host, long long serial);
    /* A lookup that has waited is over; n NULL: its time has passed. */
    void (*found)(void *host, void *ticket, const struct reg_name *n);
};

/* seed: of the hash, random.  NULL: no memory. */
struct registry *registry_new(const struct registry_ops *ops, void *host, uint64_t seed);
void registry_free(struct registry *r);

/* A name from the store (copied): 0, or -1: no memory.  After the last one:
 * registry_loaded, and the jobs have until then + REGISTRY_RETURN to come back. */
int  registry_load(struct registry *r, const struct reg_name *n);
void registry_loaded(struct registry *r, double now);
/* Forget all names, to load them again. */
void registry_unload(struct registry *r);

/* 0, or -1 and e.  It keeps copies. */
int registry_publish(struct registry *r, const struct reg_who *who, const struct name_want *w,
                     int64_t since, struct err *e);
/* owner: whose name, if it is not the caller's own; (uid_t)-1: not said. */
int registry_unpublish(struct registry *r, const struct reg_who *who, const char *name,
                       uid_t owner, struct err *e);
/* The name, valid until the next call; or NULL.  It may be gone for others. */
const struct reg_name *registry_lookup(struct registry *r, const struct reg_who *who,
                                       const char *name);
/* The same, waiting: found will be called with this ticket, later.  seconds 0: no limit.
 * 0, or -1 and e. */
int  registry_wait(struct registry *r, const struct reg_who *who, const char *name, double now,
                   double seconds, void *ticket, struct err *e);
void registry_cancel(struct registry *r, const void *ticket);

/* A launcher runs this job (copied; its serial is made here).  One of the same id and
 * owner is replaced: its launcher has connected again.  0, or -1 and e. */
int  registry_job(struct registry *r, const struct reg_job *j, struct err *e);
bool registry_runs(const struct registry *r, uid_t owner, const char *id);
/* The client whose launcher runs it; NULL: it does not run. */
void *registry_client(const struct registry *r, uid_t owner, const char *id);
/* The job has ended; of this client only.  id NULL: all of them. */
void registry_job_end(struct registry *r, const void *client, const char *id);

/* When something is due; 0: nothing.  And what is due now. */
double registry_due(const struct registry *r);
void   registry_tick(struct registry *r, double now);

/* Those after that serial that this uid may see in a list, in order, while each says true. */
void registry_each_name(const struct registry *r, uid_t uid, long long after,
                        bool (*each)(void *user, const struct reg_name *n), void *user);
void registry_each_job(const struct registry *r, uid_t uid, long long after,
                       bool (*each)(void *user, const struct reg_job *j), void *user);
size_t registry_names(const struct registry *r);
size_t registry_jobs(const struct registry *r);

#endif
