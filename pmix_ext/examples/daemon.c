/* daemon.c - a tool's daemon: looks at the job's ranks on its node, and rank 0 of the daemons
 * says what all of them have seen.
 *
 *   cc daemon.c $(pkg-config --cflags --libs mpiexec_lite-pmix) -o daemon
 *   pmix_tool spawn --target JOB ./daemon
 *
 * For each rank it prints its host, its pid and its state, as the kernel has it. */
#include "pmix_ext_daemon.h"

/* One line for each of them, from the local process table; 0, or the status. */
static pmix_status_t look(const struct pmix_daemon *d, char *text, size_t size)
{
    pmix_info_t *results = NULL;
    pmix_data_array_t *table;
    size_t n = 0, len = 0;
    pmix_status_t status;
    pmix_query_t query;

    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(status, query.keys, PMIX_QUERY_LOCAL_PROC_TABLE);
    PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, d->target.nspace, PMIX_STRING);
    status = PMIx_Query_info(&query, 1, &results, &n);
    PMIX_QUERY_DESTRUCT(&query);
    if (status != PMIX_SUCCESS || !n || results->value.type != PMIX_DATA_ARRAY)
        return status == PMIX_SUCCESS ? PMIX_ERR_NOT_FOUND : status;
    table = results->value.data.darray;
    for (size_t i = 0; i < table->size && len < size; i++) {
        const pmix_proc_info_t *p = &((pmix_proc_info_t *)table->array)[i];
        char path[40], state = '?';
        FILE *f;

        snprintf(path, sizeof path, "/proc/%d/stat", (int)p->pid);
        f = fopen(path, "r");
        if (f && fscanf(f, "%*d %*[^)]) %c", &state) != 1)
            state = '?';
        if (f)
            fclose(f);
        len += (size_t)snprintf(text + len, size - len, "rank %u %s %d %c\n", p->proc.rank,
                                p->hostname, (int)p->pid, state);
    }
    PMIX_INFO_FREE(results, n);
    return PMIX_SUCCESS;
}

int main(void)
{
    static char text[1 << 20];
    struct pmix_daemon d;
    pmix_byte_object_t word = { NULL, 0 }, *all = NULL;
    pmix_status_t status = pmix_daemon_init(&d);

    if (status == PMIX_SUCCESS && d.me.rank == 0)
        printf("%u daemons look after %s\n", d.size, d.target.nspace);
    if (status == PMIX_SUCCESS)
        status = pmix_daemon_broadcast(&d, 0, "look", sizeof "look", &word);
    if (status == PMIX_SUCCESS && !strcmp(word.bytes, "look"))
        status = look(&d, text, sizeof text);
    if (status == PMIX_SUCCESS)
        status = pmix_daemon_gather(&d, 0, text, strlen(text), &all);
    for (uint32_t i = 0; status == PMIX_SUCCESS && all && i < d.size; i++)
        fwrite(all[i].bytes, 1, all[i].size, stdout);
    if (status == PMIX_SUCCESS)
        status = pmix_daemon_barrier(&d);
    if (status != PMIX_SUCCESS)
        fprintf(stderr, "daemon: %s\n", PMIx_Error_string(status));
    PMIX_BYTE_OBJECT_DESTRUCT(&word);
    if (all)
        PMIX_BYTE_OBJECT_FREE(all, d.size);
    pmix_daemon_finalize(&d);
    return status != PMIX_SUCCESS;
}
