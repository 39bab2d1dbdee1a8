/* opts_env.c - variables of our environment that stand for options.  See opts_table.h. */
#include "mpiexec_lite/allocation.h"
#include "mpiexec_lite/env.h"
#include "mpiexec_lite/launchers.h"
#include "mpiexec_lite/opts_table.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory");
}

int opts_boolean(const char *text)
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

/* The same, or -1 and e. */
static int boolean_of(const char *text, struct err *e)
{
    int on = opts_boolean(text);

    return on < 0 ? err_set(e, ERR_INVALID_VAL, "'%.40s' is not 1 or 0", text) : on;
}

static const struct option *row(const char *name)
{
    return opts_find(name, strlen(name));
}

/* The value of an option that the command line has not given. */
static int set_option(struct reader *r, const struct variable *v, const char *name,
                      const char *text, struct err *e)
{
    const struct option *o = row(v->option);
    char *const words[] = { (char *)text, NULL };

    (void)name;
    return opts_has(r, v->option) ? 0 : o->set(r, o, words, e);
}

/* The same, of which a site may have words for another launcher: no reason to start
 * nothing, but silence would mislead. */
static int set_or_warn(struct reader *r, const struct variable *v, const char *name,
                       const char *text, struct err *e)
{
    struct err why = { 0 };

    if (!*text || set_option(r, v, name, text, &why) == 0)
        return 0;
    return opts_warn(r, e, "%s is ignored: %.200s", name, why.text);
}

/* A switch, or its opposite. */
static int set_switch(struct reader *r, const struct variable *v, const char *name,
                      const char *text, struct err *e)
{
    int on = boolean_of(text, e);
    const char *which = on > 0 ? v->option : v->off;

    (void)name;
    if (on < 0 || !which || opts_has(r, v->option))
        return on < 0 ? -1 : 0;
    return row(which)->set(r, row(which), (char *const[]){ NULL, NULL }, e);
}

static int set_debug(struct reader *r, const struct variable *v, const char *name,
                     const char *text, struct err *e)
{
    int on = boolean_of(text, e);

    (void)v;
    (void)name;
    if (on > 0 && r->plan->verbose == 0)
        r->plan->verbose = 1;
    return on < 0 ? -1 : 0;
}

static int set_autofork(struct reader *r, const struct variable *v, const char *name,
                        const char *text, struct err *e)
{
    int on = boolean_of(text, e);

    (void)v;
    (void)name;
    r->no_autofork = on == 0;
    return on < 0 ? -1 : 0;
}

static int set_timeout(struct reader *r, const struct variable *v, const char *name,
                       const char *text, struct err *e)
{
    (void)name;
    if (!*text || opts_has(r, v->option))
        return 0;
    if (opts_seconds_of(text, &r->plan->timeout, e) < 0)
        return -1;
    if (r->plan->timeout < 0)
        r->plan->timeout = 0;
    return 0;
}

static int set_inherit(struct reader *r, const struct variable *v, const char *name,
                       const char *text, struct err *e)
{
    (void)v;
    (void)name;
    (void)e;
    if (r->plan->env.inherit == INHERIT_UNSET)
        r->plan->env.inherit = strcasecmp(text, "all") ? INHERIT_NONE : INHERIT_ALL;
    return 0;
}

/* A launcher that we do not have, as a site may have set it for Hydra, is ignored together
 * with its program. */
static int set_launcher(struct reader *r, const struct variable *v, const char *name,
                        const char *text, struct err *e)
{
    if (!*text || opts_has(r, v->option))
        return 0;
    r->launcher_named = true;
    if (launcher_find(text, &r->plan->remote.launcher) == 0)
        return 0;
    r->strange_launcher = true;
    return opts_warn(r, e, "%s=%.40s is not supported by this version and ignored", name, text);
}

static int set_launcher_exec(struct reader *r, const struct variable *v, const char *name,
                             const char *text, struct err *e)
{
    (void)v;
    (void)name;
    if (!*text || r->strange_launcher || r->plan->remote.exec)
        return 0;
    return opts_copy(&r->plan->remote.exec, text, e);
}

static int set_extra(struct reader *r, const struct variable *v, const char *name,
                     const char *text, struct err *e)
{
    (void)v;
    (void)name;
    return strlist_add_words(&r->plan->remote.extra, text) < 0 ? no_memory(e) : 0;
}

static int number_of(const char *text, long min, long max, int *to, struct err *e)
{
    long n;

    if (!opts_number(text, min, max, &n))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a number in %ld..%ld", text, min, max);
    *to = (int)n;
    return 0;
}

static int set_tries(struct reader *r, const struct variable *v, const char *name,
                     const char *text, struct err *e)
{
    (void)v;
    (void)name;
    if (number_of(text, 0, 1000, &r->plan->remote.tries, e) < 0)
        return -1;
    r->plan->remote.tries++;             /* the first one is no retry */
    return 0;
}

