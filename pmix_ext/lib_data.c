/* lib_data.c - values that ranks put and get, and fences; see lib.h */
#include "pmix_ext/lib.h"

#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

static const struct ask put_ask = { "pmix-put", NULL, TAKES_NOTHING, 0, NULL };
static const struct ask commit_ask = { "pmix-commit", NULL, TAKES_NOTHING, 0, NULL };
static const struct ask get_ask = { "pmix-get", "value", TAKES_ONE, PMIX_VALUE, plain_get };
static const struct ask fence_ask = { "pmix-fence", NULL, TAKES_NOTHING, 0, plain_fence };
static const struct ask fence_job_ask = { "kvs-fence", NULL, TAKES_NOTHING, 0, plain_fence };

/* --- what this process keeps ------------------------------------------- */

struct datum *datum_new(const pmix_proc_t *proc, const char *key, const pmix_value_t *value)
{
    struct datum *d = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    if (proc)
        d->proc = *proc;
    PMIX_LOAD_KEY(d->info.key, key);
    if (value_copy(PMIX_VALUE, value, &d->info.value, NULL) < 0) {
        free(d);
        return NULL;
    }
    return d;
}

struct datum *datum_find(struct data *d, const char *key)
{
    struct datum *x;

    STAILQ_FOREACH(x, d, next)
        if (PMIX_CHECK_KEY(&x->info, key))
            break;
    return x;
}

static void datum_free(struct datum *d)
{
    PMIX_INFO_DESTRUCT(&d->info);
    free(d);
}

void data_drop(struct data *d)
{
    struct datum *x;

    while ((x = STAILQ_FIRST(d))) {
        STAILQ_REMOVE_HEAD(d, next);
        datum_free(x);
    }
}

static bool is_key(const char *key)
{
    return key && *key && strlen(key) <= PMIX_MAX_KEYLEN;
}

/* --- put and commit ---------------------------------------------------- */

/* In the place of a former one of that key and scope. */
static void stage(struct datum *d)
{
    struct datum *x;

    STAILQ_FOREACH(x, &lib.staged, next)
        if (x->scope == d->scope && PMIX_CHECK_KEY(&x->info, d->info.key))
            break;
    if (x) {
        STAILQ_REMOVE(&lib.staged, x, datum, next);
        datum_free(x);
    }
    STAILQ_INSERT_TAIL(&lib.staged, d, next);
}

