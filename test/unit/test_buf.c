/* test_buf.c - wire/buf: growing, consuming, failing, escaping. */
#include "wire/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

#include "test/unit/fault.h"

static void assert_buf(const struct buf *b, const char *want)
{
    assert_false(b->failed);
    assert_int_equal(b->len, strlen(want));
    assert_string_equal(buf_bytes(b), want);     /* and so the NUL behind it */
}

static void test_add(void **state)
{
    struct buf b = BUF_INIT;

    (void)state;
    buf_add(&b, NULL, 0);
    assert_buf(&b, "");
    buf_str(&b, "cmd=");
    buf_char(&b, 'x');
    buf_add(&b, ";junk", 1);
    buf_printf(&b, "%s=%d", "rank", -1);
    buf_printf(&b, "%s", "");
    assert_buf(&b, "cmd=x;rank=-1");
    buf_reset(&b);
    assert_int_equal(b.len, 0);
    buf_str(&b, "again");
    assert_buf(&b, "again");
    buf_clear(&b);
    assert_null(b.data);
    buf_clear(&b);
}

static void test_room(void **state)
{
    struct buf b = BUF_INIT;
    char *to = buf_room(&b, 3);

    (void)state;
    assert_non_null(to);
    memcpy(to, "abc", 3);
    buf_commit(&b, 2);               /* less than there was room for */
    assert_buf(&b, "ab");
    to = buf_room(&b, 1000);
    assert_non_null(to);
    memset(to, 'z', 1000);           /* ASan sees if it is less */
    buf_commit(&b, 0);
    assert_buf(&b, "ab");
    buf_clear(&b);
}

static void test_cut(void **state)
{
    struct buf b = BUF_INIT;

    (void)state;
    buf_cut(&b, 0);
    buf_str(&b, "xxkeep this");
    buf_consume(&b, 2);
    buf_cut(&b, 4);
    assert_buf(&b, "keep");
    buf_cut(&b, 0);
    assert_buf(&b, "");
    buf_clear(&b);
}

/* A queue that is filled and emptied for ever keeps its contents and its size. */
static void test_consume(void **state)
{
    struct buf b = BUF_INIT;
    unsigned put = 0, got = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        for (int k = 0; k < 3; k++)
            buf_printf(&b, "%05u", put++ % 100000);
        for (int k = 0; k < (i % 7 ? 3 : 2) && b.len; k++) {
            assert_int_equal(strtoul(strndupa(buf_bytes(&b), 5), NULL, 10), got++ % 100000);
            buf_consume(&b, 5);
        }
        while (b.len > 1000) {
            got++;
            buf_consume(&b, 5);
        }
    }
    assert_true(b.cap <= 4096);
    buf_consume(&b, b.len);
    assert_int_equal(b.start, 0);
    buf_clear(&b);
}

static const struct { const char *name; size_t size; bool kept; } keep_cases[] = {
    { "a little is kept for the next use",   1000,   true },
    { "64 KiB with the NUL are kept",        65535,  true },
    { "more is given back",                  65536,  false },
    { "a flood is given back",               1 << 20, false },
};

static void test_memory_after_a_flood(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof keep_cases / sizeof *keep_cases; i++) {
        struct buf b = BUF_INIT;

        print_message("  %s\n", keep_cases[i].name);
        memset(buf_room(&b, keep_cases[i].size), 'x', keep_cases[i].size);
        buf_commit(&b, keep_cases[i].size);
        buf_consume(&b, 1);
        assert_non_null(b.data);
        buf_consume(&b, b.len);
        assert_int_equal(b.data != NULL, keep_cases[i].kept);
        buf_str(&b, "usable");
        assert_buf(&b, "usable");
        buf_clear(&b);
    }
}

static void assert_stuck(struct buf *b, const char *want)
{
    assert_true(b->failed);
    buf_str(b, "more");
    buf_printf(b, "more");
    assert_null(buf_room(b, 0));
    assert_int_equal(b->len, strlen(want));
    assert_memory_equal(buf_bytes(b), want, b->len + 1);
}

