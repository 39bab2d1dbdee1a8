/* test_pmix_directives.c - pmix_ext/directives, and pmix_ext/spawn_apps: what is asked for by
 * infos and apps. */
#include "pmix_ext/directives.h"
#include "pmix_ext/serve_spawn.h"
#include "pmix_ext/support.h"
#include "pmix_ext/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- directives ---------------------------------------------------------------- */

struct record { int timeout; bool flag; uint8_t range; const char *text; };

static const struct directive_rule rules[] = {
    DIRECTIVE(PMIX_TIMEOUT, PMIX_INT, struct record, timeout),
    DIRECTIVE(PMIX_IMMEDIATE, PMIX_BOOL, struct record, flag),
    DIRECTIVE(PMIX_RANGE, PMIX_DATA_RANGE, struct record, range),
    DIRECTIVE(PMIX_HOST, PMIX_STRING, struct record, text),
    DIRECTIVE_KNOWN(PMIX_OPTIONAL, PMIX_BOOL),
    { 0 }
};

static const struct {
    const char   *name, *text;
    pmix_status_t status;
    struct record want;
    const char   *error;
} cases[] = {
    { "none", "[]", PMIX_SUCCESS, { 0 }, "" },
    { "one of each", "[{\"key\":\"pmix.timeout\",\"type\":\"PMIX_INT\",\"value\":-7},"
      "{\"key\":\"pmix.immediate\",\"type\":\"PMIX_BOOL\",\"value\":true},"
      "{\"key\":\"pmix.range\",\"type\":\"PMIX_DATA_RANGE\",\"value\":200},"
      "{\"key\":\"pmix.host\",\"type\":\"PMIX_STRING\",\"value\":\"a,b\"},"
      "{\"key\":\"pmix.optional\",\"type\":\"PMIX_BOOL\",\"value\":true,\"flags\":[\"required\"]}]",
      PMIX_SUCCESS, { -7, true, 200, "a,b" }, "" },
    { "the last one holds", "[{\"key\":\"pmix.timeout\",\"type\":\"PMIX_INT\",\"value\":1},"
      "{\"key\":\"pmix.timeout\",\"type\":\"PMIX_INT\",\"value\":2}]", PMIX_SUCCESS,
      { .timeout = 2 }, "" },
    { "a flag without a value is true",
      "[{\"key\":\"pmix.immediate\",\"type\":\"PMIX_UNDEF\",\"value\":null}]", PMIX_SUCCESS,
      { .flag = true }, "" },
    { "an unknown one", "[{\"key\":\"no.such\",\"type\":\"PMIX_INT\",\"value\":1}]", PMIX_SUCCESS,
      { 0 }, "" },
    { "an unknown one that is required", "[{\"key\":\"no.such\",\"type\":\"PMIX_INT\",\"value\":1,"
      "\"flags\":[\"required\"]}]", PMIX_ERR_NOT_SUPPORTED, { 0 },
      "infos[0]: no.such is required and not supported here" },
    { "another type", "[{\"key\":\"pmix.timeout\",\"type\":\"PMIX_UINT32\",\"value\":1}]",
      PMIX_ERR_TYPE_MISMATCH, { 0 }, "infos[0]: pmix.timeout is PMIX_UINT32, want PMIX_INT" },
    { "no text", "[{\"key\":\"pmix.host\",\"type\":\"PMIX_STRING\",\"value\":null}]",
      PMIX_ERR_BAD_PARAM, { 0 }, "infos[0]: pmix.host has no text" },
    { "no array", "{}", PMIX_ERR_BAD_PARAM, { 0 }, NULL },
    { "no JSON", "[", PMIX_ERR_BAD_PARAM, { 0 }, NULL },
};

