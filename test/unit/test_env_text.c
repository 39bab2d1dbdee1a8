/* Tests of pmix_ext/env_text.c */
#include "pmix_ext/env_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void there_and_back(char *const *env, size_t count)
{
    char *text = env_text_write(env), **back;
    size_t n = 99;

    assert_non_null(text);
    back = env_text_read(text, &n);
    assert_non_null(back);
    assert_int_equal(n, count);
    assert_null(back[n]);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(back[i], env[i]);
        free(back[i]);
    }
    free(back);
    free(text);
}

static void test_round_trip(void **state)
{
    char a[] = "A=b", bytes[] = "X=\xff\x01\n", none[] = "NO_VALUE", empty[] = "";

    (void)state;
    there_and_back((char *[]){ a, bytes, none, empty, a, NULL }, 5);
    there_and_back((char *[]){ NULL }, 0);
    there_and_back(NULL, 0);
}

static void test_wrong(void **state)
{
    size_t n;

    (void)state;
    assert_null(env_text_read("QT1i", &n));              /* "A=b", without a NUL */
    assert_null(env_text_read("not base64", &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