static int set_ssh_limit(struct reader *r, const struct variable *v, const char *name,
                         const char *text, struct err *e)
{
    (void)v;
    (void)name;
    return number_of(text, 1, INT_MAX, &r->plan->remote.ssh_limit, e);
}

static int set_ssh_limit_time(struct reader *r, const struct variable *v, const char *name,
                              const char *text, struct err *e)
{
    (void)v;
    (void)name;
    return number_of(text, 0, 3600, &r->plan->remote.ssh_limit_time, e);
}

static int set_ssh_warnings(struct reader *r, const struct variable *v, const char *name,
                            const char *text, struct err *e)
{
    int on = boolean_of(text, e);

    (void)v;
    (void)name;
    r->plan->remote.ssh_quiet = on == 0;
    return on < 0 ? -1 : 0;
}

/* "low:high"; ports of our own. */
static int set_ports(struct reader *r, const struct variable *v, const char *name,
                     const char *text, struct err *e)
{
    const char *colon = strchr(text, ':');
    struct port_range *to = &r->plan->ports;
    char low[8] = "";
    long a, b;

    (void)v;
    (void)name;
    if (!*text)
        return 0;
    if (colon && colon - text < (long)sizeof low)
        memcpy(low, text, (size_t)(colon - text));
    if (!colon || !opts_number(low, 1, 65535, &a) || !opts_number(colon + 1, a, 65535, &b))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not LOW:HIGH, two ports", text);
    *to = (struct port_range){ (int)a, (int)b };
    return 0;
}

/* HYDRA_USE_STRACE: the rest of the name, in lower case, is the program. */
static int set_wrapper(struct reader *r, const struct variable *v, const char *name,
                       const char *text, struct err *e)
{
    int on = boolean_of(text, e);

    (void)name;
    if (on > 0 && strlist_add(&r->plan->remote.wrapper, v->option) < 0)
        return no_memory(e);
    return on < 0 ? -1 : 0;
}

static int set_rmk(struct reader *r, const struct variable *v, const char *name,
                   const char *text, struct err *e)
{
    (void)name;
    return !*text || opts_has(r, v->option) ? 0 : opts_choose_rmk(r, text, e);
}

/* Before those of the command line, as the system's are. */
static int set_providers(struct reader *r, const struct variable *v, const char *name,
                         const char *text, struct err *e)
{
    struct strlist *dirs = &r->plan->provider_dirs, given = *dirs;
    int rc;

    (void)v;
    (void)name;
    if (!*text || r->plan->no_providers)
        return 0;
    *dirs = (struct strlist){ 0 };
    rc = strlist_add(dirs, text) < 0 || strlist_copy(dirs, &given) < 0 ? no_memory(e) : 0;
    strlist_clear(&given);
    return rc;
}

