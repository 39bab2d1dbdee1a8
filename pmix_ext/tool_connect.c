/* tool_connect.c - which server, and which jobs of it, are meant. */
#include "pmix_ext/tool.h"

#include "pmix_ext/lite_keys.h"
#include "pmix_ext/reason.h"
#include "pmix_ext/words.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- server ------------------------------------------------------------ */

enum {
    SELECTORS = 5,
    WAIT_PAUSE = 50000,                  /* us between looks for a server that is awaited */
    WAIT_TRIES = 100,                    /* so many: 5 s */
};

static int add_pid(const struct tool *t, pmix_info_t *infos, size_t *n)
{
    double number;
    pid_t pid;

    if (!tool_has(t, OPT_PID))
        return 0;
    if (tool_number(t, OPT_PID, 1, 0, &number))
        return STATUS_USAGE;
    pid = number < INT_MAX ? (pid_t)number : INT_MAX;
    PMIX_INFO_LOAD(&infos[(*n)++], PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
    return 0;
}

static void add_text(const struct tool *t, int id, const char *key, pmix_info_t *infos,
                     size_t *n)
{
    if (tool_has(t, id))
        PMIX_INFO_LOAD(&infos[(*n)++], key, tool_value(t, id), PMIX_STRING);
}

static void add_flag(const struct tool *t, int id, const char *key, pmix_info_t *infos,
                     size_t *n)
{
    if (tool_has(t, id))
        PMIX_INFO_LOAD(&infos[(*n)++], key, NULL, PMIX_BOOL);
}

static int not_connected(const struct tool *t, pmix_status_t status)
{
    const char *why = reason_of(status);

    if (status == PMIX_ERR_RESOURCE_BUSY) {
        tool_fail(0, "several servers are here; choose one with --pid, --nspace or --uri:");
        servers_print(stderr);
        return STATUS_SEVERAL;
    }
    if (status != PMIX_ERR_UNREACH) {
        int failed = tool_failed("connecting to a server", status);

        return status == PMIX_ERR_BAD_PARAM ? STATUS_USAGE : failed;
    }
    if (tool_has(t, OPT_PID))
        return tool_fail(STATUS_NO_SERVER, "no server is process %s", tool_value(t, OPT_PID));
    if (tool_has(t, OPT_SERVER))
        return tool_fail(STATUS_NO_SERVER, "no server has job or name %s",
                         tool_value(t, OPT_SERVER));
    if (tool_has(t, OPT_URI))
        return tool_fail(STATUS_NO_SERVER, "no server at %s%s%s", tool_value(t, OPT_URI),
                         *why ? ": " : "", why);
    if (tool_has(t, OPT_SYSTEM))
        return tool_fail(STATUS_NO_SERVER, "there is no system server here");
    return tool_fail(STATUS_NO_SERVER, "there is no server here; is a job running?");
}

/* 0 and *said, or STATUS_USAGE. */
static int open_server(struct tool *t, pmix_status_t *said, size_t *told)
{
    pmix_info_t infos[SELECTORS];
    size_t n = 0;

    if (add_pid(t, infos, &n))
        return STATUS_USAGE;
    add_text(t, OPT_SERVER, PMIX_SERVER_NSPACE, infos, &n);
    add_text(t, OPT_URI, PMIX_SERVER_URI, infos, &n);
    add_flag(t, OPT_SYSTEM, PMIX_CONNECT_TO_SYSTEM, infos, &n);
    add_flag(t, OPT_SYSTEM_FIRST, PMIX_CONNECT_SYSTEM_FIRST, infos, &n);
    *said = PMIx_tool_init(&t->me, infos, n);
    *told = n;
    for (size_t i = 0; i < n; i++)
        PMIX_INFO_DESTRUCT(&infos[i]);
    return 0;
}

/* Who waits for a job may have started its launcher just now: none is there yet. */
int tool_connect(struct tool *t)
{
    int tries = tool_has(t, OPT_WAIT) ? WAIT_TRIES : 1;
    pmix_status_t said;
    size_t told;

    do {
        if (open_server(t, &said, &told))
            return STATUS_USAGE;
    } while (said == PMIX_ERR_UNREACH && --tries > 0 && usleep(WAIT_PAUSE) == 0);
    return said == PMIX_SUCCESS ? 0 : not_connected(t, said);
}

/* --- asking ------------------------------------------------------------ */

static pmix_status_t add_qualifiers(pmix_query_t *q, const char *nspace,
                                    const pmix_info_t *infos, size_t n)
{
    size_t at = 0;

    if (!nspace && !n)
        return PMIX_SUCCESS;
    PMIX_QUERY_QUALIFIERS_CREATE(q, n + (nspace != NULL));
    if (!q->qualifiers)
        return PMIX_ERR_NOMEM;
    if (nspace)
        PMIX_INFO_LOAD(&q->qualifiers[at++], PMIX_NSPACE, nspace, PMIX_STRING);
    for (size_t i = 0; i < n; i++)
        PMIX_INFO_XFER(&q->qualifiers[at + i], &infos[i]);
    return PMIX_SUCCESS;
}

/* One result, with the key: what else there is would be for nobody. */
static pmix_status_t take_answer(pmix_info_t *results, size_t n, const char *key,
                                 pmix_value_t *value)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(results[i].key, key)) {
            *value = results[i].value;
            results[i].value = (pmix_value_t){ .type = PMIX_UNDEF };
            return PMIX_SUCCESS;
        }
    return PMIX_ERR_NOT_FOUND;
}

