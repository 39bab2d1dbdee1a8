/* query_select.c - the qualifiers of a query, and what they select.  The same qualifier may
 * come again: what they select is put together (RFC0010). */
#include "pmix_ext/serve.h"

#include <stdlib.h>
#include <string.h>

static const double TIMEOUT = 10.0;      /* s, where none is given */

const struct qualifier query_qualifiers[] = {
    { PMIX_QUERY_REFRESH_CACHE, Q_REFRESH, PMIX_BOOL },
    { PMIX_QUERY_LOCAL_ONLY, Q_LOCAL, PMIX_BOOL },
    { PMIX_QUERY_REPORT_AVG, Q_AVERAGE, PMIX_BOOL },
    { PMIX_QUERY_REPORT_MINMAX, Q_MINMAX, PMIX_BOOL },
    { PMIX_CLIENT_ATTRIBUTES, Q_ATTRIBUTES, PMIX_STRING },
    { PMIX_SERVER_ATTRIBUTES, Q_ATTRIBUTES, PMIX_STRING },
    { PMIX_HOST_ATTRIBUTES, Q_ATTRIBUTES, PMIX_STRING },
    { PMIX_TOOL_ATTRIBUTES, Q_ATTRIBUTES, PMIX_STRING },
    { PMIX_NSPACE, Q_NSPACE, PMIX_STRING },
    { PMIX_RANK, Q_RANK, PMIX_PROC_RANK },
    { PMIX_PROCID, Q_PROCID, PMIX_PROC },
    { PMIX_NODEID, Q_NODEID, PMIX_UINT32 },
    { PMIX_HOSTNAME, Q_HOSTNAME, PMIX_STRING },
    { PMIX_APPNUM, Q_APPNUM, PMIX_UINT32 },
    { PMIX_PSET_NAME, Q_PSET, PMIX_STRING },
    { PMIX_ALLOC_QUEUE, Q_QUEUE, PMIX_STRING },
    { PMIX_SESSION_INFO, Q_REALM, PMIX_BOOL },
    { PMIX_JOB_INFO, Q_REALM, PMIX_BOOL },
    { PMIX_APP_INFO, Q_REALM, PMIX_BOOL },
    { PMIX_NODE_INFO, Q_REALM, PMIX_BOOL },
    { PMIX_TIMEOUT, Q_TIMEOUT, PMIX_INT },
    { PMIX_QUERY_SUPPORTED_QUALIFIERS, Q_SUPPORTED, PMIX_BOOL },
    { .key = NULL }
};

static const struct qualifier *find(const char *key)
{
    for (const struct qualifier *q = query_qualifiers; q->key; q++)
        if (!strcmp(q->key, key))
            return q;
    return NULL;
}

int session_node(const struct session *s)
{
    struct info_of of;

    if (s->who.called)
        return (int)s->who.called - 1;
    if (s->who.tool || !info_of_job(s->ext, s->who.nspace, &of))
        return info_node_here(s->ext);
    return info_node_of(s->ext, &of.job, s->who.rank);
}

/* --- one by one -------------------------------------------------------- */

static void refuse(struct selection *sel, pmix_status_t status)
{
    if (!sel->status)
        sel->status = status;
}

/* Add a job, in order of start, once. */
static pmix_status_t add_job(struct selection *sel, const struct fact_job *job)
{
    struct picked_job *jobs;
    size_t at = sel->njobs;

    for (size_t i = 0; i < sel->njobs; i++)
        if (sel->jobs[i].job.of == job->of)
            return PMIX_SUCCESS;
    jobs = reallocarray(sel->jobs, sel->njobs + 1, sizeof *jobs);
    if (!jobs)
        return PMIX_ERR_NOMEM;
    sel->jobs = jobs;
    for (; at && jobs[at - 1].job.number > job->number; at--)
        jobs[at] = jobs[at - 1];
    jobs[at] = (struct picked_job){ .job = *job };
    sel->njobs++;
    return PMIX_SUCCESS;
}

