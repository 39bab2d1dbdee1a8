/* serve_resolve.c - pmix-resolve-peers: which ranks are on a node; pmix-resolve-nodes: on
 * which nodes a job's ranks are.  (PMIx standard 4.2, PMIx_Resolve_peers, _nodes.) */
#include "pmix_ext/serve.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

enum { NODE_ARG, PEERS_NSPACE_ARG };
enum { NSPACE_ARG };
enum { LIST_OUT = 1 };

struct list {                            /* of ranks, or of nodes; owned */
    struct ext *ext;
    char       *nspace;                  /* NULL: all */
    int         node;                    /* of the ranks; of nodes the next one */
    size_t      job, run;                /* of ranks: where it is */
    int         in_run;
    bool       *nodes;                   /* NULL: it is of ranks */
    size_t      nnodes;
};

static void list_free(void *cursor)
{
    struct list *l = cursor;

    free(l->nspace);
    free(l->nodes);
    free(l);
}

/* Jobs are found anew for each rank: they may end meanwhile. */
static bool next_rank(struct list *l, struct fact_job *j, struct fact_run *run)
{
    const struct fact_ops *f = l->ext->ops.facts;

    for (; f->job(l->ext->host, l->job, j); l->job++, l->run = 0) {
        if (l->nspace && strcmp(j->nspace, l->nspace))
            continue;
        for (; f->run(l->ext->host, j->of, l->run, run); l->run++, l->in_run = 0)
            if (run->node == l->node && l->in_run < run->n)
                return true;
    }
    return false;
}

static int next_peer(void *cursor, size_t room, struct buf *out, struct err *e)
{
    struct list *l = cursor;
    pmix_proc_t p = { .nspace = "" };
    struct fact_run run;
    struct fact_job j;

    (void)room;
    if (!next_rank(l, &j, &run))
        return 0;
    strncpy(p.nspace, j.nspace, sizeof p.nspace - 1);
    p.rank = (pmix_rank_t)(run.first + l->in_run++);
    return value_encode(PMIX_PROC, &p, "process", out, e) < 0 ? -1 : 1;
}

static int next_node(void *cursor, size_t room, struct buf *out, struct err *e)
{
    struct list *l = cursor;
    struct fact_node node;

    (void)room;
    while ((size_t)l->node < l->nnodes && !l->nodes[l->node])
        l->node++;
    if ((size_t)l->node == l->nnodes ||
        !l->ext->ops.facts->node(l->ext->host, l->node++, &node))
        return 0;
    return value_encode(PMIX_STRING, &node.name, "node", out, e) < 0 ? -1 : 1;
}

static const struct parts_ops peers = { next_peer, list_free };
static const struct parts_ops nodes = { next_node, list_free };

/* A list for this job (NULL, "": for all).  NULL: e says why, and the reply. */
static struct list *list_new(struct request *rq, const struct value *nspace,
                             struct fact_job *job, struct err *e)
{
    struct list *l = calloc(1, sizeof *l);
    struct info_of of = { .node = -1 };

    if (l && nspace->len && !info_of_job(ext_of(rq), nspace->s, &of)) {
        free(l);
        ext_fail(rq, e, PMIX_ERR_INVALID_NAMESPACE, "there is no job %.80s", nspace->s);
        return NULL;
    }
    if (l)
        l->ext = ext_of(rq);
    if (l && nspace->len)
        l->nspace = strdup(nspace->s);
    if (!l || (nspace->len && !l->nspace)) {
        free(l);
        ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for a list");
        return NULL;
    }
    *job = of.job;
    return l;
}

static enum outcome answer(struct request *rq, const struct parts_ops *ops, struct list *l,
                           struct err *e)
{
    struct parts *reply;
    enum outcome o = parts_new(rq, LIST_OUT, ops, l, &reply, e);

    if (o == PARKED)
        parts_go(reply);
    return o;
}

enum outcome ext_resolve_peers(struct request *rq, struct err *e)
{
    const struct value *name = &rq->arg[NODE_ARG];
    struct session *s = session_of(rq, e);
    struct fact_job job;
    struct list *l;

    if (!s)
        return FAILED;
    l = list_new(rq, &rq->arg[PEERS_NSPACE_ARG], &job, e);
    if (!l)
        return FAILED;
    l->node = name->len ? info_node_named(s->ext, name->s) : session_node(s);
    if (l->node >= 0)
        return answer(rq, &peers, l, e);
    list_free(l);
    return name->len ? ext_fail(rq, e, PMIX_ERR_NOT_FOUND, "there is no node %.80s", name->s)
                     : ext_fail(rq, e, PMIX_ERR_NOT_FOUND, "you are on no node that has ranks");
}

enum outcome ext_resolve_nodes(struct request *rq, struct err *e)
{
    struct fact_job job;
    struct list *l = list_new(rq, &rq->arg[NSPACE_ARG], &job, e);

    if (!l)
        return FAILED;
    l->nodes = info_nodes(l->ext, job.of ? &job : NULL, &l->nnodes);
    if (l->nodes)
        return answer(rq, &nodes, l, e);
    list_free(l);
    return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for a list");
}
