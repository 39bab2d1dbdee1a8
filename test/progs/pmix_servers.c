/* pmix_servers - a tool of two servers: pmix_servers URI URI; prints each one's jobs when it
 * is the one that answers, and "ok".  pmix_servers alone asks what needs no server, and prints
 * the name of each server that it can find, and "ok"; pmix_servers URI ends when it has read a
 * line. */
#include <pmix_tool.h>

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(int line, int good)
{
    if (good)
        return;
    printf("line %d\n", line);
    exit(1);
}

#define NEED(x) need(__LINE__, (x))

static void show_jobs(void)
{
    char *asked[] = { (char *)PMIX_QUERY_NAMESPACES, NULL };
    pmix_query_t query = { asked, NULL, 0 };
    pmix_info_t *results;
    size_t n;

    NEED(PMIx_Query_info(&query, 1, &results, &n) == PMIX_SUCCESS && n == 1);
    printf("%s\n", results[0].value.data.string);
    PMIX_INFO_FREE(results, n);
}

/* The results of these keys, in one query; n of them are wanted. */
static pmix_info_t *ask(char **keys, pmix_status_t want, size_t n)
{
    pmix_query_t query = { keys, NULL, 0 };
    pmix_info_t *results;
    size_t got;
    pmix_status_t rc = PMIx_Query_info(&query, 1, &results, &got);

    NEED(rc == want && got == n);
    return results;
}

static void show_server(const pmix_info_t *info)
{
    const pmix_data_array_t *a = info->value.data.darray;
    const pmix_info_t *infos = a->array;

    NEED(PMIX_CHECK_KEY(info, PMIX_SERVER_INFO_ARRAY) && info->value.type == PMIX_DATA_ARRAY);
    NEED(a->type == PMIX_INFO && a->size == 8 && PMIX_CHECK_KEY(&infos[0], PMIX_SERVER_NSPACE));
    NEED(infos[0].value.type == PMIX_STRING && infos[3].value.type == PMIX_PID);
    printf("%s %d\n", infos[0].value.data.string, (int)infos[3].value.data.pid);
}

/* Without a start of the library. */
static void alone(void)
{
    char *abi[] = { (char *)PMIX_QUERY_STABLE_ABI_VERSION,
                    (char *)PMIX_QUERY_PROVISIONAL_ABI_VERSION, NULL };
    char *servers[] = { (char *)PMIX_QUERY_AVAIL_SERVERS, NULL };
    char *both[] = { (char *)PMIX_QUERY_NAMESPACES, (char *)PMIX_QUERY_STABLE_ABI_VERSION, NULL };
    char *jobs[] = { (char *)PMIX_QUERY_NAMESPACES, NULL };
    pmix_info_t *r = ask(abi, PMIX_SUCCESS, 2);
    const pmix_data_array_t *a;

    for (int i = 0; i < 2; i++) {
        NEED(PMIX_CHECK_KEY(&r[i], abi[i]) && r[i].value.type == PMIX_STRING);
        NEED(!strcmp(r[i].value.data.string, "0.0"));
    }
    PMIX_INFO_FREE(r, 2);
    r = ask(servers, PMIX_SUCCESS, 1);
    NEED(PMIX_CHECK_KEY(&r[0], PMIX_QUERY_AVAIL_SERVERS) && r[0].value.type == PMIX_DATA_ARRAY);
    a = r[0].value.data.darray;
    for (size_t i = 0; i < a->size; i++)
        show_server((const pmix_info_t *)a->array + i);
    PMIX_INFO_FREE(r, 1);
    r = ask(both, PMIX_QUERY_PARTIAL_SUCCESS, 1);        /* the other one needs a server */
    PMIX_INFO_FREE(r, 1);
    ask(jobs, PMIX_ERR_INIT, 0);
}

/* Keys of the library and of the server at once, by either form. */
static void on_infos(pmix_status_t status, pmix_info_t *info, size_t n, void *cbdata,
                     pmix_release_cbfunc_t release, void *release_cbdata)
{
    NEED(status == PMIX_SUCCESS && n == 2 && PMIX_CHECK_KEY(&info[1], PMIX_QUERY_NAMESPACES));
    NEED(PMIX_CHECK_KEY(&info[0], PMIX_QUERY_AVAIL_SERVERS));
    release(release_cbdata);
    sem_post(cbdata);
}

/* R10-17: of several queries, whoever answers, with keys that nobody does between them. */
static void in_order(void)
{
    char *abi = (char *)PMIX_QUERY_STABLE_ABI_VERSION, *jobs = (char *)PMIX_QUERY_NAMESPACES, *none = (char *)"x.none";
    char *first[] = { none, abi, jobs, NULL }, *second[] = { jobs, none, abi, abi, NULL }, *third[] = { abi, none, NULL };
    pmix_query_t queries[] = { { first, NULL, 0 }, { second, NULL, 0 }, { third, NULL, 0 } };
    char *want[] = { abi, jobs, jobs, abi, abi, abi };
    pmix_info_t *results;
    size_t n;

    NEED(PMIx_Query_info(queries, 3, &results, &n) == PMIX_QUERY_PARTIAL_SUCCESS && n == 6);
    for (size_t i = 0; i < n; i++)
        NEED(PMIX_CHECK_KEY(&results[i], want[i]) && results[i].value.type == PMIX_STRING);
    PMIX_INFO_FREE(results, n);
}

