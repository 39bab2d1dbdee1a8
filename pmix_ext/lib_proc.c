/* lib_proc.c - starting, connecting, finding and ending processes; see lib.h */
#include "pmix_ext/lib.h"

#include <stdlib.h>
#include <string.h>

static const struct ask spawn_ask = { "pmix-spawn", "nspace", TAKES_TEXT, 0, NULL };
static const struct ask connect_ask = { "pmix-connect", NULL, TAKES_NOTHING, 0, NULL };
static const struct ask disconnect_ask = { "pmix-disconnect", NULL, TAKES_NOTHING, 0, NULL };
static const struct ask peers_ask = { "pmix-resolve-peers", "procs", TAKES_LIST, PMIX_PROC,
                                      NULL };
static const struct ask nodes_ask = { "pmix-resolve-nodes", "nodes", TAKES_TEXT, 0, NULL };

/* --- spawn ------------------------------------------------------------- */

/* A launcher that a server starts, with directives for it, is told to call us: these wait here
 * until it does (lib_listen.c). */
static pmix_status_t expect_call(const pmix_value_t *directives, const pmix_app_t *app,
                                 pmix_app_t *copy)
{
    char uri[RUNDIR_PATH + 8];
    pmix_status_t status = directives_of(directives) ? listen_uri(uri, sizeof uri)
                                                     : PMIX_ERR_TYPE_MISMATCH;

    *copy = *app;
    copy->env = app->env ? PMIx_Argv_copy(app->env) : NULL;
    if (status == PMIX_SUCCESS && app->env && !copy->env)
        status = PMIX_ERR_NOMEM;
    if (status == PMIX_SUCCESS)
        status = PMIx_Setenv(PMIX_LAUNCHER_RNDZ_URI, uri, false, &copy->env);
    if (status == PMIX_ERR_EXISTS)       /* the caller has seen to it */
        status = PMIX_SUCCESS;
    return status == PMIX_SUCCESS ? PMIx_Store_internal(NULL, PMIX_LAUNCH_DIRECTIVES,
                                                        (pmix_value_t *)(uintptr_t)directives)
                                  : status;
}

static struct op *spawn(const pmix_info_t *infos, size_t ninfo, const pmix_app_t *apps,
                        size_t napps)
{
    const pmix_value_t *v = attr_find(infos, ninfo, PMIX_LAUNCH_DIRECTIVES);
    bool calls = v && apps && napps == 1 && tool_is_launcher(infos, ninfo);
    struct op *op = op_new(&spawn_ask);
    pmix_app_t copy = { .env = NULL };
    const pmix_app_t *sent = apps;

    if (!op)
        return NULL;
    if (op->status == PMIX_SUCCESS && (!apps || !napps))
        op->status = PMIX_ERR_BAD_PARAM;
    if (op->status == PMIX_SUCCESS && calls && !op->link->resident) {
        op->status = expect_call(v, apps, &copy);
        sent = &copy;
    }
    op_array(op, "infos", PMIX_INFO, infos, ninfo);
    op_array(op, "apps", PMIX_APP, sent, napps);
    PMIx_Argv_free(copy.env);
    return op;
}

static void copy_nspace(const struct op *op, pmix_nspace_t nspace)
{
    PMIX_LOAD_NSPACE(nspace, op->text ? op->text : "");
}

/* A tool without a server, or whose server runs no job, with something to start. */
static bool is_alone(const struct op *op, const pmix_app_t *apps, size_t napps)
{
    if (!op || !apps || !napps)
        return false;
    return op->link ? op->link->resident && op->status == PMIX_SUCCESS
                    : op->status == PMIX_ERR_UNREACH;
}

pmix_status_t PMIx_Spawn(const pmix_info_t job_info[], size_t ninfo, const pmix_app_t apps[],
                         size_t napps, pmix_nspace_t nspace)
{
    struct op *op = spawn(job_info, ninfo, apps, napps);
    bool alone = is_alone(op, apps, napps);
    pmix_status_t status = !op ? PMIX_ERR_NOMEM : alone ? PMIX_SUCCESS : op_run(op);

    if (op && nspace)
        copy_nspace(op, nspace);
    op_free(op);
    return alone ? tool_start_launcher(job_info, ninfo, apps, napps, nspace) : status;
}

static void deliver_spawn(struct op *op)
{
    pmix_nspace_t nspace;

    copy_nspace(op, nspace);
    op->cb.spawn(op->status, nspace, op->cbdata);
    op_free(op);
}

