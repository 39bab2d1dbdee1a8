/* opts_set.c - what each option does to the plan.  See opts_table.h. */
#include "mpiexec_lite/address.h"
#include "mpiexec_lite/env.h"
#include "mpiexec_lite/opts_table.h"
#include "mpiexec_lite/pattern.h"
#include "wire/limits.h"
#include "wire/utf8.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define COUNT_MAX PLAN_RANKS_MAX
#define SECONDS_MAX 1e9      /* some thirty years */
#define SINGLE_ID_MAX 40     /* behind it come the numbers of jobs that it starts */

/* The member that the row names by its offset. */
static void *member(struct reader *r, const struct option *o)
{
    void *base = o->flags & OPTION_LOCAL ? (void *)r->app : (void *)r->plan;

    return (char *)base + o->at;
}

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory");
}

int opts_warn(struct reader *r, struct err *e, const char *fmt, ...)
{
    char text[240];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return strlist_add(&r->plan->warnings, text) < 0 ? no_memory(e) : 0;
}

bool opts_number(const char *text, long min, long max, long *out)
{
    const char *digits = *text == '-' ? text + 1 : text;
    char *end;

    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    *out = strtol(text, &end, 10);
    return *end == '\0' && errno == 0 && *out >= min && *out <= max;
}

int opts_set_value(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    (void)arg;
    (void)e;
    *(int *)member(r, o) = o->value;
    return 0;
}

int opts_set_switch(struct reader *r, const struct option *o, char *const *arg,
                    struct err *e)
{
    (void)arg;
    (void)e;
    *(bool *)member(r, o) = o->value;
    return 0;
}

static int set_string(char **to, const char *text, struct err *e)
{
    char *copy = strdup(text);

    if (!copy)
        return no_memory(e);
    free(*to);
    *to = copy;
    return 0;
}

int opts_set_text(struct reader *r, const struct option *o, char *const *arg,
                  struct err *e)
{
    if (!*arg[0])
        return err_set(e, ERR_INVALID_VAL, "the value is empty");
    return set_string(member(r, o), arg[0], e);
}

int opts_set_pset(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    if (strchr(arg[0], ','))             /* which is between names */
        return err_set(e, ERR_INVALID_VAL, "'%.60s' has a comma", arg[0]);
    if (!utf8_valid(arg[0], strlen(arg[0])))
        return err_set(e, ERR_INVALID_VAL, "the name is not UTF-8");
    return opts_set_text(r, o, arg, e);
}

int opts_set_pattern(struct reader *r, const struct option *o, char *const *arg,
                     struct err *e)
{
    if (pattern_check(arg[0], e) < 0)
        return -1;
    return opts_set_text(r, o, arg, e);
}

int opts_set_rank_label(struct reader *r, const struct option *o, char *const *arg,
                        struct err *e)
{
    (void)o;
    (void)arg;
    return set_string(&r->plan->label, "[%r] ", e);
}

static int count_of(const char *text, int *out, struct err *e)
{
    long n;

    if (!opts_number(text, 1, COUNT_MAX, &n))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a number in 1..%d", text,
                       COUNT_MAX);
    *out = (int)n;
    return 0;
}

int opts_set_count(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    return count_of(arg[0], member(r, o), e);
}

int opts_set_ppn(struct reader *r, const struct option *o, char *const *arg,
                 struct err *e)
{
    (void)o;
    return count_of(arg[0], &r->ppn, e);
}

int opts_set_rank(struct reader *r, const struct option *o, char *const *arg,
                  struct err *e)
{
    long n;

    if (!opts_number(arg[0], 0, COUNT_MAX - 1, &n))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a rank", arg[0]);
    *(int *)member(r, o) = (int)n;
    return 0;
}

int opts_set_number(struct reader *r, const struct option *o, char *const *arg,
                    struct err *e)
{
    long n;

    if (!opts_number(arg[0], 0, COUNT_MAX, &n))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a number in 0..%d", arg[0],
                       COUNT_MAX);
    *(int *)member(r, o) = (int)n;
    return 0;
}

int opts_set_bytes(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    long n;

    if (!opts_number(arg[0], 0, LIMIT_KVS_BYTES, &n))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a number of bytes in 0..%zu",
                       arg[0], LIMIT_KVS_BYTES);
    *(size_t *)member(r, o) = (size_t)n;
    return 0;
}

