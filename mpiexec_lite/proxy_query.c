/* proxy_query.c - the process table of this node, for a rank here, a tool's daemon mostly, or a
 * tool that has called us: answered here, so that no other process has to do with it, nor
 * needs to be able to.
 *
 * That is, where queries ask for such tables alone.  What asks for more besides is the
 * launcher's as a whole: it has to be asked anyway, and its answer is of one moment; so is a
 * job that this server does not know, is just about to start, or has forgotten. */
#include "mpiexec_lite/proxy_impl.h"

#include "mpiexec_lite/census.h"
#include "mpiexec_lite/rank_states.h"
#include "pmix_ext/pmix_ext_keys.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

enum { PART = LIMIT_CHUNK };             /* bytes of a reply's list, as the root makes them */

/* --- what is asked ----------------------------------------------------- */

/* Whether all is known of the ranks here. */
static bool is_known(const struct proxy_job *j)
{
    for (int i = 0; i < j->crew.n; i++)
        if (j->crew.ranks[i].pid <= 0 && !j->states[i].ended && !j->states[i].unstarted)
            return false;
    return j->states;
}

static struct proxy_job *job_named(struct proxy *p, const char *name)
{
    struct proxy_job *j;

    TAILQ_FOREACH(j, &p->jobs, in_proxy)
        if (name && !strcmp(j->bundle.jobid, name))
            return is_known(j) ? j : NULL;
    return NULL;
}

/* These say nothing that is not so here. */
static bool means_nothing(const pmix_info_t *q)
{
    static const char *const flags[] = { PMIX_QUERY_REFRESH_CACHE, PMIX_QUERY_LOCAL_ONLY };

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcmp(q->key, flags[i]))
            return q->value.type == PMIX_BOOL;
    return !strcmp(q->key, PMIX_TIMEOUT) && q->value.type == PMIX_INT &&
           q->value.data.integer >= 0;
}

/* The job that a query is about, mine where it names none; NULL: it is not about such a table
 * alone. */
static struct proxy_job *job_of(struct proxy *p, const char *mine, const pmix_query_t *q)
{
    const char *name = mine, *said = NULL;

    if (!q->keys || !q->keys[0] || strcmp(q->keys[0], PMIX_QUERY_LOCAL_PROC_TABLE) || q->keys[1])
        return NULL;
    for (size_t i = 0; i < q->nqual; i++) {
        const pmix_info_t *x = &q->qualifiers[i];

        if (means_nothing(x))
            continue;
        if (said || strcmp(x->key, PMIX_NSPACE) || x->value.type != PMIX_STRING)
            return NULL;
        name = said = x->value.data.string;
    }
    return job_named(p, name);
}

struct asked {
    const char *thrid;                   /* borrowed from the text */
    struct proxy_job **jobs;             /* owned: whose table each query wants */
    size_t n;
};

static bool take_jobs(struct proxy *p, const char *mine, const pmix_query_t *queries,
                      struct asked *out)
{
    out->jobs = calloc(out->n + 1, sizeof *out->jobs);
    for (size_t i = 0; out->jobs && i < out->n; i++)
        if (!(out->jobs[i] = job_of(p, mine, &queries[i])))
            return false;
    return out->jobs && out->n;
}

/* Whether we answer; jobs are to be freed either way.  text is edited. */
static bool read_query(struct proxy *p, const char *mine, char *text, size_t len,
                       struct asked *out)
{
    const struct pair *queries = NULL;
    bool ours = false;
    void *list = NULL;
    struct err e = { 0 };
    struct msg m;

    msg_init(&m);
    if (wire_v2.parse(&m, text, len, &e) == 0) {
        out->thrid = msg_get(&m, "thrid");
        queries = msg_find(&m, "queries");
    }
    if (out->thrid && strlen(out->thrid) < LIMIT_THRID && queries &&
        value_decode_array(PMIX_QUERY, queries->val, queries->len, "queries", &list, &out->n,
                           &e) == 0) {
        ours = take_jobs(p, mine, list, out);
        value_free_array(PMIX_QUERY, list, out->n);
    }
    msg_clear(&m);
    return ours;
}

/* --- the answer -------------------------------------------------------- */

static pmix_proc_state_t state_of(const struct proxy_job *j, int i)
{
    const struct rank *r = &j->crew.ranks[i];
    const struct rank_state *s = &j->states[i];

    if (s->ended || s->unstarted)
        return rank_state_of(s, j->ending);
    return rank_lives_as(r->pid, r->pmi,
                         crew_rank_is_held(&j->crew, r) || (s->waits && !j->released));
}

