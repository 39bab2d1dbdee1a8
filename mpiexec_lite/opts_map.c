/* opts_map.c - the options that say which node and which processors a rank gets.
 *
 * Hydra's words and Open MPI's for the same settings come to the same texts in the plan,
 * which mapspec.h reads on each node. */
#include "mpiexec_lite/mapspec.h"
#include "mpiexec_lite/opts_table.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WORDS " :,"

static int number_of(const char *text, int *out, struct err *e)
{
    long n;

    if (!opts_number(text, 1, PLAN_RANKS_MAX, &n))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a number in 1..%d", text,
                       PLAN_RANKS_MAX);
    *out = (int)n;
    return 0;
}

/* --- -bind-to ---------------------------------------------------------- */

/* Cut off Open MPI's word at the end of a text, if it is there. */
static bool cut_word(char *text, const char *word)
{
    char *colon = strrchr(text, ':');

    if (!colon || strcasecmp(colon + 1, word))
        return false;
    *colon = '\0';
    return true;
}

/* What is wrong leaves nothing behind: it may be a variable's. */
static int set_bind(struct reader *r, const char *typed, struct err *e)
{
    char *text = NULL;
    struct mapspec s;
    bool overload;

    if (opts_copy(&text, typed, e) < 0)
        return -1;
    overload = cut_word(text, "overload-allowed");
    cut_word(text, "if-supported");
    if (mapspec_read(&s, text, e) < 0) {
        free(text);
        return -1;
    }
    if (overload)
        r->plan->oversubscribe = OVERSUBSCRIBE_YES;
    free(r->plan->map.bind);
    r->plan->map.bind = text;
    return 0;
}

int opts_set_bind(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    return set_bind(r, o->arg ? arg[0] : o->names[0] + o->value, e);
}

/* --- -map-by ----------------------------------------------------------- */

static int set_oversubscription(struct reader *r, enum oversubscription to, struct err *e)
{
    if (r->plan->oversubscribe != OVERSUBSCRIBE_USUAL && r->plan->oversubscribe != to)
        return err_set(e, ERR_INVALID_VAL, "oversubscription is both allowed and refused");
    r->plan->oversubscribe = to;
    return 0;
}

int opts_set_oversubscription(struct reader *r, const struct option *o, char *const *arg,
                              struct err *e)
{
    (void)arg;
    return set_oversubscription(r, (enum oversubscription)o->value, e);
}

/* Behind a colon: what Open MPI adds to a mapping. */
static int add_modifier(struct reader *r, const char *word, struct err *e)
{
    if (!strncasecmp(word, "PE=", 3))
        return number_of(word + 3, &r->cpus_per_rank, e);
    if (!strcasecmp(word, "OVERSUBSCRIBE"))
        return set_oversubscription(r, OVERSUBSCRIBE_YES, e);
    if (!strcasecmp(word, "NOOVERSUBSCRIBE"))
        return set_oversubscription(r, OVERSUBSCRIBE_NO, e);
    if (!strcasecmp(word, "NOLOCAL")) {
        r->skip_launch_node = true;
        return 0;
    }
    return err_set(e, ERR_INVALID_VAL, "'%.40s' is not PE=N, OVERSUBSCRIBE, NOOVERSUBSCRIBE or "
                   "NOLOCAL", word);
}

/* "slot", "node", or an object, perhaps with the number behind it. */
static int set_object(struct reader *r, const char *word, const char *count, struct err *e)
{
    struct map_options *m = &r->plan->map;
    struct buf text = BUF_INIT;
    struct mapspec s;
    int rc;

    if (!strcasecmp(word, "slot") && !count)
        return 0;
    if (!strcasecmp(word, "node") && !count) {
        r->plan->by_node = true;
        return 0;
    }
    buf_printf(&text, count ? "%s:%s" : "%s", word, count);
    if (text.failed)
        rc = err_set(e, ERR_NOMEM, "no memory");
    else if (mapspec_read(&s, buf_bytes(&text), NULL) < 0)
        rc = err_set(e, ERR_INVALID_VAL, "'%.40s' is not slot, node, ppr:N:OBJECT, rr, user:LIST, "
                     "machine, numa, socket, l1cache to l5cache, core, hwthread (each with :K), gpu, "
                     "ib, en, hfi, hsn or pci:ID", word);
    else
        rc = opts_copy(&m->by, buf_bytes(&text), e);
    buf_clear(&text);
    return rc;
}

