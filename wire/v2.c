/* v2.c - the PMI-2 codec: key=value; with ';' inside a value doubled.
 *
 * Parsing turns the '=' after each key and the ';' after each value into NULs.
 * A doubled ';' shortens the value in place.  See wire/FORMAT. */
#include "wire/msg.h"

#include <stdio.h>
#include <string.h>

/* Take "key=" from *s.  NULL if the rest of the body has none. */
static char *take_key(char **s, const char *end)
{
    char *key = *s, *eq = memchr(key, '=', (size_t)(end - key));

    if (!eq)
        return NULL;
    *eq = '\0';
    *s = eq + 1;
    return key;
}

/* Take a value and its ';' from *s.  NULL if no single ';' ends it. */
static char *take_value(char **s, const char *end, size_t *len)
{
    char *val = *s, *to = memchr(val, ';', (size_t)(end - val)), *from = to;

    if (!to)
        return NULL;
    while (from + 1 < end && from[1] == ';') {           /* doubled: one is text */
        char *next = memchr(from + 2, ';', (size_t)(end - from - 2));
        size_t run;

        if (!next && from + 2 == end) {
            /* The last value ends so unescaped or unclosed: its text is "...;". */
            *to++ = ';';
            from++;
            break;
        }
        if (!next)
            return NULL;
        run = (size_t)(next - (from + 1));               /* ';' and what follows it */
        memmove(to, from + 1, run);
        to += run;
        from = next;
    }
    *to = '\0';
    *len = (size_t)(to - val);
    *s = from + 1;
    return val;
}

static int parse(struct msg *m, char *text, size_t len, struct err *e)
{
    char *s = text, *end = text + len, *key, *val;
    size_t n;

    msg_start(m, "");
    while (s < end && (key = take_key(&s, end))) {
        val = take_value(&s, end, &n);
        if (!val)
            return err_set(e, ERR_INVALID_ARG, "%.40s: value not closed by ';'", key);
        if (*m->cmd)
            msg_bytes(m, key, val, n);
        else if (strcmp(key, "cmd") || !n)
            return err_set(e, ERR_INVALID_ARG, "first key is '%.40s', want cmd", key);
        else
            m->cmd = val;
    }
    if (!*m->cmd)
        return err_set(e, ERR_INVALID_ARG, "no cmd in the message");
    if (m->failed)
        return err_set(e, ERR_NUM_ARGS, "more key=value pairs than can be taken");
    return 0;
}

static void put_pair(struct buf *out, const char *key, const char *val, size_t len)
{
    const char *end = val + len, *semi;

    buf_str(out, key);
    buf_char(out, '=');
    while ((semi = memchr(val, ';', (size_t)(end - val)))) {
        buf_add(out, val, (size_t)(semi + 1 - val));
        buf_char(out, ';');
        val = semi + 1;
    }
    buf_add(out, val, (size_t)(end - val));
    buf_char(out, ';');
}

static int format(const struct msg *m, size_t max, struct buf *out, struct err *e)
{
    size_t before = out->len, body;
    char digits[8];

    buf_add(out, "      ", 6);
    put_pair(out, "cmd", m->cmd, strlen(m->cmd));
    for (size_t i = 0; i < m->n; i++)
        put_pair(out, m->pairs[i].key, m->pairs[i].val, m->pairs[i].len);
    if (m->failed || out->failed) {
        buf_cut(out, before);
        return err_set(e, ERR_NOMEM, "no memory for a message");
    }
    body = out->len - before - 6;
    if (body > max) {
        buf_cut(out, before);
        return err_set(e, ERR_LENGTH, "%s: message of %zu bytes, at most %zu", m->cmd, body,
                       max);
    }
    snprintf(digits, sizeof digits, "%6u", (unsigned)body % 1000000);
    memcpy(buf_bytes(out) + before, digits, 6);
    return 0;
}

const struct codec wire_v2 = { parse, format };
