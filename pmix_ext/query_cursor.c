/* query_cursor.c - see query_cursor.h */
#include "pmix_ext/query_cursor.h"

#include "pmix_ext/serve.h"
#include "pmix_ext/support.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

void cursor_clear(struct query_cursor *c)
{
    select_clear(&c->sel);
    free(c->picks);
    free(c->nodes);
    *c = (struct query_cursor){ .row = NULL };
}

bool cursor_needs_queues(const char *key)
{
    const struct query_key *row = query_key(key);

    return row && row->queues;
}

bool cursor_needs(const char *key, unsigned *what)
{
    const struct query_key *row = query_key(key);
    const struct info_key *info = row ? NULL : info_key(key);

    *what = row ? row->what : 0;
    return (row && row->survey) || (info && info->seen);
}

/* For keys of info.h all that can say of what. */
enum { INFO_TAKES = Q_RANKS | Q_NODES | Q_APPNUM | Q_REALM };

unsigned cursor_takes(const char *key)
{
    const struct query_key *row = query_key(key);

    if (row)
        return row->takes | Q_ALWAYS;
    return info_key(key) ? (unsigned)INFO_TAKES | Q_ALWAYS : 0;
}

pmix_status_t cursor_select(struct query_cursor *c, struct asking *a, const struct selection *sel,
                            const char *key)
{
    struct ext *x = asking_session(a)->ext;
    pmix_status_t status;
    bool all;

    *c = (struct query_cursor){ .row = query_key(key), .info = info_key(key),
                                .now = { .asking = a } };
    if (c->row)
        c->info = NULL;
    if (!c->row && !c->info)
        return PMIX_ERR_NOT_FOUND;
    if (sel->required & ~cursor_takes(key))
        return PMIX_ERR_NOT_SUPPORTED;
    all = c->row ? c->row->all_jobs || !(c->row->takes & Q_NSPACE) : c->info->alone;
    status = select_copy(asking_session(a), sel, all, c->row && c->row->local, &c->sel);
    c->now.sel = &c->sel;
    if (status == PMIX_SUCCESS && c->row && c->row->check)
        status = c->row->check(x, &c->sel);
    return status;
}

pmix_data_type_t cursor_type(const struct query_cursor *c)
{
    return c->row ? c->row->type : c->info->type;
}

/* --- what an answer has elements for ----------------------------------- */

static bool is_special(pmix_rank_t rank)
{
    return rank == PMIX_RANK_LOCAL_NODE || rank == PMIX_RANK_LOCAL_PEERS;
}

static bool realm_may_be(const struct selection *sel, enum info_realm realm)
{
    return sel->realm == INFO_REALMS || sel->realm == realm;
}

/* Several ranks are selected, for a key that each of them has. */
static bool of_ranks(const struct query_cursor *c)
{
    const struct selection *sel = &c->sel;

    if (!(c->info->realms & 1u << INFO_RANK) || !realm_may_be(sel, INFO_RANK))
        return false;
    if (sel->nranks)
        return sel->nranks > 1 || is_special(sel->ranks[0].rank) || sel->njobs > 1;
    return (sel->given & Q_NODES) && !(c->info->realms & 1u << INFO_NODE);
}

static bool of_nodes(const struct query_cursor *c)
{
    const struct selection *sel = &c->sel;

    return (c->info->realms & 1u << INFO_NODE) && realm_may_be(sel, INFO_NODE) &&
           (sel->given & Q_NODES) && !sel->nranks &&
           (select_one_node(sel) < 0 || (sel->njobs > 1 && !c->info->alone));
}

static enum query_each each_of_info(const struct query_cursor *c)
{
    if (of_ranks(c))
        return EACH_RANK;
    if (of_nodes(c) && (!c->info->list || c->sel.njobs > 1))
        return EACH_NODE;
    return c->sel.njobs > 1 && !c->info->alone ? EACH_JOB : EACH_ONCE;
}

/* Nodes that are named, or that have ranks of the jobs. */
static bool *choose_nodes(struct ext *x, const struct selection *sel)
{
    bool *nodes = calloc(sel->nnodes + 1, sizeof *nodes), *has;
    size_t n;

    if (nodes && (sel->given & Q_NODES)) {
        memcpy(nodes, sel->nodes, sel->nnodes * sizeof *nodes);
        return nodes;
    }
    for (size_t j = 0; nodes && j < sel->njobs; j++) {
        has = sel->jobs[j].gone ? NULL : info_nodes(x, &sel->jobs[j].job, &n);
        for (size_t i = 0; has && i < n && i < sel->nnodes; i++)
            nodes[i] = nodes[i] || has[i];
        free(has);
    }
    return nodes;
}