/* ppr:N:OBJECT: N ranks for each. */
static int set_each(struct reader *r, const char *count, const char *object, struct err *e)
{
    int n = 0;

    if (!count || !object)
        return err_set(e, ERR_INVALID_VAL, "ppr wants ppr:N:OBJECT");
    if (number_of(count, &n, e) < 0)
        return -1;
    if (strcasecmp(object, "node")) {
        r->plan->map.each = n;
        return set_object(r, object, NULL, e);
    }
    if (r->ppn && r->ppn != n)
        return err_set(e, ERR_INVALID_VAL, "-ppn says another number");
    r->ppn = n;
    return 0;
}

/* text: changed. */
static int read_map(struct reader *r, char *text, struct err *e)
{
    char *rest = text, *word = strsep(&rest, WORDS), *count;
    long n;

    if (word && !strcasecmp(word, "ppr")) {
        count = strsep(&rest, WORDS);
        if (set_each(r, count, strsep(&rest, WORDS), e) < 0)
            return -1;
    } else {
        count = rest && *rest >= '0' && *rest <= '9' ? strsep(&rest, WORDS) : NULL;
        if (count && !opts_number(count, 1, CPUS_MAX, &n))
            return err_set(e, ERR_INVALID_VAL, "'%.40s' is not a number of objects", count);
        if (set_object(r, word, count, e) < 0)
            return -1;
    }
    while ((word = strsep(&rest, WORDS)))
        if (add_modifier(r, word, e) < 0)
            return -1;
    return 0;
}

static int read_copy(struct reader *r, const char *typed, struct err *e)
{
    char *copy = strdup(typed);
    int rc = copy ? read_map(r, copy, e) : err_set(e, ERR_NOMEM, "no memory");

    free(copy);
    return rc;
}

/* What Hydra names like a device, or a list, is taken as a whole.  Words are first read into
 * a plan that nobody follows: what is wrong leaves nothing behind, as it may be a variable's. */
static int set_map(struct reader *r, const char *typed, struct err *e)
{
    struct plan trial = { .oversubscribe = r->plan->oversubscribe };
    struct reader reader = { .plan = &trial, .ppn = r->ppn };
    struct mapspec s;
    int rc;

    if (mapspec_read(&s, typed, NULL) == 0)
        return opts_copy(&r->plan->map.by, typed, e);
    rc = read_copy(&reader, typed, e);
    free(trial.map.by);
    return rc < 0 ? rc : read_copy(r, typed, e);
}

int opts_set_map(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    return set_map(r, o->arg ? arg[0] : o->names[0] + o->value, e);
}

int opts_set_cpus_per_rank(struct reader *r, const struct option *o, char *const *arg,
                           struct err *e)
{
    (void)o;
    return number_of(arg[0], &r->cpus_per_rank, e);
}

int opts_set_per_socket(struct reader *r, const struct option *o, char *const *arg,
                        struct err *e)
{
    (void)o;
    return set_each(r, arg[0], "socket", e);
}

int opts_set_numbering(struct reader *r, const struct option *o, char *const *arg,
                       struct err *e)
{
    (void)o;
    if (!strcasecmp(arg[0], "fill"))
        r->plan->map.in_order = true;
    else if (!strcasecmp(arg[0], "slot"))
        r->plan->numbering = NUMBER_NODE_AFTER_NODE;
    else if (!strcasecmp(arg[0], "node"))
        r->plan->numbering = NUMBER_ACROSS_NODES;
    else
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not slot, node or fill", arg[0]);
    return 0;
}

