/* spawn_apps.c - see serve_spawn.h */
#include "pmix_ext/serve_spawn.h"

#include "pmix_ext/hold_text.h"
#include "pmix_ext/spawn_daemons.h"
#include "pmix_ext/support.h"
#include "wire/limits.h"

#include <stdlib.h>
#include <string.h>

/* --- what a key means -------------------------------------------------- */

typedef pmix_status_t take_fn(struct spawn_command *c, const char *word,
                              const pmix_value_t *v, struct err *e);

static take_fn take_text, take_number, take_flag, take_change, take_unset, take_prefix,
    take_map, take_ppr, take_rank, take_set, take_binding, take_target, take_hold;

/* word: what the launcher calls it (mpiexec_lite/spawned.h), or the only value that it has.
 * In the order in which changes of the environment are made, it is the launcher's to keep. */
static const struct { struct directive_rule rule; take_fn *take; const char *word; } keys[] = {
    { DIRECTIVE_KNOWN(PMIX_WDIR, PMIX_STRING), take_text, "wdir" },
    { DIRECTIVE_KNOWN(PMIX_HOST, PMIX_STRING), take_text, "host" },
    { DIRECTIVE_KNOWN(PMIX_ADD_HOST, PMIX_STRING), take_text, "host" },
    { DIRECTIVE_KNOWN(PMIX_HOSTFILE, PMIX_STRING), take_text, "hostfile" },
    { DIRECTIVE_KNOWN(PMIX_ADD_HOSTFILE, PMIX_STRING), take_text, "hostfile" },
    { DIRECTIVE_KNOWN(PMIX_PREFIX, PMIX_STRING), take_prefix, NULL },
    { DIRECTIVE_KNOWN(PMIX_SET_ENVAR, PMIX_ENVAR), take_change, "env-set" },
    { DIRECTIVE_KNOWN(PMIX_ADD_ENVAR, PMIX_ENVAR), take_change, "env-add" },
    { DIRECTIVE_KNOWN(PMIX_UNSET_ENVAR, PMIX_STRING), take_unset, "env-unset" },
    { DIRECTIVE_KNOWN(PMIX_PREPEND_ENVAR, PMIX_ENVAR), take_change, "env-prepend" },
    { DIRECTIVE_KNOWN(PMIX_APPEND_ENVAR, PMIX_ENVAR), take_change, "env-append" },
    { DIRECTIVE_KNOWN(PMIX_FIRST_ENVAR, PMIX_ENVAR), take_change, "env-first" },
    { DIRECTIVE_KNOWN(PMIX_JOB_TIMEOUT, PMIX_INT), take_number, "timeout" },
    { DIRECTIVE_KNOWN(PMIX_ABORT_NON_ZERO_TERM, PMIX_BOOL), take_flag, "end-on-nonzero" },
    { DIRECTIVE_KNOWN(PMIX_MAPBY, PMIX_STRING), take_map, "map" },
    { DIRECTIVE_KNOWN(PMIX_PPR, PMIX_STRING), take_ppr, "map" },
    { DIRECTIVE_KNOWN(PMIX_RANKBY, PMIX_STRING), take_rank, "rank" },
    { DIRECTIVE_KNOWN(PMIX_PSET_NAME, PMIX_STRING), take_set, "pset" },
    { DIRECTIVE_KNOWN(PMIX_BINDTO, PMIX_STRING), take_binding, "bind" },
    { DIRECTIVE_KNOWN(PMIX_STDIN_TGT, PMIX_PROC), take_target, "stdin" },
    /* true, a rank, or an array of ranks or processes */
    { DIRECTIVE_KNOWN(PMIX_DEBUG_STOP_ON_EXEC, PMIX_BOOL), take_hold, "exec" },
    { DIRECTIVE_KNOWN(PMIX_DEBUG_STOP_IN_INIT, PMIX_BOOL), take_hold, "init" },
    { DIRECTIVE_KNOWN(PMIX_DEBUG_STOP_IN_APP, PMIX_BOOL), take_hold, "app" },
    { DIRECTIVE_KNOWN(PMIX_FORKEXEC_AGENT, PMIX_STRING), take_text, "fork-agent" },
    { DIRECTIVE_KNOWN(PMIX_EXEC_AGENT, PMIX_STRING), take_text, "fork-agent" },
    { DIRECTIVE_KNOWN(PMIX_SPAWN_LOCAL_FORK_AGENT, PMIX_STRING), take_text, "fork-agent" },
    /* A launcher is a program as others; libpmix_ext sees to the rest. */
    { DIRECTIVE_KNOWN(PMIX_SPAWN_TOOL, PMIX_BOOL), NULL, NULL },
    { DIRECTIVE_KNOWN(PMIX_SPAWN_LAUNCHER, PMIX_BOOL), NULL, NULL },
    /* What they ask for goes to who spawns, not to the job: */
    { DIRECTIVE_KNOWN(PMIX_FWD_STDOUT, PMIX_BOOL), NULL, NULL },
    { DIRECTIVE_KNOWN(PMIX_FWD_STDERR, PMIX_BOOL), NULL, NULL },
    { DIRECTIVE_KNOWN(PMIX_FWD_STDIN, PMIX_BOOL), NULL, NULL },
    /* Events come to whoever has registered for them, and these change nothing else: */
    { DIRECTIVE_KNOWN(PMIX_NOTIFY_COMPLETION, PMIX_BOOL), NULL, NULL },
    { DIRECTIVE_KNOWN(PMIX_NOTIFY_JOB_EVENTS, PMIX_BOOL), NULL, NULL },
    { DIRECTIVE_KNOWN(PMIX_NOTIFY_PROC_TERMINATION, PMIX_BOOL), NULL, NULL },
    { DIRECTIVE_KNOWN(PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION, PMIX_BOOL), NULL, NULL },
    { DIRECTIVE_KNOWN(PMIX_PERSONALITY, PMIX_STRING), NULL, NULL },
    { DIRECTIVE_KNOWN(PMIX_ENVARS_HARVESTED, PMIX_BOOL), NULL, NULL },
    { DIRECTIVE_KNOWN(PMIX_WDIR_USER_SPECIFIED, PMIX_BOOL), NULL, NULL },
    { DIRECTIVE_KNOWN(PMIX_REQUESTOR_IS_TOOL, PMIX_BOOL), NULL, NULL },
    { DIRECTIVE_KNOWN(PMIX_REQUESTOR_IS_CLIENT, PMIX_BOOL), NULL, NULL },
};
enum { KEYS = sizeof keys / sizeof *keys };

