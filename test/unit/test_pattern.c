/* Tests of mpiexec_lite/pattern.c */
#include "mpiexec_lite/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const struct { const char *name, *text, *want, *error; } cases[] = {
    { "plain",            "a.out",       "a.out",            NULL },
    { "empty",            "",            "",                 NULL },
    { "label",            "[%r] ",       "[7] ",             NULL },
    { "all",              "%r%g%p%h%t",  "702node-a12345",   NULL },
    { "percent",          "100%%%r",     "100%7",            NULL },
    { "percents only",    "%%%%",        "%%",               NULL },
    { "letter after %%",  "%%r",         "%r",               NULL },
    { "unknown letter",   "out.%x",      NULL, "'%x' is not one of %r %g %p %h %t %%" },
    { "upper case",       "%R",          NULL, "'%R' is not one of %r %g %p %h %t %%" },
    { "at the end",       "out%",        NULL, "'out%' ends in a single %" },
    { "odd number of %",  "%%%",         NULL, "'%%%' ends in a single %" },
};

static void test_pattern(void **state)
{
    const struct pattern_vars vars = { 7, 0, 2, "node-a", 12345 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = { 0 };
        struct buf out = BUF_INIT;
        int rc = pattern_check(cases[i].text, &e);

        print_message("  %s\n", cases[i].name);
        assert_string_equal(e.text, cases[i].error ? cases[i].error : "");
        assert_int_equal(rc, cases[i].error ? -1 : 0);
        if (rc == 0) {
            buf_str(&out, "");
            pattern_expand(cases[i].text, &vars, &out);
            assert_false(out.failed);
            assert_string_equal(buf_bytes(&out), cases[i].want);
        }
        buf_clear(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_pattern) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
