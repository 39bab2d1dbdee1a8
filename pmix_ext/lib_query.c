/* lib_query.c - queries; see lib.h.  A few keys are about the library and its surroundings, not
 * about what a server knows: those are answered here, each in its place among the server's
 * answers. */
#include "pmix_ext/lib.h"

#include "pmix_ext/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ask query_ask = { "pmix-query", "results", TAKES_LIST, PMIX_INFO, NULL };

/* --- the servers that can be found here -------------------------------- */

enum { SERVER_INFOS = 8 };

static pmix_status_t load(pmix_info_t *infos, size_t *n, const char *key, const void *data,
                          pmix_data_type_t type)
{
    return PMIx_Info_load(&infos[(*n)++], key, data, type);
}

static pmix_status_t describe(const struct rendezvous *r, pmix_info_t *infos, size_t *n)
{
    char uri[RUNDIR_PATH + 8];
    uint32_t uid = r->uid, gid = r->gid;
    const void *of[SERVER_INFOS] = { r->nspace, &(pmix_rank_t){ 0 }, r->host, &r->pid, uri,
                                     &r->system, &uid, &gid };
    static const struct { const char *key; pmix_data_type_t type; } what[SERVER_INFOS] = {
        { PMIX_SERVER_NSPACE, PMIX_STRING }, { PMIX_SERVER_RANK, PMIX_PROC_RANK },
        { PMIX_HOSTNAME, PMIX_STRING }, { PMIX_SERVER_PIDINFO, PMIX_PID },
        { PMIX_SERVER_URI, PMIX_STRING }, { PMIX_SERVER_SYSTEM_SUPPORT, PMIX_BOOL },
        { PMIX_USERID, PMIX_UINT32 }, { PMIX_GRPID, PMIX_UINT32 }
    };
    pmix_status_t status = PMIX_SUCCESS;

    snprintf(uri, sizeof uri, "unix:%s", r->socket);
    while (status == PMIX_SUCCESS && *n < SERVER_INFOS)
        status = load(infos, n, what[*n].key, of[*n], what[*n].type);
    return status;
}

/* One server as an info. */
static pmix_status_t add_server(const struct rendezvous *r, pmix_info_t *to)
{
    pmix_info_t infos[SERVER_INFOS] = { { .key = "" } };
    size_t n = 0;
    pmix_status_t status = describe(r, infos, &n);
    pmix_data_array_t a = { .type = PMIX_INFO, .size = n, .array = infos };

    if (status == PMIX_SUCCESS)
        status = PMIx_Info_load(to, PMIX_SERVER_INFO_ARRAY, &a, PMIX_DATA_ARRAY);
    for (size_t i = 0; i < n; i++)
        PMIX_INFO_DESTRUCT(&infos[i]);
    return status;
}

static pmix_status_t load_servers(pmix_info_t *to, const char *key)
{
    struct rendezvous *all = NULL;
    struct err e = { ERR_NONE, "" };
    int n = find_all(&all, &e);
    pmix_data_array_t a = { .type = PMIX_INFO };
    pmix_status_t status = PMIX_SUCCESS;

    if (n < 0)
        return e.code == ERR_NOMEM ? PMIX_ERR_NOMEM : PMIX_ERR_NOT_AVAILABLE;
    a.array = calloc((size_t)n + 1, sizeof(pmix_info_t));
    if (!a.array)
        status = PMIX_ERR_NOMEM;
    for (; status == PMIX_SUCCESS && a.size < (size_t)n; a.size++)
        status = add_server(&all[a.size], (pmix_info_t *)a.array + a.size);
    if (status == PMIX_SUCCESS)
        status = PMIx_Info_load(to, key, &a, PMIX_DATA_ARRAY);
    PMIX_INFO_FREE(a.array, a.size);
    free(all);
    return status;
}

/* --- the keys ---------------------------------------------------------- */

/* No version of the standard has promised a binary interface; libpmix 4.2.2 says the same. */
static pmix_status_t load_abi(pmix_info_t *to, const char *key)
{
    return PMIx_Info_load(to, key, "0.0", PMIX_STRING);
}

static const struct own_query {
    const char     *key;
    pmix_status_t (*load)(pmix_info_t *to, const char *key);
} own_queries[] = {
    { PMIX_QUERY_AVAIL_SERVERS, load_servers },
    { PMIX_QUERY_STABLE_ABI_VERSION, load_abi },
    { PMIX_QUERY_PROVISIONAL_ABI_VERSION, load_abi },
};
enum { OWN_QUERIES = sizeof own_queries / sizeof *own_queries };

/* NULL: a server is to be asked. */
static const struct own_query *own_query(const char *key)
{
    for (size_t i = 0; i < OWN_QUERIES; i++)
        if (!strcmp(key, own_queries[i].key))
            return &own_queries[i];
    return NULL;
}

/* No server has answered: they stand alone. */
static pmix_status_t place_all(struct op *op)
{
    pmix_info_t *infos = calloc(op->nown, sizeof *infos);

    if (!infos)
        return PMIX_ERR_NOMEM;
    for (op->n = 0; op->n < op->nown; op->n++)
        PMIX_LOAD_KEY(infos[op->n].key, op->own[op->n].key);
    op->array = infos;
    return PMIX_SUCCESS;
}

