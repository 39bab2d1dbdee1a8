/* serve_alloc.c - pmix-alloc: allocations of the scheduler, asked for, extended and given
 * back.  (PMIx standard, "Allocation requests"; PMIx_Allocation_request.)
 *
 * An allocation belongs to who has asked for it here: a rank shares it with its job, a tool
 * with all tools.  It is given back when that connection ends, unless it is to be kept;
 * nobody else's is touched. */
#include "pmix_ext/serve.h"

#include "pmix_ext/directives.h"
#include "pmix_ext/lite_keys.h"
#include "pmix_ext/support.h"
#include "pmix_ext/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALLOC_DIRECTIVE, ALLOC_INFOS };
enum { ALLOC_RESULTS_OUT = 1 };

enum { ALLOCS_MOST = 64, TIMEOUT_MOST = 7 * 24 * 3600 };

static const double NEW_TIME = 30.0, OTHER_TIME = 10.0;  /* seconds, where none are given */

struct alloc {                           /* one that was asked for here */
    TAILQ_ENTRY(alloc) in_ext;
    struct ext *ext;                     /* borrowed */
    const struct session *by;            /* borrowed; NULL: it is kept, or who asked has gone */
    char        nspace[LIMIT_JOBID];     /* of who has asked; "": a tool */
    char        id[SCHED_ID];            /* "": it is not there yet */
    char       *req_id;                  /* owned; NULL: not given */
    bool        keep;
    struct sched_call call;              /* while something is asked about it */
    pmix_alloc_directive_t doing;
    struct waiters waiters;
};

bool ext_allocates(const struct ext *x)
{
    return x->ops.allocates && x->ops.allocates(x->host);
}

/* --- life -------------------------------------------------------------- */

static void alloc_free(struct alloc *a)
{
    sched_stop(&a->call);
    ext_abandon(&a->waiters);
    TAILQ_REMOVE(&a->ext->allocs, a, in_ext);
    a->ext->nallocs--;
    free(a->req_id);
    free(a);
}

static struct alloc *alloc_new(struct session *s)
{
    struct alloc *a = calloc(1, sizeof *a);

    if (!a)
        return NULL;
    a->ext = s->ext;
    a->by = s;
    if (!s->who.tool)
        snprintf(a->nspace, sizeof a->nspace, "%s", s->who.nspace);
    waiters_init(&a->waiters);
    TAILQ_INSERT_TAIL(&s->ext->allocs, a, in_ext);
    s->ext->nallocs++;
    return a;
}

/* Its own, that is; others' are not said to exist. */
static struct alloc *find(const struct session *s, const char *id)
{
    const char *nspace = s->who.tool ? "" : s->who.nspace;
    struct alloc *a;

    TAILQ_FOREACH(a, &s->ext->allocs, in_ext)
        if (*a->id && !strcmp(a->id, id) && !strcmp(a->nspace, nspace))
            return a;
    return NULL;
}

/* Given back, if it is there; what is only being asked for is, by the host. */
static void give_back(struct alloc *a)
{
    sched_stop(&a->call);
    if (*a->id)
        sched_release(a->ext, a->id);
    alloc_free(a);
}

void allocs_forget(const struct session *s)
{
    struct alloc *a, *next;

    for (a = TAILQ_FIRST(&s->ext->allocs); a; a = next) {
        next = TAILQ_NEXT(a, in_ext);
        if (a->by == s && a->keep && *a->id)
            a->by = NULL;
        else if (a->by == s)
            give_back(a);
    }
}

void ext_give_back(struct ext *x)
{
    struct alloc *a, *next;

    for (a = TAILQ_FIRST(&x->allocs); a; a = next) {
        next = TAILQ_NEXT(a, in_ext);
        if (!a->keep || !*a->id)
            give_back(a);
    }
}

void allocs_clear(struct ext *x)
{
    struct alloc *a;

    while ((a = TAILQ_FIRST(&x->allocs)))
        alloc_free(a);
}

/* --- the answer -------------------------------------------------------- */

static void add_text(pmix_info_t *v, size_t *n, const char *key, const char *text)
{
    pmix_info_t *info = &v[*n];

    if (!text || !*text)
        return;
    *n += 1;
    snprintf(info->key, sizeof info->key, "%s", key);
    info->value.type = PMIX_STRING;
    info->value.data.string = (char *)(uintptr_t)text;
}

/* What a new one is. */
static int add_results(const struct alloc *a, const struct sched_answer *said, struct buf *out,
                       struct err *e)
{
    pmix_info_t v[4] = { { .key = "" } };
    size_t n = 0;

