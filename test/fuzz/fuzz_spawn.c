/* fuzz_spawn.c - a request to start a job that is taken makes sense, and written says the
 * same again.
 *
 * Input: blocks of PMI-1 ("mcmd=spawn" first); or a PMI-2 frame; or, if it begins with
 * neither 'm' nor what a length begins with, the body of one. */
#include "test/fuzz/fuzz.h"

#include "pmi2/spawn.h"
#include "wire/limits.h"
#include "wire/utf8.h"

#include <string.h>

static void check_pairs(const struct spawn_pairs *p)
{
    for (size_t i = 0; i < p->n; i++)
        MUST(p->v[i].key && p->v[i].value);
}

static void check(const struct spawn_request *r)
{
    long long size = 0;

    MUST(r->n);
    for (size_t i = 0; i < r->n; i++) {
        const struct spawn_command *c = &r->commands[i];

        MUST(*c->program && c->procs >= 0);
        MUST(!c->nargs || !c->args[c->nargs]);
        for (size_t k = 0; k < c->nargs; k++)
            MUST(c->args[k]);
        check_pairs(&c->info);
        for (size_t k = 0; k < c->info.n; k++)
            MUST(spawn_info(c, c->info.v[k].key));
        size += c->procs;
    }
    MUST(spawn_size(r) == size);
    check_pairs(&r->preput);
    for (size_t i = 0; i < r->preput.n; i++) {
        const struct spawn_pair *p = &r->preput.v[i];

        MUST(*p->key && strlen(p->key) <= LIMIT_KEY && strncmp(p->key, "PMI_", 4));
        MUST(strlen(p->value) <= LIMIT_VALUE);
        MUST(utf8_valid(p->key, strlen(p->key)) && utf8_valid(p->value, strlen(p->value)));
    }
}

static void same(const struct spawn_request *a, const struct spawn_request *b)
{
    MUST(a->n == b->n && a->preput.n == b->preput.n);
    for (size_t i = 0; i < a->n; i++) {
        const struct spawn_command *x = &a->commands[i], *y = &b->commands[i];

        MUST(!strcmp(x->program, y->program) && x->procs == y->procs);
        MUST(x->nargs == y->nargs && x->info.n == y->info.n);
        for (size_t k = 0; k < x->nargs; k++)
            MUST(!strcmp(x->args[k], y->args[k]));
        for (size_t k = 0; k < x->info.n; k++)
            MUST(!strcmp(x->info.v[k].key, y->info.v[k].key) &&
                 !strcmp(x->info.v[k].value, y->info.v[k].value));
    }
    for (size_t i = 0; i < a->preput.n; i++)
        MUST(!strcmp(a->preput.v[i].key, b->preput.v[i].key) &&
             !strcmp(a->preput.v[i].value, b->preput.v[i].value));
}

static void there_and_back(const struct spawn_request *r)
{
    struct spawn_request back = { 0 };
    struct buf out = BUF_INIT;
    struct err e = { 0 };

    if (spawn_write(r, &out, &e) == 0) {
        MUST(spawn_parse(&back, buf_bytes(&out), out.len, &e) == 0);
        same(r, &back);
    } else {
        MUST(*e.text && !out.len);
    }
    spawn_clear(&back);
    buf_clear(&out);
}

/* What came of reading r. */
static void look(struct spawn_request *r, int rc, const struct err *e)
{
    if (rc == 0) {
        check(r);
        there_and_back(r);
    } else {
        MUST(e->code != ERR_NONE && *e->text);
    }
    spawn_clear(r);
    MUST(!r->n && !r->commands && !r->preput.n && !r->preput.v);
}

static void one_frame(const char *data, size_t len)
{
    struct spawn_request r = { 0 };
    struct err e = { 0 };
    int rc = spawn_parse(&r, data, len, &e);

    look(&r, rc, &e);
}

static void one_body(const char *data, size_t len)
{
    struct buf frame = BUF_INIT;

    buf_printf(&frame, "%6zu", len);
    buf_add(&frame, data, len);
    MUST(!frame.failed);
    one_frame(buf_bytes(&frame), frame.len);
    buf_clear(&frame);
}

/* Blocks of one request, up to one that is wrong. */
static void blocks(const char *data, size_t len)
{
    struct spawn_request r = { 0 };
    struct err e = { 0 };
    char *copy = malloc(len), *at = copy;
    struct framer f;
    struct frame fr;
    int rc = 0;

    MUST(copy);
    memcpy(copy, data, len);
    framer_init(&f, LIMIT_LINE);
    while (rc == 0 && framer_next(&f, &at, &len, &fr, NULL) > 0) {
        size_t before = r.n, preput = r.preput.n;
        struct msg m;

        msg_init(&m);
        if (fr.kind == FRAME_BLOCK && wire_v1.parse(&m, fr.text, fr.len, NULL) == 0) {
            rc = spawn_read_block(&r, &m, &e);
            MUST(rc < 0 || r.n == before + 1);
            MUST(!before || r.preput.n == preput);
        }
        msg_clear(&m);
    }
    if (rc < 0 || r.n)
        look(&r, rc, &e);
    framer_clear(&f);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;

    if (!size)
        return 0;
    if (*text == 'm')
        blocks(text, size);
    else if (*text == ' ' || (*text >= '0' && *text <= '9'))
        one_frame(text, size);
    else if (size <= LIMIT_FRAME_LINK)
        one_body(text, size);
    return 0;
}