static pmix_status_t take_nspace(struct ext *x, struct selection *sel, const char *nspace)
{
    struct info_of of;

    if (nspace && (info_of_job(x, nspace, &of) || info_of_ended(x, nspace, &of)))
        return add_job(sel, &of.job);
    refuse(sel, PMIX_ERR_INVALID_NAMESPACE);
    return PMIX_SUCCESS;
}

static pmix_status_t take_node(struct selection *sel, long long node)
{
    if (node < 0 || (unsigned long long)node >= sel->nnodes)
        refuse(sel, PMIX_ERR_NOT_FOUND);
    else
        sel->nodes[node] = true;
    return PMIX_SUCCESS;
}

static pmix_status_t take_rank(struct selection *sel, const char *nspace, pmix_rank_t rank)
{
    pmix_proc_t *ranks = reallocarray(sel->ranks, sel->nranks + 1, sizeof *ranks);

    if (!ranks)
        return PMIX_ERR_NOMEM;
    sel->ranks = ranks;
    memset(&ranks[sel->nranks], 0, sizeof *ranks);
    strncpy(ranks[sel->nranks].nspace, nspace, PMIX_MAX_NSLEN);
    ranks[sel->nranks++].rank = rank;
    return PMIX_SUCCESS;
}

static pmix_status_t take_procid(struct ext *x, struct selection *sel, const pmix_proc_t *proc)
{
    if (!proc)
        return PMIX_ERR_BAD_PARAM;
    if (*proc->nspace && take_nspace(x, sel, proc->nspace) != PMIX_SUCCESS)
        return PMIX_ERR_NOMEM;
    return take_rank(sel, proc->nspace, proc->rank);
}

static enum info_realm realm_of(const char *key)
{
    return !strcmp(key, PMIX_SESSION_INFO) ? INFO_SESSION : !strcmp(key, PMIX_JOB_INFO) ? INFO_JOB
         : !strcmp(key, PMIX_APP_INFO) ? INFO_APP : INFO_NODE;
}

static pmix_status_t take(struct ext *x, struct selection *sel, const pmix_info_t *info,
                          const struct qualifier *q)
{
    const pmix_value_t *v = &info->value;

    switch (q->bit) {
    case Q_ATTRIBUTES:
        sel->functions = v->data.string;
        break;
    case Q_NSPACE:
        return take_nspace(x, sel, v->data.string);
    case Q_RANK:
        return take_rank(sel, "", v->data.rank);
    case Q_PROCID:
        return take_procid(x, sel, v->data.proc);
    case Q_NODEID:
        return take_node(sel, v->data.uint32);
    case Q_HOSTNAME:
        return take_node(sel, v->data.string ? info_node_named(x, v->data.string) : -1);
    case Q_LOCAL:
        return take_node(sel, sel->viewer);
    case Q_APPNUM:
        sel->app = v->data.uint32 > INT32_MAX ? INT32_MAX : (int)v->data.uint32;
        break;
    case Q_PSET:
        sel->pset = v->data.string;
        break;
    case Q_QUEUE:
        sel->queue = v->data.string;
        break;
    case Q_REALM:
        sel->realm = realm_of(q->key);
        break;
    case Q_TIMEOUT:
        sel->timeout = v->data.integer;
        break;
    default:
        break;
    }
    return PMIX_SUCCESS;
}

/* 0, or a status and e. */
static pmix_status_t read_one(struct ext *x, struct selection *sel, const pmix_info_t *info,
                              struct err *e)
{
    const struct qualifier *q = find(info->key);
    bool required = info->flags & PMIX_INFO_REQD;

