/* test_msg.c - wire/msg: building, finding, typed values, limits. */
#include "wire/msg.h"

#include "wire/limits.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/fault.h"

static void test_build_and_find(void **state)
{
    struct msg m;

    (void)state;
    msg_init(&m);
    assert_string_equal(m.cmd, "");
    assert_null(msg_find(&m, "key"));
    assert_null(msg_get(&m, "key"));
    msg_start(&m, "spawn");
    msg_str(&m, "argv0", "first");
    msg_bytes(&m, "argv1", "a\0b", 3);
    msg_int(&m, "rank", -1);
    msg_int(&m, "big", LLONG_MIN);
    msg_str(&m, "argv0", "second");
    assert_string_equal(m.cmd, "spawn");
    assert_int_equal(m.n, 5);
    assert_string_equal(msg_get(&m, "argv0"), "first");
    assert_int_equal(msg_find(&m, "argv1")->len, 3);
    assert_string_equal(msg_get(&m, "rank"), "-1");
    assert_string_equal(msg_get(&m, "big"), "-9223372036854775808");
    assert_null(msg_get(&m, "argv"));
    assert_string_equal(m.pairs[4].val, "second");
    msg_start(&m, "next");
    assert_int_equal(m.n, 0);
    assert_null(msg_get(&m, "rank"));
    assert_false(m.failed);
    msg_clear(&m);
    msg_clear(&m);
}

static void test_many_pairs(void **state)
{
    static const char *const names[] = { "a", "b", "c" };
    struct msg m;

    (void)state;
    msg_init(&m);
    msg_start(&m, "spawn");
    for (size_t i = 0; i < LIMIT_PAIRS; i++)
        msg_bytes(&m, names[i % 3], names[i % 2], i);
    assert_false(m.failed);
    assert_int_equal(m.n, LIMIT_PAIRS);
    for (size_t i = 0; i < LIMIT_PAIRS; i++) {
        assert_ptr_equal(m.pairs[i].key, names[i % 3]);
        assert_int_equal(m.pairs[i].len, i);
    }
    msg_str(&m, "one", "too many");
    assert_true(m.failed);
    assert_int_equal(m.n, LIMIT_PAIRS);
    msg_start(&m, "again");
    assert_false(m.failed);
    msg_clear(&m);
    assert_ptr_equal(m.pairs, m.few);
}

static void test_many_numbers(void **state)
{
    struct msg m;

    (void)state;
    msg_init(&m);
    for (int round = 0; round < 2; round++) {
        msg_start(&m, "x");
        for (int i = 0; i < MSG_PAIRS; i++)
            msg_int(&m, "n", i * 1000);
        assert_false(m.failed);
        assert_string_equal(m.pairs[0].val, "0");
        assert_string_equal(m.pairs[15].val, "15000");
        msg_int(&m, "n", 1);
        assert_true(m.failed);
    }
    msg_clear(&m);
}

static void test_no_memory(void **state)
{
    struct msg m;

    (void)state;
    fault_begin();
    for (long nth = 0; nth < 5; nth++) {
        struct buf out = BUF_INIT;
        struct err e = { 0 };
        size_t had = (size_t)MSG_PAIRS << (2 * nth);

        msg_init(&m);
        msg_start(&m, "spawn");
        fault_after(nth);
        for (size_t i = 0; i < LIMIT_PAIRS; i++)
            msg_str(&m, "k", "v");
        assert_int_equal(fault_hit, m.failed);
        assert_true(m.failed);
        assert_true(m.n >= had);
        fault_end();
        assert_int_equal(wire_v2.format(&m, LIMIT_FRAME_LINK, &out, &e), -1);
        assert_string_equal(e.text, "no memory for a message");
        assert_int_equal(wire_v1.format(&m, LIMIT_FRAME_LINK, &out, &e), -1);
        assert_int_equal(out.len, 0);
        buf_clear(&out);
        msg_clear(&m);
    }
}