static void mixed(void)
{
    char *keys[] = { (char *)PMIX_QUERY_AVAIL_SERVERS, (char *)PMIX_QUERY_NAMESPACES, NULL };
    pmix_query_t query = { keys, NULL, 0 };
    pmix_info_t *r = ask(keys, PMIX_SUCCESS, 2);
    sem_t came;

    NEED(r[1].value.type == PMIX_STRING && r[0].value.data.darray->size >= 2);
    PMIX_INFO_FREE(r, 2);
    in_order();
    sem_init(&came, 0, 0);
    NEED(PMIx_Query_info_nb(&query, 1, on_infos, &came) == PMIX_SUCCESS);
    sem_wait(&came);
}

static void until_line(const char *uri)
{
    pmix_info_t info;
    pmix_proc_t me;

    PMIX_INFO_LOAD(&info, PMIX_SERVER_URI, uri, PMIX_STRING);
    NEED(PMIx_tool_init(&me, &info, 1) == PMIX_SUCCESS);
    printf("%s\n", me.nspace);
    fflush(stdout);
    getchar();
    NEED(PMIx_tool_finalize() == PMIX_SUCCESS);
    PMIX_INFO_DESTRUCT(&info);
}

/* An identity that the tool proposes: once, or with another rank. */
static void propose(const char *uri)
{
    pmix_rank_t rank = 7;
    pmix_info_t infos[3];
    pmix_proc_t me;

    PMIX_INFO_LOAD(&infos[0], PMIX_SERVER_URI, uri, PMIX_STRING);
    PMIX_INFO_LOAD(&infos[1], PMIX_TOOL_NSPACE, "proposed", PMIX_STRING);
    PMIX_INFO_LOAD(&infos[2], PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    NEED(PMIx_tool_init(&me, infos, 3) == PMIX_SUCCESS);
    NEED(!strcmp(me.nspace, "proposed") && me.rank == 7);
    NEED(PMIx_tool_attach_to_server(&me, NULL, infos, 3) == PMIX_ERR_EXISTS);
    infos[2].value.data.rank = 8;
    NEED(PMIx_tool_attach_to_server(&me, NULL, infos, 3) == PMIX_SUCCESS && me.rank == 8);
    infos[2].value.data.rank = PMIX_RANK_WILDCARD;
    NEED(PMIx_tool_attach_to_server(&me, NULL, infos, 3) == PMIX_ERR_BAD_PARAM);
    infos[2].value = (pmix_value_t){ PMIX_INT32, { .int32 = 9 } };   /* R10-11: no rank */
    NEED(PMIx_tool_attach_to_server(&me, NULL, infos, 3) == PMIX_ERR_TYPE_MISMATCH);
    infos[2].value = (pmix_value_t){ PMIX_UINT32, { .uint32 = 9 } };
    NEED(PMIx_tool_attach_to_server(&me, NULL, infos, 3) == PMIX_SUCCESS && me.rank == 9);
    NEED(PMIx_tool_finalize() == PMIX_SUCCESS);
    for (int i = 0; i < 3; i++)
        PMIX_INFO_DESTRUCT(&infos[i]);
}

int main(int argc, char **argv)
{
    pmix_proc_t me, other, second, *servers;
    pmix_info_t uri[2];
    size_t n;

    if (argc == 1) {
        alone();
        printf("ok\n");
        return 0;
    }
    if (argc == 2) {
        until_line(argv[1]);
        printf("ok\n");
        return 0;
    }
    NEED(argc == 3);
    PMIX_INFO_LOAD(&uri[0], PMIX_SERVER_URI, argv[1], PMIX_STRING);
    PMIX_INFO_LOAD(&uri[1], PMIX_SERVER_URI, argv[2], PMIX_STRING);
    NEED(PMIx_tool_attach_to_server(&other, &second, &uri[1], 1) == PMIX_ERR_INIT);
    NEED(PMIx_tool_init(&me, &uri[0], 1) == PMIX_SUCCESS);
    show_jobs();
    mixed();
    NEED(PMIx_tool_attach_to_server(&other, &second, &uri[1], 1) == PMIX_SUCCESS);
    show_jobs();                         /* still the first */
    NEED(PMIx_tool_set_server(&second, NULL, 0) == PMIX_SUCCESS);
    show_jobs();
    NEED(PMIx_tool_get_servers(&servers, &n) == PMIX_SUCCESS && n == 2);
    PMIX_PROC_FREE(servers, n);
    NEED(PMIx_tool_disconnect(&me) == PMIX_ERR_NOT_FOUND);
    NEED(PMIx_tool_finalize() == PMIX_SUCCESS);
    NEED(PMIx_tool_init(&me, &uri[1], 1) == PMIX_SUCCESS);
    show_jobs();
    NEED(PMIx_tool_connect_to_server(&me, &uri[0], 1) == PMIX_SUCCESS);
    show_jobs();
    NEED(PMIx_tool_get_servers(&servers, &n) == PMIX_SUCCESS && n == 1);
    NEED(PMIx_tool_set_server(&servers[0], NULL, 0) == PMIX_SUCCESS);
    NEED(PMIx_tool_disconnect(&servers[0]) == PMIX_SUCCESS);
    NEED(PMIx_tool_set_server(&servers[0], NULL, 0) == PMIX_ERR_UNREACH);
    PMIX_PROC_FREE(servers, n);
    NEED(PMIx_tool_get_servers(&servers, &n) == PMIX_ERR_UNREACH);
    NEED(PMIx_tool_finalize() == PMIX_SUCCESS);
    NEED(PMIx_tool_finalize() == PMIX_ERR_INIT);
    propose(argv[1]);
    PMIX_INFO_DESTRUCT(&uri[0]);
    PMIX_INFO_DESTRUCT(&uri[1]);
    printf("ok\n");
    return 0;
}
