/* test_mapping.c - pmi2/mapping: PMI_process_mapping there and back, and errors. */
#include "pmi2/mapping.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct { const char *name, *text; size_t n; struct mapping_block block[4]; } good[] = {
    { "no ranks",          "(vector)", 0, { { 0 } } },
    { "one",               "(vector,(0,1,1))", 1, { { 0, 1, 1 } } },
    { "4 ranks on 2 nodes", "(vector,(0,2,2))", 1, { { 0, 2, 2 } } },
    { "cyclic",            "(vector,(0,2,1),(0,2,1))", 2, { { 0, 2, 1 }, { 0, 2, 1 } } },
    { "uneven",            "(vector,(0,1,16),(1,3,8),(4,1,1))", 3,
                           { { 0, 1, 16 }, { 1, 3, 8 }, { 4, 1, 1 } } },
    { "the largest",       "(vector,(2147483647,2147483647,2147483647))", 1,
                           { { 2147483647, 2147483647, 2147483647 } } },
    { "as many as fit",    "(vector,(0,1,1),(1,1,1),(2,1,1),(3,1,1))", 4,
                           { { 0, 1, 1 }, { 1, 1, 1 }, { 2, 1, 1 }, { 3, 1, 1 } } },
};

static void test_there_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct mapping_block got[4];
        struct buf out = BUF_INIT;
        struct err e = { 0 };
        char *copy = strdup(good[i].text);

        print_message("  %s\n", good[i].name);
        mapping_format(good[i].block, good[i].n, &out);
        assert_string_equal(buf_bytes(&out), good[i].text);
        assert_int_equal(mapping_parse(copy, got, 4, &e), good[i].n);
        assert_string_equal(e.text, "");
        assert_memory_equal(got, good[i].block, good[i].n * sizeof *got);
        buf_clear(&out);
        free(copy);
    }
}

static const struct { const char *text, *error; } bad[] = {
    { "",                        "a mapping begins with \"(vector\"" },
    { "(vecto",                  "a mapping begins with \"(vector\"" },
    { "vector,(0,1,1)",          "a mapping begins with \"(vector\"" },
    { "(vector",                 "mapping: byte 7: want \")\"" },
    { "(vector,",                "mapping: byte 7: want \")\"" },
    { "(vector,(",               "mapping: byte 9: want first,nodes,ranks)" },
    { "(vector,)",               "mapping: byte 7: want \")\"" },
    { "(vector,0)",              "mapping: byte 7: want \")\"" },
    { "(vector,[0,1]x2)",        "mapping: byte 7: want \")\"" },
    { "(vector))",               "mapping: byte 7: want \")\"" },
    { "(vector,(0,1,1)",         "mapping: byte 15: want \")\"" },
    { "(vector,(0,1,1)) ",       "mapping: byte 15: want \")\"" },
    { "(vector,(0,1,1),)",       "mapping: byte 15: want \")\"" },
    { "(vector,(0,1,1)(1,1,1))", "mapping: byte 15: want \")\"" },
    { "(vector,(0,1,1), (1,1,1))", "mapping: byte 15: want \")\"" },
    { "(vector,(0,1))",          "mapping: byte 11: want first,nodes,ranks)" },
    { "(vector,(0,1,1,1))",      "mapping: byte 13: want first,nodes,ranks)" },
    { "(vector,(-1,1,1))",       "mapping: byte 9: want first,nodes,ranks)" },
    { "(vector,( 0,1,1))",       "mapping: byte 9: want first,nodes,ranks)" },
    { "(vector,(0 ,1,1))",       "mapping: byte 9: want first,nodes,ranks)" },
    { "(vector,(0,0,1))",        "mapping: byte 15: want first,nodes,ranks)" },
    { "(vector,(0,1,0))",        "mapping: byte 15: want first,nodes,ranks)" },
    { "(vector,(2147483648,1,1))", "mapping: byte 9: want first,nodes,ranks)" },
    { "(vector,(99999999999999999999,1,1))", "mapping: byte 9: want first,nodes,ranks)" },
    { "(vector,(0x1,1,1))",      "mapping: byte 9: want first,nodes,ranks)" },
    { "(vector,(0,1,1),(1,1,1),(2,1,1),(3,1,1),(4,1,1))", "mapping: more than 4 blocks" },
};

static void test_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct mapping_block *got = malloc(4 * sizeof *got);
        struct err e = { 0 };
        char *copy = strdup(bad[i].text);

        print_message("  %s\n", bad[i].text);
        assert_int_equal(mapping_parse(copy, got, 4, &e), -1);
        assert_string_equal(e.text, bad[i].error);
        free(got);
        free(copy);
    }
}

static const struct {
    const char *text, *period;
} periods[] = {
    { "(vector,(0,1,1))", "(vector,(0,1,1))" },
    { "(vector,(0,2,1),(0,2,1),(0,2,1))", "(vector,(0,2,1))" },
    { "(vector,(0,2,1),(0,2,1),(0,1,1))", "(vector,(0,2,1))" },
    { "(vector,(0,2,3),(0,1,2))", "(vector,(0,2,3))" },
    { "(vector,(0,1,1),(2,1,1),(0,1,1),(2,1,1))", "(vector,(0,1,1),(2,1,1))" },
    { "(vector,(0,2,1),(0,1,2))", "(vector,(0,2,1),(0,1,2))" },
    { "(vector,(0,1,1),(1,1,2))", "(vector,(0,1,1),(1,1,2))" },
    { "(vector,(1,1,1),(1,1,1))", "(vector,(1,1,1),(1,1,1))" },    /* readers look for 0 */
};

static void test_period(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        struct mapping_block got[4];
        struct buf out = BUF_INIT;
        int n = mapping_parse(periods[i].text, got, 4, NULL);

        print_message("  %s\n", periods[i].text);
        assert_true(n > 0);
        mapping_format(got, mapping_period(got, (size_t)n), &out);
        assert_string_equal(buf_bytes(&out), periods[i].period);
        buf_clear(&out);
    }
}

/* Whatever is cut off, it is an error or the whole. */
static void test_every_beginning(void **state)
{
    static const char text[] = "(vector,(0,12,3),(4,5,6))";
    struct mapping_block got[2];

    (void)state;
    for (size_t n = 0; n < sizeof text - 1; n++) {
        char *copy = strndup(text, n);

        assert_int_equal(mapping_parse(copy, got, 2, NULL), -1);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_period),
        cmocka_unit_test(test_every_beginning),
    };

    return cmocka_run_group_tests_name("mapping", tests, NULL, NULL);
}
