/* Tests of mpiexec_lite/node_runs.c and mpiexec_lite/said.c */
#include "mpiexec_lite/node_runs.h"
#include "mpiexec_lite/said.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

static void test_nodes(void **state)
{
    static const struct run runs[] = { { .node = 2, .n = 3 }, { .node = 0, .n = 1 },
                                       { .node = 2, .n = 2 }, { .node = 0, .n = 4 } };
    static const struct { long n; const char *text; } want[] = {
        { 5, "3,6-9" }, { 0, "" }, { 5, "0-2,4-5" }, { 0, "" },
    };
    struct node_runs by_node = { 0 };
    struct placement place;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(place_runs(runs, N_OF(runs), &place, &e), 0);
    assert_int_equal(node_runs_init(&by_node, &place, N_OF(want)), 0);
    for (size_t i = 0; i < N_OF(want); i++) {
        struct buf text = BUF_INIT;

        print_message("  node %zu\n", i);
        node_ranks_print(&by_node, &place, i, &text);
        buf_char(&text, '\0');
        assert_int_equal(node_ranks(&by_node, &place, i), want[i].n);
        assert_string_equal(buf_bytes(&text), want[i].text);
        buf_clear(&text);
    }
    node_runs_clear(&by_node);
    placement_clear(&place);
}

static void assert_said(const struct setting *x, const char *want)
{
    struct buf text = BUF_INIT;

    said_print(x, &text);
    assert_string_equal(buf_bytes(&text), want);
    buf_clear(&text);
}

/* A block's own beats the job's, the command line a file, and else the later one. */
static void test_who_counts(void **state)
{
    static char file[] = "f:1", typed[] = "command line", later[] = "f:9", name[] = "A",
                variable[] = "variable HYDRA_ENV";
    static const struct setting all[] = {
        { .key = "n", .option = "n", .source = typed, .app = 0 },
        { .key = "n", .option = "np", .source = file, .app = 1, .in_file = true },
        { .key = "genvall", .source = variable, .app = SAID_OF_JOB },
        { .option = "genv", .variable = name, .source = typed, .app = SAID_OF_JOB },
        { .option = "genv", .variable = name, .source = file, .app = SAID_OF_JOB, .in_file = true },
        { .option = "env", .variable = name, .source = file, .app = 1, .in_file = true },
        { .option = "env", .variable = name, .source = later, .app = 1, .in_file = true },
    };
    struct said s = { 0 };

    (void)state;
    for (size_t i = 0; i < N_OF(all); i++)
        assert_int_equal(said_add(&s, &all[i]), 0);
    assert_said(said_of(&s, "n", 0), "-n, command line");
    assert_said(said_of(&s, "n", 1), "-np, f:1");
    assert_said(said_of(&s, "n", 2), "default");
    assert_said(said_of(&s, "genvall", 1), "variable HYDRA_ENV");
    assert_said(said_of_variable(&s, "A", 1, 0), "-genv, command line");
    assert_said(said_of_variable(&s, "A", 1, 1), "-env, f:9");
    assert_null(said_of_variable(&s, "AB", 2, 1));
    said_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes), cmocka_unit_test(test_who_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