bool spawn_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    if (i >= KEYS)
        return daemons_attribute(i - KEYS, key, type);
    *key = keys[i].rule.key;
    *type = keys[i].rule.type;
    return true;
}

/* --- pairs ------------------------------------------------------------- */

static pmix_status_t no_memory(struct err *e)
{
    err_set(e, ERR_NOMEM, "no memory for a spawn");
    return PMIX_ERR_NOMEM;
}

static pmix_status_t bad(struct err *e, const char *what, const char *name)
{
    err_set(e, ERR_INVALID_VAL, "%s '%.64s'", what, name);
    return PMIX_ERR_BAD_PARAM;
}

static pmix_status_t add(struct spawn_command *c, const char *word, const char *text,
                         struct err *e)
{
    return spawn_add_info(c, word, text) < 0 ? no_memory(e) : PMIX_SUCCESS;
}

static pmix_status_t add_printed(struct spawn_command *c, const char *word, struct buf *text,
                                 struct err *e)
{
    pmix_status_t status = text->failed ? no_memory(e) : add(c, word, buf_bytes(text), e);

    buf_clear(text);
    return status;
}

static pmix_status_t take_text(struct spawn_command *c, const char *word, const pmix_value_t *v,
                               struct err *e)
{
    return add(c, word, v->data.string, e);
}

