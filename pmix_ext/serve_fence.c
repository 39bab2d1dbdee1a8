/* serve_fence.c - pmix-fence: some ranks, of one job or of connected ones, wait for each
 * other.  (PMIx standard, PMIx_Fence.)
 *
 * A fence is known by its set of ranks: the same set, in whatever order it is given, is the
 * same fence, and one rank that enters twice is in two of them, one after the other.  What
 * ranks have put is here at the root already, so there is no data to be collected. */
#include "pmix_ext/serve.h"

#include "pmix_ext/directives.h"
#include "pmix_ext/support.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

struct part {                            /* ranks of one job */
    struct job *job;
    bool        all;
    int        *ranks;                   /* owned; sorted, each once; NULL: all */
    int         n;
    bool       *entered;                 /* owned; by index, or by rank if all */
};

struct gathering {
    TAILQ_ENTRY(gathering) in_ext;
    struct awaited awaited;
    struct part   *parts;                /* owned; in order of their jobs' numbers */
    size_t         nparts;
    long long      left;                 /* ranks that have not entered */
    struct after   timer;
};

/* --- sets -------------------------------------------------------------- */

static void clear_parts(struct part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(parts[i].ranks);
        free(parts[i].entered);
    }
    free(parts);
}

static int by_job(const void *a, const void *b)
{
    int x = ((const struct part *)a)->job->number, y = ((const struct part *)b)->job->number;

    return (x > y) - (x < y);
}

static struct part *part_of(struct gathering *g, const struct job *j)
{
    for (size_t i = 0; i < g->nparts; i++)
        if (g->parts[i].job == j)
            return &g->parts[i];
    return NULL;
}

static pmix_status_t no_memory(struct err *e)
{
    err_set(e, ERR_NOMEM, "no memory for a fence");
    return PMIX_ERR_NOMEM;
}

/* room: how many entries there can be. */
static struct part *add_part(struct gathering *g, struct job *j, size_t room)
{
    struct part *p = part_of(g, j);

    if (p)
        return p;
    p = &g->parts[g->nparts];
    *p = (struct part){ .job = j, .ranks = malloc(room * sizeof *p->ranks) };
    if (!p->ranks)
        return NULL;
    g->nparts++;
    return p;
}

static pmix_status_t add_proc(struct request *rq, struct gathering *g, const pmix_proc_t *proc,
                              size_t room, struct err *e)
{
    pmix_status_t status;
    struct job *j = ext_job_for(rq, proc->nspace, &status, e);
    struct part *p;

    if (!j)
        return status;
    if (proc->rank != PMIX_RANK_WILDCARD && proc->rank >= (pmix_rank_t)j->size) {
        if (proc->rank >= PMIX_RANK_VALID)
            err_set(e, ERR_INVALID_VAL, "a rank, or all (wildcard), is wanted");
        else
            err_set(e, ERR_INVALID_VAL, "there is no rank %u, %.64s has %d", proc->rank, j->id,
                    j->size);
        return PMIX_ERR_BAD_PARAM;
    }
    p = add_part(g, j, room);
    if (!p)
        return no_memory(e);
    p->all = p->all || proc->rank == PMIX_RANK_WILDCARD;
    if (proc->rank != PMIX_RANK_WILDCARD)
        p->ranks[p->n++] = (int)proc->rank;
    return PMIX_SUCCESS;
}

/* Sorted, each rank once; one that names every rank is one of all. */
static void order(struct part *p)
{
    int n = 0;

    qsort(p->ranks, (size_t)p->n, sizeof *p->ranks, by_rank);
    for (int i = 0; i < p->n; i++)
        if (!i || p->ranks[i] != p->ranks[n - 1])
            p->ranks[n++] = p->ranks[i];
    p->all = p->all || n == p->job->size;
    p->n = p->all ? p->job->size : n;
    if (p->all) {
        free(p->ranks);
        p->ranks = NULL;
    }
}

/* The set of a request; none given: the caller's job. */
static pmix_status_t read_set(struct request *rq, struct gathering *g, const pmix_proc_t *procs,
                              size_t n, struct err *e)
{
    const pmix_proc_t all = { "", PMIX_RANK_WILDCARD };
    pmix_status_t status = PMIX_SUCCESS;

    if (!n) {
        procs = &all;
        n = 1;
    }
    g->parts = calloc(n, sizeof *g->parts);
    if (!g->parts)
        return no_memory(e);
    for (size_t i = 0; i < n && status == PMIX_SUCCESS; i++) {
        status = add_proc(rq, g, &procs[i], n, e);
        if (status != PMIX_SUCCESS)
            err_context(e, "procs[%zu]", i);
    }
    for (size_t i = 0; i < g->nparts && status == PMIX_SUCCESS; i++)
        order(&g->parts[i]);
    qsort(g->parts, g->nparts, sizeof *g->parts, by_job);
    return status;
}

