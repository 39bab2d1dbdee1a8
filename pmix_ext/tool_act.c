/* tool_act.c - pmix_tool log, signal, kill, pause and resume: what is said and done, once. */
#include "pmix_ext/tool.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* --- log --------------------------------------------------------------- */

static const struct { int option; const char *key; } channels[] = {
    { OPT_STDERR, PMIX_LOG_STDERR }, { OPT_STDOUT, PMIX_LOG_STDOUT },
    { OPT_SYSLOG, PMIX_LOG_SYSLOG },
};
/* A record has all that is no channel; these say which. */
static const struct { int option; const char *key; } records[] = {
    { OPT_RECORD, PMIX_LOG_JOB_RECORD }, { OPT_STORE, PMIX_LOG_GLOBAL_DATASTORE },
};
enum { CHANNELS = sizeof channels / sizeof *channels, RECORDS = sizeof records / sizeof *records };

static size_t add_records(const struct tool *t, const char *text, pmix_info_t *data)
{
    size_t n = 0;

    for (size_t i = 0; i < RECORDS; i++)
        if (tool_has(t, records[i].option))
            PMIX_INFO_LOAD(&data[n++], records[i].key, NULL, PMIX_BOOL);
    if (n)
        PMIX_INFO_LOAD(&data[n++], PMIX_LOG_VAL, text, PMIX_STRING);
    return n;
}

static int log_text(const struct tool *t, const char *text, int priority)
{
    pmix_info_t data[CHANNELS + RECORDS + 1], how[2];
    size_t n = 0, nhow = 0;
    pmix_status_t status;

    for (size_t i = 0; i < CHANNELS; i++)
        if (tool_has(t, channels[i].option))
            PMIX_INFO_LOAD(&data[n++], channels[i].key, text, PMIX_STRING);
    n += add_records(t, text, &data[n]);
    if (!n)
        PMIX_INFO_LOAD(&data[n++], PMIX_LOG_STDERR, text, PMIX_STRING);
    if (tool_has(t, OPT_TAG))
        PMIX_INFO_LOAD(&how[nhow++], PMIX_LOG_TAG_OUTPUT, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&how[nhow++], PMIX_LOG_SYSLOG_PRI, &priority, PMIX_INT);
    status = PMIx_Log(data, n, how, nhow);
    for (size_t i = 0; i < n; i++)
        PMIX_INFO_DESTRUCT(&data[i]);
    return status == PMIX_SUCCESS ? 0 : tool_failed("log", status);
}

int tool_log(struct tool *t)
{
    char *text = PMIx_Argv_join(t->argv, ' ');
    double priority;
    int status = tool_number(t, OPT_PRIORITY, 0, 6, &priority);

    if (!status && priority > 7)
        status = tool_fail(STATUS_USAGE, "--priority: it is 0 to 7");
    if (!status && !text)
        status = tool_fail(STATUS_FAILED, "out of memory");
    if (!status)
        status = log_text(t, text, (int)priority);
    free(text);
    return status;
}

/* --- signals ----------------------------------------------------------- */

/* "9", "KILL", "SIGKILL", "usr1"; 0: none of them. */
static int signal_of(const char *word)
{
    char *end, name[16];
    long number = strtol(word, &end, 10);

    if (end != word && !*end)
        return number > 0 && number <= SIGRTMAX ? (int)number : 0;
    snprintf(name, sizeof name, "%s", strncasecmp(word, "SIG", 3) ? word : word + 3);
    for (int i = 1; i < SIGRTMIN; i++)
        if (sigabbrev_np(i) && !strcasecmp(sigabbrev_np(i), name))
            return i;
    return 0;
}

static int order(const char *where, const char *what, const pmix_info_t *directive)
{
    pmix_info_t *results = NULL;
    size_t nresults = 0;
    struct targets targets;
    pmix_status_t said;
    int status = tool_targets(where, &targets);

    if (status)
        return status;
    said = PMIx_Job_control(targets.procs, targets.n, directive, 1, &results, &nresults);
    if (results)
        PMIX_INFO_FREE(results, nresults);
    if (said != PMIX_SUCCESS && said != PMIX_OPERATION_SUCCEEDED)
        status = tool_failed(what, said);
    targets_clear(&targets);
    return status;
}

int tool_signal(struct tool *t)
{
    int signo = signal_of(t->argv[0]);
    pmix_info_t directive;

    if (!signo)
        return tool_fail(STATUS_USAGE, "'%s' is no signal", t->argv[0]);
    PMIX_INFO_LOAD(&directive, PMIX_JOB_CTRL_SIGNAL, &signo, PMIX_INT);
    return order(t->argc > 1 ? t->argv[1] : NULL, "signal", &directive);
}

static int simple_order(const struct tool *t, const char *what, const char *key)
{
    pmix_info_t directive;

    PMIX_INFO_LOAD(&directive, key, NULL, PMIX_BOOL);
    return order(t->argc ? t->argv[0] : NULL, what, &directive);
}

int tool_kill(struct tool *t)
{
    return simple_order(t, "kill", PMIX_JOB_CTRL_KILL);
}

int tool_pause(struct tool *t)
{
    return simple_order(t, "pause", PMIX_JOB_CTRL_PAUSE);
}

int tool_release(struct tool *t)
{
    struct targets targets;
    pmix_data_array_t list;
    pmix_info_t infos[2];
    pmix_status_t said;
    int status = tool_targets(t->argc ? t->argv[0] : NULL, &targets);

    if (status)
        return status;
    list = (pmix_data_array_t){ PMIX_PROC, targets.n, targets.procs };
    PMIX_INFO_LOAD(&infos[0], PMIX_EVENT_CUSTOM_RANGE, &list, PMIX_DATA_ARRAY);
    PMIX_INFO_LOAD(&infos[1], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    said = PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &t->me, PMIX_RANGE_CUSTOM, infos, 2, NULL, NULL);
    PMIX_INFO_DESTRUCT(&infos[0]);
    PMIX_INFO_DESTRUCT(&infos[1]);
    targets_clear(&targets);
    return said == PMIX_SUCCESS || said == PMIX_OPERATION_SUCCEEDED ? 0
                                                                    : tool_failed("release", said);
}

int tool_resume(struct tool *t)
{
    return simple_order(t, "resume", PMIX_JOB_CTRL_RESUME);
}
