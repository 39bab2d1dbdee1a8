/* Tests of pmix_ext/util_argv.c and util_data.c: lists of strings, and values by type. */
#include "pmix_ext/pmix_ext.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof *(a))

extern char **environ;

/* --- lists of strings --------------------------------------------------------------------- */

static void test_argv(void **state)
{
    char **list;

    (void)state;
    list = PMIx_Argv_split_with_empty(",a,,b", ',');
    assert_int_equal(PMIx_Argv_count(list), 4);
    assert_string_equal(list[2], "");
    PMIX_ARGV_FREE(list);
    assert_null(PMIx_Argv_split("", ','));
    assert_null(PMIx_Argv_copy(NULL));
    assert_int_equal(PMIx_Argv_append_nosize(NULL, "a"), PMIX_ERR_BAD_PARAM);
    assert_int_equal(PMIx_Argv_prepend_nosize(&list, NULL), PMIX_ERR_BAD_PARAM);
}

static void test_setenv(void **state)
{
    char **env = NULL;
    pmix_status_t rc;

    (void)state;
    PMIX_SETENV(rc, "A", "1", &env);
    assert_int_equal(rc, PMIX_SUCCESS);
    assert_int_equal(PMIx_Setenv("A", "4", false, &env), PMIX_ERR_EXISTS);
    assert_int_equal(PMIx_Setenv("A", NULL, true, &env), PMIX_SUCCESS);
    assert_string_equal(env[0], "A=");
    assert_int_equal(PMIx_Setenv("A=B", "4", true, &env), PMIX_ERR_BAD_PARAM);
    PMIX_ARGV_FREE(env);

    assert_int_equal(PMIx_Setenv("TEST_PMIX_UTIL", "x", true, &environ), PMIX_SUCCESS);
    assert_string_equal(getenv("TEST_PMIX_UTIL"), "x");
    assert_int_equal(PMIx_Setenv("TEST_PMIX_UTIL", NULL, true, &environ), PMIX_SUCCESS);
    assert_null(getenv("TEST_PMIX_UTIL"));
}

/* --- any value ------------------------------------------------------------------------------ */

static void test_pack(void **state)
{
    pmix_data_buffer_t *buffer, more;
    const char *words[] = { "one", NULL, "three\n" };
    char *got[3];
    int32_t numbers[] = { 1, -2, INT32_MAX }, back[3], n = 3;
    pmix_info_t info, out;
    pmix_byte_object_t bytes;

    (void)state;
    PMIX_DATA_BUFFER_CREATE(buffer);
    assert_int_equal(PMIx_Data_pack(NULL, buffer, numbers, 3, PMIX_INT32), PMIX_SUCCESS);
    assert_int_equal(PMIx_Data_pack(NULL, buffer, words, 3, PMIX_STRING), PMIX_SUCCESS);
    PMIX_INFO_LOAD(&info, "k", "v", PMIX_STRING);
    assert_int_equal(PMIx_Data_pack(NULL, buffer, &info, 1, PMIX_INFO), PMIX_SUCCESS);
    PMIX_INFO_DESTRUCT(&info);
    assert_int_equal(PMIx_Data_pack(NULL, buffer, &info, 1, 44), PMIX_ERR_UNKNOWN_DATA_TYPE);

    assert_int_equal(PMIx_Data_unpack(NULL, buffer, back, &n, PMIX_UINT32),
                     PMIX_ERR_TYPE_MISMATCH);
    n = 2;
    assert_int_equal(PMIx_Data_unpack(NULL, buffer, back, &n, PMIX_INT32),
                     PMIX_ERR_UNPACK_INADEQUATE_SPACE);
    n = 3;
    assert_int_equal(PMIx_Data_unpack(NULL, buffer, back, &n, PMIX_INT32), PMIX_SUCCESS);
    assert_memory_equal(back, numbers, sizeof numbers);

    /* What is left goes on in another buffer, and by way of plain bytes. */
    PMIX_DATA_BUFFER_CONSTRUCT(&more);
    assert_int_equal(PMIx_Data_copy_payload(&more, buffer), PMIX_SUCCESS);
    PMIX_DATA_BUFFER_RELEASE(buffer);
    PMIX_DATA_BUFFER_UNLOAD(&more, bytes.bytes, bytes.size);
    assert_null(more.base_ptr);
    PMIX_DATA_BUFFER_LOAD(&more, bytes.bytes, bytes.size);
    assert_int_equal(PMIx_Data_unpack(NULL, &more, got, &n, PMIX_STRING), PMIX_SUCCESS);
    assert_int_equal(n, 3);
    assert_string_equal(got[2], "three\n");
    assert_null(got[1]);
    free(got[0]);
    free(got[2]);
    n = 1;
    assert_int_equal(PMIx_Data_unpack(NULL, &more, &out, &n, PMIX_INFO), PMIX_SUCCESS);
    assert_string_equal(out.value.data.string, "v");
    PMIX_INFO_DESTRUCT(&out);
    assert_int_equal(PMIx_Data_unpack(NULL, &more, &out, &n, PMIX_INFO),
                     PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER);
    PMIX_DATA_BUFFER_DESTRUCT(&more);
}

