/* test_iof.c - mpiexec_lite/iof: lines are put together and never mixed, bytes are
 * never lost or changed, labels stand only at the start of a line. */
#include "mpiexec_lite/iof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/fake_memory.h"

#define N_OF(a) (sizeof (a) / sizeof *(a))

enum { STREAMS = 3, FEEDS = 12 };

/* Feeds: "0text" is text of stream 0; "0!" flushes it.  Labels are "[n] ". */
static const struct {
    const char *name;
    bool        labels;
    const char *feeds[FEEDS];
    const char *out;
} cases[] = {
    { "a line", false, { "0a\n" }, "a\n" },
    { "nothing", true, { "0", "0!" }, "" },
    { "a line in pieces", false, { "0a", "0b", "0c\n" }, "abc\n" },
    { "what is unfinished waits", false, { "0a\nb" }, "a\n" },
    { "and comes at the end", false, { "0a\nb", "0!" }, "a\nb" },
    { "several lines at once", false, { "0a\nb\nc\nd", "0e\n" }, "a\nb\nc\nde\n" },
    { "lines of two do not mix", false, { "0a", "1b\n", "0c\n" }, "b\nac\n" },
    { "empty lines", false, { "0\n\n", "0\n" }, "\n\n\n" },
    { "labels", true, { "0a\nb\n", "1c\n" }, "[0] a\n[0] b\n[1] c\n" },
    { "labels, in pieces", true, { "0a", "1b", "0c\nd", "1\n", "0!" },
      "[0] ac\n[1] b\n[0] d" },
    { "labels, empty lines", true, { "0\n\nx\n" }, "[0] \n[0] \n[0] x\n" },
    { "a prompt goes on without a second label", true, { "0name? ", "0!", "0yes\n" },
      "[0] name? yes\n" },
    { "another ends the open line first", true, { "0name? ", "0!", "1b\n", "0c\n" },
      "[0] name? \n[1] b\n[0] c\n" },
    { "an open line of two, in turn", true, { "0a", "0!", "1b", "1!", "0c", "0!" },
      "[0] a\n[1] b\n[0] c" },
    { "without labels nothing is added", false, { "0a", "0!", "1b\n", "0c\n" }, "ab\nc\n" },
    { "other bytes are just bytes", true, { "0\x01\xff\r\t\n" }, "[0] \x01\xff\r\t\n" },
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct iof f[STREAMS] = { 0 };
        struct iof_line line = { 0 };
        struct buf out = BUF_INIT;

        print_message("  %s\n", cases[i].name);
        for (int k = 0; k < FEEDS && cases[i].feeds[k]; k++) {
            const char *text = cases[i].feeds[k] + 1;
            char label[8];
            int s = cases[i].feeds[k][0] - '0';

            snprintf(label, sizeof label, "[%d] ", s);
            if (!strcmp(text, "!"))
                iof_flush(&f[s], &line, cases[i].labels ? label : NULL, &out);
            else
                iof_feed(&f[s], &line, cases[i].labels ? label : NULL, text, strlen(text), &out);
        }
        assert_string_equal(out.len ? buf_bytes(&out) : "", cases[i].out);
        buf_clear(&out);
        for (int s = 0; s < STREAMS; s++)
            buf_clear(&f[s].held);
    }
}

/* --- any chunking gives the same --------------------------------------- */

static uint32_t dice;

static uint32_t roll(uint32_t n)
{
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 8) % n;
}

/* What one stream wrote, as read back from the output: its labelled lines without
 * the labels.  With flushes a line may have been ended for another stream. */
static void strip(const struct buf *out, char who, struct buf *mine)
{
    const char *p = buf_bytes(out), *end = p + out->len;

    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t n = nl ? (size_t)(nl + 1 - p) : (size_t)(end - p);

        assert_true(n >= 4 && p[0] == '[' && p[2] == ']' && p[3] == ' ');
        if (p[1] == who)
            buf_add(mine, p + 4, n - 4);
        p += n;
    }
}

