/* spawn.c - see spawn.h */
#include "pmi2/spawn.h"

#include "wire/limits.h"
#include "wire/utf8.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a wire spells it.  Numbered keys are a word and a number, from 0 on; arguments
 * begin with 0 or 1, as clients differ, and are taken as they come. */
struct spelling {
    const char *program, *procs, *argc, *arg, *ninfo, *info_key, *info_value;
    const char *npreput, *preput_key, *preput_value;
};

static const struct spelling spelled[WIRES] = {
    [WIRE_1] = { "execname", "nprocs", "argcnt", "arg", "info_num", "info_key_", "info_val_",
                 "preput_num", "preput_key_", "preput_val_" },
    [WIRE_2] = { "subcmd", "maxprocs", "argc", "argv", "infokeycount", "infokey", "infoval",
                 "preputcount", "ppkey", "ppval" },
};

/* --- memory ------------------------------------------------------------ */

static void clear_pairs(struct spawn_pairs *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->v[i].key);
        free(p->v[i].value);
    }
    free(p->v);
    *p = (struct spawn_pairs){ 0 };
}

void spawn_clear(struct spawn_request *r)
{
    for (size_t i = 0; i < r->n; i++) {
        struct spawn_command *c = &r->commands[i];

        for (size_t a = 0; a < c->nargs; a++)
            free(c->args[a]);
        free(c->args);
        free(c->program);
        clear_pairs(&c->info);
    }
    free(r->commands);
    clear_pairs(&r->preput);
    *r = (struct spawn_request){ 0 };
}

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NOMEM, "no memory for a spawn");
}

/* Room for one entry more of an array that has n of cap. */
static void *grown(void *v, size_t n, size_t *cap, size_t size)
{
    size_t want = *cap ? *cap * 2 : 4;
    void *more = v;

    if (n < *cap)
        return v;
    more = reallocarray(v, want, size);
    if (more)
        *cap = want;
    return more;
}

struct spawn_command *spawn_add_command(struct spawn_request *r)
{
    struct spawn_command *v = grown(r->commands, r->n, &r->cap, sizeof *v);

    if (!v)
        return NULL;
    r->commands = v;
    v[r->n] = (struct spawn_command){ .procs = -1 };
    return &v[r->n++];
}

int spawn_add_arg(struct spawn_command *c, const char *text)
{
    size_t cap = c->args_cap;
    char **v = grown(c->args, c->nargs + 1, &cap, sizeof *v);

    if (!v)
        return -1;
    c->args = v;
    c->args_cap = cap;
    v[c->nargs] = strdup(text);
    v[c->nargs + 1] = NULL;
    return v[c->nargs] && ++c->nargs ? 0 : -1;
}

int spawn_add_info(struct spawn_command *c, const char *key, const char *value)
{
    struct spawn_pairs *all = &c->info;
    struct spawn_pair *v = grown(all->v, all->n, &all->cap, sizeof *v);

    if (!v)
        return -1;
    all->v = v;
    v[all->n] = (struct spawn_pair){ .key = strdup(key), .value = strdup(value) };
    if (v[all->n].key && v[all->n].value) {
        all->n++;
        return 0;
    }
    free(v[all->n].key);
    free(v[all->n].value);
    return -1;
}

/* --- reading ----------------------------------------------------------- */

/* What is being read of one message. */
struct reading {
    const struct spelling *as;
    struct spawn_request  *r;
    struct spawn_command  *c;            /* the command being read, or NULL: none yet */
    bool                   preput;       /* pairs before the commands count */
    long long argc, ninfo, npreput;      /* as announced; -1: not */
};

static int count(const struct pair *p, long long *out, struct err *e)
{
    return pair_int(p, 0, LIMIT_PAIRS, out, e);
}

static int set_text(char **at, const struct pair *p, struct err *e)
{
    if (*at)
        return err_set(e, ERR_ARGS, "%s comes twice", p->key);
    *at = strdup(p->val);
    return *at ? 0 : no_memory(e);
}

/* Whether key is the word and the number that is next. */
static bool is_numbered(const char *key, const char *word, size_t next)
{
    size_t len = strlen(word);
    char *end;

    if (strncmp(key, word, len) || key[len] < '0' || key[len] > '9')
        return false;
    return strtoull(key + len, &end, 10) == next && !*end;
}

static int add_arg(struct spawn_command *c, const struct pair *p, struct err *e)
{
    return spawn_add_arg(c, p->val) < 0 ? no_memory(e) : 0;
}

static int add_key(struct spawn_pairs *all, const struct pair *p, struct err *e)
{
    struct spawn_pair *v;

    if (all->n && !all->v[all->n - 1].value)
        return err_set(e, ERR_ARGS, "%s: the key before it has no value", p->key);
    v = grown(all->v, all->n, &all->cap, sizeof *v);
    if (!v)
        return no_memory(e);
    all->v = v;
    v[all->n] = (struct spawn_pair){ .key = strdup(p->val) };
    return v[all->n].key && ++all->n ? 0 : no_memory(e);
}