/* --- the others -------------------------------------------------------- */

int opts_set_memory(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    struct memspec s;

    (void)o;
    return memspec_read(&s, arg[0], e) < 0 ? -1 : opts_copy(&r->plan->map.memory, arg[0], e);
}

int opts_set_cpu_list(struct reader *r, const struct option *o, char *const *arg,
                      struct err *e)
{
    struct cpus cpus;

    (void)o;
    if (!cpus_read(arg[0], &cpus))
        return err_set(e, ERR_INVALID_VAL, "'%.60s' is no list of processors, as 0,2-5", arg[0]);
    return opts_copy(&r->plan->map.cpus, arg[0], e);
}

int opts_set_gpus(struct reader *r, const struct option *o, char *const *arg, struct err *e)
{
    long n = GPUS_AUTO;

    (void)o;
    if (strcasecmp(arg[0], "AUTO") && !opts_number(arg[0], 1, PLAN_RANKS_MAX, &n))
        return err_set(e, ERR_INVALID_VAL, "'%.40s' is not AUTO or a number in 1..%d", arg[0],
                       PLAN_RANKS_MAX);
    r->plan->map.gpus = (int)n;
    return 0;
}

int opts_set_topolib(struct reader *r, const struct option *o, char *const *arg,
                     struct err *e)
{
    (void)r;
    (void)o;
    return !strcasecmp(arg[0], "hwloc") ? 0
           : err_set(e, ERR_INVALID_VAL, "'%.40s': hwloc is the only one", arg[0]);
}

/* --- what only all together tells -------------------------------------- */

/* N processors for a rank: that many of what it is bound to, which is a core at least. */
static int settle_cpus_per_rank(struct reader *r, struct err *e)
{
    struct map_options *m = &r->plan->map;
    struct mapspec s;
    char text[40];

    if (!r->cpus_per_rank)
        return 0;
    if (mapspec_read(&s, m->bind ? m->bind : "core", e) < 0)
        return -1;
    if (s.kind != SPEC_OBJECT || s.count != 1 ||
        (s.level != LEVEL_CORE && s.level != LEVEL_HWTHREAD))
        return err_set(e, ERR_INVALID_ARG, "processors per rank: -bind-to is %.60s, not core or "
                       "hwthread", m->bind);
    snprintf(text, sizeof text, "%s:%d", s.level == LEVEL_CORE ? "core" : "hwthread",
             r->cpus_per_rank);
    return opts_copy(&m->bind, text, e);
}

/* Who maps by something and binds to nothing in particular is bound to that. */
static int settle_map(struct map_options *m, struct err *e)
{
    struct mapspec bind, by;

    if (!m->by)
        return 0;
    if (!m->bind)
        return opts_copy(&m->bind, m->by, e);
    if (mapspec_read(&bind, m->bind, e) < 0 || mapspec_read(&by, m->by, e) < 0)
        return -1;
    if (by.kind == SPEC_NONE || (by.kind == SPEC_OBJECT && bind.kind == SPEC_OBJECT))
        return 0;
    if (bind.kind == SPEC_NONE || !strcasecmp(m->bind, m->by))
        return 0;
    return err_set(e, ERR_INVALID_ARG, "-map-by %.60s does not go with -bind-to %.60s: only objects "
                   "mix", m->by, m->bind);
}

static int check_hosts(const struct plan *p, struct err *e)
{
    struct mapspec s;

    for (size_t i = 0; i < p->nhosts; i++)
        if (p->hosts[i].binding && mapspec_read(&s, p->hosts[i].binding, e) < 0)
            return err_context(e, "binding= of host %.80s", p->hosts[i].name);
    return 0;
}

int opts_settle_map(struct reader *r, struct err *e)
{
    if (settle_cpus_per_rank(r, e) < 0 || settle_map(&r->plan->map, e) < 0)
        return -1;
    return check_hosts(r->plan, e);
}
