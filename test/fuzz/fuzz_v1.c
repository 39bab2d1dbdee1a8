/* fuzz_v1.c - a PMI-1 line that parses can be written, and says the same again.
 *
 * Input: a PMI-1 stream.  A block is no line, so it need not be writable; if it
 * is, the same holds. */
#include "test/fuzz/fuzz.h"

#include "wire/limits.h"
#include "wire/msg.h"

#include <string.h>

static void same(const struct msg *a, const struct msg *b)
{
    MUST(!strcmp(a->cmd, b->cmd));
    MUST(a->n == b->n);
    for (size_t i = 0; i < a->n; i++) {
        MUST(!strcmp(a->pairs[i].key, b->pairs[i].key));
        MUST(a->pairs[i].len == b->pairs[i].len);
        MUST(!strcmp(a->pairs[i].val, b->pairs[i].val));
        MUST(strlen(a->pairs[i].val) == a->pairs[i].len);
    }
}

static void there_and_back(const struct msg *m, size_t len)
{
    struct buf out = BUF_INIT;
    struct msg back;
    struct err e;
    int rc = wire_v1.format(m, LIMIT_BLOCK, &out, &e);

    msg_init(&back);
    MUST(rc == 0 || m->block);
    MUST(rc == 0 || out.len == 0);
    if (rc == 0) {
        MUST(m->block || out.len <= len + 1);
        MUST(memchr(buf_bytes(&out), '\n', out.len) == buf_bytes(&out) + out.len - 1);
        MUST(wire_v1.parse(&back, buf_bytes(&out), out.len - 1, &e) == 0);
        same(m, &back);
    }
    msg_clear(&back);
    buf_clear(&out);
}

static void one_frame(const struct frame *f)
{
    char *text = malloc(f->len + 1);         /* the newline's place may be written */
    struct msg m;
    struct err e = { 0 };

    MUST(text);
    memcpy(text, f->text, f->len);
    text[f->len] = '\n';
    msg_init(&m);
    if (wire_v1.parse(&m, text, f->len, &e) == 0) {
        MUST(*m.cmd);
        there_and_back(&m, f->len);
    } else {
        MUST(e.code != ERR_NONE && *e.text);
    }
    msg_clear(&m);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1), *at = copy;
    struct framer f;
    struct frame fr;
    struct err e;

    MUST(copy);
    memcpy(copy, data, size);
    framer_init(&f, LIMIT_LINE);
    while (framer_next(&f, &at, &size, &fr, &e) > 0)
        one_frame(&fr);
    framer_clear(&f);
    free(copy);
    return 0;
}
