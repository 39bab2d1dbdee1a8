/* pmix_waits - a tool whose calls wait when its server is gone: each must end.
 *
 * pmix_waits NSPACE: 16 threads wait for a value of rank 0 of that job that nobody puts, and
 * so do as many callbacks; says "waiting" when all of them do, and "ok" when all have ended
 * with PMIX_ERR_LOST_CONNECTION, a handler has heard of it, and new calls fail at once. */
#include <pmix_tool.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 16 };

static atomic_int lost, heard, others;
static pmix_proc_t rank0;

static void count(pmix_status_t status)
{
    if (status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_UNREACH)
        lost++;
    else if (!others++)
        printf("a call ended with %s\n", PMIx_Error_string(status));
}

static void *wait_for(void *unused)
{
    pmix_value_t *v;

    count(PMIx_Get(&rank0, "nobody puts this", NULL, 0, &v));
    return unused;
}

static void on_value(pmix_status_t status, pmix_value_t *v, void *cbdata)
{
    (void)v;
    (void)cbdata;
    count(status);
}

static void on_lost(size_t id, pmix_status_t status, const pmix_proc_t *source,
                    pmix_info_t info[], size_t ninfo, pmix_info_t *results, size_t nresults,
                    pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    heard += status == PMIX_ERR_LOST_CONNECTION;
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static int fail(const char *what, pmix_status_t rc)
{
    printf("%s: %s\n", what, PMIx_Error_string(rc));
    return 1;
}

int main(int argc, char **argv)
{
    pmix_status_t code = PMIX_ERR_LOST_CONNECTION, rc;
    pthread_t t[THREADS];
    pmix_proc_t me;
    pmix_value_t *v;

    rc = PMIx_tool_init(&me, NULL, 0);
    if (rc != PMIX_SUCCESS)
        return fail("init", rc);
    PMIX_LOAD_PROCID(&rank0, argc > 1 ? argv[1] : "job", 0);
    rc = PMIx_Register_event_handler(&code, 1, NULL, 0, on_lost, NULL, NULL);
    if (rc < 0)
        return fail("register", rc);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&t[i], NULL, wait_for, NULL);
        rc = PMIx_Get_nb(&rank0, "nobody puts this", NULL, 0, on_value, NULL);
        if (rc != PMIX_SUCCESS)
            return fail("get", rc);
    }
    printf("waiting\n");
    fflush(stdout);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    while (lost + others < 2 * THREADS || !heard)
        usleep(1000);
    rc = PMIx_Get(&rank0, "another", NULL, 0, &v);
    if (rc != PMIX_ERR_UNREACH)
        return fail("a call after it", rc);
    rc = PMIx_tool_finalize();
    if (rc != PMIX_SUCCESS || others)
        return fail("end", rc);
    printf("ok\n");
    return 0;
}