pmix_status_t cursor_begin(struct query_cursor *c, struct ext *x)
{
    c->each = c->row ? c->row->each : each_of_info(c);
    c->single = c->each == EACH_ONCE;
    if (c->row && c->row->queues && asking_queues(c->now.asking)->status != PMIX_SUCCESS)
        return asking_queues(c->now.asking)->status;
    if (c->each == EACH_RANK)
        c->picks = select_ranks(x, &c->sel, &c->npicks);
    if (c->each == EACH_NODE)
        c->nodes = choose_nodes(x, &c->sel);
    if ((c->each == EACH_RANK && !c->picks) || (c->each == EACH_NODE && !c->nodes))
        return PMIX_ERR_NOMEM;
    if (c->single && (!c->row || (c->row->takes & Q_NSPACE)) && c->sel.njobs)
        c->now.job = &c->sel.jobs[0];
    return c->now.job && c->now.job->gone ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

/* --- keys of info.h ---------------------------------------------------- */

/* A rank that asks without saying about what asks about itself. */
static pmix_rank_t only_rank(const struct query_cursor *c)
{
    const struct session *s = asking_session(c->now.asking);

    if (c->sel.nranks)
        return c->sel.ranks[0].rank;
    if (s->who.tool || (c->sel.given & (unsigned)INFO_TAKES))
        return PMIX_RANK_UNDEF;
    return s->who.rank;
}

static pmix_status_t info_of_element(struct query_cursor *c, struct ext *x, pmix_rank_t rank,
                                     int node, pmix_value_t *out)
{
    const struct picked_job *j = c->now.job;
    struct info_of of = { .rank = rank, .node = node, .app = c->sel.app, .viewer = c->sel.viewer,
                          .realm = c->each == EACH_RANK ? INFO_RANK : c->sel.realm };

    if (c->each == EACH_NODE)
        of.realm = INFO_NODE;
    if (j) {
        of.job = j->job;
        if (j->survey && rank < (unsigned)j->job.size &&
            j->survey->ranks[rank].state != PMIX_PROC_STATE_UNDEF)
            of.seen = &j->survey->ranks[rank];
    }
    return info_get(x, &of, c->info->key, out);
}

/* Of all nodes that are selected, one behind the other. */
static pmix_status_t join(struct query_cursor *c, struct ext *x, pmix_value_t *out)
{
    struct buf text = BUF_INIT;
    pmix_value_t v;

    for (size_t i = 0; i < c->sel.nnodes; i++) {
        if (!c->sel.nodes[i] || info_of_element(c, x, PMIX_RANK_UNDEF, (int)i, &v) != PMIX_SUCCESS)
            continue;
        buf_printf(&text, "%s%s", text.len ? "," : "", v.data.string);
        value_clear(PMIX_VALUE, &v);
    }
    if (!text.len && !text.failed)
        return PMIX_ERR_NOT_FOUND;
    out->type = PMIX_STRING;
    out->data.string = text.failed ? NULL : strdup(buf_bytes(&text));
    buf_clear(&text);
    return out->data.string ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
}

pmix_status_t cursor_value(struct query_cursor *c, struct ext *x, pmix_value_t *out)
{
    *out = (pmix_value_t){ .type = PMIX_UNDEF };
    if (c->row)
        return c->row->value(x, &c->now, out);
    if (c->info->list && of_nodes(c))
        return join(c, x, out);
    return info_of_element(c, x, only_rank(c), select_one_node(&c->sel), out);
}

/* 1; 0: it has none; -1 and e. */
static int add_info(struct query_cursor *c, struct ext *x, struct buf *out, struct err *e)
{
    pmix_rank_t rank = c->each == EACH_RANK ? (pmix_rank_t)c->now.rank : PMIX_RANK_UNDEF;
    int node = c->each == EACH_JOB ? select_one_node(&c->sel) : c->now.node;
    pmix_value_t v;
    int rc = 0;

    if (info_of_element(c, x, rank, node, &v) != PMIX_SUCCESS)
        return 0;
    rc = value_encode(v.type, value_content(&v), c->info->key, out, e);
    value_clear(PMIX_VALUE, &v);
    return rc < 0 ? -1 : 1;
}

/* --- one by one -------------------------------------------------------- */

/* The next rank that is picked, of a job that is still there.  False: none is left. */
static bool step_rank(struct query_cursor *c, struct ext *x)
{
    struct element *now = &c->now;
    const struct pick *p;

    while (c->pick < c->npicks && (c->in_pick == c->picks[c->pick].n ||
                                   c->sel.jobs[c->picks[c->pick].job].gone)) {
        c->pick++;
        c->in_pick = 0;
    }
    if (c->pick == c->npicks)
        return false;
    p = &c->picks[c->pick];
    now->job = &c->sel.jobs[p->job];
    now->node = p->node;
    now->rank = p->first + c->in_pick++;
    info_app_of(x, &now->job->job, (pmix_rank_t)now->rank, &now->app);
    return true;
}

/* The next node; of keys that a node has for each job, the next of these. */
static bool step_node(struct query_cursor *c)
{
    size_t jobs = c->info && !c->info->alone ? c->sel.njobs : 1;

    for (; c->index < c->sel.nnodes * jobs; c->index++) {
        size_t job = c->index % jobs;

        if (!c->nodes[c->index / jobs] || (c->info && !c->info->alone && c->sel.jobs[job].gone))
            continue;
        c->now.node = (int)(c->index++ / jobs);
        c->now.job = c->info && !c->info->alone ? &c->sel.jobs[job] : NULL;
        return true;
    }
    return false;
}

static bool step(struct query_cursor *c, struct ext *x)
{
    switch (c->each) {
    case EACH_RANK:
        return step_rank(c, x);
    case EACH_NODE:
        return step_node(c);
    case EACH_JOB:
        while (c->index < c->sel.njobs && c->sel.jobs[c->index].gone)
            c->index++;
        c->now.job = &c->sel.jobs[c->index];
        return c->index++ < c->sel.njobs;
    case EACH_FUNCTION:
        c->now.index = c->index;
        return functions_supported[c->index++].name != NULL;
    case EACH_QUEUE:
        c->now.index = c->index;
        return c->index++ < asking_queues(c->now.asking)->n;
    default:
        return false;
    }
}

int cursor_next(struct query_cursor *c, struct ext *x, bool comma, struct buf *out,
                struct err *e)
{
    size_t start = out->len;
    int got = 0;

    if (comma)
        buf_char(out, ',');
    while (!got && step(c, x))
        got = c->row ? c->row->add(x, &c->now, out, e) : add_info(c, x, out, e);
    if (got <= 0)
        buf_cut(out, start);
    return got;
}