static pmix_status_t take_number(struct spawn_command *c, const char *word,
                                 const pmix_value_t *v, struct err *e)
{
    struct buf text = BUF_INIT;

    if (v->data.integer < 0)
        return bad(e, "a number of seconds below 0:", word);
    buf_printf(&text, "%d", v->data.integer);
    return add_printed(c, word, &text, e);
}

static pmix_status_t take_flag(struct spawn_command *c, const char *word, const pmix_value_t *v,
                               struct err *e)
{
    return v->type == PMIX_UNDEF || v->data.flag ? add(c, word, "TRUE", e) : PMIX_SUCCESS;
}

/* What the launcher cannot do is refused where it is required. */
static pmix_status_t not_supported(const char *value, struct err *e)
{
    err_set(e, ERR_INVALID_VAL, "'%.64s' is not supported", value);
    return PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED;
}

/* "N:node" */
static bool is_per_node(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    return digits && digits < 10 && strspn(text, "0") < digits && !strcmp(text + digits, ":node");
}

static pmix_status_t take_map(struct spawn_command *c, const char *word, const pmix_value_t *v,
                              struct err *e)
{
    const char *how = v->data.string;

    if (strcmp(how, "slot") && strcmp(how, "node") &&
        (strncmp(how, "ppr:", 4) || !is_per_node(how + 4)))
        return not_supported(how, e);
    return add(c, word, how, e);
}

static pmix_status_t take_ppr(struct spawn_command *c, const char *word, const pmix_value_t *v,
                              struct err *e)
{
    struct buf text = BUF_INIT;

    if (!is_per_node(v->data.string))
        return not_supported(v->data.string, e);
    buf_printf(&text, "ppr:%s", v->data.string);
    return add_printed(c, word, &text, e);
}

static pmix_status_t take_rank(struct spawn_command *c, const char *word, const pmix_value_t *v,
                               struct err *e)
{
    const char *how = v->data.string;

    return strcmp(how, "slot") && strcmp(how, "node") ? not_supported(how, e)
                                                      : add(c, word, how, e);
}

/* Names of sets are listed with commas. */
static pmix_status_t take_set(struct spawn_command *c, const char *word, const pmix_value_t *v,
                              struct err *e)
{
    return !*v->data.string || strchr(v->data.string, ',')
               ? bad(e, "no name of a process set:", v->data.string)
               : add(c, word, v->data.string, e);
}

/* Which rank reads what is pushed; of the whole job, so "all" is its wildcard.  The job has no
 * name yet: only the proc's rank counts. */
static pmix_status_t take_target(struct spawn_command *c, const char *word,
                                 const pmix_value_t *v, struct err *e)
{
    pmix_rank_t rank = v->data.proc ? v->data.proc->rank : PMIX_RANK_UNDEF;
    struct buf text = BUF_INIT;

    if (rank == PMIX_RANK_WILDCARD)
        return add(c, word, "all", e);
    if (rank == PMIX_RANK_UNDEF || rank == PMIX_RANK_INVALID)
        return add(c, word, "none", e);
    buf_printf(&text, "%u", rank);
    return add_printed(c, word, &text, e);
}

static pmix_status_t take_binding(struct spawn_command *c, const char *word,
                                  const pmix_value_t *v, struct err *e)
{
    static const struct { const char *to, *as; } bindings[] = {
        { "none", "none" }, { "hwthread", "hwthread" }, { "core", "core" },
        { "package", "socket" }, { "socket", "socket" }, { "numa", "numa" },
    };

    for (size_t i = 0; i < sizeof bindings / sizeof *bindings; i++)
        if (!strcmp(v->data.string, bindings[i].to))
            return add(c, word, bindings[i].as, e);
    return not_supported(v->data.string, e);
}

