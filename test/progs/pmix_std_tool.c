/* pmix_std_tool - a tool as anyone would write it to the PMIx standard 4.2: nothing in it
 * is of this project, and it compiles against pmix_ext.h and against libpmix alike.
 *
 * pmix_std_tool [ps|get|log|events|spawn PROGRAM...|output NSPACE|kill NSPACE]
 * Exits with 0, or 1 and the name of the status on stderr. */
#include <pmix_tool.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a callback tells the thread that waits for it. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int done;
    pmix_status_t status;
    pmix_info_t *info;
    size_t ninfo;
    pmix_nspace_t nspace;
} waiter_t;

static pmix_proc_t myproc = PMIX_PROC_STATIC_INIT;

static void waiter_init(waiter_t *w)
{
    memset(w, 0, sizeof(*w));
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->cond, NULL);
}

static void waiter_wake(waiter_t *w, pmix_status_t status)
{
    pthread_mutex_lock(&w->mutex);
    w->status = status;
    w->done = 1;
    pthread_cond_signal(&w->cond);
    pthread_mutex_unlock(&w->mutex);
}

static pmix_status_t waiter_wait(waiter_t *w)
{
    pthread_mutex_lock(&w->mutex);
    while (!w->done) {
        pthread_cond_wait(&w->cond, &w->mutex);
    }
    pthread_mutex_unlock(&w->mutex);
    return w->status;
}

static int failed(const char *what, pmix_status_t rc)
{
    fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(rc));
    return 1;
}

/* --- query ----------------------------------------------------------------------- */

static void info_cb(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *cbdata,
                    pmix_release_cbfunc_t release_fn, void *release_cbdata)
{
    waiter_t *w = (waiter_t *)cbdata;
    size_t n;

    if (0 < ninfo) {
        PMIX_INFO_CREATE(w->info, ninfo);
        w->ninfo = ninfo;
        for (n = 0; n < ninfo; n++) {
            PMIX_INFO_XFER(&w->info[n], &info[n]);
        }
    }
    if (NULL != release_fn) {
        release_fn(release_cbdata);
    }
    waiter_wake(w, status);
}

static int show_table(const char *nspace)
{
    pmix_query_t *query;
    pmix_info_t *results;
    size_t nresults, n, i;
    pmix_status_t rc;

    PMIX_QUERY_CREATE(query, 1);
    PMIX_ARGV_APPEND(rc, query[0].keys, PMIX_QUERY_PROC_TABLE);
    PMIX_QUERY_QUALIFIERS_CREATE(&query[0], 1);
    PMIX_INFO_LOAD(&query[0].qualifiers[0], PMIX_NSPACE, nspace, PMIX_STRING);
    rc = PMIx_Query_info(query, 1, &results, &nresults);
    PMIX_QUERY_FREE(query, 1);
    if (PMIX_SUCCESS != rc) {
        return failed("PMIx_Query_info", rc);
    }
    for (n = 0; n < nresults; n++) {
        pmix_data_array_t *table = results[n].value.data.darray;
        pmix_proc_info_t *row;

        if (!PMIX_CHECK_KEY(&results[n], PMIX_QUERY_PROC_TABLE) ||
            PMIX_DATA_ARRAY != results[n].value.type || PMIX_PROC_INFO != table->type) {
            continue;
        }
        row = (pmix_proc_info_t *)table->array;
        for (i = 0; i < table->size; i++) {
            printf("%s %u %s %d %s %s\n", row[i].proc.nspace, row[i].proc.rank,
                   row[i].hostname, (int)row[i].pid, row[i].executable_name,
                   PMIx_Proc_state_string(row[i].state));
        }
    }
    PMIX_INFO_FREE(results, nresults);
    return 0;
}

static int ps(void)
{
    pmix_query_t query = PMIX_QUERY_STATIC_INIT;
    waiter_t w;
    char **nspaces = NULL, **p;
    pmix_status_t rc;
    int bad = 0;

    waiter_init(&w);
    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_NAMESPACES);
    rc = PMIx_Query_info_nb(&query, 1, info_cb, &w);
    if (PMIX_SUCCESS == rc) {
        rc = waiter_wait(&w);
    }
    PMIX_QUERY_DESTRUCT(&query);
    if (PMIX_SUCCESS != rc || 0 == w.ninfo) {
        return failed("PMIx_Query_info_nb", rc);
    }
    if (PMIX_STRING == w.info[0].value.type) {
        PMIX_ARGV_SPLIT(nspaces, w.info[0].value.data.string, ',');
    }
    for (p = nspaces; NULL != p && NULL != *p; p++) {
        bad |= show_table(*p);
    }
    PMIX_ARGV_FREE(nspaces);
    PMIX_INFO_FREE(w.info, w.ninfo);
    return bad;
}

