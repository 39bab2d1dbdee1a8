/* spawn_daemons.c - see spawn_daemons.h */
#include "pmix_ext/spawn_daemons.h"

#include "pmix_ext/lite_keys.h"
#include "pmix_ext/serve.h"
#include "wire/rank_list.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct directive_rule rules[] = {
    DIRECTIVE(PMIX_DEBUGGER_DAEMONS, PMIX_BOOL, struct daemons, are),
    DIRECTIVE(PMIX_COSPAWN_APP, PMIX_BOOL, struct daemons, cospawn),
    DIRECTIVE_KNOWN(PMIX_DEBUG_TARGET, PMIX_PROC),       /* below */
    DIRECTIVE(PMIX_DEBUG_DAEMONS_PER_NODE, PMIX_UINT16, struct daemons, per_node),
    DIRECTIVE(PMIX_DEBUG_DAEMONS_PER_PROC, PMIX_UINT16, struct daemons, per_proc),
    DIRECTIVE(PMIX_NOHUP, PMIX_BOOL, struct daemons, nohup),
    DIRECTIVE(LITE_DAEMONS_RANKS, PMIX_STRING, struct daemons, ranks),
    DIRECTIVE(LITE_DAEMONS_STRIDE, PMIX_UINT32, struct daemons, stride),
    { 0 }
};

bool daemons_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    return directive_at(rules, i, key, type);
}

bool daemons_know(const char *key)
{
    size_t k = 0;

    while (rules[k].key && strcmp(rules[k].key, key))
        k++;
    return rules[k].key;
}

/* --- what is asked for ------------------------------------------------- */

static pmix_status_t wrong(struct err *e, const char *why)
{
    err_set(e, ERR_INVALID_ARG, "%s", why);
    return PMIX_ERR_BAD_PARAM;
}

static pmix_status_t check(const struct daemons *d, struct err *e)
{
    if (!d->are && d->cospawn)
        return wrong(e, PMIX_COSPAWN_APP " is for " PMIX_DEBUGGER_DAEMONS " only");
    if (!d->are && (d->target || d->per_node || d->per_proc || d->ranks || d->stride))
        return wrong(e, PMIX_DEBUG_TARGET " and what goes with it are for " PMIX_DEBUGGER_DAEMONS);
    if (d->are && !d->target && (d->per_node || d->per_proc || d->ranks || d->stride))
        return wrong(e, "daemons of a node, a process or some ranks: " PMIX_DEBUG_TARGET
                     " has to say of which job");
    if (d->per_node && d->per_proc)
        return wrong(e, PMIX_DEBUG_DAEMONS_PER_NODE " and " PMIX_DEBUG_DAEMONS_PER_PROC
                     " exclude each other");
    return d->ranks && rank_list_check(d->ranks, 0, e) < 0 ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS;
}

pmix_status_t daemons_read(const struct infos *infos, struct daemons *out, struct err *e)
{
    *out = (struct daemons){ .are = false };
    return daemons_complete(infos, out, e);
}

pmix_status_t daemons_complete(const struct infos *infos, struct daemons *out, struct err *e)
{
    const pmix_info_t *hosts = info_find(infos, PMIX_HOST);

    for (size_t i = 0; i < infos->n; i++) {
        const struct infos one = { &infos->v[i], 1 };
        pmix_status_t status;

        if (!daemons_know(infos->v[i].key))
            continue;                    /* spawn_translate knows it, or nobody */
        status = directives_take(&one, "infos", rules, out, e);
        if (status != PMIX_SUCCESS)
            return status;
        if (!strcmp(infos->v[i].key, PMIX_DEBUG_TARGET))
            out->target = infos->v[i].value.data.proc;
    }
    if (hosts && hosts->value.type == PMIX_STRING)
        out->hosts = hosts->value.data.string;
    return check(out, e);
}

/* --- where they go ----------------------------------------------------- */

struct places {                          /* being made */
    struct ext           *ext;
    const struct daemons *d;
    struct fact_job       job;
    unsigned             *count;         /* owned: by node, its ranks that are wanted */
    size_t                nodes;
    struct buf            text;          /* owned: "0,2*3" */
    long long             n;             /* processes so far */
};

static bool is_wanted(const struct daemons *d, int rank)
{
    return rank_list_has(d->ranks, rank) &&
           (d->target->rank >= PMIX_RANK_VALID || d->target->rank == (pmix_rank_t)rank);
}

/* Of a list with commas. */
static bool is_listed(const char *list, const char *name)
{
    size_t len = name ? strlen(name) : 0;

    for (; name && *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ','))
        if (strcspn(list, ",") == len && !memcmp(list, name, len))
            return true;
    return false;
}

