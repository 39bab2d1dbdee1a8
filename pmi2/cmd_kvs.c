/* cmd_kvs.c - the job's key-value space: put, get, get by index, and the calls
 * that are collective: fence, barrier, ring. */
#include "pmi2/core.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A job id in an argument that names another space than the caller's own. */
static int check_space(const struct request *rq, const struct value *id, struct err *e)
{
    if (!id->len || !strcmp(id->s, rq->conn->job->id))
        return 0;
    return err_set(e, ERR_INVALID_ARG, "%.64s is not this job, nor one it is connected to",
                   id->s);
}

/* Job attributes share the key space of get; nobody may write there. */
static bool is_reserved(const char *key)
{
    return !strncmp(key, "PMI_", 4);
}

enum { PUT_SPACE, PUT_KEY, PUT_VALUE };

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
    if (kvs_put(request_job(rq)->kvs, rq->conn->member->rank, key->s, val->s, val->len, e) < 0)
        return FAILED;
    return REPLY;
}

static enum outcome get_attribute(struct request *rq, const char *key, struct err *e)
{
    struct server *s = rq->conn->server;

    buf_reset(&s->attr);
    if (!job_attribute(rq->conn->member, key, &s->attr))
        return NOT_FOUND;
    if (s->attr.failed) {
        err_set(e, ERR_NOMEM, "no memory for an attribute");
        return FAILED;
    }
    reply_text(rq, 0, buf_bytes(&s->attr), s->attr.len);
    return REPLY;
}

enum { GET_SPACE, GET_KEY };

enum outcome cmd_get(struct request *rq, struct err *e)
{
    const char *key = rq->arg[GET_KEY].s;
    struct kvs_entry found;

    if (check_space(rq, &rq->arg[GET_SPACE], e) < 0)
        return FAILED;
    if (is_reserved(key))
        return get_attribute(rq, key, e);
    if (!kvs_get(request_job(rq)->kvs, key, &found))
        return NOT_FOUND;
    reply_text(rq, 0, found.value, found.len);
    return REPLY;
}

enum outcome cmd_get_job_attr(struct request *rq, struct err *e)
{
    return get_attribute(rq, rq->arg[0].s, e);
}

enum { IDX_SPACE, IDX_N };

enum outcome cmd_getbyidx(struct request *rq, struct err *e)
{
    long long idx = rq->arg[IDX_N].n;
    struct kvs_entry found;

    if (check_space(rq, &rq->arg[IDX_SPACE], e) < 0)
        return FAILED;
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

/* A decimal int at *s that ends at one of `ends` or the end of the text. */
static int take_int(const char **s, const char *ends, long *out)
{
    char *end;

    if (**s != '-' && (**s < '0' || **s > '9'))
        return -1;
    *out = strtol(*s, &end, 10);
    if (end == *s || *out < INT_MIN || *out > INT_MAX || (*end && !strchr(ends, *end)))
        return -1;
    *s = end;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* "3,1,2" at *s, up to ':' or the end, becomes a sorted array without repeats, so
 * that every spelling of a set is one group; NULL if it is all of the job. */
static int take_ranks(const char **s, int size, int **out, size_t *n, struct err *e)
{
    int *ranks = malloc((strlen(*s) / 2 + 1) * sizeof *ranks);
    size_t kept = 0;
    long r;

    *n = 0;
    *out = NULL;
    if (!ranks)
        return err_set(e, ERR_NOMEM, "no memory for a group");
    for (;; ++*s) {
        if (take_int(s, ",:", &r) < 0 || r < 0 || r >= size) {
            free(ranks);
            return err_set(e, ERR_INVALID_VAL, "group: ranks of 0..%d, separated by commas, "
                           "wanted", size - 1);
        }
        ranks[(*n)++] = (int)r;
        if (**s != ',')
            break;
    }
    qsort(ranks, *n, sizeof *ranks, by_number);
    for (size_t i = 0; i < *n; i++)
        if (!kept || ranks[kept - 1] != ranks[i])
            ranks[kept++] = ranks[i];
    *n = kept;
    if (kept == (size_t)size)
        free(ranks);
    else
        *out = ranks;
    return 0;
}

/* group=<who>:<tag>, who being WORLD, NODE or a list of ranks. */
static int parse_group(const char *s, int size, struct fence_id *id, int **ranks,
                       struct err *e)
{
    long tag = 0;

    *ranks = NULL;
    if (!strncmp(s, "WORLD", 5))
        s += 5;
    else if (!strncmp(s, "NODE", 4)) {   /* the job's ranks here: all of them, but not
                                            the same group as WORLD */
        s += 4;
        id->kind = FENCE_NODE;
    } else if (take_ranks(&s, size, ranks, &id->n, e) < 0)
        return -1;
    if (*s == ':' && s++ && take_int(&s, "", &tag) < 0)
        goto bad;
    if (*s)
        goto bad;
    id->ranks = *ranks;
    id->tag = tag;
    return 0;
bad:
    free(*ranks);
    *ranks = NULL;
    return err_set(e, ERR_INVALID_VAL, "group: <who>:<tag> wanted, tag a number");
}

enum { FENCE_GROUP_ARG };

enum outcome cmd_fence(struct request *rq, struct err *e)
{
    const struct value *group = &rq->arg[FENCE_GROUP_ARG];
    struct fence_id id = { .kind = FENCE_GROUP };
    int *ranks = NULL;
    enum outcome o;

    if (group->s) {
        if (parse_group(group->s, request_job(rq)->size, &id, &ranks, e) < 0)
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
