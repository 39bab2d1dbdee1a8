/* pmix_servers - a tool of two servers: pmix_servers URI URI; prints each one's jobs when it
 * is the one that answers, and "ok". */
#include <pmix_tool.h>

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
    NEED(PMIx_tool_finalize() == PMIX_SUCCESS);
    for (int i = 0; i < 3; i++)
        PMIX_INFO_DESTRUCT(&infos[i]);
}

int main(int argc, char **argv)
{
    pmix_proc_t me, other, second, *servers;
    pmix_info_t uri[2];
    size_t n;

    NEED(argc == 3);
    PMIX_INFO_LOAD(&uri[0], PMIX_SERVER_URI, argv[1], PMIX_STRING);
    PMIX_INFO_LOAD(&uri[1], PMIX_SERVER_URI, argv[2], PMIX_STRING);
    NEED(PMIx_tool_attach_to_server(&other, &second, &uri[1], 1) == PMIX_ERR_INIT);
    NEED(PMIx_tool_init(&me, &uri[0], 1) == PMIX_SUCCESS);
    show_jobs();
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
