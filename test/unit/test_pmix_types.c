/* Tests of pmix_ext/value*.c and types.c: every type as JSON and back. */
#include "pmix_ext/types.h"
#include "pmix_ext/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* --- text to C and back: the one way to write each --------------------------------------- */

#define PROC  "{\"nspace\":\"job\",\"rank\":3}"
#define DISK                                                                                \
    "{\"disk\":\"sda\",\"num_reads_completed\":1,\"num_reads_merged\":2,"                     \
    "\"num_sectors_read\":3,\"milliseconds_reading\":4,\"num_writes_completed\":5,"            \
    "\"num_writes_merged\":6,\"num_sectors_written\":7,\"milliseconds_writing\":8,"            \
    "\"num_ios_in_progress\":9,\"milliseconds_io\":10,\"weighted_milliseconds_io\":11}"
#define NET                                                                                 \
    "{\"net_interface\":\"eth0\",\"num_bytes_recvd\":1,\"num_packets_recvd\":2,"              \
    "\"num_recv_errs\":3,\"num_bytes_sent\":4,\"num_packets_sent\":5,\"num_send_errs\":6}"
#define VALUE(type, value) "{\"type\":\"PMIX_" type "\",\"value\":" value "}"

/* What these values are written as, and nothing else. */
static const char *const values[] = {
    VALUE("UNDEF", "null"),
    VALUE("BOOL", "true"), VALUE("BOOL", "false"),
    VALUE("BYTE", "0"), VALUE("BYTE", "255"),
    VALUE("STRING", "\"\""), VALUE("STRING", "null"), VALUE("STRING", "\"a\\\"\\\\/\\u0001\""),
    VALUE("STRING", "\"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\""),
    VALUE("STRING", "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""),
    VALUE("STRING", "{\"base64\":\"/w==\"}"),
    VALUE("SIZE", "0"), VALUE("SIZE", "\"18446744073709551615\""),
    VALUE("PID", "-1"), VALUE("PID", "2147483647"),
    VALUE("INT", "-2147483648"), VALUE("INT8", "-128"), VALUE("INT8", "127"),
    VALUE("INT16", "-32768"), VALUE("INT16", "32767"), VALUE("INT32", "-2147483648"),
    VALUE("INT64", "-9223372036854775808"), VALUE("INT64", "9223372036854775807"),
    VALUE("UINT", "4294967295"), VALUE("UINT8", "255"), VALUE("UINT16", "65535"),
    VALUE("UINT32", "4294967295"), VALUE("UINT64", "9223372036854775807"),
    VALUE("UINT64", "\"9223372036854775808\""), VALUE("UINT64", "\"18446744073709551615\""),
    VALUE("FLOAT", "0.1"), VALUE("FLOAT", "-0.0"), VALUE("FLOAT", "1e-45"),
    VALUE("FLOAT", "3.4028235e+38"), VALUE("FLOAT", "\"NaN\""), VALUE("FLOAT", "16777216.0"),
    VALUE("DOUBLE", "0.1"), VALUE("DOUBLE", "5e-324"), VALUE("DOUBLE", "1.7976931348623157e+308"),
    VALUE("DOUBLE", "0.30000000000000004"), VALUE("DOUBLE", "-0.0"), VALUE("DOUBLE", "1e+100"),
    VALUE("DOUBLE", "\"NaN\""), VALUE("DOUBLE", "\"Infinity\""), VALUE("DOUBLE", "\"-Infinity\""),
    VALUE("DOUBLE", "2.225073858507201e-308"),
    VALUE("TIMEVAL", "{\"sec\":-1,\"usec\":999999}"), VALUE("TIME", "1700000000"),
    VALUE("STATUS", "-1"), VALUE("STATUS", "0"), VALUE("STATUS", "-3000"),
    VALUE("PROC", PROC), VALUE("PROC", "null"),
    VALUE("PROC", "{\"nspace\":\"\",\"rank\":\"wildcard\"}"),
    VALUE("BYTE_OBJECT", "\"\""), VALUE("BYTE_OBJECT", "\"AA==\""),
    VALUE("BYTE_OBJECT", "\"AP8=\""), VALUE("BYTE_OBJECT", "\"/+/7\""),
    VALUE("PERSIST", "4"), VALUE("PERSIST", "255"), VALUE("SCOPE", "200"),
    VALUE("DATA_RANGE", "7"), VALUE("INFO_DIRECTIVES", "[]"),
    VALUE("INFO_DIRECTIVES", "[\"required\",\"array_end\",\"processed\",\"qualifier\","
                             "\"persistent\",4294967264]"),
    VALUE("DATA_TYPE", "500"), VALUE("PROC_STATE", "62"),
    VALUE("PROC_INFO", "{\"proc\":" PROC ",\"hostname\":\"n0\",\"executable_name\":\"/a b\","
                       "\"pid\":17,\"exit_code\":-9,\"state\":5}"),
    VALUE("PROC_INFO", "{\"proc\":" PROC ",\"hostname\":null,\"executable_name\":null,"
                       "\"pid\":0,\"exit_code\":0,\"state\":0}"),
    VALUE("DATA_ARRAY", "null"),
    VALUE("DATA_ARRAY", "{\"type\":\"PMIX_UNDEF\",\"array\":[]}"),
    VALUE("DATA_ARRAY", "{\"type\":\"PMIX_UNDEF\",\"array\":[null,null]}"),
    VALUE("DATA_ARRAY", "{\"type\":\"PMIX_PROC\",\"array\":[" PROC "," PROC "]}"),
    VALUE("DATA_ARRAY", "{\"type\":\"PMIX_STRING\",\"array\":[\"a\",null,\"\"]}"),
    VALUE("DATA_ARRAY", "{\"type\":\"PMIX_PROC_NSPACE\",\"array\":[\"a\",\"b\"]}"),
    VALUE("DATA_ARRAY", "{\"type\":\"PMIX_VALUE\",\"array\":[" VALUE("INT8", "1") "]}"),
    VALUE("DATA_ARRAY", "{\"type\":\"PMIX_DATA_ARRAY\",\"array\":[{\"type\":\"PMIX_DATA_ARRAY\","
                        "\"array\":[{\"type\":\"PMIX_BOOL\",\"array\":[true,false]}]}]}"),
    VALUE("DATA_ARRAY", "{\"type\":\"PMIX_PDATA\",\"array\":[{\"proc\":" PROC ",\"key\":\"k\","
                        "\"type\":\"PMIX_INT\",\"value\":1}]}"),
    VALUE("DATA_ARRAY", "{\"type\":\"PMIX_REGATTR\",\"array\":[{\"name\":\"PMIX_X\",\"string\":"
                        "\"pmix.x\",\"type\":15,\"description\":[\"a\",\"b\"]}]}"),
    VALUE("PROC_RANK", "0"), VALUE("PROC_RANK", "4294967244"), VALUE("PROC_RANK", "\"undef\""),
    VALUE("PROC_RANK", "\"local_node\""), VALUE("PROC_RANK", "\"invalid\""),
    VALUE("PROC_RANK", "\"local_peers\""),
    VALUE("ALLOC_DIRECTIVE", "128"), VALUE("IOF_CHANNEL", "65535"),
    VALUE("ENVAR", "{\"envar\":\"PATH\",\"value\":\"/x\",\"separator\":\":\"}"),
    VALUE("ENVAR", "{\"envar\":\"A\",\"value\":null}"),
    VALUE("COORD", "{\"view\":2,\"coord\":[1,4294967295]}"),
    VALUE("REGEX", "\"cg==\""), VALUE("JOB_STATE", "3"), VALUE("LINK_STATE", "2"),
    VALUE("GEOMETRY", "{\"fabric\":1,\"uuid\":\"u\",\"osname\":\"o\",\"coordinates\":["
                      "{\"view\":1,\"coord\":[]},{\"view\":0,\"coord\":[7]}]}"),
    VALUE("DEVICE_DIST", "{\"uuid\":\"u\",\"osname\":null,\"type\":\"18446744073709551615\","
                         "\"mindist\":1,\"maxdist\":65535}"),
    VALUE("ENDPOINT", "{\"uuid\":\"u\",\"osname\":\"o\",\"endpt\":\"AA==\"}"),
    VALUE("DEVTYPE", "2"), VALUE("LOCTYPE", "16384"), VALUE("COMPRESSED_BYTE_OBJECT", "\"eA==\""),
    VALUE("PROC_NSPACE", "\"job\""), VALUE("DATA_BUFFER", "\"AAEC\""),
    VALUE("PROC_STATS", "{\"node\":\"n\",\"proc\":" PROC ",\"pid\":1,\"cmd\":\"c\",\"state\":\"R\","
          "\"time\":{\"sec\":1,\"usec\":2},\"percent_cpu\":99.5,\"priority\":-20,"
          "\"num_threads\":4,\"pss\":1.0,\"vsize\":2.0,\"rss\":3.0,\"peak_vsize\":4.0,"
          "\"processor\":7,\"sample_time\":{\"sec\":3,\"usec\":4}}"),
    VALUE("NODE_STATS", "{\"node\":\"n\",\"la\":0.5,\"la5\":1.0,\"la15\":2.0,\"total_mem\":3.0,"
          "\"free_mem\":4.0,\"buffers\":5.0,\"cached\":6.0,\"swap_cached\":7.0,"
          "\"swap_total\":8.0,\"swap_free\":9.0,\"mapped\":10.0,"
          "\"sample_time\":{\"sec\":1,\"usec\":2},\"diskstats\":[" DISK "],\"netstats\":["
          NET "]}"),
    VALUE("DISK_STATS", DISK), VALUE("NET_STATS", NET),
    VALUE("STOR_MEDIUM", "64"), VALUE("STOR_ACCESS", "32"), VALUE("STOR_PERSIST", "1"),
    VALUE("STOR_ACCESS_TYPE", "3"),
};

static void decode_ok(pmix_data_type_t type, const char *text, void *to)
{
    struct err e = { 0 };

    if (value_decode(type, text, strlen(text), "value", to, &e) < 0)
        fail_msg("%s: %s", text, e.text);
}

static void written_as(pmix_data_type_t type, const void *value, const char *text)
{
    struct buf out = BUF_INIT;
    struct err e = { 0 };

    if (value_encode(type, value, "value", &out, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    assert_string_equal(buf_bytes(&out), text);
    buf_clear(&out);
}

/* Read, copied, compared and written again. */
static void there_and_back(pmix_data_type_t type, const char *text, size_t size)
{
    void *value = malloc(size), *again = malloc(size);
    struct err e = { 0 };

    print_message("  %s\n", text);
    decode_ok(type, text, value);
    written_as(type, value, text);
    assert_int_equal(value_copy(type, value, again, &e), 0);
    assert_int_equal(value_compare(type, value, again), 0);
    value_clear(type, value);
    written_as(type, again, text);
    value_clear(type, again);
    free(value);
    free(again);
}

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        there_and_back(PMIX_VALUE, values[i], sizeof(pmix_value_t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