static void test_directives(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct infos in;
        struct record r = { 0 };
        struct err e = { 0 };
        pmix_status_t status = directives_read(&in, cases[i].text, strlen(cases[i].text), "infos",
                                               &e);

        print_message("  %s\n", cases[i].name);
        if (status == PMIX_SUCCESS)
            status = directives_take(&in, "infos", rules, &r, &e);
        assert_int_equal(status, cases[i].status);
        if (cases[i].error)
            assert_string_equal(e.text, cases[i].error);
        assert_int_equal(r.timeout, cases[i].want.timeout);
        assert_int_equal(r.flag, cases[i].want.flag);
        assert_int_equal(r.range, cases[i].want.range);
        assert_string_equal(r.text ? r.text : "", cases[i].want.text ? cases[i].want.text : "");
        infos_clear(&in);
    }
}

/* --- apps ---------------------------------------------------------------------- */

#define INFO(key, type, value) "{\"key\":\"" key "\",\"type\":\"" type "\",\"value\":" value "}"
#define TEXT(key, value)       INFO(key, "PMIX_STRING", "\"" value "\"")
#define APP(rest)              "[{\"cmd\":\"a\",\"maxprocs\":2" rest "}]"
#define WITH(info)             APP(",\"info\":[" info "]")
#define VAR(name, value)       "{\"envar\":\"" name "\",\"value\":\"" value "\"}"
#define ONE                    "cmd=spawn;ncmds=1;preputcount=0;subcmd=a;maxprocs=2;argc="

static const struct {
    const char   *name, *infos, *apps;
    pmix_status_t status;
    const char   *want;                  /* the message of PMI-2, or what is wrong */
} spawns[] = {
    { "a program", "[]", APP(""), PMIX_SUCCESS, ONE "0;infokeycount=0;" },
    { "arguments, without the name", "[]", APP(",\"argv\":[\"a\",\"b;\",\"\"]"), PMIX_SUCCESS,
      ONE "2;argv0=b;;;argv1=;infokeycount=0;" },
    { "directory: the app's own", "[" TEXT("pmix.wdir", "/job") "]", APP(",\"cwd\":\"/app\""),
      PMIX_SUCCESS, ONE "0;infokeycount=2;infokey0=wdir;infoval0=/job;infokey1=wdir;"
      "infoval1=/app;" },
    { "environment", "[" INFO("pmix.envar.prepnd", "PMIX_ENVAR",
                              "{\"envar\":\"P\",\"value\":\"x\",\"separator\":\",\"}") ","
      TEXT("pmix.envar.unset", "U") "]", APP(",\"env\":[\"A=b=c\"]"), PMIX_SUCCESS,
      ONE "0;infokeycount=3;infokey0=env-prepend;infoval0=,P=x;infokey1=env-unset;infoval1=U;"
      "infokey2=env-own;infoval2=A=b=c;" },
    { "prefix", "[" TEXT("pmix.prefix", "/p") "]", APP(""), PMIX_SUCCESS,
      ONE "0;infokeycount=3;infokey0=env-prepend;infoval0=:PATH=/p/bin;infokey1=env-prepend;"
      "infoval1=:LD_LIBRARY_PATH=/p/lib;infokey2=path;infoval2=/p/bin;" },
    { "binding", "[]", WITH(TEXT("pmix.bindto", "package")), PMIX_SUCCESS,
      ONE "0;infokeycount=1;infokey0=bind;infoval0=socket;" },
    { "time and flags", "[" INFO("pmix.job.time", "PMIX_INT", "5") "," INFO("pmix.abnz",
      "PMIX_BOOL", "false") "," INFO("pmix.notecomp", "PMIX_BOOL", "true") "]", APP(""),
      PMIX_SUCCESS, ONE "0;infokeycount=1;infokey0=timeout;infoval0=5;" },
    { "where they run", "[" TEXT("pmix.ppr", "2:node") "," TEXT("pmix.rankby", "node") ","
      TEXT("pmix.pset.nm", "x") "]", APP(""),
      PMIX_SUCCESS, ONE "0;infokeycount=3;infokey0=map;infoval0=ppr:2:node;infokey1=rank;"
      "infoval1=node;infokey2=pset;infoval2=x;" },
    { "a set of two names", "[" TEXT("pmix.pset.nm", "x,y") "]", APP(""), PMIX_ERR_BAD_PARAM,
      "apps[0]: infos[0]: pmix.pset.nm: no name of a process set: 'x,y'" },
    { "what cannot be done, not required", "[" TEXT("pmix.mapby", "numa") "]", APP(""),
      PMIX_SUCCESS, ONE "0;infokeycount=0;" },
    { "what cannot be done, required", "[{\"key\":\"pmix.mapby\",\"type\":\"PMIX_STRING\","
      "\"value\":\"numa\",\"flags\":[\"required\"]}]", APP(""), PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED,
      "apps[0]: infos[0]: pmix.mapby: 'numa' is not supported" },
    { "no apps", "[]", "[]", PMIX_ERR_BAD_PARAM, "apps: there are 0, want 1 to 1024" },
    { "no program", "[]", "[{\"cmd\":\"\",\"maxprocs\":1}]", PMIX_ERR_JOB_NO_EXE_SPECIFIED,
      "apps[0]: cmd: no program" },
    { "no processes", "[]", "[{\"cmd\":\"a\",\"maxprocs\":0}]", PMIX_ERR_BAD_PARAM,
      "apps[0]: maxprocs: 0 processes" },
    { "a name that is none", "[]", WITH(INFO("pmix.envar.add", "PMIX_ENVAR", VAR("1A", "x"))),
      PMIX_ERR_BAD_PARAM, "apps[0]: info[0]: pmix.envar.add: no name of a variable: '1A'" },
    { "a name with '='", "[]", WITH(TEXT("pmix.envar.unset", "A=b")), PMIX_ERR_BAD_PARAM,
      "apps[0]: info[0]: pmix.envar.unset: no name of a variable: 'A=b'" },
    { "a variable that is none", "[]", APP(",\"env\":[\"A=1\",\"=x\"]"), PMIX_ERR_BAD_PARAM,
      "apps[0]: env[1]: NAME=VALUE wanted, not '=x'" },
    { "another type", "[]", WITH(TEXT("pmix.job.time", "5")), PMIX_ERR_TYPE_MISMATCH,
      "apps[0]: info[0]: pmix.job.time is PMIX_STRING, want PMIX_INT" },
};

