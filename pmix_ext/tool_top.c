/* tool_top.c - pmix_tool top: a table of ranks, again and again. */
#include "pmix_ext/tool.h"

#include "pmix_ext/lite_keys.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *const heads[] = { "NSPACE", ">RANK", "HOST", ">PID", "STATE", "S", ">CPU%",
                                     ">TIME", ">RSS MiB", ">THR", "WAITS IN", ">FOR", "PROGRAM",
                                     NULL };

struct row {
    pmix_proc_t proc;
    pmix_proc_state_t state;
    char    host[64], program[64];       /* cut */
    pid_t   pid;
    bool    running;         /* what follows is known */
    char    process;         /* R, S, D, T, Z */
    double  cpu, percent;    /* seconds; since the table before, below 0: there was none */
    double  rss;             /* MiB */
    int     threads;
    char    op[32];          /* the PMI command that it waits in, or "" */
    double  op_time;         /* seconds */
};

struct top {
    struct row *rows;        /* owned; by nspace and rank */
    size_t      n;
    double      when;        /* seconds since 1970 */
};

/* --- gathering --------------------------------------------------------- */

static int by_proc(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int way = strcmp(x->proc.nspace, y->proc.nspace);

    return way ? way : (x->proc.rank > y->proc.rank) - (x->proc.rank < y->proc.rank);
}

static struct row *find(const struct top *t, const pmix_proc_t *proc)
{
    struct row key;

    key.proc = *proc;
    return t->n ? bsearch(&key, t->rows, t->n, sizeof *t->rows, by_proc) : NULL;
}

static const char *last_of(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path ? path : "";
}

static int add_ranks(struct top *t, const pmix_data_array_t *a)
{
    const pmix_proc_info_t *p = a->array;
    struct row *rows = realloc(t->rows, (t->n + a->size + 1) * sizeof *rows);

    if (!rows)
        return tool_fail(STATUS_FAILED, "out of memory");
    t->rows = rows;
    for (size_t i = 0; i < a->size; i++) {
        struct row *r = &t->rows[t->n++];

        *r = (struct row){ .proc = p[i].proc, .state = p[i].state, .pid = p[i].pid,
                           .percent = -1 };
        snprintf(r->host, sizeof r->host, "%s", p[i].hostname ? p[i].hostname : "");
        snprintf(r->program, sizeof r->program, "%s", last_of(p[i].executable_name));
    }
    return 0;
}

static void add_stats(const struct top *t, const pmix_data_array_t *a)
{
    const pmix_proc_stats_t *s = a->array;

    for (size_t i = 0; i < a->size; i++) {
        struct row *r = find(t, &s[i].proc);

        if (!r)
            continue;
        r->running = true;
        r->process = s[i].state;
        r->cpu = (double)s[i].time.tv_sec + (double)s[i].time.tv_usec / 1e6;
        r->rss = (double)s[i].rss;
        r->threads = s[i].num_threads;
    }
}

static void add_ops(const struct top *t, const pmix_data_array_t *a)
{
    const pmix_info_t *rank = a->array;

    for (size_t i = 0; i < a->size; i++) {
        const pmix_data_array_t *facts = rank[i].value.type == PMIX_DATA_ARRAY
                                             ? rank[i].value.data.darray : NULL;
        const pmix_value_t *proc = tool_find(facts, PMIX_PROCID);
        const pmix_value_t *op = tool_find(facts, LITE_OP);
        const pmix_value_t *time = tool_find(facts, LITE_OP_TIME);
        struct row *r = proc && proc->type == PMIX_PROC ? find(t, proc->data.proc) : NULL;

        if (r && op && op->type == PMIX_STRING)
            snprintf(r->op, sizeof r->op, "%s", op->data.string);
        if (r && time && time->type == PMIX_DOUBLE)
            r->op_time = time->data.dval;
    }
}

/* Instead of an exit status, of what has ended meanwhile: nothing was said. */
enum { JOB_GONE = -1, SERVER_GONE = -2 };

