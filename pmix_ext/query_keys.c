/* query_keys.c - the keys of pmix-query that are no key of info.h as well: one table, from
 * which the questions about what is supported are answered, too. */
#include "pmix_ext/lite_keys.h"
#include "pmix_ext/support.h"
#include "pmix_ext/serve.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

static pmix_status_t give_buf(pmix_value_t *v, struct buf *text)
{
    v->type = PMIX_STRING;
    v->data.string = text->failed ? NULL : strdup(text->len ? buf_bytes(text) : "");
    buf_clear(text);
    return v->data.string ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
}

/* --- the server -------------------------------------------------------- */

static pmix_status_t get_keys(struct ext *x, const struct element *of, pmix_value_t *out)
{
    struct buf text = BUF_INIT;

    (void)of;
    for (const struct query_key *k = query_keys; k->key; k++)
        if (k->value != query_not_ours && (!k->queues || ext_allocates(x)))
            buf_printf(&text, "%s%s", text.len ? "," : "", k->key);
    for (const struct info_key *k = info_keys; k->key; k++)
        if (!query_key(k->key))
            buf_printf(&text, ",%s", k->key);
    return give_buf(out, &text);
}

static pmix_status_t get_qualifiers(struct ext *x, const struct element *of, pmix_value_t *out)
{
    struct buf text = BUF_INIT;

    (void)x;
    (void)of;
    for (const struct qualifier *q = query_qualifiers; q->key; q++)
        buf_printf(&text, "%s%s", text.len ? "," : "", q->key);
    return give_buf(out, &text);
}

static pmix_status_t give_names(struct ext *x, bool (*next)(void *, size_t, struct fact_job *),
                                pmix_value_t *out)
{
    struct buf text = BUF_INIT;
    struct fact_job j;

    for (size_t i = 0; next && next(x->host, i, &j); i++)
        buf_printf(&text, "%s%s", i ? "," : "", j.nspace);
    return give_buf(out, &text);
}

static pmix_status_t get_namespaces(struct ext *x, const struct element *of, pmix_value_t *out)
{
    (void)of;
    return give_names(x, x->ops.facts->job, out);
}

static pmix_status_t get_ended(struct ext *x, const struct element *of, pmix_value_t *out)
{
    (void)of;
    return give_names(x, x->ops.facts->ended, out);
}

/* What this caller may send, and so do. */
static bool may(const struct command *c, bool tool)
{
    const char *name = c->name[WIRE_2];

    return name && !strncmp(name, "pmix-", 5) && (!tool || (c->flags & FROM_TOOL));
}

static pmix_status_t get_authorizations(struct ext *x, const struct element *of,
                                        pmix_value_t *out)
{
    bool tool = asking_session(of->asking)->who.tool;
    size_t n = server_command_count(x->server), at = 0;
    pmix_data_array_t *a = calloc(1, sizeof *a);
    char **v = calloc(n + 1, sizeof *v);

    for (size_t i = 0; v && i < n; i++)
        if (may(server_command(x->server, i), tool))
            v[at++] = strdup(server_command(x->server, i)->name[WIRE_2]);
    if (!a || !v) {
        free(a);
        free(v);
        return PMIX_ERR_NOMEM;
    }
    *a = (pmix_data_array_t){ .type = PMIX_STRING, .size = at, .array = v };
    out->type = PMIX_DATA_ARRAY;
    out->data.darray = a;
    return PMIX_SUCCESS;
}

static pmix_status_t get_spawn_support(struct ext *x, const struct element *of,
                                       pmix_value_t *out)
{
    struct buf text = BUF_INIT;

    (void)x;
    (void)of;
    support_list("PMIx_Spawn", NULL, &text);
    return give_buf(out, &text);
}

static bool is_debug(const char *key)
{
    return !strncmp(key, "pmix.dbg.", 9) || !strcmp(key, PMIX_DEBUGGER_DAEMONS);
}

static pmix_status_t get_debug_support(struct ext *x, const struct element *of,
                                       pmix_value_t *out)
{
    struct buf text = BUF_INIT;

    (void)x;
    (void)of;
    support_list("PMIx_Spawn", is_debug, &text);
    return give_buf(out, &text);
}

/* There are no groups here; so it can be said how many, and which. */
static pmix_status_t get_none(struct ext *x, const struct element *of, pmix_value_t *out)
{
    (void)x;
    (void)of;
    out->type = PMIX_SIZE;
    out->data.size = 0;
    return PMIX_SUCCESS;
}