    if (!q && required) {
        err_set(e, ERR_INVALID_ARG, "the qualifier %.80s is required, and not known", info->key);
        return PMIX_ERR_NOT_SUPPORTED;
    }
    if (!q)
        return PMIX_SUCCESS;
    if (info->value.type != q->type) {
        err_set(e, ERR_INVALID_VAL, "the qualifier %s has type %d, want %d", q->key,
                info->value.type, q->type);
        return PMIX_ERR_TYPE_MISMATCH;
    }
    if (q->bit == Q_TIMEOUT && info->value.data.integer < 0) {
        err_set(e, ERR_INVALID_VAL, PMIX_TIMEOUT ": %d seconds", info->value.data.integer);
        return PMIX_ERR_BAD_PARAM;
    }
    if (q->type == PMIX_BOOL && !info->value.data.flag)
        return PMIX_SUCCESS;
    sel->given |= q->bit;
    sel->required |= required ? q->bit : 0;
    return take(x, sel, info, q);
}

/* --- all --------------------------------------------------------------- */

pmix_status_t select_read(struct session *s, const pmix_query_t *q, struct selection *out,
                          struct err *e)
{
    struct fact_node node;
    pmix_status_t status = PMIX_SUCCESS;

    *out = (struct selection){ .app = -1, .viewer = session_node(s), .realm = INFO_REALMS,
                               .timeout = TIMEOUT };
    while (s->ext->ops.facts->node(s->ext->host, (int)out->nnodes, &node))
        out->nnodes++;
    out->nodes = calloc(out->nnodes + 1, sizeof *out->nodes);
    if (!out->nodes)
        status = PMIX_ERR_NOMEM;
    for (size_t i = 0; i < q->nqual && status == PMIX_SUCCESS; i++)
        status = read_one(s->ext, out, &q->qualifiers[i], e);
    if (status == PMIX_ERR_NOMEM)
        err_set(e, ERR_NOMEM, "no memory for a query");
    else if (status != PMIX_SUCCESS && !e->code)
        err_set(e, ERR_INVALID_ARG, "a qualifier has no value");
    return status;
}

void select_clear(struct selection *sel)
{
    free(sel->jobs);
    free(sel->nodes);
    free(sel->ranks);
    *sel = (struct selection){ .app = -1 };
}

/* A rank that the job does not have. */
static void check_ranks(struct selection *sel)
{
    for (size_t i = 0; i < sel->nranks; i++)
        for (size_t k = 0; k < sel->njobs; k++) {
            const pmix_proc_t *p = &sel->ranks[i];

            if ((!*p->nspace || !strcmp(p->nspace, sel->jobs[k].job.nspace)) &&
                p->rank < PMIX_RANK_VALID && p->rank >= (unsigned)sel->jobs[k].job.size)
                refuse(sel, PMIX_ERR_NOT_FOUND);
        }
}

static pmix_status_t default_jobs(struct session *s, struct selection *sel, bool all)
{
    struct ext *x = s->ext;
    pmix_status_t status = PMIX_SUCCESS;
    struct fact_job job;

    if (sel->njobs)
        return status;
    if (!s->who.tool && !all)
        return take_nspace(x, sel, s->who.nspace);
    if (!all)
        return PMIX_ERR_BAD_PARAM;       /* whose job is meant, nobody can know */
    for (size_t i = 0; status == PMIX_SUCCESS && x->ops.facts->job(x->host, i, &job); i++)
        status = add_job(sel, &job);
    return status;
}

static void default_node(struct selection *sel)
{
    if (sel->given & Q_NODES)
        return;
    sel->given |= Q_LOCAL;
    if (sel->viewer >= 0)
        sel->nodes[sel->viewer] = true;
}

/* malloc'ed even where there is nothing to copy. */
static void *copy(const void *from, size_t n, size_t size)
{
    void *to = calloc(n + 1, size);

    if (to && n)
        memcpy(to, from, n * size);
    return to;
}

pmix_status_t select_copy(struct session *s, const struct selection *sel, bool all_jobs,
                          bool local, struct selection *out)
{
    pmix_status_t status;

    *out = *sel;
    out->jobs = copy(sel->jobs, sel->njobs, sizeof *sel->jobs);
    out->nodes = copy(sel->nodes, sel->nnodes, sizeof *sel->nodes);
    out->ranks = copy(sel->ranks, sel->nranks, sizeof *sel->ranks);
    if (!out->jobs || !out->nodes || !out->ranks)
        return PMIX_ERR_NOMEM;
    if (sel->status)
        return sel->status;
    status = default_jobs(s, out, all_jobs);
    if (local)
        default_node(out);
    check_ranks(out);
    return status == PMIX_SUCCESS ? out->status : status;
}

