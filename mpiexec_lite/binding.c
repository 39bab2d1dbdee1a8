/* binding.c - see binding.h */
#include "mpiexec_lite/binding.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USER "user:"

/* Where Linux lists the processors that are together with one; NULL: each is alone. */
static const struct level { const char *name, *list; } levels[] = {
    { "core",     "topology/thread_siblings_list" },
    { "hwthread", "topology/thread_siblings_list" },
    { "socket",   "topology/core_siblings_list" },
    { "numa",     "node*/cpulist" },
    { "rr",       NULL },
};

static const struct level *level_of(const char *name)
{
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (!strcmp(name, levels[i].name))
            return &levels[i];
    return NULL;
}

/* --- sets -------------------------------------------------------------- */

static bool has(const struct cpus *s, int cpu)
{
    return CPU_ISSET_S((size_t)cpu, sizeof *s, s->part);
}

static void put(struct cpus *s, int cpu)
{
    CPU_SET_S((size_t)cpu, sizeof *s, s->part);
}

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory for sets of processors");
}

/* Add what of a set is allowed, if anything is. */
static int add(struct binding *b, const struct cpus *set, const struct cpus *allowed,
               struct err *e)
{
    struct cpus both;

    CPU_AND_S(sizeof both, both.part, set->part, allowed->part);
    if (!CPU_COUNT_S(sizeof both, both.part))
        return 0;
    if (b->n == b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 16;
        struct cpus *v = reallocarray(b->sets, cap, sizeof *v);

        if (!v)
            return no_memory(e);
        b->sets = v;
        b->cap = cap;
    }
    b->sets[b->n++] = both;
    return 0;
}

static int add_each(struct binding *b, const struct cpus *set, const struct cpus *allowed,
                    struct err *e)
{
    for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
        struct cpus one;

        if (!has(set, cpu))
            continue;
        one = (struct cpus){ 0 };
        put(&one, cpu);
        if (add(b, &one, allowed, e) < 0)
            return -1;
    }
    return 0;
}

/* --- lists ------------------------------------------------------------- */

static bool take_number(const char **at, long *n)
{
    char *end;

    if (!isdigit((unsigned char)**at))
        return false;
    *n = strtol(*at, &end, 10);
    *at = end;
    return *n < CPUS_MAX;
}

/* Numbers and ranges, joined by that character: 0,2-5. */
static bool take_set(const char **at, char joint, struct cpus *out)
{
    long a, b;

    *out = (struct cpus){ 0 };
    for (;; ++*at) {
        if (!take_number(at, &a))
            return false;
        b = a;
        if (**at == '-' && (++*at, !take_number(at, &b) || b < a))
            return false;
        while (a <= b)
            put(out, (int)a++);
        if (**at != joint)
            return true;
    }
}

/* The sets of user:LIST.  b NULL: only whether it is a list.  False: it is none, or e. */
static bool take_user(struct binding *b, const char *list, const struct cpus *allowed,
                      struct err *e)
{
    struct cpus set;

    for (;; list++) {
        if (!take_set(&list, '+', &set) || (b && add(b, &set, allowed, e) < 0))
            return false;
        if (*list != ',')
            return !*list;
    }
}

bool binding_is_known(const char *how)
{
    if (!strncmp(how, USER, strlen(USER)))
        return take_user(NULL, how + strlen(USER), NULL, NULL);
    return !strcmp(how, "none") || level_of(how);
}

/* --- the machine ------------------------------------------------------- */

int binding_allowed(struct cpus *out, struct err *e)
{
    *out = (struct cpus){ 0 };
    if (sched_getaffinity(0, sizeof *out, out->part) == 0)
        return 0;
    return err_set(e, ERR_OTHER, "the processors that may be used: %s", strerror(errno));
}

/* Read a list of processors, which ends with a line break. */
static int read_list(const char *path, struct cpus *out, struct err *e)
{
    char text[4 * CPUS_MAX];             /* every second number, at worst */
    const char *at = text;
    FILE *f = fopen(path, "re");
    bool got = f && fgets(text, sizeof text, f);

    if (f)
        fclose(f);
    if (!got || !take_set(&at, ',', out) || *at != '\n')
        return err_set(e, ERR_OTHER, "%.120s: no list of processors", path);
    return 0;
}

/* Who is together with a processor. */
static int read_siblings(const char *system, int cpu, const char *list, struct cpus *out,
                         struct err *e)
{
    char pattern[PATH_MAX];
    glob_t found = { 0 };
    int rc;

    snprintf(pattern, sizeof pattern, "%s/cpu%d/%s", system, cpu, list);
    if (glob(pattern, 0, NULL, &found) == 0)
        rc = read_list(found.gl_pathv[0], out, e);
    else
        rc = err_set(e, ERR_OTHER, "%.120s: not told by this machine", pattern);
    globfree(&found);
    return rc;
}

static int add_level(struct binding *b, const struct level *l, const char *system,
                     const struct cpus *allowed, struct err *e)
{
    bool whole = strcmp(l->name, "hwthread") != 0;
    struct cpus seen = { 0 }, set;

    for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
        if (!has(allowed, cpu) || has(&seen, cpu))
            continue;
        if (read_siblings(system, cpu, l->list, &set, e) < 0)
            return -1;
        put(&set, cpu);                  /* whatever is said: so that it is seen once */
        CPU_OR_S(sizeof seen, seen.part, seen.part, set.part);
        if ((whole ? add : add_each)(b, &set, allowed, e) < 0)
            return -1;
    }
    return 0;
}

int binding_init(struct binding *b, const char *how, const char *system,
                 const struct cpus *allowed, struct err *e)
{
    const struct level *l = level_of(how);

    *b = (struct binding){ 0 };
    if (!strcmp(how, "none"))
        return 0;
    if (l)
        return l->list ? add_level(b, l, system, allowed, e) : add_each(b, allowed, allowed, e);
    if (strncmp(how, USER, strlen(USER)) || !binding_is_known(how))
        return err_set(e, ERR_INVALID_VAL, "'%.60s' is no binding", how);
    if (!take_user(b, how + strlen(USER), allowed, e))
        return -1;
    return b->n ? 0 : err_set(e, ERR_INVALID_VAL, "none of the processors of %.60s may be used",
                              how);
}

void binding_clear(struct binding *b)
{
    free(b->sets);
    *b = (struct binding){ 0 };
}

const struct cpus *binding_of(const struct binding *b, int local_rank)
{
    return b->n ? &b->sets[(size_t)local_rank % b->n] : NULL;
}