static int add_value(struct spawn_pairs *all, const struct pair *p, struct err *e)
{
    return set_text(&all->v[all->n - 1].value, p, e);
}

/* A key or value of a row of pairs.  1: it was; 0: no; -1 and e. */
static int take_of(struct spawn_pairs *all, const char *key, const char *value,
                   const struct pair *p, struct err *e)
{
    if (is_numbered(p->key, key, all->n))
        return add_key(all, p, e) < 0 ? -1 : 1;
    if (all->n && is_numbered(p->key, value, all->n - 1))
        return add_value(all, p, e) < 0 ? -1 : 1;
    return 0;
}

static bool is_count(struct reading *g, const char *key, long long **at)
{
    const struct spelling *as = g->as;

    *at = !strcmp(key, as->argc) ? &g->argc
        : !strcmp(key, as->ninfo) ? &g->ninfo
        : !strcmp(key, as->npreput) ? &g->npreput : NULL;
    return *at;
}

/* One pair of the message; a key that is none of a spawn's is ignored. */
static int take_pair(struct reading *g, const struct pair *p, struct err *e)
{
    const struct spelling *as = g->as;
    long long *at, n;
    int took = 0;

    if (is_count(g, p->key, &at))
        return count(p, at, e);
    if (g->preput && (took = take_of(&g->r->preput, as->preput_key, as->preput_value, p, e)))
        return took < 0 ? -1 : 0;
    if (!g->c)
        return 0;
    if (!strcmp(p->key, as->program))
        return set_text(&g->c->program, p, e);
    if (is_numbered(p->key, as->arg, g->c->nargs) ||
        is_numbered(p->key, as->arg, g->c->nargs + 1))
        return add_arg(g->c, p, e);
    if (strcmp(p->key, as->procs))
        return take_of(&g->c->info, as->info_key, as->info_value, p, e) < 0 ? -1 : 0;
    if (pair_int(p, 0, INT_MAX, &n, e) < 0)
        return -1;
    g->c->procs = (int)n;
    return 0;
}

static int check_pairs(const struct spawn_pairs *p, long long announced, const char *what,
                       struct err *e)
{
    if (announced >= 0 && (size_t)announced != p->n)
        return err_set(e, ERR_ARGS, "%lld %s pairs were announced, %zu came", announced, what,
                       p->n);
    if (p->n && !p->v[p->n - 1].value)
        return err_set(e, ERR_ARGS, "the last %s key has no value", what);
    return 0;
}

/* The command that was being read is complete. */
static int end_command(struct reading *g, struct err *e)
{
    const struct spawn_command *c = g->c;
    size_t which = g->r->n;

    if (!c)
        return 0;
    if (!c->program || !*c->program)
        return err_set(e, ERR_ARGS, "command %zu has no program", which);
    if (c->procs < 0)
        return err_set(e, ERR_ARGS, "command %zu does not say how many processes", which);
    if (g->argc >= 0 && (size_t)g->argc != c->nargs)
        return err_set(e, ERR_ARGS, "command %zu: %lld arguments were announced, %zu came",
                       which, g->argc, c->nargs);
    if (check_pairs(&c->info, g->ninfo, "info", e) < 0)
        return err_context(e, "command %zu", which);
    g->argc = g->ninfo = -1;
    return 0;
}

static int begin_command(struct reading *g, struct err *e)
{
    if (end_command(g, e) < 0)
        return -1;
    if (g->r->n >= LIMIT_COMMANDS)
        return err_set(e, ERR_NUM_ARGS, "more than %d commands", LIMIT_COMMANDS);
    g->c = spawn_add_command(g->r);
    return g->c ? 0 : no_memory(e);
}

static int check_preput(const struct spawn_pairs *p, struct err *e)
{
    for (size_t i = 0; i < p->n; i++) {
        const char *key = p->v[i].key, *value = p->v[i].value;
        size_t key_len = strlen(key), len = strlen(value);

        if (!key_len || key_len > LIMIT_KEY)
            return err_set(e, ERR_KEY_LENGTH, "preput key %zu has %zu bytes, 1 to %d wanted", i,
                           key_len, LIMIT_KEY);
        if (len > LIMIT_VALUE)
            return err_set(e, ERR_VAL_LENGTH, "the value of %s has %zu bytes, at most %d", key,
                           len, LIMIT_VALUE);
        if (!utf8_valid(key, key_len) || !utf8_valid(value, len))
            return err_set(e, ERR_INVALID_VAL, "preput pair %zu is not UTF-8", i);
        if (!strncmp(key, "PMI_", 4))
            return err_set(e, ERR_INVALID_KEY, "key %s is read-only", key);
    }
    return 0;
}

static int end_reading(struct reading *g, struct err *e)
{
    if (end_command(g, e) < 0)
        return -1;
    if (!g->preput)
        return 0;
    if (check_pairs(&g->r->preput, g->npreput, "preput", e) < 0)
        return -1;
    return check_preput(&g->r->preput, e);
}

