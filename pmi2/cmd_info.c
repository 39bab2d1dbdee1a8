/* cmd_info.c - attributes: of the job (read-only, computed here or found out by the
 * host) and of the node (put by processes, got by others of the same job, waiting if
 * they like).  mpiexec_lite(1), ATTRIBUTES, has the same table. */
#include "pmi2/core.h"

#include <stdlib.h>
#include <string.h>

/* --- job attributes ---------------------------------------------------- */

static int attr_mapping(struct member *m, struct buf *out)
{
    size_t len = strlen(m->job->mapping);

    /* MPICH on PMI-1 crashes on a longer one; all clients can do without. */
    if (m->conn && ((m->conn->framer.wire == WIRE_1 && len > LIMIT_MAPPING_V1) ||
                    (!m->conn->wide && len > LIMIT_VALUE_OLD)))
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

/* The ranks that have any of the bits, or none of them. */
static int list_ranks(const struct job *j, int bits, bool any, struct buf *out)
{
    for (int r = 0; r < j->size; r++)
        if ((j->ranks && (j->ranks[r] & bits)) == any)
            buf_printf(out, out->len ? ",%d" : "%d", r);
    return out->len > 0;
}

static int attr_dead(struct member *m, struct buf *out)
{
    return list_ranks(m->job, RANK_DEAD, true, out);
}

/* As far as is known here: of other nodes, those that have died or that a fence has
 * missed are known to be gone. */
static int attr_alive(struct member *m, struct buf *out)
{
    return list_ranks(m->job, RANK_DEAD | RANK_GONE | RANK_OUT, false, out);
}

/* Everything reaches everything; where nodes are several, over another net than the
 * processes of one. */
static bool has_levels(const struct job *j)
{
    for (size_t i = 0; i < j->nmap; i++)
        if (j->map[i].first != j->map[0].first ||
            (j->map[i].nodes > 1 && j->size > j->map[i].ranks))
            return true;
    return false;
}

static int attr_topology(struct member *m, struct buf *out)
{
    buf_str(out, has_levels(m->job) ? "hierarchical" : "complete");
    return 1;
}

static int attr_levels(struct member *m, struct buf *out)
{
    if (!has_levels(m->job))
        return 0;
    buf_str(out, m->job->dims ? "cartesian,complete" : "complete,complete");
    return 1;
}

/* A text that the host has given. */
static int given(const char *text, struct buf *out)
{
    if (!text)
        return 0;
    buf_str(out, text);
    return 1;
}

static int attr_dims(struct member *m, struct buf *out)
{
    return given(m->job->dims, out);
}

static int attr_coords(struct member *m, struct buf *out)
{
    return given(m->job->coords, out);
}

static int attr_alloc_kinds(struct member *m, struct buf *out)
{
    return given(m->job->alloc_kinds, out);
}

static int attr_heterogeneous(struct member *m, struct buf *out)
{
    buf_str(out, m->job->mixed ? "TRUE" : "FALSE");
    return 1;
}

static int attr_xml(struct member *m, struct buf *out)
{
    return given(m->job->xml, out);
}

/* The one attribute that the host is asked for. */
#define FOUND_BY_HOST "PMI_hwloc_xmlfile"

static const struct {
    const char *key;
    int (*get)(struct member *m, struct buf *out);
} job_attributes[] = {
    { "PMI_process_mapping", attr_mapping },
    { "PMI_dead_processes", attr_dead },
    { "PMI_alive_processes", attr_alive },
    { "PMI_mpi_memory_alloc_kinds", attr_alloc_kinds },
    { FOUND_BY_HOST, attr_xml },
    { "universeSize", attr_universe },
    { "hasNameServ", attr_names },
    { "localRanks", attr_local_ranks },
    { "localRanksCount", attr_local_count },
    { "physTopology", attr_topology },
    { "physTopologyLevels", attr_levels },
    { "cartDims", attr_dims },
    { "isHeterogeneous", attr_heterogeneous },
};

enum { ADDED_MAX = 1 << 20 };            /* bytes of all that are added */

int job_add_attribute(struct job *j, const char *key, const char *value, struct err *e)
{
    if (!j->given)
        j->given = kvs_new(j->server->seed, ADDED_MAX);
    if (!j->given)
        return err_set(e, ERR_NOMEM, "no memory for attributes");
    return kvs_put(j->given, 0, key, value, strlen(value), e);
}

static int added_attribute(const struct job *j, const char *key, struct buf *out)
{
    struct kvs_entry found;

    if (!j->given || !kvs_get(j->given, key, &found))
        return 0;
    buf_add(out, found.value, found.len);
    return 1;
}

/* 1 with text in out, 0 if there is none. */
static int job_attribute(struct member *m, const char *key, struct buf *out)
{
    for (size_t i = 0; i < sizeof job_attributes / sizeof *job_attributes; i++)
        if (!strcmp(job_attributes[i].key, key))
            return job_attributes[i].get(m, out);
    return added_attribute(m->job, key, out);
}

/* Whether the host does not know it yet, and is at work on it now. */
static bool is_being_found(struct job *j, const char *key)
{
    struct server *s = j->server;

    if (strcmp(key, FOUND_BY_HOST) || j->told)
        return false;
    if (!j->asked_host) {
        bool later = false;
        const char *text = s->ops.find ? s->ops.find(s->host, j, key, &later) : NULL;

        j->asked_host = true;
        if (!later)
            job_told(j, key, text);
    }
    return !j->told;
}

static enum outcome answer_attribute(struct request *rq, const char *key, struct err *e)
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

enum outcome attr_get(struct request *rq, const char *key, struct err *e)
{
    if (!is_being_found(request_job(rq), key))
        return answer_attribute(rq, key, e);
    return request_park(rq, &request_job(rq)->find_waiters, e) ? PARKED : FAILED;
}

void job_told(struct job *j, const char *key, const char *value)
{
    struct request *rq;
    struct err e = { ERR_OTHER, "key not found" };

    if (j->told || strcmp(key, FOUND_BY_HOST))
        return;
    j->told = true;
    j->xml = value ? strdup(value) : NULL;       /* no memory: there is none */
    while ((rq = TAILQ_FIRST(&j->find_waiters.list))) {
        enum outcome o = answer_attribute(rq, key, &e);

        request_finish(rq, o, &e);
    }
}

enum outcome cmd_get_job_attr(struct request *rq, struct err *e)
{
    return attr_get(rq, rq->arg[0].s, e);
}

/* --- node attributes --------------------------------------------------- */

/* What the draft predefines for a node, and the launcher knows; processes may put
 * everything else. */
static const struct {
    const char *key;
    int (*get)(struct member *m, struct buf *out);
} node_attributes[] = {
    { "localRanks", attr_local_ranks },
    { "localRanksCount", attr_local_count },
    { "cartCoords", attr_coords },
};

static int node_attribute(struct member *m, const char *key, struct buf *out)
{
    for (size_t i = 0; i < sizeof node_attributes / sizeof *node_attributes; i++)
        if (!strcmp(node_attributes[i].key, key))
            return node_attributes[i].get(m, out);
    return 0;
}

/* Coordinates that are not known may be put. */
static bool is_read_only(const struct job *j, const char *key)
{
    if (!strcmp(key, "cartCoords"))
        return j->coords != NULL;
    return !strncmp(key, "PMI_", 4) || !strcmp(key, "localRanks") ||
           !strcmp(key, "localRanksCount");
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

    if (is_read_only(j, key->s)) {
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

/* Nobody is there to put it: others have ended, or there never were any.  Of a process
 * that was alone from the beginning another thread may. */
static bool is_in_vain(const struct request *rq)
{
    const struct job *j = rq->conn->job;

    return j->gone >= j->nlocal - 1 && (j->nlocal > 1 || !*rq->thrid);
}

static enum outcome wait_for_attr(struct request *rq, const char *key, struct err *e)
{
    struct request *kept;

    if (is_in_vain(rq)) {
        err_set(e, ERR_OTHER, request_job(rq)->nlocal > 1 ? "every other rank has ended"
                                                          : "no other rank is on this host");
        return FAILED;
    }
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
