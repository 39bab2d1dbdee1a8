/* data.h - values that the ranks of one job have put, each for itself.
 *
 * A put is seen by nobody until its rank commits.  Values are kept as text and never
 * looked into.  Pure; not thread-safe. */
#ifndef PMIX_EXT_DATA_H
#define PMIX_EXT_DATA_H

#include "pmix_ext/pmix_ext_common.h"
#include "wire/err.h"

struct data;

enum {
    DATA_STAGED = 32 << 20,              /* bytes of one rank that wait for its commit: the
                                            longest value, and others */
    DATA_BYTES = 512 << 20               /* of a job, committed */
};

struct datum {
    const char  *text;                   /* valid until the next commit */
    size_t       len;
    pmix_scope_t scope;
    int          rank;                   /* whose it is */
    unsigned     serial;                 /* of this value: a later one has another */
};

/* seed: of a hash, random.  NULL: no memory. */
struct data *data_new(uint64_t seed, int size);
void data_free(struct data *d);          /* NULL is fine */

/* 0, or -1 and e: no memory, or over a limit.  The key has 1 to PMIX_MAX_KEYLEN bytes. */
int  data_put(struct data *d, int rank, const char *key, pmix_scope_t scope, const char *text,
              size_t len, struct err *e);
/* What the rank has put since its last commit is there from now on.  0, or -1 and e: some of
 * it is. */
int  data_commit(struct data *d, int rank, struct err *e);
bool data_committed(const struct data *d, int rank);     /* at least once */
int  data_committers(const struct data *d);      /* ranks that have */

/* False: there is no such value. */
bool data_get(const struct data *d, int rank, const char *key, struct datum *out);

#endif
