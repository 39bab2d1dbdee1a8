/* spawn_env.c - see spawn_env.h */
#include "mpiexec_lite/spawn_env.h"

#include "mpiexec_lite/env.h"
#include "wire/buf.h"

#include <stdlib.h>
#include <string.h>

struct change {                          /* borrowed */
    const char *entry;                   /* NAME=VALUE, or NAME */
    size_t      name;                    /* its length */
    const char *value;                   /* "" if there is none */
    char        separator;
};

typedef int change_fn(struct strlist *env, const struct change *c);

/* --- one variable ------------------------------------------------------ */

static size_t find(const struct strlist *env, const struct change *c)
{
    size_t i = 0;

    while (i < env->n && (env_name_len(env->v[i]) != c->name ||
                          memcmp(env->v[i], c->entry, c->name)))
        i++;
    return i;
}

static void drop(struct strlist *env, size_t i)
{
    free(env->v[i]);
    env->v[i] = env->v[--env->n];
    env->v[env->n] = NULL;
}

static int unset(struct strlist *env, const struct change *c)
{
    for (size_t i; (i = find(env, c)) < env->n;)
        drop(env, i);
    return 0;
}

static int set(struct strlist *env, const struct change *c)
{
    unset(env, c);
    return strlist_add(env, c->entry);
}

static int add(struct strlist *env, const struct change *c)
{
    return find(env, c) < env->n ? 0 : strlist_add(env, c->entry);
}

/* NAME=first<separator>last; a part that is empty has no separator. */
static int join(struct strlist *env, const struct change *c, const char *first, const char *last)
{
    struct buf text = BUF_INIT;
    int rc = -1;

    buf_add(&text, c->entry, c->name);
    buf_printf(&text, "=%s", first);
    if (*first && *last)
        buf_char(&text, c->separator);
    buf_str(&text, last);
    if (!text.failed) {
        unset(env, c);
        rc = strlist_add(env, buf_bytes(&text));
    }
    buf_clear(&text);
    return rc;
}

/* The value that the variable has: a copy, "" if it is not there; NULL: no memory. */
static char *old_value(const struct strlist *env, const struct change *c)
{
    size_t i = find(env, c);

    return strdup(i < env->n && env->v[i][c->name] ? env->v[i] + c->name + 1 : "");
}

static int prepend(struct strlist *env, const struct change *c)
{
    char *old = old_value(env, c);
    int rc = old ? join(env, c, c->value, old) : -1;

    free(old);
    return rc;
}

static int append(struct strlist *env, const struct change *c)
{
    char *old = old_value(env, c);
    int rc = old ? join(env, c, old, c->value) : -1;

    free(old);
    return rc;
}

/* Take every element that is this text out of a list. */
static void remove_elements(char *list, const char *text, char separator)
{
    const char stop[] = { separator, '\0' };
    size_t len = strlen(text);
    char *from = list, *to = list;
    bool any = false;

    for (bool last = false; !last;) {
        size_t n = strcspn(from, stop);

        last = !from[n];
        if (n != len || memcmp(from, text, n)) {
            if (any)
                *to++ = separator;
            memmove(to, from, n);
            to += n;
            any = true;
        }
        from += n + !last;
    }
    *to = '\0';
}

static int put_first(struct strlist *env, const struct change *c)
{
    char *old = old_value(env, c);
    int rc = -1;

    if (old) {
        remove_elements(old, c->value, c->separator);
        rc = join(env, c, c->value, old);
    }
    free(old);
    return rc;
}

/* --- all of them ------------------------------------------------------- */

enum { TURNS = 5 };

static const struct {
    const char *key;
    int         turn;                    /* when it is made */
    bool        signed_;                 /* a sign stands in front */
    change_fn  *make;
} kinds[] = {
    { "env-unset", 0, false, unset }, { "env-set", 1, true, set }, { "env-add", 2, true, add },
    { "env-prepend", 3, true, prepend }, { "env-append", 3, true, append },
    { "env-first", 3, true, put_first }, { "env-own", 4, false, set },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static size_t kind_of(const char *key)
{
    size_t i = 0;

    while (i < KINDS && strcmp(kinds[i].key, key))
        i++;
    return i;
}

bool spawn_env_key(const char *key)
{
    return kind_of(key) < KINDS;
}

static int change(struct strlist *env, size_t kind, const char *text, struct err *e)
{
    struct change c = { .separator = *text };

    if (kinds[kind].signed_ && *text)
        text++;
    c.entry = text;
    c.name = env_name_len(text);
    c.value = text[c.name] ? text + c.name + 1 : "";
    if (!c.name || (kinds[kind].make != unset && !text[c.name]))
        return err_set(e, ERR_INVALID_VAL, "%s: NAME=VALUE wanted", kinds[kind].key);
    if (env_is_ours(c.entry, c.name))
        return 0;
    return kinds[kind].make(env, &c) < 0 ? err_set(e, ERR_NOMEM, "no memory for a spawn") : 0;
}

int spawn_env_change(struct strlist *env, const struct spawn_pairs *info, struct err *e)
{
    for (int turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < info->n; i++) {
            size_t kind = kind_of(info->v[i].key);

            if (kind < KINDS && kinds[kind].turn == turn &&
                change(env, kind, info->v[i].value, e) < 0)
                return -1;
        }
    return 0;
}
