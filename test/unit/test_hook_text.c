/* Tests of mpiexec_lite/hook_text.c */
#include "mpiexec_lite/hook_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void line_is(struct buf *out, int rc, const char *want)
{
    assert_int_equal(rc, 0);
    assert_string_equal(buf_bytes(out), want);
    buf_clear(out);
}

/* Two hosts and three ranks, of which the last is on the first host again. */
static void make_job(struct plan *p, struct placement *place)
{
    struct run runs[] = { { .node = 0, .n = 1 }, { .node = 1, .n = 2 }, { .node = 0, .n = 1 } };
    struct err e;

    plan_init(p);
    plan_add_host(p, "a\"");
    plan_add_host(p, "b");
    plan_add_app(p)->n = 4;
    assert_int_equal(place_runs(runs, 3, place, &e), 0);
}

static void test_questions(void **state)
{
    struct buf out = BUF_INIT;
    struct placement place = { 0 };
    struct setup setup = { 0 };
    struct plan plan;
    struct hook_job job = { .id = "j", .spawner = "s", .plan = &plan, .place = &place };
    char want[400];

    (void)state;
    make_job(&plan, &place);
    line_is(&out, hook_ask_describe(&out), "{\"hook\":\"describe\",\"version\":1}\n");
    snprintf(want, sizeof want, "{\"hook\":\"setup-local\",\"job\":\"j\",\"spawner\":\"s\","
             "\"uid\":%u,\"size\":4,\"nodes\":[{\"name\":\"a\\\"\",\"ranks\":\"0,3\"},"
             "{\"name\":\"b\",\"ranks\":\"1-2\"}],\"node\":1,\"ranks\":\"1-2\",\"infos\":[]}\n",
             (unsigned)geteuid());
    line_is(&out, hook_ask_local(&out, &job, 1, &setup), want);
    for (int own = 0; own < 2; own++) {
        job.directives = own ? "[{\"key\":\"k\"}]" : NULL;
        snprintf(want, sizeof want, "{\"hook\":\"setup-application\",\"job\":\"j\","
                 "\"spawner\":\"s\",\"uid\":%u,\"size\":4,\"nodes\":[{\"name\":\"a\\\"\","
                 "\"ranks\":\"0,3\"},{\"name\":\"b\",\"ranks\":\"1-2\"}],\"directives\":[%s]}\n",
                 (unsigned)geteuid(), own ? "{\"key\":\"k\"}" : "{\"key\":\"pmix.setup.all\","
                 "\"type\":\"PMIX_BOOL\",\"value\":true}");
        line_is(&out, hook_ask_application(&out, &job), want);
    }
    line_is(&out, hook_ask_child(&out, 3, 1),
            "{\"hook\":\"setup-child\",\"rank\":3,\"local_rank\":1}\n");
    line_is(&out, hook_ask_child_finished(&out, 3, true, 9),
            "{\"hook\":\"child-finished\",\"rank\":3,\"signal\":9}\n");
    line_is(&out, hook_ask_child_finished(&out, 3, true, 7 << 8),
            "{\"hook\":\"child-finished\",\"rank\":3,\"status\":7}\n");
    line_is(&out, hook_ask_child_finished(&out, 3, false, 0),
            "{\"hook\":\"child-finished\",\"rank\":3}\n");
    line_is(&out, hook_ask_local_finished(&out), "{\"hook\":\"local-finished\"}\n");
    placement_clear(&place);
    plan_clear(&plan);
}

static const struct { const char *line; enum hook to; const char *error; } cases[] = {
    { "{}", HOOK_LOCAL, NULL },
    { "{\"error\":\"no\"}", HOOK_CHILD_FINISHED, NULL },
    { "{\"infos\":[]}", HOOK_APPLICATION, NULL },
    { "{\"infos\":[]}", HOOK_CHILD, NULL },
    { "{\"infos\":[]}", HOOK_LOCAL, "no answer to setup-local has that" },
    { "{\"infos\":{}}", HOOK_CHILD, "an array wanted" },
    { "{\"error\":1}", HOOK_CHILD, "a text wanted" },
    { "{\"error\":\"a\",\"error\":\"b\"}", HOOK_CHILD, "no JSON object" },
    { "", HOOK_LOCAL, "no JSON object" },
    { "[]", HOOK_LOCAL, "no JSON object" },
    { "{} {}", HOOK_LOCAL, "no JSON object" },
    { "{\"hooks\":[\"setup-child\"],\"timeout\":0.5,\"needs_root\":true}", HOOK_DESCRIBE, NULL },
    { "{\"hooks\":[\"setup-world\"]}", HOOK_DESCRIBE, "hooks[0]" },
    { "{\"hooks\":[\"setup-child\",1]}", HOOK_DESCRIBE, "hooks[1]" },
    { "{\"hooks\":[\"describe\"]}", HOOK_DESCRIBE, "hooks[0]" },
    { "{\"timeout\":0}", HOOK_DESCRIBE, "timeout" },
    { "{\"timeout\":1e9}", HOOK_DESCRIBE, "timeout" },
    { "{\"timeout\":\"1\"}", HOOK_DESCRIBE, "timeout" },
    { "{\"needs_root\":1}", HOOK_DESCRIBE, "needs_root" },
    { "{\"timeout\":1}", HOOK_LOCAL, "timeout" },
};

static void test_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hook_answer a;
        struct err e = { 0 };
        int rc = hook_read(&a, cases[i].to, cases[i].line, strlen(cases[i].line), &e);

        print_message("  %s\n", cases[i].line);
        assert_int_equal(rc, cases[i].error ? -1 : 0);
        if (cases[i].error)
            assert_non_null(strstr(e.text, cases[i].error));
        hook_answer_clear(&a);
    }
}

static void test_description(void **state)
{
    static const char all[] = "{}", some[] = "{\"hooks\":[\"setup-child\",\"setup-local\"],"
                                             "\"timeout\":2.5,\"needs_root\":true}";
    struct hook_answer a;
    struct err e;

    (void)state;
    assert_int_equal(hook_read(&a, HOOK_DESCRIBE, all, strlen(all), &e), 0);
    assert_true(a.hooks & HOOK_BIT(HOOK_APPLICATION) && a.timeout == HOOK_TIMEOUT &&
                !a.needs_root);
    hook_answer_clear(&a);
    assert_int_equal(hook_read(&a, HOOK_DESCRIBE, some, strlen(some), &e), 0);
    assert_int_equal(a.hooks, HOOK_BIT(HOOK_CHILD) | HOOK_BIT(HOOK_LOCAL));
    assert_true(a.timeout == 2.5 && a.needs_root);
    hook_answer_clear(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_questions), cmocka_unit_test(test_answers),
        cmocka_unit_test(test_description),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
