/* Tests of mpiexec_lite/setup.c */
#include "mpiexec_lite/setup.h"
#include "pmix_ext/pmix_ext_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ENV(key, name, value) \
    "{\"key\":\"pmix.envar." key "\",\"type\":\"PMIX_ENVAR\",\"value\":{\"envar\":\"" name \
    "\",\"value\":\"" value "\",\"separator\":\":\"}}"
#define UNSET(name) \
    "{\"key\":\"pmix.envar.unset\",\"type\":\"PMIX_STRING\",\"value\":\"" name "\"}"
#define TEXT(key, value) "{\"key\":\"" key "\",\"type\":\"PMIX_STRING\",\"value\":\"" value "\"}"

static int add(struct setup *s, const char *json, bool only_env, struct strlist *warnings,
               struct err *e)
{
    *e = (struct err){ 0 };
    return setup_add(s, "p", json, strlen(json), only_env, warnings, e);
}

static const struct { const char *name, *json; bool only_env; const char *error; } add_cases[] = {
    { "nothing", "[]", false, NULL },
    { "a variable", "[" ENV("set", "A", "b") "]", true, NULL },
    { "no array", "{}", false, "infos: " },
    { "no name", "[" ENV("set", "", "b") "]", false, "no name of a variable" },
    { "a digit first", "[" ENV("add", "1A", "b") "]", false, "no name of a variable" },
    { "an equals sign", "[" UNSET("A=B") "]", false, "no name of a variable" },
    { "ours", "[" ENV("prepnd", "PMI_FD", "3") "]", false, "PMI_FD is the launcher's" },
    { "wrong type", "[" TEXT("pmix.envar.set", "A=b") "]", false, "of the wrong type" },
    { "a reserved key", "[" TEXT("pmix.job.size", "2") "]", false, "the launcher's to say" },
    { "a key that is not", "[" TEXT("pmix.alloc.nsec", "x") "]", false, NULL },
    { "other keys of a rank", "[" TEXT("site.x", "y") "]", true, "only variables" },
    { "no value", "[{\"key\":\"a\",\"type\":\"PMIX_UNDEF\",\"value\":null}]", false, "without key or value" },
};

static void test_add(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof add_cases / sizeof *add_cases; i++) {
        struct setup s = { 0 };
        struct err e;
        int rc = add(&s, add_cases[i].json, add_cases[i].only_env, NULL, &e);

        print_message("  %s\n", add_cases[i].name);
        assert_int_equal(rc, add_cases[i].error ? -1 : 0);
        if (add_cases[i].error)
            assert_non_null(strstr(e.text, add_cases[i].error));
        setup_clear(&s);
    }
}

static void test_last_wins(void **state)
{
    struct strlist warnings = { 0 };
    struct setup s = { 0 };
    struct err e;

    (void)state;
    assert_int_equal(add(&s, "[" ENV("set", "A", "1") "," TEXT("k", "1") ","
                         ENV("appnd", "L", "x") "]", false, &warnings, &e), 0);
    assert_int_equal(add(&s, "[" UNSET("A") "," TEXT("k", "2") "," ENV("appnd", "L", "y") "]",
                         false, &warnings, &e), 0);
    assert_int_equal(s.infos.n, 4);
    assert_string_equal(info_find(&s.infos, "k")->value.data.string, "2");
    assert_null(info_find(&s.infos, PMIX_SET_ENVAR));
    assert_int_equal(warnings.n, 2);
    assert_string_equal(warnings.v[0], "provider p: A was said before, and is replaced");
    assert_string_equal(warnings.v[1], "provider p: k was said before, and is replaced");
    strlist_clear(&warnings);
    setup_clear(&s);
}

/* The order is that of the table of the standard, whatever that of the infos. */
static void test_env(void **state)
{
    static const char *const before[] = { "GONE=1", "OLD=o", "L=b", "MINE=user", NULL };
    static const char *const after[] = { "A=set", "OLD=o", "NEW=n", "L=a:b:c", "MINE=user", NULL };
    struct strlist env = { 0 }, own = { 0 };
    const struct strlist *owns[] = { &own };
    struct setup s = { 0 };
    struct err e;

    (void)state;
    for (size_t i = 0; before[i]; i++)
        strlist_add(&env, before[i]);
    strlist_add(&own, "MINE=user");
    assert_int_equal(add(&s, "[" ENV("appnd", "L", "c") "," ENV("set", "A", "set") ","
                         UNSET("A") "," ENV("prepnd", "L", "a") "," ENV("add", "OLD", "x") ","
                         ENV("add", "NEW", "n") "," UNSET("GONE") "," ENV("set", "MINE", "p") ","
                         TEXT("k", "v") "]", false, NULL, &e), 0);
    assert_int_equal(setup_change_env(&s, owns, 1, &env, &e), 0);
    for (size_t i = 0; after[i]; i++) {
        size_t k = 0;

        while (k < env.n && strcmp(env.v[k], after[i]))
            k++;
        print_message("  %s\n", after[i]);
        assert_true(k < env.n || !strncmp(after[i], "A=", 2));
    }
    assert_int_equal(env.n, 4);          /* UNSET A has replaced SET A, and GONE is gone */
    strlist_clear(&env);
    strlist_clear(&own);
    setup_clear(&s);
}

