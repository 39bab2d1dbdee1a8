/* pmix_alloc.c - a rank that asks for queues and allocations by PMIx_Query_info and
 * PMIx_Allocation_request[_nb]: for the tests under a real Slurm.
 *
 *     pmix_alloc queues | new [keep | wait=SECONDS] | extend [ID] | life
 *
 * Prints one line for each answer: a key and its value, or "status NUMBER".  life: new, by _nb,
 * released again.  A last word "stay": it ends with its stdin. */
#include <pmix.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(const pmix_info_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (v[i].value.type) {
        case PMIX_STRING:
            printf("%s %s\n", v[i].key, v[i].value.data.string);
            break;
        case PMIX_UINT32:
            printf("%s %u\n", v[i].key, v[i].value.data.uint32);
            break;
        case PMIX_UINT64:
            printf("%s %llu\n", v[i].key, (unsigned long long)v[i].value.data.uint64);
            break;
        case PMIX_BOOL:
            printf("%s %d\n", v[i].key, v[i].value.data.flag);
            break;
        case PMIX_DATA_ARRAY:
            show(v[i].value.data.darray->array, v[i].value.data.darray->size);
            break;
        default:
            printf("%s of type %d\n", v[i].key, v[i].value.type);
        }
}

static pmix_status_t queues(void)
{
    char *keys[] = { (char *)PMIX_QUERY_QUEUE_LIST, (char *)PMIX_QUERY_QUEUE_STATUS, NULL };
    pmix_query_t query = { keys, NULL, 0 };
    pmix_info_t *results = NULL;
    size_t n = 0;
    pmix_status_t rc = PMIx_Query_info(&query, 1, &results, &n);

    show(results, n);
    PMIX_INFO_FREE(results, n);
    return rc;
}

static pmix_status_t ask(pmix_alloc_directive_t what, const char *id, bool keep, int patience)
{
    uint32_t seconds = 120;
    uint64_t nodes = 2;
    pmix_info_t v[5], *results = NULL;
    size_t n = 0, nresults = 0;
    pmix_status_t rc;

    PMIX_INFO_LOAD(&v[n], PMIX_ALLOC_TIME, &seconds, PMIX_UINT32);
    n++;
    if (what == PMIX_ALLOC_NEW) {
        PMIX_INFO_LOAD(&v[n], PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
        n++;
        PMIX_INFO_LOAD(&v[n], "lite.alloc.keep", &keep, PMIX_BOOL);
        n++;
    }
    PMIX_INFO_LOAD(&v[n], PMIX_TIMEOUT, &patience, PMIX_INT);
    n++;
    if (id) {
        PMIX_INFO_LOAD(&v[n], PMIX_ALLOC_ID, id, PMIX_STRING);
        n++;
    }
    rc = PMIx_Allocation_request(what, v, n, &results, &nresults);
    show(results, nresults);
    PMIX_INFO_FREE(results, nresults);
    return rc;
}

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t  came;
    bool            done;
    pmix_status_t   status;
    char            id[32];
};

static void on_alloc(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *cbdata,
                     pmix_release_cbfunc_t release, void *release_cbdata)
{
    struct waiter *w = cbdata;

    pthread_mutex_lock(&w->lock);
    show(info, ninfo);
    if (ninfo && info[0].value.type == PMIX_STRING)
        snprintf(w->id, sizeof w->id, "%s", info[0].value.data.string);
    w->status = status;
    w->done = true;
    pthread_cond_signal(&w->came);
    pthread_mutex_unlock(&w->lock);
    if (release)
        release(release_cbdata);
}

static pmix_status_t life(void)
{
    struct waiter w = { .lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER };
    pmix_status_t rc = PMIx_Allocation_request_nb(PMIX_ALLOC_NEW, NULL, 0, on_alloc, &w);

    if (rc != PMIX_SUCCESS)
        return rc;
    pthread_mutex_lock(&w.lock);
    while (!w.done)
        pthread_cond_wait(&w.came, &w.lock);
    pthread_mutex_unlock(&w.lock);
    return w.status != PMIX_SUCCESS ? w.status : ask(PMIX_ALLOC_RELEASE, w.id, false, 0);
}

static pmix_status_t run(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *more = argc > 2 ? argv[2] : NULL;

    if (!strcmp(what, "queues"))
        return queues();
    if (!strcmp(what, "new"))
        return ask(PMIX_ALLOC_NEW, NULL, more && !strcmp(more, "keep"),
                   more && !strncmp(more, "wait=", 5) ? atoi(more + 5) : 0);
    if (!strcmp(what, "extend"))
        return ask(PMIX_ALLOC_EXTEND, more, false, 0);
    if (!strcmp(what, "life"))
        return life();
    return PMIX_ERR_BAD_PARAM;
}

int main(int argc, char **argv)
{
    pmix_proc_t me;

    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 1;
    printf("status %d\n", run(argc, argv));
    fflush(stdout);
    if (argc > 2 && !strcmp(argv[argc - 1], "stay"))
        while (getchar() != EOF)
            ;
    PMIx_Finalize(NULL, 0);
    return 0;
}
