/* Tests of mpiexec_lite/place.c */
#include "mpiexec_lite/place.h"
#include "test/unit/fake_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(a) (sizeof (a) / sizeof *(a))
#define MOST 6               /* hosts, and blocks, of a row */

/* Options are those of the name.  Hosts by their slots; blocks by their ranks and, if not all, their nodes: "02". */
static const struct {
    const char *name;
    int slots[MOST];
    struct { int n; const char *nodes; } blocks[MOST];
    const char *nodes;       /* of the ranks in order */
    const char *map;
} cases[] = {
    { "one rank",            { 1 }, { { 1, "" } }, "0", "(vector,(0,1,1))" },
    { "slots are no limit",  { 2 }, { { 5, "" } }, "00000", "(vector,(0,1,5))" },
    { "fills in order",      { 2, 2 }, { { 3, "" } }, "001",
      "(vector,(0,1,2),(1,1,1))" },
    { "equal nodes are one triple", { 2, 2, 2 }, { { 6, "" } }, "001122",
      "(vector,(0,3,2))" },
    { "begins again",        { 1, 1 }, { { 5, "" } }, "01010",
      "(vector,(0,2,1),(0,2,1),(0,1,1))" },
    { "by whole rounds",     { 2, 1 }, { { 7, "" } }, "0010010",
      "(vector,(0,1,2),(1,1,1),(0,1,2),(1,1,1),(0,1,1))" },
    { "a block goes on",     { 2, 2 }, { { 1, "" }, { 2, "" } }, "001",
      "(vector,(0,1,2),(1,1,1))" },
    { "and on in the second round", { 1, 1 }, { { 3, "" }, { 2, "" } }, "01010",
      "(vector,(0,2,1),(0,2,1),(0,1,1))" },
    { "-host",               { 2, 2, 2 }, { { 3, "2" }, { 3, "" } }, "222001",
      "(vector,(0,1,3),(1,1,2),(2,1,1))" },
    { "-host, in its order", { 1, 1, 1 }, { { 4, "20" } }, "2020",
      "(vector,(0,2,1),(0,2,1))" },
    { "nodes without ranks have no number", { 1, 1, 1 }, { { 2, "1" }, { 1, "2" } }, "112",
      "(vector,(0,1,2),(1,1,1))" },
    { "-host takes what is free", { 2, 2 }, { { 3, "" }, { 2, "01" } }, "00110",
      "(vector,(0,2,2),(0,1,1))" },
    { "full nodes are passed over", { 1, 1 }, { { 3, "0" }, { 3, "" } }, "000111",
      "(vector,(0,2,3))" },
    { "full ones get more at last", { 1, 1 }, { { 2, "0" }, { 3, "" } }, "00110",
      "(vector,(0,2,2),(0,1,1))" },
    { "-map-by node",        { 2, 2, 2 }, { { 5, "" } }, "01201",
      "(vector,(0,3,1),(0,2,1))" },
    { "-map-by node passes over full ones", { 1, 3 }, { { 4, "" } }, "0111",
      "(vector,(0,1,1),(1,1,3))" },
    { "-map-by node, more than slots", { 1, 2 }, { { 5, "" } }, "01101",
      "(vector,(0,1,1),(1,1,2),(0,2,1))" },
    { "-map-by node, -host", { 2, 2, 2 }, { { 3, "20" }, { 3, "" } }, "202011",
      "(vector,(0,2,1),(0,2,1),(2,1,2))" },
    { "-rank-by node",       { 2, 3 }, { { 5, "" } }, "01011",
      "(vector,(0,2,1),(0,1,1),(1,1,2))" },
    { "-rank-by node, block by block", { 2, 2 }, { { 3, "" }, { 1, "" } }, "0101",
      "(vector,(0,2,1),(0,2,1))" },
    { "-map-by node -rank-by slot", { 2, 2 }, { { 3, "" } }, "001",
      "(vector,(0,1,2),(1,1,1))" },
    { "-rank-by slot, more than slots", { 1, 1 }, { { 3, "" } }, "001",
      "(vector,(0,1,2),(1,1,1))" },
};

static void set_nodes(struct app *a, const char *text)
{
    a->nnodes = strlen(text);
    a->nodes = a->nnodes ? calloc(a->nnodes, sizeof *a->nodes) : NULL;
    for (size_t i = 0; i < a->nnodes; i++)
        a->nodes[i] = (size_t)(text[i] - '0');
}