/* Fill the places of the library's own answers; one that cannot be had is left out. */
static pmix_status_t fill_own(struct op *op)
{
    pmix_status_t status = PMIX_SUCCESS;
    pmix_info_t *infos = op->array;
    size_t n = 0;

    for (size_t i = 0; i < op->n; i++) {
        pmix_info_t info = infos[i];
        const struct own_query *q = info.value.type == PMIX_UNDEF ? own_query(info.key) : NULL;
        pmix_status_t rc = q ? q->load(&info, q->key) : PMIX_SUCCESS;

        if (rc == PMIX_SUCCESS)
            infos[n++] = info;
        else
            status = rc;
    }
    op->n = n;
    return status;
}

/* With the answers of the library itself, where it was asked. */
static pmix_status_t add_own(struct op *op)
{
    pmix_status_t status = PMIX_SUCCESS;

    if (!op->nown)
        return op->status;
    if (!op->array)
        status = place_all(op);
    if (status == PMIX_SUCCESS)
        status = fill_own(op);
    if (!op->n) {
        free(op->array);
        op->array = NULL;
    }
    if (op->status == PMIX_SUCCESS)
        return status;
    return op->n ? PMIX_QUERY_PARTIAL_SUCCESS : op->status;
}

/* --- the call ---------------------------------------------------------- */

static void drop(pmix_query_t *copies, size_t n)
{
    for (size_t i = 0; copies && i < n; i++)
        free(copies[i].keys);
    free(copies);
}

/* The keys of a query that are a server's, NULL behind them, *left more of them; the others go
 * to op->own.  NULL: no memory. */
static char **servers_keys(struct op *op, char **keys, size_t *left)
{
    size_t n = (size_t)PMIx_Argv_count(keys), at = 0;
    struct own_key *own = reallocarray(op->own, op->nown + n + 1, sizeof *own);
    char **out = own ? calloc(n + 1, sizeof *out) : NULL;

    op->own = own ? own : op->own;
    for (; out && keys && *keys; keys++) {
        const struct own_query *q = own_query(*keys);

        if (q)
            own[op->nown++] = (struct own_key){ q->key, *left + at };
        else
            out[at++] = *keys;
    }
    *left += at;
    return out;
}

/* Copies of queries with those alone; the keys and qualifiers themselves stay the caller's. */
static pmix_query_t *split(struct op *op, const pmix_query_t *queries, size_t n, size_t *left)
{
    pmix_query_t *out = calloc(n, sizeof *out);

    *left = 0;
    for (size_t i = 0; out && i < n; i++) {
        out[i] = queries[i];
        out[i].keys = servers_keys(op, queries[i].keys, left);
        if (!out[i].keys) {
            drop(out, i);
            return NULL;
        }
    }
    return out;
}

/* Nothing is left to be asked of a server, so none is needed. */
static bool is_alone(struct op *op, size_t left)
{
    if (left || !op->nown)
        return false;
    op->status = PMIX_SUCCESS;
    op->known = true;
    return true;
}

static struct op *query(pmix_query_t *queries, size_t n)
{
    struct op *op = op_new(&query_ask);
    pmix_query_t *copies;
    size_t left;

    if (!op)
        return NULL;
    if (!queries || !n) {
        if (op->status == PMIX_SUCCESS)
            op->status = PMIX_ERR_BAD_PARAM;
        return op;
    }
    copies = split(op, queries, n, &left);
    if (!copies)
        op->status = PMIX_ERR_NOMEM;
    else if (!is_alone(op, left))
        op_array(op, "queries", PMIX_QUERY, copies, n);
    drop(copies, n);
    return op;
}

pmix_status_t PMIx_Query_info(pmix_query_t queries[], size_t nqueries, pmix_info_t **results,
                              size_t *nresults)
{
    struct op *op;
    pmix_status_t status;

    if (!results || !nresults)
        return PMIX_ERR_BAD_PARAM;
    *results = NULL;
    *nresults = 0;
    op = query(queries, nqueries);
    if (!op)
        return PMIX_ERR_NOMEM;
    op_run(op);
    status = add_own(op);
    *results = op->array;
    *nresults = op->n;
    op->array = NULL;
    op_free(op);
    return status;
}

static void deliver_answers(struct op *op)
{
    op->status = add_own(op);
    deliver_info(op);
}

pmix_status_t PMIx_Query_info_nb(pmix_query_t queries[], size_t nqueries,
                                 pmix_info_cbfunc_t cbfunc, void *cbdata)
{
    struct op *op;

    if (!cbfunc)
        return PMIX_ERR_BAD_PARAM;
    op = query(queries, nqueries);
    if (op && op->known && !lib_begun())         /* there is no thread that would call back */
        op->status = PMIX_ERR_INIT;
    if (op)
        op->cb.info = cbfunc;
    return op_post(op, deliver_answers, cbdata);
}
