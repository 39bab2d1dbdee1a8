/* rfc0010.c - the example of RFC0010: which processes are on these two nodes, of any job?
 * The key PMIX_LOCAL_PROCS is asked with the qualifier PMIX_NODEID twice, and the answers
 * come merged into one array.
 *
 *     cc -o rfc0010 rfc0010.c $(pkg-config --cflags --libs mpiexec_lite-pmix)
 *     ./rfc0010 5 7
 *
 * All names are the PMIx standard's. */
#include <pmix_tool.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct answer {
    pthread_mutex_t lock;
    pthread_cond_t  here;
    bool            is_here;
    pmix_status_t   status;
};

static void print_procs(const pmix_info_t *info)
{
    const pmix_data_array_t *a = info->value.type == PMIX_DATA_ARRAY ? info->value.data.darray
                                                                     : NULL;
    const pmix_proc_t *procs = a && a->type == PMIX_PROC ? a->array : NULL;

    for (size_t i = 0; procs && i < a->size; i++)
        printf("%s %u\n", procs[i].nspace, procs[i].rank);
}

/* On the library's thread. */
static void on_answer(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *cbdata,
                      pmix_release_cbfunc_t release, void *release_cbdata)
{
    struct answer *a = cbdata;

    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_LOCAL_PROCS))
            print_procs(&info[i]);
    if (release)
        release(release_cbdata);
    pthread_mutex_lock(&a->lock);
    a->status = status;
    a->is_here = true;
    pthread_cond_signal(&a->here);
    pthread_mutex_unlock(&a->lock);
}

static pmix_status_t ask(char **nodes, size_t n)
{
    struct answer a = { .lock = PTHREAD_MUTEX_INITIALIZER, .here = PTHREAD_COND_INITIALIZER };
    pmix_query_t *query;
    pmix_status_t rc;

    PMIX_QUERY_CREATE(query, 1);
    PMIX_ARGV_APPEND(rc, query->keys, PMIX_LOCAL_PROCS);
    PMIX_QUERY_QUALIFIERS_CREATE(query, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t id = (uint32_t)strtoul(nodes[i], NULL, 10);

        PMIX_INFO_LOAD(&query->qualifiers[i], PMIX_NODEID, &id, PMIX_UINT32);
    }
    rc = PMIx_Query_info_nb(query, 1, on_answer, &a);
    if (rc == PMIX_SUCCESS) {
        pthread_mutex_lock(&a.lock);
        while (!a.is_here)
            pthread_cond_wait(&a.here, &a.lock);
        pthread_mutex_unlock(&a.lock);
        rc = a.status;
    }
    PMIX_QUERY_FREE(query, 1);
    return rc;
}

int main(int argc, char **argv)
{
    pmix_proc_t me;
    pmix_status_t rc = PMIx_tool_init(&me, NULL, 0);

    if (rc != PMIX_SUCCESS) {
        fprintf(stderr, "PMIx_tool_init: %s\n", PMIx_Error_string(rc));
        return 1;
    }
    rc = ask(argv + 1, (size_t)argc - 1);
    if (rc != PMIX_SUCCESS)
        fprintf(stderr, "PMIx_Query_info_nb: %s\n", PMIx_Error_string(rc));
    PMIx_tool_finalize();
    return rc == PMIX_SUCCESS ? 0 : 1;
}