/* Whether it is there to be put: keys of the standard's own are not. */
static pmix_status_t check_put(pmix_scope_t scope, const char *key, const pmix_value_t *val)
{
    if (!lib_begun())
        return PMIX_ERR_INIT;
    if (!is_key(key) || !strncmp(key, "pmix", 4) || !val || scope == PMIX_SCOPE_UNDEF)
        return PMIX_ERR_BAD_PARAM;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t *val)
{
    pmix_status_t status = check_put(scope, key, val);
    struct datum *d;

    if (status != PMIX_SUCCESS)
        return status;
    if (scope == PMIX_INTERNAL)
        return PMIx_Store_internal(NULL, key, val);
    d = datum_new(NULL, key, val);
    if (!d)
        return PMIX_ERR_NOMEM;
    d->scope = scope;
    pthread_mutex_lock(&lib.lock);
    stage(d);
    pthread_mutex_unlock(&lib.lock);
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Store_internal(const pmix_proc_t *proc, const char key[], pmix_value_t *val)
{
    struct datum *d;

    if (!lib_begun())
        return PMIX_ERR_INIT;
    if (!is_key(key) || !val)
        return PMIX_ERR_BAD_PARAM;
    d = datum_new(proc ? proc : &lib.me, key, val);
    if (!d)
        return PMIX_ERR_NOMEM;
    pthread_mutex_lock(&lib.lock);
    STAILQ_INSERT_HEAD(&lib.kept, d, next);  /* found before a former one */
    pthread_mutex_unlock(&lib.lock);
    return PMIX_SUCCESS;
}

static struct op *put_op(const struct datum *d)
{
    struct op *op = op_new(&put_ask);

    if (!op)
        return NULL;
    op_text(op, "key", d->info.key);
    op_one(op, "value", PMIX_VALUE, &d->info.value);
    op_number(op, "scope", d->scope);
    op_send(op);
    return op;
}

/* It will be refused however often it is sent. */
static bool is_hopeless(pmix_status_t said)
{
    return said == PMIX_ERR_BAD_PARAM || said == PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED;
}

/* What is refused for good leaves the list, or no later commit would succeed. */
static void judge_first(struct data *data, pmix_status_t said)
{
    struct datum *d = STAILQ_FIRST(data);

    STAILQ_REMOVE_HEAD(data, next);
    if (is_hopeless(said))
        datum_free(d);
    else
        STAILQ_INSERT_TAIL(data, d, next);
}

/* All at once, and then what became of each. */
static pmix_status_t put_all(struct data *data)
{
    pmix_status_t status = PMIX_SUCCESS;
    const struct datum *d;
    struct op **ops;
    size_t n = 0, i = 0;

    STAILQ_FOREACH(d, data, next)
        n++;
    ops = calloc(n + 1, sizeof *ops);
    if (!ops)
        return PMIX_ERR_NOMEM;
    STAILQ_FOREACH(d, data, next)
        ops[i++] = put_op(d);
    for (i = 0; i < n; i++) {
        pmix_status_t said = ops[i] ? op_wait(ops[i]) : PMIX_ERR_NOMEM;

        status = status == PMIX_SUCCESS ? said : status;
        judge_first(data, said);
        op_free(ops[i]);
    }
    free(ops);
    return status;
}

static pmix_status_t commit(struct link *l, struct data *data)
{
    pmix_status_t status;
    struct op op;

    if (!l->extended)
        return STAILQ_EMPTY(data) ? PMIX_SUCCESS : plain_commit(l, data);
    status = put_all(data);
    if (status != PMIX_SUCCESS)
        return status;
    op_start(&op, &commit_ask);
    return op_do(&op);
}

pmix_status_t PMIx_Commit(void)
{
    struct data data = STAILQ_HEAD_INITIALIZER(data);
    struct link *l = link_primary();
    pmix_status_t status;

    if (!l)
        return lib_begun() ? PMIX_ERR_UNREACH : PMIX_ERR_INIT;
    pthread_mutex_lock(&lib.lock);
    STAILQ_CONCAT(&data, &lib.staged);
    pthread_mutex_unlock(&lib.lock);
    status = commit(l, &data);
    pthread_mutex_lock(&lib.lock);
    if (status != PMIX_SUCCESS) {        /* what is left of it is still to be committed */
        STAILQ_CONCAT(&data, &lib.staged);
        STAILQ_CONCAT(&lib.staged, &data);
    }
    pthread_mutex_unlock(&lib.lock);
    data_drop(&data);
    link_drop(l);
    return status;
}

/* --- fence ------------------------------------------------------------- */

static bool is_own_job(const pmix_proc_t *procs, size_t n)
{
    bool own;

    if (!procs || !n)
        return true;
    pthread_mutex_lock(&lib.lock);
    own = n == 1 && procs->rank == PMIX_RANK_WILDCARD &&
          PMIX_CHECK_NSPACE(procs->nspace, lib.me.nspace);
    pthread_mutex_unlock(&lib.lock);
    return own;
}

/* A fence of the whole job takes no directives: the data is always exchanged. */
static bool asks_more(const pmix_info_t *infos, size_t n)
{
    for (size_t i = 0; infos && i < n; i++)
        if (PMIX_INFO_IS_REQUIRED(&infos[i]) && !PMIX_CHECK_KEY(&infos[i], PMIX_COLLECT_DATA))
            return true;
    return false;
}

static struct op *fence(const pmix_proc_t *procs, size_t nprocs, const pmix_info_t *infos,
                        size_t ninfo)
{
    bool whole = is_own_job(procs, nprocs);
    struct op *op = op_new(whole ? &fence_job_ask : &fence_ask);

    if (!op || op->status != PMIX_SUCCESS)
        return op;
    if (whole && asks_more(infos, ninfo))
        op->status = PMIX_ERR_NOT_SUPPORTED;
    if (!whole && !op->link->extended)
        op->status = PMIX_ERR_NOT_SUPPORTED;
    if (!whole) {
        op_array(op, "procs", PMIX_PROC, procs, nprocs);
        op_array(op, "infos", PMIX_INFO, infos, ninfo);
    }
    return op;
}

pmix_status_t PMIx_Fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                         size_t ninfo)
{
    return op_run_new(fence(procs, nprocs, info, ninfo));
}

pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                            size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    return op_post_op(fence(procs, nprocs, info, ninfo), cbfunc, cbdata);
}

/* --- get --------------------------------------------------------------- */

/* What this process itself has: put and not committed, or kept.  lib.lock is held. */
static const struct datum *at_hand(const pmix_proc_t *proc, const char *key)
{
    struct datum *d = NULL;

    STAILQ_FOREACH(d, &lib.kept, next)
        if (d->proc.rank == proc->rank && PMIX_CHECK_NSPACE(d->proc.nspace, proc->nspace) &&
            PMIX_CHECK_KEY(&d->info, key))
            return d;
    if (proc->rank == lib.me.rank && PMIX_CHECK_NSPACE(proc->nspace, lib.me.nspace))
        d = datum_find(&lib.staged, key);
    return d;
}