pmix_status_t tool_ask_some(const char *key, const char *nspace, const pmix_info_t *qualifiers,
                            size_t n, pmix_value_t *value)
{
    pmix_info_t *results = NULL;
    size_t nresults = 0;
    pmix_status_t status;
    pmix_query_t query;

    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(status, query.keys, key);
    if (status == PMIX_SUCCESS)
        status = add_qualifiers(&query, nspace, qualifiers, n);
    if (status == PMIX_SUCCESS)
        status = PMIx_Query_info(&query, 1, &results, &nresults);
    if (status == PMIX_SUCCESS || status == PMIX_QUERY_PARTIAL_SUCCESS) {
        pmix_status_t taken = take_answer(results, nresults, key, value);

        status = taken == PMIX_SUCCESS ? status : taken;
    }
    if (results)
        PMIX_INFO_FREE(results, nresults);
    PMIX_QUERY_DESTRUCT(&query);
    return status;
}

pmix_status_t tool_ask(const char *key, const char *nspace, const pmix_info_t *qualifiers,
                       size_t n, pmix_value_t *value)
{
    pmix_status_t status = tool_ask_some(key, nspace, qualifiers, n, value);

    if (status == PMIX_QUERY_PARTIAL_SUCCESS)
        PMIX_VALUE_DESTRUCT(value);
    return status;
}

/* --- jobs -------------------------------------------------------------- */

static pmix_status_t list(const char *key, char ***jobs)
{
    pmix_value_t v;
    pmix_status_t status = tool_ask(key, NULL, NULL, 0, &v);

    *jobs = NULL;
    if (status != PMIX_SUCCESS)
        return status;
    if (v.type == PMIX_STRING && v.data.string && *v.data.string)
        *jobs = PMIx_Argv_split(v.data.string, ',');
    PMIX_VALUE_DESTRUCT(&v);
    return PMIX_SUCCESS;
}

pmix_status_t tool_list_jobs(char ***jobs)
{
    return list(PMIX_QUERY_NAMESPACES, jobs);
}

pmix_status_t tool_list_ended(char ***jobs)
{
    return list(LITE_JOBS_ENDED, jobs);
}

int tool_jobs(char ***jobs)
{
    pmix_status_t status = tool_list_jobs(jobs);

    return status == PMIX_SUCCESS ? 0 : tool_failed("the list of jobs", status);
}

bool tool_reach(const char *nspace)
{
    pmix_info_t infos[2];
    pmix_value_t size;
    pmix_status_t status = tool_ask(PMIX_JOB_SIZE, nspace, NULL, 0, &size);

    if (status == PMIX_SUCCESS) {
        PMIX_VALUE_DESTRUCT(&size);
        return false;
    }
    PMIX_INFO_LOAD(&infos[0], PMIX_SERVER_NSPACE, nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&infos[1], PMIX_PRIMARY_SERVER, NULL, PMIX_BOOL);
    status = PMIx_tool_attach_to_server(NULL, NULL, infos, 2);
    PMIX_INFO_DESTRUCT(&infos[0]);
    PMIX_INFO_DESTRUCT(&infos[1]);
    return status == PMIX_SUCCESS;
}

static int only_job(pmix_nspace_t nspace)
{
    char **jobs;
    int status = tool_jobs(&jobs);
    int n = PMIx_Argv_count(jobs);

    if (status)
        return status;
    if (n == 1)
        PMIX_LOAD_NSPACE(nspace, jobs[0]);
    else if (!n)
        status = tool_fail(STATUS_FAILED, "the server has no job");
    else {
        tool_fail(0, "the server has several jobs; name one of these (or with --nspace):");
        for (int i = 0; i < n; i++)
            fprintf(stderr, "  %s\n", jobs[i]);
        status = STATUS_SEVERAL;
    }
    PMIx_Argv_free(jobs);
    return status;
}

