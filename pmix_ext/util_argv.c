/* util_argv.c - lists of strings that end with NULL; see pmix_ext_values.h. */
#include "pmix_ext/pmix_ext.h"

extern char **environ;

int PMIx_Argv_count(char **argv)
{
    int n = 0;

    while (argv && argv[n])
        n++;
    return n;
}

/* Put arg before the one at index `at`, of which there may be none. */
static pmix_status_t insert(char ***argv, const char *arg, size_t at)
{
    size_t n = (size_t)PMIx_Argv_count(*argv);
    char **longer = realloc(*argv, (n + 2) * sizeof **argv);
    char *copy;

    if (!longer)
        return PMIX_ERR_OUT_OF_RESOURCE;
    *argv = longer;
    longer[n] = NULL;
    copy = strdup(arg);
    if (!copy)
        return PMIX_ERR_OUT_OF_RESOURCE;
    memmove(longer + at + 1, longer + at, (n + 1 - at) * sizeof *longer);
    longer[at] = copy;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Argv_append_nosize(char ***argv, const char *arg)
{
    if (!argv || !arg)
        return PMIX_ERR_BAD_PARAM;
    return insert(argv, arg, (size_t)PMIx_Argv_count(*argv));
}

pmix_status_t PMIx_Argv_prepend_nosize(char ***argv, const char *arg)
{
    if (!argv || !arg)
        return PMIX_ERR_BAD_PARAM;
    return insert(argv, arg, 0);
}

pmix_status_t PMIx_Argv_append_unique_nosize(char ***argv, const char *arg)
{
    if (!argv || !arg)
        return PMIX_ERR_BAD_PARAM;
    for (char **p = *argv; p && *p; p++)
        if (!strcmp(*p, arg))
            return PMIX_SUCCESS;
    return PMIx_Argv_append_nosize(argv, arg);
}

void PMIx_Argv_free(char **argv)
{
    for (char **p = argv; p && *p; p++)
        free(*p);
    free(argv);
}

/* NULL for an empty list and when there is no memory, as the standard has it. */
static char **split(const char *str, int delimiter, bool with_empty)
{
    char **argv = NULL;

    while (str && *str) {
        const char *end = strchr(str, delimiter);
        size_t n = end ? (size_t)(end - str) : strlen(str);
        char *part = strndup(str, n);
        pmix_status_t rc = PMIX_SUCCESS;

        if (part && (n || with_empty))
            rc = PMIx_Argv_append_nosize(&argv, part);
        free(part);
        if (!part || rc != PMIX_SUCCESS) {
            PMIx_Argv_free(argv);
            return NULL;
        }
        str = end ? end + 1 : NULL;
    }
    return argv;
}

char **PMIx_Argv_split(const char *str, int delimiter)
{
    return split(str, delimiter, false);
}

char **PMIx_Argv_split_with_empty(const char *str, int delimiter)
{
    return split(str, delimiter, true);
}

char *PMIx_Argv_join(char **argv, int delimiter)
{
    size_t size = 1;
    char *text, *p;

    for (char **a = argv; a && *a; a++)
        size += strlen(*a) + 1;
    p = text = malloc(size);
    if (!text)
        return NULL;
    for (char **a = argv; a && *a; a++) {
        if (a != argv)
            *p++ = (char)delimiter;
        p = stpcpy(p, *a);
    }
    *p = '\0';
    return text;
}

char **PMIx_Argv_copy(char **argv)
{
    size_t n = (size_t)PMIx_Argv_count(argv);
    char **copy = argv ? calloc(n + 1, sizeof *copy) : NULL;

    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = strdup(argv[i]);
        if (!copy[i]) {
            PMIx_Argv_free(copy);
            return NULL;
        }
    }
    return copy;
}

/* --- environments ------------------------------------------------------------------- */

static char **find(char **env, const char *name)
{
    size_t n = strlen(name);

    for (; env && *env; env++)
        if (!strncmp(*env, name, n) && (*env)[n] == '=')
            return env;
    return NULL;
}

static pmix_status_t set_own(const char *name, const char *value, bool overwrite)
{
    if ((value ? setenv(name, value, overwrite) : unsetenv(name)) == 0)
        return PMIX_SUCCESS;
    return PMIX_ERR_BAD_PARAM;
}

pmix_status_t PMIx_Setenv(const char *name, const char *value, bool overwrite, char ***env)
{
    char **old, *text;
    pmix_status_t rc = PMIX_SUCCESS;

    if (!name || !*name || strchr(name, '=') || !env)
        return PMIX_ERR_BAD_PARAM;
    if (*env == environ)
        return set_own(name, value, overwrite);
    old = find(*env, name);
    if (old && !overwrite)
        return PMIX_ERR_EXISTS;
    if (asprintf(&text, "%s=%s", name, value ? value : "") < 0)
        return PMIX_ERR_NOMEM;
    if (old) {
        free(*old);
        *old = text;
        return rc;
    }
    rc = PMIx_Argv_append_nosize(env, text);
    free(text);
    return rc;
}
