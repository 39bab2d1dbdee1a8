/* test_spawned_map.c - mpiexec_lite/spawned_map: ranks by slot, by node, so many on each. */
#include "mpiexec_lite/spawned_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HOSTS = 4 };

static void set(struct spawned_info *in, enum spawned_key key, const char *text)
{
    if (!text)
        return;
    buf_str(&in->value[key], text);
    buf_char(&in->value[key], '\0');
}

static int read_words(struct app *a, const char *map, const char *rank, struct err *e)
{
    struct spawned_info in = { 0 };
    int rc;

    set(&in, SPAWNED_MAP, map);
    set(&in, SPAWNED_RANK, rank);
    rc = spawned_map_read(a, &in, e);
    spawned_info_clear(&in);
    return rc;
}

static void test_words(void **state)
{
    static const struct { const char *map, *rank, *error; } rows[] = {
        { "slot", "slot", NULL }, { "node", "slot", NULL }, { "ppr:12:node", "node", NULL },
        { "core", NULL, "map: slot, node or ppr:N:node wanted, not 'core'" },
        { "ppr:2:core", NULL, "map: ppr:N:node wanted, not 'ppr:2:core'" },
        { "ppr::node", NULL, "map: ppr:N:node wanted, not 'ppr::node'" },
        { "ppr:-1:node", NULL, "map: ppr:N:node wanted, not 'ppr:-1:node'" },
        { "ppr:1234567890:node", NULL, "map: ppr:N:node wanted, not 'ppr:1234567890:node'" },
        { "ppr:0:node", NULL, "map" },
        { NULL, "node", "rank: node needs a map by node" },
        { "node", "core", "rank: slot or node wanted, not 'core'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct app a = { .n = 1 };
        struct err e = { 0 };
        const char *error = rows[i].error;

        print_message("  %s, %s\n", rows[i].map ? rows[i].map : "-",
                      rows[i].rank ? rows[i].rank : "-");
        assert_int_equal(read_words(&a, rows[i].map, rows[i].rank, &e), error ? -1 : 0);
        assert_true(!error || !strncmp(e.text, error, strlen(error)));
    }
}

/* The node of each rank, as letters; or the error. */
static void test_places(void **state)
{
    static const struct {
        const char *name;
        int slots, n;
        const char *map, *rank, *want;
    } rows[] = {
        { "slots",                         2, 5, "slot",       NULL,   "aabbc" },
        { "one on each in turn",           2, 6, "node",       NULL,   "abcdab" },
        { "the same, counted on each",     2, 6, "node",       "slot", "aabbcd" },
        { "so many on each",               1, 5, "ppr:2:node", NULL,   "aabbc" },
        { "the same, counted along them",  1, 5, "ppr:2:node", "node", "abcab" },
        { "just all of them",              1, 8, "ppr:2:node", NULL,   "aabbccdd" },
        { "one too many",                  1, 9, "ppr:2:node", NULL,
          "9 processes of ./p do not fit: 2 on each of 4 hosts" },
        { "fewer than hosts",              1, 2, "node",       "slot", "ab" },
        { "more on one than there are",    1, 3, "ppr:100000:node", NULL, "aaa" },
    };
    char word[] = "./p", *argv[] = { word, NULL };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct app a = { .n = rows[i].n, .argv = { .v = argv, .n = 1 } };
        struct host hosts[HOSTS];
        struct plan p = { .apps = &a, .napps = 1, .hosts = hosts, .nhosts = HOSTS };
        struct placement pl = { 0 };
        struct err e = { 0 };
        char got[sizeof e.text] = "";

        print_message("  %s\n", rows[i].name);
        for (int h = 0; h < HOSTS; h++)
            hosts[h] = (struct host){ .slots = rows[i].slots };
        assert_int_equal(read_words(&a, rows[i].map, rows[i].rank, &e), 0);
        if (spawned_map_place(&p, NULL, &pl, &e) < 0)
            snprintf(got, sizeof got, "%s", e.text);
        for (int r = 0; r < pl.size; r++)
            got[r] = (char)('a' + placement_node(&pl, r));
        assert_string_equal(got, rows[i].want);
        placement_clear(&pl);
    }
}

/* One that says nothing fills what others have left. */
static void test_beside_others(void **state)
{
    char word[] = "./p", *argv[] = { word, NULL };
    struct app apps[] = { { .n = 3, .argv = { .v = argv, .n = 1 } },
                          { .n = 4, .argv = { .v = argv, .n = 1 } } };
    struct host hosts[] = { { .slots = 2 }, { .slots = 2 }, { .slots = 2 } };
    struct plan p = { .apps = apps, .napps = 2, .hosts = hosts, .nhosts = 3 };
    static const long used[] = { 1, 0, 0 };
    struct placement pl;
    struct err e = { 0 };
    char got[8] = "";

    (void)state;
    assert_int_equal(read_words(&apps[0], "node", NULL, &e), 0);
    assert_int_equal(spawned_map_place(&p, used, &pl, &e), 0);
    assert_int_equal(pl.size, 7);
    for (int r = 0; r < 7; r++)
        got[r] = (char)('a' + placement_node(&pl, r));
    assert_string_equal(got, "abcbcaa");
    placement_clear(&pl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words), cmocka_unit_test(test_places),
        cmocka_unit_test(test_beside_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
