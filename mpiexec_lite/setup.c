/* setup.c - see setup.h */
#include "mpiexec_lite/setup.h"

#include "mpiexec_lite/env.h"
#include "mpiexec_lite/spawn_env.h"
#include "pmix_ext/info.h"
#include "pmix_ext/pmix_ext_keys.h"
#include "pmix_ext/value.h"
#include "wire/seal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct change {
    const char *key;
    const char *as;              /* spawn_env.h */
    bool        unset;           /* it has no value: PMIX_STRING, a name */
} changes[] = {
    { PMIX_UNSET_ENVAR, "env-unset", true }, { PMIX_SET_ENVAR, "env-set", false },
    { PMIX_ADD_ENVAR, "env-add", false }, { PMIX_PREPEND_ENVAR, "env-prepend", false },
    { PMIX_APPEND_ENVAR, "env-append", false }, { PMIX_FIRST_ENVAR, "env-first", false },
};

static const struct change *change_of(const pmix_info_t *info)
{
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (!strcmp(changes[i].key, info->key))
            return &changes[i];
    return NULL;
}

bool setup_is_env(const pmix_info_t *info)
{
    return change_of(info) != NULL;
}

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory for what a provider has said");
}

static void wipe_text(char *text)
{
    if (text)
        seal_wipe(text, strlen(text));
}

/* Secrets in strings and bytes, wherever they are not deeper. */
static void wipe_value(pmix_value_t *v)
{
    if (v->type == PMIX_STRING)
        wipe_text(v->data.string);
    else if (v->type == PMIX_ENVAR)
        wipe_text(v->data.envar.value);
    else if (v->type == PMIX_BYTE_OBJECT && v->data.bo.bytes)
        seal_wipe(v->data.bo.bytes, v->data.bo.size);
}

void setup_clear(struct setup *s)
{
    for (size_t i = 0; i < s->infos.n; i++)
        wipe_value(&s->infos.v[i].value);
    infos_clear(&s->infos);
    for (size_t i = 0; i < s->secrets.n; i++)
        wipe_text(s->secrets.v[i]);
    strlist_clear(&s->secrets);
}

/* --- what may be said -------------------------------------------------- */

/* A name as POSIX has it. */
static bool is_name(const char *s)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    return s && *s && strchr(first, *s) && !s[strspn(s, all)];
}

/* The variable that an info is about; NULL: it is about none, or makes no sense. */
static const char *variable(const pmix_info_t *info)
{
    const struct change *c = change_of(info);
    const pmix_value_t *v = &info->value;

    if (!c || v->type != (c->unset ? PMIX_STRING : PMIX_ENVAR))
        return NULL;
    return c->unset ? v->data.string : v->data.envar.envar;
}

static int check(const pmix_info_t *info, bool only_env, struct err *e)
{
    const char *name = variable(info);

    if (!change_of(info)) {
        if (!*info->key || info->value.type == PMIX_UNDEF)
            return err_set(e, ERR_INVALID_VAL, "an info without key or value");
        if (only_env)
            return err_set(e, ERR_INVALID_KEY, "%.64s: only variables may be set here",
                           info->key);
        return info_key(info->key)
               ? err_set(e, ERR_INVALID_KEY, "%.64s: that is the launcher's to say", info->key)
               : 0;
    }
    if (!name)
        return err_set(e, ERR_INVALID_VAL, "%.64s: of the wrong type", info->key);
    if (!is_name(name))
        return err_set(e, ERR_INVALID_VAL, "%.64s: '%.64s' is no name of a variable",
                       info->key, name);
    return env_is_ours(name, strlen(name))
           ? err_set(e, ERR_INVALID_VAL, "%.64s: %.64s is the launcher's to set", info->key,
                     name)
           : 0;
}

/* What an info decides by itself: of two that decide the same the last one counts. */
static bool decides(const pmix_info_t *info)
{
    return !change_of(info) || !strcmp(info->key, PMIX_SET_ENVAR) ||
           !strcmp(info->key, PMIX_UNSET_ENVAR);
}

static bool same_thing(const pmix_info_t *a, const pmix_info_t *b)
{
    const char *x = variable(a), *y = variable(b);

    if (!decides(a) || !decides(b))
        return false;
    return x && y ? !strcmp(x, y) : !x && !y && !strcmp(a->key, b->key);
}

static void drop(struct setup *s, size_t i)
{
    wipe_value(&s->infos.v[i].value);
    value_clear(PMIX_INFO, &s->infos.v[i]);
    memmove(&s->infos.v[i], &s->infos.v[i + 1], (--s->infos.n - i) * sizeof *s->infos.v);
}

/* The earlier one goes. */
static int replace(struct setup *s, const char *provider, const pmix_info_t *by,
                   struct strlist *warnings)
{
    const char *name = variable(by);
    char text[300];