static pmix_status_t get_no_names(struct ext *x, const struct element *of, pmix_value_t *out)
{
    (void)x;
    (void)of;
    out->type = PMIX_DATA_ARRAY;
    out->data.darray = calloc(1, sizeof *out->data.darray);
    if (!out->data.darray)
        return PMIX_ERR_NOMEM;
    out->data.darray->type = PMIX_STRING;
    return PMIX_SUCCESS;
}

pmix_status_t query_not_ours(struct ext *x, const struct element *of, pmix_value_t *out)
{
    (void)x;
    (void)of;
    (void)out;
    return PMIX_ERR_NOT_SUPPORTED;
}

static pmix_status_t get_seq(struct ext *x, const struct element *of, pmix_value_t *out)
{
    (void)of;
    out->type = PMIX_UINT64;
    out->data.uint64 = x->told;
    return PMIX_SUCCESS;
}

/* --- a job ------------------------------------------------------------- */

static uint32_t story(const struct fact_job *j)
{
    return LITE_STATUS_CREATED | (j->launched ? LITE_STATUS_SPAWNED : 0U) |
           (j->held ? LITE_STATUS_HELD : 0U) | (j->running ? LITE_STATUS_RUNNING : 0U) |
           (j->ending ? LITE_STATUS_ENDING : 0U) | (j->lost ? LITE_STATUS_NODE_LOST : 0U) |
           (j->ended > 0 ? LITE_STATUS_TERMINATED : 0U);
}

static pmix_status_t get_story(struct ext *x, const struct element *of, pmix_value_t *out)
{
    (void)x;
    out->type = PMIX_UINT32;
    out->data.uint32 = story(&of->job->job);
    return PMIX_SUCCESS;
}

static pmix_status_t get_job_status(struct ext *x, const struct element *of, pmix_value_t *out)
{
    (void)x;
    out->type = PMIX_STATUS;
    out->data.status = of->job->job.status;
    return PMIX_SUCCESS;
}

static pmix_status_t get_nodes(struct ext *x, const struct element *of, pmix_value_t *out)
{
    struct info_of what;

    info_of_fact(&of->job->job, &what);
    return info_get(x, &what, PMIX_NODE_LIST, out);
}