/* R10-11: a rank is no number and a status none, in both directions; what is unpacked as another
 * type stays where it is. */
static void test_unpack_types(void **state)
{
    static const pmix_data_type_t types[] = { PMIX_PROC_RANK, PMIX_STATUS, PMIX_INT32, PMIX_UINT32, PMIX_INT };
    enum { N = sizeof types / sizeof *types };
    uint32_t one = 1, back;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        pmix_data_buffer_t *buffer;
        int32_t n = 1;

        PMIX_DATA_BUFFER_CREATE(buffer);
        assert_int_equal(PMIx_Data_pack(NULL, buffer, &one, 1, types[i]), PMIX_SUCCESS);
        for (size_t k = 0; k < N; k++)
            if (k != i)
                assert_int_equal(PMIx_Data_unpack(NULL, buffer, &back, &n, types[k]), PMIX_ERR_TYPE_MISMATCH);
        back = 0;
        assert_int_equal(PMIx_Data_unpack(NULL, buffer, &back, &n, types[i]), PMIX_SUCCESS);
        assert_int_equal(back, 1);
        PMIX_DATA_BUFFER_RELEASE(buffer);
    }
}

static void test_unpack_hostile(void **state)
{
    static const struct { const char *bytes; pmix_status_t want; } cases[] = {
        { "x", PMIX_ERR_UNPACK_FAILURE },
        { "6 1", PMIX_ERR_UNPACK_FAILURE },
        { "6 1 3", PMIX_ERR_UNPACK_FAILURE },
        { "6 -1 3\n[1]", PMIX_ERR_UNPACK_FAILURE },
        { "65536 1 3\n[1]", PMIX_ERR_UNPACK_FAILURE },
        { "6 1 99999999999999999999\n[1]", PMIX_ERR_UNPACK_FAILURE },
        { "6 1 4\n[1]", PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER },
        { "6 1 5\n[1,2]", PMIX_ERR_UNPACK_FAILURE },
        { "6 2 3\n[1]", PMIX_ERR_UNPACK_INADEQUATE_SPACE },
        { "6 1 3\n{1}", PMIX_ERR_UNPACK_FAILURE },
        { "6 1 3\n[1]", PMIX_SUCCESS },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        pmix_byte_object_t bytes = { (char *)cases[i].bytes, strlen(cases[i].bytes) };
        pmix_data_buffer_t buffer = PMIX_DATA_BUFFER_STATIC_INIT;
        int32_t n = 1;
        int out = 0;

        assert_int_equal(PMIx_Data_embed(&buffer, &bytes), PMIX_SUCCESS);
        assert_int_equal(PMIx_Data_unpack(NULL, &buffer, &out, &n, PMIX_INT), cases[i].want);
        assert_int_equal(out, cases[i].want == PMIX_SUCCESS);
        PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    }
}

static void test_copy_and_print(void **state)
{
    pmix_proc_t proc, *copy;
    char word[] = "text", mark[] = ">", *text;
    void *out;

    (void)state;
    PMIX_PROC_LOAD(&proc, "job", 3);
    assert_int_equal(PMIx_Data_copy((void **)&copy, &proc, PMIX_PROC), PMIX_SUCCESS);
    assert_memory_equal(copy, &proc, sizeof proc);
    PMIX_PROC_FREE(copy, 1);
    assert_int_equal(PMIx_Data_copy(&out, word, PMIX_STRING), PMIX_SUCCESS);
    assert_string_equal(out, "text");
    free(out);
    assert_int_equal(PMIx_Data_print(&text, mark, &proc, PMIX_PROC), PMIX_SUCCESS);
    assert_ptr_equal(text, strchr(text, '>'));
    assert_non_null(strstr(text, "job"));
    free(text);
    assert_int_equal(PMIx_Data_print(&text, NULL, word, PMIX_STRING), PMIX_SUCCESS);
    assert_non_null(strstr(text, "text"));
    free(text);
    assert_int_equal(PMIx_Data_copy(&out, &proc, 44), PMIX_ERR_UNKNOWN_DATA_TYPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_argv),
        cmocka_unit_test(test_setenv),
        cmocka_unit_test(test_pack), cmocka_unit_test(test_unpack_types),
        cmocka_unit_test(test_unpack_hostile),
        cmocka_unit_test(test_copy_and_print),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
