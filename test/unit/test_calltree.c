/* test_calltree.c - pmix_ext/calltree: stacks of many ranks as one tree. */
#include "pmix_ext/calltree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add(struct calltree *t, int rank, const char *text)
{
    calltree_add(t, rank, text, strlen(text));
}

static void expect(struct calltree *t, const char *want)
{
    struct buf out = BUF_INIT;

    buf_str(&out, "");
    calltree_sort(t);
    calltree_text(t, &out);
    assert_string_equal(buf_bytes(&out), want);
    assert_false(t->failed);
    buf_clear(&out);
    calltree_clear(t);
}

static void test_one_elsewhere(void **state)
{
    struct calltree t;

    (void)state;
    assert_int_equal(calltree_init(&t, 8, true), 0);
    for (int i = 7; i >= 0; i--)         /* in any order */
        add(&t, i, i == 3 ? "main at a.c:9\nwork at a.c:2\n" : "main at a.c:9\nfence\nread\n");
    expect(&t, "main at a.c:9  8: ranks 0-7\n"
               "  fence  7: ranks 0-2,4-7\n"
               "    read  7: ranks 0-2,4-7\n"
               "  work at a.c:2  1: rank 3\n");
}

static void test_threads_and_samples(void **state)
{
    struct calltree t;

    (void)state;
    assert_int_equal(calltree_init(&t, 2, true), 0);
    add(&t, 0, "main\na\n\nclone\nrun\n");
    add(&t, 0, "main\nb\n");             /* later */
    add(&t, 0, "main\nb\n");
    add(&t, 1, "main");
    expect(&t, "main  2: ranks 0-1\n  a  1: rank 0\n  b  1: rank 0\nclone  1: rank 0\n"
               "  run  1: rank 0\n");
}

static void test_functions_only(void **state)
{
    struct calltree t;

    (void)state;
    assert_int_equal(calltree_init(&t, 2, false), 0);
    add(&t, 0, "main at a.c:1\nf at a.c:2\n");
    add(&t, 1, "main at a.c:1\nf at a.c:3\n");
    expect(&t, "main  2: ranks 0-1\n  f  2: ranks 0-1\n");
}

/* Ranks that are none, nothing at all, lines without end, bytes for a terminal. */
static void test_strange(void **state)
{
    static const char bell[] = "ma\ain";
    struct calltree t;

    (void)state;
    assert_int_equal(calltree_init(&t, 3, true), 0);
    add(&t, -1, "main\n");
    add(&t, 3, "main\n");
    add(&t, 0, "");
    add(&t, 1, "\n\n\n");
    calltree_add(&t, 2, bell, sizeof bell - 1);
    assert_int_equal(t.root.count, 3);
    expect(&t, "ma\\x07in  1: rank 2\n");
}

/* A stack that never ends takes no more memory, and no more of ours, than a deep one. */
static void test_deep(void **state)
{
    enum { LINES = 100000 };
    char *text = malloc(2 * LINES);
    struct calltree t;
    int depth = 0;

    (void)state;
    for (int i = 0; i < LINES; i++)
        memcpy(text + 2 * i, "f\n", 2);
    assert_int_equal(calltree_init(&t, 1, true), 0);
    calltree_add(&t, 0, text, 2 * LINES);
    for (const struct call *c = &t.root; c->n; c = c->below[0])
        depth++;
    assert_int_equal(depth, 256);
    calltree_clear(&t);
    free(text);
}

static void test_dot(void **state)
{
    struct buf out = BUF_INIT;
    struct calltree t;

    (void)state;
    assert_int_equal(calltree_init(&t, 3, true), 0);
    add(&t, 0, "main\noperator \"\"\\n\n");
    add(&t, 2, "main\n");
    calltree_dot(&t, "job", &out);
    assert_string_equal(buf_bytes(&out),
        "digraph stacks {\n  node [shape=box, fontname=\"monospace\"];\n  n0 [label=\"job\"];\n"
        "  n1 [label=\"main\"];\n  n0 -> n1 [label=\"2:[0,2]\"];\n"
        "  n2 [label=\"operator \\\"\\\"\\\\n\"];\n  n1 -> n2 [label=\"1:[0]\"];\n}\n");
    buf_clear(&out);
    calltree_clear(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_elsewhere), cmocka_unit_test(test_threads_and_samples),
        cmocka_unit_test(test_functions_only), cmocka_unit_test(test_strange),
        cmocka_unit_test(test_deep), cmocka_unit_test(test_dot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