/* The size of this tool's own job, with a time-out that must be kept. */
static int get(void)
{
    pmix_info_t info;
    pmix_value_t *val = NULL;
    pmix_proc_t job;
    pmix_status_t rc;
    uint32_t size = 0;
    int limit = 10;

    PMIX_LOAD_PROCID(&job, myproc.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &limit, PMIX_INT);
    PMIX_INFO_REQUIRED(&info);
    rc = PMIx_Get(&job, PMIX_JOB_SIZE, &info, 1, &val);
    PMIX_INFO_DESTRUCT(&info);
    if (PMIX_SUCCESS != rc) {
        return failed("PMIx_Get", rc);
    }
    PMIX_VALUE_GET_NUMBER(rc, val, size, uint32_t);
    PMIX_VALUE_RELEASE(val);
    if (PMIX_SUCCESS != rc) {
        return failed("PMIX_JOB_SIZE", rc);
    }
    printf("%u\n", size);
    return 0;
}

/* --- log -------------------------------------------------------------------------- */

static int say(void)
{
    pmix_info_t *data, directive;
    pmix_status_t rc;
    bool once = true;

    PMIX_INFO_CREATE(data, 2);
    PMIX_INFO_LOAD(&data[0], PMIX_LOG_STDERR, "said by a tool\n", PMIX_STRING);
    PMIX_INFO_LOAD(&data[1], PMIX_LOG_SYSLOG, "said by a tool", PMIX_STRING);
    PMIX_INFO_LOAD(&directive, PMIX_LOG_ONCE, &once, PMIX_BOOL);
    rc = PMIx_Log(data, 2, &directive, 1);
    PMIX_INFO_FREE(data, 2);
    PMIX_INFO_DESTRUCT(&directive);
    return PMIX_SUCCESS == rc ? 0 : failed("PMIx_Log", rc);
}

/* --- events ------------------------------------------------------------------------ */

static waiter_t job_end;

