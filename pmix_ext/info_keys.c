/* info_keys.c - the keys of info.h, each with its realm, type and function.  (PMIx standard
 * 4.2, "Reserved keys"; types as in libpmix 4.2.2.) */
#include "pmix_ext/info_impl.h"

#include "pmix_ext/serve.h"
#include "pmix_ext/value.h"
#include "wire/rank_list.h"

#include <stdlib.h>
#include <string.h>

/* --- of a program ------------------------------------------------------ */

static pmix_status_t get_appnum(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    (void)x;
    if (of->app >= of->job.napps)
        return PMIX_ERR_NOT_FOUND;
    return info_give_u32(v, (uint32_t)of->app);
}

static pmix_status_t get_app_size(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct fact_app app;

    if (!x->ops.facts->app(x->host, of->job.of, of->app, &app))
        return PMIX_ERR_NOT_FOUND;
    return info_give_u32(v, (uint32_t)app.n);
}

static pmix_status_t get_app_leader(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct fact_app app;

    if (!x->ops.facts->app(x->host, of->job.of, of->app, &app))
        return PMIX_ERR_NOT_FOUND;
    return info_give_rank(v, (pmix_rank_t)app.first);
}

/* Words with blanks between them; blanks and what a shell minds are not marked. */
static void add_words(const struct fact_app *app, struct buf *out)
{
    for (size_t i = 0; app->argv[i]; i++)
        buf_printf(out, "%s%s", i ? " " : "", app->argv[i]);
}

static pmix_status_t get_app_argv(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct buf text = BUF_INIT;
    struct fact_app app;

    if (!x->ops.facts->app(x->host, of->job.of, of->app, &app))
        return PMIX_ERR_NOT_FOUND;
    add_words(&app, &text);
    return info_give_buf(v, &text);
}

static pmix_status_t get_wdir(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct fact_app app;

    if (!x->ops.facts->app(x->host, of->job.of, of->app, &app))
        return PMIX_ERR_NOT_FOUND;
    return info_give_text(v, app.wdir);
}

/* --- of a job ---------------------------------------------------------- */

static pmix_status_t get_nspace(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    (void)x;
    return info_give_text(v, of->job.nspace);
}

/* Whether a rank is to wait for a debugger at a place of its own; of the job, whether all are:
 * who asks for it in place of a rank would wait in vain. */
static pmix_status_t get_stop(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    bool rank = of->rank < (pmix_rank_t)of->job.size;

    (void)x;
    if (!of->job.stops || (!rank && of->job.stop_ranks))
        return PMIX_ERR_NOT_FOUND;
    v->data.flag = rank_list_has(of->job.stop_ranks, rank ? (int)of->rank : 0);
    return PMIX_SUCCESS;
}

static pmix_status_t get_target(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    (void)x;
    if (!of->job.target || !*of->job.target)
        return PMIX_ERR_NOT_FOUND;
    return info_give_proc(v, of->job.target, PMIX_RANK_WILDCARD);
}

static pmix_status_t get_job_size(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    (void)x;
    return info_give_u32(v, (uint32_t)of->job.size);
}

static pmix_status_t get_napps(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    (void)x;
    return info_give_u32(v, (uint32_t)of->job.napps);
}

static pmix_status_t get_offset(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    (void)x;
    return info_give_rank(v, of->job.offset);
}

static pmix_status_t get_parent(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    (void)x;
    if (!of->job.parent)
        return PMIX_ERR_NOT_FOUND;
    return info_give_proc(v, of->job.parent, (pmix_rank_t)of->job.parent_rank);
}

static pmix_status_t get_spawned(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    (void)x;
    v->data.flag = of->job.parent != NULL;
    return PMIX_SUCCESS;
}

static pmix_status_t get_cmd_line(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct buf text = BUF_INIT;
    struct fact_app app;

    for (int i = 0; x->ops.facts->app(x->host, of->job.of, i, &app); i++) {
        buf_str(&text, i ? " : " : "");
        add_words(&app, &text);
    }
    return info_give_buf(v, &text);
}

static pmix_status_t get_anl_map(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct job *j = job_named(x->server, of->job.nspace);

    return info_give_text(v, j ? job_mapping(j) : NULL);
}

static pmix_status_t get_node_list(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct buf text = BUF_INIT;
    size_t n;
    bool *has = info_nodes(x, &of->job, &n);

    if (!has)
        return PMIX_ERR_NOMEM;
    info_node_names(x, has, n, &text);
    free(has);
    return info_give_buf(v, &text);
}

