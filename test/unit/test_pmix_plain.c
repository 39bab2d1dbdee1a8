/* Tests of pmix_ext/plain.h: eight bytes at a time are what one at a time is. */
#include "pmix_ext/plain.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { LONGEST = 40 };

/* Bytes on the heap, which a sanitizer sees the ends of. */
static char *bytes(const char *text, size_t n)
{
    char *copy = malloc(n);

    assert_non_null(copy);
    memcpy(copy, text, n);
    return copy;
}

static bool is_plain(unsigned char c)
{
    return c >= ' ' && c != '"' && c != '\\';
}

static void check_run(const char *text, size_t n, size_t at)
{
    unsigned char c = (unsigned char)text[at];
    char *from = bytes(text, n), *to = malloc(n);
    size_t run = is_plain(c) ? n : at;
    uint64_t seen = 0;

    assert_non_null(to);
    assert_int_equal(plain_end(from, from + n, &seen) - from, run);
    assert_int_equal(plain_is_ascii(seen), run <= at || c < 0x80);
    assert_int_equal(plain_ascii_end(from, from + n) - from, c < 0x80 ? run : at);
    assert_int_equal(plain_copy(to, from, n), is_plain(c) && c < 0x80);
    if (is_plain(c) && c < 0x80)
        assert_memory_equal(to, from, n);
    free(from);
    free(to);
}

/* Each byte there is at each place of text of each length. */
static void test_runs(void **state)
{
    char text[LONGEST];

    (void)state;
    for (size_t n = 1; n <= LONGEST; n++)
        for (size_t at = 0; at < n; at++)
            for (int c = 0; c < 256; c++) {
                for (size_t i = 0; i < n; i++)
                    text[i] = (char)('a' + i % 26);
                text[at] = (char)c;
                check_run(text, n, at);
            }
}

/* A difference is seen where it counts, and nowhere else. */
static void test_same(void **state)
{
    static const char text[PLAIN_TEXT] = "},\"executable_name\":\"/bin/prog\",";

    (void)state;
    for (size_t n = 1; n <= PLAIN_TEXT; n++) {
        size_t there = n < 8 ? 8 : n;
        char *one = bytes(text, there), *other = bytes(text, there);

        assert_true(plain_same(one, other, n));
        for (size_t i = 0; i < there; i++) {
            other[i] ^= 0x20;
            assert_int_equal(plain_same(one, other, n), i >= n);
            other[i] ^= 0x20;
        }
        free(one);
        free(other);
    }
}

/* Each byte behind so many digits: it ends them, or is one more. */
static void test_numbers_read(void **state)
{
    static const char digits[] = "90817263";

    (void)state;
    for (unsigned n = 0; n < 8; n++)
        for (int c = 0; c < 256; c++) {
            unsigned want = n + (c >= '0' && c <= '9');
            char text[] = "........", *p;
            uint64_t number = 0;

            memcpy(text, digits, n);
            text[n] = (char)c;
            p = bytes(text, 8);
            assert_int_equal(plain_number(p, &number), want);
            if (want <= PLAIN_DIGITS)
                assert_int_equal(number, strtoul(text, NULL, 10) * (want > 0));
            free(p);
        }
}

static void written(uint64_t n)
{
    char text[PLAIN_NUMBER], *to = malloc(PLAIN_NUMBER);
    size_t len = (size_t)snprintf(text, sizeof text, "%" PRIu64, n);

    assert_non_null(to);
    assert_int_equal(plain_write(to, n), len);
    assert_memory_equal(to, text, len);
    free(to);
}

static void test_numbers_written(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 20000; n++)
        written(n);
    for (uint64_t ten = 1;; ten *= 10) {
        for (uint64_t n = 1; n < 10; n++) {
            written(ten * n - 1);
            written(ten * n);
            written(ten * n + ten / 7);
        }
        if (ten > UINT64_MAX / 100)
            break;
    }
    written(UINT64_MAX);
    written(INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_numbers_read),
        cmocka_unit_test(test_numbers_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
