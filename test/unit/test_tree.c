/* test_tree.c - mpiexec_lite/tree: who starts whom, and where nodes are in it. */
#include "mpiexec_lite/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

/* --- shapes ------------------------------------------------------------ */

static const struct { int width, n, p, first, children, parent; } shapes[] = {
    { 0, 1, 0, 1, 0, -1 },
    { 0, 2, 0, 1, 1, -1 }, { 0, 2, 1, 2, 0, 0 },
    { 0, 5000, 0, 1, 4999, -1 }, { 0, 5000, 4999, 5000, 0, 0 }, { 0, 5000, 17, 1, 0, 0 },
    { 1, 4, 0, 1, 1, -1 }, { 1, 4, 2, 3, 1, 1 }, { 1, 4, 3, 4, 0, 2 },
    { 2, 1, 0, 1, 0, -1 },
    { 2, 7, 0, 1, 2, -1 }, { 2, 7, 1, 3, 2, 0 }, { 2, 7, 2, 5, 2, 0 }, { 2, 7, 3, 7, 0, 1 },
    { 2, 6, 2, 5, 1, 0 }, { 2, 5, 2, 5, 0, 0 },
    { 32, 33, 0, 1, 32, -1 }, { 32, 34, 1, 33, 1, 0 }, { 32, 34, 2, 34, 0, 0 },
    { 32, 5000, 0, 1, 32, -1 }, { 32, 5000, 1, 33, 32, 0 }, { 32, 5000, 156, 4993, 7, 4 },
    { 32, 5000, 157, 5000, 0, 4 },
    { 1000000, 1000001, 0, 1, 1000000, -1 }, { 1000000, 1000001, 999999, 1000001, 0, 0 },
};

static void test_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(shapes); i++) {
        struct tree t = { shapes[i].width, shapes[i].n };
        int first = -1, n = tree_children(&t, shapes[i].p, &first);

        print_message("  width %d, %d: %d\n", t.width, t.n, shapes[i].p);
        assert_int_equal(n, shapes[i].children);
        if (n)
            assert_int_equal(first, shapes[i].first);
        assert_int_equal(tree_parent(&t, shapes[i].p), shapes[i].parent);
    }
}

/* Each position but the root is the child of exactly one, that is its parent; children
 * come behind it. */
static void check_tree(int width, int n)
{
    struct tree t = { width, n };
    int seen = 1;

    for (int p = 0; p < n; p++) {
        int first, k = tree_children(&t, p, &first);

        assert_true(k >= 0 && (!width || k <= width));
        for (int c = first; c < first + k; c++) {
            assert_true(c > p && c < n);
            assert_int_equal(tree_parent(&t, c), p);
        }
        if (k)
            assert_int_equal(first, seen);   /* in order, without a gap */
        seen += k;
    }
    assert_int_equal(seen, n);
}

static void test_consistent(void **state)
{
    static const int widths[] = { 0, 1, 2, 3, 31, 32, 33, 4999, 5000 };

    (void)state;
    for (size_t i = 0; i < N_OF(widths); i++) {
        for (int n = 1; n < 200; n++)
            check_tree(widths[i], n);
        check_tree(widths[i], 4999);
        check_tree(widths[i], 5000);
    }
}

/* Whether q is below p, by its parents. */
static int next_by_parents(const struct tree *t, int p, int q)
{
    for (int at = q; at >= 0; at = tree_parent(t, at))
        if (tree_parent(t, at) == p)
            return at;
    return -1;
}

static void test_next(void **state)
{
    static const int widths[] = { 0, 1, 2, 32 };

    (void)state;
    for (size_t i = 0; i < N_OF(widths); i++) {
        struct tree t = { widths[i], 150 };

        for (int p = 0; p < t.n; p++)
            for (int q = 0; q < t.n; q++)
                assert_int_equal(tree_next(&t, p, q), next_by_parents(&t, p, q));
    }
}

/* --- nodes ------------------------------------------------------------- */

/* Hosts as a text: 'L' the launcher's own, '.' another. */
static const struct {
    const char *hosts;
    int         position[8];             /* of each */
} lists[] = {
    { "L", { 0 } }, { ".", { 1 } }, { "L.", { 0, 1 } }, { ".L", { 1, 0 } },
    { "..", { 1, 2 } }, { ".L.", { 1, 0, 2 } }, { "L...", { 0, 1, 2, 3 } },
    { "...L", { 1, 2, 3, 0 } }, { ".L.L.", { 1, 0, 2, 0, 3 } }, { "LL", { 0, 0 } },
    { "LL..", { 0, 0, 1, 2 } },
};

static void add_hosts(struct plan *p, const char *hosts)
{
    plan_init(p);
    for (; *hosts; hosts++) {
        struct host *h = plan_add_host(p, "x");

        assert_non_null(h);
        h->local = *hosts == 'L';
    }
}

static void test_positions(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(lists); i++) {
        struct plan p;
        int others = 0;

        print_message("  %s\n", lists[i].hosts);
        add_hosts(&p, lists[i].hosts);
        for (int n = 0; lists[i].hosts[n]; n++) {
            others += lists[i].hosts[n] == '.';
            assert_int_equal(tree_position(&p, n), lists[i].position[n]);
            if (lists[i].position[n])
                assert_int_equal(tree_node(&p, lists[i].position[n]), n);
        }
        assert_int_equal(tree_positions(&p), others + 1);
        assert_int_equal(tree_node(&p, others + 1), -1);
        plan_clear(&p);
    }
}

static const struct {
    const char *name;
    int         others, width, flat;
    bool        going;
    enum launcher launcher;
    int         want;
} widths_of[] = {
    { "few hosts: flat", 64, 32, 64, false, LAUNCHER_SSH, 0 },
    { "one more: a tree", 65, 32, 64, false, LAUNCHER_SSH, 32 },
    { "alone", 0, 32, 0, false, LAUNCHER_SSH, 0 },
    { "width 0 is flat", 1000, 0, 64, false, LAUNCHER_SSH, 0 },
    { "as wide as all", 100, 100, 64, false, LAUNCHER_SSH, 0 },
    { "nearly as wide", 100, 99, 64, false, LAUNCHER_SSH, 99 },
    { "to survive a node: flat", 1000, 32, 64, true, LAUNCHER_SSH, 0 },
    { "a tree for two", 2, 1, 0, false, LAUNCHER_SSH, 1 },
    { "a tree by fork", 3, 2, 0, false, LAUNCHER_FORK, 2 },
    { "who calls back calls the root", 1000, 32, 64, false, LAUNCHER_TCP, 0 },
    { "also by hand", 1000, 32, 64, false, LAUNCHER_MANUAL, 0 },
};

static void test_width(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(widths_of); i++) {
        char hosts[1200] = "L";
        struct plan p;

        print_message("  %s\n", widths_of[i].name);
        memset(hosts + 1, '.', (size_t)widths_of[i].others);
        add_hosts(&p, hosts);
        p.remote.tree_width = widths_of[i].width;
        p.remote.flat_hosts = widths_of[i].flat;
        p.remote.launcher = widths_of[i].launcher;
        p.keep_going = widths_of[i].going;
        assert_int_equal(tree_width(&p), widths_of[i].want);
        plan_clear(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes), cmocka_unit_test(test_consistent),
        cmocka_unit_test(test_next), cmocka_unit_test(test_positions),
        cmocka_unit_test(test_width),
    };

    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