/* Ranks of each of these nodes: "0,1;2,3". */
static pmix_status_t get_proc_map(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct buf text = BUF_INIT;
    struct info_of there = *of;
    pmix_value_t peers;
    size_t n;
    bool *has = info_nodes(x, &of->job, &n);

    if (!has)
        return PMIX_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        there.node = (int)i;
        if (!has[i] || info_get_local_peers(x, &there, &peers) != PMIX_SUCCESS)
            continue;
        buf_printf(&text, "%s%s", text.len ? ";" : "", peers.data.string);
        free(peers.data.string);
    }
    free(has);
    return info_give_buf(v, &text);
}

/* --- of all ------------------------------------------------------------ */

static pmix_status_t get_allocated(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct buf text = BUF_INIT;
    struct fact_node node;

    (void)of;
    for (int i = 0; x->ops.facts->node(x->host, i, &node); i++)
        buf_printf(&text, "%s%s", i ? "," : "", node.name);
    return info_give_buf(v, &text);
}

static pmix_status_t get_num_allocated(struct ext *x, const struct info_of *of,
                                       pmix_value_t *v)
{
    struct fact_node node;
    uint32_t n = 0;

    (void)of;
    while (x->ops.facts->node(x->host, (int)n, &node))
        n++;
    return info_give_u32(v, n);
}

static pmix_status_t get_num_nodes(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    uint32_t used = 0;
    size_t n;
    bool *has;

    if (of->realm == INFO_SESSION)
        return get_num_allocated(x, of, v);
    has = info_nodes(x, &of->job, &n);
    if (!has)
        return PMIX_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        used += has[i];
    free(has);
    return info_give_u32(v, used);
}

static pmix_status_t get_slots(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct fact_node node;
    uint32_t n = 0;

    for (int i = 0; x->ops.facts->node(x->host, i, &node); i++)
        if (of->realm != INFO_NODE || i == of->node)
            n += (uint32_t)node.slots;
    return info_give_u32(v, n);
}

/* As the user has said (-usize), or all slots; never less than what runs, as slots are no
 * limit. */
static pmix_status_t get_universe(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    struct fact_job j;
    uint32_t ranks = 0;

    if (of->job.of && of->job.universe > 0)
        return info_give_u32(v, (uint32_t)of->job.universe);
    get_slots(x, &(struct info_of){ .realm = INFO_SESSION }, v);
    for (size_t i = 0; x->ops.facts->job(x->host, i, &j); i++)
        ranks += j.target ? 0 : (uint32_t)j.size;
    return info_give_u32(v, ranks > v->data.uint32 ? ranks : v->data.uint32);
}

static pmix_status_t get_uid(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    (void)of;
    return info_give_u32(v, x->server->options.uid);
}

static pmix_status_t get_gid(struct ext *x, const struct info_of *of, pmix_value_t *v)
{
    (void)of;
    return info_give_u32(v, x->server->options.gid);
}

#define RANK     (1u << INFO_RANK)
#define APP      (1u << INFO_APP)
#define NODE     (1u << INFO_NODE)
#define JOB      (1u << INFO_JOB)
#define SESSION  (1u << INFO_SESSION)
#define ALONE    .alone = true
#define SEEN     .seen = true
#define LIST     .list = true

