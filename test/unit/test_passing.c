/* Tests of mpiexec_lite/passing.c: whatever comes out is what went in, in any pieces, and short
 * frames are found whole. */
#include "mpiexec_lite/passing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define HELLO "cmd=init pmi_version=2 pmi_subversion=0\n"

/* frames: their texts, with a space behind each.  A frame with payload=5 has five bytes behind. */
static const struct {
    const char *name, *text, *frames;
    bool between;                        /* at the end */
} cases[] = {
    { "nothing", "", "", false },
    { "the opening line alone", HELLO, "", true },
    { "half of it", "cmd=init pmi", "", false },
    { "two frames", HELLO "     6cmd=a;     7cmd=bb;", "cmd=a; cmd=bb; ", true },
    { "half a length field", HELLO "     6cmd=a;   ", "cmd=a; ", false },
    { "half a frame", HELLO "     6cmd=a;    10cmd=", "cmd=a; ", false },
    { "one without a body", HELLO "     0     6cmd=a;", " cmd=a; ", true },
    { "one with payload, whatever that looks like", HELLO "    16cmd=a;payload=5;    6     6cmd=b;",
      "cmd=a;payload=5; cmd=b; ", true },
    { "payload that is not all there", HELLO "    16cmd=a;payload=5;    ", "cmd=a;payload=5; ",
      false },
    { "no length field: from there on it is not cut", HELLO "     6cmd=a;     x     6cmd=b;",
      "cmd=a; ", false },
    { "a blank behind a digit is none", HELLO "    1 cmd=a;     6cmd=b;", "", false },
    { "a line without an end",
      "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"
      "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"
      "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890\n"
      "     6cmd=a;", "", false },
};

/* As one end would: all that passes, and the frames. */
static void pass(struct passing *p, const char *data, size_t len, struct buf *out,
                 struct buf *frames)
{
    struct passed x;

    while (passing_next(p, &data, &len, &x)) {
        buf_add(out, x.data, x.len);
        if (!x.text)
            continue;
        buf_add(frames, x.text, x.text_len);
        buf_char(frames, ' ');
        if (memmem(x.text, x.text_len, "payload=5;", 10))
            passing_payload(p, 5);
    }
    assert_int_equal(len, 0);
}

static void run(size_t i, size_t piece)
{
    size_t len = strlen(cases[i].text);
    struct buf out = BUF_INIT, frames = BUF_INIT;
    struct passing p = { 0 };

    buf_str(&out, "");
    buf_str(&frames, "");
    for (size_t at = 0; at < len; at += piece) {
        size_t n = len - at < piece ? len - at : piece;
        char *copy = malloc(n);          /* heap: ASan sees one byte too far */

        memcpy(copy, cases[i].text + at, n);
        pass(&p, copy, n, &out, &frames);
        free(copy);
    }
    assert_int_equal(passing_between(&p), cases[i].between);
    if (p.held.len)
        buf_add(&out, buf_bytes(&p.held), p.held.len);
    assert_int_equal(out.len, len);
    assert_memory_equal(len ? buf_bytes(&out) : "", cases[i].text, len);
    assert_string_equal(frames.len ? buf_bytes(&frames) : "", cases[i].frames);
    buf_clear(&out);
    buf_clear(&frames);
    passing_clear(&p);
}

static void test_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_message("  %s\n", cases[i].name);
        for (size_t piece = 1; piece <= 48; piece++)
            run(i, piece);
        run(i, 10000);
    }
}

/* Of a long one no more is held than is said; it passes, and the next is found. */
static void test_long(void **state)
{
    static char body[3 * PASSING_HELD];
    struct buf in = BUF_INIT, out = BUF_INIT, frames = BUF_INIT;
    struct passing p = { 0 };

    (void)state;
    memset(body, 'x', sizeof body);
    for (size_t n = PASSING_HELD - 8; n < sizeof body; n += n < PASSING_HELD + 8 ? 1 : 997) {
        buf_reset(&in);
        buf_reset(&out);
        buf_reset(&frames);
        passing_clear(&p);
        p = (struct passing){ 0 };
        buf_printf(&in, "%s%6zu", HELLO, n);
        buf_add(&in, body, n);
        buf_str(&in, "     6cmd=b;");
        for (size_t at = 0; at < in.len; at += 1000) {
            pass(&p, buf_bytes(&in) + at, in.len - at < 1000 ? in.len - at : 1000, &out, &frames);
            assert_true(p.held.len <= PASSING_HELD);
        }
        assert_int_equal(out.len, in.len);
        assert_memory_equal(buf_bytes(&out), buf_bytes(&in), in.len);
        assert_int_equal(frames.len, (n + 6 <= PASSING_HELD ? n + 1 : 0) + 7);
        assert_true(passing_between(&p));
    }
    buf_clear(&in);
    buf_clear(&out);
    buf_clear(&frames);
    passing_clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
