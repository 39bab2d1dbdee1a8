/* lib_server.c - the calls of a host that is a resource manager: what set-up providers do for
 * its jobs.  No client is served: see pmix_ext_server.h. */
#include "pmix_ext/lib_server.h"

#include "pmix_ext/env_text.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is asked about a job comes from these attributes of it. */
static const struct { const char *name, *key, *raw; } facts[] = {
    { "nodes", PMIX_NODE_MAP, PMIX_NODE_MAP_RAW }, { "ranks", PMIX_PROC_MAP, PMIX_PROC_MAP_RAW },
    { "host", PMIX_HOSTNAME, PMIX_HOSTNAME },
};
enum { FACTS = sizeof facts / sizeof *facts };

struct known {                           /* a job that was registered */
    LIST_ENTRY(known) in_lib;
    pmix_nspace_t nspace;
    char *facts[FACTS];                  /* owned; NULL: not said */
    pmix_rank_t *ranks;                  /* owned: that were registered as clients */
    size_t nranks;
};

/* --- start and end ----------------------------------------------------- */

static struct link *no_server(const pmix_info_t *infos, size_t n, pmix_status_t *status)
{
    (void)infos;
    (void)n;
    *status = PMIX_SUCCESS;
    return NULL;
}

static bool is_hosting(void)
{
    bool hosting;

    pthread_mutex_lock(&lib.lock);
    hosting = lib.hosting.inits > 0;
    pthread_mutex_unlock(&lib.lock);
    return hosting;
}

pmix_status_t PMIx_server_init(pmix_server_module_t *module, pmix_info_t info[], size_t ninfo)
{
    pmix_status_t rc = attr_required(info, ninfo, NULL);

    (void)module;                        /* there is no client to call it for */
    if (rc != PMIX_SUCCESS)
        return rc;
    rc = lib_begin(no_server, info, ninfo, NULL);
    pthread_mutex_lock(&lib.lock);
    lib.hosting.inits += rc == PMIX_SUCCESS;
    pthread_mutex_unlock(&lib.lock);
    return rc;
}

/* lib.lock is held. */
static struct known *find_known(const char *nspace)
{
    struct known *k;

    LIST_FOREACH(k, &lib.hosting.known, in_lib)
        if (PMIX_CHECK_NSPACE(k->nspace, nspace))
            break;
    return k;
}

/* lib.lock is held; NULL is fine. */
static void forget(struct known *k)
{
    if (!k)
        return;
    LIST_REMOVE(k, in_lib);
    for (size_t i = 0; i < FACTS; i++)
        free(k->facts[i]);
    free(k->ranks);
    free(k);
}

pmix_status_t PMIx_server_finalize(void)
{
    unsigned left;

    if (callback_here(&lib.callbacks))   /* it would wait for itself */
        return PMIX_ERR_INVALID_OPERATION;
    pthread_mutex_lock(&lib.lock);
    left = lib.hosting.inits;
    lib.hosting.inits -= left > 0;
    pthread_mutex_unlock(&lib.lock);
    if (!left)
        return PMIX_ERR_INIT;
    if (left == 1) {
        helpers_end();
        pthread_mutex_lock(&lib.lock);
        while (!LIST_EMPTY(&lib.hosting.known))
            forget(LIST_FIRST(&lib.hosting.known));
        pthread_mutex_unlock(&lib.lock);
    }
    return lib_finish();
}

/* --- jobs -------------------------------------------------------------- */

static const pmix_value_t *value_of_fact(const pmix_info_t *infos, size_t n, size_t i)
{
    const pmix_value_t *v = attr_find(infos, n, facts[i].key);

    return v ? v : attr_find(infos, n, facts[i].raw);
}

/* A regular expression of ours is its text, with its NUL. */
static const char *text_of(const pmix_value_t *v)
{
    if (v->type == PMIX_STRING)
        return v->data.string;
    if (v->type == PMIX_REGEX && v->data.bo.size && !v->data.bo.bytes[v->data.bo.size - 1])
        return v->data.bo.bytes;
    return NULL;
}

static const char *fact_of(const pmix_info_t *infos, size_t n, size_t i)
{
    const pmix_value_t *v = value_of_fact(infos, n, i);

    return v ? text_of(v) : NULL;
}

