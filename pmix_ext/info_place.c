/* info_place.c - keys of info.h about ranks and nodes. */
#include "pmix_ext/info_impl.h"

#include "pmix_ext/serve.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

/* --- values ------------------------------------------------------------ */

pmix_status_t info_give_u32(pmix_value_t *v, uint32_t n)
{
    v->data.uint32 = n;
    return PMIX_SUCCESS;
}

pmix_status_t info_give_rank(pmix_value_t *v, pmix_rank_t rank)
{
    v->data.rank = rank;
    return PMIX_SUCCESS;
}

/* Ranks of one node are numbered with 16 bits. */
pmix_status_t info_give_u16(pmix_value_t *v, uint32_t n)
{
    if (n > UINT16_MAX)
        return PMIX_ERR_NOT_FOUND;
    v->data.uint16 = (uint16_t)n;
    return PMIX_SUCCESS;
}

pmix_status_t info_give_text(pmix_value_t *v, const char *text)
{
    if (!text)
        return PMIX_ERR_NOT_FOUND;
    v->data.string = strdup(text);
    return v->data.string ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
}

/* Takes what the buffer has. */
pmix_status_t info_give_buf(pmix_value_t *v, struct buf *text)
{
    pmix_status_t status = text->failed ? PMIX_ERR_NOMEM
                                        : info_give_text(v, text->len ? buf_bytes(text) : "");

    buf_clear(text);
    return status;
}

pmix_status_t info_give_proc(pmix_value_t *v, const char *nspace, pmix_rank_t rank)
{
    pmix_proc_t *p = calloc(1, sizeof *p);

    if (!p)
        return PMIX_ERR_NOMEM;
    strncpy(p->nspace, nspace, sizeof p->nspace - 1);
    p->rank = rank;
    v->data.proc = p;
    return PMIX_SUCCESS;
}

/* --- of a rank --------------------------------------------------------- */

pmix_status_t info_get_rank(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    (void)x;
    return info_give_rank(v, of->rank);
}

pmix_status_t info_get_procid(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    (void)x;
    return info_give_proc(v, of->job.nspace, of->rank);
}

pmix_status_t info_get_global_rank(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    (void)x;
    return info_give_rank(v, of->job.offset + of->rank);
}

pmix_status_t info_get_app_rank(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct fact_app app;

    if (!x->ops.facts->app(x->host, of->job.of, of->app, &app))
        return PMIX_ERR_NOT_FOUND;
    return info_give_rank(v, of->rank - (unsigned)app.first);
}

/* Ranks of the job on the node with a number below this one. */
static uint32_t ranks_below(struct ext *x, const struct fact_job *job, int node, uint32_t rank)
{
    struct fact_run run;
    uint32_t n = 0;

    for (size_t i = 0; x->ops.facts->run(x->host, job->of, i, &run); i++)
        if (run.node == node && (unsigned)run.first < rank)
            n += rank - (unsigned)run.first < (unsigned)run.n ? rank - (unsigned)run.first
                                                              : (unsigned)run.n;
    return n;
}

pmix_status_t info_get_local_rank(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    return info_give_u16(v, ranks_below(x, &of->job, of->node, of->rank));
}

/* Behind those of jobs that are older. */
pmix_status_t info_get_node_rank(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    uint32_t n = ranks_below(x, &of->job, of->node, of->rank);
    struct fact_job j;

    for (size_t i = 0; x->ops.facts->job(x->host, i, &j) && j.of != of->job.of; i++)
        if (!j.target)
            n += ranks_below(x, &j, of->node, UINT32_MAX);
    return info_give_u16(v, n);
}

static void look(struct ext *x, const struct info_of *of, struct fact_rank *out)
{
    x->ops.facts->rank(x->host, of->job.of, (int)of->rank, out);
    if (of->seen && !out->ended) {
        out->pid = of->seen->pid;
        out->state = of->seen->state;
    }
}

