/* serve_iof.c - pmix-iof-pull: a tool, or a rank, reads along what ranks write.  (PMIx
 * standard, PMIx_IOF_pull.)
 *
 * The host is asked to show the output of the ranks concerned (ext_ops.watch), wherever they
 * are, and gives it as it comes (serve_iof_send.c). */
#include "pmix_ext/serve_iof.h"

#include "pmix_ext/info.h"
#include "pmix_ext/support.h"
#include "pmix_ext/survey.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

enum { PULL_PROCS, PULL_CHANNEL, PULL_DIRECTIVES };
enum { PULL_ID_OUT = 1 };
enum { DEREGISTER_ID };

enum {
    CACHE = 1 << 20, CACHE_MOST = 64 << 20,      /* bytes put aside for one pull */
    PULLS = 64                           /* of one connection */
};

static const double BEGIN = 2.0;         /* seconds that servers may take to know of it */

/* --- who watches what -------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const pmix_rank_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

bool pull_has_rank(const struct pull *p, pmix_rank_t rank)
{
    return bsearch(&rank, p->ranks, p->nranks, sizeof *p->ranks, compare) != NULL;
}

/* How many other pulls have this rank of the same job (or all of them: wildcard). */
static size_t others(const struct pull *p, pmix_rank_t rank)
{
    struct pull *x;
    size_t n = 0;

    TAILQ_FOREACH(x, &p->session->ext->pulls, in_ext)
        n += x != p && !strcmp(x->nspace, p->nspace) && pull_has_rank(x, rank);
    return n;
}

/* The host shows what at least one pull wants. */
static void watch(struct pull *p, bool on)
{
    struct ext *x = p->session->ext;

    for (size_t i = 0; i < p->nranks; i++)
        if (!others(p, p->ranks[i]))
            x->ops.watch(x->host, p->nspace,
                         p->ranks[i] == PMIX_RANK_WILDCARD ? -1 : (int)p->ranks[i], on);
}

static void pull_free(struct pull *p)
{
    watch(p, false);
    after_stop(&p->patience);
    survey_free(p->begun);
    TAILQ_REMOVE(&p->session->ext->pulls, p, in_ext);
    pieces_drop(p);
    free(p->ranks);
    free(p->in_line);
    free(p);
}

void iof_forget(struct session *s)
{
    struct pull *p, *next;
    struct ext *x = s->ext;
    bool had_any = false;

    for (p = TAILQ_FIRST(&x->pulls); p; p = next) {
        next = TAILQ_NEXT(p, in_ext);
        if (p->session != s)
            continue;
        pull_free(p);
        had_any = true;
    }
    if (had_any && !ext_output_full(x))  /* who reads nothing along has held up nobody */
        x->ops.output_room(x->host);
}

/* --- commands ---------------------------------------------------------- */

static struct pull *pull_of(struct ext *x, const struct session *s, long long id)
{
    struct pull *p;

    TAILQ_FOREACH(p, &x->pulls, in_ext)
        if (p->session == s && p->id == id)
            return p;
    return NULL;
}

static size_t pulls_of(const struct session *s)
{
    const struct pull *p;
    size_t n = 0;

    TAILQ_FOREACH(p, &s->ext->pulls, in_ext)
        n += p->session == s && p->id;
    return n;
}

/* Whether this party may read what ranks of that job write: tools here are their user's. */
static bool may_read(struct request *rq, struct job *j)
{
    return rq->conn->tool || rq->conn->job == j || job_minds(rq->conn->job, j);
}

