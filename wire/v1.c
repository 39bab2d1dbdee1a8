/* v1.c - the PMI-1 codec: one line of blank-separated key=value tokens.
 *
 * PMI-1 has no escapes.  The last key of some commands may hold blanks and takes
 * the rest of its line; in an mcmd block every key has a line of its own.  See
 * wire/FORMAT. */
#include "wire/msg.h"

#include <stdio.h>
#include <string.h>

static const struct { const char *cmd, *key; } rest_of_line[] = {
    { "put", "value" },
    { "publish_name", "port" },
    { "abort", "message" },
    { "abort", "error_msg" },
    { "get_result", "value" },
    { "lookup_result", "port" },
};

static bool takes_rest(const char *cmd, const char *key)
{
    for (size_t i = 0; i < sizeof rest_of_line / sizeof *rest_of_line; i++)
        if (!strcmp(cmd, rest_of_line[i].cmd) && !strcmp(key, rest_of_line[i].key))
            return true;
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* One token of a line; *s moves behind it.  NULL at the end of the line. */
static char *take_token(char **s, char *end, size_t *len)
{
    char *token;

    while (*s < end && is_blank(**s))
        ++*s;
    token = *s;
    while (*s < end && !is_blank(**s))
        ++*s;
    *len = (size_t)(*s - token);
    return *len ? token : NULL;
}

/* Add key=value, or take it as the command if it is the first.  A token that
 * stops at `to` may be stretched to `end` if its key takes the rest. */
static int add(struct msg *m, char *token, char *to, char *end, char **next, struct err *e)
{
    char *eq = memchr(token, '=', (size_t)(to - token));

    if (!eq) {
        /* MPICH's client knows tokens without '='; nobody needs one. */
        *to = '\0';
        return 0;
    }
    *eq = '\0';
    if (*m->cmd && takes_rest(m->cmd, token))
        to = end;
    *to = '\0';
    *next = to + 1;
    if (*m->cmd)
        msg_bytes(m, token, eq + 1, (size_t)(to - eq - 1));
    else if ((strcmp(token, "cmd") && strcmp(token, "mcmd")) || !eq[1])
        return err_set(e, ERR_INVALID_ARG, "first key is '%.40s', want cmd", token);
    else
        m->cmd = eq + 1;
    return 0;
}

/* What a line of a block may begin with, some with a number behind it. */
static const struct { const char *word; bool numbered; } entries[] = {
    { "arg", true },           { "preput_key_", true }, { "preput_val_", true },
    { "info_key_", true },     { "info_val_", true },   { "argcnt", false },
    { "preput_num", false },   { "info_num", false },   { "infonum", false },
    { "nprocs", false },       { "execname", false },   { "totspawns", false },
    { "spawnssofar", false },
};

/* Which of them it is, or -1. */
static int entry_of(const char *line, const char *end)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        size_t len = strlen(entries[i].word);
        const char *s = line + len;

        if ((size_t)(end - line) <= len || memcmp(line, entries[i].word, len))
            continue;
        while (entries[i].numbered && s < end && *s >= '0' && *s <= '9')
            s++;
        if (s < end && *s == '=' && entries[i].numbered == (s > line + len))
            return (int)i;
    }
    return -1;
}

enum { ENTRY_ARG };                      /* its place in entries */

/* MPICH sends an argument with newlines as it is: what follows one, and is not the next entry, is
 * more of it.  What says something once, and has been said, is none: a script may have such lines. */
static bool is_more(unsigned *said, int before, int which)
{
    bool again = which >= 0 && !entries[which].numbered && *said >> which & 1;

    if (before == ENTRY_ARG && (which < 0 || again))
        return true;
    if (which >= 0)
        *said |= 1U << which;
    return false;
}

/* The last value goes on to the end of the next line. */
static void go_on(struct msg *m, char *line, char *end)
{
    struct pair *p = &m->pairs[m->n - 1];

    line[-1] = '\n';
    *end = '\0';
    p->len = (size_t)(end - p->val);
}