static pmix_status_t take_hold(struct spawn_command *c, const char *word,
                               const pmix_value_t *v, struct err *e)
{
    struct buf text = BUF_INIT;

    if (hold_text(word, v, &text))
        return text.len ? add_printed(c, "hold", &text, e) : PMIX_SUCCESS;
    buf_clear(&text);
    err_set(e, ERR_INVALID_VAL, "want true, a rank, or an array of ranks or processes");
    return PMIX_ERR_BAD_PARAM;
}

/* --- the environment --------------------------------------------------- */

/* A name as POSIX has it: letters, digits and '_', no digit at first. */
static bool is_name(const char *s, size_t len)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    return len && memchr(letters, *s, sizeof letters - 1) && strspn(s, all) >= len;
}

/* "<separator>NAME=VALUE"; the separator is of use only where there is something to part. */
static pmix_status_t take_change(struct spawn_command *c, const char *word,
                                 const pmix_value_t *v, struct err *e)
{
    const pmix_envar_t *var = &v->data.envar;
    struct buf text = BUF_INIT;

    if (!var->envar || !is_name(var->envar, strlen(var->envar)))
        return bad(e, "no name of a variable:", var->envar ? var->envar : "");
    buf_char(&text, var->separator ? var->separator : ':');
    buf_printf(&text, "%s=%s", var->envar, var->value ? var->value : "");
    return add_printed(c, word, &text, e);
}

static pmix_status_t take_unset(struct spawn_command *c, const char *word,
                                const pmix_value_t *v, struct err *e)
{
    if (!is_name(v->data.string, strlen(v->data.string)))
        return bad(e, "no name of a variable:", v->data.string);
    return add(c, word, v->data.string, e);
}

/* Where programs and libraries are looked for first. */
static pmix_status_t take_prefix(struct spawn_command *c, const char *word,
                                 const pmix_value_t *v, struct err *e)
{
    static const char *const in[][2] = { { "PATH", "bin" }, { "LD_LIBRARY_PATH", "lib" } };
    pmix_status_t status = PMIX_SUCCESS;
    struct buf text = BUF_INIT;

    (void)word;
    for (size_t i = 0; i < 2 && status == PMIX_SUCCESS; i++) {
        buf_printf(&text, ":%s=%s/%s", in[i][0], v->data.string, in[i][1]);
        status = add_printed(c, "env-prepend", &text, e);
    }
    if (status != PMIX_SUCCESS)
        return status;
    buf_printf(&text, "%s/bin", v->data.string);
    return add_printed(c, "path", &text, e);
}

static pmix_status_t take_env(struct spawn_command *c, char *const *env, struct err *e)
{
    pmix_status_t status = PMIX_SUCCESS;

    for (size_t i = 0; env && env[i] && status == PMIX_SUCCESS; i++) {
        const char *equals = strchr(env[i], '=');

        if (!equals || !is_name(env[i], (size_t)(equals - env[i])))
            status = bad(e, "NAME=VALUE wanted, not", env[i]);
        else
            status = add(c, "env-own", env[i], e);
        if (status != PMIX_SUCCESS)
            err_context(e, "env[%zu]", i);
    }
    return status;
}

/* --- apps -------------------------------------------------------------- */

/* The row of a key; KEYS: there is none. */
static size_t row_of(const char *key)
{
    size_t i = 0;

    while (i < KEYS && strcmp(keys[i].rule.key, key))
        i++;
    return i;
}

/* What is not required and cannot be done is left out. */
static pmix_status_t take_info(struct spawn_command *c, const pmix_info_t *info, struct err *e)
{
    size_t row = row_of(info->key);
    struct directive_rule rules[] = { row < KEYS ? keys[row].rule : (struct directive_rule){ 0 },
                                      { 0 } };
    const struct directive_rule *rule;
    pmix_status_t status;

    if (daemons_know(info->key))
        return PMIX_SUCCESS;             /* they have been looked at */
    if (row < KEYS && keys[row].take == take_hold && hold_is_ranks(info->value.type))
        rules[0].type = info->value.type;
    status = directive_check(info, rules, &rule, e);

    if (status != PMIX_SUCCESS || row == KEYS || !keys[row].take)
        return status;
    status = keys[row].take(c, keys[row].word, &info->value, e);
    if (status == PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED && !(info->flags & PMIX_INFO_REQD))
        return PMIX_SUCCESS;
    if (status != PMIX_SUCCESS)
        err_context(e, "%.64s", info->key);
    return status;
}

