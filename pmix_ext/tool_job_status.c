/* tool_job_status.c - pmix_tool status: what has become of a job so far, and what does from now
 * on.  The number of the server's last event is asked for before the state, and events up to it
 * are left out: none that is newer is, and one may be told that the state has in it already. */
#include "pmix_ext/tool.h"

#include "pmix_ext/lite_keys.h"

#include <string.h>

static const struct { const char *name; uint32_t bit; } states[] = {
    { "created", LITE_STATUS_CREATED }, { "spawned", LITE_STATUS_SPAWNED },
    { "held", LITE_STATUS_HELD }, { "running", LITE_STATUS_RUNNING },
    { "ending", LITE_STATUS_ENDING }, { "node-lost", LITE_STATUS_NODE_LOST },
    { "terminated", LITE_STATUS_TERMINATED }, { "service-lost", LITE_STATUS_SERVICE_LOST },
};
enum { STATES = sizeof states / sizeof *states };

struct story {
    struct follow follow;
    const char   *nspace;
    uint64_t      seq;       /* of the last event that the state has in it */
    uint32_t      known;     /* the state, when it was asked for last */
    uint32_t      wanted;    /* states to wait for; 0: do not */
    atomic_bool   ended;     /* the job, and its server may go with it */
    bool          json, print;           /* print: events */
};

/* What the server raises of a job. */
static const pmix_status_t codes[] = {
    PMIX_EXT_JOB_CREATED, PMIX_EVENT_JOB_START, PMIX_LAUNCH_COMPLETE, PMIX_READY_FOR_DEBUG,
    PMIX_EXT_JOB_RELEASED, PMIX_EVENT_PROC_TERMINATED, PMIX_ERR_PROC_TERM_WO_SYNC,
    PMIX_ERR_EXIT_NONZERO_TERM, PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_PROC_KILLED_BY_CMD,
    PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_REQUESTED_ABORT, PMIX_ERR_PROC_FAILED_TO_START,
    PMIX_EVENT_NODE_DOWN, PMIX_ERR_JOB_ABORTED, PMIX_ERR_JOB_ABORTED_BY_SIG,
    PMIX_ERR_JOB_KILLED_BY_CMD, PMIX_ERR_JOB_TERM_WO_SYNC, PMIX_ERR_JOB_NON_ZERO_TERM,
    PMIX_ERR_JOB_FAILED_TO_LAUNCH, PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT, PMIX_ERR_JOB_CANCELED,
    PMIX_EVENT_JOB_END,
};

/* --- the state --------------------------------------------------------- */

static int read_states(const struct tool *t, uint32_t *wanted)
{
    const char *at = tool_value(t, OPT_WAIT);

    for (*wanted = 0; at; at = *at ? at + 1 : NULL) {
        size_t n = strcspn(at, ","), i = 0;

        while (i < STATES && (strlen(states[i].name) != n || strncmp(states[i].name, at, n)))
            i++;
        if (i == STATES)
            return tool_fail(STATUS_USAGE, "--wait: '%.*s' is no state", (int)n, at);
        *wanted |= states[i].bit;
        at += n;
    }
    return 0;
}

static pmix_status_t ask(struct story *s, uint32_t *mask)
{
    pmix_value_t v;
    pmix_status_t status = tool_ask(LITE_EVENT_SEQ, NULL, NULL, 0, &v);

    if (status != PMIX_SUCCESS)
        return status;
    s->seq = v.type == PMIX_UINT64 ? v.data.uint64 : 0;
    PMIX_VALUE_DESTRUCT(&v);
    status = tool_ask(LITE_JOB_STATUS, s->nspace, NULL, 0, &v);
    if (status != PMIX_SUCCESS)
        return status;
    s->known = *mask = v.type == PMIX_UINT32 ? v.data.uint32 : 0;
    PMIX_VALUE_DESTRUCT(&v);
    return PMIX_SUCCESS;
}

static int print_state(const struct story *s, uint32_t mask)
{
    json_t *list = s->json ? json_array() : NULL;
    const char *before = "  ";

    if (!s->json)
        printf("%s", s->nspace);
    for (size_t i = 0; i < STATES; i++) {
        if (!(mask & states[i].bit))
            continue;
        if (s->json)
            json_array_append_new(list, json_string(states[i].name));
        else
            printf("%s%s", before, states[i].name);
        before = ",";
    }
    if (s->json)
        return tool_line(json_pack("{s:s, s:i, s:o, s:I}", "nspace", s->nspace, "status",
                                   (int)mask, "states", list, "seq", (json_int_t)s->seq));
    putchar('\n');
    return tool_written();
}

/* --- events ------------------------------------------------------------ */