static void take_at_hand(struct op *op, const pmix_proc_t *proc, const char *key)
{
    const struct datum *d;

    pthread_mutex_lock(&lib.lock);
    d = at_hand(proc, key);
    if (d) {
        op->known = true;
        op->array = calloc(1, sizeof(pmix_value_t));
        if (!op->array || value_copy(PMIX_VALUE, &d->info.value, op->array, NULL) < 0)
            op->status = PMIX_ERR_NOMEM;
    }
    pthread_mutex_unlock(&lib.lock);
}

/* A tool is a job of its own, which its server knows nothing of. */
static void take_own(struct op *op, const char *key)
{
    pmix_value_t *value;

    if (op->known || op->link->rank || !PMIX_CHECK_NSPACE(op->proc.nspace, op->link->me.nspace))
        return;
    value = calloc(1, sizeof *value);
    op->known = true;
    op->status = value ? own_key(op->link, &op->proc, key, value) : PMIX_ERR_NOMEM;
    if (op->status == PMIX_SUCCESS)
        op->array = value;
    else
        free(value);
}

/* Whether our own URI is asked for, which needs no server. */
static bool is_own_uri(const pmix_proc_t *proc, const char *key)
{
    bool own = !proc || !*proc->nspace;

    pthread_mutex_lock(&lib.lock);
    own = own || PMIX_CHECK_NSPACE(proc->nspace, lib.me.nspace);
    pthread_mutex_unlock(&lib.lock);
    return own && key && !strcmp(key, PMIX_MYSERVER_URI);
}

static void take_uri(struct op *op)
{
    pmix_value_t *value = calloc(1, sizeof *value);
    char uri[RUNDIR_PATH + 8];

    op->known = true;
    op->status = value ? listen_uri(uri, sizeof uri) : PMIX_ERR_NOMEM;
    if (op->status == PMIX_SUCCESS)
        op->status = PMIx_Value_load(value, uri, PMIX_STRING);
    op->array = value;
}

static struct op *get(const pmix_proc_t *proc, const char *key, const pmix_info_t *infos,
                      size_t ninfo)
{
    struct op *op = op_new(&get_ask);

    if (op && is_own_uri(proc, key))
        take_uri(op);
    if (!op || op->known || op->status != PMIX_SUCCESS)
        return op;
    if (!is_key(key))
        op->status = PMIX_ERR_BAD_PARAM;
    op->proc = proc ? *proc : op->link->me;
    if (!*op->proc.nspace)
        PMIX_LOAD_NSPACE(op->proc.nspace, op->link->me.nspace);
    op->key = key;
    op->infos = infos;
    op->ninfos = ninfo;
    if (op->status == PMIX_SUCCESS)
        take_at_hand(op, &op->proc, key);
    if (op->status == PMIX_SUCCESS)
        take_own(op, key);
    op_text(op, "nspace", op->proc.nspace);
    op_one(op, "rank", PMIX_PROC_RANK, &op->proc.rank);
    op_text(op, "key", key);
    op_array(op, "infos", PMIX_INFO, infos, ninfo);
    return op;
}

pmix_status_t PMIx_Get(const pmix_proc_t *proc, const char key[], const pmix_info_t info[],
                       size_t ninfo, pmix_value_t **val)
{
    pmix_status_t status;
    struct op *op;

    if (!val)
        return PMIX_ERR_BAD_PARAM;
    *val = NULL;
    op = get(proc, key, info, ninfo);
    if (!op)
        return PMIX_ERR_NOMEM;
    status = op_run(op);
    if (status == PMIX_SUCCESS && !op->array)
        status = PMIX_ERR_NOT_FOUND;
    if (status == PMIX_SUCCESS) {
        *val = op->array;
        op->array = NULL;
    }
    op_free(op);
    return status;
}

static void deliver_value(struct op *op)
{
    op->cb.value(op->status == PMIX_SUCCESS && !op->array ? PMIX_ERR_NOT_FOUND : op->status,
                 op->array, op->cbdata);
    op_free(op);
}

pmix_status_t PMIx_Get_nb(const pmix_proc_t *proc, const char key[], const pmix_info_t info[],
                          size_t ninfo, pmix_value_cbfunc_t cbfunc, void *cbdata)
{
    struct op *op;

    if (!cbfunc)
        return PMIX_ERR_BAD_PARAM;
    op = get(proc, key, info, ninfo);
    if (op)
        op->cb.value = cbfunc;
    return op_post(op, deliver_value, cbdata);
}
