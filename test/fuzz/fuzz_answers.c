/* fuzz_answers.c - parts of a reply to a query are put together, or refused: those that are
 * complete have a value or none, and what has come in pieces is the value that its text is.
 *
 * Input: a part a line. */
#include "test/fuzz/fuzz.h"

#include "pmix_ext/value.h"

#include <string.h>

static void check(const struct value_answer *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct value_answer *a = &list[i];

        MUST(!a->more || i + 1 == n);    /* nothing follows what goes on */
        MUST(a->more || (!a->piece && !a->room));
        MUST(!a->piece || a->value.type == PMIX_UNDEF);
    }
}

static bool is_ascii(const struct buf *text)
{
    for (size_t i = 0; i < text->len; i++)
        if ((unsigned char)buf_bytes(text)[i] >= 0x80)
            return false;
    return true;
}

/* The text of a value, as an answer in pieces of so many bytes, if these are characters. */
static void in_pieces(const pmix_value_t *v, size_t each)
{
    struct buf text = BUF_INIT, part = BUF_INIT;
    struct value_answer *list = NULL;
    struct err e = { 0 };
    size_t n = 0;

    MUST(value_encode(PMIX_VALUE, v, "v", &text, &e) == 0);
    each = is_ascii(&text) ? each : text.len;
    for (size_t at = 0; at < text.len; at += each) {
        size_t len = text.len - at < each ? text.len - at : each;
        char *piece = strndup(buf_bytes(&text) + at, len);

        MUST(piece);
        buf_reset(&part);
        buf_str(&part, "[{\"key\":\"k\",\"piece\":");
        MUST(value_encode(PMIX_STRING, &piece, "piece", &part, &e) == 0);
        buf_printf(&part, "%s}]", at + len < text.len ? ",\"more\":true" : "");
        MUST(value_decode_answers(buf_bytes(&part), part.len, "r", &list, &n, &e) == 0);
        free(piece);
    }
    MUST(n == 1 && !list->more && value_compare(PMIX_VALUE, &list->value, v) == 0);
    value_free_answers(list, n);
    buf_clear(&text);
    buf_clear(&part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    struct value_answer *list = NULL;
    struct err e = { 0 };
    size_t n = 0;
    bool good = size <= 65536;

    while (good && at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((line ? line : end) - at);

        good = value_decode_answers(at, len, "r", &list, &n, &e) == 0;
        MUST(good || (e.code != ERR_NONE && *e.text));
        if (good)
            check(list, n);
        at += len + 1;
    }
    for (size_t i = 0; good && i < n; i++)
        if (!list[i].more)
            in_pieces(&list[i].value, 1 + size % 7);
    value_free_answers(list, n);
    return 0;
}