static pmix_status_t take_infos(struct spawn_command *c, const pmix_info_t *infos, size_t n,
                                const char *what, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        pmix_status_t status = take_info(c, &infos[i], e);

        if (status != PMIX_SUCCESS) {
            err_context(e, "%s[%zu]", what, i);
            return status;
        }
    }
    return PMIX_SUCCESS;
}

/* argv begins with the program's name, as main() has it. */
static pmix_status_t take_program(struct spawn_command *c, const pmix_app_t *app, struct err *e)
{
    if (!app->cmd || !*app->cmd) {
        err_set(e, ERR_INVALID_ARG, "cmd: no program");
        return PMIX_ERR_JOB_NO_EXE_SPECIFIED;
    }
    if (app->maxprocs < 1) {
        err_set(e, ERR_INVALID_VAL, "maxprocs: %d processes", app->maxprocs);
        return PMIX_ERR_BAD_PARAM;
    }
    c->procs = app->maxprocs;
    if (!(c->program = strdup(app->cmd)))
        return no_memory(e);
    for (size_t i = 1; app->argv && app->argv[0] && app->argv[i]; i++)
        if (spawn_add_arg(c, app->argv[i]) < 0)
            return no_memory(e);
    return PMIX_SUCCESS;
}

static pmix_status_t take_app(struct spawn_command *c, const struct infos *infos,
                              const pmix_app_t *app, struct err *e)
{
    pmix_status_t status = take_program(c, app, e);

    if (status == PMIX_SUCCESS)
        status = take_infos(c, infos->v, infos->n, "infos", e);
    if (status == PMIX_SUCCESS && app->cwd)
        status = add(c, "wdir", app->cwd, e);
    if (status == PMIX_SUCCESS)
        status = take_infos(c, app->info, app->ninfo, "info", e);
    return status == PMIX_SUCCESS ? take_env(c, app->env, e) : status;
}

pmix_status_t spawn_directives(const pmix_info_t *infos, size_t n, struct spawn_command *c,
                               struct err *e)
{
    return take_infos(c, infos, n, "directives", e);
}

unsigned spawn_forwards(const struct infos *infos)
{
    static const struct { const char *key; unsigned channel; } forwards[] = {
        { PMIX_FWD_STDOUT, PMIX_FWD_STDOUT_CHANNEL }, { PMIX_FWD_STDERR, PMIX_FWD_STDERR_CHANNEL },
    };
    unsigned channels = 0;

    for (size_t i = 0; i < infos->n; i++)
        for (size_t k = 0; k < sizeof forwards / sizeof *forwards; k++)
            if (!strcmp(infos->v[i].key, forwards[k].key) &&
                (infos->v[i].value.type == PMIX_UNDEF || infos->v[i].value.data.flag))
                channels |= forwards[k].channel;
    return channels;
}

pmix_status_t spawn_translate(const struct infos *infos, const pmix_app_t *apps, size_t n,
                              struct spawn_request *want, struct err *e)
{
    if (!n || n > LIMIT_COMMANDS) {
        err_set(e, ERR_NUM_ARGS, "apps: there are %zu, want 1 to %d", n, LIMIT_COMMANDS);
        return PMIX_ERR_BAD_PARAM;
    }
    for (size_t i = 0; i < n; i++) {
        struct spawn_command *c = spawn_add_command(want);
        pmix_status_t status = c ? take_app(c, infos, &apps[i], e) : no_memory(e);

        if (status != PMIX_SUCCESS) {
            err_context(e, "apps[%zu]", i);
            return status;
        }
    }
    return PMIX_SUCCESS;
}