static bool same_set(const struct gathering *a, const struct gathering *b)
{
    bool same = a->nparts == b->nparts;

    for (size_t i = 0; i < a->nparts && same; i++) {
        const struct part *x = &a->parts[i], *y = &b->parts[i];

        same = x->job == y->job && x->all == y->all && x->n == y->n &&
               (x->all || !memcmp(x->ranks, y->ranks, (size_t)x->n * sizeof *x->ranks));
    }
    return same;
}

/* The number of a rank in a part; -1: it is not one of them. */
static int index_of(const struct part *p, int rank)
{
    const int *at;

    if (!p || p->all)
        return p ? rank : -1;
    at = bsearch(&rank, p->ranks, (size_t)p->n, sizeof *p->ranks, by_rank);
    return at ? (int)(at - p->ranks) : -1;
}

/* Where a rank has its mark that it has entered, or NULL. */
static bool *mark_of(struct gathering *g, const struct job *j, int rank)
{
    struct part *p = part_of(g, j);
    int i = index_of(p, rank);

    return i >= 0 ? &p->entered[i] : NULL;
}

/* --- gatherings -------------------------------------------------------- */

static void gathering_free(struct gathering *g)
{
    after_stop(&g->timer);
    awaited_end(&g->awaited);
    TAILQ_REMOVE(&g->awaited.ext->gatherings, g, in_ext);
    clear_parts(g->parts, g->nparts);
    free(g);
}

static void nobody_waits(struct awaited *a)
{
    gathering_free((struct gathering *)((char *)a - offsetof(struct gathering, awaited)));
}

/* All that wait hear the same. */
static void end(struct gathering *g, pmix_status_t status, const struct err *why)
{
    ext_finish(&g->awaited.waiters, status, why);
    gathering_free(g);
}

static void fail(struct gathering *g, const struct job *j, int rank)
{
    struct err why;

    err_set(&why, ERR_OTHER, "rank %d of %.64s has ended", rank, j->id);
    end(g, PMIX_ERR_LOST_CONNECTION, &why);
}

static void time_out(void *who)
{
    struct gathering *g = who;
    struct err why;

    err_set(&why, ERR_OTHER, "%lld ranks did not come in time", g->left);
    end(g, PMIX_ERR_TIMEOUT, &why);
}

/* Made of the set in *from, which it takes.  NULL: no memory. */
static struct gathering *gathering_new(struct ext *x, struct gathering *from)
{
    struct gathering *g = calloc(1, sizeof *g);

    if (!g)
        return NULL;
    g->parts = from->parts;
    g->nparts = from->nparts;
    *from = (struct gathering){ 0 };
    awaited_begin(&g->awaited, x, nobody_waits);
    TAILQ_INSERT_TAIL(&x->gatherings, g, in_ext);
    for (size_t i = 0; i < g->nparts; i++) {
        struct part *p = &g->parts[i];

        g->left += p->n;
        p->entered = calloc((size_t)p->n, sizeof *p->entered);
        if (!p->entered) {
            gathering_free(g);
            return NULL;
        }
    }
    return g;
}

/* The first open one of this set that the rank is not in; or a new one, which takes what set
 * holds.  NULL: no memory. */
static struct gathering *find_or_make(struct ext *x, struct gathering *set, const struct job *j,
                                      int rank)
{
    struct gathering *g;

    TAILQ_FOREACH(g, &x->gatherings, in_ext)
        if (same_set(g, set) && !*mark_of(g, j, rank))
            return g;
    return gathering_new(x, set);
}

/* A rank of it that has ended and was not in; -1: there is none. */
static int missing(const struct part *p)
{
    for (int i = 0; p->job->gone_all && i < p->n; i++) {
        int rank = p->all ? i : p->ranks[i];

        if (!p->entered[i] && ext_rank_gone(p->job, rank))
            return rank;
    }
    return -1;
}

static bool look_for_missing(struct gathering *g)
{
    for (size_t i = 0; i < g->nparts; i++) {
        int rank = missing(&g->parts[i]);

        if (rank >= 0) {
            fail(g, g->parts[i].job, rank);
            return true;
        }
    }
    return false;
}

/* --- the command ------------------------------------------------------- */

struct fence_options { int timeout; };

