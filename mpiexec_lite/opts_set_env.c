/* opts_set_env.c - options that set variables of the ranks.  See opts_table.h. */
#include "mpiexec_lite/env.h"
#include "mpiexec_lite/opts_table.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory");
}

static struct env_rules *rules_of(struct reader *r, const struct option *o)
{
    void *base = o->flags & OPTION_LOCAL ? (void *)r->app : (void *)r->plan;

    return (struct env_rules *)((char *)base + o->at);
}

/* Add name=value, unless the launcher sets that variable itself. */
int opts_add_variable(struct reader *r, struct strlist *set, const char *name,
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
    rc = entry.failed || strlist_add(set, buf_bytes(&entry)) < 0 ? no_memory(e)
         : opts_note_variable(r, set == &r->plan->env.set, buf_bytes(&entry), e);
    buf_clear(&entry);
    return rc;
}

int opts_set_env(struct reader *r, const struct option *o, char *const *arg,
                 struct err *e)
{
    struct env_rules *rules = rules_of(r, o);
    size_t len = env_name_len(arg[0]);

    if (arg[1])
        return opts_add_variable(r, &rules->set, arg[0], len, arg[1], e);
    return opts_add_variable(r, &rules->set, arg[0], len, arg[0] + len + 1, e);
}

/* One of a file, which is told by its number: its bytes may be a secret. */
static int add_entry(struct reader *r, struct env_rules *rules, const char *file, int number,
                     const char *entry, struct err *e)
{
    size_t len = env_name_len(entry);

    if (!len || !entry[len])
        return err_set(e, ERR_INVALID_VAL, "%.100s: entry %d is not NAME=VALUE", file, number);
    return opts_add_variable(r, &rules->set, entry, len, entry + len + 1, e);
}

int opts_set_env_file(struct reader *r, const struct option *o, char *const *arg,
                      struct err *e)
{
    struct env_rules *rules = rules_of(r, o);
    struct buf text = BUF_INIT;
    const char *at, *end;
    int number = 1, rc;
    long fd;

    if (!opts_number(arg[0], STDERR_FILENO + 1, INT_MAX, &fd))
        fd = open(arg[0], O_RDONLY | O_CLOEXEC);
    rc = opts_file_take((int)fd, arg[0], &text, e);
    at = buf_bytes(&text);
    end = at + text.len;
    for (; rc == 0 && at < end; at += strlen(at) + 1)
        rc = add_entry(r, rules, arg[0], number++, at, e);
    buf_clear(&text);
    return rc;
}

/* "NAME=VALUE", or "NAME" as it is in our own environment. */
int opts_set_export(struct reader *r, const struct option *o, char *const *arg,
                    struct err *e)
{
    struct env_rules *rules = rules_of(r, o);
    size_t len = env_name_len(arg[0]);
    const char *value = arg[0][len] ? arg[0] + len + 1 : env_get(r->envp, arg[0]);

    if (!value)
        return opts_warn(r, e, "-x %.80s: there is no such variable", arg[0]);
    return opts_add_variable(r, &rules->set, arg[0], len, value, e);
}

int opts_set_inherit(struct reader *r, const struct option *o, char *const *arg,
                     struct err *e)
{
    struct env_rules *rules = rules_of(r, o);

    (void)arg;
    (void)e;
    rules->inherit = (enum inherit)o->value;
    return 0;
}

int opts_set_env_names(struct reader *r, const struct option *o, char *const *arg,
                       struct err *e)
{
    struct env_rules *rules = rules_of(r, o);
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

/* MPI standard, 11.5: the launcher hands it to the library. */
int opts_set_errhandler(struct reader *r, const struct option *o, char *const *arg,
                        struct err *e)
{
    static const char *const known[] = {
        "mpi_errors_abort", "mpi_errors_are_fatal", "mpi_errors_return",
    };
    static const char variable[] = "OMPI_MCA_mpi_initial_errhandler";

    (void)o;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcasecmp(arg[0], known[i]))
            return opts_add_variable(r, &r->plan->env.set, variable, strlen(variable), known[i],
                                     e);
    return err_set(e, ERR_INVALID_VAL, "'%.60s' is not mpi_errors_abort, "
                   "mpi_errors_are_fatal or mpi_errors_return", arg[0]);
}
