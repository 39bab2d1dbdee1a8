/* tool_query.c - pmix_tool query, ps, proctable, keys and attributes: what is, once. */
#include "pmix_ext/tool.h"

#include "pmix_ext/lite_keys.h"
#include "pmix_ext/names.h"
#include "pmix_ext/value.h"

#include <stdlib.h>
#include <string.h>

/* --- process tables ---------------------------------------------------- */

const char *const proc_heads[] = { "NSPACE", ">RANK", "HOST", ">PID", "STATE", ">EXIT", "PROGRAM",
                                   NULL };

static bool has_ended(pmix_proc_state_t state)
{
    return state >= PMIX_PROC_STATE_TERMINATED;
}

void proc_row(struct table *t, const pmix_proc_info_t *p)
{
    char state[40];

    tool_state(p->state, state, sizeof state);
    table_add(t, "%s", p->proc.nspace);
    table_add(t, "%u", p->proc.rank);
    table_add(t, "%s", p->hostname ? p->hostname : "");
    if (p->pid)
        table_add(t, "%d", (int)p->pid);
    else
        table_add(t, "-");
    table_add(t, "%s", state);
    if (has_ended(p->state))
        table_add(t, "%d", p->exit_code);
    else
        table_add(t, "-");
    table_add(t, "%s", p->executable_name ? p->executable_name : "");
}

static json_t *proc_json(const pmix_proc_info_t *p)
{
    char state[40];

    tool_state(p->state, state, sizeof state);
    return json_pack("{s:i, s:o, s:i, s:s, s:o, s:o}", "rank", (int)p->proc.rank, "host",
                     tool_json_text(p->hostname), "pid", (int)p->pid, "state", state, "exit",
                     has_ended(p->state) ? json_integer(p->exit_code) : json_null(), "program",
                     tool_json_text(p->executable_name));
}

/* Of an answer: the processes, or NULL. */
static const pmix_proc_info_t *processes(const pmix_value_t *v, size_t *n)
{
    const pmix_data_array_t *a = v->type == PMIX_DATA_ARRAY ? v->data.darray : NULL;

    *n = a && a->type == PMIX_PROC_INFO ? a->size : 0;
    return *n ? a->array : NULL;
}

static json_t *job_json(const char *nspace, const pmix_value_t *v)
{
    size_t n;
    const pmix_proc_info_t *p = processes(v, &n);
    json_t *ranks = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(ranks, proc_json(&p[i]));
    return json_pack("{s:o, s:o}", "nspace", tool_json_text(nspace), "ranks", ranks);
}

/* The table of one job into a table or a list; listed: a moment ago it was there.  0, or the
 * exit status. */
static int add_job(const char *nspace, const char *key, bool listed, struct table *table,
                   json_t *jobs)
{
    pmix_value_t v;
    pmix_status_t status = tool_ask(key, nspace, NULL, 0, &v);
    const pmix_proc_info_t *p;
    size_t n;

    if (status != PMIX_SUCCESS && tool_reach(nspace))
        status = tool_ask(key, nspace, NULL, 0, &v);
    if (status == PMIX_ERR_INVALID_NAMESPACE && listed)
        return 0;
    if (status != PMIX_SUCCESS)
        return tool_failed(nspace, status);
    p = processes(&v, &n);
    for (size_t i = 0; i < n && table; i++)
        proc_row(table, &p[i]);
    if (jobs)
        json_array_append_new(jobs, job_json(nspace, &v));
    PMIX_VALUE_DESTRUCT(&v);
    return 0;
}

static int print_jobs(const struct tool *t, char **jobs, bool listed, const char *key)
{
    json_t *list = t->json ? json_array() : NULL;
    struct table table;
    int status = 0;

    table_start(&table, proc_heads);
    for (; jobs && *jobs; jobs++) {
        int bad = add_job(*jobs, key, listed, t->json ? NULL : &table, list);

        status = bad ? bad : status;
    }
    if (t->json)
        return tool_document(json_pack("{s:o}", "jobs", list)) | status;
    table_print(&table, stdout, SIZE_MAX, 0);
    return status;
}

/* Those that have ended first, as they are older. */
static int all_jobs(char ***jobs)
{
    char **running = NULL;
    pmix_status_t said = tool_list_ended(jobs);
    int status = said == PMIX_SUCCESS ? tool_jobs(&running)
                                      : tool_failed("the list of ended jobs", said);

    for (char **job = running; job && *job && !status; job++)
        if (PMIx_Argv_append_nosize(jobs, *job) != PMIX_SUCCESS)
            status = tool_fail(STATUS_FAILED, "out of memory");
    PMIx_Argv_free(running);
    return status;
}

int tool_ps(struct tool *t)
{
    char **jobs = NULL;
    int status;

    if (t->argc)
        return print_jobs(t, t->argv, false, PMIX_QUERY_PROC_TABLE);
    status = tool_has(t, OPT_ALL) ? all_jobs(&jobs) : tool_jobs(&jobs);
    if (!status)
        status = print_jobs(t, jobs, true, PMIX_QUERY_PROC_TABLE);
    PMIx_Argv_free(jobs);
    return status;
}

