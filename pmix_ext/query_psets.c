/* query_psets.c - process sets: the ranks of the programs that were given one name (-pset, or
 * PMIX_PSET_NAME of a spawn), of whatever job.  (PMIX_QUERY_NUM_PSETS, ...; there are no
 * groups, whose functions are not supported.) */
#include "pmix_ext/query.h"
#include "pmix_ext/serve.h"

#include <stdlib.h>
#include <string.h>

/* Whether a set was named before program a of job j. */
static bool is_named_before(struct ext *x, const char *name, size_t j, int a)
{
    const struct fact_ops *facts = x->ops.facts;
    struct fact_job job;
    struct fact_app app;

    for (size_t i = 0; i <= j && facts->job(x->host, i, &job); i++)
        for (int k = 0; (i < j || k < a) && facts->app(x->host, job.of, k, &app); k++)
            if (app.pset && !strcmp(app.pset, name))
                return true;
    return false;
}

/* Their names, with commas; how many. */
static size_t list(struct ext *x, struct buf *names)
{
    const struct fact_ops *facts = x->ops.facts;
    struct fact_job job;
    struct fact_app app;
    size_t n = 0;

    for (size_t i = 0; facts->job(x->host, i, &job); i++)
        for (int a = 0; facts->app(x->host, job.of, a, &app); a++)
            if (app.pset && !is_named_before(x, app.pset, i, a))
                buf_printf(names, "%s%s", n++ ? "," : "", app.pset);
    return n;
}

pmix_status_t query_pset_count(struct ext *x, const struct element *of, pmix_value_t *out)
{
    struct buf names = BUF_INIT;

    (void)of;
    out->type = PMIX_SIZE;
    out->data.size = list(x, &names);
    buf_clear(&names);
    return PMIX_SUCCESS;
}

pmix_status_t query_pset_names(struct ext *x, const struct element *of, pmix_value_t *out)
{
    struct buf names = BUF_INIT;
    size_t n = list(x, &names);

    (void)of;
    out->type = PMIX_STRING;
    out->data.string = names.failed ? NULL : strdup(n ? buf_bytes(&names) : "");
    buf_clear(&names);
    return out->data.string ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
}

/* Whose members are wanted has to be said, and to be there. */
pmix_status_t query_pset_check(struct ext *x, const struct selection *sel)
{
    if (!sel->pset)
        return PMIX_ERR_BAD_PARAM;
    return is_named_before(x, sel->pset, SIZE_MAX, 0) ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

bool query_in_pset(const struct element *of)
{
    return of->app.pset && !strcmp(of->app.pset, of->sel->pset);
}
