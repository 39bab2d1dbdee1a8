/* proxy_query.c - the process table of this node for a rank here, a tool's daemon mostly: answered
 * here, so that no other process has to do with it, nor needs to be able to.
 *
 * That is, where a query asks for it alone and all ranks here run: how others have ended is known
 * to the root, which serves all else. */
#include "mpiexec_lite/proxy_impl.h"

#include "mpiexec_lite/census.h"
#include "mpiexec_lite/rank_states.h"
#include "pmix_ext/pmix_ext_keys.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

enum {
    PART = LIMIT_CHUNK,                  /* bytes of a reply's list, as the root makes them */
    REPLY = 8 * LIMIT_CHUNK              /* a longer one is the root's, which waits for who reads */
};

/* --- what is asked ----------------------------------------------------- */

static bool starts(const struct frame *f, const char *head)
{
    return f->len > strlen(head) && !memcmp(f->text, head, strlen(head));
}

/* The job that a query of this member is about; NULL: it is not about such a table, or says more
 * than whose; or who waits at a place of his own, which the root is told, would be in it. */
static struct proxy_job *job_of(struct proxy *p, const struct member *m, const pmix_query_t *q)
{
    const char *name = job_id(member_job(m));
    struct proxy_job *j;

    if (!q->keys || !q->keys[0] || strcmp(q->keys[0], PMIX_QUERY_LOCAL_PROC_TABLE) || q->keys[1] ||
        q->nqual > 1)
        return NULL;
    if (q->nqual && strcmp(q->qualifiers[0].key, PMIX_NSPACE))
        return NULL;
    if (q->nqual)
        name = q->qualifiers[0].value.type == PMIX_STRING ? q->qualifiers[0].value.data.string
                                                          : NULL;
    TAILQ_FOREACH(j, &p->jobs, in_proxy)
        if (name && !strcmp(j->bundle.jobid, name))
            return j->bundle.plan.hold == HOLD_APP ? NULL : j;
    return NULL;
}

static bool all_run(const struct proxy_job *j)
{
    for (int i = 0; i < j->crew.n; i++)
        if (j->crew.ranks[i].pid <= 0)
            return false;
    return j->crew.n > 0;
}

/* The thrid is borrowed from text, a copy of the frame, which is edited. */
static struct proxy_job *read_query(struct proxy *p, const struct member *who, char *text,
                                    size_t len, const char **thrid)
{
    struct proxy_job *j = NULL;
    const struct pair *queries = NULL;
    void *list = NULL;
    struct err e = { 0 };
    struct msg m;
    size_t n = 0;

    msg_init(&m);
    *thrid = NULL;
    if (wire_v2.parse(&m, text, len, &e) == 0) {
        *thrid = msg_get(&m, "thrid");
        queries = msg_find(&m, "queries");
    }
    if (*thrid && strlen(*thrid) < LIMIT_THRID && queries &&
        value_decode_array(PMIX_QUERY, queries->val, queries->len, "queries", &list, &n, &e) == 0) {
        j = n == 1 ? job_of(p, who, list) : NULL;
        value_free_array(PMIX_QUERY, list, n);
    }
    msg_clear(&m);
    return j && all_run(j) ? j : NULL;
}

/* --- the answer -------------------------------------------------------- */

/* From *at on, as many ranks as a part has room for.  0, or -1. */
static int add_ranks(const struct proxy_job *j, char *const *paths, int *at, struct buf *out)
{
    const struct node *n = &j->proxy->node;
    struct err e = { 0 };

    for (int first = *at; *at < j->crew.n && out->len < PART; ++*at) {
        const struct rank *r = &j->crew.ranks[*at];
        size_t app = plan_app_of(&j->bundle.plan, r->rank);
        const char *program = paths[app] ? paths[app] : j->bundle.plan.apps[app].argv.v[0];
        pmix_proc_info_t x = { .hostname = j->bundle.plan.hosts[n->args.index].name,
                               .executable_name = (char *)(uintptr_t)program, .pid = r->pid,
                               .state = rank_lives_as(r->pid, r->pmi,
                                                      crew_rank_is_held(&j->crew, r)) };

        snprintf(x.proc.nspace, sizeof x.proc.nspace, "%s", j->bundle.jobid);
        x.proc.rank = (pmix_rank_t)r->rank;
        if (*at > first)
            buf_char(out, ',');
        if (value_encode(PMIX_PROC_INFO, &x, "process", out, &e) < 0)
            return -1;
    }
    return 0;
}

/* One frame of it.  0, or -1. */
static int add_part(const struct proxy_job *j, char *const *paths, const char *thrid, int *at,
                    struct buf *reply)
{
    struct buf list = BUF_INIT;
    struct err e = { 0 };
    struct msg m;
    bool more;
    int rc;

    buf_printf(&list, "[{\"query\":0,\"key\":\"%s\",\"type\":\"PMIX_DATA_ARRAY\",\"value\":"
                      "{\"type\":\"PMIX_PROC_INFO\",\"array\":[", PMIX_QUERY_LOCAL_PROC_TABLE);
    rc = add_ranks(j, paths, at, &list);
    more = *at < j->crew.n;
    buf_printf(&list, "]}%s}]", more ? ",\"more\":true" : "");
    msg_init(&m);
    msg_start(&m, "pmix-query-response");
    msg_str(&m, "thrid", thrid);
    msg_int(&m, "rc", 0);
    msg_int(&m, "status", PMIX_SUCCESS);
    if (more)
        msg_str(&m, "more", "TRUE");
    msg_bytes(&m, "results", buf_bytes(&list), list.len);
    if (rc == 0)
        rc = list.failed ? -1 : wire_v2.format(&m, LIMIT_FRAME_LINK, reply, &e);
    msg_clear(&m);
    buf_clear(&list);
    return rc;
}

static bool add_table(const struct proxy_job *j, const char *thrid, struct buf *reply)
{
    size_t napps = j->bundle.plan.napps;
    char **paths = calloc(napps, sizeof *paths);
    bool good = paths;

    for (size_t a = 0; good && a < napps; a++)
        paths[a] = crew_path(&j->crew, a, j->bundle.cwd);
    for (int at = 0; good && at < j->crew.n; )
        good = add_part(j, paths, thrid, &at, reply) == 0 && reply->len <= REPLY;
    for (size_t a = 0; paths && a < napps; a++)
        free(paths[a]);
    free(paths);
    return good && !reply->failed;
}

bool proxy_answer(void *host, struct member *m, const struct frame *f, struct buf *reply)
{
    const struct proxy_job *j;
    const char *thrid;
    bool answered;
    char *copy;

    if (!starts(f, "cmd=pmix-query;") || !memmem(f->text, f->len, PMIX_QUERY_LOCAL_PROC_TABLE,
                                                 strlen(PMIX_QUERY_LOCAL_PROC_TABLE)))
        return false;
    copy = malloc(f->len + 1);
    if (!copy)
        return false;
    memcpy(copy, f->text, f->len);
    copy[f->len] = '\0';
    j = read_query(host, m, copy, f->len, &thrid);
    answered = j && add_table(j, thrid, reply);
    if (!answered)
        buf_reset(reply);
    free(copy);
    return answered;
}