static bool is_host(struct places *p, size_t node)
{
    struct fact_node n;

    if (!p->ext->ops.facts->node(p->ext->host, (int)node, &n) || n.lost)
        return false;
    return !p->d->hosts || is_listed(p->d->hosts, n.name) || is_listed(p->d->hosts, n.alias);
}

static bool count_ranks(struct places *p)
{
    struct fact_node node;
    struct fact_run run;

    while (p->ext->ops.facts->node(p->ext->host, (int)p->nodes, &node))
        p->nodes++;
    p->count = calloc(p->nodes + 1, sizeof *p->count);
    for (size_t i = 0; p->count && p->ext->ops.facts->run(p->ext->host, p->job.of, i, &run); i++)
        for (int k = 0; k < run.n; k++)
            p->count[run.node] += is_wanted(p->d, run.first + k);
    return p->count;
}

static void add_place(struct places *p, size_t node, long long n)
{
    if (n > 0)
        buf_printf(&p->text, "%s%zu*%lld", p->text.len ? "," : "", node, n);
    p->n += n;
}

/* One after the other of their nodes; daemons of processes in the order of ranks. */
static void list_places(struct places *p)
{
    size_t seen = 0;
    struct fact_run run;

    if (p->d->per_proc) {
        for (size_t i = 0; p->ext->ops.facts->run(p->ext->host, p->job.of, i, &run); i++)
            for (int k = 0; k < run.n; k++)
                if (is_wanted(p->d, run.first + k) && is_host(p, (size_t)run.node))
                    add_place(p, (size_t)run.node, p->d->per_proc);
        return;
    }
    for (size_t i = 0; i < p->nodes; i++)
        if (p->count[i] && is_host(p, i) && seen++ % (p->d->stride ? p->d->stride : 1) == 0)
            add_place(p, i, p->d->per_node ? p->d->per_node : 1);
}

static pmix_status_t find_target(struct places *p, struct err *e)
{
    const char *id = p->d->target->nspace;

    for (size_t i = 0; p->ext->ops.facts->job(p->ext->host, i, &p->job); i++)
        if (!strcmp(p->job.nspace, id))
            break;
    if (!p->job.of || strcmp(p->job.nspace, id)) {
        err_set(e, ERR_INVALID_ARG, PMIX_DEBUG_TARGET ": there is no job %.64s here", id);
        return PMIX_ERR_INVALID_NAMESPACE;
    }
    return p->job.target ? wrong(e, PMIX_DEBUG_TARGET ": these are daemons themselves")
                         : PMIX_SUCCESS;
}

static pmix_status_t no_memory(struct err *e)
{
    err_set(e, ERR_NOMEM, "no memory for daemons");
    return PMIX_ERR_NOMEM;
}

static pmix_status_t make_places(struct places *p, struct err *e)
{
    pmix_status_t status = find_target(p, e);

    if (status != PMIX_SUCCESS)
        return status;
    if (!count_ranks(p))
        return no_memory(e);
    list_places(p);
    if (p->text.failed)
        return no_memory(e);
    if (!p->n || p->n > INT_MAX)
        return wrong(e, p->n ? "there would be too many daemons"
                             : "no node of the target is among those that are wanted");
    return PMIX_SUCCESS;
}

/* A command of daemons: what they look after, in their environment as well; never bound. */
static pmix_status_t mark(struct spawn_command *c, const struct places *p, struct err *e)
{
    const char *target = p->d->target ? p->d->target->nspace : "";
    struct buf env = BUF_INIT;
    int bad;

    buf_printf(&env, "PMIX_DEBUG_TARGET=%s", target);
    bad = env.failed || spawn_add_info(c, "daemons", target) < 0 ||
          spawn_add_info(c, "bind", "none") < 0 ||
          (*target && spawn_add_info(c, "env-own", buf_bytes(&env)) < 0) ||
          (p->n && spawn_add_info(c, "place", buf_bytes((struct buf *)(uintptr_t)&p->text)) < 0);
    buf_clear(&env);
    if (p->n)
        c->procs = (int)p->n;
    return bad ? no_memory(e) : PMIX_SUCCESS;
}

pmix_status_t daemons_place(struct ext *x, const struct daemons *d,
                            struct spawn_request *want, struct err *e)
{
    struct places p = { .ext = x, .d = d, .text = BUF_INIT };
    pmix_status_t status = d->target ? make_places(&p, e) : PMIX_SUCCESS;

    for (size_t i = 0; i < want->n && status == PMIX_SUCCESS; i++)
        status = mark(&want->commands[i], &p, e);
    free(p.count);
    buf_clear(&p.text);
    return status;
}
