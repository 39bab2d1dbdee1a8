/* Tests of mpiexec_lite/moments.c */
#include "mpiexec_lite/moments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_there_and_back(void **state)
{
    static const struct moment in[] = {
        { 1, 0, 0, MOMENT_EXEC, 4711 }, { INT64_MAX, 7, 999999, MOMENT_EXIT, 0x8b },
        { 5, 0, 3, MOMENT_ENTER, 0 }, { 5, 0, 3, MOMENT_LEAVE, 0 },
    };
    struct moments all = { .bytes = BUF_INIT };
    const char *at;
    struct moment x;
    struct err e;
    size_t len;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        moments_add(&all, &in[i]);
    assert_int_equal(all.bytes.len, 4 * MOMENT_SIZE);
    assert_int_equal(all.fences, 2);
    at = buf_bytes(&all.bytes);
    len = all.bytes.len;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(moments_next(&at, &len, &x, &e), 1);
        assert_int_equal(x.when, in[i].when);
        assert_int_equal(x.job, in[i].job);
        assert_int_equal(x.rank, in[i].rank);
        assert_int_equal(x.kind, in[i].kind);
        assert_int_equal(x.value, in[i].value);
    }
    assert_int_equal(moments_next(&at, &len, &x, &e), 0);
    moments_clear(&all);
}

static void test_wrong(void **state)
{
    struct moments all = { .bytes = BUF_INIT };
    struct moment x;
    struct err e;
    const char *at;
    size_t len = MOMENT_SIZE - 1;

    (void)state;
    moments_add(&all, &(struct moment){ 1, 0, 0, MOMENT_EXEC, 0 });
    at = buf_bytes(&all.bytes);
    assert_int_equal(moments_next(&at, &len, &x, &e), -1);
    assert_string_equal(e.text, "a moment of 23 bytes");
    buf_bytes(&all.bytes)[16] = MOMENT_KINDS;
    len = MOMENT_SIZE;
    assert_int_equal(moments_next(&at, &len, &x, &e), -1);
    assert_string_equal(e.text, "a moment of kind 8");
    moments_clear(&all);
}

static void test_bound(void **state)
{
    struct moments all = { .bytes = BUF_INIT };

    (void)state;
    for (int i = 0; i < MOMENTS_FENCES + 3; i++)
        moments_add(&all, &(struct moment){ i, 0, 0, MOMENT_ENTER, 0 });
    moments_add(&all, &(struct moment){ 1, 0, 0, MOMENT_EXIT, 0 });
    assert_int_equal(all.dropped, 3);
    assert_int_equal(all.bytes.len, (MOMENTS_FENCES + 1) * (size_t)MOMENT_SIZE);
    moments_clear(&all);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
