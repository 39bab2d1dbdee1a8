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

/* --- text to C and back: the one way to write each -------------------------------- */

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

/* Every byte in a string, which is UTF-8 or not, and in bytes. */
static void test_every_byte(void **state)
{
    char string[2] = "", *text = string;
    pmix_byte_object_t bo;
    unsigned char all[256];
    struct buf out = BUF_INIT;
    struct err e;
    char *back;

    (void)state;
    for (int c = 1; c < 256; c++) {
        *string = (char)c;
        all[c] = (unsigned char)c;
        assert_int_equal(value_encode(PMIX_STRING, &text, "v", &out, &e), 0);
        decode_ok(PMIX_STRING, buf_bytes(&out), &back);
        assert_string_equal(back, string);
        assert_int_equal(*buf_bytes(&out), c < 128 ? '"' : '{');
        value_clear(PMIX_STRING, &back);
        buf_reset(&out);
    }
    all[0] = 0;
    for (size_t n = 0; n <= sizeof all; n++) {
        bo = (pmix_byte_object_t){ (char *)all, n };
        assert_int_equal(value_encode(PMIX_BYTE_OBJECT, &bo, "v", &out, &e), 0);
        decode_ok(PMIX_BYTE_OBJECT, buf_bytes(&out), &bo);
        assert_int_equal(bo.size, n);
        assert_memory_equal(bo.bytes ? bo.bytes : "", all, n);
        value_clear(PMIX_BYTE_OBJECT, &bo);
        buf_reset(&out);
    }
    buf_clear(&out);
}

/* --- C to text: each type is where the standard's struct has it ------------------- */

