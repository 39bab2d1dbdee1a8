/* lib_life.c - the one library of a process: its start and end; see lib.h */
#include "pmix_ext/lib.h"

#include "pmix_ext/reason.h"

#include <stdlib.h>

struct lib lib = {
    .life = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .links = TAILQ_HEAD_INITIALIZER(lib.links),
    .handlers = TAILQ_HEAD_INITIALIZER(lib.handlers),
    .pulls = TAILQ_HEAD_INITIALIZER(lib.pulls),
    .staged = STAILQ_HEAD_INITIALIZER(lib.staged),
    .kept = STAILQ_HEAD_INITIALIZER(lib.kept),
    .plain = { .lock = PTHREAD_MUTEX_INITIALIZER,
               .ranks = STAILQ_HEAD_INITIALIZER(lib.plain.ranks) },
    .listening = { .life = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER, .fd = -1,
                   .wake = { -1, -1 }, .busy = -1 },
    .hosting = { .left = PTHREAD_COND_INITIALIZER },
    .callbacks = {
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .some = PTHREAD_COND_INITIALIZER,
        .room = PTHREAD_COND_INITIALIZER,
        .queue = TAILQ_HEAD_INITIALIZER(lib.callbacks.queue),
    },
};

/* --- infos ------------------------------------------------------------- */

const pmix_value_t *attr_find(const pmix_info_t *infos, size_t n, const char *key)
{
    for (size_t i = 0; infos && i < n; i++)
        if (PMIX_CHECK_KEY(&infos[i], key))
            return &infos[i].value;
    return NULL;
}

bool attr_true(const pmix_info_t *infos, size_t n, const char *key)
{
    const pmix_value_t *v = attr_find(infos, n, key);

    return v && PMIX_CHECK_TRUE(v);
}

pmix_status_t attr_required(const pmix_info_t *infos, size_t n, bool (*knows)(const char *key))
{
    struct err e = { ERR_NONE, "" };

    for (size_t i = 0; infos && i < n; i++) {
        if (!PMIX_INFO_IS_REQUIRED(&infos[i]) || (knows && knows(infos[i].key)))
            continue;
        err_set(&e, ERR_INVALID_ARG, "%.100s is required, and not supported", infos[i].key);
        reason_keep(PMIX_ERR_NOT_SUPPORTED, e.text);
        return PMIX_ERR_NOT_SUPPORTED;
    }
    return PMIX_SUCCESS;
}

/* --- start and end ----------------------------------------------------- */

bool lib_begun(void)
{
    bool begun;

    pthread_mutex_lock(&lib.lock);
    begun = lib.inits > 0;
    pthread_mutex_unlock(&lib.lock);
    return begun;
}

void lib_insert(struct link *l, bool primary)
{
    if (primary || TAILQ_EMPTY(&lib.links)) {
        TAILQ_INSERT_HEAD(&lib.links, l, in_lib);
        lib.me = l->me;
    } else {
        TAILQ_INSERT_TAIL(&lib.links, l, in_lib);
    }
}

void lib_add(struct link *l, bool primary)
{
    pthread_mutex_lock(&lib.lock);
    lib_insert(l, primary);
    pthread_mutex_unlock(&lib.lock);
}

bool lib_add_late(struct link *l)
{
    bool begun;

    pthread_mutex_lock(&lib.lock);
    begun = lib.inits > 0;
    if (begun)
        lib_insert(l, true);
    pthread_mutex_unlock(&lib.lock);
    return begun;
}

/* lib.life is held, as below. */
static pmix_status_t begin(open_fn *open, const pmix_info_t *infos, size_t n)
{
    pmix_status_t status;
    struct link *l;

    if (callbacks_start(&lib.callbacks) < 0)
        return PMIX_ERR_OUT_OF_RESOURCE;
    l = open(infos, n, &status);
    if (l)
        lib_add(l, true);
    else if (status != PMIX_SUCCESS)
        callbacks_stop(&lib.callbacks);
    return status;
}

pmix_status_t lib_begin(open_fn *open, const pmix_info_t *infos, size_t n, pmix_proc_t *proc)
{
    pmix_status_t status = PMIX_SUCCESS;

    pthread_mutex_lock(&lib.life);
    if (!lib_begun())
        status = begin(open, infos, n);
    pthread_mutex_lock(&lib.lock);
    if (status == PMIX_SUCCESS) {
        lib.inits++;
        if (proc)
            *proc = lib.me;
    }
    pthread_mutex_unlock(&lib.lock);
    pthread_mutex_unlock(&lib.life);
    return status;
}

static void end(void)
{
    struct link *l;

    listen_end();
    while ((l = link_primary())) {
        link_drop(l);                    /* the list's own reference is left */
        link_close(l);
    }
    callbacks_stop(&lib.callbacks);
    pthread_mutex_lock(&lib.lock);
    handlers_clear();
    pulls_clear();
    data_drop(&lib.staged);
    data_drop(&lib.kept);
    PMIx_Argv_free(lib.published);
    lib.published = NULL;
    plain_clear();
    pthread_mutex_unlock(&lib.lock);
}

pmix_status_t lib_finish(void)
{
    unsigned left;
    bool begun;

    if (callback_here(&lib.callbacks))   /* it would wait for itself */
        return PMIX_ERR_INVALID_OPERATION;
    pthread_mutex_lock(&lib.life);
    pthread_mutex_lock(&lib.lock);
    begun = lib.inits > 0;
    lib.inits -= begun;
    left = lib.inits;
    pthread_mutex_unlock(&lib.lock);
    if (begun && !left)
        end();
    pthread_mutex_unlock(&lib.life);
    return begun ? PMIX_SUCCESS : PMIX_ERR_INIT;
}

/* --- the interface ----------------------------------------------------- */

static struct link *open_rank(const pmix_info_t *infos, size_t n, pmix_status_t *status)
{
    (void)infos;
    (void)n;
    return link_open_rank(status);
}

pmix_status_t PMIx_Init(pmix_proc_t *proc, pmix_info_t info[], size_t ninfo)
{
    pmix_status_t status = attr_required(info, ninfo, NULL);

    return status == PMIX_SUCCESS ? lib_begin(open_rank, info, ninfo, proc) : status;
}

pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t ninfo)
{
    if (attr_true(info, ninfo, PMIX_EMBED_BARRIER))
        PMIx_Fence(NULL, 0, NULL, 0);
    return lib_finish();
}

int PMIx_Initialized(void)
{
    return lib_begun();
}

void PMIx_Progress(void)
{
}
