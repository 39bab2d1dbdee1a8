/* names.c - see names.h */
#include "pmi2/names.h"

#include "wire/limits.h"
#include "wire/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const commands[] = {
    [NAME_PUBLISH] = "name-publish", [NAME_UNPUBLISH] = "name-unpublish",
    [NAME_LOOKUP] = "name-lookup",
};
static const char *const ranges[] = {
    [RANGE_USER] = "user", [RANGE_JOB] = "job", [RANGE_NODE] = "node",
};
static const char *const persistences[] = {
    [PERSIST_JOB] = "job", [PERSIST_FIRST_READ] = "first-read",
    [PERSIST_INDEFINITE] = "indefinite",
};

/* The index of a word, or -1. */
static int find_word(const char *const *words, int n, const char *word)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(words[i], word))
            return i;
    return -1;
}

const char *name_command(enum name_op op) { return commands[op]; }
const char *name_range_text(enum name_range range) { return ranges[range]; }
const char *name_persistence_text(enum name_persistence persistence)
{
    return persistences[persistence];
}

static int name_op_of(const char *cmd, enum name_op *op)
{
    int i = find_word(commands, 3, cmd);

    if (i < 0)
        return -1;
    *op = (enum name_op)i;
    return 0;
}

/* --- options ----------------------------------------------------------- */

static int take_range(struct name_want *w, const struct pair *p, struct err *e)
{
    int i = find_word(ranges, 3, p->val);

    if (i < 0)
        return err_set(e, ERR_INVALID_VAL, "range: job, user or node wanted, not '%.40s'",
                       p->val);
    w->range = (enum name_range)i;
    return 0;
}

static int take_persistence(struct name_want *w, const struct pair *p, struct err *e)
{
    int i = find_word(persistences, 3, p->val);

    if (i < 0)
        return err_set(e, ERR_INVALID_VAL, "persistence: job, first-read or indefinite wanted, "
                       "not '%.40s'", p->val);
    w->persistence = (enum name_persistence)i;
    return 0;
}

static int take_wait(struct name_want *w, const struct pair *p, struct err *e)
{
    return pair_bool(&(struct pair){ "wait", p->val, p->len }, &w->wait, e);
}

static int take_timeout(struct name_want *w, const struct pair *p, struct err *e)
{
    long long n;

    if (pair_int(&(struct pair){ "timeout", p->val, p->len }, 0, NAME_TIMEOUT_MAX, &n, e) < 0)
        return -1;
    w->timeout = (int)n;
    w->wait = n > 0;
    return 0;
}

static const struct {
    const char  *key;
    enum name_op op;
    int        (*take)(struct name_want *w, const struct pair *p, struct err *e);
} options[] = {
    { "range", NAME_PUBLISH, take_range },
    { "persistence", NAME_PUBLISH, take_persistence },
    { "wait", NAME_LOOKUP, take_wait },
    { "timeout", NAME_LOOKUP, take_timeout },
};

/* The pair of this key: of the message itself, or of its info. */
static const struct pair *find_option(const struct msg *m, const char *key)
{
    const struct pair *p = msg_find(m, key);
    char name[40];

    for (size_t i = 0; !p && i < m->n; i++) {
        const struct pair *k = &m->pairs[i];

        if (strncmp(k->key, "infokey", 7) || !k->key[7] || strcmp(k->val, key))
            continue;
        snprintf(name, sizeof name, "infoval%.20s", k->key + 7);
        p = msg_find(m, name);
    }
    return p;
}

int name_read_options(struct name_want *w, const struct msg *m, struct err *e)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const struct pair *p = options[i].op == w->op ? find_option(m, options[i].key) : NULL;

        if (p && options[i].take(w, p, e) < 0)
            return -1;
    }
    return 0;
}

/* --- tags -------------------------------------------------------------- */

/* <mark>nspace<mark>rank<mark>kind<mark>text; the mark is a control character, which no
 * port of an MPI library has. */
enum { MARK = 0x1f, KIND_STRING = 's', KIND_JSON = 'j' };

const char *name_untag(const char *port, struct name_tag *tag)
{
    const char *nspace = port + 1, *end;
    unsigned long rank;
    char *kind;

    if (tag)
        *tag = (struct name_tag){ 0 };
    if (*port != MARK || !(end = strchr(nspace, MARK)))
        return port;
    rank = strtoul(end + 1, &kind, 10);
    if (kind == end + 1 || rank > UINT32_MAX || kind[0] != MARK ||
        (kind[1] != KIND_STRING && kind[1] != KIND_JSON) || kind[2] != MARK)
        return port;
    if (tag)
        *tag = (struct name_tag){ nspace, (size_t)(end - nspace), (uint32_t)rank,
                                  kind[1] == KIND_JSON };
    return kind + 3;
}

void name_write_tag(const struct name_tag *tag, char text[NAME_TAG])
{
    snprintf(text, NAME_TAG, "%c%.*s%c%u%c%c%c", MARK, (int)tag->nspace_len, tag->nspace, MARK,
             tag->rank, MARK, tag->json ? KIND_JSON : KIND_STRING, MARK);
}

/* --- between servers --------------------------------------------------- */

static int take_text(const struct msg *m, const char *key, size_t max, const char **text,
                     struct err *e)
{
    const struct pair *p = msg_find(m, key);

    if (!p)
        return err_set(e, ERR_INVALID_ARG, "no %s", key);
    if (p->len > max)
        return err_set(e, ERR_LENGTH, "%s is %zu bytes, at most %zu", key, p->len, max);
    if (!utf8_valid(p->val, p->len) || strlen(p->val) != p->len)
        return err_set(e, ERR_INVALID_VAL, "%s is not UTF-8", key);
    *text = p->val;
    return 0;
}

int name_read(struct name_want *w, const struct msg *m, struct err *e)
{
    *w = (struct name_want){ 0 };
    if (name_op_of(m->cmd, &w->op) < 0)
        return err_set(e, ERR_INVALID_ARG, "%.40s is no name command", m->cmd);
    if (take_text(m, "name", LIMIT_SERVICE, &w->name, e) < 0)
        return -1;
    if (!*w->name)
        return err_set(e, ERR_INVALID_ARG, "the service name is empty");
    if (w->op == NAME_PUBLISH && take_text(m, "port", LIMIT_PUBLISHED, &w->port, e) < 0)
        return -1;
    return name_read_options(w, m, e);
}

void name_write(const struct name_want *w, struct msg *m)
{
    msg_str(m, "name", w->name);
    if (w->op == NAME_PUBLISH) {
        msg_str(m, "port", w->port);
        if (w->range != RANGE_USER)
            msg_str(m, "range", ranges[w->range]);
        if (w->persistence != PERSIST_JOB)
            msg_str(m, "persistence", persistences[w->persistence]);
    }
    if (w->wait)
        msg_str(m, "wait", "TRUE");
    if (w->timeout)
        msg_int(m, "timeout", w->timeout);
}