/* What comes from C code that knows the members, not the table. */
#define IS(number, member, is, text)                                                       \
    do {                                                                                   \
        pmix_value_t v = { .type = PMIX_##number };                                        \
        v.data.member = is;                                                                \
        written_as(PMIX_VALUE, &v, VALUE(#number, text));                                  \
    } while (0)

static void test_scalars_in_c(void **state)
{
    (void)state;
    IS(BOOL, flag, true, "true");
    IS(BYTE, byte, 200, "200");
    IS(STRING, string, (char *)(uintptr_t)"x", "\"x\"");
    IS(SIZE, size, 5, "5");
    IS(PID, pid, -5, "-5");
    IS(INT, integer, -6, "-6");
    IS(INT8, int8, -7, "-7");
    IS(INT16, int16, -8, "-8");
    IS(INT32, int32, -9, "-9");
    IS(INT64, int64, INT64_MIN, "-9223372036854775808");
    IS(UINT, uint, 6, "6");
    IS(UINT8, uint8, 7, "7");
    IS(UINT16, uint16, 8, "8");
    IS(UINT32, uint32, 9, "9");
    IS(UINT64, uint64, UINT64_MAX, "\"18446744073709551615\"");
    IS(FLOAT, fval, 0.1f, "0.1");
    IS(DOUBLE, dval, 0.1, "0.1");
    IS(TIME, time, 3, "3");
    IS(STATUS, status, PMIX_ERR_TIMEOUT, "-24");
    IS(PROC_RANK, rank, PMIX_RANK_WILDCARD, "\"wildcard\"");
    IS(PERSIST, persist, PMIX_PERSIST_INVALID, "255");
    IS(SCOPE, scope, PMIX_GLOBAL, "3");
    IS(DATA_RANGE, range, PMIX_RANGE_CUSTOM, "6");
    IS(PROC_STATE, state, PMIX_PROC_STATE_TERM_NON_ZERO, "62");
    IS(ALLOC_DIRECTIVE, adir, PMIX_ALLOC_EXTEND, "2");
    IS(LINK_STATE, linkstate, PMIX_LINK_UP, "2");
    IS(JOB_STATE, jstate, PMIX_JOB_STATE_TERMINATED, "20");
    IS(LOCTYPE, locality, PMIX_LOCALITY_NONLOCAL, "32768");
    IS(DEVTYPE, devtype, PMIX_DEVTYPE_GPU, "2");
    IS(TIMEVAL, tv, ((struct timeval){ 1, 2 }), "{\"sec\":1,\"usec\":2}");
}

static void test_structs_in_c(void **state)
{
    char a[] = "a", b[] = "b", *list[] = { a, b, NULL };
    uint32_t at[] = { 1, 2 };
    pmix_nspace_t nspace = "job";
    pmix_proc_t proc = { "job", 3 };
    pmix_proc_info_t pinfo = { proc, a, b, 4, 5, 6 };
    pmix_coord_t coord = { 1, at, 2 };
    pmix_geometry_t geometry = { 9, a, b, &coord, 1 };
    pmix_device_distance_t distance = { a, b, 1, 2, 3 };
    pmix_endpoint_t endpoint = { a, b, { a, 1 } };
    pmix_data_buffer_t buffer = { a, a + 1, a, 2, 1 };
    pmix_data_array_t darray = { PMIX_PROC, 1, &proc };
    pmix_info_t info = { "k", PMIX_INFO_REQD, { PMIX_INT, { .integer = 1 } } };
    pmix_query_t query = { list, &info, 1 };
    pmix_app_t app = { a, list, list, b, 2, &info, 1 };
    pmix_pdata_t pdata = { { "job", 3 }, "k", { PMIX_INT, { .integer = 1 } } };
    pmix_regattr_t regattr = { a, "k", PMIX_INT, list };

    (void)state;
#define INFO "{\"key\":\"k\",\"type\":\"PMIX_INT\",\"value\":1,\"flags\":[\"required\"]}"
    IS(PROC_NSPACE, nspace, &nspace, "\"job\"");
    IS(PROC, proc, &proc, PROC);
    IS(BYTE_OBJECT, bo, ((pmix_byte_object_t){ a, 1 }), "\"YQ==\"");
    IS(REGEX, bo, ((pmix_byte_object_t){ a, 2 }), "\"YQA=\"");
    IS(PROC_INFO, pinfo, &pinfo,
       "{\"proc\":" PROC ",\"hostname\":\"a\",\"executable_name\":\"b\",\"pid\":4,"
       "\"exit_code\":5,\"state\":6}");
    IS(DATA_ARRAY, darray, &darray, "{\"type\":\"PMIX_PROC\",\"array\":[" PROC "]}");
    IS(ENVAR, envar, ((pmix_envar_t){ a, b, ':' }),
       "{\"envar\":\"a\",\"value\":\"b\",\"separator\":\":\"}");
    IS(COORD, coord, &coord, "{\"view\":1,\"coord\":[1,2]}");
    IS(GEOMETRY, geometry, &geometry,
       "{\"fabric\":9,\"uuid\":\"a\",\"osname\":\"b\",\"coordinates\":["
       "{\"view\":1,\"coord\":[1,2]}]}");
    IS(DEVICE_DIST, devdist, &distance,
       "{\"uuid\":\"a\",\"osname\":\"b\",\"type\":1,\"mindist\":2,\"maxdist\":3}");
    IS(ENDPOINT, endpoint, &endpoint, "{\"uuid\":\"a\",\"osname\":\"b\",\"endpt\":\"YQ==\"}");
    IS(DATA_BUFFER, dbuf, &buffer, "\"YQ==\"");
    written_as(PMIX_INFO, &info, INFO);
    written_as(PMIX_QUERY, &query, "{\"keys\":[\"a\",\"b\"],\"qualifiers\":[" INFO "]}");
    written_as(PMIX_APP, &app, "{\"cmd\":\"a\",\"argv\":[\"a\",\"b\"],\"env\":[\"a\",\"b\"],"
                               "\"cwd\":\"b\",\"maxprocs\":2,\"info\":[" INFO "]}");
    written_as(PMIX_PDATA, &pdata,
               "{\"proc\":" PROC ",\"key\":\"k\",\"type\":\"PMIX_INT\",\"value\":1}");
    written_as(PMIX_REGATTR, &regattr, "{\"name\":\"a\",\"string\":\"k\",\"type\":6,"
                                       "\"description\":[\"a\",\"b\"]}");
}

static void test_statistics_in_c(void **state)
{
    char a[] = "a";
    pmix_disk_stats_t disk = { a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
    pmix_net_stats_t net = { a, 1, 2, 3, 4, 5, 6 };
    pmix_proc_stats_t proc = {
        .node = a, .proc = { "job", 3 }, .pid = 1, .cmd = a, .state = 'R', .time = { 2, 3 },
        .percent_cpu = 4, .priority = 5, .num_threads = 6, .pss = 7, .vsize = 8, .rss = 9,
        .peak_vsize = 10, .processor = 11, .sample_time = { 12, 13 }
    };
    pmix_node_stats_t node = {
        .node = a, .la = 1, .la5 = 2, .la15 = 3, .total_mem = 4, .free_mem = 5, .buffers = 6,
        .cached = 7, .swap_cached = 8, .swap_total = 9, .swap_free = 10, .mapped = 11,
        .sample_time = { 12, 13 }, .diskstats = &disk, .ndiskstats = 1
    };

    (void)state;
    IS(DISK_STATS, dkstats, &disk,
       "{\"disk\":\"a\",\"num_reads_completed\":1,\"num_reads_merged\":2,\"num_sectors_read\":3,"
       "\"milliseconds_reading\":4,\"num_writes_completed\":5,\"num_writes_merged\":6,"
       "\"num_sectors_written\":7,\"milliseconds_writing\":8,\"num_ios_in_progress\":9,"
       "\"milliseconds_io\":10,\"weighted_milliseconds_io\":11}");
    IS(NET_STATS, netstats, &net,
       "{\"net_interface\":\"a\",\"num_bytes_recvd\":1,\"num_packets_recvd\":2,"
       "\"num_recv_errs\":3,\"num_bytes_sent\":4,\"num_packets_sent\":5,\"num_send_errs\":6}");
    IS(PROC_STATS, pstats, &proc,
       "{\"node\":\"a\",\"proc\":" PROC ",\"pid\":1,\"cmd\":\"a\",\"state\":\"R\","
       "\"time\":{\"sec\":2,\"usec\":3},\"percent_cpu\":4.0,\"priority\":5,\"num_threads\":6,"
       "\"pss\":7.0,\"vsize\":8.0,\"rss\":9.0,\"peak_vsize\":10.0,\"processor\":11,"
       "\"sample_time\":{\"sec\":12,\"usec\":13}}");
    disk.disk = NULL;
    IS(NODE_STATS, ndstats, &node,
       "{\"node\":\"a\",\"la\":1.0,\"la5\":2.0,\"la15\":3.0,\"total_mem\":4.0,\"free_mem\":5.0,"
       "\"buffers\":6.0,\"cached\":7.0,\"swap_cached\":8.0,\"swap_total\":9.0,"
       "\"swap_free\":10.0,\"mapped\":11.0,\"sample_time\":{\"sec\":12,\"usec\":13},"
       "\"diskstats\":[{\"disk\":null,\"num_reads_completed\":1,\"num_reads_merged\":2,"
       "\"num_sectors_read\":3,\"milliseconds_reading\":4,\"num_writes_completed\":5,"
       "\"num_writes_merged\":6,\"num_sectors_written\":7,\"milliseconds_writing\":8,"
       "\"num_ios_in_progress\":9,\"milliseconds_io\":10,\"weighted_milliseconds_io\":11}],"
       "\"netstats\":[]}");
}

/* --- any value at all ------------------------------------------------------------- */

static uint64_t seed;

static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545F4914F6CDD1D;
}

static size_t draw_below(size_t n)
{
    return (size_t)(draw() >> 33) % n;
}

/* All numbers, but those at the ends more often. */
static void draw_number(void *to, size_t size)
{
    static const uint64_t ends[] = { 0, 1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN };
    uint64_t n = draw_below(3) ? draw() : ends[draw_below(5)] >> (draw_below(2) * (64 - 8 * size));

    memcpy(to, &n, size);            /* the low bytes, here */
}

static void draw_text(char *to, size_t most, bool utf8)
{
    static const char *const pieces[] = { "a", "/", "\"", "\\", "\n", "\x01", "\x7f", "\xc3\xa4",
                                          "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xff", "\xc0\x80" };
    size_t len = 0;

    *to = '\0';
    for (size_t n = draw_below(8); n--;) {
        const char *piece = pieces[draw_below(utf8 ? 10 : 12)];

        if (len + strlen(piece) >= most)
            return;
        strcpy(to + len, piece);
        len += strlen(piece);
    }
}

static char *draw_string(void)
{
    char text[64];

    draw_text(text, sizeof text, draw_below(4));
    return strdup(text);
}

static void draw_value(const struct type *t, void *to, unsigned depth);

static const struct type *draw_type(bool in_value, unsigned depth)
{
    for (;;) {
        const struct type *t = type_of((pmix_data_type_t)draw_below(70));

        if (t && !t->local && !(in_value && t->place == PLACE_NONE) &&
            (depth < 4 || (t->form != FORM_ARRAY && t->form != FORM_VALUE &&
                           t->form != FORM_RECORD)))
            return t;
    }
}

static void *draw_array(const struct type *t, size_t *n, unsigned depth)
{
    char *array;

    *n = draw_below(4);
    array = *n ? calloc(*n, t->size) : NULL;
    for (size_t i = 0; i < *n; i++)
        draw_value(t, array + i * t->size, depth + 1);
    return array;
}

static void draw_record(const struct type *t, char *to, unsigned depth)
{
    for (const struct field *f = t->fields; f->length; f++) {
        void *behind = NULL;
        size_t n = draw_below(4);

        if (f->holds == HOLDS_COUNTED) {
            behind = draw_array(field_type(f), &n, depth);
            memcpy(to + f->count, &n, sizeof n);
            memcpy(to + f->offset, &behind, sizeof behind);
        } else if (f->holds == HOLDS_LIST) {
            char **list = draw_below(3) ? calloc(n + 1, sizeof *list) : NULL;

            for (size_t i = 0; list && i < n; i++)
                list[i] = draw_string();
            memcpy(to + f->offset, &list, sizeof list);
        } else {
            draw_value(field_type(f), to + f->offset, depth);
        }
    }
    if (t == type_of(PMIX_INFO))             /* its value is its own */
        ((pmix_info_t *)to)->flags &= ~(pmix_info_directives_t)PMIX_INFO_PERSISTENT;
}

static void draw_inside(pmix_value_t *v, unsigned depth)
{
    const struct type *t = draw_type(true, depth);

    v->type = type_number(t);
    if (t->place == PLACE_INSIDE) {
        draw_value(t, &v->data, depth + 1);
    } else if (draw_below(8)) {
        v->data.ptr = calloc(1, t->size);
        draw_value(t, v->data.ptr, depth + 1);
    }
}

static void draw_value(const struct type *t, void *to, unsigned depth)
{
    pmix_data_array_t *array = to;
    pmix_byte_object_t *bo = to;
    pmix_data_buffer_t *buffer = to;
    char *text;

    switch (t->form) {
    case FORM_NONE:
        break;
    case FORM_BOOL:
        *(bool *)to = draw_below(2);
        break;
    case FORM_CHAR:
        *(char *)to = (char)draw();
        break;
    case FORM_STRING:
        text = draw_below(8) ? draw_string() : NULL;
        memcpy(to, &text, sizeof text);
        break;
    case FORM_CHARS:
        draw_text(to, t->size, true);
        break;
    case FORM_BYTES:
        bo->size = draw_below(9);
        bo->bytes = bo->size ? malloc(bo->size) : NULL;
        for (size_t i = 0; i < bo->size; i++)
            bo->bytes[i] = (char)draw();
        break;
    case FORM_BUFFER:
        buffer->base_ptr = calloc(1, 8);
        draw_number(buffer->base_ptr, 8);
        buffer->bytes_used = draw_below(9);
        break;
    case FORM_RECORD:
        draw_record(t, to, depth);
        break;
    case FORM_VALUE:
        draw_inside(to, depth);
        break;
    case FORM_ARRAY:
        t = draw_type(false, depth);
        array->type = type_number(t);
        array->array = draw_array(t, &array->size, depth);
        break;
    default:
        draw_number(to, t->size);    /* all bits: denormals, NaN, numbers nobody knows */
    }
}

static void test_any_value(void **state)
{
    const struct type *t;
    struct err e = { 0 };
    struct buf once = BUF_INIT, twice = BUF_INIT;

    (void)state;
    for (uint64_t i = 1; i <= 20000; i++) {
        void *value, *back, *copy;
        pmix_data_type_t number;

        seed = i * 0x9E3779B97F4A7C15;
        t = draw_type(false, 0);
        number = type_number(t);
        value = calloc(1, t->size);
        back = malloc(t->size);
        copy = malloc(t->size);
        draw_value(t, value, 0);
        if (value_encode(number, value, "v", &once, &e) < 0)
            fail_msg("seed %d, %s: %s", (int)i, t->name, e.text);
        if (value_decode(number, buf_bytes(&once), once.len, "v", back, &e) < 0)
            fail_msg("seed %d, %s: %s: %s", (int)i, t->name, buf_bytes(&once), e.text);
        assert_int_equal(value_copy(number, value, copy, &e), 0);
        if (value_compare(number, value, back) || value_compare(number, value, copy))
            fail_msg("seed %d, %s: not what it was: %s", (int)i, t->name, buf_bytes(&once));
        assert_int_equal(value_encode(number, back, "v", &twice, &e), 0);
        assert_string_equal(buf_bytes(&once), buf_bytes(&twice));
        value_clear(number, value);
        value_clear(number, back);
        value_clear(number, copy);
        free(value);
        free(back);
        free(copy);
        buf_reset(&once);
        buf_reset(&twice);
    }
    buf_clear(&once);
    buf_clear(&twice);
}

/* --- the page --------------------------------------------------------------------- */

static char *read_page(void)
{
    FILE *f = fopen("pmix_ext/PROTOCOL.md", "r");
    char *text = calloc(1, 1 << 20);
    size_t n;

    assert_non_null(f);
    n = fread(text, 1, (1 << 20) - 1, f);
    assert_in_range(n, 1, (1 << 20) - 2);
    fclose(f);
    return text;
}

/* The members as the page has them. */
static void add_fields(const struct type *t, char *to)
{
    const char *comma = "{";

    for (const struct field *f = t->fields; f->length; f++, comma = ",") {
        if (f->holds == HOLDS_MEMBERS)
            to += sprintf(to, "%s\"type\",\"value\"", comma);
        else
            to += sprintf(to, "%s\"%.*s\"%s", comma, field_name_length(f), field_name(f),
                          f->optional ? "?" : "");
    }
    sprintf(to, "}");
}

/* What the page says of a type, up to the next, without blanks. */
static void find_entry(const char *page, const char *start, char *to)
{
    const char *line = strstr(page, start);

    if (!line)
        fail_msg("the page has no line '%s'", start + 1);
    line += strlen(start);
    while (*line && !(*line == '\n' && (line[1] == '\n' || line[6] != ' '))) {
        if (*line != ' ' && *line != '\n')
            *to++ = *line;
        line++;
    }
    *to = '\0';
}

static void test_protocol_page(void **state)
{
    char *page = read_page(), start[80], entry[4096], members[2048];
    size_t lines = 0;

    (void)state;
    for (int i = 0; i <= PMIX_DATA_TYPE_MAX; i++) {
        const struct type *t = type_of((pmix_data_type_t)i);

        snprintf(start, sizeof start, "\n    %2d PMIX_", i);
        assert_int_equal(t != NULL, strstr(page, start) != NULL);
        if (!t)
            continue;
        lines++;
        assert_ptr_equal(type_named(t->name, strlen(t->name)), t);
        assert_int_equal(type_number(t), i);
        snprintf(start, sizeof start, "\n    %2d %s", i, t->name);
        find_entry(page, start, entry);
        print_message("  %s: %s\n", t->name, entry);
        assert_int_equal(t->local, !strcmp(entry, "notsent"));
        assert_true(t->local || t->form != FORM_OPAQUE);
        if (t->local)
            continue;
        assert_int_equal(t->place == PLACE_NONE, strstr(entry, "inarraysonly") != NULL);
        assert_int_equal(t->place == PLACE_BEHIND || t->form == FORM_STRING,
                         strstr(entry, "ornull") != NULL && t->place != PLACE_NONE);
        if (t->form != FORM_RECORD)
            continue;
        add_fields(t, members);
        assert_non_null(strstr(entry, members));
    }
    assert_int_equal(lines, 67);
    free(page);
}

/* --- words ------------------------------------------------------------------------ */

/* A word that is just as long as its array would have lost its end without a warning. */
static void test_words(void **state)
{
    size_t words = 0;

    (void)state;
    for (int i = 0; i <= PMIX_DATA_TYPE_MAX; i++) {
        const struct type *t = type_of((pmix_data_type_t)i);

        for (const struct word *w = t ? t->words : NULL; w && *w->text; w++, words++)
            if (!memchr(w->text, '\0', sizeof w->text))
                fail_msg("%s: no room for '%.*s'", t->name, (int)sizeof w->text, w->text);
    }
    assert_true(words > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_scalars_in_c),
        cmocka_unit_test(test_structs_in_c),
        cmocka_unit_test(test_statistics_in_c),
        cmocka_unit_test(test_any_value),
        cmocka_unit_test(test_protocol_page),
        cmocka_unit_test(test_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