int spawn_read(struct spawn_request *r, const struct msg *m, struct err *e)
{
    struct reading g = { .as = &spelled[WIRE_2], .r = r, .preput = true, .argc = -1,
                         .ninfo = -1, .npreput = -1 };
    const struct pair *ncmds = msg_find(m, "ncmds");
    long long n = -1;

    if (ncmds && count(ncmds, &n, e) < 0)
        return -1;
    for (size_t i = 0; i < m->n; i++) {
        const struct pair *p = &m->pairs[i];

        if (!strcmp(p->key, g.as->program) && begin_command(&g, e) < 0)
            return -1;
        if (take_pair(&g, p, e) < 0)
            return -1;
    }
    if (end_reading(&g, e) < 0)
        return -1;
    if (n >= 0 && (size_t)n != r->n)
        return err_set(e, ERR_ARGS, "%lld commands were announced, %zu came", n, r->n);
    return r->n ? 0 : err_set(e, ERR_ARGS, "no command came");
}

int spawn_read_block(struct spawn_request *r, const struct msg *m, struct err *e)
{
    struct reading g = { .as = &spelled[WIRE_1], .r = r, .preput = !r->n, .argc = -1,
                         .ninfo = -1, .npreput = -1 };

    if (begin_command(&g, e) < 0)
        return -1;
    for (size_t i = 0; i < m->n; i++)
        if (take_pair(&g, &m->pairs[i], e) < 0)
            return -1;
    return end_reading(&g, e);
}

/* --- writing ----------------------------------------------------------- */

/* A message borrows its keys and numbers: they live here. */
struct writing {
    struct msg m;
    char     (*label)[32];       /* owned */
    size_t     used;
};

static const char *label(struct writing *w, const char *word, size_t n)
{
    char *at = w->label[w->used++];

    snprintf(at, sizeof w->label[0], "%s%zu", word, n);
    return at;
}

static void write_count(struct writing *w, const char *key, size_t n)
{
    msg_str(&w->m, key, label(w, "", n));
}

static void write_pairs(struct writing *w, const char *key, const char *value,
                        const struct spawn_pairs *p)
{
    for (size_t i = 0; i < p->n; i++) {
        msg_str(&w->m, label(w, key, i), p->v[i].key);
        msg_str(&w->m, label(w, value, i), p->v[i].value);
    }
}

static void write_command(struct writing *w, const struct spelling *as,
                          const struct spawn_command *c)
{
    msg_str(&w->m, as->program, c->program);
    write_count(w, as->procs, (size_t)c->procs);
    write_count(w, as->argc, c->nargs);
    for (size_t i = 0; i < c->nargs; i++)
        msg_str(&w->m, label(w, as->arg, i), c->args[i]);
    write_count(w, as->ninfo, c->info.n);
    write_pairs(w, as->info_key, as->info_value, &c->info);
}

/* How many labels write_command and spawn_write need. */
static size_t labels(const struct spawn_request *r)
{
    size_t n = 2 + 2 * r->preput.n;

    for (size_t i = 0; i < r->n; i++)
        n += 3 + r->commands[i].nargs + 2 * r->commands[i].info.n;
    return n;
}

int spawn_write(const struct spawn_request *r, struct buf *out, struct err *e)
{
    const struct spelling *as = &spelled[WIRE_2];
    struct writing w = { .label = calloc(labels(r), sizeof *w.label) };
    int rc;

    if (!w.label)
        return no_memory(e);
    msg_init(&w.m);
    msg_start(&w.m, "spawn");
    write_count(&w, "ncmds", r->n);
    write_count(&w, as->npreput, r->preput.n);
    write_pairs(&w, as->preput_key, as->preput_value, &r->preput);
    for (size_t i = 0; i < r->n; i++)
        write_command(&w, as, &r->commands[i]);
    rc = wire_v2.format(&w.m, LIMIT_FRAME_LINK, out, e);
    msg_clear(&w.m);
    free(w.label);
    return rc;
}

int spawn_parse(struct spawn_request *r, const char *frame, size_t len, struct err *e)
{
    struct framer f;
    struct frame body;
    struct msg m;
    char *copy = malloc(len + 1), *at = copy;
    int rc = -1;

    if (!copy)
        return no_memory(e);
    if (len)
        memcpy(copy, frame, len);
    msg_init(&m);
    framer_init(&f, LIMIT_FRAME_LINK);
    f.wire = WIRE_2;
    if (framer_next(&f, &at, &len, &body, e) <= 0 || len)
        err_set(e, ERR_LENGTH, "a spawn that is not one frame");
    else if (wire_v2.parse(&m, body.text, body.len, e) == 0)
        rc = spawn_read(r, &m, e);
    framer_clear(&f);
    msg_clear(&m);
    free(copy);
    return rc;
}

/* --- asking ------------------------------------------------------------ */

long long spawn_size(const struct spawn_request *r)
{
    long long n = 0;

    for (size_t i = 0; i < r->n; i++)
        n += r->commands[i].procs;
    return n;
}

const char *spawn_info(const struct spawn_command *c, const char *key)
{
    for (size_t i = c->info.n; i-- > 0;)
        if (!strcmp(c->info.v[i].key, key))
            return c->info.v[i].value;
    return NULL;
}