/* Add name=value, unless the launcher sets that variable itself. */
static int add_variable(struct reader *r, struct strlist *set, const char *name,
                        size_t len, const char *value, struct err *e)
{
    struct buf entry = BUF_INIT;
    int rc;

    if (len == 0)
        return err_set(e, ERR_INVALID_VAL, "the variable has no name");
    if (env_is_ours(name, len))
        return opts_warn(r, e, "%.*s is set by the launcher; what you set is ignored",
                         (int)len, name);
    buf_add(&entry, name, len);
    buf_char(&entry, '=');
    buf_str(&entry, value);
    rc = entry.failed || strlist_add(set, buf_bytes(&entry)) < 0 ? no_memory(e) : 0;
    buf_clear(&entry);
    return rc;
}

int opts_set_env(struct reader *r, const struct option *o, char *const *arg,
                 struct err *e)
{
    struct env_rules *rules = member(r, o);
    size_t len = env_name_len(arg[0]);

    if (arg[1])
        return add_variable(r, &rules->set, arg[0], len, arg[1], e);
    return add_variable(r, &rules->set, arg[0], len, arg[0] + len + 1, e);
}

/* "NAME=VALUE", or "NAME" as it is in our own environment. */
int opts_set_export(struct reader *r, const struct option *o, char *const *arg,
                    struct err *e)
{
    struct env_rules *rules = member(r, o);
    size_t len = env_name_len(arg[0]);
    const char *value = arg[0][len] ? arg[0] + len + 1 : env_get(r->envp, arg[0]);

    if (!value)
        return opts_warn(r, e, "-x %.80s: there is no such variable", arg[0]);
    return add_variable(r, &rules->set, arg[0], len, value, e);
}

int opts_set_inherit(struct reader *r, const struct option *o, char *const *arg,
                     struct err *e)
{
    struct env_rules *rules = member(r, o);

    (void)arg;
    (void)e;
    rules->inherit = (enum inherit)o->value;
    return 0;
}

int opts_set_env_names(struct reader *r, const struct option *o, char *const *arg,
                       struct err *e)
{
    struct env_rules *rules = member(r, o);
    const char *name = arg[0];

    rules->inherit = INHERIT_LIST;
    while (*name) {
        size_t len = strcspn(name, ",");

        if (len && strlist_add_bytes(&rules->names, name, len) < 0)
            return no_memory(e);
        name += len + (name[len] == ',');
    }
    return 0;
}

static int set_stdin_file(struct plan *p, const char *path, struct err *e)
{
    p->stdin_mode = STDIN_FILE;
    if (!*path)
        return err_set(e, ERR_INVALID_VAL, "file: needs a name");
    return set_string(&p->stdin_file, path, e);
}

int opts_set_stdin(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    struct plan *p = r->plan;
    long rank;

    (void)o;
    if (strncasecmp(arg[0], "file:", 5) == 0)
        return set_stdin_file(p, arg[0] + 5, e);
    if (strcasecmp(arg[0], "none") == 0)
        p->stdin_mode = STDIN_NONE;
    else if (strcasecmp(arg[0], "all") == 0)
        p->stdin_mode = STDIN_ALL;
    else if (opts_number(arg[0], 0, COUNT_MAX - 1, &rank))
        p->stdin_rank = (int)rank;
    else
        return err_set(e, ERR_INVALID_VAL,
                       "'%.40s' is not none, all, a rank or file:NAME", arg[0]);
    return 0;
}

/* A plain decimal number, with a fraction perhaps; it may be negative. */
static bool seconds_of(const char *text, double *out)
{
    size_t len = strspn(text, "-.0123456789");
    char *end;

    *out = strtod(text, &end);
    return len && text[len] == '\0' && *end == '\0' && fabs(*out) <= SECONDS_MAX;
}

static int set_seconds(double *to, const char *text, struct err *e)
{
    if (!seconds_of(text, to))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a number of seconds", text);
    return 0;
}

int opts_set_seconds(struct reader *r, const struct option *o, char *const *arg,
                     struct err *e)
{
    double *to = member(r, o);

    if (set_seconds(to, arg[0], e) < 0)
        return -1;
    if (*to < 0)
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is negative", arg[0]);
    if (!o->value && *to <= 0)
        return err_set(e, ERR_INVALID_VAL, "it cannot be 0");
    return 0;
}

int opts_set_usize(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    (void)o;
    r->usize_system = strcasecmp(arg[0], "SYSTEM") == 0;
    if (r->usize_system || strcasecmp(arg[0], "INFINITE") == 0)
        return 0;
    if (count_of(arg[0], &r->plan->usize, e) < 0)
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not SYSTEM, INFINITE or 1..%d",
                       arg[0], COUNT_MAX);
    return 0;
}