static int failed(const char *what, pmix_status_t status)
{
    if (status == PMIX_ERR_INVALID_NAMESPACE)
        return JOB_GONE;
    if (status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_UNREACH)
        return SERVER_GONE;
    return tool_failed(what, status);
}

/* The array that a key of a job has for an answer.  0, ..._GONE, or the exit status. */
static int ask_array(const char *key, const char *nspace, pmix_data_type_t type, pmix_value_t *v)
{
    pmix_status_t status = tool_ask(key, nspace, NULL, 0, v);

    if (status != PMIX_SUCCESS)
        return failed(nspace, status);
    if (v->type == PMIX_DATA_ARRAY && v->data.darray && v->data.darray->type == type)
        return 0;
    PMIX_VALUE_DESTRUCT(v);
    return tool_fail(STATUS_FAILED, "%s: %s is no array of %s", nspace, key,
                     PMIx_Data_type_string(type));
}

static int add_job(struct top *t, const char *nspace)
{
    static const struct {
        const char *key;
        pmix_data_type_t type;
        void (*add)(const struct top *, const pmix_data_array_t *);
    } more[] = { { LITE_PROC_STATS, PMIX_PROC_STATS, add_stats },
                 { LITE_PROC_OPS, PMIX_INFO, add_ops } };
    pmix_value_t v;
    int status = ask_array(PMIX_QUERY_PROC_TABLE, nspace, PMIX_PROC_INFO, &v);

    if (status)
        return status;
    status = add_ranks(t, v.data.darray);
    PMIX_VALUE_DESTRUCT(&v);
    qsort(t->rows, t->n, sizeof *t->rows, by_proc);
    for (size_t i = 0; i < 2 && !status; i++) {
        status = ask_array(more[i].key, nspace, more[i].type, &v);
        if (status)
            break;
        more[i].add(t, v.data.darray);
        PMIX_VALUE_DESTRUCT(&v);
    }
    return status;
}

static void add_percents(const struct top *t, const struct top *before)
{
    double passed = t->when - before->when;

    for (size_t i = 0; i < t->n; i++) {
        struct row *r = &t->rows[i];
        const struct row *old = find(before, &r->proc);

        if (old && old->running && r->running && old->pid == r->pid && passed > 0)
            r->percent = 100 * (r->cpu - old->cpu) / passed;
    }
}

static int gather(const struct tool *tool, struct top *t, const struct top *before)
{
    char **jobs = NULL;
    pmix_status_t said = tool->argc ? PMIX_SUCCESS : tool_list_jobs(&jobs);
    int status = said == PMIX_SUCCESS ? 0 : failed("the list of jobs", said);

    *t = (struct top){ .when = tool_now() };
    for (char **job = tool->argc ? tool->argv : jobs; !status && job && *job; job++) {
        status = add_job(t, *job);
        if (status == JOB_GONE)
            status = tool->argc ? tool_failed(*job, PMIX_ERR_INVALID_NAMESPACE) : 0;
    }
    PMIx_Argv_free(jobs);
    add_percents(t, before);
    return status;
}

/* --- showing ----------------------------------------------------------- */

static void add_row(struct table *table, const struct row *r)
{
    char state[40];

    tool_state(r->state, state, sizeof state);
    table_add(table, "%s", r->proc.nspace);
    table_add(table, "%u", r->proc.rank);
    table_add(table, "%s", r->host);
    table_add(table, "%d", (int)r->pid);
    table_add(table, "%s", state);
    table_add(table, "%c", r->running ? r->process : '-');
    if (r->percent >= 0)
        table_add(table, "%.1f", r->percent);
    else
        table_add(table, "-");
    table_add(table, "%.2f", r->cpu);
    table_add(table, "%.1f", r->rss);
    table_add(table, "%d", r->threads);
    table_add(table, "%s", *r->op ? r->op : "-");
    if (*r->op)
        table_add(table, "%.1f s", r->op_time);
    else
        table_add(table, "-");
    table_add(table, "%s", r->program);
}

