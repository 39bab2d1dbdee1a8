/* spawned_info.c - see spawned_info.h */
#include "mpiexec_lite/spawned_info.h"

#include "mpiexec_lite/opts_table.h"
#include "mpiexec_lite/spawn_env.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *const names[SPAWNED_KEYS] = {
    [SPAWNED_HOST] = "host", [SPAWNED_HOSTS] = "hosts", [SPAWNED_HOSTFILE] = "hostfile",
    [SPAWNED_WDIR] = "wdir", [SPAWNED_PATH] = "path",   [SPAWNED_SOFT] = "soft",
    [SPAWNED_ENV] = "env",   [SPAWNED_BIND] = "bind",   [SPAWNED_FILE] = "file",
    [SPAWNED_TIMEOUT] = "timeout", [SPAWNED_END_ON_NONZERO] = "end-on-nonzero",
    [SPAWNED_STDIN] = "stdin", [SPAWNED_MAP] = "map", [SPAWNED_RANK] = "rank",
    [SPAWNED_PSET] = "pset", [SPAWNED_HOLD] = "hold",
    [SPAWNED_PLACE] = "place", [SPAWNED_DAEMONS] = "daemons",
    [SPAWNED_AGENT] = "fork-agent",
};

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory for a spawn");
}

/* SPAWNED_KEYS: it is none of them. */
static enum spawned_key key_of(const char *name, size_t len)
{
    int key = 0;

    while (key < SPAWNED_KEYS && (strlen(names[key]) != len || memcmp(names[key], name, len)))
        key++;
    return (enum spawned_key)key;
}

static int set(struct spawned_info *in, enum spawned_key key, const char *value, size_t len,
               int line, struct err *e)
{
    struct buf *to = &in->value[key];

    if (to->len && line && key == SPAWNED_ENV)
        buf_bytes(to)[to->len - 1] = '\n';      /* where the text had ended */
    else
        buf_reset(to);
    buf_add(to, value, len);
    buf_char(to, '\0');
    in->line[key] = line;
    return to->failed ? no_memory(e) : 0;
}

static int warn(struct strlist *warnings, const struct spawn_command *c, const char *key,
                size_t len, int line)
{
    char text[200], where[40] = "";

    if (line)
        snprintf(where, sizeof where, " (line %d of its file)", line);
    snprintf(text, sizeof text, "spawn of %.60s: info key %.*s%s changes nothing", c->program,
             (int)(len < 80 ? len : 80), key, where);
    return strlist_add(warnings, text);
}

/* --- the file ---------------------------------------------------------- */

int spawned_read_file(const char *path, struct buf *text, struct err *e)
{
    struct stat st;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return err_set(e, ERR_INVALID_VAL, "%.120s: not a regular file", path);
    return opts_file_read(path, text, e);
}

static bool is_own(const struct spawned_info *in, enum spawned_key key)
{
    return in->value[key].len && !in->line[key];
}

/* The command itself says it. */
static bool is_said(const struct spawned_info *in, enum spawned_key key)
{
    if (key > SPAWNED_HOSTFILE)
        return is_own(in, key);
    return is_own(in, SPAWNED_HOST) || is_own(in, SPAWNED_HOSTS) || is_own(in, SPAWNED_HOSTFILE);
}

static void trim(const char **s, size_t *len)
{
    static const char blank[] = " \t\r";

    while (*len && strchr(blank, **s)) {
        ++*s;
        --*len;
    }
    while (*len && strchr(blank, (*s)[*len - 1]))
        --*len;
}

static int take_line(struct spawned_info *in, const struct spawn_command *c, const char *s,
                     size_t len, int line, struct strlist *warnings, struct err *e)
{
    const char *value, *equals;
    size_t n, name;
    enum spawned_key key;

    trim(&s, &len);
    if (!len || *s == '#')
        return 0;
    equals = memchr(s, '=', len);
    name = equals ? (size_t)(equals - s) : 0;
    value = equals + 1;
    n = len - name - 1;
    trim(&s, &name);
    if (!name)
        return err_set(e, ERR_INVALID_VAL, "'key = value' wanted, not '%.*s'",
                       (int)(len < 60 ? len : 60), s);
    trim(&value, &n);
    key = key_of(s, name);
    if (key == SPAWNED_FILE)
        return err_set(e, ERR_INVALID_VAL, "a file cannot name another one");
    if (key == SPAWNED_KEYS)
        return warn(warnings, c, s, name, line) < 0 ? no_memory(e) : 0;
    return is_said(in, key) ? 0 : set(in, key, value, n, line, e);
}

static int take_lines(struct spawned_info *in, const struct spawn_command *c, const char *at,
                      struct strlist *warnings, struct err *e)
{
    for (int line = 1; *at; line++) {
        size_t len = strcspn(at, "\n");

        if (take_line(in, c, at, len, line, warnings, e) < 0) {
            in->line[SPAWNED_FILE] = line;
            return spawned_info_wrong(in, SPAWNED_FILE, e);
        }
        at += len + (at[len] == '\n');
    }
    return 0;
}

static int read_file(struct spawned_info *in, const struct spawn_command *c,
                     struct strlist *warnings, struct err *e)
{
    struct buf text = BUF_INIT;
    const char *path = spawned_says(in, SPAWNED_FILE);
    int rc = spawned_read_file(path, &text, e);

    if (rc == 0 && text.len > SPAWNED_FILE_MAX)
        rc = err_set(e, ERR_LENGTH, "%.120s: more than %d bytes", path, SPAWNED_FILE_MAX);
    rc = rc < 0 ? err_context(e, "file") : take_lines(in, c, buf_bytes(&text), warnings, e);
    buf_clear(&text);
    return rc;
}

/* --- all --------------------------------------------------------------- */

int spawned_info_read(struct spawned_info *in, const struct spawn_command *c,
                      struct strlist *warnings, struct err *e)
{
    *in = (struct spawned_info){ 0 };
    for (size_t i = 0; i < c->info.n; i++) {
        const struct spawn_pair *p = &c->info.v[i];
        enum spawned_key key = key_of(p->key, strlen(p->key));

        if (key == SPAWNED_KEYS && !spawn_env_key(p->key) &&
            warn(warnings, c, p->key, strlen(p->key), 0) < 0)
            return no_memory(e);
        if (key != SPAWNED_KEYS && set(in, key, p->value, strlen(p->value), 0, e) < 0)
            return -1;
    }
    return spawned_says(in, SPAWNED_FILE) ? read_file(in, c, warnings, e) : 0;
}

void spawned_info_clear(struct spawned_info *in)
{
    for (int i = 0; i < SPAWNED_KEYS; i++)
        buf_clear(&in->value[i]);
}

const char *spawned_says(const struct spawned_info *in, enum spawned_key key)
{
    return in->value[key].len ? buf_bytes(&in->value[key]) : NULL;
}

int spawned_info_wrong(const struct spawned_info *in, enum spawned_key key, struct err *e)
{
    if (!in->line[key])
        return -1;
    return err_context(e, "file %.120s:%d", spawned_says(in, SPAWNED_FILE), in->line[key]);
}
