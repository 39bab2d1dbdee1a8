/* fuzz_v2.c - a PMI-2 body that parses can be written, and says the same again.
 *
 * Input: a body, without its length. */
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

static void there_and_back(const struct msg *m)
{
    struct buf out = BUF_INIT;
    struct msg back;
    struct framer f;
    struct frame fr;
    struct err e;
    char *at;
    size_t left;

    MUST(wire_v2.format(m, LIMIT_FRAME_LINK, &out, &e) == 0);
    msg_init(&back);
    framer_init(&f, LIMIT_FRAME_LINK);
    f.wire = WIRE_2;
    at = buf_bytes(&out);
    left = out.len;
    MUST(framer_next(&f, &at, &left, &fr, &e) == 1);
    MUST(left == 0 && fr.kind == FRAME_BODY && fr.len == out.len - 6);
    MUST(wire_v2.parse(&back, fr.text, fr.len, &e) == 0);
    same(m, &back);
    framer_clear(&f);
    msg_clear(&back);
    buf_clear(&out);
}

static void one_body(const char *body, size_t len)
{
    char *text = malloc(len ? len : 1);
    struct msg m;
    struct err e = { 0 };

    MUST(text);
    memcpy(text, body, len);
    msg_init(&m);
    if (wire_v2.parse(&m, text, len, &e) == 0) {
        MUST(*m.cmd);
        there_and_back(&m);
    } else {
        MUST(e.code != ERR_NONE && *e.text);
    }
    msg_clear(&m);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf stream = BUF_INIT;
    struct framer f;
    struct frame fr;
    struct err e;
    char *at;
    size_t left;

    if (size > 100000 || memchr(data, '\0', size))
        return 0;                            /* the framer lets no NUL through */
    one_body((const char *)data, size);

    /* The same, framed: it may lack its last ';'. */
    buf_printf(&stream, "%-6zu", size);
    buf_add(&stream, data, size);
    MUST(!stream.failed);
    framer_init(&f, LIMIT_FRAME_LINK);
    f.wire = WIRE_2;
    at = buf_bytes(&stream);
    left = stream.len;
    if (framer_next(&f, &at, &left, &fr, &e) == 1)
        one_body(fr.text, fr.len);
    else
        MUST(size < 5);
    framer_clear(&f);
    buf_clear(&stream);
    return 0;
}
