/* cmd_info.c - attributes: of the job (read-only, computed here) and of the node
 * (put by processes, got by others of the same job, waiting if they like). */
#include "pmi2/core.h"

#include <stdlib.h>
#include <string.h>

/* --- job attributes ---------------------------------------------------- */

static int attr_mapping(struct member *m, struct buf *out)
{
    /* MPICH on PMI-1 crashes on a longer one; it can do without. */
    if (m->conn && m->conn->framer.wire == WIRE_1 &&
        strlen(m->job->mapping) > LIMIT_MAPPING_V1)
        return 0;
    buf_str(out, m->job->mapping);
    return 1;
}

static int attr_universe(struct member *m, struct buf *out)
{
    if (m->job->universe < 0)
        return 0;
    buf_printf(out, "%d", m->job->universe);
    return 1;
}

static int attr_names(struct member *m, struct buf *out)
{
    buf_str(out, m->job->server->options.no_names ? "FALSE" : "TRUE");
    return 1;
}

static int attr_local_ranks(struct member *m, struct buf *out)
{
    for (int i = 0; i < m->job->nlocal; i++)
        buf_printf(out, i ? ",%d" : "%d", m->job->members[i].rank);
    return 1;
}

static int attr_local_count(struct member *m, struct buf *out)
{
    buf_printf(out, "%d", m->job->nlocal);
    return 1;
}

static int attr_dead(struct member *m, struct buf *out)
{
    for (int r = 0; m->job->ranks && r < m->job->size; r++)
        if (m->job->ranks[r] & RANK_DEAD)
            buf_printf(out, out->len ? ",%d" : "%d", r);
    return out->len > 0;
}

/* Everything reaches everything, and all of it is one kind of machine. */
static int attr_topology(struct member *m, struct buf *out)
{
    (void)m;
    buf_str(out, "complete");
    return 1;
}

static int attr_heterogeneous(struct member *m, struct buf *out)
{
    (void)m;
    buf_str(out, "FALSE");
    return 1;
}

static const struct {
    const char *key;
    int (*get)(struct member *m, struct buf *out);
} job_attributes[] = {
    { "PMI_process_mapping", attr_mapping },
    { "PMI_dead_processes", attr_dead },
    { "universeSize", attr_universe },
    { "hasNameServ", attr_names },
    { "localRanks", attr_local_ranks },
    { "localRanksCount", attr_local_count },
    { "physTopology", attr_topology },
    { "isHeterogeneous", attr_heterogeneous },
};

int job_attribute(struct member *m, const char *key, struct buf *out)
{
    for (size_t i = 0; i < sizeof job_attributes / sizeof *job_attributes; i++)
        if (!strcmp(job_attributes[i].key, key))
            return job_attributes[i].get(m, out);
    return 0;
}

/* --- node attributes --------------------------------------------------- */

/* What the draft predefines for a node; processes may put everything else. */
static int node_attribute(struct member *m, const char *key, struct buf *out)
{
    if (!strcmp(key, "localRanks"))
        return attr_local_ranks(m, out);
    if (!strcmp(key, "localRanksCount"))
        return attr_local_count(m, out);
    return 0;
}

static struct request *waiting_for(struct job *j, const char *key)
{
    struct request *rq;

    TAILQ_FOREACH(rq, &j->attr_waiters.list, in_wait)
        if (!strcmp(rq->text[0], key))
            return rq;
    return NULL;
}

/* Answer those who wait for this key.  Each answer may change the list. */
static void wake(struct job *j, const char *key)
{
    struct kvs_entry found;
    struct request *rq;

    while (kvs_get(j->node, key, &found) && (rq = waiting_for(j, key))) {
        reply_text(rq, 0, found.value, found.len);
        request_finish(rq, REPLY, NULL);
    }
}

/* The last other rank has ended: a process that waits would wait for ever. */
void attr_member_ended(struct member *m)
{
    struct request *rq;
    struct err e;

    if (m->job->gone < m->job->nlocal - 1)
        return;
    err_set(&e, ERR_OTHER, "every other rank has ended");
    while ((rq = TAILQ_FIRST(&m->job->attr_waiters.list)))
        request_finish(rq, FAILED, &e);
}

enum { PUTNODE_KEY, PUTNODE_VALUE };

enum outcome cmd_put_node_attr(struct request *rq, struct err *e)
{
    const struct value *key = &rq->arg[PUTNODE_KEY], *val = &rq->arg[PUTNODE_VALUE];
    struct job *j = request_job(rq);

    if (!strncmp(key->s, "PMI_", 4) || !strcmp(key->s, "localRanks") ||
        !strcmp(key->s, "localRanksCount")) {
        err_set(e, ERR_INVALID_KEY, "attribute %s is read-only", key->s);
        return FAILED;
    }
    if (val->len > LIMIT_VALUE_OLD)
        rq->conn->wide = true;
    if (kvs_put(j->node, rq->conn->member->rank, key->s, val->s, val->len, e) < 0)
        return FAILED;
    wake(j, key->s);
    return REPLY;
}

enum { GETNODE_KEY, GETNODE_WAIT };

static enum outcome wait_for_attr(struct request *rq, const char *key, struct err *e)
{
    struct request *kept;

    rq->text[0] = strdup(key);
    kept = rq->text[0] ? request_park(rq, &request_job(rq)->attr_waiters, e) : NULL;
    if (kept)
        return PARKED;
    if (!rq->text[0])
        err_set(e, ERR_NOMEM, "no memory for a waiting request");
    free(rq->text[0]);
    rq->text[0] = NULL;
    return FAILED;
}

enum outcome cmd_get_node_attr(struct request *rq, struct err *e)
{
    const char *key = rq->arg[GETNODE_KEY].s;
    struct server *s = rq->conn->server;
    struct kvs_entry found;

    buf_reset(&s->attr);
    if (node_attribute(rq->conn->member, key, &s->attr)) {
        if (s->attr.failed) {
            err_set(e, ERR_NOMEM, "no memory for an attribute");
            return FAILED;
        }
        reply_text(rq, 0, buf_bytes(&s->attr), s->attr.len);
        return REPLY;
    }
    if (kvs_get(request_job(rq)->node, key, &found)) {
        reply_text(rq, 0, found.value, found.len);
        return REPLY;
    }
    return rq->arg[GETNODE_WAIT].n ? wait_for_attr(rq, key, e) : NOT_FOUND;
}
