/* cpus.c - see cpus.h */
#include "mpiexec_lite/cpus.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool cpus_has(const struct cpus *s, int cpu)
{
    return CPU_ISSET_S((size_t)cpu, sizeof *s, s->part);
}

void cpus_add(struct cpus *s, int cpu)
{
    CPU_SET_S((size_t)cpu, sizeof *s, s->part);
}

int cpus_count(const struct cpus *s)
{
    return CPU_COUNT_S(sizeof *s, s->part);
}

void cpus_keep(struct cpus *s, const struct cpus *of)
{
    CPU_AND_S(sizeof *s, s->part, s->part, of->part);
}

void cpus_join(struct cpus *s, const struct cpus *more)
{
    CPU_OR_S(sizeof *s, s->part, s->part, more->part);
}

bool cpus_meet(const struct cpus *a, const struct cpus *b)
{
    struct cpus both = *a;

    cpus_keep(&both, b);
    return cpus_count(&both) > 0;
}

static bool take_number(const char **at, long *n)
{
    char *end;

    if (!isdigit((unsigned char)**at))
        return false;
    *n = strtol(*at, &end, 10);
    *at = end;
    return *n < CPUS_MAX;
}

bool cpus_take(const char **at, char joint, struct cpus *out)
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
            cpus_add(out, (int)a++);
        if (**at != joint)
            return true;
    }
}

bool cpus_read(const char *text, struct cpus *out)
{
    return cpus_take(&text, ',', out) && !*text;
}

void cpus_print(const struct cpus *s, struct buf *out)
{
    const char *before = "";

    for (int a = 0, b; a < CPUS_MAX; a = b + 1) {
        b = a;
        if (!cpus_has(s, a))
            continue;
        while (b + 1 < CPUS_MAX && cpus_has(s, b + 1))
            b++;
        buf_printf(out, a == b ? "%s%d" : "%s%d-%d", before, a, b);
        before = ",";
    }
}

int cpus_allowed(struct cpus *out, struct err *e)
{
    *out = (struct cpus){ 0 };
    if (sched_getaffinity(0, sizeof *out, out->part) == 0)
        return 0;
    return err_set(e, ERR_OTHER, "the processors that may be used: %s", strerror(errno));
}