pmix_status_t info_get_pid(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct fact_rank r;

    look(x, of, &r);
    v->data.pid = r.pid;
    return r.pid ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

pmix_status_t info_get_state(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct fact_rank r;

    look(x, of, &r);
    v->data.state = r.state;
    return PMIX_SUCCESS;
}

static const char *cpusets_of(struct ext *x, const struct info_of *of)
{
    return x->ops.facts->cpusets ? x->ops.facts->cpusets(x->host, of->job.of, of->node) : NULL;
}

/* The standard wants who has made it in front; numbers of processors are hwloc's of the system,
 * too. */
pmix_status_t info_get_cpuset(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    const char *at = cpusets_of(x, of);
    struct buf text = BUF_INIT;

    for (uint32_t i = ranks_below(x, &of->job, of->node, of->rank); at && i; i--)
        if ((at = strchr(at, ':')))
            at++;
    if (!at)
        return PMIX_ERR_NOT_FOUND;
    buf_printf(&text, "hwloc:%.*s", (int)strcspn(at, ":"), at);
    return info_give_buf(v, &text);
}

pmix_status_t info_get_exit_code(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct fact_rank r;

    look(x, of, &r);
    v->data.integer = r.exit_code;
    return r.ended ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

pmix_status_t info_get_reincarnation(struct ext *x, const struct info_of *of,
                                     pmix_value_t *v)
{
    (void)x;
    (void)of;
    return info_give_u32(v, 0);               /* nothing here is started twice */
}

/* --- of a node --------------------------------------------------------- */

pmix_status_t info_get_hostname(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct fact_node node;

    if (!x->ops.facts->node(x->host, of->node, &node))
        return PMIX_ERR_NOT_FOUND;
    return info_give_text(v, node.name);
}

pmix_status_t info_get_aliases(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct fact_node node;

    if (!x->ops.facts->node(x->host, of->node, &node))
        return PMIX_ERR_NOT_FOUND;
    return info_give_text(v, node.alias);
}

pmix_status_t info_get_nodeid(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct fact_node node;

    if (!x->ops.facts->node(x->host, of->node, &node))
        return PMIX_ERR_NOT_FOUND;
    return info_give_u32(v, (uint32_t)of->node);
}

pmix_status_t info_get_local_size(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    return info_give_u32(v, ranks_below(x, &of->job, of->node, UINT32_MAX));
}

pmix_status_t info_get_node_size(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct fact_job j;
    uint32_t n = 0;

    for (size_t i = 0; x->ops.facts->job(x->host, i, &j); i++)
        if (!j.target)
            n += ranks_below(x, &j, of->node, UINT32_MAX);
    return info_give_u32(v, n);
}

pmix_status_t info_get_local_peers(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct buf text = BUF_INIT;
    struct fact_run run;

    for (size_t i = 0; x->ops.facts->run(x->host, of->job.of, i, &run); i++)
        for (int k = 0; run.node == of->node && k < run.n; k++)
            buf_printf(&text, "%s%d", text.len ? "," : "", run.first + k);
    if (!text.len && !text.failed)
        return PMIX_ERR_NOT_FOUND;
    return info_give_buf(v, &text);
}

pmix_status_t info_get_cpusets(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    return info_give_text(v, cpusets_of(x, of));
}

pmix_status_t info_get_local_leader(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct fact_run run;

    for (size_t i = 0; x->ops.facts->run(x->host, of->job.of, i, &run); i++)
        if (run.node == of->node)
            return info_give_rank(v, (pmix_rank_t)run.first);
    return PMIX_ERR_NOT_FOUND;
}

static void add_procs(struct ext *x, const struct fact_job *j, int node, pmix_proc_t **to)
{
    struct fact_run run;

    for (size_t i = 0; x->ops.facts->run(x->host, j->of, i, &run); i++)
        for (int k = 0; run.node == node && k < run.n; k++, ++*to) {
            strncpy((*to)->nspace, j->nspace, sizeof (*to)->nspace - 1);
            (*to)->rank = (pmix_rank_t)(run.first + k);
        }
}

pmix_status_t info_get_local_procs(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    pmix_data_array_t *a = calloc(1, sizeof *a);
    pmix_proc_t *at;
    struct fact_job j;
    pmix_value_t n;

    info_get_node_size(x, of, &n);
    at = calloc(n.data.uint32 + 1, sizeof *at);
    if (!a || !at) {
        free(a);
        free(at);
        return PMIX_ERR_NOMEM;
    }
    *a = (pmix_data_array_t){ .type = PMIX_PROC, .size = n.data.uint32, .array = at };
    v->data.darray = a;
    for (size_t i = 0; x->ops.facts->job(x->host, i, &j); i++)
        if (!j.target)
            add_procs(x, &j, of->node, &at);
    return PMIX_SUCCESS;
}
