/* Tests of pmix_ext/names.c and unsupported.c. */
#include "pmix_ext/names.h"
#include "pmix_ext/pmix_ext_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void test_strings(void **state)
{

    (void)state;
    assert_string_equal(PMIx_Error_string(PMIX_ERR_TIMEOUT), "PMIX_ERR_TIMEOUT");
    assert_string_equal(PMIx_Error_string(PMIX_ERR_JOB_TERMINATED), "PMIX_EVENT_JOB_END");
    assert_string_equal(PMIx_Error_string(-3999), "unknown");
    assert_string_equal(PMIx_Error_string(1), "unknown");
    assert_string_equal(status_meaning(PMIX_ERR_NO_PERMISSIONS), "not permitted");
    assert_null(status_meaning(-3999));
    assert_string_equal(PMIx_Proc_state_string(5), "PMIX_PROC_STATE_RUNNING");
    assert_string_equal(PMIx_Proc_state_string(255), "unknown");
    assert_string_equal(PMIx_Job_state_string(1), "PMIX_JOB_STATE_AWAITING_ALLOC");
    assert_string_equal(PMIx_Scope_string(3), "PMIX_GLOBAL");
    assert_string_equal(PMIx_Persistence_string(255), "PMIX_PERSIST_INVALID");
    assert_string_equal(PMIx_Data_range_string(4), "PMIX_RANGE_SESSION");
    assert_string_equal(PMIx_Data_type_string(14), "PMIX_UINT32");
    assert_string_equal(PMIx_Data_type_string(44), "unknown");
    assert_string_equal(PMIx_Alloc_directive_string(3), "PMIX_ALLOC_RELEASE");
    assert_string_equal(PMIx_Link_state_string(2), "PMIX_LINK_UP");
    assert_string_equal(PMIx_Device_type_string(2), "PMIX_DEVTYPE_GPU");
    assert_string_equal(PMIx_Device_type_string(3), "unknown");
    assert_int_equal(strncmp(PMIx_Get_version(), "mpiexec_lite ", 13), 0);
}

/* R10-26: those that are made of bits, and comparisons: every one, and unknown ones beside known
 * ones. */
static void test_bits(void **state)
{
    static const struct { uint16_t bits; const char *text; } channels[] = {
        { PMIX_FWD_STDIN_CHANNEL, "stdin" }, { PMIX_FWD_STDOUT_CHANNEL, "stdout" },
        { PMIX_FWD_STDERR_CHANNEL, "stderr" }, { PMIX_FWD_STDDIAG_CHANNEL, "stddiag" },
        { 6, "stdout stderr" }, { 0xff, "stdin stdout stderr stddiag" }, { 0x10, "unknown" },
    };
    static const struct { uint32_t bit; const char *text; } flags[] = {
        { PMIX_INFO_REQD, "required" }, { PMIX_INFO_ARRAY_END, "array_end" },
        { PMIX_INFO_REQD_PROCESSED, "processed" }, { PMIX_INFO_QUALIFIER, "qualifier" },
        { PMIX_INFO_PERSISTENT, "persistent" },
    };
    enum { FLAGS = sizeof flags / sizeof *flags };

    (void)state;
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++)
        assert_string_equal(PMIx_IOF_channel_string(channels[i].bits), channels[i].text);
    for (size_t i = 0; i <= FLAGS; i++)          /* the last: a bit that nobody knows */
        for (size_t k = 0; k < FLAGS; k++) {
            uint32_t bit = i < FLAGS ? flags[i].bit : 0x00800000;
            char *text = PMIx_Info_directives_string(bit | flags[k].bit);

            assert_non_null(text);
            assert_non_null(strstr(text, flags[k].text));
            assert_true(i == FLAGS || strstr(text, flags[i].text));
            free(text);
        }
    assert_string_equal(PMIx_Value_comparison_string((pmix_value_cmp_t)77), "unknown");
}

/* All that are in lists of this file alone. */
static void test_devices_and_comparisons(void **state)
{
#define ROW(name) { name, #name }
    static const struct { pmix_device_type_t number; const char *name; } devices[] = {
        ROW(PMIX_DEVTYPE_UNKNOWN), ROW(PMIX_DEVTYPE_BLOCK), ROW(PMIX_DEVTYPE_GPU),
        ROW(PMIX_DEVTYPE_NETWORK), ROW(PMIX_DEVTYPE_OPENFABRICS), ROW(PMIX_DEVTYPE_DMA),
        ROW(PMIX_DEVTYPE_COPROC),
    };
    static const struct { pmix_value_cmp_t number; const char *name; } comparisons[] = {
        ROW(PMIX_EQUAL), ROW(PMIX_VALUE1_GREATER), ROW(PMIX_VALUE2_GREATER),
        ROW(PMIX_VALUE_TYPE_DIFFERENT), ROW(PMIX_VALUE_INCOMPATIBLE_OBJECTS),
        ROW(PMIX_VALUE_COMPARISON_NOT_AVAIL),
    };
#undef ROW

    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        assert_string_equal(PMIx_Device_type_string(devices[i].number), devices[i].name);
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        assert_string_equal(PMIx_Value_comparison_string(comparisons[i].number),
                            comparisons[i].name);
}

/* Every row of both tables, under its own name or that of an earlier row. */
static void test_all_rows(void **state)
{
    static const struct { pmix_status_t number; const char *name; } statuses[] = {
#define STATUS(name, meaning) { name, #name },
#include "pmix_ext/statuses.def"
#undef STATUS
    };
    static const struct { const char *name, *key; } attributes[] = {
#define ATTRIBUTE(name, type) { #name, name },
#include "pmix_ext/attributes.def"
#undef ATTRIBUTE
    };

    (void)state;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        size_t first = 0;

        while (statuses[first].number != statuses[i].number)
            first++;
        assert_string_equal(PMIx_Error_string(statuses[i].number), statuses[first].name);
    }
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        const char *name = PMIx_Get_attribute_name(attributes[i].key);

        assert_string_equal(PMIx_Get_attribute_string(attributes[i].name), attributes[i].key);
        assert_string_equal(PMIx_Get_attribute_string(name), attributes[i].key);
    }
}

static void test_attributes(void **state)
{
    (void)state;
    assert_string_equal(PMIx_Get_attribute_string("PMIX_RANK"), "pmix.rank");
    assert_string_equal(PMIx_Get_attribute_name("pmix.rank"), "PMIX_RANK");
    assert_string_equal(PMIx_Get_attribute_string("mine"), "mine");
    assert_string_equal(PMIx_Get_attribute_name("mine"), "mine");
    /* Of several names, the one in use. */
    assert_string_equal(PMIx_Get_attribute_name("pmix.alloc.net"), "PMIX_ALLOC_FABRIC");
    assert_string_equal(PMIx_Get_attribute_string("PMIX_ALLOC_NETWORK"), "pmix.alloc.net");
    assert_int_equal(attribute_named("PMIX_JOB_SIZE")->type, PMIX_UINT32);
    assert_int_equal(attribute_of_key("pmix.qry.ptable")->type, PMIX_DATA_ARRAY);
    assert_null(attribute_of_key("pmix.none"));
}

static void test_unsupported(void **state)
{
    pmix_topology_t topo;
    pmix_nspace_t job = "job";

    (void)state;
    assert_int_equal(PMIx_server_delete_process_set(job), PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(PMIx_Load_topology(&topo), PMIX_ERR_NOT_SUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings), cmocka_unit_test(test_bits),
        cmocka_unit_test(test_devices_and_comparisons),
        cmocka_unit_test(test_all_rows),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_unsupported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
