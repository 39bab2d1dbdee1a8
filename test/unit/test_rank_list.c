/* Tests of wire/rank_list.c, mpiexec_lite/hold.c and pmix_ext/hold_text.c */
#include "mpiexec_lite/hold.h"
#include "pmix_ext/hold_text.h"
#include "pmix_ext/pmix_ext_keys.h"
#include "wire/rank_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

/* has: a digit for each of the ranks 0 to 5. */
static const struct { const char *list, *has; int size; bool wrong; } lists[] = {
    { "0", "100000", 1, false }, { "0,3-5", "100111", 6, false }, { "5,0", "100001", 6, false },
    { "2-2", "001000", 3, false }, { "all", "111111", 3, false }, { "*", "111111", 3, false },
    { "0-1,1-2", "111000", 3, false }, { "00,01", "110000", 2, false },
    { "3", "000100", 3, true }, { "0-3", "111100", 3, true }, { "0,9", "100000", 9, true },
    { "2147483647", "000000", 0, false },
    { "", "", 0, true }, { ",", "", 0, true }, { "1,", "", 0, true }, { "-1", "", 0, true },
    { "3-1", "", 0, true }, { "1-", "", 0, true }, { "x", "", 0, true }, { "1 ", "", 0, true },
    { "1;2", "", 0, true }, { "2147483648", "", 0, true }, { "99999999999999999999", "", 0, true },
    { "all,1", "", 0, true }, { "1,all", "", 0, true },
};

static void test_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(lists); i++) {
        struct err e = { 0 };

        print_message("  '%s' of %d\n", lists[i].list, lists[i].size);
        assert_int_equal(rank_list_check(lists[i].list, lists[i].size, &e), lists[i].wrong ? -1 : 0);
        assert_int_equal(e.code, lists[i].wrong ? ERR_INVALID_VAL : 0);
        for (size_t rank = 0; rank < strlen(lists[i].has); rank++)
            assert_int_equal(rank_list_has(lists[i].list, (int)rank), lists[i].has[rank] == '1');
    }
    assert_true(rank_list_has(NULL, 7));
}

static const struct { const char *text; enum hold where; const char *ranks; } places[] = {
    { "exec", HOLD_EXEC, NULL }, { "init", HOLD_INIT, NULL }, { "app", HOLD_APP, NULL },
    { "init:0,3-5", HOLD_INIT, "0,3-5" }, { "exec:all", HOLD_EXEC, "all" },
    { "", HOLD_NONE, NULL }, { "exe", HOLD_NONE, NULL }, { "execs", HOLD_NONE, NULL },
    { "exec:", HOLD_NONE, NULL }, { "exec:x", HOLD_NONE, NULL }, { ":1", HOLD_NONE, NULL },
    { "EXEC", HOLD_NONE, NULL },
};

static void test_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(places); i++) {
        struct plan p = { .hold = HOLD_NONE };
        struct err e = { 0 };

        print_message("  '%s'\n", places[i].text);
        assert_int_equal(hold_read(&p, places[i].text, &e), places[i].where ? 0 : -1);
        assert_int_equal(p.hold, places[i].where);
        if (places[i].ranks)
            assert_string_equal(p.hold_ranks, places[i].ranks);
        else
            assert_null(p.hold_ranks);
        hold_drop(&p);
        assert_int_equal(p.hold, HOLD_NONE);
        assert_null(p.hold_ranks);
    }
}

static void test_who(void **state)
{
    struct plan p = { .hold = HOLD_NONE };
    struct err e = { 0 };

    (void)state;
    assert_int_equal(hold_count(&p, 4), 0);
    assert_false(hold_has(&p, HOLD_NONE, 0));
    assert_int_equal(hold_read(&p, "init:1-2,5", &e), 0);
    assert_int_equal(hold_count(&p, 4), 2);
    assert_true(hold_has(&p, HOLD_INIT, 2));
    assert_false(hold_has(&p, HOLD_INIT, 3));
    assert_false(hold_has(&p, HOLD_EXEC, 2));
    assert_int_equal(hold_read(&p, "exec", &e), 0);      /* the last one holds, all of it */
    assert_int_equal(hold_count(&p, 4), 4);
    hold_drop(&p);
}

static void check_text(const pmix_value_t *v, const char *want)
{
    struct buf out = BUF_INIT;

    assert_int_equal(hold_text("exec", v, &out), want != NULL);
    if (want)
        assert_string_equal(out.len ? buf_bytes(&out) : "", want);
    buf_clear(&out);
}

static void test_texts(void **state)
{
    pmix_rank_t ranks[] = { 0, 3 }, bad[] = { 0, PMIX_RANK_WILDCARD };
    pmix_proc_t procs[] = { { .rank = 2 }, { .rank = 1 } };
    pmix_data_array_t a = { PMIX_PROC_RANK, 2, ranks }, b = { PMIX_PROC, 2, procs },
                      c = { PMIX_PROC_RANK, 2, bad }, d = { PMIX_INT, 2, ranks },
                      none = { PMIX_PROC_RANK, 0, NULL };

    (void)state;
    assert_string_equal(hold_place_of(PMIX_DEBUG_STOP_IN_INIT), "init");
    assert_null(hold_place_of(PMIX_DEBUG_TARGET));
    assert_string_equal(hold_key_of("app:1", 3), PMIX_DEBUG_STOP_IN_APP);
    assert_null(hold_key_of("ap", 2));
    check_text(&(pmix_value_t){ .type = PMIX_UNDEF }, "exec");
    check_text(&(pmix_value_t){ .type = PMIX_BOOL, .data.flag = true }, "exec");
    check_text(&(pmix_value_t){ .type = PMIX_BOOL }, "");
    check_text(&(pmix_value_t){ .type = PMIX_PROC_RANK, .data.rank = 7 }, "exec:7");
    check_text(&(pmix_value_t){ .type = PMIX_PROC_RANK, .data.rank = PMIX_RANK_WILDCARD }, "exec");
    check_text(&(pmix_value_t){ .type = PMIX_PROC_RANK, .data.rank = PMIX_RANK_UNDEF }, NULL);
    check_text(&(pmix_value_t){ .type = PMIX_PROC, .data.proc = procs }, "exec:2");
    check_text(&(pmix_value_t){ .type = PMIX_PROC }, NULL);
    check_text(&(pmix_value_t){ .type = PMIX_DATA_ARRAY, .data.darray = &a }, "exec:0,3");
    check_text(&(pmix_value_t){ .type = PMIX_DATA_ARRAY, .data.darray = &b }, "exec:2,1");
    check_text(&(pmix_value_t){ .type = PMIX_DATA_ARRAY, .data.darray = &c }, NULL);
    check_text(&(pmix_value_t){ .type = PMIX_DATA_ARRAY, .data.darray = &d }, NULL);
    check_text(&(pmix_value_t){ .type = PMIX_DATA_ARRAY, .data.darray = &none }, NULL);
    check_text(&(pmix_value_t){ .type = PMIX_DATA_ARRAY }, NULL);
    check_text(&(pmix_value_t){ .type = PMIX_INT }, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists), cmocka_unit_test(test_places), cmocka_unit_test(test_who),
        cmocka_unit_test(test_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
