/* test_spawn_env.c - mpiexec_lite/spawn_env: changes of the environment, in their order. */
#include "mpiexec_lite/spawn_env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VARS = 6, CHANGES = 6 };

static const struct {
    const char *name;
    const char *env[VARS];
    const char *changes[CHANGES][2];
    const char *want[VARS];              /* in any order; NULL first: an error */
    const char *error;
} cases[] = {
    { "nothing", { "A=1" }, { { 0 } }, { "A=1" }, NULL },
    { "unset", { "A=1", "AB=2" }, { { "env-unset", "A" } }, { "AB=2" }, NULL },
    { "unset what is not there", { "A=1" }, { { "env-unset", "B" } }, { "A=1" }, NULL },
    { "set", { "A=1", "B=2" }, { { "env-set", ":A=x:y" } }, { "A=x:y", "B=2" }, NULL },
    { "set to nothing", { "A=1" }, { { "env-set", ":A=" } }, { "A=" }, NULL },
    { "set after unset, whatever the order", { "A=1" },
      { { "env-set", ":A=2" }, { "env-unset", "A" } }, { "A=2" }, NULL },
    { "add", { "A=1" }, { { "env-add", ":A=2" }, { "env-add", ":B=2" } }, { "A=1", "B=2" }, NULL },
    { "add after set", { 0 }, { { "env-add", ":A=2" }, { "env-set", ":A=1" } }, { "A=1" }, NULL },
    { "in front and behind, as they come", { "P=b" },
      { { "env-prepend", ":P=a" }, { "env-append", ";P=c" }, { "env-prepend", "+P=z" } },
      { "P=z+a:b;c" }, NULL },
    { "in front of nothing", { "E=" },
      { { "env-prepend", ":P=a" }, { "env-append", ":Q=b" }, { "env-prepend", ":E=e" } },
      { "P=a", "Q=b", "E=e" }, NULL },
    { "first: not twice", { "P=x:a:x:b:x", "Q=x", "R=xx:x" },
      { { "env-first", ":P=x" }, { "env-first", ":Q=x" }, { "env-first", ":R=x" } },
      { "P=x:a:b", "Q=x", "R=x:xx" }, NULL },
    { "first of what is not there", { 0 }, { { "env-first", ",P=x" } }, { "P=x" }, NULL },
    { "first leaves empty elements", { "P=:a::x" }, { { "env-first", ":P=x" } }, { "P=x::a:" },
      NULL },
    { "own: after all others", { "A=1" },
      { { "env-own", "A=own" }, { "env-append", ":A=2" }, { "env-set", ":A=3" } }, { "A=own" },
      NULL },
    { "the launcher's own stay", { "PMI_RANK=3" },
      { { "env-set", ":PMI_RANK=9" }, { "env-unset", "PMI_RANK" }, { "env-own", "PMI_FD=1" } },
      { "PMI_RANK=3" }, NULL },
    { "other keys", { "A=1" }, { { "wdir", "/" }, { "env", "A=2" } }, { "A=1" }, NULL },
    { "no name", { 0 }, { { "env-set", ":=x" } }, { 0 }, "env-set: NAME=VALUE wanted" },
    { "no value", { 0 }, { { "env-own", "A" } }, { 0 }, "env-own: NAME=VALUE wanted" },
    { "nothing at all", { 0 }, { { "env-add", "" } }, { 0 }, "env-add: NAME=VALUE wanted" },
};

static size_t count(const char *const *v)
{
    size_t n = 0;

    while (n < VARS && v[n])
        n++;
    return n;
}

static bool has(const struct strlist *env, const char *entry)
{
    for (size_t i = 0; i < env->n; i++)
        if (!strcmp(env->v[i], entry))
            return true;
    return false;
}

static void test_changes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spawn_command c = { 0 };
        struct strlist env = { 0 };
        struct err e = { 0 };
        int rc;

        print_message("  %s\n", cases[i].name);
        for (size_t k = 0; k < count(cases[i].env); k++)
            assert_int_equal(strlist_add(&env, cases[i].env[k]), 0);
        for (size_t k = 0; k < CHANGES && cases[i].changes[k][0]; k++)
            assert_int_equal(spawn_add_info(&c, cases[i].changes[k][0], cases[i].changes[k][1]), 0);
        rc = spawn_env_change(&env, &c.info, &e);
        assert_string_equal(e.text, cases[i].error ? cases[i].error : "");
        assert_int_equal(rc, cases[i].error ? -1 : 0);
        for (size_t k = 0; k < count(cases[i].want); k++)
            assert_true(has(&env, cases[i].want[k]));
        assert_int_equal(env.n, count(cases[i].want));
        strlist_clear(&env);
        for (size_t k = 0; k < c.info.n; k++) {
            free(c.info.v[k].key);
            free(c.info.v[k].value);
        }
        free(c.info.v);
    }
}

static void test_keys(void **state)
{
    (void)state;
    assert_true(spawn_env_key("env-first"));
    assert_false(spawn_env_key("env"));
    assert_false(spawn_env_key(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_changes),
                                        cmocka_unit_test(test_keys) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