int tool_proctable(struct tool *t)
{
    struct targets targets;
    char *jobs[2] = { targets.nspace, NULL };
    int status = tool_targets(t->argc ? t->argv[0] : NULL, &targets);

    if (!status)
        status = print_jobs(t, jobs, false, tool_has(t, OPT_LOCAL) ? PMIX_QUERY_LOCAL_PROC_TABLE
                                                                   : PMIX_QUERY_PROC_TABLE);
    targets_clear(&targets);
    return status;
}

/* --- any key ----------------------------------------------------------- */

static void print_value(const char *key, const pmix_value_t *v)
{
    struct buf text = BUF_INIT;
    struct table table;
    size_t n;
    const pmix_proc_info_t *p = processes(v, &n);

    printf("%s (%s): ", PMIx_Get_attribute_name(key), key);
    if (p) {
        putchar('\n');
        table_start(&table, proc_heads);
        for (size_t i = 0; i < n; i++)
            proc_row(&table, &p[i]);
        table_print(&table, stdout, SIZE_MAX, 0);
        return;
    }
    value_print(PMIX_VALUE, v, &text);
    puts(text.len ? buf_bytes(&text) : "");
    buf_clear(&text);
}

static json_t *value_json(const char *key, const pmix_value_t *v)
{
    pmix_info_t info = { .value = *v };

    PMIX_LOAD_KEY(info.key, key);
    return tool_json(PMIX_INFO, &info);
}

/* A key that wants to know which job: of the only one, if no other was named. */
static pmix_status_t ask_only(const char *key, const pmix_info_t *qualifiers, size_t n,
                              pmix_value_t *v)
{
    pmix_status_t status = tool_ask(key, NULL, qualifiers, n, v);
    char **jobs;

    if (status != PMIX_ERR_BAD_PARAM || tool_jobs(&jobs))
        return status;
    if (PMIx_Argv_count(jobs) == 1)
        status = tool_ask(key, jobs[0], qualifiers, n, v);
    PMIx_Argv_free(jobs);
    return status;
}

/* 0, or STATUS_FAILED. */
static int ask_one(const char *key, const pmix_info_t *qualifiers, size_t n, json_t *list)
{
    pmix_value_t v;
    pmix_status_t status = ask_only(key, qualifiers, n, &v);

    if (status != PMIX_SUCCESS) {
        json_array_append_new(list, json_pack("{s:s, s:i, s:s}", "key", key, "status", status,
                                              "name", PMIx_Error_string(status)));
        return tool_failed(PMIx_Get_attribute_name(key), status);
    }
    if (list)
        json_array_append_new(list, value_json(key, &v));
    else
        print_value(key, &v);
    PMIX_VALUE_DESTRUCT(&v);
    return 0;
}

/* The qualifiers among the words.  0, or STATUS_USAGE. */
static int read_qualifiers(const struct tool *t, pmix_info_t *infos, size_t *n)
{
    for (int i = 0; i < t->argc; i++) {
        if (!strchr(t->argv[i], '='))
            continue;
        if (tool_info(t->argv[i], &infos[*n]))
            return STATUS_USAGE;
        ++*n;
    }
    return (int)*n < t->argc ? 0 : tool_fail(STATUS_USAGE, "query: there is no key");
}

static int ask_all(const struct tool *t, const pmix_info_t *qualifiers, size_t n)
{
    json_t *list = t->json ? json_array() : NULL;
    int status = 0;

    for (int i = 0; i < t->argc; i++) {
        const char *key = strchr(t->argv[i], '=') ? NULL : tool_key(t->argv[i]);
        int bad = strchr(t->argv[i], '=') ? 0 : key ? ask_one(key, qualifiers, n, list)
                                                    : STATUS_USAGE;

        status = bad ? bad : status;
    }
    if (t->json)
        return tool_document(json_pack("{s:o}", "results", list)) | status;
    return status;
}

int tool_query(struct tool *t)
{
    pmix_info_t *infos = PMIx_Info_create((size_t)t->argc);
    size_t n = 0;
    int status;

    if (!infos)
        return tool_fail(STATUS_FAILED, "out of memory");
    status = read_qualifiers(t, infos, &n);
    if (!status)
        status = ask_all(t, infos, n);
    PMIX_INFO_FREE(infos, t->argc);
    return status;
}

/* --- what can be asked ------------------------------------------------- */

static int ask_names(const char *key, char ***names)
{
    pmix_value_t v;
    pmix_status_t status = tool_ask(key, NULL, NULL, 0, &v);

    *names = NULL;
    if (status != PMIX_SUCCESS)
        return tool_failed(PMIx_Get_attribute_name(key), status);
    if (v.type == PMIX_STRING && v.data.string)
        *names = PMIx_Argv_split(v.data.string, ',');
    PMIX_VALUE_DESTRUCT(&v);
    return 0;
}

