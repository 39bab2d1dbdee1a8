/* serve_cleanup.c - see serve_cleanup.h.  (PMIx standard, "Job control": PMIX_REGISTER_CLEANUP.)
 *
 * Paths are of the node of the rank that names them, whose server removes them as the job's
 * user: what that may not remove stays. */
#include "pmix_ext/serve_cleanup.h"

#include "pmix_ext/support.h"

#include <limits.h>
#include <string.h>

enum { CLEANUPS = 64 };                  /* of one rank */
enum { LISTS = 16384 };                  /* bytes of paths in one request */

static const struct directive_rule cleanup_rules[] = {
    DIRECTIVE(PMIX_REGISTER_CLEANUP, PMIX_STRING, struct ext_cleanup, files),
    DIRECTIVE(PMIX_REGISTER_CLEANUP_DIR, PMIX_STRING, struct ext_cleanup, folders),
    DIRECTIVE(PMIX_CLEANUP_RECURSIVE, PMIX_BOOL, struct ext_cleanup, recursive),
    DIRECTIVE(PMIX_CLEANUP_EMPTY, PMIX_BOOL, struct ext_cleanup, empty),
    DIRECTIVE(PMIX_CLEANUP_IGNORE, PMIX_STRING, struct ext_cleanup, ignore),
    DIRECTIVE(PMIX_CLEANUP_LEAVE_TOPDIR, PMIX_BOOL, struct ext_cleanup, leave_top),
    { 0 }
};

bool cleanup_attribute(size_t i, const char **key, pmix_data_type_t *type)
{
    return directive_at(cleanup_rules, i, key, type);
}

bool cleanup_is(const char *key)
{
    const struct directive_rule *r = cleanup_rules;

    while (r->key && strcmp(r->key, key))
        r++;
    return r->key != NULL;
}

pmix_status_t cleanup_take(struct ext_cleanup *c, const pmix_info_t *info, struct err *e)
{
    struct infos one = { (pmix_info_t *)(uintptr_t)info, 1 };

    return directives_take(&one, "directives", cleanup_rules, c, e);
}

bool cleanup_asked(const struct ext_cleanup *c)
{
    return c->files || c->folders;
}

/* Absolute, of a file or folder that is not /, without "." and "..". */
static bool is_good(const char *path, size_t n)
{
    bool some = false;

    if (!n || *path != '/' || n >= PATH_MAX)
        return false;
    while (n) {
        size_t part;

        path++, n--;                     /* a '/' */
        for (part = 0; part < n && path[part] != '/'; part++)
            ;
        if (part && part <= 2 && !memcmp(path, "..", part))
            return false;
        some |= part > 0;
        path += part, n -= part;
    }
    return some;
}

static pmix_status_t check_length(const char *key, const char *list, struct err *e)
{
    if (!list || strlen(list) <= LISTS)
        return PMIX_SUCCESS;
    err_set(e, ERR_LENGTH, "%s: %zu bytes, at most %d", key, strlen(list), LISTS);
    return PMIX_ERR_BAD_PARAM;
}

static pmix_status_t check_paths(const char *key, const char *list, struct err *e)
{
    if (check_length(key, list, e) != PMIX_SUCCESS)
        return PMIX_ERR_BAD_PARAM;
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t n = strcspn(at, ",");

        if (is_good(at, n))
            continue;
        err_set(e, ERR_INVALID_VAL, "%s: '%.*s': want absolute paths, without . and .., and not /",
                key, n < 100 ? (int)n : 100, at);
        return PMIX_ERR_BAD_PARAM;
    }
    return PMIX_SUCCESS;
}

/* Its own end, or its job's. */
static pmix_status_t check_target(const struct session *s, const pmix_proc_t *t, struct err *e)
{
    if (!strcmp(t->nspace, s->who.nspace) &&
        (t->rank == s->who.rank || t->rank == PMIX_RANK_WILDCARD))
        return PMIX_SUCCESS;
    err_set(e, ERR_INVALID_ARG, "targets: a rank says what is left by itself, or by its own job");
    return PMIX_ERR_NO_PERMISSIONS;
}

pmix_status_t cleanup_begin(struct session *s, struct ext_cleanup *c, const pmix_proc_t *targets,
                            size_t n, struct err *e)
{
    struct ext *x = s->ext;
    pmix_status_t status;

    if (s->who.tool || !x->ops.cleanup) {
        err_set(e, ERR_OTHER, PMIX_REGISTER_CLEANUP ": only ranks have something removed");
        return PMIX_ERR_NOT_SUPPORTED;
    }
    status = check_length(PMIX_CLEANUP_IGNORE, c->ignore, e);
    if (status == PMIX_SUCCESS)
        status = check_paths(PMIX_REGISTER_CLEANUP, c->files, e);
    if (status == PMIX_SUCCESS)
        status = check_paths(PMIX_REGISTER_CLEANUP_DIR, c->folders, e);
    for (size_t i = 0; i < n && status == PMIX_SUCCESS; i++) {
        status = check_target(s, &targets[i], e);
        c->whole_job |= targets[i].rank == PMIX_RANK_WILDCARD;
    }
    if (status != PMIX_SUCCESS)
        return status;
    if (s->ncleanups >= CLEANUPS) {
        err_set(e, ERR_LENGTH, "more than %d requests of one rank", CLEANUPS);
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    if (!x->ops.cleanup(x->host, s->who.nspace, (int)s->who.rank, c)) {
        err_set(e, ERR_OTHER, "the rank's server is gone, or has no memory");
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    s->ncleanups++;
    return PMIX_SUCCESS;
}
