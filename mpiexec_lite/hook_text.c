/* hook_text.c - see hook_text.h */
#include "mpiexec_lite/hook_text.h"

#include "pmix_ext/pmix_ext_keys.h"
#include "pmix_ext/value.h"
#include "wire/seal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const names[HOOKS] = {
    [HOOK_DESCRIBE] = "describe", [HOOK_APPLICATION] = "setup-application",
    [HOOK_LOCAL] = "setup-local", [HOOK_CHILD] = "setup-child",
    [HOOK_CHILD_FINISHED] = "child-finished", [HOOK_LOCAL_FINISHED] = "local-finished",
};

const char *hook_name(enum hook hook)
{
    return names[hook];
}

/* --- questions --------------------------------------------------------- */

/* Takes the object. */
static int put_line(struct buf *out, json_t *line)
{
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;

    if (text) {
        buf_str(out, text);
        buf_char(out, '\n');
        seal_wipe(text, strlen(text));
    }
    free(text);
    json_decref(line);
    return text && !out->failed ? 0 : -1;
}

static json_t *begin(enum hook hook)
{
    return json_pack("{s:s}", "hook", names[hook]);
}

int hook_ask_describe(struct buf *out)
{
    return put_line(out, json_pack("{s:s,s:i}", "hook", names[HOOK_DESCRIBE], "version", 1));
}

/* "0-3,8": the ranks of a node. */
static json_t *ranks_of(const struct placement *place, int node)
{
    struct buf text = BUF_INIT;
    json_t *x;

    for (size_t i = 0; i < place->nruns; i++) {
        const struct run *run = &place->runs[i];

        if (run->node != node)
            continue;
        buf_printf(&text, text.len ? ",%d" : "%d", run->first);
        if (run->n > 1)
            buf_printf(&text, "-%d", run->first + run->n - 1);
    }
    x = text.failed ? NULL : json_string(text.len ? buf_bytes(&text) : "");
    buf_clear(&text);
    return x;
}

/* Where all ranks are: node and process map in one. */
static json_t *nodes_of(const struct hook_job *j)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < j->plan->nhosts; i++)
        json_array_append_new(list, json_pack("{s:s,s:o?}", "name", j->plan->hosts[i].name,
                                              "ranks", ranks_of(j->place, (int)i)));
    return list;
}

static json_t *begin_job(enum hook hook, const struct hook_job *j)
{
    json_t *line = begin(hook);

    json_object_set_new(line, "job", json_string(j->id));
    if (j->spawner)
        json_object_set_new(line, "spawner", json_string(j->spawner));
    json_object_set_new(line, "uid", json_integer(geteuid()));
    json_object_set_new(line, "size", json_integer(j->place->size));
    json_object_set_new(line, "nodes", nodes_of(j));
    return line;
}

int hook_ask_application(struct buf *out, const struct hook_job *j)
{
    json_t *line = begin_job(HOOK_APPLICATION, j);
    json_t *directives = j->directives
                         ? json_loads(j->directives, 0, NULL)
                         : json_pack("[{s:s,s:s,s:b}]", "key", PMIX_SETUP_APP_ALL, "type",
                                     "PMIX_BOOL", "value", 1);

    json_object_set_new(line, "directives", directives);
    return put_line(out, line);
}

int hook_ask_local(struct buf *out, const struct hook_job *j, int node,
                   const struct setup *setup)
{
    json_t *line = begin_job(HOOK_LOCAL, j), *infos = NULL;
    struct buf text = BUF_INIT;
    struct err e;

    if (value_encode_array(PMIX_INFO, setup->infos.v, setup->infos.n, "infos", &text, &e) == 0)
        infos = json_loadb(buf_bytes(&text), text.len, 0, NULL);
    seal_wipe_buf(&text);
    buf_clear(&text);
    if (!infos) {
        json_decref(line);
        return -1;
    }
    json_object_set_new(line, "node", json_integer(node));
    json_object_set_new(line, "ranks", ranks_of(j->place, node));
    json_object_set_new(line, "infos", infos);
    return put_line(out, line);
}

int hook_ask_child(struct buf *out, int rank, int local_rank)
{
    return put_line(out, json_pack("{s:s,s:i,s:i}", "hook", names[HOOK_CHILD], "rank", rank,
                                   "local_rank", local_rank));
}