static enum outcome check_procs(struct request *rq, struct pull *p, const pmix_proc_t *procs,
                                size_t n, struct err *e)
{
    struct job *j = n ? job_named(rq->conn->server, procs[0].nspace) : NULL;

    if (!n)
        return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "procs: none is named");
    if (!j || !may_read(rq, j))
        return ext_fail(rq, e, PMIX_ERR_NOT_FOUND, "procs[0].nspace: no job %s here",
                        procs[0].nspace);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(procs[i].nspace, j->id))
            return ext_fail(rq, e, PMIX_ERR_BAD_PARAM, "procs[%zu].nspace: one job at a time", i);
        if (procs[i].rank != PMIX_RANK_WILDCARD && procs[i].rank >= (uint32_t)j->size)
            return ext_fail(rq, e, PMIX_ERR_NOT_FOUND, "procs[%zu].rank: the job has %d ranks", i,
                            j->size);
    }
    memcpy(p->nspace, j->id, sizeof p->nspace);
    return REPLY;
}

/* Sorted, each once; a wildcard, which is the greatest of them, says all. */
static enum outcome take_ranks(struct request *rq, struct pull *p, const pmix_proc_t *procs,
                               size_t n, struct err *e)
{
    size_t kept = 0;

    p->ranks = calloc(n, sizeof *p->ranks);
    if (!p->ranks)
        return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for %zu ranks", n);
    for (size_t i = 0; i < n; i++)
        p->ranks[i] = procs[i].rank;
    qsort(p->ranks, n, sizeof *p->ranks, compare);
    if (p->ranks[n - 1] == PMIX_RANK_WILDCARD)
        p->ranks[0] = PMIX_RANK_WILDCARD;
    for (size_t i = 0; i < n; i++)
        if (!kept || p->ranks[i] > p->ranks[kept - 1])
            p->ranks[kept++] = p->ranks[i];
    p->nranks = kept;
    return REPLY;
}

static enum outcome take_procs(struct request *rq, struct pull *p, struct err *e)
{
    const struct value *text = &rq->arg[PULL_PROCS];
    pmix_proc_t *procs;
    size_t n;
    pmix_status_t status = ext_take_procs(p->session, text, "procs", &procs, &n, e);
    enum outcome o = status == PMIX_SUCCESS ? check_procs(rq, p, procs, n, e)
                                            : ext_refuse(rq, status);

    if (o == REPLY)
        o = take_ranks(rq, p, procs, n, e);
    free(procs);
    return o;
}

struct pull_how { uint32_t cache; bool newest, oldest, tag, full, rank, time; };

static const struct directive_rule pull_rules[] = {
    DIRECTIVE(PMIX_IOF_CACHE_SIZE, PMIX_UINT32, struct pull_how, cache),
    DIRECTIVE(PMIX_IOF_DROP_NEWEST, PMIX_BOOL, struct pull_how, newest),
    DIRECTIVE(PMIX_IOF_DROP_OLDEST, PMIX_BOOL, struct pull_how, oldest),
    DIRECTIVE(PMIX_IOF_TAG_OUTPUT, PMIX_BOOL, struct pull_how, tag),
    DIRECTIVE(PMIX_IOF_TAG_FULLNAME_OUTPUT, PMIX_BOOL, struct pull_how, full),
    DIRECTIVE(PMIX_IOF_RANK_OUTPUT, PMIX_BOOL, struct pull_how, rank),
    DIRECTIVE(PMIX_IOF_TIMESTAMP_OUTPUT, PMIX_BOOL, struct pull_how, time),
    { 0 }
};

bool pull_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    return directive_at(pull_rules, i, key, type);
}

static enum outcome take_directives(struct request *rq, struct pull *p, struct err *e)
{
    const struct value *text = &rq->arg[PULL_DIRECTIVES];
    struct pull_how how = { .cache = CACHE };
    struct infos in = { NULL, 0 };
    pmix_status_t status = directives_read(&in, text->s, text->len, "directives", e);

    if (status == PMIX_SUCCESS)
        status = directives_take(&in, "directives", pull_rules, &how, e);
    infos_clear(&in);
    if (status != PMIX_SUCCESS)
        return ext_refuse(rq, status);
    p->most = how.cache < CACHE_MOST ? how.cache : CACHE_MOST;
    p->drops = how.newest || how.oldest;
    p->drop_newest = how.newest;
    p->shows.tag = how.tag || how.full;
    p->shows.rank = how.rank;
    p->shows.time = how.time;
    return REPLY;
}

