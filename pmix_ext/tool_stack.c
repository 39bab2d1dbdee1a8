/* tool_stack.c - pmix_tool stack: where the ranks of a job are, as one tree of calls. */
#include "pmix_ext/tool.h"

#include "pmix_ext/calltree.h"
#include "pmix_ext/lite_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct report {
    struct targets  targets;
    const char     *key;                 /* of the first thread, or of all */
    int             size;                /* ranks of the job */
    int             timeout;             /* s, for the answer to a question */
    struct calltree stacks, missing, ops;        /* missing: why there is no stack */
};

static void report_clear(struct report *r)
{
    calltree_clear(&r->stacks);
    calltree_clear(&r->missing);
    calltree_clear(&r->ops);
    targets_clear(&r->targets);
}

/* --- asking ------------------------------------------------------------ */

static void add(struct calltree *t, pmix_rank_t rank, const pmix_value_t *v)
{
    if (v && v->type == PMIX_STRING && v->data.string)
        calltree_add(t, (int)rank, v->data.string, strlen(v->data.string));
}

/* What the server says of one rank. */
static void add_rank(struct report *r, const pmix_info_t *info)
{
    const pmix_data_array_t *facts = info->value.type == PMIX_DATA_ARRAY ? info->value.data.darray
                                                                         : NULL;
    const pmix_value_t *proc = tool_find(facts, PMIX_PROCID);

    if (!proc || proc->type != PMIX_PROC)
        return;
    add(&r->stacks, proc->data.proc->rank, tool_find(facts, LITE_STACK));
    add(&r->missing, proc->data.proc->rank, tool_find(facts, LITE_STACK_WHY));
    add(&r->ops, proc->data.proc->rank, tool_find(facts, LITE_OP));
}

/* The answer to a key for the ranks that are meant. */
static pmix_status_t ask_ranks(const struct report *r, const char *key, pmix_value_t *v)
{
    const struct targets *t = &r->targets;
    bool all = t->procs[0].rank == PMIX_RANK_WILDCARD;
    size_t n = all ? 0 : t->n;
    pmix_info_t *which = PMIx_Info_create(n + 1);
    pmix_status_t status;

    if (!which)
        return PMIX_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        PMIX_INFO_LOAD(&which[i], PMIX_PROCID, &t->procs[i], PMIX_PROC);
    PMIX_INFO_LOAD(&which[n], PMIX_TIMEOUT, &r->timeout, PMIX_INT);
    status = tool_ask_some(key, all ? t->nspace : NULL, which, n + 1, v);
    PMIX_INFO_FREE(which, n + 1);
    return status;
}

/* 0, or the exit status.  Who has not answered one question is not waited for again. */
static int ask(struct report *r, const char *key)
{
    pmix_value_t v;
    pmix_status_t status = ask_ranks(r, key, &v);
    const pmix_data_array_t *a;

    if (status != PMIX_SUCCESS && status != PMIX_QUERY_PARTIAL_SUCCESS)
        return tool_failed(r->targets.nspace, status);
    if (status == PMIX_QUERY_PARTIAL_SUCCESS)
        r->timeout = 1;
    a = v.type == PMIX_DATA_ARRAY ? v.data.darray : NULL;
    for (size_t i = 0; a && a->type == PMIX_INFO && i < a->size; i++)
        add_rank(r, (const pmix_info_t *)a->array + i);
    PMIX_VALUE_DESTRUCT(&v);
    return 0;
}

static int ask_size(struct report *r)
{
    pmix_value_t v;
    pmix_status_t status = tool_ask(PMIX_JOB_SIZE, r->targets.nspace, NULL, 0, &v);

    if (status != PMIX_SUCCESS)
        return tool_failed(r->targets.nspace, status);
    r->size = v.type == PMIX_UINT32 && v.data.uint32 < 1 << 30 ? (int)v.data.uint32 : 0;
    PMIX_VALUE_DESTRUCT(&v);
    for (size_t i = 0; i < r->targets.n; i++)
        if (r->targets.procs[i].rank >= (pmix_rank_t)r->size &&
            r->targets.procs[i].rank <= PMIX_RANK_VALID)
            return tool_fail(STATUS_USAGE, "%s has no rank %u", r->targets.nspace,
                             r->targets.procs[i].rank);
    return 0;
}

static int take_samples(const struct tool *t, struct report *r)
{
    double samples, interval, timeout;
    int status = tool_number(t, OPT_COUNT, 1, 1, &samples);

    if (!status)
        status = tool_number(t, OPT_DELAY, 0, 0.1, &interval);
    if (!status)
        status = tool_number(t, OPT_TIMEOUT, 1, 6, &timeout);
    if (!status)
        r->timeout = timeout < 86400 ? (int)timeout : 86400;
    for (int i = 0; !status && i < samples; i++) {
        struct timespec pause = { (time_t)interval,
                                  (long)((interval - (double)(time_t)interval) * 1e9) };

        if (i)
            nanosleep(&pause, NULL);
        status = ask(r, r->key);
    }
    return status ? status : ask(r, LITE_PROC_OPS);
}

/* --- as text, as JSON, drawn ------------------------------------------- */

static void add_part(const char *head, const struct calltree *t, struct buf *out)
{
    if (!t->root.count)
        return;
    buf_printf(out, "%s%s", out->len ? "\n" : "", head);
    calltree_text(t, out);
}