    add_text(v, &n, PMIX_ALLOC_ID, a->id);
    add_text(v, &n, PMIX_ALLOC_REQ_ID, a->req_id);
    add_text(v, &n, PMIX_ALLOC_NODE_LIST, said->nodes);
    if (said->time) {
        snprintf(v[n].key, sizeof v[n].key, "%s", PMIX_ALLOC_TIME);
        v[n].value.type = PMIX_UINT32;
        v[n++].value.data.uint32 = said->time;
    }
    return value_encode_array(PMIX_INFO, v, n, "results", out, e);
}

static void answer(struct alloc *a, const struct sched_answer *said)
{
    struct request *rq = ext_waiting(&a->waiters);
    struct buf *text = &a->ext->text;
    pmix_status_t status = said->status;
    struct err e = { 0 };

    if (!rq)
        return;
    buf_reset(text);
    if (status != PMIX_SUCCESS)
        err_set(&e, ERR_OTHER, "%s", said->why ? said->why : "the scheduler has not done it");
    else if (a->doing != PMIX_ALLOC_NEW)
        buf_str(text, "[]");
    else if (add_results(a, said, text, &e) < 0 || text->failed)
        status = PMIX_ERR_NOMEM;
    if (status != PMIX_SUCCESS) {
        ext_finish(&a->waiters, status, &e);
        return;
    }
    reply_status(rq, PMIX_SUCCESS);
    reply_text(rq, ALLOC_RESULTS_OUT, buf_bytes(text), text->len);
    request_finish(rq, REPLY, &e);
}

static void told(void *who, const struct sched_answer *said)
{
    struct alloc *a = who;
    bool good = said->status == PMIX_SUCCESS;

    if (good && a->doing == PMIX_ALLOC_NEW)
        snprintf(a->id, sizeof a->id, "%s", said->id);
    answer(a, said);
    if (!*a->id || (good && a->doing == PMIX_ALLOC_RELEASE))
        alloc_free(a);
}

/* --- the request ------------------------------------------------------- */

struct wish {
    char    *id, *req_id, *queue, *nodes;        /* borrowed */
    uint64_t nnodes, ncpus;
    uint32_t time;
    int      timeout;
    bool     keep;
};

static const struct directive_rule rules[] = {
    DIRECTIVE(PMIX_ALLOC_ID, PMIX_STRING, struct wish, id),
    DIRECTIVE(PMIX_ALLOC_REQ_ID, PMIX_STRING, struct wish, req_id),
    DIRECTIVE(PMIX_ALLOC_QUEUE, PMIX_STRING, struct wish, queue),
    DIRECTIVE(PMIX_ALLOC_NUM_NODES, PMIX_UINT64, struct wish, nnodes),
    DIRECTIVE(PMIX_ALLOC_NODE_LIST, PMIX_STRING, struct wish, nodes),
    DIRECTIVE(PMIX_ALLOC_NUM_CPUS, PMIX_UINT64, struct wish, ncpus),
    DIRECTIVE(PMIX_ALLOC_TIME, PMIX_UINT32, struct wish, time),
    DIRECTIVE(PMIX_TIMEOUT, PMIX_INT, struct wish, timeout),
    DIRECTIVE(LITE_ALLOC_KEEP, PMIX_BOOL, struct wish, keep),
    { 0 }
};

bool alloc_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    return directive_at(rules, i, key, type);
}

static pmix_status_t bad(struct err *e, const char *why)
{
    err_set(e, ERR_INVALID_ARG, "%s", why);
    return PMIX_ERR_BAD_PARAM;
}

/* What the directive and the infos say together. */
static pmix_status_t check(pmix_alloc_directive_t what, const struct wish *w, struct err *e)
{
    if (w->timeout < 0 || w->timeout > TIMEOUT_MOST)
        return bad(e, PMIX_TIMEOUT ": want 0 to a week of seconds");
    if (w->req_id && strlen(w->req_id) > PMIX_MAX_KEYLEN)
        return bad(e, PMIX_ALLOC_REQ_ID " is too long");
    if (w->id && (what == PMIX_ALLOC_NEW || strlen(w->id) >= SCHED_ID))
        return bad(e, what == PMIX_ALLOC_NEW ? PMIX_ALLOC_ID ": a new allocation has none yet"
                                             : PMIX_ALLOC_ID " is too long");
    if (what == PMIX_ALLOC_RELEASE && !w->id)
        return bad(e, PMIX_ALLOC_ID ": which allocation?");
    if (what == PMIX_ALLOC_EXTEND && !w->time)
        return bad(e, PMIX_ALLOC_TIME ": by how many seconds?");
    if (what != PMIX_ALLOC_NEW && (w->queue || w->nodes || w->nnodes || w->ncpus)) {
        err_set(e, ERR_OTHER, "an allocation is extended in time alone, and released as a whole");
        return PMIX_ERR_NOT_SUPPORTED;
    }
    return PMIX_SUCCESS;
}