static const struct {
    const char *text;
    long long min, max, want;
    const char *error;
} ints[] = {
    { "0",       0, 9,        0,  NULL },
    { "9",       0, 9,        9,  NULL },
    { "-1",     -1, 9,       -1,  NULL },
    { "007",     0, 9,        7,  NULL },
    { "-0",      0, 9,        0,  NULL },
    { "9223372036854775807",  LLONG_MIN, LLONG_MAX, LLONG_MAX, NULL },
    { "-9223372036854775808", LLONG_MIN, LLONG_MAX, LLONG_MIN, NULL },
    { "10",      0, 9, 0, "n=10 is not within 0..9" },
    { "-1",      0, 9, 0, "n=-1 is not within 0..9" },
    { "9223372036854775808", LLONG_MIN, LLONG_MAX, 0,
      "n=9223372036854775808 is not within -9223372036854775808..9223372036854775807" },
    { "",        0, 9, 0, "n= is not a number" },
    { "-",       0, 9, 0, "n=- is not a number" },
    { "--1",    -9, 9, 0, "n=--1 is not a number" },
    { "+1",      0, 9, 0, "n=+1 is not a number" },
    { " 1",      0, 9, 0, "n= 1 is not a number" },
    { "1 ",      0, 9, 0, "n=1  is not a number" },
    { "- 1",    -9, 9, 0, "n=- 1 is not a number" },
    { "1\n",     0, 9, 0, "n=1\n is not a number" },
    { "0x1",     0, 9, 0, "n=0x1 is not a number" },
    { "1e1",     0, 9, 0, "n=1e1 is not a number" },
    { "1.0",     0, 9, 0, "n=1.0 is not a number" },
    { "\xD9\xA1", 0, 9, 0, "n=\xD9\xA1 is not a number" },
};

static void test_int(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        struct pair p = { "n", ints[i].text, strlen(ints[i].text) };
        struct err e = { 0 };
        long long got = 0;
        int rc = pair_int(&p, ints[i].min, ints[i].max, &got, &e);

        print_message("  '%s'\n", ints[i].text);
        assert_string_equal(e.text, ints[i].error ? ints[i].error : "");
        assert_int_equal(rc, ints[i].error ? -1 : 0);
        assert_true(got == ints[i].want);
        if (ints[i].error)
            assert_int_equal(e.code, ERR_INVALID_VAL);
    }
}

static const struct { const char *text; int want; } bools[] = {
    { "TRUE", 1 },  { "true", 1 },  { "True", 1 }, { "1", 1 }, { "yes", 1 }, { "YES", 1 },
    { "FALSE", 0 }, { "false", 0 }, { "0", 0 },    { "no", 0 }, { "No", 0 },
    { "", -1 }, { "2", -1 }, { "on", -1 }, { "TRUE ", -1 }, { "t", -1 }, { "truer", -1 },
};

static void test_bool(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bools / sizeof *bools; i++)
        for (int before = 0; before < 2; before++) {
            struct pair p = { "wait", bools[i].text, strlen(bools[i].text) };
            struct err e = { 0 };
            bool got = before;

            print_message("  '%s'\n", bools[i].text);
            assert_int_equal(pair_bool(&p, &got, &e), bools[i].want < 0 ? -1 : 0);
            assert_int_equal(got, bools[i].want < 0 ? before : bools[i].want);
            if (bools[i].want < 0)
                assert_int_equal(e.code, ERR_INVALID_VAL);
        }
}

static void test_codecs(void **state)
{
    (void)state;
    assert_ptr_equal(codec_of(WIRE_1), &wire_v1);
    assert_ptr_equal(codec_of(WIRE_2), &wire_v2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build_and_find),
        cmocka_unit_test(test_many_pairs),
        cmocka_unit_test(test_many_numbers),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_int),
        cmocka_unit_test(test_bool),
        cmocka_unit_test(test_codecs),
    };

    return cmocka_run_group_tests_name("msg", tests, NULL, NULL);
}