/* From *at on, as many ranks as a part has room for.  0, or -1. */
static int add_ranks(const struct proxy_job *j, char *const *paths, int *at, struct buf *out)
{
    const struct node *n = &j->proxy->node;
    struct err e = { 0 };

    for (int first = *at; *at < j->crew.n && out->len < PART; ++*at) {
        int rank = j->crew.ranks[*at].rank;
        size_t app = plan_app_of(&j->bundle.plan, rank);
        const char *program = paths[app] ? paths[app] : j->bundle.plan.apps[app].argv.v[0];
        pmix_proc_info_t x = { .hostname = j->bundle.plan.hosts[n->args.index].name,
                               .executable_name = (char *)(uintptr_t)program,
                               .pid = j->states[*at].pid, .state = state_of(j, *at),
                               .exit_code = rank_exit_code(&j->states[*at]) };

        snprintf(x.proc.nspace, sizeof x.proc.nspace, "%s", j->bundle.jobid);
        x.proc.rank = (pmix_rank_t)rank;
        if (*at > first)
            buf_char(out, ',');
        if (value_encode(PMIX_PROC_INFO, &x, "process", out, &e) < 0)
            return -1;
    }
    return 0;
}

/* One frame of it.  0, or -1. */
static int add_part(const struct asked *a, size_t query, char *const *paths, int *at,
                    struct buf *reply)
{
    const struct proxy_job *j = a->jobs[query];
    struct buf list = BUF_INIT;
    struct err e = { 0 };
    struct msg m;
    bool more;
    int rc;

    buf_printf(&list, "[{\"query\":%zu,\"key\":\"%s\",\"type\":\"PMIX_DATA_ARRAY\",\"value\":"
                      "{\"type\":\"PMIX_PROC_INFO\",\"array\":[", query,
               PMIX_QUERY_LOCAL_PROC_TABLE);
    rc = add_ranks(j, paths, at, &list);
    more = *at < j->crew.n;
    buf_printf(&list, "]}%s}]", more ? ",\"more\":true" : "");
    msg_init(&m);
    msg_start(&m, "pmix-query-response");
    msg_str(&m, "thrid", a->thrid);
    msg_int(&m, "rc", 0);
    msg_int(&m, "status", PMIX_SUCCESS);
    if (more || query + 1 < a->n)
        msg_str(&m, "more", "TRUE");
    msg_bytes(&m, "results", buf_bytes(&list), list.len);
    if (rc == 0)
        rc = list.failed ? -1 : wire_v2.format(&m, LIMIT_FRAME_LINK, reply, &e);
    msg_clear(&m);
    buf_clear(&list);
    return rc;
}

/* Of a query's job; one without ranks here has an empty one. */
static bool add_table(const struct asked *a, size_t query, struct buf *reply)
{
    const struct proxy_job *j = a->jobs[query];
    size_t napps = j->bundle.plan.napps;
    char **paths = calloc(napps, sizeof *paths);
    bool good = paths;
    int at = 0;

    for (size_t i = 0; good && i < napps; i++)
        paths[i] = crew_path(&j->crew, i, j->bundle.cwd);
    do
        good = good && add_part(a, query, paths, &at, reply) == 0;
    while (good && at < j->crew.n);
    for (size_t i = 0; paths && i < napps; i++)
        free(paths[i]);
    free(paths);
    return good && !reply->failed;
}

bool proxy_query(struct proxy *p, const char *mine, const char *text, size_t len,
                 struct buf *reply)
{
    struct asked a = { 0 };
    bool answered = false;
    char *copy;

    if (len < strlen(PROXY_QUERY) || memcmp(text, PROXY_QUERY, strlen(PROXY_QUERY)) ||
        !memmem(text, len, PMIX_QUERY_LOCAL_PROC_TABLE, strlen(PMIX_QUERY_LOCAL_PROC_TABLE)))
        return false;
    copy = malloc(len + 1);
    if (!copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = '\0';
    answered = read_query(p, mine, copy, len, &a);
    for (size_t i = 0; answered && i < a.n; i++)
        answered = add_table(&a, i, reply);
    if (!answered)
        buf_reset(reply);
    free(a.jobs);
    free(copy);
    return answered;
}

bool proxy_answer(void *host, struct member *m, const struct frame *f, struct buf *reply)
{
    return proxy_query(host, job_id(member_job(m)), f->text, f->len, reply);
}
