/* env.c - see env.h */
#include "mpiexec_lite/env.h"

#include "mpiexec_lite/launchers.h"
#include "wire/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What the launcher sets itself, rank by rank. */
static const char *const ours[] = {
    "PMI_FD", "PMI_PORT", "PMI_ID", "PMI_RANK", "PMI_SIZE", "PMI_JOBID", "PMI_SPAWNED",
    "PMI_HOSTNAME", "MPI_LOCALNRANKS", "MPI_LOCALRANKID",
    "PMI_UNIVERSE_SIZE", "PMI_APPNUM", "PMI_PROCESS_MAPPING", "PMI_LOCAL_RANKS",
};

/* The version that the PMI v2 draft wants announced.  Any version is served; 1.1
 * is what is said because MPICH takes this for the version it is to speak and,
 * told 2, no longer asks for PMI_process_mapping (seen with 4.0.2). */
static const char *const versions[] = { "PMI_VERSION=1", "PMI_SUBVERSION=1" };

/* What an outer launcher, or a batch system's, may have left behind: prefixes. */
static const char *const left_behind[] = {
    "PMI_", "PMI2_", "PMIX_", "SLURM_PMI", "HYDI_",
};

/* The user's switches for client libraries' own debugging output. */
static const char *const kept[] = { "PMI_DEBUG", "PMI2_DEBUG" };

#define COUNT(a) (sizeof (a) / sizeof *(a))

size_t env_name_len(const char *entry)
{
    return (size_t)(strchrnul(entry, '=') - entry);
}

/* Most pairs that are compared differ in their first letter. */
static bool begins(const char *text, const char *with, size_t len)
{
    return *text == *with && strncmp(text, with, len) == 0;
}

/* name[0..len-1] is one of the n names of list. */
static bool listed(const char *const *list, size_t n, const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (begins(list[i], name, len) && !list[i][len])
            return true;
    return false;
}

bool env_is_ours(const char *name, size_t len)
{
    return listed(ours, COUNT(ours), name, len);
}

const char *env_get(char *const *envp, const char *name)
{
    size_t len = strlen(name);

    for (; *envp; envp++)
        if (begins(*envp, name, len) && (*envp)[len] == '=')
            return *envp + len + 1;
    return NULL;
}

static bool is_left_behind(const char *entry)
{
    size_t len = env_name_len(entry);

    if (listed(kept, COUNT(kept), entry, len))
        return false;
    for (size_t i = 0; i < COUNT(left_behind); i++)
        if (begins(entry, left_behind[i], strlen(left_behind[i])))
            return true;
    return env_is_ours(entry, len);
}

/* The rule that holds for a block: its own, or else the job's, or else ALL. */
static const struct env_rules *inherit_rule(const struct plan *p, const struct app *a)
{
    return a->env.inherit != INHERIT_UNSET ? &a->env : &p->env;
}

static bool is_wanted(const struct env_rules *rule, const char *entry)
{
    if (rule->inherit == INHERIT_NONE)
        return false;
    if (rule->inherit != INHERIT_LIST)
        return true;
    return listed((const char *const *)rule->names.v, rule->names.n, entry,
                  env_name_len(entry));
}

/* One of l's entries from number `from` on sets the variable of entry. */
static bool is_set_in(const struct strlist *l, size_t from, const char *entry)
{
    size_t len = env_name_len(entry);

    for (size_t i = from; i < l->n; i++)
        if (begins(l->v[i], entry, len) && (l->v[i][len] == '=' || !l->v[i][len]))
            return true;
    return false;
}

/* What a resource manager has set for its own job is not of this one.  Where its commands
 * find it is the site's to say. */
static bool is_of_manager(const struct plan *p, const char *entry)
{
    const char *const *drop = launcher_way(p->remote.launcher)->drops;

    if (begins(entry, "SLURM_CONF=", 11))
        return false;
    while (*drop && !begins(entry, *drop, strlen(*drop)))
        drop++;
    return *drop;
}

static int add_inherited(const struct plan *p, const struct app *a,
                         char *const *inherited, struct strlist *out)
{
    const struct env_rules *rule = inherit_rule(p, a);

    for (; *inherited; inherited++) {
        if (is_left_behind(*inherited) || !is_wanted(rule, *inherited) ||
            is_of_manager(p, *inherited) ||
            is_set_in(&p->env.set, 0, *inherited) ||
            is_set_in(&a->env.set, 0, *inherited))
            continue;
        if (strlist_add(out, *inherited) < 0)
            return -1;
    }
    return 0;
}

