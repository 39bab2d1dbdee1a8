/* info.h - what is known of ranks, jobs, programs and nodes under the keys that the PMIx
 * standard reserves for it (PMIX_JOB_SIZE, PMIX_LOCAL_RANK, PMIX_NODE_LIST, ...).
 *
 * Each key is of a realm: of a rank, of a program (app), of a node, of a job, or of all that
 * this launcher has (session).  Who asks says of which one: what is about a rank needs one,
 * and does not answer for "all ranks" (PMIX_HOSTNAME is a host's name, never a list).
 * Nothing here waits: what only another node's server knows is not found. */
#ifndef PMIX_EXT_INFO_H
#define PMIX_EXT_INFO_H

#include "pmix_ext/facts.h"
#include "pmix_ext/pmix_ext_keys.h"
#include "wire/buf.h"

struct ext;

enum info_realm { INFO_RANK, INFO_APP, INFO_NODE, INFO_JOB, INFO_SESSION, INFO_REALMS };

/* What a key is asked of. */
struct info_of {
    struct fact_job job;         /* of == NULL: no job */
    pmix_rank_t rank;            /* or PMIX_RANK_WILDCARD: of the job; UNDEF: not said */
    int  node;                   /* -1: that of the rank; or else of who asks */
    int  app;                    /* -1: that of the rank; or else the first */
    int  viewer;                 /* node of who asks; -1: it is on none with ranks */
    enum info_realm realm;       /* a key that two realms have: which is meant; INFO_REALMS:
                                    not said */
    const struct fact_seen *seen;    /* what a survey has found of the rank; NULL: nothing */
};

/* Begin with nothing but the job of that name: false: there is none. */
bool info_of_job(struct ext *x, const char *nspace, struct info_of *out);

/* The same of the record of a job that has ended. */
bool info_of_ended(struct ext *x, const char *nspace, struct info_of *out);
/* Begin with that job, whichever it is. */
void info_of_fact(const struct fact_job *job, struct info_of *out);

/* PMIX_SUCCESS and *value, which is the caller's (value_clear(PMIX_VALUE, value)); else
 * PMIX_ERR_NOT_FOUND: it is not known, or not a key of such; PMIX_ERR_NOMEM. */
pmix_status_t info_get(struct ext *x, const struct info_of *of, const char *key,
                       pmix_value_t *value);

/* A row of the table of keys. */
struct info_key {
    const char       *key;       /* NULL: the end */
    unsigned          realms;    /* OR of 1 << realm */
    pmix_data_type_t  type;
    bool              alone;     /* it needs no job */
    bool              list;      /* a list of numbers: of several nodes it is one list, too */
    bool              seen;      /* a survey is needed for ranks of other nodes */
    pmix_status_t   (*get)(struct ext *x, const struct info_of *of, pmix_value_t *value);
};
extern const struct info_key info_keys[];
const struct info_key *info_key(const char *key);        /* or NULL */

/* The node of a rank; -1: the job has no such rank. */
int info_node_of(struct ext *x, const struct fact_job *job, pmix_rank_t rank);
/* A node's number by its name; -1: there is none. */
int info_node_named(struct ext *x, const char *name);
/* The node that this server is on; -1: one without ranks. */
int info_node_here(struct ext *x);
/* By node: whether ranks of the job are there, or (NULL) of any; malloc'ed, *n of them.
 * NULL: no memory. */
bool *info_nodes(struct ext *x, const struct fact_job *job, size_t *n);
/* Append, with commas, the names of these nodes. */
void info_node_names(struct ext *x, const bool *which, size_t n, struct buf *out);
/* The program of a rank. */
int info_app_of(struct ext *x, const struct fact_job *job, pmix_rank_t rank, struct fact_app *out);

#endif