/* Of a key, also of those that only we have (lite_keys.h). */
static pmix_data_type_t type_of_key(const char *key)
{
    static const char *const arrays[] = {
        LITE_PROC_STATS, LITE_PROC_OPS, LITE_PROC_STACKS, LITE_THREAD_STACKS
    };
    const struct attribute *a = attribute_of_key(key);

    for (size_t i = 0; !a && i < sizeof arrays / sizeof *arrays; i++)
        if (!strcmp(key, arrays[i]))
            return PMIX_DATA_ARRAY;
    if (!strcmp(key, LITE_JOB_STATUS))
        return PMIX_UINT32;
    if (!strcmp(key, LITE_EVENT_SEQ))
        return PMIX_UINT64;
    return a ? a->type : !strcmp(key, LITE_JOBS_ENDED) ? PMIX_STRING : PMIX_UNDEF;
}

static void add_key(const char *kind, const char *key, struct table *table, json_t *list)
{
    const struct attribute *a = attribute_of_key(key);
    pmix_data_type_t known = type_of_key(key);
    const char *type = known != PMIX_UNDEF ? PMIx_Data_type_string(known) : "";

    if (list) {
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "key", key, "name",
                                              a ? a->name : key, "kind", kind, "type", type));
        return;
    }
    table_add(table, "%s", kind);
    table_add(table, "%s", a ? a->name : "-");
    table_add(table, "%s", key);
    table_add(table, "%s", type);
}

int tool_keys(struct tool *t)
{
    static const char *const heads[] = { "KIND", "NAME", "KEY", "TYPE", NULL };
    static const struct { const char *key, *kind; } lists[] = {
        { PMIX_QUERY_SUPPORTED_KEYS, "key" }, { PMIX_QUERY_SUPPORTED_QUALIFIERS, "qualifier" }
    };
    json_t *list = t->json ? json_array() : NULL;
    struct table table;
    int status = 0;

    table_start(&table, heads);
    for (size_t i = 0; i < 2 && !status; i++) {
        char **names;

        status = ask_names(lists[i].key, &names);
        for (char **name = names; name && *name; name++)
            add_key(lists[i].kind, *name, &table, list);
        PMIx_Argv_free(names);
    }
    if (t->json)
        return tool_document(json_pack("{s:o}", "keys", list)) | status;
    table_print(&table, stdout, SIZE_MAX, 0);
    return status;
}

/* --- what functions take ----------------------------------------------- */

/* An info of a function: its attributes. */
static void add_function(const pmix_info_t *info, struct table *table, json_t *functions)
{
    const pmix_data_array_t *a = info->value.type == PMIX_DATA_ARRAY ? info->value.data.darray
                                                                     : NULL;
    const pmix_regattr_t *r = a && a->type == PMIX_REGATTR ? a->array : NULL;
    json_t *list = functions ? json_array() : NULL;

    for (size_t i = 0; r && i < a->size; i++) {
        const char *name = PMIx_Get_attribute_name(r[i].string);
        const char *type = PMIx_Data_type_string(r[i].type);

        if (list) {
            json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "key", r[i].string, "name",
                                                  name, "type", type));
            continue;
        }
        table_add(table, "%s", info->key);
        table_add(table, "%s", name);
        table_add(table, "%s", r[i].string);
        table_add(table, "%s", type);
    }
    if (functions)
        json_object_set_new(functions, info->key, list);
}

/* Infos of functions, of the server's array of arrays. */
static void add_functions(const pmix_value_t *v, struct table *table, json_t *functions)
{
    const pmix_data_array_t *a = v->type == PMIX_DATA_ARRAY ? v->data.darray : NULL;
    const pmix_info_t *info = a && a->type == PMIX_INFO ? a->array : NULL;

    for (size_t i = 0; info && i < a->size; i++) {
        const pmix_data_array_t *inner = info[i].value.type == PMIX_DATA_ARRAY
                                             ? info[i].value.data.darray : NULL;

        if (inner && inner->type == PMIX_INFO)
            add_functions(&info[i].value, table, functions);
        else
            add_function(&info[i], table, functions);
    }
}

int tool_attributes(struct tool *t)
{
    static const char *const heads[] = { "FUNCTION", "NAME", "KEY", "TYPE", NULL };
    json_t *functions = t->json ? json_object() : NULL;
    pmix_info_t qualifier;
    pmix_status_t status;
    struct table table;
    pmix_value_t v;

    PMIX_INFO_LOAD(&qualifier, PMIX_SERVER_ATTRIBUTES, t->argc ? t->argv[0] : "all", PMIX_STRING);
    status = tool_ask(PMIX_QUERY_ATTRIBUTE_SUPPORT, NULL, &qualifier, 1, &v);
    PMIX_INFO_DESTRUCT(&qualifier);
    if (status != PMIX_SUCCESS) {
        json_decref(functions);
        return tool_failed("the list of attributes", status);
    }
    table_start(&table, heads);
    add_functions(&v, &table, functions);
    PMIX_VALUE_DESTRUCT(&v);
    if (t->argc && !(t->json ? json_object_size(functions) : table.n)) {
        json_decref(functions);
        return tool_fail(STATUS_FAILED, "the server has no attributes of a function %s",
                         t->argv[0]);
    }
    if (t->json)
        return tool_document(json_pack("{s:o}", "functions", functions));
    table_print(&table, stdout, SIZE_MAX, 0);
    return 0;
}