int opts_set_verbose(struct reader *r, const struct option *o, char *const *arg,
                     struct err *e)
{
    (void)arg;
    (void)e;
    r->plan->verbose += o->value;
    return 0;
}

int opts_set_hosts(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    (void)o;
    r->plan->hosts_given = true;
    return hosts_add_list(&r->hosts, arg[0], e);
}

int opts_set_hostfile(struct reader *r, const struct option *o, char *const *arg,
                      struct err *e)
{
    (void)o;
    return opts_read_hostfile(r, arg[0], e);
}

int opts_set_order(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    static const struct { const char *name; int order; } orders[] = {
        { "ASCENDING", 1 }, { "UP", 1 }, { "DESCENDING", -1 }, { "DOWN", -1 },
    };

    (void)o;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (strcasecmp(arg[0], orders[i].name) == 0)
            r->order = orders[i].order;
    if (r->order)
        return 0;
    return err_set(e, ERR_INVALID_VAL, "'%.40s' is not ASCENDING or DESCENDING", arg[0]);
}

int opts_set_skip_launch_node(struct reader *r, const struct option *o, char *const *arg,
                              struct err *e)
{
    (void)o;
    (void)arg;
    (void)e;
    r->skip_launch_node = true;
    return 0;
}

/* 0, or -1 if no launcher has this name. */
static int find_launcher(const char *name, enum launcher *to)
{
    static const char *const names[] = {
        [LAUNCHER_SSH] = "ssh", [LAUNCHER_FORK] = "fork", [LAUNCHER_MANUAL] = "manual",
        [LAUNCHER_TCP] = "tcp",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(name, names[i]) == 0) {
            *to = (enum launcher)i;
            return 0;
        }
    return -1;
}

int opts_set_launcher(struct reader *r, const struct option *o, char *const *arg,
                      struct err *e)
{
    (void)o;
    if (find_launcher(arg[0], &r->plan->remote.launcher) == 0)
        return 0;
    return err_set(e, ERR_INVALID_VAL, "'%.40s' is not ssh, fork, manual or tcp", arg[0]);
}

int opts_set_nameserver(struct reader *r, const struct option *o, char *const *arg,
                        struct err *e)
{
    static const char *const words[] = { "auto", "start", "none" };
    struct address a;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(arg[0], words[i]))
            return opts_set_text(r, o, arg, e);
    if (arg[0][0] != '/' && address_read(&a, arg[0], 0, NULL) < 0)
        return err_set(e, ERR_INVALID_VAL, "'%.60s' is not auto, start, none, the path of a "
                       "socket, or HOST:PORT", arg[0]);
    return opts_set_text(r, o, arg, e);
}

int opts_set_single_fd(struct reader *r, const struct option *o, char *const *arg,
                       struct err *e)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const char *id = strchr(arg[0], ':');
    size_t len = id ? strlen(id + 1) : 0;
    char digits[12];
    long fd;

    (void)o;
    if (!len || len > SINGLE_ID_MAX || strspn(id + 1, good) < len)
        return err_set(e, ERR_INVALID_VAL, "'%.60s' does not end in a job id", arg[0]);
    snprintf(digits, sizeof digits, "%.*s", (int)(id - arg[0] < 12 ? id - arg[0] : 0), arg[0]);
    if (!opts_number(digits, STDERR_FILENO + 1, INT_MAX, &fd))
        return err_set(e, ERR_INVALID_VAL, "'%.60s' does not begin with a descriptor above 2",
                       arg[0]);
    r->plan->single_fd = (int)fd;
    return set_string(&r->plan->single_id, id + 1, e);
}

int opts_set_configfile(struct reader *r, const struct option *o, char *const *arg,
                        struct err *e)
{
    (void)o;
    if (r->in_file)
        return err_set(e, ERR_INVALID_VAL, "not possible inside a configuration file");
    return set_string(&r->configfile, arg[0], e);
}

int opts_set_ignored(struct reader *r, const struct option *o, char *const *arg,
                     struct err *e)
{
    if (!o->value)
        return 0;
    return opts_warn(r, e, "-%s is ignored: %s", o->names[0],
                     arg[1] ? "it is for Open MPI" : "there is no checkpointing");
}

