/* What macros and functions of the PMIx standard 4.2 do, by its names alone: true of
 * pmix_ext.h and, compiled with its header by test/sys/pmix_header.py, of libpmix 4.2.2. */
#ifdef LIBPMIX
#include <pmix_tool.h>
#else
#include "pmix_ext/pmix_ext.h"
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* --- values ------------------------------------------------------------------------- */

static void test_load_fixed(void **state)
{
    pmix_value_t v;
    int64_t big = INT64_MIN, out = 0;
    bool no = false;
    void *place = &out;
    size_t size;

    (void)state;
    assert_int_equal(PMIX_VALUE_LOAD(&v, &big, PMIX_INT64), PMIX_SUCCESS);
    assert_int_equal(v.type, PMIX_INT64);
    assert_int_equal(PMIx_Value_unload(&v, &place, &size), PMIX_SUCCESS);
    assert_true(out == big && size == sizeof out && place == &out);

    place = NULL;
    assert_int_equal(PMIx_Value_unload(&v, &place, &size), PMIX_ERR_BAD_PARAM);

    assert_int_equal(PMIX_VALUE_LOAD(&v, &no, PMIX_BOOL), PMIX_SUCCESS);
    assert_false(v.data.flag);
    assert_int_equal(PMIX_VALUE_LOAD(&v, NULL, PMIX_BOOL), PMIX_SUCCESS);
    assert_true(v.data.flag);
    assert_int_equal(PMIX_VALUE_LOAD(&v, NULL, PMIX_INT64), PMIX_SUCCESS);
    assert_int_equal(v.data.int64, 0);
}

static void test_load_owned(void **state)
{
    pmix_value_t v;
    char text[] = "hello";
    void *out = NULL;
    size_t size;

    (void)state;
    PMIX_VALUE_LOAD(&v, text, PMIX_STRING);
    text[0] = 'j';
    assert_string_equal(v.data.string, "hello");
    PMIX_VALUE_DESTRUCT(&v);

    PMIX_VALUE_LOAD(&v, text, PMIX_STRING);
    assert_int_equal(PMIx_Value_unload(&v, &out, &size), PMIX_SUCCESS);
    assert_true(out != v.data.string && size == 5);
    assert_string_equal(out, "jello");
    free(out);
    PMIX_VALUE_DESTRUCT(&v);

    PMIX_VALUE_LOAD(&v, text, PMIX_POINTER);
    assert_ptr_equal(v.data.ptr, text);
    PMIX_VALUE_DESTRUCT(&v);
}

static void test_load_structs(void **state)
{
    pmix_value_t v, copy;
    pmix_proc_t proc, got;
    void *place = &got;
    pmix_data_array_t array;
    size_t size;

    (void)state;
    PMIX_PROC_LOAD(&proc, "job", 7);
    PMIX_VALUE_LOAD(&v, &proc, PMIX_PROC);
    assert_ptr_not_equal(v.data.proc, &proc);
    assert_int_equal(PMIx_Value_unload(&v, &place, &size), PMIX_SUCCESS);
    assert_memory_equal(&got, &proc, sizeof proc);
    assert_int_equal(size, sizeof proc);
    PMIX_VALUE_DESTRUCT(&v);

    PMIX_VALUE_LOAD(&v, "short", PMIX_PROC_NSPACE);
    assert_string_equal(*v.data.nspace, "short");
    PMIX_VALUE_DESTRUCT(&v);

    PMIX_DATA_ARRAY_CONSTRUCT(&array, 2, PMIX_INFO);
    PMIX_INFO_LOAD((pmix_info_t *)array.array, "k", "text", PMIX_STRING);
    assert_int_equal(PMIX_VALUE_LOAD(&v, &array, PMIX_DATA_ARRAY), PMIX_SUCCESS);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
    assert_int_equal(PMIx_Value_xfer(&copy, &v), PMIX_SUCCESS);
    assert_int_equal(PMIx_Value_compare(&copy, &v), PMIX_EQUAL);
    PMIX_VALUE_DESTRUCT(&v);
    assert_string_equal(((pmix_info_t *)copy.data.darray->array)->value.data.string, "text");
    PMIX_VALUE_DESTRUCT(&copy);
}