static void handler(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t *results, size_t nresults,
                    pmix_event_notification_cbfunc_fn_t cbfunc, void *cbdata)
{
    size_t n;

    (void)id;
    (void)results;
    (void)nresults;
    printf("%s from %s:%u\n", PMIx_Error_string(status), source->nspace, source->rank);
    for (n = 0; n < ninfo; n++) {
        if (PMIX_CHECK_KEY(&info[n], PMIX_EVENT_AFFECTED_PROC)) {
            printf("  of rank %u\n", info[n].value.data.proc->rank);
        }
    }
    if (NULL != cbfunc) {
        cbfunc(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
    }
    waiter_wake(&job_end, status);
}

static void reg_cb(pmix_status_t status, size_t refid, void *cbdata)
{
    (void)refid;
    waiter_wake((waiter_t *)cbdata, status);
}

static pmix_status_t watch(void)
{
    pmix_status_t codes[] = {PMIX_EVENT_JOB_END, PMIX_ERR_PROC_ABORTED_BY_SIG,
                             PMIX_ERR_LOST_CONNECTION};
    pmix_info_t info;
    waiter_t w;

    waiter_init(&w);
    waiter_init(&job_end);
    PMIX_INFO_LOAD(&info, PMIX_EVENT_HDLR_NAME, "ends", PMIX_STRING);
    PMIx_Register_event_handler(codes, sizeof(codes) / sizeof(codes[0]), &info, 1, handler,
                                reg_cb, &w);
    waiter_wait(&w);
    PMIX_INFO_DESTRUCT(&info);
    return w.status;
}

static int events(void)
{
    pmix_status_t rc = watch();

    if (PMIX_SUCCESS != rc) {
        return failed("PMIx_Register_event_handler", rc);
    }
    rc = PMIx_Notify_event(PMIX_EXTERNAL_ERR_BASE - 1, &myproc, PMIX_RANGE_SESSION, NULL, 0,
                           NULL, NULL);
    if (PMIX_SUCCESS != rc && PMIX_OPERATION_SUCCEEDED != rc) {
        return failed("PMIx_Notify_event", rc);
    }
    waiter_wait(&job_end);
    return 0;
}

/* --- spawn, output, control ---------------------------------------------------------- */

static void output_cb(size_t iofhdlr, pmix_iof_channel_t channel, pmix_proc_t *source,
                      pmix_byte_object_t *payload, pmix_info_t info[], size_t ninfo)
{
    (void)iofhdlr;
    (void)info;
    (void)ninfo;
    if (NULL != payload && 0 < payload->size) {
        printf("[%u %s] %.*s", source->rank, PMIx_IOF_channel_string(channel),
               (int)payload->size, payload->bytes);
    }
}

static int output(const char *nspace)
{
    pmix_proc_t all;
    pmix_status_t rc;

    PMIX_PROC_LOAD(&all, nspace, PMIX_RANK_WILDCARD);
    rc = watch();
    if (PMIX_SUCCESS == rc) {
        rc = PMIx_IOF_pull(&all, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL,
                           output_cb, NULL, NULL);
    }
    if (0 > rc) {
        return failed("PMIx_IOF_pull", rc);
    }
    waiter_wait(&job_end);
    return 0;
}

static int spawn(char **argv)
{
    void *list;
    pmix_data_array_t infos;
    pmix_app_t *app;
    pmix_nspace_t nspace;
    pmix_status_t rc;
    bool yes = true;

    PMIX_INFO_LIST_START(list);
    PMIX_INFO_LIST_ADD(rc, list, PMIX_NOTIFY_COMPLETION, &yes, PMIX_BOOL);
    PMIX_INFO_LIST_ADD(rc, list, PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
    PMIX_INFO_LIST_CONVERT(rc, list, &infos);
    PMIX_INFO_LIST_RELEASE(list);
    PMIX_APP_CREATE(app, 1);
    app[0].cmd = strdup(argv[0]);
    PMIX_ARGV_COPY(app[0].argv, argv);
    app[0].maxprocs = 2;
    PMIX_SETENV(rc, "STD_TOOL", "1", &app[0].env);
    PMIX_APP_INFO_CREATE(&app[0], 1);
    PMIX_INFO_LOAD(&app[0].info[0], PMIX_WDIR, "/", PMIX_STRING);
    rc = PMIx_Spawn((pmix_info_t *)infos.array, infos.size, app, 1, nspace);
    PMIX_DATA_ARRAY_DESTRUCT(&infos);
    PMIX_APP_FREE(app, 1);
    if (PMIX_SUCCESS != rc) {
        return failed("PMIx_Spawn", rc);
    }
    printf("%s\n", nspace);
    return 0;
}

static int end_job(const char *nspace)
{
    pmix_proc_t *target;
    pmix_info_t directive, *results = NULL;
    size_t nresults = 0;
    pmix_status_t rc;

    PMIX_PROC_CREATE(target, 1);
    PMIX_LOAD_NSPACE(target->nspace, nspace);
    target->rank = PMIX_RANK_WILDCARD;
    PMIX_INFO_LOAD(&directive, PMIX_JOB_CTRL_KILL, NULL, PMIX_BOOL);
    rc = PMIx_Job_control(target, 1, &directive, 1, &results, &nresults);
    PMIX_PROC_FREE(target, 1);
    PMIX_INFO_DESTRUCT(&directive);
    if (NULL != results) {
        PMIX_INFO_FREE(results, nresults);
    }
    return PMIX_SUCCESS == rc || PMIX_OPERATION_SUCCEEDED == rc ? 0
                                                                : failed("PMIx_Job_control", rc);
}

static int run(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "ps";

    if (0 == strcmp(what, "get")) {
        return get();
    }
    if (0 == strcmp(what, "log")) {
        return say();
    }
    if (0 == strcmp(what, "events")) {
        return events();
    }
    if (0 == strcmp(what, "spawn") && argc > 2) {
        return spawn(argv + 2);
    }
    if (0 == strcmp(what, "output") && argc > 2) {
        return output(argv[2]);
    }
    if (0 == strcmp(what, "kill") && argc > 2) {
        return end_job(argv[2]);
    }
    return ps();
}

int main(int argc, char **argv)
{
    pmix_info_t info[2];
    pmix_status_t rc;
    bool first = true;
    int bad;

    PMIX_INFO_LOAD(&info[0], PMIX_CONNECT_SYSTEM_FIRST, &first, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TOOL_CONNECT_OPTIONAL, NULL, PMIX_BOOL);
    PMIX_INFO_OPTIONAL(&info[1]);
    rc = PMIx_tool_init(&myproc, info, 2);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    if (PMIX_SUCCESS != rc) {
        return failed("PMIx_tool_init", rc);
    }
    bad = run(argc, argv);
    rc = PMIx_tool_finalize();
    return bad ? bad : PMIX_SUCCESS == rc ? 0 : failed("PMIx_tool_finalize", rc);
}
