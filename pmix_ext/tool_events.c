/* tool_events.c - pmix_tool events: what happens, as it happens. */
#include "pmix_ext/tool.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* What the server raises for those only who ask for it. */
static const pmix_status_t quiet[] = {
    PMIX_EXT_JOB_CREATED, PMIX_EVENT_JOB_START, PMIX_LAUNCH_COMPLETE, PMIX_EXT_JOB_RELEASED,
    PMIX_EVENT_JOB_END, PMIX_EVENT_SESSION_START, PMIX_EVENT_SESSION_END, PMIX_EVENT_PROC_TERMINATED, PMIX_EVENT_NODE_DOWN,
    PMIX_EVENT_NODE_OFFLINE, PMIX_EVENT_SYS_OTHER, PMIX_READY_FOR_DEBUG, PMIX_DEBUGGER_RELEASE,
    PMIX_MONITOR_HEARTBEAT_ALERT, PMIX_MONITOR_FILE_ALERT, PMIX_PROC_HAS_CONNECTED,
};

struct watch {
    struct follow follow;
    bool          json;
    double        left;      /* events to come; below 0: any number */
};

/* What a handler is called with besides what the event says. */
static bool is_own(const pmix_info_t *info)
{
    return !strcmp(info->key, PMIX_EVENT_RETURN_OBJECT) ||
           !strcmp(info->key, PMIX_EVENT_HDLR_NAME);
}

/* And what is of no interest to people: the time is at the beginning of the line. */
static bool is_told(const pmix_info_t *info)
{
    return is_own(info) || !strcmp(info->key, PMIX_EVENT_NON_DEFAULT) ||
           !strcmp(info->key, PMIX_EVENT_TIMESTAMP);
}

/* Now, more exactly than the event says; or, of one that was kept for us, as it says. */
static double time_of(const pmix_info_t *infos, size_t n)
{
    pmix_data_array_t all = { .type = PMIX_INFO, .size = n, .array = (void *)(uintptr_t)infos };
    const pmix_value_t *v = tool_find(&all, PMIX_EVENT_TIMESTAMP);
    double now = tool_now(), then = v && v->type == PMIX_TIME ? (double)v->data.time : now;

    return now - then >= 2 ? then : now;
}

static int print_line(double when, pmix_status_t status, const pmix_proc_t *source,
                      const pmix_info_t *infos, size_t n)
{
    pmix_value_t from = { .type = PMIX_PROC, .data.proc = (pmix_proc_t *)(uintptr_t)source };
    struct buf line = BUF_INIT;
    char time[40];

    tool_time(when, time, sizeof time);
    buf_printf(&line, "%s  %s  ", time, PMIx_Error_string(status));
    if (!strcmp(PMIx_Error_string(status), "unknown"))
        buf_printf(&line, "(%d)  ", status);
    tool_show(&from, &line);
    for (size_t i = 0; i < n; i++) {
        const char *name = PMIx_Get_attribute_name(infos[i].key);

        if (is_told(&infos[i]))
            continue;
        buf_str(&line, "  ");
        buf_escaped(&line, name, strlen(name));
        buf_char(&line, '=');
        tool_show(&infos[i].value, &line);
    }
    if (!line.failed)
        puts(buf_bytes(&line));
    buf_clear(&line);
    return tool_written();
}

static int print_json(double when, pmix_status_t status, const pmix_proc_t *source,
                      const pmix_info_t *infos, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        if (!is_own(&infos[i]))
            json_array_append_new(list, tool_json(PMIX_INFO, &infos[i]));
    return tool_line(json_pack("{s:f, s:i, s:s, s:o, s:o}", "time", when, "status", status, "name",
                               PMIx_Error_string(status), "source",
                               tool_json(PMIX_PROC, source), "infos", list));
}

int event_print(bool json, pmix_status_t status, const pmix_proc_t *source,
                const pmix_info_t *infos, size_t n)
{
    return (json ? print_json : print_line)(time_of(infos, n), status, source, infos, n);
}

/* On the library's thread, one after the other. */
static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t infos[], size_t n, pmix_info_t *results, size_t nresults,
                     pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    struct watch *w = tool_object(infos, n);

    (void)id;
    (void)results;
    (void)nresults;
    if (w->left != 0 && !w->follow.ended) {
        int bad = event_print(w->json, status, source, infos, n);

        if (bad)
            follow_end(&w->follow, bad);
        if (w->left > 0 && --w->left == 0)
            follow_end(&w->follow, 0);
    }
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* The codes of -c.  0, or STATUS_USAGE. */
static int read_codes(const struct tool *t, pmix_status_t *codes, size_t *n)
{
    for (size_t i = 0; i < t->ngiven; i++)
        if (t->given[i].id == OPT_CODE && tool_status(t->given[i].arg, &codes[(*n)++]))
            return STATUS_USAGE;
    return 0;
}

static int listen_to(struct watch *w, const pmix_status_t *codes, size_t n)
{
    int status;

    if (n)
        return tool_register(codes, n, on_event, w);
    status = tool_register(quiet, sizeof quiet / sizeof *quiet, on_event, w);
    return status ? status : tool_register(NULL, 0, on_event, w);
}

static int watch(struct tool *t, struct watch *w, const pmix_status_t *codes, size_t n)
{
    int status = follow_start(&w->follow);

    if (status)
        return status;
    status = follow_connection(&w->follow, 0);
    if (!status)
        status = listen_to(w, codes, n);
    if (!status) {
        if (!t->json)
            tool_fail(0, "waiting for events");
        follow_wait(&w->follow, -1);
        follow_end(&w->follow, 0);
        status = w->follow.status;
    }
    PMIx_tool_finalize();                /* after which nothing is called any more */
    follow_stop(&w->follow);
    return status;
}

int tool_events(struct tool *t)
{
    struct watch w = { .json = t->json };
    pmix_status_t *codes = calloc(t->ngiven + 1, sizeof *codes);
    size_t n = 0;
    int status = tool_number(t, OPT_COUNT, 1, -1, &w.left);

    if (!codes)
        return tool_fail(STATUS_FAILED, "out of memory");
    if (!status)
        status = read_codes(t, codes, &n);
    if (!status)
        status = tool_reach_only();
    if (!status)
        status = watch(t, &w, codes, n);
    free(codes);
    return status;
}