static struct sched_ask ask_of(pmix_alloc_directive_t what, const struct wish *w)
{
    return (struct sched_ask){
        .kind = what == PMIX_ALLOC_NEW ? SCHED_NEW
              : what == PMIX_ALLOC_EXTEND ? SCHED_EXTEND : SCHED_RELEASE,
        .seconds = w->timeout ? w->timeout : what == PMIX_ALLOC_NEW ? NEW_TIME : OTHER_TIME,
        .id = w->id, .queue = w->queue, .nodes = w->nodes, .nnodes = w->nnodes,
        .ncpus = w->ncpus, .time = w->time,
    };
}

/* What is asked about: one of its own, or one that begins with this request; of the
 * launcher's own allocation nothing is kept once it is answered.  NULL, *status and e. */
static struct alloc *subject(struct session *s, pmix_alloc_directive_t what,
                             const struct wish *w, pmix_status_t *status, struct err *e)
{
    struct alloc *a = w->id ? find(s, w->id) : NULL;

    *status = PMIX_SUCCESS;
    if (w->id && !a) {
        err_set(e, ERR_INVALID_ARG, "allocation %s was not asked for here, by who asks now",
                w->id);
        *status = PMIX_ERR_NOT_FOUND;
    } else if (a && a->call.ext) {
        err_set(e, ERR_OTHER, "allocation %s: another request is under way", w->id);
        *status = PMIX_ERR_RESOURCE_BUSY;
    } else if (!a && s->ext->nallocs >= ALLOCS_MOST) {
        err_set(e, ERR_OTHER, "there are %d allocations already", ALLOCS_MOST);
        *status = PMIX_ERR_OUT_OF_RESOURCE;
    } else if (!a && (!(a = alloc_new(s)) ||
                      (w->req_id && !(a->req_id = strdup(w->req_id))))) {
        err_set(e, ERR_NOMEM, "no memory for an allocation");
        *status = PMIX_ERR_NOMEM;
        if (a)
            alloc_free(a);
    }
    if (*status != PMIX_SUCCESS)
        return NULL;
    a->doing = what;
    a->keep = what == PMIX_ALLOC_NEW ? w->keep : a->keep;
    return a;
}

static pmix_status_t begin(struct request *rq, struct session *s, pmix_alloc_directive_t what,
                           const struct infos *infos, struct err *e)
{
    struct wish w = { 0 };
    struct sched_ask ask;
    pmix_status_t status = directives_take(infos, "infos", rules, &w, e);
    struct alloc *a;

    if (status == PMIX_SUCCESS)
        status = check(what, &w, e);
    a = status == PMIX_SUCCESS ? subject(s, what, &w, &status, e) : NULL;
    if (!a)
        return status;
    ask = ask_of(what, &w);
    status = sched_start(&a->call, s->ext, &ask, told, a, e);
    if (status == PMIX_SUCCESS && !request_park(rq, &a->waiters, e)) {
        sched_stop(&a->call);
        status = PMIX_ERR_OUT_OF_RESOURCE;
    }
    if (status != PMIX_SUCCESS && !*a->id)
        alloc_free(a);
    return status;
}

enum outcome ext_alloc(struct request *rq, struct err *e)
{
    const struct value *arg = &rq->arg[ALLOC_INFOS];
    long long what = rq->arg[ALLOC_DIRECTIVE].n;
    struct session *s = session_of(rq, e);
    struct infos infos = { 0 };
    pmix_status_t status;

    if (!s)
        return ext_refuse(rq, PMIX_ERR_NOMEM);
    session_audit(s, "sends pmix-alloc");
    if (!ext_allocates(s->ext))
        return ext_fail(rq, e, PMIX_ERR_NOT_SUPPORTED, "there is no scheduler here");
    if (what != PMIX_ALLOC_NEW && what != PMIX_ALLOC_EXTEND && what != PMIX_ALLOC_RELEASE)
        return ext_fail(rq, e, PMIX_ERR_NOT_SUPPORTED, "directive %lld is not supported", what);
    status = directives_read(&infos, arg->s, arg->len, "infos", e);
    if (status == PMIX_SUCCESS)
        status = begin(rq, s, (pmix_alloc_directive_t)what, &infos, e);
    infos_clear(&infos);
    return status == PMIX_SUCCESS ? PARKED : ext_refuse(rq, status);
}