/* Add the entries of set that nothing later replaces: in set itself or in over. */
static int add_settings(const struct strlist *set, const struct strlist *over,
                        struct strlist *out)
{
    for (size_t i = 0; i < set->n; i++) {
        const char *entry = set->v[i];

        if (env_is_ours(entry, env_name_len(entry)) || is_set_in(set, i + 1, entry) ||
            (over && is_set_in(over, 0, entry)))
            continue;
        if (strlist_add(out, entry) < 0)
            return -1;
    }
    return 0;
}

/* Fortran output would otherwise stay in the rank's buffer until it ends. */
static int add_gfortran(const struct plan *p, const struct app *a, struct strlist *out)
{
    static const char unbuffered[] = "GFORTRAN_UNBUFFERED_PRECONNECTED=y";

    if (inherit_rule(p, a)->inherit == INHERIT_NONE || is_set_in(out, 0, unbuffered))
        return 0;
    return strlist_add(out, unbuffered);
}

static int add_versions(struct strlist *out)
{
    for (size_t i = 0; i < COUNT(versions); i++)
        if (!is_set_in(out, 0, versions[i]) && strlist_add(out, versions[i]) < 0)
            return -1;
    return 0;
}

int env_build(const struct plan *p, size_t app, char *const *inherited,
              struct strlist *out, struct err *e)
{
    const struct app *a = &p->apps[app];

    if (add_inherited(p, a, inherited, out) < 0 ||
        add_settings(&p->env.set, &a->env.set, out) < 0 ||
        add_settings(&a->env.set, NULL, out) < 0 || add_gfortran(p, a, out) < 0 ||
        add_versions(out) < 0)
        return err_set(e, ERR_NOMEM, "no memory for the environment");
    return 0;
}

/* NAME=TEXT, unless it is too long; text is used up. */
static int add_constant(struct strlist *out, struct buf *text)
{
    int rc = 0;

    if (text->failed)
        rc = -1;
    else if (text->len <= ENV_CONSTANT_MAX)
        rc = strlist_add(out, buf_bytes(text));
    buf_clear(text);
    return rc;
}

static void list_ranks(const struct env_constants *c, struct buf *text)
{
    buf_str(text, "PMI_LOCAL_RANKS=");
    for (int i = 0; i < c->nlocal && text->len <= ENV_CONSTANT_MAX; i++)
        buf_printf(text, i ? ",%d" : "%d", c->local[i]);
}

int env_add_constants(const struct env_constants *c, struct strlist *out, struct err *e)
{
    struct buf text = BUF_INIT;
    int rc = 0;

    if (c->universe >= 0) {
        buf_printf(&text, "PMI_UNIVERSE_SIZE=%d", c->universe);
        rc = add_constant(out, &text);
    }
    buf_printf(&text, "PMI_APPNUM=%zu", c->appnum);
    rc |= add_constant(out, &text);
    buf_printf(&text, "PMI_PROCESS_MAPPING=%s", c->mapping);
    rc |= add_constant(out, &text);
    list_ranks(c, &text);
    rc |= add_constant(out, &text);
    return rc ? err_set(e, ERR_NOMEM, "no memory for the environment") : 0;
}

/* Where the next variable of a rank goes. */
struct vars {
    char  *text;
    size_t left;             /* 0: it did not fit */
    char **v;
    int    n;
};

static void var(struct vars *to, const char *fmt, ...) PRINTF(2, 3);
static void var(struct vars *to, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(to->text, to->left, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= to->left) {
        to->left = 0;
        return;
    }
    to->v[to->n++] = to->text;
    to->text += n + 1;
    to->left -= (size_t)n + 1;
}

int env_rank_vars(const struct rank_env *r, char *text, size_t size, char **vars,
                  struct err *e)
{
    struct vars to = { text, size, vars, 0 };

    if (r->port) {
        var(&to, "PMI_PORT=%s", r->port);
        var(&to, "PMI_ID=%d", r->rank);
    } else {
        var(&to, "PMI_FD=%d", r->fd);    /* and no PMI_ID: libpmi2 of Slurm would send
                                            srcid instead of pmirank */
    }
    var(&to, "PMI_RANK=%d", r->rank);
    var(&to, "PMI_SIZE=%d", r->size);
    var(&to, "PMI_JOBID=%s", r->jobid);
    if (r->spawned)
        var(&to, "PMI_SPAWNED=1");
    var(&to, "MPI_LOCALNRANKS=%d", r->local_size);
    var(&to, "MPI_LOCALRANKID=%d", r->local_rank);
    if (r->hostname)
        var(&to, "PMI_HOSTNAME=%s", r->hostname);
    if (!to.left)
        return err_set(e, ERR_LENGTH, "the variables of rank %d need more than %zu bytes",
                       r->rank, size);
    vars[to.n] = NULL;
    return to.n;
}