static void test_failure_sticks(void **state)
{
    static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 4, SIZE_MAX - 5, SIZE_MAX - 6,
                                    SIZE_MAX - 100 };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct buf b = BUF_INIT;

        print_message("  %zu bytes too many\n", sizes[i]);
        buf_str(&b, "xkept");
        buf_consume(&b, 1);
        assert_null(buf_room(&b, sizes[i]));
        assert_stuck(&b, "kept");
        buf_consume(&b, 4);
        assert_true(b.failed);
        buf_reset(&b);
        buf_str(&b, "fresh");
        assert_buf(&b, "fresh");
        buf_clear(&b);
    }
}

static void test_failure_survives_emptying(void **state)
{
    struct buf b = BUF_INIT;

    (void)state;
    buf_room(&b, 100000);
    buf_commit(&b, 0);
    buf_str(&b, "half a message");
    assert_null(buf_room(&b, SIZE_MAX));
    buf_consume(&b, b.len);
    assert_null(b.data);
    assert_true(b.failed);
    buf_str(&b, "the other half");
    assert_int_equal(b.len, 0);
    buf_clear(&b);
    assert_false(b.failed);
}

static void test_unprintable(void **state)
{
    struct buf b = BUF_INIT;
    const wchar_t bad[] = { 0x7FFFFFFF, 0 };

    (void)state;
    buf_str(&b, "kept");
    buf_printf(&b, "%ls", bad);
    assert_stuck(&b, "kept");
    buf_clear(&b);
}

static void test_no_memory(void **state)
{
    struct buf b = BUF_INIT;

    (void)state;
    fault_begin();
    fault_after(0);
    buf_str(&b, "x");
    assert_true(fault_hit && b.failed && !b.data);
    buf_clear(&b);
    buf_str(&b, "xkept");
    buf_consume(&b, 1);
    fault_after(0);
    buf_printf(&b, "%100d", 1);
    assert_true(fault_hit);
    assert_stuck(&b, "kept");
    buf_clear(&b);
}

static const struct { const char *name, *text, *want; } escape_cases[] = {
    { "nothing",                "", "" },
    { "text",                   "cmd=init pmi_version=2", "cmd=init pmi_version=2" },
    { "newline",                "a\nb\n", "a\\nb\\n" },
    { "backslash",              "c:\\n", "c:\\\\n" },
    { "escape sequence",        "\x1B[2J", "\\x1B[2J" },
    { "tab, return, DEL",       "\t\r\x7F", "\\x09\\x0D\\x7F" },
    { "digits behind",          "\x01" "23", "\\x0123" },
    { "UTF-8 stays",            "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC", "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC" },
    { "U+00A0 stays",           "\xC2\xA0", "\xC2\xA0" },
    { "C1 control CSI",         "\xC2\x9B" "31m", "\\xC2\\x9B31m" },
    { "first and last C1",      "\xC2\x80\xC2\x9F", "\\xC2\\x80\\xC2\\x9F" },
    { "C1 between text",        "a\xC2\x85z\xC3\xA4", "a\\xC2\\x85z\xC3\xA4" },
    { "bad UTF-8: all of it",   "\xC3\xA4 \xFF", "\\xC3\\xA4 \\xFF" },
    { "bad UTF-8 with C1",      "\x9B" "1m \xC2\x9B", "\\x9B1m \\xC2\\x9B" },
    { "C2 is the last byte",    "a\xC2", "a\\xC2" },
    { "overlong escape",        "\xC0\x9B", "\\xC0\\x9B" },
};

static void test_escaped(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof escape_cases / sizeof *escape_cases; i++) {
        size_t n = strlen(escape_cases[i].text);
        char *copy = malloc(n ? n : 1);
        struct buf b = BUF_INIT;

        print_message("  %s\n", escape_cases[i].name);
        memcpy(copy, escape_cases[i].text, n);
        buf_str(&b, ">");
        buf_escaped(&b, copy, n);
        buf_consume(&b, 1);
        assert_buf(&b, escape_cases[i].want);
        buf_clear(&b);
        free(copy);
    }
}

static void test_escaped_nul(void **state)
{
    struct buf b = BUF_INIT;

    (void)state;
    buf_escaped(&b, "a\0b", 3);
    assert_buf(&b, "a\\x00b");
    buf_clear(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_consume),
        cmocka_unit_test(test_memory_after_a_flood),
        cmocka_unit_test(test_failure_sticks),
        cmocka_unit_test(test_failure_survives_emptying),
        cmocka_unit_test(test_unprintable),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_escaped),
        cmocka_unit_test(test_escaped_nul),
    };

    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
