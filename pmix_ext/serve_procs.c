/* serve_procs.c - the processes that a request names: "local_node" and "local_peers" are the
 * ranks that they stand for, as seen from who asks, before a command looks at them. */
#include "pmix_ext/serve.h"

#include "pmix_ext/info.h"
#include "pmix_ext/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_local(const pmix_proc_t *p)
{
    return p->rank == PMIX_RANK_LOCAL_NODE || p->rank == PMIX_RANK_LOCAL_PEERS;
}

struct list { pmix_proc_t *v; size_t n, room; };

static bool put(struct list *l, const pmix_proc_t *p)
{
    if (l->n == l->room) {
        size_t more = l->room ? l->room * 2 : 16;
        pmix_proc_t *bigger = reallocarray(l->v, more, sizeof *bigger);

        if (!bigger)
            return false;
        l->v = bigger;
        l->room = more;
    }
    l->v[l->n++] = *p;
    return true;
}

/* Peers are of the asker's own job, and so is who names none. */
static pmix_status_t put_local(struct list *l, const struct session *s, const pmix_proc_t *p,
                               struct err *e)
{
    bool own = !s->who.tool && (p->rank == PMIX_RANK_LOCAL_PEERS || !*p->nspace);
    const char *nspace = own ? s->who.nspace : p->nspace;
    struct ext *x = s->ext;
    pmix_proc_t one = { .rank = 0 };
    struct info_of job;
    struct fact_run run;
    size_t before = l->n;

    if (!info_of_job(x, nspace, &job)) {
        err_set(e, ERR_INVALID_ARG, "there is no job %.64s", nspace);
        return PMIX_ERR_NOT_FOUND;
    }
    snprintf(one.nspace, sizeof one.nspace, "%s", nspace);
    for (size_t i = 0; x->ops.facts->run(x->host, job.job.of, i, &run); i++)
        for (int r = 0; run.node == session_node(s) && r < run.n; r++) {
            one.rank = (pmix_rank_t)(run.first + r);
            if (!put(l, &one)) {
                err_set(e, ERR_NOMEM, "no memory for %zu processes", l->n);
                return PMIX_ERR_NOMEM;
            }
        }
    if (l->n > before)
        return PMIX_SUCCESS;
    err_set(e, ERR_INVALID_ARG, "no rank of job %.64s is on the node of who asks", nspace);
    return PMIX_ERR_NOT_FOUND;
}

static pmix_status_t expand(const struct session *s, pmix_proc_t **procs, size_t *n,
                            struct err *e)
{
    struct list l = { NULL, 0, 0 };
    pmix_status_t status = PMIX_SUCCESS;

    for (size_t i = 0; i < *n && status == PMIX_SUCCESS; i++) {
        if (is_local(&(*procs)[i]))
            status = put_local(&l, s, &(*procs)[i], e);
        else if (!put(&l, &(*procs)[i]))
            status = PMIX_ERR_NOMEM;
    }
    free(*procs);
    *procs = l.v;
    *n = l.n;
    return status;
}

pmix_status_t ext_take_procs(const struct session *s, const struct value *text, const char *what,
                             pmix_proc_t **procs, size_t *n, struct err *e)
{
    void *v = NULL;
    bool local = false;
    pmix_status_t status = PMIX_SUCCESS;

    *n = 0;
    *procs = NULL;
    if (!text->s)
        return PMIX_SUCCESS;
    if (value_decode_array(PMIX_PROC, text->s, text->len, what, &v, n, e) < 0)
        return e->code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_BAD_PARAM;
    *procs = v;
    for (size_t i = 0; i < *n; i++)
        local |= is_local(&(*procs)[i]);
    if (local)
        status = expand(s, procs, n, e);
    if (status != PMIX_SUCCESS)
        err_context(e, "%s", what);
    return status;
}