static void test_true(void **state)
{
    static const struct { const char *text; pmix_boolean_t want; } words[] = {
        { NULL, PMIX_BOOL_TRUE }, { "", PMIX_BOOL_TRUE }, { "  ", PMIX_BOOL_TRUE },
        { "1", PMIX_BOOL_TRUE }, { " 17", PMIX_BOOL_TRUE }, { "0", PMIX_BOOL_FALSE },
        { "yes", PMIX_BOOL_TRUE }, { "TRUE", PMIX_BOOL_TRUE }, { "No", PMIX_BOOL_FALSE },
        { "false", PMIX_BOOL_FALSE }, { "perhaps", PMIX_NON_BOOL }, { "-1", PMIX_NON_BOOL },
    };
    pmix_info_t info;
    int one = 1;

    (void)state;
    for (size_t i = 0; i < LENGTH(words); i++) {
        PMIX_INFO_LOAD(&info, "k", words[i].text, PMIX_STRING);
        assert_int_equal(PMIX_INFO_TRUE(&info), words[i].want == PMIX_BOOL_TRUE);
        assert_int_equal(PMIX_CHECK_BOOL(&info.value), words[i].want != PMIX_NON_BOOL);
        PMIX_INFO_DESTRUCT(&info);
    }
    PMIX_INFO_LOAD(&info, "k", NULL, PMIX_BOOL);
    assert_true(PMIX_INFO_TRUE(&info));
    PMIX_INFO_LOAD(&info, "k", &one, PMIX_INT);
    assert_false(PMIX_INFO_TRUE(&info));
    PMIX_INFO_CONSTRUCT(&info);
    assert_true(PMIX_INFO_TRUE(&info));
}

static void test_number(void **state)
{
    pmix_value_t v;
    pmix_status_t rc;
    uint64_t most = UINT64_MAX, u = 0;
    int64_t least = INT64_MIN, i = 0;
    int minus = -1;
    double d = 0, half = 0.5;

    (void)state;
    PMIX_VALUE_LOAD(&v, &most, PMIX_UINT64);
    PMIX_VALUE_GET_NUMBER(rc, &v, u, uint64_t);
    assert_true(rc == PMIX_SUCCESS && u == most);
    PMIX_VALUE_LOAD(&v, &least, PMIX_INT64);
    PMIX_VALUE_GET_NUMBER(rc, &v, i, int64_t);
    assert_true(rc == PMIX_SUCCESS && i == least);
    PMIX_VALUE_LOAD(&v, &half, PMIX_DOUBLE);
    PMIX_VALUE_GET_NUMBER(rc, &v, d, double);
    assert_true(rc == PMIX_SUCCESS && d == half);
    PMIX_VALUE_LOAD(&v, &minus, PMIX_INT);
    PMIX_VALUE_GET_NUMBER(rc, &v, u, uint32_t);
    assert_true(rc == PMIX_SUCCESS && u == UINT32_MAX);
    PMIX_VALUE_LOAD(&v, &minus, PMIX_STATUS);
    PMIX_VALUE_GET_NUMBER(rc, &v, i, int64_t);
    assert_true(rc == PMIX_ERR_BAD_PARAM && i == least);
}

/* --- infos -------------------------------------------------------------------------- */

static void test_info(void **state)
{
    pmix_info_t *info, copy;

    (void)state;
    PMIX_INFO_CREATE(info, 3);
    assert_false(PMIX_INFO_IS_END(&info[1]));
    assert_true(PMIX_INFO_IS_END(&info[2]));
    PMIX_INFO_LOAD(&info[0], PMIX_NSPACE, "job", PMIX_STRING);
    PMIX_INFO_REQUIRED(&info[0]);
    assert_true(PMIX_INFO_IS_REQUIRED(&info[0]) && !PMIX_INFO_IS_OPTIONAL(&info[0]));
    PMIX_INFO_XFER(&copy, &info[0]);
    PMIX_INFO_FREE(info, 3);
    assert_null(info);
    assert_true(PMIX_CHECK_KEY(&copy, PMIX_NSPACE) && PMIX_INFO_IS_REQUIRED(&copy));
    assert_string_equal(copy.value.data.string, "job");
    PMIX_INFO_DESTRUCT(&copy);

    PMIX_INFO_CREATE(info, 0);
    assert_null(info);
}

