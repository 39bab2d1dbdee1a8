/* explain_env.c - --explain: what ranks of a block find in their environment, beside what the
 * launcher has in its own. */
#include "mpiexec_lite/explain_impl.h"

#include "mpiexec_lite/env.h"

#include <string.h>

static const char *find(char *const *envp, const char *entry)
{
    size_t len = env_name_len(entry);

    for (; envp && *envp; envp++)
        if (env_name_len(*envp) == len && !memcmp(*envp, entry, len))
            return *envp;
    return NULL;
}

static json_t *name_of(const char *entry)
{
    struct buf name = BUF_INIT;
    json_t *word;

    buf_add(&name, entry, env_name_len(entry));
    buf_char(&name, '\0');
    word = name.failed ? NULL : json_shown(buf_bytes(&name));
    buf_clear(&name);
    return word;
}

/* What a user has set.  A value that is ours, too, was named only, and stays untold. */
static json_t *variable(const struct explain *x, const char *entry, const struct setting *s)
{
    const char *ours = find(x->envp, entry);
    json_t *to = json_pack("{s:o, s:o}", "name", name_of(entry), "by", explain_setting(s));

    if (!ours || strcmp(ours, entry))
        json_object_set_new(to, "value", json_shown(entry + env_name_len(entry) + 1));
    return to;
}

static void add_names(json_t *to, char *const *entries, int n)
{
    for (int i = 0; i < n; i++)
        json_array_append_new(to, name_of(entries[i]));
}

/* What the launcher adds, beside `rest`, which all ranks share. */
static void add_own(const struct explain *x, size_t app, json_t *to, struct err *e)
{
    const struct plan *p = x->plan;
    struct rank_env rank = { .fd = 3, .port = p->pmi_port ? "127.0.0.1:1" : NULL, .size = 1,
                             .jobid = "-", .hostname = p->hide_hostname ? NULL : "-" };
    struct env_constants all = { .universe = p->usize, .appnum = app, .mapping = "-" };
    char text[ENV_RANK_TEXT], *vars[ENV_RANK_MAX];
    struct strlist constants = { 0 };
    int n = env_rank_vars(&rank, text, sizeof text, vars, e);

    if (n >= 0 && env_add_constants(&all, &constants, e) == 0) {
        add_names(to, vars, n);
        add_names(to, constants.v, (int)constants.n);
    }
    strlist_clear(&constants);
}

static void sort_out(const struct explain *x, size_t app, const struct strlist *have, json_t *to)
{
    json_t *set = json_object_get(to, "set"), *own = json_object_get(to, "launcher_sets");

    for (size_t i = 0; i < have->n; i++) {
        const char *entry = have->v[i], *ours = find(x->envp, entry);
        const struct setting *s = said_of_variable(x->said, entry, env_name_len(entry),
                                                   (int)app);

        if (s)
            json_array_append_new(set, variable(x, entry, s));
        else
            json_array_append_new(ours ? json_object_get(to, "inherited") : own, name_of(entry));
    }
    for (char *const *entry = x->envp; *entry; entry++)
        if (!find(have->v, *entry))
            json_array_append_new(json_object_get(to, "not_inherited"), name_of(*entry));
}

/* Who has said what is inherited: the block's own, else the job's option. */
static json_t *rule_by(const struct explain *x, size_t app)
{
    const struct setting *s = said_of(x->said, "envall", (int)app);

    return explain_setting(s && s->app != SAID_OF_JOB ? s
                           : said_of(x->said, "genvall", SAID_OF_JOB));
}

json_t *explain_environment(const struct explain *x, size_t app, struct err *e)
{
    static const char *const rules[] = {
        [INHERIT_UNSET] = "all", [INHERIT_ALL] = "all", [INHERIT_NONE] = "none",
        [INHERIT_LIST] = "list",
    };
    const struct plan *p = x->plan;
    enum inherit own = p->apps[app].env.inherit;
    struct strlist have = { 0 };
    json_t *to = json_pack("{s:s, s:o, s:[], s:[], s:[], s:[]}", "inherit",
                           rules[own != INHERIT_UNSET ? own : p->env.inherit], "inherit_by",
                           rule_by(x, app), "set", "not_inherited", "launcher_sets", "inherited");

    if (env_build(p, app, x->envp, &have, e) == 0) {
        sort_out(x, app, &have, to);
        add_own(x, app, json_object_get(to, "launcher_sets"), e);
    }
    strlist_clear(&have);
    return to;
}
