/* opts_find.c - which option is meant by a name.  See opts_table.h. */
#include "mpiexec_lite/opts_table.h"

#include <ctype.h>
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

static bool is_name(const char *candidate, const char *name, size_t len)
{
    return strncasecmp(candidate, name, len) == 0 && !candidate[len];
}

/* A name that is one capital is not to be had in lower case: -H and -V are not -h
 * and -v. */
static bool is_capital(const char *name)
{
    return isupper((unsigned char)name[0]) && !name[1];
}

static const struct option *find(const char *name, size_t len, bool capital)
{
    for (size_t i = 0; i < opts_rows(); i++)
        for (const char *const *n = opts_row(i)->names; *n; n++)
            if (is_capital(*n) == capital && (capital ? **n == *name : is_name(*n, name, len)))
                return opts_row(i);
    return NULL;
}

const struct option *opts_find(const char *name, size_t len)
{
    const struct option *o = len == 1 ? find(name, len, true) : NULL;

    return o ? o : find(name, len, false);
}

const char *opts_name_of(const struct option *o, const char *name, size_t len)
{
    for (const char *const *n = o->names; *n; n++)
        if (is_name(*n, name, len))
            return *n;
    return o->names[0];
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