pmix_status_t PMIx_Spawn_nb(const pmix_info_t job_info[], size_t ninfo, const pmix_app_t apps[],
                            size_t napps, pmix_spawn_cbfunc_t cbfunc, void *cbdata)
{
    struct op *op;

    if (!cbfunc)
        return PMIX_ERR_BAD_PARAM;
    op = spawn(job_info, ninfo, apps, napps);
    if (is_alone(op, apps, napps)) {
        op_free(op);
        return tool_post_launcher(job_info, ninfo, apps, napps, cbfunc, cbdata);
    }
    if (op)
        op->cb.spawn = cbfunc;
    return op_post(op, deliver_spawn, cbdata);
}

/* --- connect ----------------------------------------------------------- */

static struct op *connection(const struct ask *ask, const pmix_proc_t *procs, size_t nprocs,
                             const pmix_info_t *infos, size_t ninfo)
{
    struct op *op = op_new(ask);

    if (!op)
        return NULL;
    if (op->status == PMIX_SUCCESS && (!procs || !nprocs))
        op->status = PMIX_ERR_BAD_PARAM;
    op_array(op, "procs", PMIX_PROC, procs, nprocs);
    op_array(op, "infos", PMIX_INFO, infos, ninfo);
    return op;
}

pmix_status_t PMIx_Connect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                           size_t ninfo)
{
    return op_run_new(connection(&connect_ask, procs, nprocs, info, ninfo));
}

pmix_status_t PMIx_Connect_nb(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                              size_t ninfo, pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    return op_post_op(connection(&connect_ask, procs, nprocs, info, ninfo), cbfunc, cbdata);
}

pmix_status_t PMIx_Disconnect(const pmix_proc_t procs[], size_t nprocs,
                              const pmix_info_t info[], size_t ninfo)
{
    return op_run_new(connection(&disconnect_ask, procs, nprocs, info, ninfo));
}

pmix_status_t PMIx_Disconnect_nb(const pmix_proc_t procs[], size_t nprocs,
                                 const pmix_info_t info[], size_t ninfo,
                                 pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    return op_post_op(connection(&disconnect_ask, procs, nprocs, info, ninfo), cbfunc, cbdata);
}

/* --- resolve ----------------------------------------------------------- */

pmix_status_t PMIx_Resolve_peers(const char *nodename, const pmix_nspace_t nspace,
                                 pmix_proc_t **procs, size_t *nprocs)
{
    pmix_status_t status;
    struct op op;

    if (!procs || !nprocs)
        return PMIX_ERR_BAD_PARAM;
    op_start(&op, &peers_ask);
    op_text(&op, "node", nodename);
    op_text(&op, "nspace", nspace);
    status = op_run(&op);
    *procs = op.array;
    *nprocs = op.n;
    op.array = NULL;
    op_end(&op);
    return status;
}

pmix_status_t PMIx_Resolve_nodes(const pmix_nspace_t nspace, char **nodelist)
{
    pmix_status_t status;
    struct op op;

    if (!nodelist)
        return PMIX_ERR_BAD_PARAM;
    op_start(&op, &nodes_ask);
    op_text(&op, "nspace", nspace);
    status = op_run(&op);
    *nodelist = op.text;
    op.text = NULL;
    op_end(&op);
    return status;
}

/* --- abort ------------------------------------------------------------- */

/* Whether these are all ranks of the job that this rank is of. */
static bool is_own_job(const pmix_proc_t *procs, size_t n, const struct link *l)
{
    for (size_t i = 0; i < n; i++)
        if (!PMIX_CHECK_NSPACE(procs[i].nspace, l->me.nspace) ||
            procs[i].rank != PMIX_RANK_WILDCARD)
            return false;
    return true;
}

static pmix_status_t kill_procs(const pmix_proc_t *procs, size_t n)
{
    pmix_info_t kill;
    pmix_status_t status;

    PMIX_INFO_LOAD(&kill, PMIX_JOB_CTRL_KILL, NULL, PMIX_BOOL);
    status = PMIx_Job_control(procs, n, &kill, 1, NULL, NULL);
    PMIX_INFO_DESTRUCT(&kill);
    return status;
}

/* The job ends, and this process with it: what it calls from now on fails. */
static pmix_status_t abort_job(struct link *l, int status, const char *msg)
{
    bool up = client_state(&l->client) == CLIENT_UP;

    client_abort(&l->client, true, status, msg);
    return up ? PMIX_SUCCESS : PMIX_ERR_UNREACH;
}

pmix_status_t PMIx_Abort(int status, const char msg[], pmix_proc_t procs[], size_t nprocs)
{
    struct link *l = link_primary();
    pmix_status_t said;

    if (!l)
        return lib_begun() ? PMIX_ERR_UNREACH : PMIX_ERR_INIT;
    if (nprocs && !procs)
        said = PMIX_ERR_BAD_PARAM;
    else if (l->rank && is_own_job(procs, nprocs, l))
        said = abort_job(l, status, msg);
    else
        said = nprocs ? kill_procs(procs, nprocs) : PMIX_ERR_NOT_SUPPORTED;
    link_drop(l);
    return said;
}