static pmix_status_t check_facts(const pmix_info_t *infos, size_t n)
{
    for (size_t i = 0; i < FACTS; i++) {
        const pmix_value_t *v = value_of_fact(infos, n, i);

        if (v && !text_of(v))
            return PMIX_ERR_TYPE_MISMATCH;
    }
    return PMIX_SUCCESS;
}

/* Of a job that is known already its clients stay.  lib.lock is held. */
static void know(struct known *k)
{
    struct known *old = find_known(k->nspace);

    if (old) {
        k->ranks = old->ranks;
        k->nranks = old->nranks;
        old->ranks = NULL;
    }
    forget(old);
    LIST_INSERT_HEAD(&lib.hosting.known, k, in_lib);
}

pmix_status_t PMIx_server_register_nspace(const pmix_nspace_t nspace, int nlocalprocs,
                                          pmix_info_t info[], size_t ninfo,
                                          pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    pmix_status_t rc = is_hosting() ? check_facts(info, ninfo) : PMIX_ERR_INIT;
    struct known *k;

    (void)nlocalprocs;
    (void)cbfunc;                        /* as it is done at once */
    (void)cbdata;
    if (rc != PMIX_SUCCESS)
        return rc;
    if (!nspace || !*nspace)
        return PMIX_ERR_BAD_PARAM;
    k = calloc(1, sizeof *k);
    if (!k)
        return PMIX_ERR_NOMEM;
    PMIX_LOAD_NSPACE(k->nspace, nspace);
    for (size_t i = 0; i < FACTS; i++) {
        const char *fact = fact_of(info, ninfo, i);

        k->facts[i] = fact ? strdup(fact) : NULL;
    }
    pthread_mutex_lock(&lib.lock);
    know(k);
    pthread_mutex_unlock(&lib.lock);
    return PMIX_OPERATION_SUCCEEDED;
}

/* What this call says of the job comes before what its registration has said. */
static void add_facts(json_t *request, const char *nspace, const pmix_info_t *infos, size_t n)
{
    const struct known *k;
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    pthread_mutex_lock(&lib.lock);
    k = find_known(nspace);
    for (size_t i = 0; i < FACTS; i++) {
        const char *fact = fact_of(infos, n, i);

        if (!fact && k)
            fact = k->facts[i];
        if (!fact)
            fact = strcmp(facts[i].name, "host") ? "" : host;
        json_object_set_new(request, facts[i].name, json_string(fact));
    }
    pthread_mutex_unlock(&lib.lock);
}

/* They go by their own names; the rest is for providers. */
static void drop_facts(json_t *list)
{
    for (size_t i = json_array_size(list); i-- > 0;) {
        const char *key = json_string_value(json_object_get(json_array_get(list, i), "key"));
        size_t k = 0;

        while (k < FACTS && strcmp(facts[k].key, key) && strcmp(facts[k].raw, key))
            k++;
        if (k < FACTS)
            json_array_remove(list, i);
    }
}

/* NULL and *rc: no memory, or infos that cannot be sent. */
static json_t *make_request(const struct helper *h, const pmix_info_t *infos, size_t n,
                            pmix_status_t *rc)
{
    struct buf text = BUF_INIT;
    struct err e;
    json_t *list = NULL, *request = NULL;

    *rc = PMIX_ERR_BAD_PARAM;
    if (value_encode_array(PMIX_INFO, infos, infos ? n : 0, "info", &text, &e) == 0) {
        *rc = PMIX_ERR_NOMEM;
        list = json_loadb(buf_bytes(&text), text.len, 0, NULL);
        explicit_bzero(buf_bytes(&text), text.len);
    }
    buf_clear(&text);
    drop_facts(list);
    if (list)
        request = json_pack("{s:s,s:s,s:o}", "for", h->local ? "setup-local" : "setup-application",
                            "job", h->nspace, "infos", list);
    if (request)
        add_facts(request, h->nspace, infos, n);
    return request;
}