static pmix_status_t get_remaining(struct ext *x, const struct element *of, pmix_value_t *out)
{
    (void)x;
    out->type = PMIX_UINT32;
    out->data.uint32 = (uint32_t)of->job->job.remaining;
    return of->job->job.remaining > 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

static pmix_info_t *begin(pmix_info_t *info, const char *key, pmix_data_type_t type)
{
    strncpy(info->key, key, sizeof info->key - 1);
    info->value.type = type;
    return info;
}

/* Append an info whose value is this array of infos. */
static int add_infos(const char *key, pmix_info_t *infos, size_t n, struct buf *out,
                     struct err *e)
{
    pmix_data_array_t a = { .type = PMIX_INFO, .size = n, .array = infos };
    pmix_info_t whole = { .key = "" };

    begin(&whole, key, PMIX_DATA_ARRAY)->value.data.darray = &a;
    return value_encode(PMIX_INFO, &whole, "info", out, e) < 0 ? -1 : 1;
}

static pmix_job_state_t job_state(const struct fact_job *j)
{
    if (j->ending)
        return PMIX_JOB_STATE_TERMINATED_WITH_ERROR;
    if (j->ended > 0)
        return j->exit_code ? PMIX_JOB_STATE_TERMINATED_WITH_ERROR : PMIX_JOB_STATE_TERMINATED;
    return j->began > 0 ? PMIX_JOB_STATE_RUNNING : PMIX_JOB_STATE_LAUNCH_UNDERWAY;
}

/* Who has started it, and where. */
static size_t add_launcher(struct ext *x, const struct fact_job *j, pmix_info_t *infos)
{
    static const char name[] = "mpiexec_lite", version[] = VERSION;

    begin(&infos[0], PMIX_SERVER_HOSTNAME, PMIX_STRING)->value.data.string =
        (char *)(uintptr_t)x->ops.hostname(x->host);
    begin(&infos[1], PMIX_SERVER_PIDINFO, PMIX_PID)->value.data.pid = j->launcher;
    begin(&infos[2], PMIX_RM_NAME, PMIX_STRING)->value.data.string = (char *)(uintptr_t)name;
    begin(&infos[3], PMIX_RM_VERSION, PMIX_STRING)->value.data.string = (char *)(uintptr_t)version;
    return 4;
}

static int add_job(struct ext *x, const struct element *of, struct buf *out, struct err *e)
{
    const struct fact_job *j = &of->job->job;
    pmix_info_t infos[15] = { { .key = "" } };
    struct info_of what;
    pmix_value_t command, nodes, user;
    size_t n = 7;
    int got;

    info_of_fact(j, &what);
    if (info_get(x, &what, PMIX_CMD_LINE, &command) != PMIX_SUCCESS)
        return err_set(e, ERR_NOMEM, "no memory for a job's command");
    if (info_get(x, &what, PMIX_NODE_LIST, &nodes) != PMIX_SUCCESS)
        nodes.data.string = NULL;
    begin(&infos[0], PMIX_NSPACE, PMIX_STRING)->value.data.string = (char *)(uintptr_t)j->nspace;
    begin(&infos[1], PMIX_JOB_SIZE, PMIX_UINT32)->value.data.uint32 = (uint32_t)j->size;
    begin(&infos[2], PMIX_CMD_LINE, PMIX_STRING)->value.data.string = command.data.string;
    begin(&infos[3], PMIX_QUERY_JOB_STATUS, PMIX_STATUS)->value.data.status = j->status;
    begin(&infos[4], LITE_JOB_STATE, PMIX_JOB_STATE)->value.data.jstate = job_state(j);
    begin(&infos[5], LITE_JOB_BEGAN, PMIX_TIME)->value.data.time = (time_t)j->began;
    begin(&infos[6], LITE_JOB_STATUS, PMIX_UINT32)->value.data.uint32 = story(j);
    if (j->ended > 0) {
        begin(&infos[n++], LITE_JOB_ENDED, PMIX_TIME)->value.data.time = (time_t)j->ended;
        begin(&infos[n++], PMIX_EXIT_CODE, PMIX_INT)->value.data.integer = j->exit_code;
    }
    n += add_launcher(x, j, &infos[n]);
    if (info_get(x, &what, PMIX_USERID, &user) == PMIX_SUCCESS)
        begin(&infos[n++], PMIX_USERID, PMIX_UINT32)->value.data.uint32 = user.data.uint32;
    if (nodes.data.string)
        begin(&infos[n++], PMIX_NODE_LIST, PMIX_STRING)->value.data.string = nodes.data.string;
    got = add_infos(PMIX_JOB_INFO_ARRAY, infos, n, out, e);
    free(command.data.string);
    free(nodes.data.string);
    return got;
}

/* --- a rank ------------------------------------------------------------ */

/* As the host knows it and, until it has ended, as its server has seen it. */
static struct fact_rank look(struct ext *x, const struct element *of)
{
    const struct survey *s = of->job->survey;
    struct fact_rank r;

    x->ops.facts->rank(x->host, of->job->job.of, of->rank, &r);
    if (s && !r.ended && s->ranks[of->rank].state != PMIX_PROC_STATE_UNDEF) {
        r.pid = s->ranks[of->rank].pid;
        r.state = s->ranks[of->rank].state;
    }
    return r;
}

/* Up to the end of its name: all of it for every rank would be most of the work. */
static void set_proc(pmix_proc_t *p, const struct element *of)
{
    if (!memccpy(p->nspace, of->job->job.nspace, '\0', sizeof p->nspace))
        p->nspace[sizeof p->nspace - 1] = '\0';
    p->rank = (pmix_rank_t)of->rank;
}

static const char *node_name(struct ext *x, int node)
{
    struct fact_node n;

    return x->ops.facts->node(x->host, node, &n) ? n.name : "";
}

static const char *program(const struct fact_app *app)
{
    return app->path ? app->path : app->argv[0];
}

static int add_proc_info(struct ext *x, const struct element *of, struct buf *out,
                         struct err *e)
{
    struct fact_rank r = look(x, of);
    pmix_proc_info_t p;

    set_proc(&p.proc, of);
    p.hostname = (char *)(uintptr_t)node_name(x, of->node);
    p.executable_name = (char *)(uintptr_t)program(&of->app);
    p.pid = r.pid;
    p.exit_code = r.exit_code;
    p.state = r.state;
    return value_encode(PMIX_PROC_INFO, &p, "process", out, e) < 0 ? -1 : 1;
}

static int add_proc(struct ext *x, const struct element *of, struct buf *out, struct err *e)
{
    pmix_proc_t p = { .nspace = "" };

    (void)x;
    set_proc(&p, of);
    return value_encode(PMIX_PROC, &p, "process", out, e) < 0 ? -1 : 1;
}

static int add_member(struct ext *x, const struct element *of, struct buf *out, struct err *e)
{
    return query_in_pset(of) ? add_proc(x, of, out, e) : 0;
}

enum { MIB = 1 << 20, MILLION = 1000000 };

/* Of those that run. */
static int add_stats(struct ext *x, const struct element *of, struct buf *out, struct err *e)
{
    const struct survey *s = of->job->survey;
    const struct fact_usage *u = s ? &s->usage[of->rank] : NULL;
    struct fact_rank r = look(x, of);
    pmix_proc_stats_t p = { .node = (char *)(uintptr_t)node_name(x, of->node),
                            .cmd = (char *)(uintptr_t)program(&of->app), .pid = r.pid };

    if (r.ended || !u || !u->state)
        return 0;
    set_proc(&p.proc, of);
    p.state = u->state;
    p.time = (struct timeval){ (time_t)(u->cpu / MILLION), (suseconds_t)(u->cpu % MILLION) };
    p.rss = (float)((double)u->rss / MIB);
    p.vsize = (float)((double)u->vsize / MIB);
    p.num_threads = (int16_t)(u->threads > INT16_MAX ? INT16_MAX : u->threads);
    p.priority = u->priority;
    p.processor = (int16_t)u->processor;
    p.sample_time.tv_sec = (time_t)x->ops.now(x->host);
    return value_encode(PMIX_PROC_STATS, &p, "process", out, e) < 0 ? -1 : 1;
}

static int add_op(struct ext *x, const struct element *of, struct buf *out, struct err *e)
{
    const struct survey *s = of->job->survey;
    const struct fact_usage *u = s ? &s->usage[of->rank] : NULL;
    pmix_info_t infos[4] = { { .key = "" } };
    pmix_proc_t proc = { .nspace = "" };
    struct fact_rank r = look(x, of);
    size_t n = 2;

    set_proc(&proc, of);
    begin(&infos[0], PMIX_PROCID, PMIX_PROC)->value.data.proc = &proc;
    begin(&infos[1], PMIX_PROC_STATE_STATUS, PMIX_PROC_STATE)->value.data.state = r.state;
    if (!r.ended && u && *u->op) {
        begin(&infos[n++], LITE_OP, PMIX_STRING)->value.data.string = (char *)(uintptr_t)u->op;
        begin(&infos[n++], LITE_OP_TIME, PMIX_DOUBLE)->value.data.dval = u->op_time / 1000.0;
    }
    return add_infos(PMIX_PROC_INFO_ARRAY, infos, n, out, e);
}

/* Where a rank is, or why that cannot be said.  all: each of its threads. */
static int add_where(struct ext *x, const struct element *of, bool all, struct buf *out,
                     struct err *e)
{
    const struct survey *s = of->job->survey;
    const struct seen_stack *seen = s && s->stacks ? &s->stacks[of->rank] : NULL;
    const char *why = "its node has not answered";
    pmix_info_t infos[2] = { { .key = "" } };
    pmix_proc_t proc = { .nspace = "" };
    struct fact_rank r = look(x, of);
    bool there = seen && seen->there && seen->text && !r.ended;
    char *text, *end;
    int got;

    if (r.ended)
        why = r.state == PMIX_PROC_STATE_COMM_FAILED ? "it is lost with its host" : "it has ended";
    else if (seen && seen->text)
        why = seen->text;
    text = strdup(there ? seen->text : why);
    if (!text)
        return err_set(e, ERR_NOMEM, "no memory for a stack");
    if (there && !all && (end = strstr(text, "\n\n")))
        *end = '\0';
    set_proc(&proc, of);
    begin(&infos[0], PMIX_PROCID, PMIX_PROC)->value.data.proc = &proc;
    begin(&infos[1], there ? LITE_STACK : LITE_STACK_WHY, PMIX_STRING)->value.data.string = text;
    got = add_infos(PMIX_PROC_INFO_ARRAY, infos, 2, out, e);
    free(text);
    return got;
}

static int add_stack(struct ext *x, const struct element *of, struct buf *out, struct err *e)
{
    return add_where(x, of, false, out, e);
}

static int add_stacks(struct ext *x, const struct element *of, struct buf *out, struct err *e)
{
    return add_where(x, of, true, out, e);
}

/* --- a node ------------------------------------------------------------ */

struct memory { double sum, min, max, server; int n; };

static void add_up(struct ext *x, const struct picked_job *j, int node, struct memory *m)
{
    const struct survey *s = j->survey;
    struct fact_run run;

    if (!s || j->gone)
        return;
    if ((double)s->servers[node] > m->server)
        m->server = (double)s->servers[node];
    for (size_t i = 0; x->ops.facts->run(x->host, j->job.of, i, &run); i++)
        for (int r = run.first; run.node == node && r < run.first + run.n; r++) {
            double rss = (double)s->usage[r].rss;

            if (!s->usage[r].state)
                continue;
            m->min = !m->n || rss < m->min ? rss : m->min;
            m->max = rss > m->max ? rss : m->max;
            m->sum += rss;
            m->n++;
        }
}

static void add_float(pmix_info_t *infos, size_t *n, const char *key, double bytes)
{
    begin(&infos[(*n)++], key, PMIX_FLOAT)->value.data.fval = (float)(bytes / MIB);
}

static int add_memory(struct ext *x, const struct element *of, struct buf *out, struct err *e)
{
    pmix_info_t infos[6] = { { .key = "" } };
    struct memory m = { 0 };
    size_t n = 2;

    for (size_t i = 0; i < of->sel->njobs; i++)
        add_up(x, &of->sel->jobs[i], of->node, &m);
    begin(&infos[0], PMIX_HOSTNAME, PMIX_STRING)->value.data.string =
        (char *)(uintptr_t)node_name(x, of->node);
    begin(&infos[1], PMIX_NODEID, PMIX_UINT32)->value.data.uint32 = (uint32_t)of->node;
    if (m.server > 0)
        add_float(infos, &n, PMIX_DAEMON_MEMORY, m.server);
    if (m.n)
        add_float(infos, &n, PMIX_CLIENT_AVG_MEMORY, m.sum / m.n);
    if (m.n && (of->sel->given & Q_MINMAX)) {
        add_float(infos, &n, LITE_MEMORY_MIN, m.min);
        add_float(infos, &n, LITE_MEMORY_MAX, m.max);
    }
    return add_infos(PMIX_NODE_INFO_ARRAY, infos, n, out, e);
}

/* --- a function -------------------------------------------------------- */

/* "all", or a list of names. */
static bool is_wanted(const char *list, const char *name)
{
    size_t n = strlen(name);

    if (!list || !strcmp(list, "all"))
        return true;
    for (const char *at = list; (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ',') && (!at[n] || at[n] == ','))
            return true;
    return false;
}

static int add_function(struct ext *x, const struct element *of, struct buf *out, struct err *e)
{
    const struct function_support *f = &functions_supported[of->index];
    pmix_info_t inner = { .key = "" };
    pmix_data_array_t a = { .type = PMIX_REGATTR };
    pmix_data_type_t type;
    const char *key;
    size_t n = 0;
    int got;

    (void)x;
    if (!is_wanted(of->sel->functions, f->name))
        return 0;
    while (f->attribute(n, &key, &type))
        n++;
    a.array = calloc(n + 1, sizeof(pmix_regattr_t));
    if (!a.array)
        return err_set(e, ERR_NOMEM, "no memory for %zu attributes", n);
    for (a.size = 0; a.size < n && f->attribute(a.size, &key, &type); a.size++) {
        pmix_regattr_t *r = (pmix_regattr_t *)a.array + a.size;

        r->name = (char *)(uintptr_t)key;
        strncpy(r->string, key, sizeof r->string - 1);
        r->type = type;
    }
    begin(&inner, f->name, PMIX_DATA_ARRAY)->value.data.darray = &a;
    got = add_infos(PMIX_SERVER_ATTRIBUTES, &inner, 1, out, e);
    free(a.array);
    return got;
}

/* --- the table --------------------------------------------------------- */

#define ONCE(t, what, get)  .type = t, .each = EACH_ONCE, .takes = what, .value = get
#define RANKS(t, what, one) .type = t, .each = EACH_RANK, .takes = Q_RANKS | Q_NODES | what, \
                            .add = one
#define NOT_OURS            .type = PMIX_UNDEF, .each = EACH_ONCE, .value = query_not_ours

const struct query_key query_keys[] = {
    { PMIX_QUERY_SUPPORTED_KEYS, ONCE(PMIX_STRING, 0, get_keys) },
    { PMIX_QUERY_SUPPORTED_QUALIFIERS, ONCE(PMIX_STRING, 0, get_qualifiers) },
    { PMIX_QUERY_NAMESPACES, ONCE(PMIX_STRING, 0, get_namespaces) },
    { LITE_JOB_STATUS, ONCE(PMIX_UINT32, Q_NSPACE, get_story) },
    { LITE_EVENT_SEQ, ONCE(PMIX_UINT64, 0, get_seq) },
    { LITE_JOBS_ENDED, ONCE(PMIX_STRING, 0, get_ended) },
    { PMIX_QUERY_NAMESPACE_INFO, .type = PMIX_INFO, .each = EACH_JOB, .takes = Q_NSPACE,
      .all_jobs = true, .add = add_job },
    { PMIX_QUERY_JOB_STATUS, ONCE(PMIX_STATUS, Q_NSPACE, get_job_status) },
    { PMIX_QUERY_PROC_TABLE, RANKS(PMIX_PROC_INFO, 0, add_proc_info), .survey = true },
    { PMIX_QUERY_LOCAL_PROC_TABLE, RANKS(PMIX_PROC_INFO, 0, add_proc_info), .local = true,
      .survey = true },
    { PMIX_LOCAL_PROCS, RANKS(PMIX_PROC, 0, add_proc), .local = true, .all_jobs = true },
    { PMIX_QUERY_AUTHORIZATIONS, ONCE(PMIX_DATA_ARRAY, 0, get_authorizations) },
    { PMIX_QUERY_SPAWN_SUPPORT, ONCE(PMIX_STRING, 0, get_spawn_support) },
    { PMIX_QUERY_DEBUG_SUPPORT, ONCE(PMIX_STRING, 0, get_debug_support) },
    { PMIX_QUERY_ATTRIBUTE_SUPPORT, .type = PMIX_INFO, .each = EACH_FUNCTION,
      .takes = Q_ATTRIBUTES, .add = add_function },
    { PMIX_QUERY_MEMORY_USAGE, .type = PMIX_INFO, .each = EACH_NODE,
      .takes = Q_NSPACE | Q_NODES | Q_AVERAGE | Q_MINMAX, .all_jobs = true, .survey = true,
      .what = FACT_USAGE, .add = add_memory },
    { PMIX_TIME_REMAINING, ONCE(PMIX_UINT32, Q_NSPACE, get_remaining) },
    { PMIX_QUERY_NUM_PSETS, ONCE(PMIX_SIZE, 0, query_pset_count) },
    { PMIX_QUERY_PSET_NAMES, ONCE(PMIX_STRING, 0, query_pset_names) },
    { PMIX_QUERY_PSET_MEMBERSHIP, RANKS(PMIX_PROC, Q_PSET, add_member), .all_jobs = true,
      .check = query_pset_check },
    { PMIX_QUERY_NUM_GROUPS, ONCE(PMIX_SIZE, 0, get_none) },
    { PMIX_QUERY_GROUP_NAMES, ONCE(PMIX_DATA_ARRAY, 0, get_no_names) },
    { PMIX_QUERY_RESOLVE_PEERS, RANKS(PMIX_PROC, 0, add_proc), .local = true, .all_jobs = true },
    { PMIX_QUERY_RESOLVE_NODE, ONCE(PMIX_STRING, Q_NSPACE, get_nodes) },
    { LITE_PROC_STATS, RANKS(PMIX_PROC_STATS, 0, add_stats), .survey = true, .what = FACT_USAGE },
    { LITE_PROC_STACKS, RANKS(PMIX_INFO, 0, add_stack), .survey = true, .what = FACT_STACKS },
    { LITE_THREAD_STACKS, RANKS(PMIX_INFO, 0, add_stacks), .survey = true,
      .what = FACT_STACKS | FACT_THREADS },
    { LITE_PROC_OPS, RANKS(PMIX_INFO, 0, add_op), .survey = true, .what = FACT_USAGE },
    { PMIX_QUERY_QUEUE_LIST, ONCE(PMIX_STRING, 0, query_queue_list), .queues = true },
    { PMIX_QUERY_QUEUE_STATUS, .type = PMIX_INFO, .each = EACH_QUEUE, .takes = Q_QUEUE,
      .queues = true, .add = query_queue_status },
    { PMIX_QUERY_ALLOC_STATUS, NOT_OURS },
    { PMIX_QUERY_STORAGE_LIST, NOT_OURS },
    { .key = NULL }
};

const struct query_key *query_key(const char *key)
{
    for (const struct query_key *k = query_keys; k->key; k++)
        if (!strcmp(k->key, key))
            return k;
    return NULL;
}
