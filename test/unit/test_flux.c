/* Tests of mpiexec_lite/flux.c: resource sets become nodes with slots. */
#include "mpiexec_lite/flux.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/buf.h"

#define SET(lite, nodes) "{\"version\": 1, \"execution\": {\"R_lite\": [" lite "], \"nodelist\": [" \
                         nodes "], \"starttime\": 0.0, \"expiration\": 0.0}}\n"
#define RANKS(ranks, cores) "{\"rank\": \"" ranks "\", \"children\": {\"core\": \"" cores "\"}}"
#define BAD "what flux has said is no resource set: "

static const struct { const char *name, *text, *want, *error; } cases[] = {
    { "four alike", SET(RANKS("0-3", "0-7"), "\"fluke[6-9]\""), "fluke6:8 fluke7:8 fluke8:8 fluke9:8",
      NULL },
    { "GPUs beside", SET("{\"rank\": \"0\", \"children\": {\"gpu\": \"0-1\", \"core\": \"0-1\"}}",
                         "\"a\""), "a:2", NULL },
    { "unlike, not in order", SET(RANKS("5", "0,2,4") "," RANKS("2-3", "1"), "\"n[1-2]\", \"m\""),
      "n1:1 n2:1 m:3", NULL },
    { "several on a host", SET(RANKS("0-1", "0-3") "," RANKS("2", "0"), "\"n1,n1\", \"n[2]\""),
      "n1:8 n2:1", NULL },
    { "two brackets and a plain one", SET(RANKS("0-4", "0"), "\"r[1-2]n[1-2],x\""),
      "r1n1:1 r1n2:1 r2n1:1 r2n2:1 x:1", NULL },
    { "nothing", "", NULL, BAD "no JSON" },
    { "no set", "[]", NULL, BAD "no nodelist" },
    { "no ranks", SET("", "\"a\""), NULL, BAD "no R_lite" },
    { "no cores", SET("{\"rank\": \"0\", \"children\": {}}", "\"a\""), NULL, BAD "cores" },
    { "bad ranks", SET(RANKS("3-1", "0"), "\"a\""), NULL, BAD "ranks" },
    { "very many ranks", SET(RANKS("0-2000000000", "0"), "\"a\""), NULL, BAD "ranks" },
    { "more hosts than ranks", SET(RANKS("0", "0"), "\"n[1-2]\""), NULL, BAD "more hosts than ranks" },
    { "fewer hosts", SET(RANKS("0-2", "0"), "\"n[1-2]\""), NULL, BAD "more ranks than hosts" },
    { "a host that is none", SET(RANKS("0", "0"), "\"n;rm\""), NULL, "'n;rm' is not a host name" },
    { "brackets that do not match", SET(RANKS("0", "0"), "\"n[1-\""), NULL,
      "'n[1-' has brackets that do not match" },
    { "no text", SET(RANKS("0", "0"), "7"), NULL, BAD "nodelist" },
};

static void test_sets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf got = BUF_INIT;
        struct err e = { 0 };
        struct hosts h;
        struct plan p;
        int rc;

        print_message("  %s\n", cases[i].name);
        plan_init(&p);
        hosts_init(&h, &p);
        rc = flux_add(&h, cases[i].text, &e);
        assert_string_equal(e.text, cases[i].error ? cases[i].error : "");
        assert_int_equal(rc, cases[i].error ? -1 : 0);
        for (size_t n = 0; n < p.nhosts; n++)
            buf_printf(&got, n ? " %s:%d" : "%s:%d", p.hosts[n].name, p.hosts[n].slots);
        if (cases[i].want)
            assert_string_equal(buf_bytes(&got), cases[i].want);
        buf_clear(&got);
        hosts_clear(&h);
        plan_clear(&p);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_sets) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