static void show(const struct top *t, bool batch)
{
    struct winsize w = { .ws_row = 0 };
    struct table table;
    char time[40];

    if (!batch)
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
    tool_time(t->when, time, sizeof time);
    table_start(&table, heads);
    for (size_t i = 0; i < t->n; i++)
        add_row(&table, &t->rows[i]);
    fputs(batch ? "" : "\033[H\033[2J", stdout);
    printf("%.19s  %zu ranks\n", time, t->n);
    table_print(&table, stdout, w.ws_row > 4 ? (size_t)w.ws_row - 3 : SIZE_MAX, w.ws_col);
    if (batch)
        putchar('\n');
}

static json_t *row_json(const struct row *r)
{
    char state[40];
    json_t *json;

    tool_state(r->state, state, sizeof state);
    json = json_pack("{s:o, s:i, s:o, s:i, s:s, s:o}", "nspace", tool_json_text(r->proc.nspace),
                     "rank", (int)r->proc.rank, "host", tool_json_text(r->host), "pid",
                     (int)r->pid, "state", state, "program", tool_json_text(r->program));
    if (r->running) {
        json_object_set_new(json, "process", json_stringn(&r->process, 1));
        json_object_set_new(json, "cpu", json_real(r->cpu));
        json_object_set_new(json, "rss", json_real(r->rss));
        json_object_set_new(json, "threads", json_integer(r->threads));
    }
    if (r->percent >= 0)
        json_object_set_new(json, "percent", json_real(r->percent));
    if (*r->op) {
        json_object_set_new(json, "op", tool_json_text(r->op));
        json_object_set_new(json, "op_time", json_real(r->op_time));
    }
    return json;
}

static int show_json(const struct top *t)
{
    json_t *ranks = json_array();

    for (size_t i = 0; i < t->n; i++)
        json_array_append_new(ranks, row_json(&t->rows[i]));
    return tool_line(json_pack("{s:f, s:o}", "time", t->when, "ranks", ranks));
}

/* --- again and again --------------------------------------------------- */

/* One table, which is then that of before.  0, SERVER_GONE, or the exit status. */
static int look(const struct tool *tool, struct top *before, bool batch)
{
    struct top now;
    int status = gather(tool, &now, before);

    if (status) {
        free(now.rows);
        return status;
    }
    if (tool->json)
        status = show_json(&now);
    else
        show(&now, batch);
    free(before->rows);
    *before = now;
    return status ? status : tool_written();
}

static int repeat(const struct tool *tool, struct follow *f, double delay, double count)
{
    bool batch = tool->json || tool_has(tool, OPT_BATCH) || !isatty(STDOUT_FILENO);
    struct top before = { .n = 0 };
    int status = follow_connection(f, 0);

    for (double i = 0; !status && !f->ended && (count < 0 || i < count); i++) {
        if (i && follow_wait(f, delay))
            break;
        if (!f->ended)
            status = look(tool, &before, batch);
    }
    if (status == SERVER_GONE)           /* as it does when its last job has ended */
        status = before.n ? 0 : tool_failed("the server", PMIX_ERR_LOST_CONNECTION);
    follow_end(f, 0);
    PMIx_tool_finalize();
    free(before.rows);
    return status;
}

int tool_top(struct tool *t)
{
    struct follow follow;
    double delay, count;
    int status = tool_number(t, OPT_DELAY, 0.1, 2, &delay);

    if (!status)
        status = tool_number(t, OPT_COUNT, 1, -1, &count);
    if (!status)
        status = follow_start(&follow);
    if (status)
        return status;
    if (t->argc)
        tool_reach(t->argv[0]);
    else
        status = tool_reach_only();
    if (!status)
        status = repeat(t, &follow, delay, count);
    follow_stop(&follow);
    return status;
}