static int parse_block(struct msg *m, char *text, size_t len, struct err *e)
{
    char *s = text, *end = text + len;
    int before = -1;
    unsigned said = 0;

    m->block = true;
    while (s < end) {
        char *nl = memchr(s, '\n', (size_t)(end - s)), *next;
        int which;

        if (!nl)
            nl = end;                    /* it is "endcmd" */
        next = nl + 1;
        which = entry_of(s, nl);
        if (nl < end && !m->failed && is_more(&said, before, which)) {
            go_on(m, s, nl);
        } else {
            if (add(m, s, nl, nl, &next, e) < 0)
                return -1;
            before = which;
        }
        s = next;
    }
    return 0;
}

static int parse_line(struct msg *m, char *text, size_t len, struct err *e)
{
    char *s = text, *end = text + len, *token;
    size_t n;

    while (s < end && (token = take_token(&s, end, &n))) {
        char *next = token + n + 1;

        if (add(m, token, token + n, end, &next, e) < 0)
            return -1;
        s = next;
    }
    return 0;
}

static int parse(struct msg *m, char *text, size_t len, struct err *e)
{
    bool block = len >= 5 && !memcmp(text, "mcmd=", 5);

    msg_start(m, "");
    if ((block ? parse_block : parse_line)(m, text, len, e) < 0)
        return -1;
    if (!*m->cmd)
        return err_set(e, ERR_INVALID_ARG, "no cmd in the line");
    if (m->failed)
        return err_set(e, ERR_NUM_ARGS, "more key=value pairs than can be taken");
    return 0;
}

/* A command or a key is one token. */
static int check_word(const char *word, struct err *e)
{
    if (word[strcspn(word, " \t\r\n")])
        return err_set(e, ERR_INVALID_VAL, "PMI-1 cannot carry the word '%.40s'", word);
    return 0;
}

/* What no line can say: a newline anywhere; a blank in a value that does not
 * take the rest of the line; anything behind one that does. */
static int check_pair(const struct msg *m, const struct pair *p, bool last, struct err *e)
{
    bool rest = takes_rest(m->cmd, p->key);

    if (check_word(p->key, e) < 0)
        return -1;
    if (rest && !last)
        return err_set(e, ERR_INVALID_ARG, "%s: %s is not the last key", m->cmd, p->key);
    for (size_t i = 0; i < p->len; i++)
        if (p->val[i] == '\n' || (!rest && is_blank(p->val[i])))
            return err_set(e, ERR_INVALID_VAL, "%s: PMI-1 cannot carry a %s in %s", m->cmd,
                           p->val[i] == '\n' ? "newline" : "blank", p->key);
    return 0;
}

static int format(const struct msg *m, size_t max, struct buf *out, struct err *e)
{
    size_t before = out->len;

    if (check_word(m->cmd, e) < 0)
        return -1;
    buf_str(out, "cmd=");
    buf_str(out, m->cmd);
    for (size_t i = 0; i < m->n; i++) {
        const struct pair *p = &m->pairs[i];

        if (check_pair(m, p, i + 1 == m->n, e) < 0) {
            buf_cut(out, before);
            return -1;
        }
        buf_char(out, ' ');
        buf_str(out, p->key);
        buf_char(out, '=');
        buf_add(out, p->val, p->len);
    }
    buf_char(out, '\n');
    if (m->failed || out->failed) {
        buf_cut(out, before);
        return err_set(e, ERR_NOMEM, "no memory for a message");
    }
    if (out->len - before > max) {
        size_t n = out->len - before;

        buf_cut(out, before);
        return err_set(e, ERR_LENGTH, "%s: line of %zu bytes, at most %zu", m->cmd, n, max);
    }
    return 0;
}

const struct codec wire_v1 = { parse, format };