const struct variable opts_variables[] = {
    { { "MPIEXEC_TIMEOUT" }, set_timeout, "timeout", NULL,
      "As -timeout.  0 or less is no limit." },
    { { "HYDRA_HOST_FILE" }, NULL, NULL, NULL,
      "As -f, when the command line names no host." },
    { { "HYDRA_CONFIG_FILE" }, NULL, NULL, NULL, "As -configfile, when it is not given." },
    { { "HYDRA_ENV" }, set_inherit, NULL, NULL,
      "all is -genvall, anything else -genvnone." },
    { { "HYDRA_DEBUG" }, set_debug, NULL, NULL, "A boolean: as -v." },
    { { "HYDRA_LAUNCHER", "HYDRA_BOOTSTRAP" }, set_launcher, "launcher", NULL,
      "As -launcher.  One that this version has not is ignored with a warning, together with "
      "its program." },
    { { "HYDRA_LAUNCHER_EXEC", "HYDRA_BOOTSTRAP_EXEC" }, set_launcher_exec, "launcher-exec",
      NULL, "As -launcher-exec." },
    { { "HYDRA_LAUNCHER_EXTRA_ARGS" }, set_extra, NULL, NULL,
      "Words, separated by blanks, behind the options of ssh or of the program in its place." },
    { { "HYDRA_LAUNCHER_AUTOFORK" }, set_autofork, NULL, NULL,
      "A boolean.  If it is false, the launcher's own host is reached like any other." },
    { { "HYDRA_LAUNCHER_SSH_LIMIT" }, set_ssh_limit, NULL, NULL,
      "After so many ssh to one host, 8, a pause is made before the next." },
    { { "HYDRA_LAUNCHER_SSH_LIMIT_TIME" }, set_ssh_limit_time, NULL, NULL,
      "How many seconds that pause is: 15." },
    { { "HYDRA_LAUNCHER_SSH_ENABLE_WARNINGS" }, set_ssh_warnings, NULL, NULL,
      "A boolean: whether the pause is told (yes)." },
    { { "HYDRA_PROXY_RETRY_COUNT" }, set_tries, NULL, NULL,
      "How often a host whose connection was reset is tried again: 5." },
    { { "HYDRA_IFACE" }, set_option, "iface", NULL, "As -iface." },
    { { "HYDRA_HOSTNAME_PROPAGATION" }, set_switch, "enable-hostname-propagation",
      "disable-hostname-propagation",
      "A boolean: as -enable-hostname-propagation, or -disable-hostname-propagation." },
    { { "HYDRA_USE_STRACE" }, set_wrapper, "strace", NULL,
      "A boolean: pmi2_proxy on other hosts is started by strace." },
    { { "HYDRA_USE_VALGRIND" }, set_wrapper, "valgrind", NULL, "By valgrind." },
    { { "HYDRA_USE_DDD" }, set_wrapper, "ddd", NULL, "By ddd." },
    { { "MPIR_CVAR_CH3_PORT_RANGE", "MPIR_PARAM_CH3_PORT_RANGE", "MPIR_CVAR_PORT_RANGE",
        "MPIR_PARAM_PORT_RANGE", "MPIEXEC_PORT_RANGE", "MPIEXEC_PORTRANGE",
        "MPICH_PORT_RANGE", "MPICH_PORTRANGE" }, set_ports, NULL, NULL,
      "LOW:HIGH, the ports to listen at, with -launcher tcp and manual and with -pmi-port.  "
      "The first that is set counts." },
    { { "MPIEXEC_UNIVERSE_SIZE" }, set_option, "usize", NULL, "As -usize." },
    { { "HYDRA_BINDING" }, set_or_warn, "bind-to", NULL,
      "As -bind-to; a value that it does not know is ignored with a warning." },
    { { "HYDRA_MAPPING" }, set_or_warn, "map-by", NULL, "As -map-by, in the same way." },
    { { "HYDRA_MEMBIND" }, set_or_warn, "membind", NULL, "As -membind, in the same way." },
    { { "HYDRA_TOPOLIB" }, set_or_warn, "topolib", NULL, "As -topolib, in the same way." },
    { { "HYDRA_TOPO_DEBUG" }, set_switch, "report-bindings", NULL,
      "A boolean: as -report-bindings." },
    { { "MPIEXEC_LITE_PROVIDERS" }, set_providers, NULL, NULL,
      "A directory of set-up providers, used after the system's; see "
      "mpiexec_lite-providers(7)." },
    { { "HYDRA_RMK" }, set_rmk, "rmk", NULL, "As -rmk." },
    { { "HYDRA_DEMUX" }, NULL, NULL, NULL, "Ignored." },
    { { "HYDRA_NAMESERVER_PORT", "HYDRA_NAMESERVER_DEBUG", "HYDSERV_PORT", "HYDSERV_DEBUG" },
      NULL, NULL, NULL, "For daemons of Hydra that are not needed here; ignored." },
    { { "MPIEXEC_PREFIX_DEFAULT", "MPIEXEC_PREFIX_STDOUT", "MPIEXEC_PREFIX_STDERR",
        "MPIEXEC_STDIN_DEST", "MPIEXEC_STDOUTBUF" }, NULL, NULL, NULL,
      "For the launcher gforker; ignored." },
};
const size_t opts_variables_count = sizeof opts_variables / sizeof *opts_variables;

/* Most environments have none of them: then the table is not gone through. */
static bool any_set(char *const *envp)
{
    for (; *envp; envp++)
        if ((**envp == 'H' && !strncmp(*envp, "HYD", 3)) ||
            (**envp == 'M' && !strncmp(*envp, "MPI", 3)))
            return true;
    return false;
}

/* For -explain; where an option beats it, it has said nothing. */
static int note(struct reader *r, const struct variable *v, const char *name, const char *text,
                struct err *e)
{
    const struct option *o = v->option ? row(v->option) : NULL;

    return o && opts_has(r, v->option) ? 0 : opts_note_ours(r, name, o, text, e);
}

/* An empty one says nothing where there is another to look at. */
static int read_variable(struct reader *r, const struct variable *v, struct err *e)
{
    for (const char *const *n = v->names; *n; n++) {
        const char *text = env_get(r->envp, *n);

        if (!text || (!*text && n[1]))
            continue;
        if (note(r, v, *n, text, e) < 0)
            return -1;
        return v->set(r, v, *n, text, e) < 0 ? err_context(e, "%s", *n) : 0;
    }
    return 0;
}

/* Whose job this is, if nobody has said; its manager may be the launcher, too. */
static void find_manager(struct reader *r)
{
    if (!r->rmk && !r->no_rmk)
        r->rmk = allocation_detect(r->envp);
    if (r->rmk && r->rmk->launches && !r->launcher_named && !opts_has(r, "launcher"))
        launcher_find(r->rmk->name, &r->plan->remote.launcher);
}

int opts_set_from_environment(struct reader *r, struct err *e)
{
    bool any = any_set(r->envp);

    for (size_t i = 0; any && i < opts_variables_count; i++)
        if (opts_variables[i].set && read_variable(r, &opts_variables[i], e) < 0)
            return -1;
    find_manager(r);
    return 0;
}