static void test_apps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof spawns / sizeof *spawns; i++) {
        struct spawn_request want = { 0 };
        struct infos infos;
        struct buf text = BUF_INIT;
        struct err e = { 0 };
        pmix_status_t status;
        pmix_app_t *apps;
        size_t n;

        print_message("  %s\n", spawns[i].name);
        assert_int_equal(directives_read(&infos, spawns[i].infos, strlen(spawns[i].infos), "infos",
                                         &e), PMIX_SUCCESS);
        assert_int_equal(value_decode_array(PMIX_APP, spawns[i].apps, strlen(spawns[i].apps),
                                            "apps", (void **)&apps, &n, &e), 0);
        status = spawn_translate(&infos, apps, n, &want, &e);
        assert_int_equal(status, spawns[i].status);
        if (status == PMIX_SUCCESS)
            assert_int_equal(spawn_write(&want, &text, &e), 0);
        assert_string_equal(status == PMIX_SUCCESS ? buf_bytes(&text) + 6 : e.text,
                            spawns[i].want);
        spawn_clear(&want);
        infos_clear(&infos);
        value_free_array(PMIX_APP, apps, n);
        buf_clear(&text);
    }
}

static void test_support(void **state)
{
    pmix_data_type_t type;
    const char *key;
    size_t n = 0;

    (void)state;
    while (spawn_attribute(n, &key, &type)) {
        assert_true(!strncmp(key, "pmix.", 5) || !strncmp(key, "lite.", 5));
        n++;
    }
    assert_in_range(n, 20, 100);
    assert_false(directive_at(rules, 5, &key, &type));
    assert_true(directive_at(rules, 2, &key, &type));
    assert_string_equal(key, PMIX_RANGE);
    assert_int_equal(type, PMIX_DATA_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_directives),
                                        cmocka_unit_test(test_apps),
                                        cmocka_unit_test(test_support) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
