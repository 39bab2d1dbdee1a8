/* Tests of pmix_ext/util_value.c, util_list.c and util_struct.c where the standard says
 * little or libpmix does other things; the rest is in test_pmix_standard.c. */
#include "pmix_ext/pmix_ext.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static void test_values_owned(void **state)
{
    pmix_value_t v;
    char text[] = "hello";
    pmix_byte_object_t bytes = { text, 3 };
    pmix_data_array_t array, *copy = NULL;
    void *out = NULL;
    size_t size;

    (void)state;
    PMIX_VALUE_LOAD(&v, &bytes, PMIX_BYTE_OBJECT);
    assert_int_equal(PMIx_Value_unload(&v, &out, &size), PMIX_SUCCESS);
    assert_true(size == 3 && out != v.data.bo.bytes);
    assert_memory_equal(out, "hel", 3);
    free(out);
    PMIX_VALUE_DESTRUCT(&v);
    assert_int_equal(v.type, PMIX_UNDEF);

    PMIX_VALUE_LOAD(&v, "a[1-3]", PMIX_REGEX);
    assert_int_equal(v.data.bo.size, 7);
    assert_string_equal(v.data.bo.bytes, "a[1-3]");
    PMIX_VALUE_DESTRUCT(&v);

    PMIX_DATA_ARRAY_CONSTRUCT(&array, 2, PMIX_STRING);
    ((char **)array.array)[1] = strdup("second");
    PMIX_VALUE_LOAD(&v, &array, PMIX_DATA_ARRAY);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
    assert_int_equal(PMIx_Value_unload(&v, (void **)&copy, NULL), PMIX_SUCCESS);
    PMIX_VALUE_DESTRUCT(&v);
    assert_string_equal(((char **)copy->array)[1], "second");
    PMIX_DATA_ARRAY_FREE(copy);
    assert_null(copy);
}

static void test_load_wrong(void **state)
{
    static const pmix_data_type_t none[] = { 26, 29, 44, PMIX_INFO, PMIX_QUERY, PMIX_VALUE,
                                             PMIX_KVAL, 70, 499, 500, UINT16_MAX };
    pmix_cpuset_t cpuset = PMIX_CPUSET_STATIC_INIT;
    pmix_value_t v = PMIX_VALUE_STATIC_INIT;
    char room[512] = "";
    void *place = room;
    size_t size;

    (void)state;
    for (size_t i = 0; i < LENGTH(none); i++) {
        assert_int_equal(PMIx_Value_load(&v, room, none[i]), PMIX_ERR_UNKNOWN_DATA_TYPE);
        assert_int_equal(v.type, PMIX_UNDEF);
    }
    assert_int_equal(PMIx_Value_load(NULL, room, PMIX_INT), PMIX_ERR_BAD_PARAM);
    assert_int_equal(PMIx_Value_load(&v, &cpuset, PMIX_PROC_CPUSET), PMIX_ERR_BAD_PARAM);
    assert_int_equal(PMIx_Value_unload(&v, &place, &size), PMIX_ERR_UNKNOWN_DATA_TYPE);
    assert_int_equal(PMIx_Value_unload(NULL, &place, &size), PMIX_ERR_BAD_PARAM);
    assert_int_equal(PMIx_Value_xfer(NULL, &v), PMIX_ERR_BAD_PARAM);
}

static void test_compare(void **state)
{
    pmix_value_t a, b;
    int five = 5, six = 6;

    (void)state;
    PMIX_VALUE_LOAD(&a, &five, PMIX_INT);
    PMIX_VALUE_LOAD(&b, &six, PMIX_INT);
    assert_int_equal(PMIx_Value_compare(&a, &b), PMIX_VALUE2_GREATER);
    assert_int_equal(PMIx_Value_compare(&b, &a), PMIX_VALUE1_GREATER);
    assert_int_equal(PMIx_Value_compare(&a, &a), PMIX_EQUAL);
    PMIX_VALUE_LOAD(&b, &five, PMIX_INT32);
    assert_int_equal(PMIx_Value_compare(&a, &b), PMIX_VALUE_TYPE_DIFFERENT);
    PMIX_VALUE_LOAD(&a, &five, PMIX_POINTER);
    assert_int_equal(PMIx_Value_compare(&a, &a), PMIX_VALUE_COMPARISON_NOT_AVAIL);
}