int hook_ask_child_finished(struct buf *out, int rank, bool started, int wstatus)
{
    json_t *line = begin(HOOK_CHILD_FINISHED);

    json_object_set_new(line, "rank", json_integer(rank));
    if (started && WIFSIGNALED(wstatus))
        json_object_set_new(line, "signal", json_integer(WTERMSIG(wstatus)));
    else if (started)
        json_object_set_new(line, "status", json_integer(WEXITSTATUS(wstatus)));
    return put_line(out, line);
}

int hook_ask_local_finished(struct buf *out)
{
    return put_line(out, begin(HOOK_LOCAL_FINISHED));
}

/* --- answers ----------------------------------------------------------- */

static int read_hooks(struct hook_answer *a, const json_t *list, struct err *e)
{
    size_t i;
    json_t *x;

    if (!json_is_array(list))
        return err_set(e, ERR_INVALID_VAL, "hooks: an array wanted");
    a->hooks = 0;
    json_array_foreach(list, i, x) {
        int hook = HOOK_APPLICATION;

        while (hook < HOOKS && json_is_string(x) && strcmp(names[hook], json_string_value(x)))
            hook++;
        if (hook == HOOKS || !json_is_string(x))
            return err_set(e, ERR_INVALID_VAL, "hooks[%zu]: there is no such hook", i);
        a->hooks |= HOOK_BIT(hook);
    }
    return 0;
}

static int read_timeout(struct hook_answer *a, const json_t *x, struct err *e)
{
    a->timeout = json_number_value(x);
    return json_is_number(x) && a->timeout > 0 && a->timeout <= HOOK_TIMEOUT_MAX
           ? 0 : err_set(e, ERR_INVALID_VAL, "timeout: up to %.0f seconds wanted",
                         HOOK_TIMEOUT_MAX);
}

static int read_root(struct hook_answer *a, const json_t *x, struct err *e)
{
    a->needs_root = json_is_true(x);
    return json_is_boolean(x) ? 0 : err_set(e, ERR_INVALID_VAL, "needs_root: true or false "
                                            "wanted");
}

static int read_error(struct hook_answer *a, const json_t *x, struct err *e)
{
    if (!json_is_string(x))
        return err_set(e, ERR_INVALID_VAL, "error: a text wanted");
    a->error = strdup(json_string_value(x));
    return a->error ? 0 : err_set(e, ERR_NOMEM, "no memory");
}

static int read_infos(struct hook_answer *a, const json_t *x, struct err *e)
{
    if (!json_is_array(x))
        return err_set(e, ERR_INVALID_VAL, "infos: an array wanted");
    a->infos = json_dumps(x, JSON_COMPACT);
    if (!a->infos)
        return err_set(e, ERR_NOMEM, "no memory");
    a->len = strlen(a->infos);
    return 0;
}

/* What an answer may have, to which hooks. */
static const struct member {
    const char *name;
    unsigned    to;
    int       (*read)(struct hook_answer *a, const json_t *x, struct err *e);
} members[] = {
    { "error",      ~0u, read_error },
    { "infos",      HOOK_BIT(HOOK_APPLICATION) | HOOK_BIT(HOOK_CHILD), read_infos },
    { "hooks",      HOOK_BIT(HOOK_DESCRIBE), read_hooks },
    { "timeout",    HOOK_BIT(HOOK_DESCRIBE), read_timeout },
    { "needs_root", HOOK_BIT(HOOK_DESCRIBE), read_root },
};

static int read_member(struct hook_answer *a, enum hook to, const char *name, const json_t *x,
                       struct err *e)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!strcmp(members[i].name, name) && (members[i].to & HOOK_BIT(to)))
            return members[i].read(a, x, e);
    return err_set(e, ERR_INVALID_VAL, "%.40s: no answer to %s has that", name, names[to]);
}

int hook_read(struct hook_answer *a, enum hook to, const char *line, size_t len, struct err *e)
{
    json_t *x = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL), *value;
    const char *name;
    int rc = 0;

    *a = (struct hook_answer){ .hooks = ~0u, .timeout = HOOK_TIMEOUT };
    if (!json_is_object(x))
        rc = err_set(e, ERR_INVALID_VAL, "its answer is no JSON object");
    else
        json_object_foreach(x, name, value)
            if (rc == 0)
                rc = read_member(a, to, name, value, e);
    json_decref(x);
    return rc;
}

void hook_answer_clear(struct hook_answer *a)
{
    if (a->infos)
        seal_wipe(a->infos, a->len);
    free(a->infos);
    free(a->error);
    *a = (struct hook_answer){ 0 };
}
