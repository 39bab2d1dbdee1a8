/* pmix_ext_daemon.h - what the daemons of a tool say to each other: barrier, broadcast, gather
 * and scatter over the set that one spawn has started (PMIX_DEBUGGER_DAEMONS).
 *
 * A set is a job of its own, with ranks from 0 to its size; rank 0 mostly speaks for it.  All is
 * built on PMIx_Put, PMIx_Fence and PMIx_Get, so it works over any number of nodes and opens no
 * port.  It is meant for what a tool does at its start and now and then, as LaunchMON's back ends
 * do: each call is a fence, and what was said stays in the job's key-value space until it ends.  A
 * piece has at most 16 MiB.
 *
 * Daemons outlive their target, so that they can say what they have seen: they end by themselves
 * (PMIX_EVENT_JOB_END of the target tells when), or with their tool's connection.
 *
 * Every daemon of the set has to make the same calls in the same order; a call returns when all
 * are in it.  Each returns PMIX_SUCCESS or the status of what has failed; then the set is of no
 * use any more.  Not thread-safe: one thread makes them.  Link with -lpmix_ext. */
#ifndef PMIX_EXT_DAEMON_H
#define PMIX_EXT_DAEMON_H

#include "pmix_ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pmix_daemon {
    pmix_proc_t me;              /* its rank in the set */
    uint32_t    size;            /* daemons */
    pmix_proc_t target;          /* the job that they look after (rank PMIX_RANK_WILDCARD); nspace
                                    "": of none */
    unsigned    calls;           /* so far: the same everywhere */
};

static inline pmix_status_t pmix_daemon_ask(const struct pmix_daemon *d, pmix_rank_t rank,
                                            const char *key, pmix_value_t **value)
{
    pmix_proc_t who;

    PMIX_LOAD_PROCID(&who, d->me.nspace, rank);
    return PMIx_Get(&who, key, NULL, 0, value);
}

/* PMIx_Init; call it first. */
static inline pmix_status_t pmix_daemon_init(struct pmix_daemon *d)
{
    pmix_value_t *value = NULL;
    pmix_status_t status;

    memset(d, 0, sizeof *d);
    status = PMIx_Init(&d->me, NULL, 0);
    if (status != PMIX_SUCCESS)
        return status;
    status = pmix_daemon_ask(d, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &value);
    if (status != PMIX_SUCCESS)
        return status;
    d->size = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    status = pmix_daemon_ask(d, PMIX_RANK_WILDCARD, PMIX_DEBUG_TARGET, &value);
    if (status != PMIX_SUCCESS)
        return status == PMIX_ERR_NOT_FOUND ? PMIX_SUCCESS : status;
    d->target = *value->data.proc;
    PMIX_VALUE_RELEASE(value);
    return PMIX_SUCCESS;
}

static inline pmix_status_t pmix_daemon_finalize(struct pmix_daemon *d)
{
    (void)d;
    return PMIx_Finalize(NULL, 0);
}

static inline pmix_status_t pmix_daemon_barrier(struct pmix_daemon *d)
{
    (void)d;
    return PMIx_Fence(NULL, 0, NULL, 0);
}

/* Of call number d->calls: what is for daemon `to`, or for all (PMIX_RANK_WILDCARD). */
static inline void pmix_daemon_key(const struct pmix_daemon *d, pmix_rank_t to, char key[64])
{
    snprintf(key, 64, "lite.daemon.%u.%u", d->calls, to);
}

static inline pmix_status_t pmix_daemon_put(const struct pmix_daemon *d, pmix_rank_t to,
                                            const void *data, size_t size)
{
    pmix_value_t value = { .type = PMIX_BYTE_OBJECT };
    char key[64];

    pmix_daemon_key(d, to, key);
    value.data.bo.bytes = (char *)(uintptr_t)data;
    value.data.bo.size = size;
    return PMIx_Put(PMIX_GLOBAL, key, &value);
}

/* What `from` has put: *out is the caller's (PMIX_BYTE_OBJECT_DESTRUCT). */
static inline pmix_status_t pmix_daemon_take(const struct pmix_daemon *d, pmix_rank_t from,
                                             pmix_rank_t to, pmix_byte_object_t *out)
{
    pmix_value_t *value = NULL;
    pmix_status_t status;
    char key[64];

    pmix_daemon_key(d, to, key);
    status = pmix_daemon_ask(d, from, key, &value);
    if (status != PMIX_SUCCESS)
        return status;
    if (value->type == PMIX_BYTE_OBJECT) {
        *out = value->data.bo;
        value->type = PMIX_UNDEF;
    } else {
        status = PMIX_ERR_TYPE_MISMATCH;
    }
    PMIX_VALUE_RELEASE(value);
    return status;
}

static inline pmix_status_t pmix_daemon_exchange(void)
{
    pmix_status_t status = PMIx_Commit();

    return status == PMIX_SUCCESS ? PMIx_Fence(NULL, 0, NULL, 0) : status;
}

/* What root has in data, of size bytes, is in *out everywhere; of the others data and size mean
 * nothing. */
static inline pmix_status_t pmix_daemon_broadcast(struct pmix_daemon *d, pmix_rank_t root,
                                                  const void *data, size_t size,
                                                  pmix_byte_object_t *out)
{
    pmix_status_t status = PMIX_SUCCESS;

    PMIX_BYTE_OBJECT_CONSTRUCT(out);
    if (d->me.rank == root)
        status = pmix_daemon_put(d, PMIX_RANK_WILDCARD, data, size);
    if (status == PMIX_SUCCESS)
        status = pmix_daemon_exchange();
    if (status == PMIX_SUCCESS)
        status = pmix_daemon_take(d, root, PMIX_RANK_WILDCARD, out);
    d->calls++;
    return status;
}

/* At root *out is an array of d->size pieces, in order of rank, of which each and the array are
 * the caller's (PMIX_BYTE_OBJECT_FREE); elsewhere NULL. */
static inline pmix_status_t pmix_daemon_gather(struct pmix_daemon *d, pmix_rank_t root,
                                               const void *data, size_t size,
                                               pmix_byte_object_t **out)
{
    pmix_status_t status = pmix_daemon_put(d, PMIX_RANK_WILDCARD, data, size);

    *out = NULL;
    if (status == PMIX_SUCCESS)
        status = pmix_daemon_exchange();
    if (status == PMIX_SUCCESS && d->me.rank == root &&
        !(*out = (pmix_byte_object_t *)calloc(d->size, sizeof **out)))
        status = PMIX_ERR_NOMEM;
    for (uint32_t i = 0; status == PMIX_SUCCESS && *out && i < d->size; i++)
        status = pmix_daemon_take(d, i, PMIX_RANK_WILDCARD, &(*out)[i]);
    d->calls++;
    return status;
}

/* Each daemon gets its piece of the d->size that root has in parts, which elsewhere means
 * nothing. */
static inline pmix_status_t pmix_daemon_scatter(struct pmix_daemon *d, pmix_rank_t root,
                                                const pmix_byte_object_t *parts,
                                                pmix_byte_object_t *out)
{
    pmix_status_t status = PMIX_SUCCESS;

    PMIX_BYTE_OBJECT_CONSTRUCT(out);
    for (uint32_t i = 0; status == PMIX_SUCCESS && d->me.rank == root && i < d->size; i++)
        status = pmix_daemon_put(d, i, parts[i].bytes, parts[i].size);
    if (status == PMIX_SUCCESS)
        status = pmix_daemon_exchange();
    if (status == PMIX_SUCCESS)
        status = pmix_daemon_take(d, root, d->me.rank, out);
    d->calls++;
    return status;
}

#endif