static void test_true(void **state)
{
    pmix_value_t v = PMIX_VALUE_STATIC_INIT;
    int one = 1;

    (void)state;
    assert_int_equal(PMIx_Value_true(&v), PMIX_BOOL_TRUE);
    PMIX_VALUE_LOAD(&v, "no", PMIX_STRING);
    assert_int_equal(PMIx_Value_true(&v), PMIX_BOOL_FALSE);
    PMIX_VALUE_DESTRUCT(&v);
    PMIX_VALUE_LOAD(&v, &one, PMIX_INT);
    assert_int_equal(PMIx_Value_true(&v), PMIX_NON_BOOL);
}

/* What is lent is not freed; a copy of it is its own. */
static void test_lent(void **state)
{
    pmix_info_t lent, copy;
    char text[] = "mine";

    (void)state;
    PMIX_INFO_CONSTRUCT(&lent);
    PMIX_LOAD_KEY(lent.key, "k");
    lent.value.type = PMIX_STRING;
    lent.value.data.string = text;
    PMIX_INFO_SET_PERSISTENT(&lent);
    PMIX_INFO_XFER(&copy, &lent);
    assert_false(PMIX_INFO_IS_PERSISTENT(&copy));
    PMIX_INFO_DESTRUCT(&lent);
    PMIX_INFO_DESTRUCT(&copy);
    assert_string_equal(text, "mine");
}

static void test_list_wrong(void **state)
{
    void *list = PMIx_Info_list_start();
    pmix_data_array_t array;
    pmix_info_t info;
    int one = 1;

    (void)state;
    assert_int_equal(PMIx_Info_load(&info, NULL, &one, PMIX_INT), PMIX_ERR_BAD_PARAM);
    assert_int_equal(PMIx_Info_list_add(list, "bad", &one, 44), PMIX_ERR_UNKNOWN_DATA_TYPE);
    assert_int_equal(PMIx_Info_list_add(list, NULL, &one, PMIX_INT), PMIX_ERR_BAD_PARAM);
    assert_int_equal(PMIx_Info_list_add(NULL, "k", &one, PMIX_INT), PMIX_ERR_BAD_PARAM);
    assert_int_equal(PMIx_Info_list_convert(list, &array), PMIX_ERR_EMPTY);
    PMIx_Info_list_release(list);
    PMIx_Info_list_release(NULL);
}

static void test_structs(void **state)
{
    pmix_regattr_t *attr, other;
    pmix_coord_t *coord;
    pmix_cpuset_t *cpuset;

    (void)state;
    PMIX_REGATTR_CREATE(attr, 1);
    PMIX_REGATTR_LOAD(attr, "NAME", "key", PMIX_INT, "what it is");
    PMIX_REGATTR_XFER(&other, attr);
    PMIX_REGATTR_FREE(attr, 1);
    assert_string_equal(other.name, "NAME");
    assert_string_equal(other.description[0], "what it is");
    PMIX_REGATTR_DESTRUCT(&other);

    PMIX_COORD_CREATE(coord, 2, 3);
    assert_int_equal(coord[1].dims, 3);
    coord[1].coord[2] = 5;
    PMIX_COORD_FREE(coord, 2);

    PMIX_CPUSET_CREATE(cpuset, 2);
    cpuset[1].source = strdup("hwloc");
    PMIX_CPUSET_FREE(cpuset, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_owned),
        cmocka_unit_test(test_load_wrong),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_true),
        cmocka_unit_test(test_lent),
        cmocka_unit_test(test_list_wrong),
        cmocka_unit_test(test_structs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