static uint64_t seq_of(const pmix_info_t *infos, size_t n)
{
    pmix_data_array_t all = { .type = PMIX_INFO, .size = n, .array = (void *)(uintptr_t)infos };
    const pmix_value_t *v = tool_find(&all, LITE_EVENT_SEQ);

    return v && v->type == PMIX_UINT64 ? v->data.uint64 : 0;
}

/* On the library's thread. */
static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source,
                     pmix_info_t infos[], size_t n, pmix_info_t *results, size_t nresults,
                     pmix_event_notification_cbfunc_fn_t done, void *cbdata)
{
    struct story *s = tool_object(infos, n);
    bool ours = PMIX_CHECK_NSPACE(source->nspace, s->nspace);

    (void)id;
    (void)results;
    (void)nresults;
    if ((ours || status == PMIX_EVENT_NODE_DOWN) && !s->follow.ended) {
        bool new = s->print && seq_of(infos, n) > s->seq;
        int bad = new ? event_print(s->json, status, source, infos, n) : 0;
        bool over = ours && status == PMIX_EVENT_JOB_END;

        if (over)
            s->ended = true;
        if (bad || (over && s->print))
            follow_end(&s->follow, bad);
        else
            follow_stir(&s->follow);
    }
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

/* --- the command ------------------------------------------------------- */

static int say(struct story *s)
{
    uint32_t mask;
    pmix_status_t status = ask(s, &mask);

    return status == PMIX_SUCCESS ? print_state(s, mask) : tool_failed(s->nspace, status);
}

/* The state, then what is new. */
static int follow(struct story *s)
{
    int status = say(s);

    s->print = true;
    if (!status)
        status = tool_register(codes, sizeof codes / sizeof *codes, on_event, s);
    while (!status && !s->follow.ended)
        if (follow_wait(&s->follow, -1) > 0)
            follow_end(&s->follow, 0);
    return status ? status : s->follow.status;
}

/* Each event is a reason to look; the job's end is known from that, as its server may be gone. */
static int wait_until(struct story *s)
{
    int status = tool_register(codes, sizeof codes / sizeof *codes, on_event, s);

    while (!status) {
        uint32_t mask = LITE_STATUS_CREATED;
        bool ended = s->ended;
        pmix_status_t said = ask(s, &mask);

        if ((said == PMIX_ERR_LOST_CONNECTION || said == PMIX_ERR_UNREACH) && !ended)
            follow_end(&s->follow, STATUS_NO_SERVER);
        if (said != PMIX_SUCCESS && !ended)
            return s->follow.ended ? s->follow.status : tool_failed(s->nspace, said);
        mask |= ended ? LITE_STATUS_TERMINATED : 0U;
        if (mask & s->wanted)
            return print_state(s, mask);
        if (ended)
            return tool_fail(STATUS_FAILED, "%s has ended before", s->nspace);
        if (follow_wait(&s->follow, -1) > 0)
            return STATUS_FAILED;
        if (s->follow.ended && !s->ended)
            return s->follow.status;
    }
    return status;
}

/* A state of its own; to whom it comes unasked, a failure. */
static int lost(const struct story *s)
{
    int status = print_state(s, s->known | LITE_STATUS_SERVICE_LOST);

    if (s->wanted & LITE_STATUS_SERVICE_LOST)
        return status;
    tool_fail(0, "the server has gone; what becomes of %s is not known", s->nspace);
    return STATUS_NO_SERVER;
}

static int run(struct tool *t, struct story *s)
{
    int status;

    if (!s->wanted && !tool_has(t, OPT_FOLLOW))
        return say(s);
    status = follow_start(&s->follow);
    if (status)
        return status;
    status = follow_connection(&s->follow, STATUS_NO_SERVER);
    if (!status && s->wanted)
        status = wait_until(s);
    else if (!status)
        status = follow(s);
    if (s->follow.ended && s->follow.status == STATUS_NO_SERVER && !s->ended)
        status = lost(s);
    PMIx_tool_finalize();                /* after which nothing is called any more */
    follow_stop(&s->follow);
    return status;
}

int tool_job_status(struct tool *t)
{
    struct targets targets;
    struct story s = { .json = t->json };
    int status = read_states(t, &s.wanted);

    if (!status && s.wanted && tool_has(t, OPT_FOLLOW))
        status = tool_fail(STATUS_USAGE, "status: --follow or --wait, not both");
    if (status)
        return status;
    status = tool_targets(t->argc ? t->argv[0] : NULL, &targets);
    s.nspace = targets.nspace;
    if (!status)
        status = run(t, &s);
    targets_clear(&targets);
    return status;
}
