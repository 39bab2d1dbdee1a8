/* Tests of mpiexec_lite/plan.c */
#include "mpiexec_lite/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void test_strlist(void **state)
{
    struct strlist l = { 0 };
    char text[16];

    (void)state;
    strlist_clear(&l);                   /* an empty one is fine */
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "%d", i);
        assert_int_equal(strlist_add(&l, text), 0);
        assert_null(l.v[l.n]);           /* usable as argv at any time */
    }
    assert_int_equal(l.n, 1000);
    assert_string_equal(l.v[0], "0");
    assert_string_equal(l.v[999], "999");
    assert_int_equal(strlist_add_bytes(&l, "abcdef", 3), 0);
    assert_string_equal(l.v[1000], "abc");
    strlist_clear(&l);
    assert_null(l.v);
    assert_int_equal(l.n, 0);
}

static void test_defaults(void **state)
{
    struct plan p;

    (void)state;
    plan_init(&p);
    assert_int_equal(p.output_from, -1);
    assert_int_equal(p.usize, -1);
    assert_int_equal(p.pmi1_subversion, 1);
    assert_int_equal(p.stdin_mode, STDIN_RANK);
    assert_int_equal(p.stdin_rank, 0);
    assert_int_equal(p.policy, END_ON_FAILURE);
    assert_int_equal(plan_size(&p), 0);
    assert_int_equal(p.remote.launcher, LAUNCHER_SSH);
    assert_int_equal(p.remote.tree_width, 32);
    assert_int_equal(p.remote.flat_hosts, 64);
    assert_int_equal(p.remote.window, 10);
    assert_true(p.remote.patience == 15 && p.remote.heartbeat == 5 && p.remote.lease == 15);
    assert_int_equal(p.remote.release_bytes, 262144);
    plan_clear(&p);
}

/* Blocks of 2, 1 and 3 ranks. */
static void test_blocks(void **state)
{
    static const int sizes[] = { 2, 1, 3 };
    static const size_t app_of[] = { 0, 0, 1, 2, 2, 2 };
    struct plan p;

    (void)state;
    plan_init(&p);
    for (size_t i = 0; i < 3; i++) {
        struct app *a = plan_add_app(&p);

        assert_non_null(a);
        a->n = sizes[i];
        a->wdir = strdup("/");
        assert_int_equal(strlist_add(&a->argv, "true"), 0);
        assert_int_equal(strlist_add(&a->env.set, "A=1"), 0);
    }
    assert_int_equal(plan_size(&p), 6);
    for (int rank = 0; rank < 6; rank++)
        assert_int_equal(plan_app_of(&p, rank), app_of[rank]);
    plan_drop_app(&p);
    assert_int_equal(plan_size(&p), 3);
    plan_clear(&p);
    assert_null(p.apps);
    assert_int_equal(p.napps, 0);
}

static void test_hosts(void **state)
{
    struct plan p;
    char name[16];

    (void)state;
    plan_init(&p);
    assert_int_equal(plan_slots(&p), 0);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_non_null(plan_add_host(&p, name));
        p.hosts[i].user = strdup("alice");
        p.hosts[i].binding = strdup("core");
        p.hosts[i].coords = strdup("1,2");
    }
    assert_non_null(plan_add_host(&p, NULL));    /* its name is still to come */
    p.hosts[1000].name = strdup("last");
    assert_false(p.hosts[0].local);
    assert_int_equal(plan_slots(&p), 1001);
    assert_string_equal(p.hosts[999].name, "n999");
    p.remote.exec = strdup("srun");
    p.remote.proxy = strdup("/p");
    assert_int_equal(strlist_add(&p.remote.extra, "-4"), 0);
    plan_clear(&p);
    assert_null(p.hosts);
    assert_int_equal(p.nhosts, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strlist),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_hosts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
