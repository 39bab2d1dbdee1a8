/* test_events.c - mpiexec_lite/events: records there and back, and what is none. */
#include "mpiexec_lite/events.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

static const struct rank_end ends[] = {
    { 0, 0, 1, 0, 0, false }, { 1, 9, 4194304, 1, 1, true }, { 999999, 0xff00, 77, 2, 70000, false },
    { 5, RANK_NEVER_RAN, 0, 0, 0, false }, { INT_MAX, INT_MIN, INT_MAX, 3, INT_MAX, true },
    { -1, 139, -1, 0, -1, false },
};

static void test_there_and_back(void **state)
{
    struct buf b = BUF_INIT;
    struct rank_end x;
    const char *at;
    size_t len;

    (void)state;
    for (size_t i = 0; i < N_OF(ends); i++)
        events_add(&b, &ends[i]);
    assert_int_equal(b.len, 20 * N_OF(ends));
    at = buf_bytes(&b);
    len = b.len;
    for (size_t i = 0; i < N_OF(ends); i++) {
        assert_int_equal(events_next(&at, &len, &x, NULL), 1);
        assert_memory_equal(&x, &ends[i], offsetof(struct rank_end, fenced));
        assert_int_equal(x.fenced, ends[i].fenced);
    }
    assert_int_equal(events_next(&at, &len, &x, NULL), 0);
    buf_clear(&b);
}

/* The bytes themselves: other machines read them. */
static void test_bytes(void **state)
{
    struct rank_end x = { 1, 0x0102, 0x10203, 2, 0x0405, false };
    struct buf b = BUF_INIT;

    (void)state;
    events_add(&b, &x);
    assert_memory_equal(buf_bytes(&b), "\1\0\0\0\2\1\0\0\3\2\1\0\2\0\0\0\5\4\0\0", 20);
    x.fenced = true;
    buf_clear(&b);
    events_add(&b, &x);
    assert_memory_equal(buf_bytes(&b), "\1\0\0\0\2\1\0\0\3\2\1\0\6\0\0\0\5\4\0\0", 20);
    buf_clear(&b);
}

static void test_cut(void **state)
{
    (void)state;
    for (size_t n = 1; n < 20; n++) {
        char *data = calloc(n, 1);
        const char *at = data;
        size_t len = n;
        struct rank_end x;
        struct err e = { 0 };

        assert_non_null(data);
        assert_int_equal(events_next(&at, &len, &x, &e), -1);
        assert_true(*e.text);
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
