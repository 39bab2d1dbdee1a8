/* Tests of mpiexec_lite/rankmap.c, and of its use in place.c */
#include "mpiexec_lite/place.h"
#include "mpiexec_lite/rankmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

/* Of three nodes.  want: the node of each of seven ranks. */
static const struct { const char *name, *text, *want, *error; } maps[] = {
    { "a list",             "0,1,2,0,1,2,2", "0120122", "" },
    { "it begins anew",     "1,1,0",         "1101101", "" },
    { "one node",           "2",             "2222222", "" },
    { "a block",            "(0,3,1)",       "0120120", "" },
    { "a block of several", "(1,2,2)",       "1122112", "" },
    { "blocks",             "(2,1,3),(0,2,2)", "2220011", "" },
    { "(vector,...)",       "(vector,(0,1,5),(1,2,1))", "0000012", "" },
    { "(VECTOR,...)",       "(Vector,(0,1,5),(1,2,1))", "0000012", "" },
    { "no such node",       "0,3",   NULL, "-rankmap: there is no host number 3, the last one is 2" },
    { "nor in a block",     "(2,2,1)", NULL, "-rankmap: there is no host number 3, the last one is 2" },
    { "nonsense",           "a,b",   NULL,
      "-rankmap: 'a,b' is neither NODE,NODE... nor (FIRST,NODES,RANKS),..." },
    { "an end missing",     "1,",    NULL,
      "-rankmap: '1,' is neither NODE,NODE... nor (FIRST,NODES,RANKS),..." },
    { "negative",           "-1",    NULL,
      "-rankmap: '-1' is neither NODE,NODE... nor (FIRST,NODES,RANKS),..." },
    { "empty vector",       "(vector,)", NULL,
      "-rankmap: '(vector,)' is neither NODE,NODE... nor (FIRST,NODES,RANKS),..." },
    { "half a block",       "(0,1)", NULL,
      "-rankmap: '(0,1)' is neither NODE,NODE... nor (FIRST,NODES,RANKS),..." },
    { "a block of none",    "(0,0,1)", NULL,
      "-rankmap: '(0,0,1)' is neither NODE,NODE... nor (FIRST,NODES,RANKS),..." },
    { "not closed",         "(vector,(0,1,1)", NULL,
      "-rankmap: '(vector,(0,1,1)' is neither NODE,NODE... nor (FIRST,NODES,RANKS),..." },
};

static void test_maps(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(maps); i++) {
        struct placement place;
        struct plan p;
        struct err e = { 0 };
        int rc;

        print_message("  %s\n", maps[i].name);
        plan_init(&p);
        for (int n = 0; n < 3; n++)
            assert_non_null(plan_add_host(&p, "h"));
        plan_add_app(&p)->n = 4;
        plan_add_app(&p)->n = 3;
        p.rankmap = strdup(maps[i].text);
        rc = place_ranks(&p, NULL, &place, &e);
        assert_string_equal(e.text, maps[i].error);
        assert_int_equal(rc, maps[i].want ? 0 : -1);
        for (int r = 0; maps[i].want && r < 7; r++)
            assert_int_equal(placement_node(&place, r), maps[i].want[r] - '0');
        placement_clear(&place);
        plan_clear(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_maps) };

    return cmocka_run_group_tests_name("rankmap", tests, NULL, NULL);
}