/* Takes h. */
static pmix_status_t begin(struct helper *h, const char *nspace, const pmix_info_t *infos,
                           size_t n)
{
    pmix_status_t rc = check_facts(infos, n);
    json_t *request;

    PMIX_LOAD_NSPACE(h->nspace, nspace);
    request = rc == PMIX_SUCCESS ? make_request(h, infos, n, &rc) : NULL;
    if (request)
        rc = helper_start(h, request);
    if (rc != PMIX_SUCCESS)
        free(h);
    return rc;
}

static pmix_status_t check(const char *nspace, bool callback)
{
    if (!is_hosting())
        return PMIX_ERR_INIT;
    return nspace && *nspace && callback ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

pmix_status_t PMIx_server_setup_application(const pmix_nspace_t nspace, pmix_info_t info[],
                                            size_t ninfo, pmix_setup_application_cbfunc_t cbfunc,
                                            void *cbdata)
{
    pmix_status_t rc = check(nspace, cbfunc != NULL);
    struct helper *h;

    if (rc != PMIX_SUCCESS)
        return rc;
    h = calloc(1, sizeof *h);
    if (!h)
        return PMIX_ERR_NOMEM;
    h->on_application = cbfunc;
    h->cbdata = cbdata;
    return begin(h, nspace, info, ninfo);
}

pmix_status_t PMIx_server_setup_local_support(const pmix_nspace_t nspace, pmix_info_t info[],
                                              size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                              void *cbdata)
{
    pmix_status_t rc = check(nspace, cbfunc != NULL);
    struct helper *h;

    if (rc != PMIX_SUCCESS)
        return rc;
    h = calloc(1, sizeof *h);
    if (!h)
        return PMIX_ERR_NOMEM;
    h->local = true;
    h->on_local = cbfunc;
    h->cbdata = cbdata;
    return begin(h, nspace, info, ninfo);
}

/* --- ranks ------------------------------------------------------------- */

/* Its place among those that were registered; NULL: it is none.  lib.lock is held. */
static pmix_rank_t *find_rank(struct known *k, pmix_rank_t rank)
{
    for (size_t i = 0; i < k->nranks; i++)
        if (k->ranks[i] == rank)
            return &k->ranks[i];
    return NULL;
}

/* lib.lock is held. */
static pmix_status_t add_rank(struct known *k, pmix_rank_t rank)
{
    pmix_rank_t *more;

    if (!k)
        return PMIX_ERR_NOT_FOUND;
    if (find_rank(k, rank))
        return PMIX_ERR_EXISTS;
    more = reallocarray(k->ranks, k->nranks + 1, sizeof *more);
    if (!more)
        return PMIX_ERR_NOMEM;
    more[k->nranks++] = rank;
    k->ranks = more;
    return PMIX_OPERATION_SUCCEEDED;
}

static void remove_rank(const pmix_proc_t *proc)
{
    pmix_rank_t *at;
    struct known *k;

    pthread_mutex_lock(&lib.lock);
    k = find_known(proc->nspace);
    at = k ? find_rank(k, proc->rank) : NULL;
    if (at)
        *at = k->ranks[--k->nranks];
    pthread_mutex_unlock(&lib.lock);
}

/* Where ranks of its job were registered it is one of them. */
static bool may_be_forked(const pmix_proc_t *proc)
{
    struct known *k;
    bool may;

    pthread_mutex_lock(&lib.lock);
    k = find_known(proc->nspace);
    may = !k || !k->nranks || find_rank(k, proc->rank);
    pthread_mutex_unlock(&lib.lock);
    return may;
}

/* Whose they are and what the host calls them is for those that connect, and nobody does. */
pmix_status_t PMIx_server_register_client(const pmix_proc_t *proc, uid_t uid, gid_t gid,
                                          void *server_object, pmix_op_cbfunc_t cbfunc,
                                          void *cbdata)
{
    pmix_status_t rc = check(proc ? proc->nspace : NULL, true);

    (void)uid;
    (void)gid;
    (void)server_object;
    (void)cbfunc;                        /* as it is done at once */
    (void)cbdata;
    if (rc == PMIX_SUCCESS && proc->rank >= PMIX_RANK_VALID)
        rc = PMIX_ERR_BAD_PARAM;
    if (rc != PMIX_SUCCESS)
        return rc;
    pthread_mutex_lock(&lib.lock);
    rc = add_rank(find_known(proc->nspace), proc->rank);
    pthread_mutex_unlock(&lib.lock);
    return rc;
}

/* Takes h.  The answer, or NULL. */
static json_t *ask_fork(struct helper *h, pmix_rank_t rank, char *const *env)
{
    char *text = helper_is_ready(h) ? env_text_write(env) : NULL;
    json_t *answer = NULL;

    if (text)
        answer = helper_ask(h, json_pack("{s:I,s:s}", "fork", (json_int_t)rank, "env", text));
    free(text);
    helper_drop(h);
    return answer;
}

pmix_status_t PMIx_server_setup_fork(const pmix_proc_t *proc, char ***env)
{
    pmix_status_t rc = check(proc ? proc->nspace : NULL, env != NULL);
    struct helper *h = rc == PMIX_SUCCESS && may_be_forked(proc) ? helper_find(proc->nspace) : NULL;
    json_t *answer = h ? ask_fork(h, proc->rank, *env) : NULL;
    const char *text = json_string_value(json_object_get(answer, "env"));
    size_t n;
    char **changed = text ? env_text_read(text, &n) : NULL;

    if (changed) {
        PMIx_Argv_free(*env);
        *env = changed;
    } else if (rc == PMIX_SUCCESS) {
        rc = text ? PMIX_ERR_NOMEM : PMIX_ERR_NOT_FOUND;
    }
    json_decref(answer);
    return rc;
}

/* --- ended ------------------------------------------------------------- */

struct done {
    struct note      note;
    pmix_op_cbfunc_t cbfunc;
    void            *cbdata;
    pmix_status_t    status;
};

static void run_done(struct note *n)
{
    struct done *d = container_of(n, struct done, note);

    d->cbfunc(d->status, d->cbdata);
    free(d);
}

/* These functions have no result of their own: what cannot be queued is told here. */
static void tell(pmix_op_cbfunc_t cbfunc, void *cbdata, pmix_status_t status)
{
    struct done *d = cbfunc ? malloc(sizeof *d) : NULL;

    if (d && lib_begun()) {
        *d = (struct done){ { .run = run_done }, cbfunc, cbdata, status };
        callback_add(&lib.callbacks, &d->note);
        return;
    }
    free(d);
    if (cbfunc)
        cbfunc(status, cbdata);
}

void PMIx_server_deregister_client(const pmix_proc_t *proc, pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    pmix_status_t rc = check(proc ? proc->nspace : NULL, true);
    struct helper *h = rc == PMIX_SUCCESS ? helper_find(proc->nspace) : NULL;

    if (h) {
        helper_tell(h, json_pack("{s:I}", "finished", (json_int_t)proc->rank));
        helper_drop(h);
    }
    if (rc == PMIX_SUCCESS)
        remove_rank(proc);
    tell(cbfunc, cbdata, rc);
}

void PMIx_server_deregister_nspace(const pmix_nspace_t nspace, pmix_op_cbfunc_t cbfunc,
                                   void *cbdata)
{
    pmix_status_t rc = check(nspace, true);
    struct helper *h = rc == PMIX_SUCCESS ? helper_find(nspace) : NULL;
    bool taken = h && helper_end(h, cbfunc, cbdata);

    if (rc == PMIX_SUCCESS) {
        pthread_mutex_lock(&lib.lock);
        forget(find_known(nspace));
        pthread_mutex_unlock(&lib.lock);
    }
    if (h)
        helper_drop(h);
    if (!taken)
        tell(cbfunc, cbdata, rc);
}

/* --- maps -------------------------------------------------------------- */

static pmix_status_t copy_map(const char *input, char **map)
{
    if (!input || !map)
        return PMIX_ERR_BAD_PARAM;
    *map = strdup(input);
    return *map ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
}

/* What these answer is for nobody but us; lists are passed on as they are. */
pmix_status_t PMIx_generate_regex(const char *input, char **regex)
{
    return copy_map(input, regex);
}

pmix_status_t PMIx_generate_ppn(const char *input, char **ppn)
{
    return copy_map(input, ppn);
}
