/* Tests of mpiexec_lite/soft.c */
#include "mpiexec_lite/soft.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

/* want -1: none is small enough; -2: no list. */
static const struct { const char *list; int max, want; } softs[] = {
    { "1", 4, 1 }, { "4", 4, 4 }, { "5", 4, -1 }, { "0", 4, 0 }, { "-1", 4, -1 },
    { "1,2,3", 4, 3 }, { "3,2,1", 4, 3 }, { "9,2,7", 4, 2 }, { "1,5", 4, 1 },
    { "0:4", 4, 4 }, { "1:8", 4, 4 }, { "5:8", 4, -1 }, { "2:2", 4, 2 }, { "3:2", 4, -1 },
    { "1:8:2", 4, 3 }, { "1:8:3", 4, 4 }, { "2:8:4", 5, 2 }, { "2:8:4", 6, 6 }, { "1:6:4", 9, 5 },
    { "8:1:-1", 4, 4 }, { "8:1:-2", 4, 4 }, { "9:1:-2", 4, 3 }, { "8:5:-1", 4, -1 },
    { "8:1:-3", 4, 2 }, { "7:0:-7", 6, 0 }, { "1:8:-1", 4, -1 },
    { "-4:4:3", 4, 2 }, { "-5:-1", 4, -1 }, { "-3:9:5", 4, 2 }, { "4:-4:-3", 3, 1 },
    { "2,4:8:2,1", 7, 6 }, { "1,4,10:20:2", 20, 20 }, { "1,4,10:20:2", 19, 18 },
    { "1,4,10:20:2", 9, 4 }, { " 3", 4, 3 }, { "+3", 4, 3 },
    { "0:1000000:1", 999999, 999999 },
    /* no list */
    { "", 4, -2 }, { ",", 4, -2 }, { "1,", 4, -2 }, { ",1", 4, -2 }, { "1,,2", 4, -2 },
    { "x", 4, -2 }, { "1x", 4, -2 }, { "1:", 4, -2 }, { "1:2:", 4, -2 }, { "1:2:0", 4, -2 },
    { "1:2:3:4", 4, -2 }, { "1;2", 4, -2 }, { "1:x", 4, -2 }, { ":1", 4, -2 }, { "1.5", 4, -2 },
    { "1 ,2", 4, -2 },
};

static void test_soft(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(softs); i++) {
        struct err e = { 0 };
        int got = soft_largest(softs[i].list, softs[i].max, &e);

        print_message("  '%s' up to %d\n", softs[i].list, softs[i].max);
        assert_int_equal(got, softs[i].want < 0 ? -1 : softs[i].want);
        assert_int_equal(e.code, softs[i].want < 0 ? ERR_INVALID_VAL : 0);
        if (softs[i].want == -2)
            assert_non_null(strstr(e.text, "wanted, not '"));
        else if (softs[i].want == -1)
            assert_non_null(strstr(e.text, "no number of '"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_soft) };

    return cmocka_run_group_tests_name("soft", tests, NULL, NULL);
}
