/* info.c - see info.h; the table of keys is in info_keys.c */
#include "pmix_ext/info.h"

#include "pmix_ext/serve.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

void info_of_fact(const struct fact_job *job, struct info_of *out)
{
    *out = (struct info_of){ .job = *job, .rank = PMIX_RANK_UNDEF, .node = -1, .app = -1,
                             .viewer = -1, .realm = INFO_REALMS };
}

static bool find(struct ext *x, bool (*next)(void *host, size_t i, struct fact_job *out),
                 const char *nspace, struct info_of *out)
{
    struct fact_job job;

    info_of_fact(&(struct fact_job){ .of = NULL }, out);
    for (size_t i = 0; next && next(x->host, i, &job); i++)
        if (!strcmp(job.nspace, nspace)) {
            out->job = job;
            return true;
        }
    return false;
}

bool info_of_job(struct ext *x, const char *nspace, struct info_of *out)
{
    return find(x, x->ops.facts->job, nspace, out);
}

bool info_of_ended(struct ext *x, const char *nspace, struct info_of *out)
{
    return find(x, x->ops.facts->ended, nspace, out);
}

/* --- nodes and programs ------------------------------------------------ */

int info_node_of(struct ext *x, const struct fact_job *job, pmix_rank_t rank)
{
    struct fact_run run;

    for (size_t i = 0; x->ops.facts->run(x->host, job->of, i, &run); i++)
        if (rank >= (unsigned)run.first && rank - (unsigned)run.first < (unsigned)run.n)
            return run.node;
    return -1;
}

int info_node_named(struct ext *x, const char *name)
{
    struct fact_node node;

    for (int i = 0; x->ops.facts->node(x->host, i, &node); i++)
        if (!strcmp(node.name, name) || (node.alias && !strcmp(node.alias, name)))
            return i;
    return -1;
}

int info_node_here(struct ext *x)
{
    struct fact_node node;

    for (int i = 0; x->ops.facts->node(x->host, i, &node); i++)
        if (node.here)
            return i;
    return -1;
}

bool *info_nodes(struct ext *x, const struct fact_job *job, size_t *n)
{
    struct fact_node node;
    struct fact_run run;
    struct fact_job j;
    bool *has;

    for (*n = 0; x->ops.facts->node(x->host, (int)*n, &node); ++*n)
        ;
    has = calloc(*n + 1, sizeof *has);
    for (size_t i = 0; has && x->ops.facts->job(x->host, i, &j); i++)
        for (size_t k = 0; (!job || job->of == j.of) &&
                           x->ops.facts->run(x->host, j.of, k, &run); k++)
            has[run.node] = true;
    return has;
}

void info_node_names(struct ext *x, const bool *which, size_t n, struct buf *out)
{
    struct fact_node node;
    bool some = false;

    for (size_t i = 0; i < n && x->ops.facts->node(x->host, (int)i, &node); i++)
        if (which[i]) {
            buf_printf(out, "%s%s", some ? "," : "", node.name);
            some = true;
        }
}

int info_app_of(struct ext *x, const struct fact_job *job, pmix_rank_t rank,
                struct fact_app *out)
{
    for (int i = 0; x->ops.facts->app(x->host, job->of, i, out); i++)
        if (rank >= (unsigned)out->first && rank - (unsigned)out->first < (unsigned)out->n)
            return i;
    return -1;
}

/* --- what is asked ----------------------------------------------------- */

static bool is_rank(const struct info_of *of)
{
    return of->job.of && of->rank < (unsigned)of->job.size;
}

static bool has(const struct info_key *key, enum info_realm realm)
{
    return key->realms & 1u << realm;
}

/* Of several realms of a key the one that is meant; INFO_REALMS: none.  What is about ranks
 * is about nodes or programs only where one of these is named: else it would be a list. */
static enum info_realm choose(const struct info_key *key, const struct info_of *of)
{
    if (of->realm != INFO_REALMS)
        return has(key, of->realm) ? of->realm : INFO_REALMS;
    if (is_rank(of) && has(key, INFO_RANK))
        return INFO_RANK;
    if (of->node >= 0 && has(key, INFO_NODE))
        return INFO_NODE;
    if (of->app >= 0 && has(key, INFO_APP))
        return INFO_APP;
    if (has(key, INFO_RANK))
        return of->rank == PMIX_RANK_WILDCARD && has(key, INFO_JOB) ? INFO_JOB : INFO_REALMS;
    return has(key, INFO_JOB) ? INFO_JOB : has(key, INFO_NODE) ? INFO_NODE : INFO_SESSION;
}

/* Fill what follows from the rank, and from who asks.  False: there is no such. */
static bool resolve(struct ext *x, struct info_of *of)
{
    struct fact_app app;

    if (is_rank(of) && (of->realm == INFO_RANK || of->node < 0))
        of->node = info_node_of(x, &of->job, of->rank);
    if (of->node < 0)
        of->node = of->viewer;
    if (is_rank(of) && (of->realm == INFO_RANK || of->app < 0))
        of->app = info_app_of(x, &of->job, of->rank, &app);
    if (of->app < 0)
        of->app = 0;
    return of->node >= 0 || of->realm != INFO_NODE;
}

const struct info_key *info_key(const char *key)
{
    for (const struct info_key *k = info_keys; k->key; k++)
        if (!strcmp(k->key, key))
            return k;
    return NULL;
}

/* Job-level information that is not ours. */
static pmix_status_t get_said(struct ext *x, const struct info_of *of, const char *key,
                              pmix_value_t *value)
{
    const pmix_value_t *said = x->ops.facts->said ? x->ops.facts->said(x->host, of->job.of, key)
                                                  : NULL;
    struct err e;

    if (!said)
        return PMIX_ERR_NOT_FOUND;
    return value_copy(PMIX_VALUE, said, value, &e) < 0 ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
}

pmix_status_t info_get(struct ext *x, const struct info_of *of, const char *key,
                       pmix_value_t *value)
{
    const struct info_key *k = info_key(key);
    struct info_of what = *of;
    pmix_status_t status;

    *value = (pmix_value_t){ .type = PMIX_UNDEF };
    if (!k && of->job.of && !is_rank(of))
        return get_said(x, of, key, value);
    if (!k || (!of->job.of && !k->alone))
        return PMIX_ERR_NOT_FOUND;
    what.realm = choose(k, of);
    if (what.realm == INFO_REALMS || !resolve(x, &what))
        return PMIX_ERR_NOT_FOUND;
    status = k->get(x, &what, value);
    value->type = status == PMIX_SUCCESS ? k->type : PMIX_UNDEF;
    return status;
}
