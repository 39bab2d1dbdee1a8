/* test_utf8.c - wire/utf8: the edges of RFC 3629. */
#include "wire/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct { const char *name, *text; bool valid; } cases[] = {
    { "nothing",                       "", true },
    { "ASCII",                         "cmd=init\n\x7F", true },
    { "U+0080, the first of 2 bytes",  "\xC2\x80", true },
    { "U+07FF, the last of 2 bytes",   "\xDF\xBF", true },
    { "U+0800, the first of 3 bytes",  "\xE0\xA0\x80", true },
    { "U+D7FF, before the surrogates", "\xED\x9F\xBF", true },
    { "U+E000, behind the surrogates", "\xEE\x80\x80", true },
    { "U+FFFD",                        "\xEF\xBF\xBD", true },
    { "U+FFFE, no character",          "\xEF\xBF\xBE", true },
    { "U+FFFF, no character",          "\xEF\xBF\xBF", true },
    { "U+10000, the first of 4 bytes", "\xF0\x90\x80\x80", true },
    { "U+10FFFF, the last of all",     "\xF4\x8F\xBF\xBF", true },
    { "ASCII around",                  "a\xC3\xA4z", true },
    { "byte order mark",               "\xEF\xBB\xBFx", true },
    { "a lone continuation",           "\x80", false },
    { "continuation behind ASCII",     "abc\xBF", false },
    { "2 bytes, cut",                  "\xC3", false },
    { "3 bytes, cut after 1",          "\xE2", false },
    { "3 bytes, cut after 2",          "\xE2\x82", false },
    { "4 bytes, cut after 1",          "\xF0", false },
    { "4 bytes, cut after 3",          "\xF0\x9F\x98", false },
    { "2 bytes, then ASCII",           "\xC3x", false },
    { "3 bytes, then ASCII",           "\xE2\x82x", false },
    { "overlong '/', 2 bytes",         "\xC0\xAF", false },
    { "overlong U+007F, 2 bytes",      "\xC1\xBF", false },
    { "overlong '/', 3 bytes",         "\xE0\x80\xAF", false },
    { "overlong U+07FF, 3 bytes",      "\xE0\x9F\xBF", false },
    { "overlong '/', 4 bytes",         "\xF0\x80\x80\xAF", false },
    { "overlong U+FFFF, 4 bytes",      "\xF0\x8F\xBF\xBF", false },
    { "overlong NUL",                  "\xC0\x80", false },
    { "surrogate U+D800",              "\xED\xA0\x80", false },
    { "surrogate U+DFFF",              "\xED\xBF\xBF", false },
    { "a pair of surrogates (CESU-8)", "\xED\xA0\xBD\xED\xB8\x80", false },
    { "U+110000",                      "\xF4\x90\x80\x80", false },
    { "lead byte F5",                  "\xF5\x80\x80\x80", false },
    { "5 bytes",                       "\xF8\x88\x80\x80\x80", false },
    { "6 bytes",                       "\xFC\x84\x80\x80\x80\x80", false },
    { "FE",                            "\xFE", false },
    { "FF",                            "\xFF", false },
    { "Latin-1",                       "gr\xFC\xDF" "e", false },
    { "good, then bad",                "\xC3\xA4\xC3", false },
};

static char *heap(const char *text, size_t n)
{
    char *copy = malloc(n ? n : 1);

    assert_non_null(copy);
    memcpy(copy, text, n);
    return copy;
}

static void test_edges(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = strlen(cases[i].text);
        char *copy = heap(cases[i].text, n);

        print_message("  %s\n", cases[i].name);
        assert_int_equal(utf8_valid(copy, n), cases[i].valid);
        free(copy);
    }
}

/* Every code point in its only form; the same bytes with the last one missing. */
static void test_every_code_point(void **state)
{
    (void)state;
    for (unsigned p = 0; p < 0x110000; p += p < 0x3000 || p > 0x10F000 ? 1 : 37) {
        char s[4];
        size_t n = p < 0x80 ? 1 : p < 0x800 ? 2 : p < 0x10000 ? 3 : 4;
        bool surrogate = p >= 0xD800 && p < 0xE000;

        for (size_t i = n; i-- > 1;)
            s[i] = (char)(0x80 | (p >> (6 * (n - 1 - i)) & 0x3F));
        s[0] = (char)(n == 1 ? p : (0xF00 >> n & 0xFF) | p >> (6 * (n - 1)));
        if (utf8_valid(s, n) == surrogate)
            fail_msg("U+%04X", p);
        if (n > 1 && utf8_valid(s, n - 1))
            fail_msg("U+%04X, cut", p);
    }
}

static void test_nul_is_text(void **state)
{
    (void)state;
    assert_true(utf8_valid("a\0b", 3));
    assert_true(utf8_valid("\xC3\xA4\0\xC3\xA4", 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_every_code_point),
        cmocka_unit_test(test_nul_is_text),
    };

    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