static void random_run(bool flushes)
{
    struct buf wrote[STREAMS] = { 0 }, out = BUF_INIT;
    struct iof f[STREAMS] = { 0 };
    struct iof_line line = { 0 };

    for (int n = 0; n < 60; n++) {
        int s = (int)roll(STREAMS);
        char text[40], label[] = { '[', (char)('0' + s), ']', ' ', 0 };
        size_t len = roll(sizeof text);

        for (size_t k = 0; k < len; k++)
            text[k] = roll(4) ? (char)('a' + roll(26)) : '\n';
        buf_add(&wrote[s], text, len);
        iof_feed(&f[s], &line, label, text, len, &out);
        assert_false(memchr(f[s].held.len ? buf_bytes(&f[s].held) : "", '\n', f[s].held.len));
        if (flushes && !roll(4))
            iof_flush(&f[s], &line, label, &out);
    }
    for (int s = 0; s < STREAMS; s++) {
        char label[] = { '[', (char)('0' + s), ']', ' ', 0 };
        struct buf mine = BUF_INIT;

        iof_flush(&f[s], &line, label, &out);
        assert_int_equal(f[s].held.len, 0);
        if (!flushes && s == STREAMS - 1)
            for (int t = 0; t < STREAMS; t++) {
                buf_reset(&mine);
                strip(&out, (char)('0' + t), &mine);
                /* The last line of a stream may have been ended for the next. */
                assert_true(mine.len == wrote[t].len || mine.len == wrote[t].len + 1);
                if (wrote[t].len)
                    assert_memory_equal(buf_bytes(&mine), buf_bytes(&wrote[t]), wrote[t].len);
            }
        buf_clear(&mine);
        buf_clear(&f[s].held);
    }
    for (int s = 0; s < STREAMS; s++)
        buf_clear(&wrote[s]);
    buf_clear(&out);
}

static void test_random(void **state)
{
    (void)state;
    for (dice = 1; dice < 3000; dice += 7) {
        uint32_t seed = dice;

        random_run(false);
        random_run(true);
        dice = seed;
    }
}

/* Without labels the output of one stream is exactly its input, however cut. */
static void test_exact(void **state)
{
    char text[2000];

    (void)state;
    for (uint32_t seed = 1; seed < 200; seed++) {
        struct iof f = { 0 };
        struct iof_line line = { 0 };
        struct buf out = BUF_INIT;

        dice = seed;
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = (char)(roll(8) ? roll(256) : '\n');
        for (size_t at = 0; at < sizeof text;) {
            size_t n = 1 + roll(300);

            if (n > sizeof text - at)
                n = sizeof text - at;
            iof_feed(&f, &line, NULL, text + at, n, &out);
            at += n;
        }
        iof_flush(&f, &line, NULL, &out);
        assert_int_equal(out.len, sizeof text);
        assert_memory_equal(buf_bytes(&out), text, sizeof text);
        buf_clear(&out);
        buf_clear(&f.held);
    }
}

/* A line without an end is not kept for ever. */
static void test_long_line(void **state)
{
    struct iof f = { 0 };
    struct iof_line line = { 0 };
    struct buf out = BUF_INIT;
    static char text[10000];

    (void)state;
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 20; i++) {
        iof_feed(&f, &line, "[0] ", text, sizeof text, &out);
        assert_true(f.held.len < IOF_LINE);
    }
    iof_feed(&f, &line, "[0] ", "\n", 1, &out);
    assert_int_equal(out.len, 4 + 20 * sizeof text + 1);
    assert_memory_equal(buf_bytes(&out), "[0] xxxx", 8);
    assert_null(line.open);
    buf_clear(&out);
    buf_clear(&f.held);
}

static void test_whole(void **state)
{
    struct iof f = { 0 };
    struct iof_line line = { 0 };
    struct buf out = BUF_INIT;

    (void)state;
    assert_int_equal(iof_whole(&f, "a\nb\nc", 5), 4);
    assert_int_equal(iof_whole(&f, "abc", 3), 0);
    assert_int_equal(iof_whole(&f, "", 0), 0);
    iof_hold(&f, &line, NULL, "x", 1, &out);
    assert_int_equal(iof_whole(&f, "a\n", 2), 0);
    buf_clear(&out);
    buf_clear(&f.held);
}

static void test_no_memory(void **state)
{
    (void)state;
    memory_begin();
    for (long k = 0;; k++) {
        struct iof f = { 0 };
        struct iof_line line = { 0 };
        struct buf out = BUF_INIT;

        memory_after(k);
        iof_feed(&f, &line, "[0] ", "a\nb", 3, &out);
        iof_feed(&f, &line, "[0] ", "c\nd", 3, &out);
        iof_flush(&f, &line, "[0] ", &out);
        memory_end();
        assert_int_equal(out.failed, memory_hit);
        buf_clear(&out);
        buf_clear(&f.held);
        if (!memory_hit)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_random),
        cmocka_unit_test(test_exact), cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_whole), cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("iof", tests, NULL, NULL);
}
