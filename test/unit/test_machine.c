/* Tests of mpiexec_lite/machine.c */
#include "mpiexec_lite/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/utsname.h>
#include <cmocka.h>

/* Sizes and the kernel's word for the processor are told, the same each time. */
static void test_text(void **state)
{
    char one[MACHINE_TEXT], two[MACHINE_TEXT];
    struct utsname u;

    (void)state;
    machine_text(one);
    machine_text(two);
    assert_string_equal(one, two);
    assert_int_equal(uname(&u), 0);
    assert_non_null(strstr(one, u.machine));
    assert_string_equal(machine_arch(one), u.machine);
    assert_true(!strncmp(one, "little-", 7) || !strncmp(one, "big-", 4));
}

static void test_kinds(void **state)
{
    struct strlist met = { 0 };

    (void)state;
    assert_int_equal(machine_kind(&met, "a"), 0);
    assert_int_equal(machine_kind(&met, "b"), 1);
    assert_int_equal(machine_kind(&met, "a"), 0);
    assert_int_equal(machine_kind(&met, "b"), 1);
    assert_int_equal(machine_kind(&met, "ab"), 2);
    strlist_clear(&met);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_text),
                                        cmocka_unit_test(test_kinds) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
