/* cmd_kvs.c - the job's key-value space: put, get, get by index, and the calls
 * that are collective: fence, barrier, ring. */
#include "pmi2/core.h"

#include <stdlib.h>
#include <string.h>

/* A job id in an argument that names another space than the caller's own. */
static bool is_foreign(const struct request *rq, const struct value *id)
{
    return id->len && strcmp(id->s, rq->conn->job->id);
}

static int check_space(const struct request *rq, const struct value *id, struct err *e)
{
    return is_foreign(rq, id) ? err_set(e, ERR_INVALID_ARG, "%.64s is not this job", id->s) : 0;
}

/* Job attributes share the key space of get; nobody may write there. */
static bool is_reserved(const char *key)
{
    return !strncmp(key, "PMI_", 4);
}

enum { PUT_SPACE, PUT_KEY, PUT_VALUE, PUT_READ_ONLY };

enum outcome cmd_put(struct request *rq, struct err *e)
{
    const struct value *key = &rq->arg[PUT_KEY], *val = &rq->arg[PUT_VALUE];

    if (check_space(rq, &rq->arg[PUT_SPACE], e) < 0)
        return FAILED;
    if (!key->len)           /* MPICH 4.0 as a singleton puts an empty pair */
        return REPLY;
    if (is_reserved(key->s)) {
        err_set(e, ERR_INVALID_KEY, "key %s is read-only", key->s);
        return FAILED;
    }
    if (val->len > LIMIT_VALUE_OLD)
        rq->conn->wide = true;           /* it does not live by the old limit */
    if (share_put(request_job(rq), rq->conn->member->rank, key->s, val->s, val->len,
                  rq->arg[PUT_READ_ONLY].n, e) < 0)
        return FAILED;
    return REPLY;
}

enum { GET_SPACE, GET_KEY };

/* A key of another job. */
static enum outcome get_of(struct request *rq, const char *jobid, const char *key,
                           struct err *e)
{
    struct asked_by by = { .rq = rq };
    struct kvs_entry found;
    enum outcome o;

    if (!is_root(rq->conn->server))
        return ask_job(rq, "job-get", jobid, key, e);
    o = linked_get(request_job(rq), jobid, key, &by, &found, e);
    if (o == REPLY)
        reply_text(rq, 0, found.value, found.len);
    return o;
}

enum outcome cmd_get(struct request *rq, struct err *e)
{
    const char *key = rq->arg[GET_KEY].s;
    struct kvs_entry found;

    if (is_foreign(rq, &rq->arg[GET_SPACE]))
        return get_of(rq, rq->arg[GET_SPACE].s, key, e);
    if (is_reserved(key))
        return attr_get(rq, key, e);
    if (!share_find(request_job(rq), key, &found))
        return ask_key(rq, key, e);
    reply_text(rq, 0, found.value, found.len);
    return REPLY;
}

enum { IDX_SPACE, IDX_N };

enum outcome cmd_getbyidx(struct request *rq, struct err *e)
{
    long long idx = rq->arg[IDX_N].n;
    struct kvs_entry found;

    if (check_space(rq, &rq->arg[IDX_SPACE], e) < 0)
        return FAILED;
    if (!is_root(rq->conn->server) && request_job(rq)->nlocal < request_job(rq)->size)
                                         /* the root alone has all, and in its order */
        return ask_index(rq, idx, e);
    if (!kvs_at(request_job(rq)->kvs, (size_t)idx, &found)) {
        reply_text(rq, 3, "no_more_keyvals", 15);
        return NOT_FOUND;
    }
    reply_int(rq, 0, idx + 1);
    reply_text(rq, 1, found.key, strlen(found.key));
    reply_text(rq, 2, found.value, found.len);
    return REPLY;
}

/* Spaces of one's own were never used by an MPI; the job has the one it has. */
enum outcome cmd_create_kvs(struct request *rq, struct err *e)
{
    (void)rq;
    err_set(e, ERR_OTHER, "a job has one key-value space; no other can be made");
    return FAILED;
}

/* --- collective -------------------------------------------------------- */

enum { FENCE_GROUP_ARG };

enum outcome cmd_fence(struct request *rq, struct err *e)
{
    const struct value *group = &rq->arg[FENCE_GROUP_ARG];
    struct fence_id id = { .kind = FENCE_GROUP };
    int *ranks = NULL;
    enum outcome o;

    if (group->s) {
        if (fence_parse_group(group->s, request_job(rq)->size, &id, &ranks, e) < 0)
            return FAILED;
        rq->tagged = true;               /* the answer is found by its tag */
    }
    o = fence_enter(rq, &id, e);
    free(ranks);
    return o;
}

enum { RING_COUNT, RING_LEFT, RING_RIGHT };

static char *copy_or_empty(const struct value *v)
{
    return strdup(v->s ? v->s : "");
}

enum outcome cmd_ring(struct request *rq, struct err *e)
{
    struct fence_id id = { .kind = FENCE_RING };
    enum outcome o = FAILED;

    rq->text[0] = copy_or_empty(&rq->arg[RING_LEFT]);
    rq->text[1] = copy_or_empty(&rq->arg[RING_RIGHT]);
    if (!rq->text[0] || !rq->text[1])
        err_set(e, ERR_NOMEM, "no memory for a ring");
    else
        o = fence_enter(rq, &id, e);
    free(rq->text[0]);                   /* NULL where the parked request has them */
    free(rq->text[1]);
    rq->text[0] = rq->text[1] = NULL;
    return o;
}
