/* lib_ask.c - log, control of jobs, allocations and monitoring; see lib.h */
#include "pmix_ext/lib.h"

static const struct ask log_ask = { "pmix-log", NULL, TAKES_NOTHING, 0, NULL };
static const struct ask control_ask = { "pmix-job-control", "results", TAKES_LIST, PMIX_INFO,
                                        NULL };
static const struct ask alloc_ask = { "pmix-alloc", "results", TAKES_LIST, PMIX_INFO, NULL };
static const struct ask monitor_ask = { "pmix-monitor", "results", TAKES_LIST, PMIX_INFO, NULL };
static const struct ask heartbeat_ask = { "pmix-heartbeat", NULL, TAKES_NOTHING, 0, NULL };

/* Run an op whose result is infos, and free it. */
static pmix_status_t take_infos(struct op *op, pmix_info_t **results, size_t *n)
{
    pmix_status_t status = op ? op_run(op) : PMIX_ERR_NOMEM;

    if (results)
        *results = NULL;
    if (n)
        *n = 0;
    if (!op)
        return status;
    if (results && n) {
        *results = op->array;
        *n = op->n;
        op->array = NULL;
    }
    op_free(op);
    return status;
}

static pmix_status_t post_infos(struct op *op, pmix_info_cbfunc_t cbfunc, void *cbdata)
{
    if (op)
        op->cb.info = cbfunc;
    return op_post(op, deliver_info, cbdata);
}

/* --- log --------------------------------------------------------------- */

static void add_log(struct op *op, const pmix_info_t *data, size_t ndata,
                    const pmix_info_t *directives, size_t ndirs)
{
    if (op->status == PMIX_SUCCESS && (!data || !ndata))
        op->status = PMIX_ERR_BAD_PARAM;
    op_array(op, "data", PMIX_INFO, data, ndata);
    op_array(op, "directives", PMIX_INFO, directives, ndirs);
}

pmix_status_t PMIx_Log(const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                       size_t ndirs)
{
    struct op op;

    op_start(&op, &log_ask);
    add_log(&op, data, ndata, directives, ndirs);
    return op_do(&op);
}

pmix_status_t PMIx_Log_nb(const pmix_info_t data[], size_t ndata,
                          const pmix_info_t directives[], size_t ndirs,
                          pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    struct op *op = op_new(&log_ask);

    if (op)
        add_log(op, data, ndata, directives, ndirs);
    return op_post_op(op, cbfunc, cbdata);
}

/* --- control ----------------------------------------------------------- */

static struct op *control(const pmix_proc_t *targets, size_t ntargets,
                          const pmix_info_t *directives, size_t ndirs)
{
    struct op *op = op_new(&control_ask);

    if (!op)
        return NULL;
    if (op->status == PMIX_SUCCESS && (!directives || !ndirs))
        op->status = PMIX_ERR_BAD_PARAM;
    op_array(op, "targets", PMIX_PROC, targets, ntargets);
    op_array(op, "directives", PMIX_INFO, directives, ndirs);
    return op;
}

pmix_status_t PMIx_Job_control(const pmix_proc_t targets[], size_t ntargets,
                               const pmix_info_t directives[], size_t ndirs,
                               pmix_info_t **results, size_t *nresults)
{
    return take_infos(control(targets, ntargets, directives, ndirs), results, nresults);
}

pmix_status_t PMIx_Job_control_nb(const pmix_proc_t targets[], size_t ntargets,
                                  const pmix_info_t directives[], size_t ndirs,
                                  pmix_info_cbfunc_t cbfunc, void *cbdata)
{
    return post_infos(control(targets, ntargets, directives, ndirs), cbfunc, cbdata);
}

/* --- allocations ------------------------------------------------------- */

static struct op *allocate(pmix_alloc_directive_t directive, const pmix_info_t *info, size_t ninfo)
{
    struct op *op = op_new(&alloc_ask);

    if (!op)
        return NULL;
    op_number(op, "directive", directive);
    op_array(op, "infos", PMIX_INFO, info, ninfo);
    return op;
}

pmix_status_t PMIx_Allocation_request(pmix_alloc_directive_t directive, pmix_info_t *info,
                                      size_t ninfo, pmix_info_t **results, size_t *nresults)
{
    return take_infos(allocate(directive, info, ninfo), results, nresults);
}

pmix_status_t PMIx_Allocation_request_nb(pmix_alloc_directive_t directive, pmix_info_t *info,
                                         size_t ninfo, pmix_info_cbfunc_t cbfunc, void *cbdata)
{
    return post_infos(allocate(directive, info, ninfo), cbfunc, cbdata);
}

/* --- monitoring -------------------------------------------------------- */

static struct op *watch(const pmix_info_t *monitor, pmix_status_t error,
                        const pmix_info_t *directives, size_t ndirs)
{
    struct op *op = op_new(&monitor_ask);

    if (!op)
        return NULL;
    op_one(op, "monitor", PMIX_INFO, monitor);
    op_number(op, "error", error);
    op_array(op, "directives", PMIX_INFO, directives, ndirs);
    return op;
}

pmix_status_t PMIx_Process_monitor(const pmix_info_t *monitor, pmix_status_t error,
                                   const pmix_info_t directives[], size_t ndirs,
                                   pmix_info_t **results, size_t *nresults)
{
    if (!monitor)
        return PMIX_ERR_BAD_PARAM;
    return take_infos(watch(monitor, error, directives, ndirs), results, nresults);
}

pmix_status_t PMIx_Process_monitor_nb(const pmix_info_t *monitor, pmix_status_t error,
                                      const pmix_info_t directives[], size_t ndirs,
                                      pmix_info_cbfunc_t cbfunc, void *cbdata)
{
    if (!monitor)
        return PMIX_ERR_BAD_PARAM;
    return post_infos(watch(monitor, error, directives, ndirs), cbfunc, cbdata);
}

/* Nobody waits, and nobody is told. */
void PMIx_Heartbeat(void)
{
    op_post_op(op_new(&heartbeat_ask), NULL, NULL);
}
