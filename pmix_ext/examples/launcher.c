/* launcher.c - start a program beside a job that runs, show what it writes, and end as it did.
 *
 *     cc -o launcher launcher.c $(pkg-config --cflags --libs mpiexec_lite-pmix)
 *     ./launcher 4 hostname
 *
 * All names are the PMIx standard's. */
#include <pmix_tool.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t  here;
    bool            is_here;
    int             code;
} end = { .lock = PTHREAD_MUTEX_INITIALIZER, .here = PTHREAD_COND_INITIALIZER, .code = 1 };

/* On the library's thread. */
static void on_end(size_t id, pmix_status_t status, const pmix_proc_t *source,
                   pmix_info_t info[], size_t ninfo, pmix_info_t *results, size_t nresults,
                   pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    (void)id;
    (void)status;
    (void)source;
    (void)results;
    (void)nresults;
    pthread_mutex_lock(&end.lock);
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE))
            end.code = info[i].value.data.integer;
    end.is_here = true;
    pthread_cond_signal(&end.here);
    pthread_mutex_unlock(&end.lock);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static pmix_status_t start(int n, char **argv, pmix_nspace_t nspace)
{
    pmix_info_t forward[2];
    pmix_app_t *app;
    pmix_status_t rc;

    PMIX_APP_CREATE(app, 1);
    app->cmd = strdup(argv[0]);
    PMIX_ARGV_COPY(app->argv, argv);
    app->maxprocs = n;
    PMIX_INFO_LOAD(&forward[0], PMIX_FWD_STDOUT, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&forward[1], PMIX_FWD_STDERR, NULL, PMIX_BOOL);
    rc = PMIx_Spawn(forward, 2, app, 1, nspace);
    PMIX_APP_FREE(app, 1);
    return rc;
}

/* Before all else: a server that has gone says nothing of a job's end. */
static void watch_server(void)
{
    pmix_status_t code = PMIX_ERR_LOST_CONNECTION;

    PMIx_Register_event_handler(&code, 1, NULL, 0, on_end, NULL, NULL);
}

/* A job that has ended by now is told of as well.  Without a callback it is done when it
 * returns: a number of ours, or what is wrong. */
static pmix_status_t wait_end(const char *nspace)
{
    pmix_status_t code = PMIX_EVENT_JOB_END, rc;
    pmix_proc_t job;
    pmix_info_t which;

    PMIX_PROC_LOAD(&job, nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&which, PMIX_EVENT_AFFECTED_PROC, &job, PMIX_PROC);
    rc = PMIx_Register_event_handler(&code, 1, &which, 1, on_end, NULL, NULL);
    PMIX_INFO_DESTRUCT(&which);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&end.lock);
    while (!end.is_here)
        pthread_cond_wait(&end.here, &end.lock);
    pthread_mutex_unlock(&end.lock);
    return PMIX_SUCCESS;
}

int main(int argc, char **argv)
{
    pmix_nspace_t nspace;
    pmix_proc_t me;
    pmix_status_t rc;
    long ranks = 0;
    char *rest = "";

    if (argc >= 3)
        ranks = strtol(argv[1], &rest, 10);
    if (*rest || ranks < 1 || ranks > 1000000) {
        fprintf(stderr, "usage: launcher RANKS PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    rc = PMIx_tool_init(&me, NULL, 0);
    if (rc == PMIX_SUCCESS) {
        watch_server();
        rc = start((int)ranks, argv + 2, nspace);
    }
    if (rc == PMIX_SUCCESS)
        rc = wait_end(nspace);
    if (rc != PMIX_SUCCESS) {
        fprintf(stderr, "launcher: %s\n", PMIx_Error_string(rc));
        return 1;
    }
    PMIx_tool_finalize();
    return end.code;
}