    for (size_t i = 0; i < s->infos.n; i++) {
        if (!same_thing(&s->infos.v[i], by))
            continue;
        snprintf(text, sizeof text, "provider %.100s: %.64s was said before, and is replaced",
                 provider, name ? name : by->key);
        drop(s, i);
        return warnings && strlist_add(warnings, text) < 0 ? -1 : 0;
    }
    return 0;
}

/* Its array becomes ours: those of `more` are moved. */
static int join(struct setup *s, const char *provider, struct infos *more,
                struct strlist *warnings, struct err *e)
{
    pmix_info_t *v = calloc(s->infos.n + more->n + 1, sizeof *v);

    if (!v)
        return no_memory(e);
    if (s->infos.n)
        memcpy(v, s->infos.v, s->infos.n * sizeof *v);
    free(s->infos.v);
    s->infos.v = v;
    for (size_t i = 0; i < more->n; i++) {
        if (replace(s, provider, &more->v[i], warnings) < 0)
            return no_memory(e);
        s->infos.v[s->infos.n++] = more->v[i];
        more->v[i] = (pmix_info_t){ .value = { .type = PMIX_UNDEF } };
    }
    return 0;
}

/* --- secrets ----------------------------------------------------------- */

static int add_form(struct setup *s, const char *text, size_t len)
{
    struct buf doubled = BUF_INIT;
    int rc = -1;

    if (len < SETUP_SECRET)
        return 0;
    for (size_t i = 0; i < len; i++) {   /* as PMI-2 writes it */
        buf_char(&doubled, text[i]);
        if (text[i] == ';')
            buf_char(&doubled, ';');
    }
    if (!doubled.failed && strlist_add_bytes(&s->secrets, text, len) == 0)
        rc = doubled.len > len ? strlist_add(&s->secrets, buf_bytes(&doubled)) : 0;
    seal_wipe_buf(&doubled);
    buf_clear(&doubled);
    return rc;
}

/* A text, and as JSON has it. */
static int add_secret(struct setup *s, const char *text)
{
    struct buf json = BUF_INIT;
    struct err e;
    int rc = add_form(s, text, strlen(text));

    if (rc == 0 && value_encode(PMIX_STRING, &text, "value", &json, &e) == 0 &&
        json.len > strlen(text) + 2)
        rc = add_form(s, buf_bytes(&json) + 1, json.len - 2);
    seal_wipe_buf(&json);
    buf_clear(&json);
    return rc;
}

/* What is no string, as JSON has it; bytes without their quotes. */
static int add_content(struct setup *s, const pmix_value_t *v)
{
    const void *content = value_content(v);
    struct buf json = BUF_INIT;
    struct err e;
    int rc = content ? value_encode(v->type, content, "value", &json, &e) : 0;
    size_t quotes = json.len > 1 && *buf_bytes(&json) == '"';

    if (rc == 0 && json.len)
        rc = add_form(s, buf_bytes(&json) + quotes, json.len - 2 * quotes);
    seal_wipe_buf(&json);
    buf_clear(&json);
    return rc;
}

static int note_secrets(struct setup *s, struct err *e)
{
    for (size_t i = 0; i < s->infos.n; i++) {
        const pmix_value_t *v = &s->infos.v[i].value;
        int rc = 0;

        if (v->type == PMIX_ENVAR)
            rc = v->data.envar.value ? add_secret(s, v->data.envar.value) : 0;
        else if (v->type == PMIX_STRING && !change_of(&s->infos.v[i]))
            rc = v->data.string ? add_secret(s, v->data.string) : 0;
        else if (v->type != PMIX_STRING)
            rc = add_content(s, v);
        if (rc < 0)
            return no_memory(e);
    }
    return 0;
}

static const char blot[] = "[redacted]";

/* The secret that begins at data; 0: none does. */
static size_t secret_at(const struct setup *s, const char *data, size_t len)
{
    size_t longest = 0;

    for (size_t i = 0; i < s->secrets.n; i++) {
        size_t n = strlen(s->secrets.v[i]);

        if (n > longest && n <= len && !memcmp(s->secrets.v[i], data, n))
            longest = n;
    }
    return longest;
}

void setup_redact(const struct setup *s, const char *data, size_t len, struct buf *out)
{
    for (size_t at = 0; at < len;) {
        size_t n = secret_at(s, data + at, len - at);

        if (n)
            buf_str(out, blot);
        else
            buf_char(out, data[at]);
        at += n ? n : 1;
    }
}

/* --- added, written, read ---------------------------------------------- */