static enum outcome fill(struct request *rq, struct pull *p, struct err *e)
{
    const struct value *channel = &rq->arg[PULL_CHANNEL];
    enum outcome o;

    p->channels = (unsigned)channel->n;
    if (!(p->channels & (PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL)))
        return ext_fail(rq, e, PMIX_ERR_NOT_SUPPORTED, "channel: stdout (%d) and stderr (%d) "
                        "can be pulled", PMIX_FWD_STDOUT_CHANNEL, PMIX_FWD_STDERR_CHANNEL);
    o = take_procs(rq, p, e);
    if (o == REPLY)
        o = take_directives(rq, p, e);
    if (o == REPLY && !pull_labels(p, job_named(rq->conn->server, p->nspace)->size))
        return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory for labels");
    return o;
}

static void on_begun(void *who)
{
    struct pull *p = who;
    struct request *rq = p->asks;

    survey_free(p->begun);
    p->begun = NULL;
    p->asks = NULL;
    reply_int(rq, PULL_ID_OUT, p->id);
    request_finish(rq, REPLY, NULL);
}

/* A survey is behind the order to watch on every link: once it is over, what ranks write
 * is seen.  Who cannot be asked is not waited for. */
static enum outcome await(struct request *rq, struct pull *p, struct err *e)
{
    struct ext *x = p->session->ext;
    struct info_of job;

    if (info_of_job(x, p->nspace, &job))
        p->begun = survey_new(x, &job.job, -1, 0, BEGIN, on_begun, p, e);
    if (p->begun && !p->begun->over && (p->asks = request_park(rq, NULL, e)))
        return PARKED;
    survey_free(p->begun);
    p->begun = NULL;
    reply_int(rq, PULL_ID_OUT, p->id);
    return REPLY;
}

enum outcome ext_iof_pull(struct request *rq, struct err *e)
{
    struct session *s = session_of(rq, e);
    struct pull *p;
    enum outcome o;

    if (s && pulls_of(s) >= PULLS)
        return ext_fail(rq, e, PMIX_ERR_OUT_OF_RESOURCE, "more than %d pulls", PULLS);
    p = s ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return ext_fail(rq, e, PMIX_ERR_NOMEM, "no memory");
    p->session = s;
    p->most = CACHE;
    TAILQ_INIT(&p->pieces);
    o = fill(rq, p, e);
    if (o != REPLY) {
        free(p->ranks);
        free(p);
        return o;
    }
    p->id = ++s->ext->pull_id;
    TAILQ_INSERT_TAIL(&s->ext->pulls, p, in_ext);
    watch(p, true);
    return await(rq, p, e);
}

void iof_forward(struct request *rq, struct job *j, unsigned channels)
{
    struct session *s = session_of(rq, NULL);
    struct pull *p = s ? calloc(1, sizeof *p) : NULL;
    pmix_rank_t *all = p ? calloc(1, sizeof *all) : NULL;

    if (!all) {                          /* the spawn itself is worth more */
        free(p);
        return;
    }
    *all = PMIX_RANK_WILDCARD;
    *p = (struct pull){ .session = s, .ranks = all, .nranks = 1, .channels = channels,
                        .most = CACHE };
    TAILQ_INIT(&p->pieces);
    memcpy(p->nspace, j->id, sizeof p->nspace);
    TAILQ_INSERT_TAIL(&s->ext->pulls, p, in_ext);
    watch(p, true);
}

enum outcome ext_iof_deregister(struct request *rq, struct err *e)
{
    struct session *s = session_of(rq, e);
    struct pull *p = s ? pull_of(s->ext, s, rq->arg[DEREGISTER_ID].n) : NULL;

    if (!p)
        return ext_fail(rq, e, PMIX_ERR_NOT_FOUND, "id: no pull %lld of this connection",
                        rq->arg[DEREGISTER_ID].n);
    pull_free(p);
    return REPLY;
}
