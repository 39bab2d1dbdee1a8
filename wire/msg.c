/* msg.c - see msg.h */
#include "wire/msg.h"

#include "wire/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void msg_init(struct msg *m)
{
    m->cmd = "";
    m->pairs = m->few;
    m->n = 0;
    m->cap = MSG_PAIRS;
    m->ints = 0;
    m->failed = m->block = false;
}

void msg_clear(struct msg *m)
{
    if (m->pairs != m->few)
        free(m->pairs);
    msg_init(m);
}

void msg_start(struct msg *m, const char *cmd)
{
    m->cmd = cmd;
    m->n = 0;
    m->ints = 0;
    m->failed = m->block = false;
}

static bool more_room(struct msg *m)
{
    size_t cap = m->cap * 4;
    struct pair *p;

    if (m->cap >= LIMIT_PAIRS)
        return false;
    p = m->pairs == m->few ? malloc(cap * sizeof *p) : realloc(m->pairs, cap * sizeof *p);
    if (!p)
        return false;
    if (m->pairs == m->few)
        memcpy(p, m->few, sizeof m->few);
    m->pairs = p;
    m->cap = cap;
    return true;
}

void msg_bytes(struct msg *m, const char *key, const char *val, size_t len)
{
    if (m->n == m->cap && !more_room(m)) {
        m->failed = true;
        return;
    }
    m->pairs[m->n++] = (struct pair){ key, val, len };
}

void msg_str(struct msg *m, const char *key, const char *val)
{
    msg_bytes(m, key, val, strlen(val));
}

void msg_int(struct msg *m, const char *key, long long val)
{
    if (m->ints == MSG_PAIRS) {
        m->failed = true;
        return;
    }
    snprintf(m->digits[m->ints], sizeof m->digits[0], "%lld", val);
    msg_str(m, key, m->digits[m->ints++]);
}

const struct pair *msg_find(const struct msg *m, const char *key)
{
    for (size_t i = 0; i < m->n; i++)
        if (!strcmp(m->pairs[i].key, key))
            return &m->pairs[i];
    return NULL;
}

const char *msg_get(const struct msg *m, const char *key)
{
    const struct pair *p = msg_find(m, key);

    return p ? p->val : NULL;
}

int pair_int(const struct pair *p, long long min, long long max, long long *out,
             struct err *e)
{
    const char *s = p->val;
    char *end;
    long long v;

    errno = 0;
    v = strtoll(s, &end, 10);
    if (!((*s >= '0' && *s <= '9') || (*s == '-' && s[1] >= '0' && s[1] <= '9')) || *end)
        return err_set(e, ERR_INVALID_VAL, "%.40s=%.40s is not a number", p->key, s);
    if (errno || v < min || v > max)
        return err_set(e, ERR_INVALID_VAL, "%.40s=%.40s is not within %lld..%lld", p->key, s,
                       min, max);
    *out = v;
    return 0;
}

int msg_number(const struct msg *m, const char *key, long long min, long long max,
               long long *out, struct err *e)
{
    const struct pair *p = msg_find(m, key);

    if (!p)
        return err_set(e, ERR_INVALID_ARG, "%.40s: no %s", m->cmd, key);
    return pair_int(p, min, max, out, e);
}

int pair_bool(const struct pair *p, bool *out, struct err *e)
{
    static const struct { const char *word; bool value; } words[] = {
        { "true", true }, { "1", true }, { "yes", true },
        { "false", false }, { "0", false }, { "no", false },
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(p->val, words[i].word)) {
            *out = words[i].value;
            return 0;
        }
    return err_set(e, ERR_INVALID_VAL, "%.40s=%.40s is neither TRUE nor FALSE", p->key,
                   p->val);
}

const struct codec *codec_of(enum wire wire)
{
    return wire == WIRE_1 ? &wire_v1 : &wire_v2;
}