static void test_info_list(void **state)
{
    pmix_data_array_t array = PMIX_DATA_ARRAY_STATIC_INIT;
    pmix_info_t info, *all;
    pmix_status_t rc;
    char key[16];
    void *list;

    (void)state;
    PMIX_INFO_LIST_START(list);
    PMIX_INFO_LIST_CONVERT(rc, list, &array);
    assert_int_equal(rc, PMIX_ERR_EMPTY);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "k%d", i);
        PMIX_INFO_LIST_ADD(rc, list, key, &i, PMIX_INT);
        assert_int_equal(rc, PMIX_SUCCESS);
    }
    PMIX_INFO_LOAD(&info, "given", "away", PMIX_STRING);
    PMIX_INFO_LIST_INSERT(rc, list, &info);
    PMIX_INFO_LOAD(&info, "copied", "text", PMIX_STRING);
    PMIX_INFO_LIST_XFER(rc, list, &info);
    PMIX_INFO_DESTRUCT(&info);
    PMIX_INFO_LIST_CONVERT(rc, list, &array);
    PMIX_INFO_LIST_RELEASE(list);
    assert_int_equal(rc, PMIX_SUCCESS);
    assert_int_equal(array.size, 102);
    all = array.array;
    assert_true(PMIX_CHECK_KEY(&all[99], "k99") && all[99].value.data.integer == 99);
    assert_string_equal(all[100].value.data.string, "away");
    assert_string_equal(all[101].value.data.string, "text");
    PMIX_DATA_ARRAY_DESTRUCT(&array);
}

/* --- the other structs, names ------------------------------------------------------- */

static void test_structs(void **state)
{
    pmix_query_t *query;
    pmix_app_t *app;
    pmix_pdata_t pdata, again;
    pmix_envar_t envar;
    pmix_proc_t me = PMIX_PROC_STATIC_INIT;
    pmix_status_t rc;

    (void)state;
    PMIX_QUERY_CREATE(query, 2);
    PMIX_ARGV_APPEND(rc, query[1].keys, "a");
    assert_int_equal(rc, PMIX_SUCCESS);
    PMIX_QUERY_QUALIFIERS_CREATE(&query[1], 2);
    assert_int_equal(query[1].nqual, 2);
    PMIX_INFO_LOAD(&query[1].qualifiers[0], "q", "v", PMIX_STRING);
    PMIX_QUERY_FREE(query, 2);

    PMIX_APP_CREATE(app, 1);
    app->cmd = strdup("a.out");
    PMIX_ARGV_SPLIT(app->argv, "a.out b c", ' ');
    PMIX_APP_INFO_CREATE(app, 1);
    PMIX_APP_RELEASE(app);
    assert_null(app);

    PMIX_LOAD_PROCID(&me, "me", 3);
    PMIX_PDATA_LOAD(&pdata, &me, "k", "v", PMIX_STRING);
    PMIX_PDATA_XFER(&again, &pdata);
    PMIX_PDATA_DESTRUCT(&pdata);
    assert_true(PMIX_CHECK_PROCID(&again.proc, &me) && PMIX_CHECK_KEY(&again, "k"));
    assert_string_equal(again.value.data.string, "v");
    PMIX_PDATA_DESTRUCT(&again);

    PMIX_ENVAR_LOAD(&envar, "PATH", "/bin", ':');
    assert_string_equal(envar.value, "/bin");
    PMIX_ENVAR_DESTRUCT(&envar);
    assert_null(envar.envar);
}

