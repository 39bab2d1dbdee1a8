/* Tests of mpiexec_lite/hook_maps.c */
#include "mpiexec_lite/hook_maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

struct job { struct plan plan; struct placement place; struct err e; };

static int read_job(struct job *j, const char *nodes, const char *ranks)
{
    *j = (struct job){ 0 };
    plan_init(&j->plan);
    return maps_read(nodes, ranks, &j->plan, &j->place, &j->e);
}

static void clear(struct job *j)
{
    placement_clear(&j->place);
    plan_clear(&j->plan);
}

static void test_places(void **state)
{
    static const int node[] = { 0, 0, 1, 0, 2, 2 };
    struct job j;

    (void)state;
    assert_int_equal(read_job(&j, "a,b,c,d", "3,0-1;2;4-5;"), 0);
    assert_int_equal(j.plan.nhosts, 4);
    assert_string_equal(j.plan.hosts[2].name, "c");
    assert_int_equal(j.place.size, 6);
    for (int r = 0; r < 6; r++)
        assert_int_equal(placement_node(&j.place, r), node[r]);
    clear(&j);
}

static void test_nothing(void **state)
{
    struct job j;

    (void)state;
    assert_int_equal(read_job(&j, "", ""), 0);
    assert_int_equal(j.plan.nhosts, 0);
    assert_int_equal(j.place.size, 0);
    assert_int_equal(maps_node(&j.plan, "a"), -1);
    clear(&j);
}

static void test_wrong(void **state)
{
    static const char *const rows[][3] = {
        { "a", "0,0", "rank 0 is there twice" }, { "a,b", "0-2;2", "rank 2 is there twice" },
        { "a", "1", "rank 0 is on no node" }, { "a,b", "0", "of 1 nodes, not of 2" },
        { "a", "0;1", "of more than 1 nodes" }, { "", "0", "of more than 0 nodes" },
        { "a", "1-0", "makes no sense" }, { "a", "0-", "makes no sense" },
        { "a", "-1", "makes no sense" }, { "a", " 0", "makes no sense" },
        { "a", "0 ", "makes no sense" }, { "a", "0-99999999999999999999", "makes no sense" },
        { "a", "16777216", "makes no sense" }, { "a,,b", "0;;", "without a name" },
        { "a,", "0;", "without a name" },
    };
    struct job j;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(read_job(&j, rows[i][0], rows[i][1]), -1);
        assert_non_null(strstr(j.e.text, rows[i][2]));
        clear(&j);
    }
}

static void test_node(void **state)
{
    struct job j;

    (void)state;
    assert_int_equal(read_job(&j, "one,two.b,three.b,three.c", "0;1;2;3"), 0);
    assert_int_equal(maps_node(&j.plan, "one"), 0);
    assert_int_equal(maps_node(&j.plan, "one.b"), 0);
    assert_int_equal(maps_node(&j.plan, "two"), 1);
    assert_int_equal(maps_node(&j.plan, "three.c"), 3);
    assert_int_equal(maps_node(&j.plan, "two.c"), -1);
    assert_int_equal(maps_node(&j.plan, "on"), -1);
    assert_int_equal(maps_node(&j.plan, "ones"), -1);
    clear(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places), cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_wrong), cmocka_unit_test(test_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
