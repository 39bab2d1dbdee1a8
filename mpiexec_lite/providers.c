/* providers.c - see providers.h */
#include "mpiexec_lite/providers.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char suffix[] = ".so";

bool provider_is_object(const char *path)
{
    size_t len = strlen(path);

    return len > sizeof suffix - 1 && !strcmp(path + len - (sizeof suffix - 1), suffix);
}

void provider_name(const char *path, char out[PROVIDER_NAME])
{
    const char *slash = strrchr(path, '/');

    snprintf(out, PROVIDER_NAME, "%s", slash ? slash + 1 : path);
    if (provider_is_object(out))
        out[strlen(out) - (sizeof suffix - 1)] = '\0';
}

/* --- found ------------------------------------------------------------- */

static int is_one(const struct dirent *ent)
{
    size_t len = strlen(ent->d_name);

    return ent->d_name[0] != '.' && ent->d_name[len - 1] != '~';
}

/* By the byte, so that the order is the same in every locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int add(struct strlist *out, const char *path, struct err *e)
{
    if (out->n == PROVIDERS_MAX)
        return err_set(e, ERR_LENGTH, "%s: more than %d providers", path, PROVIDERS_MAX);
    return strlist_add(out, path) < 0 ? err_set(e, ERR_NOMEM, "no memory for providers") : 0;
}

/* Relative to the launcher's directory, which other nodes' servers may not be in. */
static int add_file(struct strlist *out, const char *path, struct err *e)
{
    char real[PATH_MAX];

    if (!realpath(path, real))
        return err_set(e, ERR_INVALID_ARG, "provider %s: %s", path, strerror(errno));
    return add(out, real, e);
}

int providers_of_dir(const char *dir, bool must, struct strlist *out, struct err *e)
{
    char real[PATH_MAX], path[PATH_MAX + 256 + 2];
    struct dirent **names;
    int n = scandir(dir, &names, is_one, by_name), rc = 0;

    if (n < 0)
        return errno == ENOENT && !must
               ? 0 : err_set(e, ERR_INVALID_ARG, "providers of %s: %s", dir, strerror(errno));
    if (!realpath(dir, real))
        rc = err_set(e, ERR_INVALID_ARG, "providers of %s: %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", real, names[i]->d_name);
        if (rc == 0)
            rc = add(out, path, e);
        free(names[i]);
    }
    free(names);
    return rc;
}

int providers_list(bool none, const struct strlist *dirs, const struct strlist *files,
                   struct strlist *out, struct err *e)
{
    if (!none && providers_of_dir(PROVIDERS_DIR, false, out, e) < 0)
        return -1;
    for (size_t i = 0; i < dirs->n; i++)
        if (providers_of_dir(dirs->v[i], true, out, e) < 0)
            return -1;
    for (size_t i = 0; i < files->n; i++)
        if (add_file(out, files->v[i], e) < 0)
            return -1;
    return 0;
}

/* --- trusted ----------------------------------------------------------- */

static bool is_ours(const struct stat *s)
{
    bool open = s->st_mode & (S_IWGRP | S_IWOTH);

    if (s->st_uid != 0 && s->st_uid != geteuid())
        return false;
    return !open || (S_ISDIR(s->st_mode) && (s->st_mode & S_ISVTX) && s->st_uid == 0);
}

static int check_one(const char *path, bool file, struct err *e)
{
    struct stat s;

    if (stat(path, &s) < 0)
        return err_set(e, ERR_INVALID_ARG, "%s: %s", path, strerror(errno));
    if (file && !S_ISREG(s.st_mode))
        return err_set(e, ERR_INVALID_ARG, "%s: not a file", path);
    return is_ours(&s) ? 0 : err_set(e, ERR_OTHER, "%s: others than root and its user can "
                                     "change it: refused", path);
}

static int check_folders(const char *path, struct err *e)
{
    char at[PATH_MAX], *slash;

    snprintf(at, sizeof at, "%s", path);
    while ((slash = strrchr(at, '/')) > at) {
        *slash = '\0';
        if (check_one(at, false, e) < 0)
            return -1;
    }
    return check_one("/", false, e);
}

int provider_check(const char *path, char *real, struct err *e)
{
    if (*path != '/')
        return err_set(e, ERR_INVALID_ARG, "%.200s: not an absolute path", path);
    if (strlen(path) >= PATH_MAX || !realpath(path, real))
        return err_set(e, ERR_INVALID_ARG, "%.200s: %s", path, strerror(errno));
    return check_one(real, true, e) < 0 || check_folders(real, e) < 0 ||
           check_folders(path, e) < 0 ? -1 : 0;
}