static void make_plan(struct plan *p, size_t row)
{
    plan_init(p);
    p->by_node = strstr(cases[row].name, "-map-by node") != NULL;
    if (strstr(cases[row].name, "-rank-by node"))
        p->numbering = NUMBER_ACROSS_NODES;
    else if (strstr(cases[row].name, "-rank-by slot"))
        p->numbering = NUMBER_NODE_AFTER_NODE;
    for (size_t i = 0; i < MOST && cases[row].slots[i]; i++)
        plan_add_host(p, "h")->slots = cases[row].slots[i];
    for (size_t i = 0; i < MOST && cases[row].blocks[i].n; i++) {
        struct app *a = plan_add_app(p);

        a->n = cases[row].blocks[i].n;
        set_nodes(a, cases[row].blocks[i].nodes);
    }
}

static void check_map(const struct placement *pl, const char *want)
{
    struct buf text = BUF_INIT;

    mapping_format(pl->map, pl->nmap, &text);
    assert_string_equal(buf_bytes(&text), want);
    buf_clear(&text);
}

/* placement_ranks says the same as placement_node. */
static void check_nodes(const struct placement *pl, int nodes)
{
    int total = 0;

    for (int node = 0; node < nodes; node++) {
        int *ranks, n = placement_ranks(pl, node, &ranks);

        assert_true(n >= 0);
        assert_int_equal(n == 0, ranks == NULL);
        for (int i = 0; i < n; i++) {
            assert_int_equal(placement_node(pl, ranks[i]), node);
            assert_true(i == 0 || ranks[i] > ranks[i - 1]);
        }
        total += n;
        free(ranks);
    }
    assert_int_equal(total, pl->size);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct placement pl, again;
        struct err e = { 0 };
        struct plan p;

        print_message("  %s\n", cases[i].name);
        make_plan(&p, i);
        assert_int_equal(place_ranks(&p, NULL, &pl, &e), 0);
        assert_int_equal(pl.size, (int)strlen(cases[i].nodes));
        for (int rank = 0; rank < pl.size; rank++)
            assert_int_equal(placement_node(&pl, rank), cases[i].nodes[rank] - '0');
        check_map(&pl, cases[i].map);
        check_nodes(&pl, (int)p.nhosts);
        for (size_t k = 1; k < pl.nruns; k++)
            assert_int_not_equal(pl.runs[k].node, pl.runs[k - 1].node);
        assert_int_equal(place_runs(pl.runs, pl.nruns, &again, &e), 0);
        assert_memory_equal(again.runs, pl.runs, pl.nruns * sizeof *pl.runs);
        check_map(&again, cases[i].map);
        placement_clear(&again);
        placement_clear(&pl);
        plan_clear(&p);
    }
}

static void test_check(void **state)
{
    struct placement pl;
    struct err e = { 0 };
    struct plan p;

    (void)state;
    plan_init(&p);
    plan_add_host(&p, "a")->slots = 2;
    plan_add_host(&p, "b")->slots = 1;
    plan_add_app(&p)->n = 3;
    assert_int_equal(place_ranks(&p, NULL, &pl, &e), 0);
    assert_int_equal(place_check(&p, &pl, &e), 0);
    placement_clear(&pl);
    p.apps[0].n = 6;
    assert_int_equal(place_ranks(&p, NULL, &pl, &e), 0);
    assert_int_equal(place_check(&p, &pl, &e), -1);
    assert_string_equal(e.text, "a would have 4 processes and has 2 slots; --oversubscribe allows "
                        "that");
    placement_clear(&pl);
    plan_clear(&p);
}

/* 100,000 ranks on 4096 nodes of 16 slots: all full, then a part of a second round. */
static void test_large(void **state)
{
    struct placement pl;
    struct err e = { 0 };
    struct plan p;

    (void)state;
    plan_init(&p);
    for (int i = 0; i < 4096; i++)
        plan_add_host(&p, "h")->slots = 16;
    plan_add_app(&p)->n = 100000;
    assert_int_equal(place_ranks(&p, NULL, &pl, &e), 0);
    assert_int_equal(pl.nruns, 4096 + (100000 - 65536 + 15) / 16);
    for (int rank = 0; rank < 100000; rank++)
        assert_int_equal(placement_node(&pl, rank), rank / 16 % 4096);
    check_map(&pl, "(vector,(0,4096,16),(0,2154,16))");
    placement_clear(&pl);
    plan_clear(&p);
}

