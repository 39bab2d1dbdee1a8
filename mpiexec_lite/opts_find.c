/* opts_find.c - which option is meant by a name.  See opts_table.h. */
#include "mpiexec_lite/opts_table.h"

#include <string.h>
#include <strings.h>

size_t opts_rows(void)
{
    return opts_count + opts_compat_count;
}

const struct option *opts_row(size_t i)
{
    return i < opts_count ? &opts_table[i] : &opts_compat[i - opts_count];
}

size_t opts_number_of(const struct option *o)
{
    if (o >= opts_table && o < opts_table + opts_count)
        return (size_t)(o - opts_table);
    return opts_count + (size_t)(o - opts_compat);
}

/* A name that is one capital is not to be had in lower case: -H and -V are not -h
 * and -v. */
static bool is_capital(const char *name)
{
    return name[0] >= 'A' && name[0] <= 'Z' && !name[1];
}

/* The name of o that is this one, or NULL. */
static const char *name_in(const struct option *o, const char *name, size_t len, bool any_case)
{
    for (const char *const *n = o->names; *n; n++)
        if ((any_case ? !is_capital(*n) && !strncasecmp(*n, name, len)
                      : !strncmp(*n, name, len)) && !(*n)[len])
            return *n;
    return NULL;
}

static const struct option *find(const char *name, size_t len, bool any_case)
{
    for (size_t i = 0; i < opts_rows(); i++)
        if (name_in(opts_row(i), name, len, any_case))
            return opts_row(i);
    return NULL;
}

const struct option *opts_find(const char *name, size_t len)
{
    const struct option *o = find(name, len, false);

    return o ? o : find(name, len, true);
}

const char *opts_name_of(const struct option *o, const char *name, size_t len)
{
    const char *known = name_in(o, name, len, false);

    if (!known)
        known = name_in(o, name, len, true);
    return known ? known : o->names[0];
}

const struct refusal *opts_find_refusal(const char *name, size_t len)
{
    for (size_t i = 0; len && i < opts_refused_count; i++)
        for (const char *n = opts_refused[i].names; *n; n += strspn(n, " ")) {
            size_t size = strcspn(n, " ");

            if (size == len && strncasecmp(n, name, len) == 0)
                return &opts_refused[i];
            n += size;
        }
    return NULL;
}

bool opts_value_is_optional(const struct option *o)
{
    return o->arg && *o->arg == '[';
}

void opts_names(const struct option *o, char *text, size_t size)
{
    size_t at = 0;

    for (const char *const *n = o->names; *n && at < size; n++)
        at += (size_t)snprintf(text + at, size - at, "%s-%s", at ? ", " : "", *n);
}