static void test_names_and_ranks(void **state)
{
    char longer[600];
    pmix_key_t key;
    pmix_nspace_t ns, cluster = "", job = "";
    pmix_proc_t a, b;

    (void)state;
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    memset(key, 'y', sizeof key);
    PMIX_LOAD_KEY(key, longer);
    assert_int_equal(strlen(key), PMIX_MAX_KEYLEN);
    PMIX_LOAD_NSPACE(ns, longer);
    assert_int_equal(strlen(ns), PMIX_MAX_NSLEN);
    PMIX_LOAD_NSPACE(ns, NULL);
    assert_true(PMIX_NSPACE_INVALID(ns));

    PMIX_LOAD_PROCID(&a, "job", 1);
    PMIX_LOAD_PROCID(&b, "job", PMIX_RANK_WILDCARD);
    assert_true(PMIX_CHECK_PROCID(&a, &b));
    b.rank = 2;
    assert_false(PMIX_CHECK_PROCID(&a, &b));
    PMIX_XFER_PROCID(&b, &a);
    assert_memory_equal(&a, &b, sizeof a);
    assert_false(PMIX_CHECK_NSPACE(a.nspace, "other"));
    assert_true(PMIX_CHECK_NSPACE(a.nspace, ""));
    b.rank = PMIX_RANK_INVALID;
    assert_true(PMIX_PROCID_INVALID(&b) && !PMIX_PROCID_INVALID(&a));
    assert_true(PMIX_CHECK_RESERVED_KEY("pmix.rank") && !PMIX_CHECK_RESERVED_KEY("mine"));

    PMIX_MULTICLUSTER_NSPACE_CONSTRUCT(ns, "c1", "job");
    assert_string_equal(ns, "c1:job");
    PMIX_MULTICLUSTER_NSPACE_PARSE(ns, cluster, job);
    assert_string_equal(cluster, "c1");
    assert_string_equal(job, "job");
    longer[PMIX_MAX_NSLEN - 1] = '\0';
    PMIX_MULTICLUSTER_NSPACE_CONSTRUCT(ns, longer, "job");
    assert_string_equal(ns, "");
}

/* --- lists of strings --------------------------------------------------------------- */

static void test_argv(void **state)
{
    char **list = NULL, **copy;
    char *text;
    pmix_status_t rc;
    int n;

    (void)state;
    PMIX_ARGV_APPEND(rc, list, "b");
    PMIX_ARGV_PREPEND(rc, list, "a");
    PMIX_ARGV_APPEND_UNIQUE(rc, &list, "b");
    PMIX_ARGV_APPEND_UNIQUE(rc, &list, "c");
    PMIX_ARGV_COUNT(n, list);
    assert_true(rc == PMIX_SUCCESS && n == 3);
    PMIX_ARGV_COPY(copy, list);
    PMIX_ARGV_FREE(list);
    PMIX_ARGV_JOIN(text, copy, ',');
    assert_string_equal(text, "a,b,c");
    PMIX_ARGV_FREE(copy);
    free(text);

    PMIX_ARGV_SPLIT(list, ",a,,b,", ',');
    PMIX_ARGV_COUNT(n, list);
    assert_int_equal(n, 2);
    PMIX_ARGV_FREE(list);
    PMIX_ARGV_JOIN(text, NULL, ',');
    assert_string_equal(text, "");
    free(text);
}

static void test_setenv(void **state)
{
    char **env = NULL;
    pmix_status_t rc;

    (void)state;
    PMIX_SETENV(rc, "A", "1", &env);
    PMIX_SETENV(rc, "AB", "2", &env);
    PMIX_SETENV(rc, "A", "3", &env);
    assert_int_equal(rc, PMIX_SUCCESS);
    assert_string_equal(env[0], "A=3");
    assert_string_equal(env[1], "AB=2");
    assert_null(env[2]);
    PMIX_ARGV_FREE(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_fixed),
        cmocka_unit_test(test_load_owned),
        cmocka_unit_test(test_load_structs),
        cmocka_unit_test(test_true),
        cmocka_unit_test(test_number),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_info_list),
        cmocka_unit_test(test_structs),
        cmocka_unit_test(test_names_and_ranks),
        cmocka_unit_test(test_argv),
        cmocka_unit_test(test_setenv),
    };
#ifdef LIBPMIX
    /* It loads no value before it is initialised. */
    pmix_info_t alone = PMIX_INFO_STATIC_INIT;
    pmix_proc_t me;

    PMIX_LOAD_KEY(alone.key, PMIX_TOOL_DO_NOT_CONNECT);
    alone.value.type = PMIX_BOOL;
    alone.value.data.flag = true;
    if (PMIx_tool_init(&me, &alone, 1) != PMIX_SUCCESS)
        return 1;
#endif

    return cmocka_run_group_tests(tests, NULL, NULL);
}