/* Hosts that have ranks of another job: what is free is filled first. */
static const struct {
    const char *name;
    int slots[MOST];
    long used[MOST];
    int n;
    const char *on;          /* -host: these nodes */
    const char *nodes;
} used_cases[] = {
    { "nothing is used",           { 2, 2 }, { 0, 0 }, 3, "", "001" },
    { "one slot is",               { 2, 2 }, { 1, 0 }, 3, "", "011" },
    { "all of the first",          { 2, 2 }, { 2, 0 }, 3, "", "110" },
    { "all of the second",         { 2, 2 }, { 0, 2 }, 3, "", "000" },
    { "all: another round",        { 2, 2 }, { 2, 2 }, 3, "", "001" },
    { "more than there are slots", { 1, 1, 1 }, { 3, 1, 0 }, 4, "", "2121" },
    { "-host: the free one first", { 2, 2, 2 }, { 0, 2, 1 }, 3, "12", "211" },
    { "-host: all are full",       { 1, 1, 1 }, { 0, 1, 2 }, 3, "21", "121" },
};

static void test_used(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(used_cases); i++) {
        struct placement pl;
        struct err e = { 0 };
        struct plan p;
        struct app *a;

        print_message("  %s\n", used_cases[i].name);
        plan_init(&p);
        for (size_t k = 0; k < MOST && used_cases[i].slots[k]; k++)
            plan_add_host(&p, "h")->slots = used_cases[i].slots[k];
        a = plan_add_app(&p);
        a->n = used_cases[i].n;
        set_nodes(a, used_cases[i].on);
        assert_int_equal(place_ranks(&p, used_cases[i].used, &pl, &e), 0);
        assert_int_equal(pl.size, (int)strlen(used_cases[i].nodes));
        for (int rank = 0; rank < pl.size; rank++)
            assert_int_equal(placement_node(&pl, rank), used_cases[i].nodes[rank] - '0');
        placement_clear(&pl);
        plan_clear(&p);
    }
}

/* As many blocks as ranks cost no more than the ranks. */
static void test_many_blocks(void **state)
{
    struct placement pl;
    struct err e = { 0 };
    struct plan p;

    (void)state;
    plan_init(&p);
    for (int i = 0; i < 4096; i++)
        assert_non_null(plan_add_host(&p, "h"));
    for (int i = 0; i < 20000; i++)
        plan_add_app(&p)->n = 1;
    assert_int_equal(place_ranks(&p, NULL, &pl, &e), 0);
    assert_int_equal(placement_node(&pl, 19999), 19999 % 4096);
    placement_clear(&pl);
    plan_clear(&p);
}

static void test_bad_runs(void **state)
{
    static const struct run zero[] = { { 0, 1, 0 }, { 1, 0, 0 } };
    static const struct run huge[] = { { 0, INT32_MAX, 0 }, { 1, 1, 0 } };
    struct placement pl;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(place_runs(zero, 2, &pl, &e), -1);
    assert_string_equal(e.text, "0 ranks after 1 cannot be placed");
    assert_int_equal(place_runs(huge, 2, &pl, &e), -1);
    assert_string_equal(e.text, "1 ranks after 2147483647 cannot be placed");
    assert_null(pl.runs);
}

static void test_memory(void **state)
{
    struct placement pl;
    struct err e;
    struct plan p;
    long n = 0, before;
    int rc;

    (void)state;
    memory_begin();
    make_plan(&p, 4);
    p.apps[0].n = 100;
    do {
        before = memory_live;
        memory_after(n++);
        rc = place_ranks(&p, NULL, &pl, &e);
        assert_true(memory_hit || rc == 0);      /* qsort can do without, too */
        memory_end();
        placement_clear(&pl);
        assert_int_equal(memory_live, before);
    } while (memory_hit);
    assert_true(n > 3);
    plan_clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_check),
        cmocka_unit_test(test_used),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_many_blocks),
        cmocka_unit_test(test_bad_runs),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