static void test_there_and_back(void **state)
{
    struct setup a = { 0 }, b = { 0 };
    struct buf text = BUF_INIT;
    struct err e;

    (void)state;
    assert_int_equal(add(&a, "[" ENV("set", "A", "b;\\\"") "," TEXT("k", "v") "]", false, NULL,
                         &e), 0);
    assert_int_equal(setup_write(&a, &text, &e), 0);
    assert_int_equal(setup_read(&b, buf_bytes(&text), &e), 0);
    assert_int_equal(b.infos.n, 2);
    assert_string_equal(b.infos.v[0].value.data.envar.value, "b;\"");
    setup_clear(&b);
    assert_int_equal(setup_read(&b, NULL, &e), 0);
    assert_int_equal(b.infos.n, 0);
    setup_clear(&a);
    buf_clear(&text);
}

/* R12-07: whatever byte is changed or missing is noticed. */
static void test_damaged(void **state)
{
    struct setup a = { 0 }, b = { 0 };
    struct buf text = BUF_INIT;
    struct err e;
    char *bytes;

    (void)state;
    assert_int_equal(add(&a, "[" ENV("set", "A", "b") "]", false, NULL, &e), 0);
    assert_int_equal(setup_write(&a, &text, &e), 0);
    bytes = buf_bytes(&text);
    for (size_t i = 0; i < text.len; i++) {
        bytes[i] ^= 1;
        assert_int_equal(setup_read(&b, bytes, &e), -1);
        assert_non_null(strstr(e.text, "set-up: "));
        bytes[i] ^= 1;
    }
    while (text.len) {
        buf_cut(&text, text.len - 1);
        assert_int_equal(setup_read(&b, buf_bytes(&text), &e), -1);
    }
    setup_clear(&a);
    setup_clear(&b);
    buf_clear(&text);
}

static void test_too_much(void **state)
{
    struct setup s = { 0 };
    struct buf json = BUF_INIT, text = BUF_INIT;
    struct err e = { 0 };

    (void)state;
    buf_str(&json, "[{\"key\":\"k\",\"type\":\"PMIX_STRING\",\"value\":\"");
    for (int i = 0; i < SETUP_MAX; i++)
        buf_char(&json, 'x');
    buf_str(&json, "\"}]");
    assert_int_equal(add(&s, buf_bytes(&json), false, NULL, &e), 0);
    assert_int_equal(setup_write(&s, &text, &e), -1);
    assert_non_null(strstr(e.text, "at most"));
    setup_clear(&s);
    buf_clear(&json);
    buf_clear(&text);
}

static const struct { const char *name, *data, *want; } redact_cases[] = {
    { "none", "cmd=x;value=abc;", "cmd=x;value=abc;" },
    { "as it is", "a=tok;en\"1 b", "a=[redacted] b" },
    { "doubled", "v=tok;;en\"1;", "v=[redacted];" },
    { "as JSON", "{\"v\":\"tok;en\\\"1\"}", "{\"v\":\"[redacted]\"}" },
    { "as JSON, doubled", "x=\"tok;;en\\\"1\";", "x=\"[redacted]\";" },
    { "a variable's", "PATH=/secret/x", "PATH=[redacted]/x" },
    { "bytes", "\"AAECAwQF\"", "[redacted]" },
    { "in part", "tok;en", "tok;en" },
    { "twice", "/secret/secret", "[redacted][redacted]" },
    { "too short to be one", "abc", "abc" },
};

/* R12-08 */
static void test_redact(void **state)
{
    struct setup s = { 0 };
    struct err e;

    (void)state;
    assert_int_equal(add(&s, "[" TEXT("k", "tok;en\\\"1") "," ENV("set", "A", "/secret") ","
                         TEXT("short", "abc") ","
                         "{\"key\":\"b\",\"type\":\"PMIX_BYTE_OBJECT\",\"value\":\"AAECAwQF\"}]",
                         false, NULL, &e), 0);
    for (size_t i = 0; i < sizeof redact_cases / sizeof *redact_cases; i++) {
        struct buf out = BUF_INIT;

        print_message("  %s\n", redact_cases[i].name);
        setup_redact(&s, redact_cases[i].data, strlen(redact_cases[i].data), &out);
        if (!strcmp(redact_cases[i].name, "bytes"))
            assert_null(strstr(buf_bytes(&out), "AAECAwQF"));
        else
            assert_string_equal(buf_bytes(&out), redact_cases[i].want);
        buf_clear(&out);
    }
    setup_clear(&s);
}

static const struct { const char *value, *text; } text_cases[] = {
    { "\"type\":\"PMIX_STRING\",\"value\":\"a;b\"", "a;b" },
    { "\"type\":\"PMIX_UINT64\",\"value\":\"18446744073709551615\"", "18446744073709551615" },
    { "\"type\":\"PMIX_INT\",\"value\":-3", "-3" },
    { "\"type\":\"PMIX_BOOL\",\"value\":true", "true" },
    { "\"type\":\"PMIX_BYTE_OBJECT\",\"value\":\"AAE=\"",
      "{\"type\":\"PMIX_BYTE_OBJECT\",\"value\":\"AAE=\"}" },
};

static void test_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof text_cases / sizeof *text_cases; i++) {
        struct buf out = BUF_INIT;
        struct setup s = { 0 };
        char json[200];
        struct err e;

        snprintf(json, sizeof json, "[{\"key\":\"k\",%s}]", text_cases[i].value);
        assert_int_equal(add(&s, json, false, NULL, &e), 0);
        assert_int_equal(setup_text(&s.infos.v[0].value, &out), 0);
        assert_string_equal(buf_bytes(&out), text_cases[i].text);
        buf_clear(&out);
        setup_clear(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add), cmocka_unit_test(test_last_wins), cmocka_unit_test(test_env),
        cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_too_much), cmocka_unit_test(test_redact),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