int setup_add(struct setup *s, const char *provider, const char *json, size_t len,
              bool only_env, struct strlist *warnings, struct err *e)
{
    struct infos more = { 0 };
    int rc = infos_take(&more, json, len, "infos", e);

    for (size_t i = 0; i < more.n && rc == 0; i++)
        rc = check(&more.v[i], only_env, e);
    if (rc == 0)
        rc = join(s, provider, &more, warnings, e);
    infos_clear(&more);
    strlist_clear(&s->secrets);
    return rc < 0 ? -1 : note_secrets(s, e);
}

enum { SUM = 16 };               /* digits of the checksum */

static void sum_of(const char *json, size_t len, char out[SUM + 1])
{
    snprintf(out, SUM + 1, "%016llx", (unsigned long long)XXH3_64bits(json, len));
}

int setup_write(const struct setup *s, struct buf *out, struct err *e)
{
    struct buf json = BUF_INIT;
    char sum[SUM + 1];
    int rc = value_encode_array(PMIX_INFO, s->infos.v, s->infos.n, "infos", &json, e);

    if (rc == 0 && json.len > SETUP_MAX - SUM)
        rc = err_set(e, ERR_LENGTH, "providers have said %zu bytes, at most %d can be sent",
                     json.len, SETUP_MAX - SUM);
    if (rc == 0) {
        sum_of(buf_bytes(&json), json.len, sum);
        buf_str(out, sum);
        buf_add(out, buf_bytes(&json), json.len);
    }
    seal_wipe_buf(&json);
    buf_clear(&json);
    return rc;
}

void setup_free_text(char *text)
{
    wipe_text(text);
    free(text);
}

int setup_read(struct setup *s, const char *text, struct err *e)
{
    size_t len = text ? strlen(text) : 0;
    char sum[SUM + 1];

    if (!text)
        return 0;
    if (len > SETUP_MAX || len < SUM)
        return err_set(e, ERR_LENGTH, "set-up: %zu bytes, want %d to %d", len, SUM, SETUP_MAX);
    sum_of(text + SUM, len - SUM, sum);
    if (memcmp(sum, text, SUM))
        return err_set(e, ERR_INVALID_VAL, "set-up: damaged on its way");
    return setup_add(s, "", text + SUM, len - SUM, false, NULL, e) < 0
           ? err_context(e, "set-up") : 0;
}

/* --- used -------------------------------------------------------------- */

static int change_one(struct strlist *env, const char *as, const char *text, struct err *e)
{
    struct spawn_pair pair = { (char *)(uintptr_t)as, (char *)(uintptr_t)text };

    return spawn_env_change(env, &(struct spawn_pairs){ &pair, 1, 1 }, e);
}

static int change_by(struct strlist *env, const struct change *c, const pmix_value_t *v,
                     struct err *e)
{
    const pmix_envar_t *var = &v->data.envar;
    struct buf text = BUF_INIT;
    int rc;

    if (c->unset)
        return change_one(env, c->as, v->data.string, e);
    buf_char(&text, var->separator ? var->separator : ':');
    buf_printf(&text, "%s=%s", var->envar, var->value ? var->value : "");
    rc = text.failed ? no_memory(e) : change_one(env, c->as, buf_bytes(&text), e);
    seal_wipe_buf(&text);
    buf_clear(&text);
    return rc;
}

/* UNSET, SET and ADD in this order; then the rest, as it came. */
static int turn_of(const struct change *c)
{
    return c - changes < 3 ? (int)(c - changes) : 3;
}

int setup_change_env(const struct setup *s, const struct strlist *const own[], size_t nown,
                     struct strlist *env, struct err *e)
{
    for (int turn = 0; turn < 4; turn++)
        for (size_t i = 0; i < s->infos.n; i++) {
            const struct change *c = change_of(&s->infos.v[i]);

            if (c && turn_of(c) == turn && change_by(env, c, &s->infos.v[i].value, e) < 0)
                return -1;
        }
    for (size_t k = 0; s->infos.n && k < nown; k++)
        for (size_t i = 0; i < own[k]->n; i++)
            if (change_one(env, "env-own", own[k]->v[i], e) < 0)
                return -1;
    return 0;
}

int setup_text(const pmix_value_t *v, struct buf *out)
{
    struct err e;

    switch (v->type) {
    case PMIX_STRING: buf_str(out, v->data.string ? v->data.string : ""); break;
    case PMIX_BOOL:   buf_str(out, v->data.flag ? "true" : "false"); break;
    case PMIX_INT: case PMIX_INT8: case PMIX_INT16: case PMIX_INT32: case PMIX_INT64:
    case PMIX_UINT: case PMIX_UINT8: case PMIX_UINT16: case PMIX_UINT32: case PMIX_UINT64:
    case PMIX_SIZE: case PMIX_PID:
        value_print(v->type, value_content(v), out);
        break;
    default:
        if (value_encode(PMIX_VALUE, v, "value", out, &e) < 0)
            return -1;
    }
    return out->failed ? -1 : 0;
}