static int print_text(const struct report *r, struct buf *out)
{
    add_part("", &r->stacks, out);
    add_part("Waiting in a PMI command:\n", &r->ops, out);
    add_part("Unavailable:\n", &r->missing, out);
    return 0;
}

static json_t *ranks_json(const struct calltree *t, const struct call *c)
{
    struct buf ranks = BUF_INIT;
    json_t *json;

    calltree_ranks(t, c->ranks, &ranks);
    json = json_pack("{s:o, s:s, s:i}", "name", tool_json_text(c->name), "ranks",
                     ranks.len ? buf_bytes(&ranks) : "", "count", c->count);
    buf_clear(&ranks);
    return json;
}

static json_t *calls_json(const struct calltree *t, const struct call *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->n; i++) {
        json_t *one = ranks_json(t, c->below[i]);

        json_object_set_new(one, "calls", calls_json(t, c->below[i]));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *list_json(const struct calltree *t)
{
    json_t *list = json_array();

    for (size_t i = 0; i < t->root.n; i++)
        json_array_append_new(list, ranks_json(t, t->root.below[i]));
    return list;
}

static int print_json(const struct report *r)
{
    return tool_document(json_pack("{s:s, s:i, s:o, s:o, s:o}", "nspace", r->targets.nspace,
                                   "size", r->size, "calls",
                                   calls_json(&r->stacks, &r->stacks.root), "waiting",
                                   list_json(&r->ops), "unavailable", list_json(&r->missing)));
}

/* dot, which reads from one pipe and writes to the other; 0, or -1 and errno.  The others' ends are
 * closed. */
static int start_dot(int *to, int *from, pid_t *pid)
{
    int in[2], out[2];

    if (pipe2(in, O_CLOEXEC) < 0)
        return -1;
    if (pipe2(out, O_CLOEXEC) < 0 || (*pid = fork()) < 0) {
        close(in[0]);
        close(in[1]);
        return -1;
    }
    if (!*pid) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execlp("dot", "dot", "-Tsvg", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    *to = in[1];
    *from = out[0];
    return 0;
}

/* It reads the whole graph before it writes. */
static void feed_dot(int to, int from, const struct buf *graph, struct buf *picture)
{
    FILE *f = fdopen(to, "w");
    char piece[32768];
    ssize_t n;

    if (f)
        fwrite(buf_bytes(graph), 1, graph->len, f);
    if (f)
        fclose(f);
    else
        close(to);
    while ((n = read(from, piece, sizeof piece)) > 0)
        buf_add(picture, piece, (size_t)n);
    close(from);
}

/* What dot makes of the graph is taken from it: it does not say whether that could be written.
 * 0, or STATUS_FAILED, which was said. */
static int draw(const struct buf *graph, struct buf *picture)
{
    int to, from, status;
    pid_t pid;

    if (start_dot(&to, &from, &pid) < 0)
        return tool_fail(STATUS_FAILED, "dot cannot be started: %s", strerror(errno));
    feed_dot(to, from, graph, picture);
    if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
        return tool_fail(STATUS_FAILED, "dot has failed");
    if (WEXITSTATUS(status) == 127)
        return tool_fail(STATUS_FAILED, "--svg needs the program dot (package graphviz); --dot "
                                        "prints what it reads");
    if (WEXITSTATUS(status))
        return tool_fail(STATUS_FAILED, "dot has failed with status %d", WEXITSTATUS(status));
    return picture->failed ? tool_fail(STATUS_FAILED, "out of memory") : 0;
}

static int print(const struct tool *t, const struct report *r)
{
    bool svg = tool_has(t, OPT_SVG);
    struct buf out = BUF_INIT, picture = BUF_INIT;
    const struct buf *what = svg ? &picture : &out;
    int status = 0;

    if (t->json)
        return print_json(r);
    if (svg || tool_has(t, OPT_DOT))
        calltree_dot(&r->stacks, r->targets.nspace, &out);
    else
        print_text(r, &out);
    if (r->stacks.failed || r->missing.failed || out.failed)
        status = tool_fail(STATUS_FAILED, "out of memory");
    else if (svg)
        status = draw(&out, &picture);
    if (!status && what->len)
        fwrite(buf_bytes(what), 1, what->len, stdout);
    buf_clear(&out);
    buf_clear(&picture);
    return status ? status : tool_written();
}

/* --- the command ------------------------------------------------------- */

static int run(const struct tool *t, struct report *r)
{
    int status = ask_size(r);

    if (status)
        return status;
    if (calltree_init(&r->stacks, r->size, !tool_has(t, OPT_FUNCTIONS)) < 0 ||
        calltree_init(&r->missing, r->size, true) < 0 || calltree_init(&r->ops, r->size, true) < 0)
        return tool_fail(STATUS_FAILED, "out of memory");
    status = take_samples(t, r);
    if (status)
        return status;
    calltree_sort(&r->stacks);
    calltree_sort(&r->missing);
    calltree_sort(&r->ops);
    status = print(t, r);
    return status || r->stacks.root.count ? status : STATUS_FAILED;
}

int tool_stack(struct tool *t)
{
    struct report r = { .key = tool_has(t, OPT_THREADS) ? LITE_THREAD_STACKS : LITE_PROC_STACKS };
    int status = tool_targets(t->argc ? t->argv[0] : NULL, &r.targets);

    if (!status)
        status = run(t, &r);
    report_clear(&r);
    return status;
}