/* A server that runs no job knows one key, which is not this. */
static bool runs_jobs(void)
{
    pmix_value_t keys;

    if (tool_ask(PMIX_QUERY_SUPPORTED_KEYS, NULL, NULL, 0, &keys) != PMIX_SUCCESS)
        return false;
    PMIX_VALUE_DESTRUCT(&keys);
    return true;
}

int tool_reach_only(void)
{
    pmix_nspace_t nspace;
    int status;

    if (runs_jobs())
        return 0;
    status = only_job(nspace);
    if (!status)
        tool_reach(nspace);
    return status;
}

/* Of a server that runs none: goes on to the launcher of the only job.  True: there is no job,
 * and so no launcher. */
static bool no_launcher(int *status)
{
    pmix_nspace_t nspace;
    char **jobs;
    int n;

    *status = tool_jobs(&jobs);
    if (*status)
        return false;
    n = PMIx_Argv_count(jobs);
    PMIx_Argv_free(jobs);
    if (n)
        *status = only_job(nspace);
    if (n && !*status)
        tool_reach(nspace);
    return !n;
}

bool tool_is_alone(struct tool *t, int *status)
{
    pmix_status_t said;
    size_t told;

    *status = open_server(t, &said, &told);
    if (!*status && said == PMIX_ERR_UNREACH && !told)
        return true;
    if (!*status && said != PMIX_SUCCESS)
        *status = not_connected(t, said);
    if (*status || told || runs_jobs() || !no_launcher(status))
        return false;
    PMIx_tool_finalize();
    return true;
}

/* --- ranks ------------------------------------------------------------- */

static int add_ranks(struct targets *t, unsigned long from, unsigned long to)
{
    enum { MOST = 1000000 };
    pmix_proc_t *procs;

    if (from > to || to >= MOST || t->n + (to - from) >= MOST)
        return -1;
    procs = realloc(t->procs, (t->n + to - from + 1) * sizeof *procs);
    if (!procs)
        return -1;
    t->procs = procs;
    for (; from <= to; from++)
        PMIX_LOAD_PROCID(&t->procs[t->n++], t->nspace, (pmix_rank_t)from);
    return 0;
}

/* "0,3-5" */
static int read_ranks(const char *text, struct targets *t)
{
    do {
        char *end;
        unsigned long from = strtoul(text, &end, 10), to = from;

        if (end == text || strspn(text, " +-"))
            return -1;
        if (*end == '-') {
            text = end + 1;
            to = strtoul(text, &end, 10);
            if (end == text || strspn(text, " +-"))
                return -1;
        }
        if ((*end && *end != ',') || add_ranks(t, from, to) < 0)
            return -1;
        text = *end ? end + 1 : NULL;
    } while (text);
    return 0;
}

/* Ranks that are one word. */
static int one_word(struct targets *t, pmix_rank_t rank)
{
    t->procs = PMIx_Proc_create(1);
    if (!t->procs)
        return tool_fail(STATUS_FAILED, "out of memory");
    PMIX_LOAD_PROCID(&t->procs[t->n++], t->nspace, rank);
    return 0;
}

int tool_targets(const char *text, struct targets *out)
{
    size_t n = text ? strcspn(text, ":") : 0;
    int status = 0;

    *out = (struct targets){ .n = 0 };
    if (n > PMIX_MAX_NSLEN)
        return tool_fail(STATUS_USAGE, "'%.40s...' is too long for a job's name", text);
    if (n)
        memcpy(out->nspace, text, n);
    else
        status = only_job(out->nspace);
    if (status)
        return status;
    tool_reach(out->nspace);
    if (!text || !text[n])
        return one_word(out, PMIX_RANK_WILDCARD);
    for (const struct word *w = words_rank; *w->text; w++)
        if (!strcmp(w->text, text + n + 1))
            return one_word(out, (pmix_rank_t)w->number);
    if (read_ranks(text + n + 1, out) == 0)
        return 0;
    targets_clear(out);
    return tool_fail(STATUS_USAGE, "'%s': ranks are like 0,3-5, or *, or @node (those of the "
                     "server's node)", text + n + 1);
}

void targets_clear(struct targets *t)
{
    free(t->procs);
    *t = (struct targets){ .n = 0 };
}