static const struct directive_rule fence_rules[] = {
    DIRECTIVE(PMIX_TIMEOUT, PMIX_INT, struct fence_options, timeout),
    DIRECTIVE_KNOWN(PMIX_COLLECT_DATA, PMIX_BOOL),           /* all of it is here */
    DIRECTIVE_KNOWN(PMIX_COLLECT_GENERATED_JOB_INFO, PMIX_BOOL),
    { 0 }
};

bool fence_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    return directive_at(fence_rules, i, key, type);
}

enum { FENCE_PROCS, FENCE_INFOS };

/* The first time-out that a rank has given is the fence's. */
static enum outcome enter(struct request *rq, struct gathering *set, int rank, int timeout,
                          struct err *e)
{
    struct ext *x = ext_of(rq);
    struct job *j = rq->conn->job;
    struct gathering *g = find_or_make(x, set, j, rank);

    if (!g)
        return ext_refuse(rq, no_memory(e));
    if (!request_park(rq, &g->awaited.waiters, e)) {
        if (!ext_waiting(&g->awaited.waiters))
            gathering_free(g);
        return ext_refuse(rq, PMIX_ERR_OUT_OF_RESOURCE);
    }
    *mark_of(g, j, rank) = true;
    g->left--;
    if (!g->left)
        end(g, PMIX_SUCCESS, NULL);
    else if (!look_for_missing(g) && timeout && !g->timer.ext)
        after_start(&g->timer, x, timeout, time_out, g);
    return PARKED;
}

static enum outcome begin(struct request *rq, const pmix_proc_t *procs, size_t n, int timeout,
                          struct err *e)
{
    struct gathering set = { 0 };
    pmix_status_t status = read_set(rq, &set, procs, n, e);
    struct party who;
    enum outcome o;

    conn_party(rq->conn, &who);
    if (status != PMIX_SUCCESS)
        o = ext_refuse(rq, status);
    else if (index_of(part_of(&set, rq->conn->job), (int)who.rank) < 0)
        o = ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "procs: the caller is not one of them");
    else
        o = enter(rq, &set, (int)who.rank, timeout, e);
    clear_parts(set.parts, set.nparts);
    return o;
}

enum outcome ext_fence(struct request *rq, struct err *e)
{
    const struct value *arg = rq->arg;
    struct fence_options options = { 0 };
    struct infos infos = { 0 };
    struct session *s = session_of(rq, e);
    pmix_proc_t *procs;
    pmix_status_t status;
    enum outcome o;
    size_t n;

    if (!s)
        return ext_refuse(rq, PMIX_ERR_NOMEM);
    if (rq->conn->tool)
        return ext_fail(rq, e, PMIX_ERR_NOT_SUPPORTED, "a tool is in no fence");
    status = ext_take_procs(s, &arg[FENCE_PROCS], "procs", &procs, &n, e);
    if (status == PMIX_SUCCESS)
        status = directives_read(&infos, arg[FENCE_INFOS].s, arg[FENCE_INFOS].len, "infos", e);
    if (status == PMIX_SUCCESS)
        status = directives_take(&infos, "infos", fence_rules, &options, e);
    if (status != PMIX_SUCCESS)
        o = ext_refuse(rq, status);
    else if (options.timeout < 0)
        o = ext_fail(rq, e, PMIX_ERR_BAD_PARAM, PMIX_TIMEOUT ": %d seconds", options.timeout);
    else
        o = begin(rq, procs, n, options.timeout, e);
    infos_clear(&infos);
    free(procs);
    return o;
}

/* --- what happens ------------------------------------------------------ */

void fences_rank_ended(struct ext *x, struct job *j, int rank)
{
    struct gathering *g, *next;

    for (g = TAILQ_FIRST(&x->gatherings); g; g = next) {
        bool *entered = mark_of(g, j, rank);

        next = TAILQ_NEXT(g, in_ext);
        if (entered && !*entered)
            fail(g, j, rank);
    }
}

void fences_job_gone(struct ext *x, struct job *j)
{
    struct gathering *g, *next;
    struct err why;

    err_set(&why, ERR_OTHER, "job %.64s has ended", j->id);
    for (g = TAILQ_FIRST(&x->gatherings); g; g = next) {
        next = TAILQ_NEXT(g, in_ext);
        if (part_of(g, j))
            end(g, PMIX_ERR_LOST_CONNECTION, &why);
    }
}

void fences_clear(struct ext *x)
{
    struct gathering *g;

    while ((g = TAILQ_FIRST(&x->gatherings)))
        gathering_free(g);
}