int opts_set_print(struct reader *r, const struct option *o, char *const *arg,
                   struct err *e)
{
    (void)arg;
    (void)e;
    r->print = o->print;
    return 0;
}

/* 1 or 0 for Hydra's spellings of a boolean; -1 for anything else. */
static int boolean_of(const char *text)
{
    static const char *const words[][4] = {
        { "0", "no", "false", "off" }, { "1", "yes", "true", "on" },
    };

    for (int is = 0; is < 2; is++)
        for (size_t i = 0; i < 4; i++)
            if (strcasecmp(text, words[is][i]) == 0)
                return is;
    return -1;
}

int opts_boolean(struct reader *r, const char *name, int usual, struct err *e)
{
    const char *text = env_get(r->envp, name);
    int on = text ? boolean_of(text) : usual;

    return on < 0 ? err_set(e, ERR_INVALID_VAL, "%s: '%.40s' is not 1 or 0", name, text) : on;
}

static int set_booleans_from_environment(struct reader *r, struct err *e)
{
    int debug = opts_boolean(r, "HYDRA_DEBUG", 0, e);
    int fork = debug < 0 ? -1 : opts_boolean(r, "HYDRA_LAUNCHER_AUTOFORK", 1, e);

    if (fork < 0)
        return -1;
    if (debug && r->plan->verbose == 0)
        r->plan->verbose = 1;
    r->no_autofork = !fork;
    return 0;
}

/* The first of two variables that says something, or NULL. */
static const char *either(const struct reader *r, const char **name, const char *other)
{
    const char *text = env_get(r->envp, *name);

    if (text && *text)
        return text;
    *name = other;
    text = env_get(r->envp, other);
    return text && *text ? text : NULL;
}

/* -launcher and its program.  A launcher that we do not have, as a site may have set
 * it for Hydra, is ignored together with its program. */
static int set_launcher_from_environment(struct reader *r, struct err *e)
{
    struct launch_options *o = &r->plan->remote;
    const char *var = "HYDRA_LAUNCHER", *name = either(r, &var, "HYDRA_BOOTSTRAP");
    const char *exec_var = "HYDRA_LAUNCHER_EXEC";
    const char *exec = either(r, &exec_var, "HYDRA_BOOTSTRAP_EXEC");

    if (name && !opts_has(r, "launcher") && find_launcher(name, &o->launcher) < 0)
        return opts_warn(r, e, "%s=%.40s is not supported by this version and ignored", var,
                         name);
    return exec && !o->exec ? set_string(&o->exec, exec, e) : 0;
}

static int set_extra_from_environment(struct reader *r, struct err *e)
{
    const char *text = env_get(r->envp, "HYDRA_LAUNCHER_EXTRA_ARGS");

    while (text && *(text += strspn(text, " \t\n"))) {
        size_t len = strcspn(text, " \t\n");

        if (strlist_add_bytes(&r->plan->remote.extra, text, len) < 0)
            return no_memory(e);
        text += len;
    }
    return 0;
}

static int set_timeout_from_environment(struct reader *r, struct err *e)
{
    const char *text = env_get(r->envp, "MPIEXEC_TIMEOUT");

    if (!text || !*text || opts_has(r, "timeout"))
        return 0;
    if (set_seconds(&r->plan->timeout, text, e) < 0)
        return err_context(e, "MPIEXEC_TIMEOUT");
    if (r->plan->timeout < 0)
        r->plan->timeout = 0;
    return 0;
}

/* Variables that would change where or how ranks run: silence would mislead. */
static int warn_of_environment(struct reader *r, struct err *e)
{
    static const char *const names[] = {
        "HYDRA_CONFIG_FILE",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (env_get(r->envp, names[i]) &&
            opts_warn(r, e, "%s is not supported by this version and ignored",
                      names[i]) < 0)
            return -1;
    return 0;
}

int opts_set_from_environment(struct reader *r, struct err *e)
{
    const char *inherit = env_get(r->envp, "HYDRA_ENV");

    if (inherit && r->plan->env.inherit == INHERIT_UNSET)
        r->plan->env.inherit = strcasecmp(inherit, "all") ? INHERIT_NONE : INHERIT_ALL;
    if (set_booleans_from_environment(r, e) < 0 || set_timeout_from_environment(r, e) < 0)
        return -1;
    if (set_launcher_from_environment(r, e) < 0 || set_extra_from_environment(r, e) < 0)
        return -1;
    if (opts_set_map_from_environment(r, e) < 0)
        return -1;
    return warn_of_environment(r, e);
}