const struct info_key info_keys[] = {
    { PMIX_RANK, RANK, PMIX_PROC_RANK, .get = info_get_rank },
    { PMIX_PROCID, RANK, PMIX_PROC, .get = info_get_procid },
    { PMIX_GLOBAL_RANK, RANK, PMIX_PROC_RANK, .get = info_get_global_rank },
    { PMIX_APP_RANK, RANK, PMIX_PROC_RANK, .get = info_get_app_rank },
    { PMIX_LOCAL_RANK, RANK, PMIX_UINT16, .get = info_get_local_rank },
    { PMIX_NODE_RANK, RANK, PMIX_UINT16, .get = info_get_node_rank },
    { PMIX_PROC_PID, RANK, PMIX_PID, SEEN, .get = info_get_pid },
    { PMIX_PROC_STATE_STATUS, RANK, PMIX_PROC_STATE, SEEN, .get = info_get_state },
    { PMIX_EXIT_CODE, RANK, PMIX_INT, .get = info_get_exit_code },
    { PMIX_REINCARNATION, RANK, PMIX_UINT32, .get = info_get_reincarnation },
    { PMIX_HOSTNAME, RANK | NODE, PMIX_STRING, ALONE, .get = info_get_hostname },
    { PMIX_NODEID, RANK | NODE, PMIX_UINT32, ALONE, .get = info_get_nodeid },
    { PMIX_HOSTNAME_ALIASES, NODE, PMIX_STRING, ALONE, .get = info_get_aliases },
    { PMIX_LOCAL_SIZE, NODE, PMIX_UINT32, .get = info_get_local_size },
    { PMIX_NODE_SIZE, NODE, PMIX_UINT32, ALONE, .get = info_get_node_size },
    { PMIX_LOCAL_PEERS, NODE, PMIX_STRING, LIST, .get = info_get_local_peers },
    { PMIX_LOCAL_PROCS, NODE, PMIX_DATA_ARRAY, ALONE, .get = info_get_local_procs },
    { PMIX_CPUSET, RANK, PMIX_STRING, .get = info_get_cpuset },
    { PMIX_LOCAL_CPUSETS, NODE, PMIX_STRING, .get = info_get_cpusets },
    { PMIX_LOCALLDR, NODE, PMIX_PROC_RANK, .get = info_get_local_leader },
    { PMIX_APPNUM, RANK | APP, PMIX_UINT32, .get = get_appnum },
    { PMIX_APP_SIZE, RANK | APP, PMIX_UINT32, .get = get_app_size },
    { PMIX_APPLDR, RANK | APP, PMIX_PROC_RANK, .get = get_app_leader },
    { PMIX_APP_ARGV, RANK | APP, PMIX_STRING, .get = get_app_argv },
    { PMIX_WDIR, RANK | APP, PMIX_STRING, .get = get_wdir },
    { PMIX_NSPACE, JOB, PMIX_STRING, .get = get_nspace },
    { PMIX_JOBID, JOB, PMIX_STRING, .get = get_nspace },
    { PMIX_JOB_SIZE, JOB, PMIX_UINT32, .get = get_job_size },
    { PMIX_DEBUG_TARGET, JOB, PMIX_PROC, .get = get_target },
    { PMIX_DEBUG_STOP_IN_APP, RANK | JOB, PMIX_BOOL, .get = get_stop },
    { PMIX_JOB_NUM_APPS, JOB, PMIX_UINT32, .get = get_napps },
    { PMIX_NPROC_OFFSET, JOB, PMIX_PROC_RANK, .get = get_offset },
    { PMIX_PARENT_ID, JOB, PMIX_PROC, .get = get_parent },
    { PMIX_SPAWNED, JOB, PMIX_BOOL, .get = get_spawned },
    { PMIX_CMD_LINE, JOB, PMIX_STRING, .get = get_cmd_line },
    { PMIX_ANL_MAP, JOB, PMIX_STRING, .get = get_anl_map },
    { PMIX_NODE_LIST, JOB, PMIX_STRING, .get = get_node_list },
    { PMIX_NODE_MAP, JOB, PMIX_STRING, .get = get_node_list },       /* PMIx_generate_regex */
    { PMIX_NODE_MAP_RAW, JOB, PMIX_STRING, .get = get_node_list },
    { PMIX_PROC_MAP, JOB, PMIX_STRING, .get = get_proc_map },        /* PMIx_generate_ppn */
    { PMIX_PROC_MAP_RAW, JOB, PMIX_STRING, .get = get_proc_map },
    { PMIX_USERID, JOB | SESSION, PMIX_UINT32, ALONE, .get = get_uid },
    { PMIX_GRPID, JOB | SESSION, PMIX_UINT32, ALONE, .get = get_gid },
    { PMIX_NUM_NODES, JOB | SESSION, PMIX_UINT32, .get = get_num_nodes },
    { PMIX_UNIV_SIZE, JOB | SESSION, PMIX_UINT32, ALONE, .get = get_universe },
    { PMIX_MAX_PROCS, JOB | SESSION, PMIX_UINT32, ALONE, .get = get_universe },
    { PMIX_NUM_SLOTS, NODE | JOB | SESSION, PMIX_UINT32, ALONE, .get = get_slots },
    { PMIX_NUM_ALLOCATED_NODES, JOB | SESSION, PMIX_UINT32, ALONE, .get = get_num_allocated },
    { PMIX_ALLOCATED_NODELIST, JOB | SESSION, PMIX_STRING, ALONE, .get = get_allocated },
    { PMIX_PROC_INFO_ARRAY, RANK, PMIX_DATA_ARRAY, SEEN, .get = info_get_rank_array },
    { PMIX_APP_INFO_ARRAY, RANK | APP, PMIX_DATA_ARRAY, .get = info_get_app_array },
    { PMIX_NODE_INFO_ARRAY, NODE, PMIX_DATA_ARRAY, ALONE, .get = info_get_node_array },
    { PMIX_JOB_INFO_ARRAY, JOB, PMIX_DATA_ARRAY, .get = info_get_job_array },
    { PMIX_SESSION_INFO_ARRAY, SESSION, PMIX_DATA_ARRAY, ALONE, .get = info_get_session_array },
    { .key = NULL }
};