int select_one_node(const struct selection *sel)
{
    int found = -1;

    for (size_t i = 0; (sel->given & Q_NODES) && i < sel->nnodes; i++)
        if (sel->nodes[i] && found >= 0)
            return -1;
        else if (sel->nodes[i])
            found = (int)i;
    return found;
}

/* --- ranks ------------------------------------------------------------- */

static int by_node(const void *a, const void *b)
{
    const struct pick *p = a, *q = b;

    if (p->node != q->node)
        return p->node < q->node ? -1 : 1;
    if (p->job != q->job)
        return p->job < q->job ? -1 : 1;
    return (p->first > q->first) - (p->first < q->first);
}

/* What one of the ranks that are given has of a run: *out, or false. */
static bool cut(const pmix_proc_t *p, const struct selection *sel, const struct pick *run,
                struct pick *out)
{
    bool local = p->rank == PMIX_RANK_LOCAL_NODE || p->rank == PMIX_RANK_LOCAL_PEERS;

    *out = *run;
    if (*p->nspace && strcmp(p->nspace, sel->jobs[run->job].job.nspace))
        return false;
    if (p->rank == PMIX_RANK_WILDCARD || (local && run->node == sel->viewer))
        return true;
    if (p->rank < (unsigned)run->first || p->rank - (unsigned)run->first >= (unsigned)run->n)
        return false;
    out->first = (int)p->rank;
    out->n = 1;
    return true;
}

static bool put(struct pick **v, size_t *n, size_t *room, const struct pick *p)
{
    if (*n == *room) {
        size_t more = *room ? *room * 2 : 16;
        struct pick *bigger = reallocarray(*v, more, sizeof *bigger);

        if (!bigger)
            return false;
        *v = bigger;
        *room = more;
    }
    (*v)[(*n)++] = *p;
    return true;
}

/* The same rank may have been given twice. */
static size_t without_twins(struct pick *v, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        struct pick *last = kept ? &v[kept - 1] : NULL;
        int end = last ? last->first + last->n : 0;

        if (last && last->job == v[i].job && last->node == v[i].node && v[i].first < end) {
            if (v[i].first + v[i].n > end)
                last->n = v[i].first + v[i].n - last->first;
        } else {
            v[kept++] = v[i];
        }
    }
    return kept;
}

static bool pick_run(const struct selection *sel, const struct pick *run, struct pick **v,
                     size_t *n, size_t *room)
{
    struct pick part;

    if ((sel->given & Q_NODES) && !sel->nodes[run->node])
        return true;
    if (!sel->nranks)
        return put(v, n, room, run);
    for (size_t i = 0; i < sel->nranks; i++)
        if (cut(&sel->ranks[i], sel, run, &part) && !put(v, n, room, &part))
            return false;
    return true;
}

struct pick *select_ranks(struct ext *x, const struct selection *sel, size_t *n)
{
    struct pick *v = NULL;
    size_t room = 0;
    bool ok = true;

    *n = 0;
    ok = put(&v, n, &room, &(struct pick){ 0 });         /* so that none is not NULL */
    *n = 0;
    for (size_t j = 0; j < sel->njobs; j++) {
        struct fact_run run;

        for (size_t i = 0; ok && !sel->jobs[j].gone &&
                           x->ops.facts->run(x->host, sel->jobs[j].job.of, i, &run); i++)
            ok = pick_run(sel, &(struct pick){ (int)j, run.node, run.first, run.n }, &v, n,
                          &room);
    }
    if (!ok) {
        free(v);
        return NULL;
    }
    if ((sel->given & Q_NODES) || sel->njobs > 1 || sel->nranks)
        qsort(v, *n, sizeof *v, by_node);
    *n = without_twins(v, *n);
    return v;
}
