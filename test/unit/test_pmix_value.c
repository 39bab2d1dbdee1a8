/* Tests of pmix_ext/value*.c: what is refused, limits, parts, memory, order, text. */
#include "pmix_ext/types.h"
#include "pmix_ext/value.h"
#include "test/unit/fault.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define PROC         "{\"nspace\":\"job\",\"rank\":3}"
#define VALUE(t, v)  "{\"type\":\"PMIX_" t "\",\"value\":" v "}"
#define VALUE_OF(t, v) "\"type\":\"PMIX_" t "\",\"value\":" v
#define ARRAY(t, v)  "{\"type\":\"PMIX_" t "\",\"array\":" v "}"
#define INFO(k, v)   "{\"key\":\"" k "\",\"type\":\"PMIX_INT\",\"value\":" v "}"

/* --- what is refused, and with which words ---------------------------------------- */

static const char not_json[] = "v: not JSON, byte ";

static const struct { pmix_data_type_t type; const char *text, *error; } refusals[] = {
    { PMIX_BOOL, "1", "v: an integer, want true or false" },
    { PMIX_INT8, "128", "v: 128 does not fit PMIX_INT8, -128 to 127" },
    { PMIX_INT8, "-129", "v: -129 does not fit PMIX_INT8, -128 to 127" },
    { PMIX_INT16, "1.0", "v: a number with a point or exponent, want an integer" },
    { PMIX_INT, "\"1\"", "v: a string, want an integer" },
    { PMIX_INT64, "\"9223372036854775808\"", "v: a string, want an integer" },
    { PMIX_INT64, "9223372036854775808",
      not_json },
    { PMIX_UINT16, "65536", "v: 65536 does not fit PMIX_UINT16, 0 to 65535" },
    { PMIX_UINT64, "-1", "v: -1 does not fit PMIX_UINT64, 0 to 18446744073709551615" },
    { PMIX_UINT64, "\"5\"", "v: '5', only numbers from 2^63 to 2^64 - 1 are strings" },
    { PMIX_UINT64, "\"18446744073709551616\"",
      "v: '18446744073709551616', only numbers from 2^63 to 2^64 - 1 are strings" },
    { PMIX_UINT64, "\"09223372036854775808\"",
      "v: '09223372036854775808', only numbers from 2^63 to 2^64 - 1 are strings" },
    { PMIX_SIZE, "\"\"", "v: '', only numbers from 2^63 to 2^64 - 1 are strings" },
    { PMIX_SIZE, "\"1x\"", "v: '1x', want an integer" },
    { PMIX_UINT32, "\"4294967296\"", "v: a string, want an integer" },
    { PMIX_SCOPE, "256", "v: 256 does not fit PMIX_SCOPE, 0 to 255" },
    { PMIX_STATUS, "\"PMIX_SUCCESS\"", "v: a string, want an integer" },
    { PMIX_FLOAT, "1e39", "v: 1e+39 does not fit PMIX_FLOAT" },
    { PMIX_FLOAT, "16777217", "v: 16777217 is no exact PMIX_FLOAT" },
    { PMIX_DOUBLE, "-9007199254740993", "v: -9007199254740993 is no exact PMIX_DOUBLE" },
    { PMIX_DOUBLE, "\"nan\"", "v: 'nan', want a number, \"NaN\", \"Infinity\" or \"-Infinity\"" },
    { PMIX_DOUBLE, "true", "v: true, want a number" },
    { PMIX_DOUBLE, "1e999", not_json },
    { PMIX_PROC_RANK, "4294967296", "v: 4294967296 is over a rank's limit" },
    { PMIX_PROC_RANK, "-1", "v: -1, a rank is not negative" },
    { PMIX_PROC_RANK, "4294967294", "v: 4294967294 is written \"wildcard\"" },
    { PMIX_PROC_RANK, "\"all\"", "v: there is no rank 'all'" },
    { PMIX_PROC_RANK, "null", "v: null, want a rank" },
    { PMIX_INFO_DIRECTIVES, "[\"required\",\"x\\u001b[2J\"]",
      "v[1]: there is no flag 'x\\x1B[2J'" },
    { PMIX_INFO_DIRECTIVES, "[3]", "v[0]: 1 is written \"required\"" },
    { PMIX_INFO_DIRECTIVES, "[0]", "v[0]: 0, want bits from 1 to 4294967295" },
    { PMIX_INFO_DIRECTIVES, "[true]", "v[0]: true, want a flag's name, or bits as a number" },
    { PMIX_INFO_DIRECTIVES, "1", "v: an integer, want an array of flags" },
    { PMIX_STRING, "\"a\\u0000\"",
      not_json },
    { PMIX_STRING, "\"\xff\"", not_json },
    { PMIX_STRING, "\"\xed\xa0\x80\"",
      not_json },
    { PMIX_STRING, "\"\\ud800\"",
      not_json },
    { PMIX_STRING, "{\"base64\":\"YQ==\"}", "v.base64: UTF-8 is to be a string" },
    { PMIX_STRING, "{\"base64\":\"\"}", "v.base64: UTF-8 is to be a string" },
    { PMIX_STRING, "{\"base64\":\"/wA=\"}", "v.base64: has a NUL" },
    { PMIX_STRING, "{\"base64\":1}", "v.base64: an integer, want a string of base64" },
    { PMIX_STRING, "{\"base64\":\"/w==\",\"a\":1}",
      "v: an object, want a string or {\"base64\":...}" },
    { PMIX_STRING, "[]", "v: an array, want a string" },
    { PMIX_BYTE_OBJECT, "\"YQ\"", "v: not base64" },
    { PMIX_BYTE_OBJECT, "\"YR==\"", "v: not base64" },
    { PMIX_BYTE_OBJECT, "\"YWJ=\"", "v: not base64" },
    { PMIX_BYTE_OBJECT, "\"Y===\"", "v: not base64" },
    { PMIX_BYTE_OBJECT, "\"====\"", "v: not base64" },
    { PMIX_BYTE_OBJECT, "\"YQ==YQ==\"", "v: not base64" },
    { PMIX_BYTE_OBJECT, "\"Y Q=\"", "v: not base64" },
    { PMIX_BYTE_OBJECT, "null", "v: null, want a string of base64" },
    { PMIX_ENVAR, "{\"envar\":\"A\",\"value\":\"b\",\"separator\":\"::\"}",
      "v.separator: more than one byte" },
    { PMIX_ENVAR, "{\"envar\":\"A\",\"value\":\"b\",\"separator\":null}",
      "v.separator: null, want a string" },
    { PMIX_UNDEF, "0", "v: an integer, want null" },
    { PMIX_PROC, "{\"nspace\":\"job\"}", "v.rank: nothing, want a rank" },
    { PMIX_PROC, "{\"nspace\":\"job\",\"rank\":1,\"rnak\":1}", "v: there is no member 'rnak'" },
    { PMIX_PROC, "{\"nspace\":\"job\",\"rank\":1,\"rank\":1}",
      not_json },
    { PMIX_PROC, "[]", "v: an array, want an object" },
    { PMIX_VALUE, "{\"value\":1}", "v.type: nothing, want the name of a type" },
    { PMIX_VALUE, "{\"type\":14,\"value\":1}", "v.type: an integer, want the name of a type" },
    { PMIX_VALUE, VALUE("NONE", "1"), "v.type: there is no type 'PMIX_NONE'" },
    { PMIX_VALUE, "{\"type\":\"PMIX_INT\"}", "v.value: nothing, want an integer" },
    { PMIX_VALUE, "{\"type\":\"PMIX_PROC\"}", "v.value: nothing, want an object" },
    { PMIX_VALUE, "{\"type\":\"PMIX_INT\",\"value\":1,\"flags\":[]}",
      "v: there is no member 'flags'" },
    { PMIX_VALUE, VALUE("INFO", "{}"), "v.type: PMIX_INFO is for arrays only" },
    { PMIX_VALUE, VALUE("POINTER", "0"), "v.value: PMIX_POINTER does not leave its process" },
    { PMIX_VALUE, VALUE("TOPO", "{}"), "v.value: PMIX_TOPO does not leave its process" },
    { PMIX_VALUE, VALUE("COMPRESSED_STRING", "\"\""),
      "v.value: PMIX_COMPRESSED_STRING does not leave its process" },
    { PMIX_VALUE, VALUE("PROC_RANK", "{\"type\":\"PMIX_INT\"}"),
      "v.value: an object, want a rank" },
    { PMIX_VALUE, VALUE("DATA_ARRAY", "{\"type\":\"PMIX_INT\"}"),
      "v.value.array: nothing, want an array" },
    { PMIX_VALUE, VALUE("DATA_ARRAY", ARRAY("KVAL", "[0]")),
      "v.value.array[0]: PMIX_KVAL does not leave its process" },
    { PMIX_VALUE, VALUE("DATA_ARRAY", "{\"type\":\"PMIX_INT\",\"array\":[],\"size\":0}"),
      "v.value: there is no member 'size'" },
    { PMIX_VALUE, VALUE("DATA_ARRAY", ARRAY("PROC", "[" PROC ",{\"nspace\":\"a\",\"rank\":-1}]")),
      "v.value.array[1].rank: -1, a rank is not negative" },
    { PMIX_QUERY, "{\"keys\":[\"a\",null]}", "v.keys[1]: null, want a string" },
    { PMIX_QUERY, "{\"keys\":\"a\"}", "v.keys: a string, want an array of strings" },
    { PMIX_QUERY, "{\"keys\":[],\"qualifiers\":[" INFO("a", "1") "," INFO("a", "true") "]}",
      "v.qualifiers[1].value: true, want an integer" },
    { PMIX_INFO, "{\"type\":\"PMIX_INT\",\"value\":1}", "v.key: nothing, want a string" },
    { PMIX_INT, "", not_json },
    { PMIX_INT, "1 2", not_json },
    { PMIX_BUFFER, "1", "v: there is no type 26" },
    { PMIX_DATA_TYPE_MAX, "1", "v: there is no type 500" },
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const char *text = refusals[i].text;
        char *exact = malloc(strlen(text) + 1);
        union { pmix_value_t v; pmix_info_t i; pmix_query_t q; } to;
        struct err e = { 0 };

        print_message("  %s\n", refusals[i].error);
        memcpy(exact, text, strlen(text));
        assert_int_equal(value_decode(refusals[i].type, exact, strlen(text), "v", &to, &e), -1);
        if (!strncmp(e.text, not_json, strlen(not_json)))     /* jansson's words follow */
            e.text[strlen(not_json)] = '\0';
        assert_string_equal(e.text, refusals[i].error);
        assert_int_equal(e.code, ERR_INVALID_VAL);
        free(exact);
    }
}

static void decode_ok(pmix_data_type_t type, const char *text, void *to)
{
    struct err e = { 0 };

    if (value_decode(type, text, strlen(text), "v", to, &e) < 0)
        fail_msg("%s: %s", text, e.text);
}

static void written_as(pmix_data_type_t type, const void *value, const char *text)
{
    struct buf out = BUF_INIT;
    struct err e = { 0 };

    if (value_encode(type, value, "v", &out, &e) < 0)
        fail_msg("%s: %s", text, e.text);
    assert_string_equal(buf_bytes(&out), text);
    buf_clear(&out);
}

/* What is read although it is not how it is written. */
static void test_accepted(void **state)
{
    static const struct { pmix_data_type_t type; const char *text, *written; } rows[] = {
        { PMIX_DOUBLE, "3", "3.0" },
        { PMIX_DOUBLE, "9007199254740992", "9007199254740992.0" },
        { PMIX_DOUBLE, "1E2", "100.0" },
        { PMIX_DOUBLE, "0.1000000000000000055511151231257827", "0.1" },
        { PMIX_FLOAT, "-16777216", "-16777216.0" },
        { PMIX_STRING, "\"\\ud83d\\ude00\\u0041\\/\\n\"", "\"\xf0\x9f\x98\x80" "A/\\u000a\"" },
        { PMIX_PROC, " { \"rank\" : 3 , \"nspace\" : \"job\" } ", PROC },
        { PMIX_QUERY, "{\"keys\":null,\"qualifiers\":[]}", "{\"keys\":null}" },
        { PMIX_INFO, "{\"value\":1,\"flags\":[],\"type\":\"PMIX_INT\",\"key\":\"a\"}",
          INFO("a", "1") },
        { PMIX_INFO, "{\"key\":\"a\",\"type\":\"PMIX_INT\",\"value\":1,"
                     "\"flags\":[\"array_end\",\"persistent\"]}", INFO("a", "1") },
        { PMIX_INFO_DIRECTIVES, "[65536,\"qualifier\",131072,\"required\"]",
          "[\"required\",\"qualifier\",196608]" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        union { pmix_value_t v; pmix_info_t i; pmix_query_t q; pmix_proc_t p; } to;

        print_message("  %s\n", rows[i].text);
        decode_ok(rows[i].type, rows[i].text, &to);
        written_as(rows[i].type, &to, rows[i].written);
        value_clear(rows[i].type, &to);
    }
}

/* --- what C has and cannot be written --------------------------------------------- */

static void not_written(pmix_data_type_t type, const void *value, enum err_code code,
                        const char *error)
{
    struct buf out = BUF_INIT;
    struct err e = { 0 };

    buf_str(&out, "before");
    assert_int_equal(value_encode(type, value, "v", &out, &e), -1);
    assert_string_equal(e.text, error);
    assert_int_equal(e.code, code);
    assert_string_equal(buf_bytes(&out), "before");
    buf_clear(&out);
}

static void test_not_written(void **state)
{
    pmix_value_t pointer = { PMIX_POINTER, { .ptr = NULL } }, none = { 71, { .ptr = NULL } };
    pmix_value_t info = { PMIX_INFO, { .ptr = NULL } };
    pmix_byte_object_t bo = { NULL, 1 };
    pmix_data_array_t nowhere = { PMIX_INT, 2, NULL }, unknown = { 26, 0, NULL };
    pmix_proc_t proc = { "\xff", 1 };

    (void)state;
    not_written(PMIX_VALUE, &pointer, ERR_INVALID_VAL,
                "v.value: PMIX_POINTER does not leave its process");
    not_written(PMIX_VALUE, &none, ERR_INVALID_VAL, "v.type: there is no type 71");
    not_written(PMIX_VALUE, &info, ERR_INVALID_VAL, "v.type: PMIX_INFO is for arrays only");
    not_written(PMIX_BYTE_OBJECT, &bo, ERR_INVALID_VAL, "v: 1 bytes at NULL");
    not_written(PMIX_DATA_ARRAY, &nowhere, ERR_INVALID_VAL, "v.array: 2 elements at NULL");
    not_written(PMIX_DATA_ARRAY, &unknown, ERR_INVALID_VAL, "v.type: there is no type 26");
    not_written(PMIX_PROC, &proc, ERR_INVALID_VAL, "v.nspace: not UTF-8");
    memset(proc.nspace, 'a', sizeof proc.nspace);
    not_written(PMIX_PROC, &proc, ERR_INVALID_VAL, "v.nspace: no NUL in 256 bytes");
    not_written(26, &proc, ERR_INVALID_VAL, "v: there is no type 26");
}

/* --- limits ----------------------------------------------------------------------- */

/* n arrays, one in the other. */
static char *nested(size_t n)
{
    static const char open[] = "{\"type\":\"PMIX_DATA_ARRAY\",\"array\":[";
    char *text = calloc(1, n * (sizeof open + 2) + 64);

    for (size_t i = 1; i < n; i++)
        strcat(text, open);
    strcat(text, ARRAY("BOOL", "[true]"));
    for (size_t i = 1; i < n; i++)
        strcat(text, "]}");
    return text;
}

static void test_depth(void **state)
{
    char *deepest = nested(VALUE_DEPTH), *deeper = nested(VALUE_DEPTH + 1);
    pmix_data_array_t inner, outer = { PMIX_DATA_ARRAY, 1, &inner }, copy;
    struct err e = { 0 };

    (void)state;
    decode_ok(PMIX_DATA_ARRAY, deepest, &inner);
    written_as(PMIX_DATA_ARRAY, &inner, deepest);
    assert_int_equal(value_copy(PMIX_DATA_ARRAY, &inner, &copy, &e), 0);
    value_clear(PMIX_DATA_ARRAY, &copy);
    assert_int_equal(value_copy(PMIX_DATA_ARRAY, &outer, &copy, &e), -1);
    assert_int_equal(e.code, ERR_LENGTH);
    not_written(PMIX_DATA_ARRAY, &outer, ERR_LENGTH,
                "v.array[0].array[0].array[0].array[0].array[0].array[0].array[0].array[0]"
                ".array[0].array[0].array[0].array[0].array[0].array[0].array[0].array[0]"
                ": more than 16 values and arrays within each other");
    value_clear(PMIX_DATA_ARRAY, &inner);
    assert_int_equal(value_decode(PMIX_DATA_ARRAY, deeper, strlen(deeper), "v", &copy, &e), -1);
    assert_int_equal(e.code, ERR_LENGTH);
    free(deepest);
    free(deeper);
}

/* By the words of the standard alone: decimal digits without a zero before them, ten at most, below
 * 2^32, and none that has a word of its own. */
static bool is_rank_text(const char *text)
{
    static const uint32_t words[] = { PMIX_RANK_UNDEF, PMIX_RANK_WILDCARD, PMIX_RANK_LOCAL_NODE,
                                      PMIX_RANK_INVALID, PMIX_RANK_LOCAL_PEERS };
    size_t n = strspn(text, "0123456789");
    unsigned long long number;

    if (!n || text[n] || n > 10 || (*text == '0' && n > 1))
        return false;
    number = strtoull(text, NULL, 10);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (number == words[i])
            return false;
    return number <= UINT32_MAX;
}

/* R10-09: whatever is written for a rank: 32 bits without a sign, as it was written, or an error. */
static void test_rank_texts(void **state)
{
    static const char *const odd[] = { "0", "00", "-1", "+1", "1.0", "1e0", "4294967295", "4294967296",
        "4294967290", "4294967244", "9999999999", "10000000000", "18446744073709551616", "", "0x1", "true", "[]" };
    enum { ODD = sizeof odd / sizeof *odd, TEXTS = 200000 };
    uint32_t seed = 1;
    unsigned good = 0;

    (void)state;
    for (int i = 0; i < TEXTS + ODD; i++) {
        char text[24];
        pmix_rank_t rank;
        struct err e = { 0 };
        bool taken;

        if (i < ODD) {
            strcpy(text, odd[i]);
        } else {
            size_t len = 1 + (seed = seed * 1664525 + 1013904223) % 12, at = 0;

            for (; at < len; at++)       /* mostly digits, and many 4s, 2s and 9s */
                text[at] = "0123456789429429-+.ex"[((seed = seed * 1664525 + 1013904223) >> 16) % 20];
            text[at] = 0;
        }
        if (!strcmp(text, "-0"))         /* which is 0 in JSON */
            continue;
        taken = value_decode(PMIX_PROC_RANK, text, strlen(text), "v", &rank, &e) == 0;
        if (taken != is_rank_text(text))
            fail_msg("'%s' is %s: %s", text, taken ? "taken" : "refused", e.text);
        if (taken)
            written_as(PMIX_PROC_RANK, &rank, text);
        good += taken;
    }
    assert_in_range(good, TEXTS / 100, TEXTS);
}

/* R10-16: arrays within arrays, five deep; empty ones of each type; of no type. */
static void test_arrays(void **state)
{
    pmix_data_array_t a, copy;
    struct err e = { 0 };
    char *five = nested(5);
    const pmix_data_array_t *at = &a;

    (void)state;
    decode_ok(PMIX_DATA_ARRAY, five, &a);
    for (int depth = 1; depth < 5; depth++, at = at->array) {
        assert_int_equal(at->type, PMIX_DATA_ARRAY);
        assert_int_equal(at->size, 1);
    }
    assert_int_equal(at->type, PMIX_BOOL);
    assert_true(*(bool *)at->array);
    assert_int_equal(value_copy(PMIX_DATA_ARRAY, &a, &copy, &e), 0);
    value_clear(PMIX_DATA_ARRAY, &a);
    written_as(PMIX_DATA_ARRAY, &copy, five);
    value_clear(PMIX_DATA_ARRAY, &copy);
    free(five);
    for (pmix_data_type_t type = 0; type < PMIX_DATA_TYPE_MAX; type++) {
        char text[100];

        if (!type_of(type) || type_of(type)->local)
            continue;
        snprintf(text, sizeof text, "{\"type\":\"%s\",\"array\":[]}", type_of(type)->name);
        decode_ok(PMIX_DATA_ARRAY, text, &a);
        assert_int_equal(a.type, type);
        assert_int_equal(a.size, 0);
        written_as(PMIX_DATA_ARRAY, &a, text);
        value_clear(PMIX_DATA_ARRAY, &a);
    }
    decode_ok(PMIX_DATA_ARRAY, ARRAY("UNDEF", "[null,null]"), &a);
    assert_int_equal(a.size, 2);
    written_as(PMIX_DATA_ARRAY, &a, ARRAY("UNDEF", "[null,null]"));
    value_clear(PMIX_DATA_ARRAY, &a);
}

static void test_lengths(void **state)
{
    char *text = malloc(VALUE_TEXT + 1), key[PMIX_MAX_KEYLEN + 40], *string, *back;
    struct err e = { 0 };
    pmix_info_t info;

    (void)state;
    memset(text, ' ', VALUE_TEXT + 1);
    text[0] = '1';
    assert_int_equal(value_decode(PMIX_INT, text, VALUE_TEXT, "v", &back, &e), 0);
    assert_int_equal(value_decode(PMIX_INT, text, VALUE_TEXT + 1, "v", &back, &e), -1);
    assert_string_equal(e.text, "v: 25165825 bytes of JSON, at most 25165824");
    assert_int_equal(e.code, ERR_LENGTH);
    string = text;
    text[VALUE_TEXT - 2] = '\0';
    decode_ok(PMIX_STRING, "\"\"", &back);
    value_clear(PMIX_STRING, &back);
    assert_int_equal(value_copy(PMIX_STRING, &string, &back, &e), 0);
    value_clear(PMIX_STRING, &back);
    text[VALUE_TEXT - 2] = 'x';
    text[VALUE_TEXT - 1] = '\0';
    not_written(PMIX_STRING, &string, ERR_LENGTH, "v: more than 25165824 bytes of JSON");
    free(text);

    snprintf(key, sizeof key, INFO("%0*d", "1"), PMIX_MAX_KEYLEN, 0);
    decode_ok(PMIX_INFO, key, &info);
    assert_int_equal(strlen(info.key), PMIX_MAX_KEYLEN);
    value_clear(PMIX_INFO, &info);
    snprintf(key, sizeof key, INFO("%0*d", "1"), PMIX_MAX_KEYLEN + 1, 0);
    assert_int_equal(value_decode(PMIX_INFO, key, strlen(key), "v", &info, &e), -1);
    assert_string_equal(e.text, "v.key: 512 bytes, at most 511");
}

/* --- rows of tables --------------------------------------------------------------- */

#define ROW_OF(ns, rank, host, path, numbers) \
    "{\"proc\":{\"nspace\":" ns ",\"rank\":" rank "},\"hostname\":" host \
    ",\"executable_name\":" path "," numbers "}"
#define NUMBERS(pid, code, state) \
    "\"pid\":" pid ",\"exit_code\":" code ",\"state\":" state
#define ROW(host) ROW_OF("\"j\"", "0", host, "\"/bin/prog\"", NUMBERS("7", "0", "5"))
#define ROW_NUMBERS(rank, numbers) ROW_OF("\"j\"", rank, "\"n0\"", "\"p\"", numbers)
#define A_FEW "/one/two/three/four/five/six/seven/eight"

/* A row, and how it is written if not so. */
static const struct { const char *name, *text, *written; } table_rows[] = {
    { "short", ROW("\"n\""), NULL },
    { "no text", ROW_OF("\"\"", "0", "\"\"", "\"\"", NUMBERS("0", "0", "0")), NULL },
    { "NULL", ROW("null"), NULL },
    { "long text", ROW("\"" A_FEW A_FEW A_FEW A_FEW A_FEW A_FEW "\""), NULL },
    { "long text, then none", ROW_OF("\"j\"", "0", "\"" A_FEW A_FEW "\"", "null",
      NUMBERS("1", "2", "3")), NULL },
    { "quote and backslash", ROW("\"a\\\"b\\\\c\""), NULL },
    { "control character", ROW("\"abcdefgh\\u001bi\""), NULL },
    { "escapes that need not be", ROW("\"\\u0061\\/\""), ROW("\"a/\"") },
    { "UTF-8", ROW("\"r\xC3\xA9seau\""), NULL },
    { "not UTF-8", ROW("{\"base64\":\"/2E=\"}"), NULL },
    { "not ASCII, in a namespace",
      ROW_OF("\"\xC3\xA9\"", "0", "\"n\"", "\"p\"", NUMBERS("1", "2", "3")), NULL },
    { "special rank", ROW_NUMBERS("\"wildcard\"", NUMBERS("1", "2", "3")), NULL },
    { "shorter word", ROW_NUMBERS("\"*\"", NUMBERS("1", "2", "3")),
      ROW_NUMBERS("\"wildcard\"", NUMBERS("1", "2", "3")) },
    { "last rank", ROW_NUMBERS("4294967244", NUMBERS("1", "2", "3")), NULL },
    { "rank with no word", ROW_NUMBERS("4294967245", NUMBERS("1", "2", "3")), NULL },
    { "largest numbers", ROW_NUMBERS("0", NUMBERS("2147483647", "2147483647", "255")), NULL },
    { "least numbers", ROW_NUMBERS("0", NUMBERS("-2147483648", "-2147483648", "0")), NULL },
    { "seven and eight digits", ROW_NUMBERS("9999999", NUMBERS("10000000", "-99999999", "1")),
      NULL },
    { "nine digits", ROW_NUMBERS("100000000", NUMBERS("100000001", "-100000000", "1")), NULL },
    { "minus nothing", ROW_NUMBERS("0", NUMBERS("-0", "0", "1")),
      ROW_NUMBERS("0", NUMBERS("0", "0", "1")) },
    { "white space", "{ \"proc\" :{\"nspace\":\"j\", \"rank\":0},\"hostname\": \"n\",\n"
      "\"executable_name\":\"/bin/prog\",\"pid\":7 ,\"exit_code\":0,\"state\":5 }",
      ROW("\"n\"") },
    { "another order", "{\"pid\":7,\"exit_code\":0,\"state\":5,\"executable_name\":\"/bin/prog\","
      "\"hostname\":\"n\",\"proc\":{\"rank\":0,\"nspace\":\"j\"}}", ROW("\"n\"") },
};

/* Each among others, first, in the middle and last. */
static void test_table_rows(void **state)
{
    static const char *const around[] = { "[%s]", "[%s," ROW("\"x\"") "]",
        "[" ROW("\"x\"") ",%s," ROW("\"y\"") "]", "[" ROW("\"x\"") ",%s]" };

    (void)state;
    for (size_t i = 0; i < 4 * sizeof table_rows / sizeof *table_rows; i++) {
        const char *written = table_rows[i / 4].written;
        char text[1000], want[1000];
        struct buf out = BUF_INIT;
        struct err e = { 0 };
        void *rows;
        size_t n;

        print_message("  %s\n", table_rows[i / 4].name);
        snprintf(text, sizeof text, around[i % 4], table_rows[i / 4].text);
        snprintf(want, sizeof want, around[i % 4], written ? written : table_rows[i / 4].text);
        if (value_decode_array(PMIX_PROC_INFO, text, strlen(text), "v", &rows, &n, &e) < 0)
            fail_msg("%s: %s", text, e.text);
        assert_int_equal(value_encode_array(PMIX_PROC_INFO, rows, n, "v", &out, &e), 0);
        assert_string_equal(buf_bytes(&out), want);
        buf_clear(&out);
        value_free_array(PMIX_PROC_INFO, rows, n);
    }
}

static void test_table_refused(void **state)
{
    static const struct { const char *row, *error; } rows[] = {
        { ROW_NUMBERS("0", NUMBERS("2147483648", "0", "0")),
          "v[1].pid: 2147483648 does not fit PMIX_PID, -2147483648 to 2147483647" },
        { ROW_NUMBERS("0", NUMBERS("0", "0", "256")),
          "v[1].state: 256 does not fit PMIX_PROC_STATE, 0 to 255" },
        { ROW_NUMBERS("0", NUMBERS("0", "1.5", "0")),
          "v[1].exit_code: a number with a point or exponent, want an integer" },
        { ROW_NUMBERS("0", NUMBERS("0", "0", "\"\"")), "v[1].state: a string, want an integer" },
        { ROW_NUMBERS("0", NUMBERS("01", "0", "0")), "v[1].pid: not JSON, byte " },
        { ROW_NUMBERS("4294967294", NUMBERS("0", "0", "0")),
          "v[1].proc.rank: 4294967294 is written \"wildcard\"" },
        { ROW("\"\xff\""), "v[1].hostname: not JSON, byte " },
        { ROW("\"a\x1b\""), "v[1].hostname: not JSON, byte " },
        { ROW("7"), "v[1].hostname: an integer, want a string" },
        { ROW_NUMBERS("0", NUMBERS("0", "0", "0") ",\"x\":1"), "v[1]: there is no member 'x'" },
        { ROW_NUMBERS("0", NUMBERS("0", "0", "0") ",\"pid\":1"), "v[1]: not JSON, byte " },
        { ROW_NUMBERS("0", "\"pid\":0,\"exit_code\":0"), "v[1].state: " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err e = { 0 };
        char text[1000];
        void *array;
        size_t n;

        print_message("  %s\n", rows[i].error);
        snprintf(text, sizeof text, "[" ROW("\"x\"") ",%s]", rows[i].row);
        assert_int_equal(value_decode_array(PMIX_PROC_INFO, text, strlen(text), "v", &array, &n,
                                            &e), -1);
        assert_memory_equal(e.text, rows[i].error, strlen(rows[i].error));
        assert_null(array);
        /* Wherever it ends, that is an error, and nothing behind it is looked at. */
        for (size_t len = strlen(text) - 1; len > 0; len--) {
            char *cut = malloc(len);

            assert_non_null(cut);
            memcpy(cut, text, len);
            assert_int_equal(value_decode_array(PMIX_PROC_INFO, cut, len, "v", &array, &n, &e), -1);
            free(cut);
        }
    }
}

/* Numbers of 64 bits, which are text where they are larger than JSON's readers take. */
static void test_long_numbers(void **state)
{
    static const uint64_t numbers[] = { 0, 9999999, 99999999, 100000000, 9999999999999999,
        10000000000000000, 999999999999999999, 1000000000000000000, INT64_MAX,
        (uint64_t)INT64_MAX + 1, UINT64_MAX };

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *quote = numbers[i] > INT64_MAX ? "\"" : "";
        pmix_net_stats_t net = { .net_interface = (char[]){ "eth0" } }, back;
        char text[400];

        net.num_bytes_recvd = numbers[i];
        snprintf(text, sizeof text,
                 "{\"net_interface\":\"eth0\",\"num_bytes_recvd\":%s%" PRIu64 "%s,"
                 "\"num_packets_recvd\":0,\"num_recv_errs\":0,\"num_bytes_sent\":0,"
                 "\"num_packets_sent\":0,\"num_send_errs\":0}", quote, numbers[i], quote);
        written_as(PMIX_NET_STATS, &net, text);
        decode_ok(PMIX_NET_STATS, text, &back);
        assert_int_equal(back.num_bytes_recvd, numbers[i]);
        value_clear(PMIX_NET_STATS, &back);
    }
}

/* --- parts ------------------------------------------------------------------------ */

static void test_parts(void **state)
{
    int numbers[1000];
    size_t n = sizeof numbers / sizeof *numbers, sent = 0, done, got, parts = 0;
    struct buf out = BUF_INIT;
    struct err e;
    void *back;

    (void)state;
    for (size_t i = 0; i < n; i++)
        numbers[i] = (int)(i * i);
    for (; sent < n; sent += done, parts++) {
        assert_int_equal(value_encode_part(PMIX_INT, numbers + sent, n - sent, 100, "v", &out,
                                           &done, &e), 0);
        assert_in_range(out.len, 1, 100);
        assert_int_equal(value_decode_array(PMIX_INT, buf_bytes(&out), out.len, "v", &back, &got,
                                            &e), 0);
        assert_int_equal(got, done);
        assert_memory_equal(back, numbers + sent, done * sizeof *numbers);
        value_free_array(PMIX_INT, back, got);
        buf_reset(&out);
    }
    assert_in_range(parts, 60, 80);
    assert_int_equal(value_encode_part(PMIX_INT, numbers, 2, 1, "v", &out, &done, &e), 0);
    assert_int_equal(done, 1);
    assert_string_equal(buf_bytes(&out), "[0]");
    assert_int_equal(value_encode_part(PMIX_INT, NULL, 0, 1, "v", &out, &done, &e), 0);
    assert_int_equal(done, 0);
    assert_string_equal(buf_bytes(&out), "[0][]");
    buf_clear(&out);
}

static void test_part_refused(void **state)
{
    char *at[] = { NULL, NULL };
    pmix_value_t values[] = { { PMIX_STRING, { .string = at[0] } }, { 26, { .ptr = NULL } } };
    struct buf out = BUF_INIT;
    struct err e;
    size_t done;

    (void)state;
    assert_int_equal(value_encode_part(PMIX_VALUE, values, 2, 1000, "v", &out, &done, &e), -1);
    assert_string_equal(e.text, "v[1].type: there is no type 26");
    assert_int_equal(out.len, 0);
    buf_clear(&out);
}

/* --- answers ---------------------------------------------------------------------- */

#define ANSWER(key, rest) "{\"query\":0,\"key\":\"" key "\"," rest "}"
#define INTS(v) "\"type\":\"PMIX_DATA_ARRAY\",\"value\":" ARRAY("INT", v)

#define PIECE(text, rest) "\"piece\":\"" text "\"" rest

/* An array that comes in three parts, between answers that come whole; the text of a value in
 * pieces. */
static void test_answers(void **state)
{
    static const char *const parts[] = {
        "[" ANSWER("a", "\"status\":-46") "," ANSWER("b", INTS("[1,2]") ",\"more\":true") "]",
        "[" ANSWER("b", INTS("[3,4,5]") ",\"more\":true") "]",
        "[" ANSWER("b", INTS("[]") ",\"status\":-24") "," ANSWER("c", INTS("[6]")) "]",
        "[" ANSWER("d", PIECE("{\\\"type\\\":\\\"PMIX_STR", ",\"more\":true")) "]",
        "[" ANSWER("d", PIECE("ING\\\",\\\"value\\\":\\\"te", ",\"more\":true")) "]",
        "[" ANSWER("d", PIECE("xt\\\"}", "")) "," ANSWER("e", PIECE("{\\\"type\\\":\\\"PMIX_UNDEF\\\",\\\"value\\\":null}",
                                                              "")) "]",
    };
    struct value_answer *list = NULL;
    const pmix_data_array_t *b;
    struct err e;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (value_decode_answers(parts[i], strlen(parts[i]), "r", &list, &n, &e) < 0)
            fail_msg("%s", e.text);
    assert_int_equal(n, 5);
    assert_string_equal(list[3].value.data.string, "text");
    assert_int_equal(list[0].status, -46);
    assert_int_equal(list[0].value.type, PMIX_UNDEF);
    assert_string_equal(list[1].key, "b");
    assert_int_equal(list[1].status, -24);
    assert_false(list[1].more);
    b = list[1].value.data.darray;
    assert_int_equal(b->size, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(((const int *)b->array)[i], i + 1);
    assert_int_equal(list[2].value.data.darray->size, 1);
    value_free_answers(list, n);
}

static const struct { const char *text, *error; } bad_answers[] = {
    { "{}", "r: an object, want an array" },
    { "[" ANSWER("c", INTS("[6]")) "]", "r[0]: not the rest of b" },
    { "[" ANSWER("b", "\"status\":-1") "]", "r[0]: not the rest of b" },
    { "[" ANSWER("b", "\"type\":\"PMIX_DATA_ARRAY\",\"value\":" ARRAY("INT8", "[1]")) "]",
      "r[0].value.array: PMIX_INT8, and before it was PMIX_INT" },
    { "[" ANSWER("b", INTS("[2,\"x\"]")) "]", "r[0].value.array[2]: a string, want an integer" },
    { "[" ANSWER("b", INTS("[2]")) "," ANSWER("c", VALUE_OF("INT", "1") ",\"more\":true") "]",
      "r[1].more: only arrays come in parts" },
    { "[" ANSWER("b", INTS("[2]")) "," ANSWER("c", "\"value\":1") "]",
      "r[1].type: nothing, want the name of a type" },
    { "[" ANSWER("b", PIECE("x", "")) "]", "r[0]: not the rest of b" },
    { "[" ANSWER("b", INTS("[2]")) "," ANSWER("c", PIECE("{", ",\"more\":true")) "," ANSWER("c", INTS("[2]")) "]",
      "r[2]: not the rest of c" },
    { "[" ANSWER("b", INTS("[2]")) "," ANSWER("c", PIECE("{", ",\"more\":true")) "," ANSWER("d", PIECE("}", "")) "]",
      "r[2]: not the rest of c" },
    { "[" ANSWER("b", INTS("[2]")) "," ANSWER("c", PIECE("{", "") "," INTS("[2]")) "]", "r[1].piece: and a value" },
    { "[" ANSWER("b", INTS("[2]")) "," ANSWER("c", PIECE("{", ",\"more\":true")) "," ANSWER("c", PIECE("]", "")) "]",
      "r[2].piece: not JSON, byte 1: want the name of a member" },
};

static void test_bad_answers(void **state)
{
    static const char first[] = "[" ANSWER("b", INTS("[1]") ",\"more\":true") "]";

    (void)state;
    for (size_t i = 0; i < sizeof bad_answers / sizeof *bad_answers; i++) {
        struct value_answer *list = NULL;
        const char *text = bad_answers[i].text;
        struct err e;
        size_t n = 0;

        print_message("  %s\n", bad_answers[i].error);
        assert_int_equal(value_decode_answers(first, strlen(first), "r", &list, &n, &e), 0);
        assert_int_equal(value_decode_answers(text, strlen(text), "r", &list, &n, &e), -1);
        assert_string_equal(e.text, bad_answers[i].error);
        value_free_answers(list, n);
    }
}

/* --- memory ----------------------------------------------------------------------- */

/* Something of all that is allocated. */
static const char everything[] =
    "[{\"key\":\"a\",\"type\":\"PMIX_DATA_ARRAY\",\"value\":" 
    ARRAY("QUERY", "[{\"keys\":[\"k\",\"l\"],"
    "\"qualifiers\":[" INFO("q", "1") "]}]") "},"
    "{\"key\":\"b\",\"type\":\"PMIX_PROC_INFO\",\"value\":{\"proc\":" PROC ",\"hostname\":\"h\","
    "\"executable_name\":{\"base64\":\"/w==\"},\"pid\":1,\"exit_code\":0,\"state\":0}},"
    "{\"key\":\"c\",\"type\":\"PMIX_BYTE_OBJECT\",\"value\":\"AAEC\"},"
    "{\"key\":\"d\",\"type\":\"PMIX_DATA_BUFFER\",\"value\":\"AAEC\"},"
    "{\"key\":\"e\",\"type\":\"PMIX_ENVAR\",\"value\":{\"envar\":\"A\",\"value\":\"b\","
    "\"separator\":\":\"}}]";

/* Each allocation fails in turn; nothing is left over (with ASan and valgrind, seen). */
static void test_no_memory(void **state)
{
    void *infos, *copy;
    struct err e = { 0 };
    long tries = 0, failed = 0;
    size_t n;
    int rc;

    (void)state;
    fault_begin();
    for (infos = NULL;; value_free_array(PMIX_INFO, infos, n)) {
        infos = &n;
        fault_after(tries++);
        rc = value_decode_array(PMIX_INFO, everything, strlen(everything), "v", &infos, &n, &e);
        fault_end();
        if (!fault_hit)
            break;
        failed += rc < 0;
        if (rc < 0) {                    /* else memory could only not be given back */
            assert_null(infos);
            assert_int_equal(e.code, ERR_NOMEM);
        }
    }
    assert_int_equal(rc, 0);
    assert_in_range(failed, 12, tries);
    tries = 0;
    do {
        fault_after(tries++);
        rc = value_copy_array(PMIX_INFO, infos, n, &copy, &e);
        fault_end();
        if (rc < 0)
            assert_string_equal(e.text, "out of memory");
    } while (rc < 0);
    assert_in_range(tries, 15, 50);
    value_free_array(PMIX_INFO, copy, n);
    tries = 0;
    do {
        struct buf out = BUF_INIT;

        fault_after(tries++);
        rc = value_encode_array(PMIX_INFO, infos, n, "v", &out, &e);
        fault_end();
        if (rc < 0)
            assert_string_equal(e.text, "v: out of memory");
        else
            assert_string_equal(buf_bytes(&out), everything);
        buf_clear(&out);
    } while (rc < 0);
    assert_in_range(tries, 3, 50);
    value_free_array(PMIX_INFO, infos, n);
}

/* A value that is another's is not freed with the info; a copy has its own. */
static void test_persistent(void **state)
{
    char text[] = "mine";
    pmix_info_t info = { "k", PMIX_INFO_PERSISTENT | PMIX_INFO_REQD,
                         { PMIX_STRING, { .string = text } } }, copy;
    struct err e;

    (void)state;
    assert_int_equal(value_copy(PMIX_INFO, &info, &copy, &e), 0);
    assert_int_equal(copy.flags, PMIX_INFO_REQD);
    assert_int_equal(value_compare(PMIX_INFO, &info, &copy), 0);
    assert_ptr_not_equal(copy.value.data.string, text);
    value_clear(PMIX_INFO, &copy);
    value_clear(PMIX_INFO, &info);
    assert_string_equal(text, "mine");
    assert_null(info.value.data.string);
}

static void test_copy_refused(void **state)
{
    pmix_topology_t topo = { NULL, NULL };
    pmix_value_t value = { PMIX_TOPO, { .topo = &topo } }, copy;
    pmix_value_t pointer = { PMIX_POINTER, { .ptr = &topo } };
    struct err e = { 0 };

    (void)state;
    assert_int_equal(value_copy(PMIX_VALUE, &value, &copy, &e), -1);
    assert_string_equal(e.text, "PMIX_TOPO cannot be copied");
    assert_int_equal(value_copy(PMIX_VALUE, &pointer, &copy, &e), 0);
    assert_ptr_equal(copy.data.ptr, &topo);
    value_clear(PMIX_VALUE, &copy);
}

/* --- order ------------------------------------------------------------------------ */

/* Each below the next. */
static const struct { pmix_data_type_t type; const char *text[6]; } orders[] = {
    { PMIX_INT8, { "-128", "-1", "0", "1", "127" } },
    { PMIX_UINT64, { "0", "9223372036854775807", "\"9223372036854775808\"",
                     "\"18446744073709551615\"" } },
    { PMIX_DOUBLE, { "\"-Infinity\"", "-1.5", "-0.0", "0.0", "\"Infinity\"", "\"NaN\"" } },
    { PMIX_STRING, { "null", "\"\"", "\"a\"", "\"b\"", "\"\xc3\xa4\"" } },
    { PMIX_BYTE_OBJECT, { "\"\"", "\"AA==\"", "\"AAA=\"", "\"/w==\"" } },
    { PMIX_BOOL, { "false", "true" } },
    { PMIX_PROC, { "{\"nspace\":\"a\",\"rank\":9}", "{\"nspace\":\"b\",\"rank\":1}",
                   "{\"nspace\":\"b\",\"rank\":2}", "{\"nspace\":\"b\",\"rank\":\"undef\"}" } },
    { PMIX_VALUE, { VALUE("INT", "5"), VALUE("INT", "6"), VALUE("UINT", "5") } },
    { PMIX_DATA_ARRAY, { ARRAY("INT", "[]"), ARRAY("INT", "[1]"), ARRAY("INT", "[1,1]"),
                         ARRAY("INT", "[2]"), ARRAY("UINT", "[]") } },
    { PMIX_QUERY, { "{\"keys\":null}", "{\"keys\":[]}", "{\"keys\":[\"a\"]}",
                    "{\"keys\":[\"a\",\"b\"]}",
                    "{\"keys\":[\"b\"]}",
                    "{\"keys\":[\"b\"],\"qualifiers\":[" INFO("a", "1") "]}" } },
};

static void test_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (size_t j = 0; j < 6 && orders[i].text[j]; j++)
            for (size_t k = 0; k < 6 && orders[i].text[k]; k++) {
                pmix_value_t a, b;               /* room for each of these types */
                pmix_proc_t p, q;
                bool proc = orders[i].type == PMIX_PROC;
                void *x = proc ? (void *)&p : (void *)&a, *y = proc ? (void *)&q : (void *)&b;
                int c;

                decode_ok(orders[i].type, orders[i].text[j], x);
                decode_ok(orders[i].type, orders[i].text[k], y);
                c = value_compare(orders[i].type, x, y);
                assert_int_equal((c > 0) - (c < 0), (j > k) - (j < k));
                value_clear(orders[i].type, x);
                value_clear(orders[i].type, y);
            }
}

/* --- text ------------------------------------------------------------------------- */

/* R10-25: a number without a word is shown as a number. */
static void test_print(void **state)
{
    static const struct { pmix_data_type_t type; const char *text, *shown; } rows[] = {
        { PMIX_VALUE, VALUE("UINT32", "5"), "PMIX_UINT32 5" },
        { PMIX_VALUE, VALUE("UNDEF", "null"), "PMIX_UNDEF" },
        { PMIX_VALUE, VALUE("PROC", "null"), "PMIX_PROC null" },
        { PMIX_VALUE, VALUE("STATUS", "-24"), "PMIX_STATUS PMIX_ERR_TIMEOUT (-24)" },
        { PMIX_VALUE, VALUE("STATUS", "-2999"), "PMIX_STATUS -2999" },
        { PMIX_VALUE, VALUE("PROC_STATE", "6"), "PMIX_PROC_STATE PMIX_PROC_STATE_CONNECTED (6)" },
        { PMIX_VALUE, VALUE("STATUS", "-4242"), "PMIX_STATUS -4242" },
        { PMIX_VALUE, VALUE("SCOPE", "200"), "PMIX_SCOPE 200" },
        { PMIX_VALUE, VALUE("DATA_RANGE", "200"), "PMIX_DATA_RANGE 200" },
        { PMIX_VALUE, VALUE("PERSIST", "200"), "PMIX_PERSIST 200" },
        { PMIX_VALUE, VALUE("DATA_TYPE", "600"), "PMIX_DATA_TYPE 600" },
        { PMIX_VALUE, VALUE("PROC_STATE", "200"), "PMIX_PROC_STATE 200" },
        { PMIX_VALUE, VALUE("JOB_STATE", "200"), "PMIX_JOB_STATE 200" },
        { PMIX_VALUE, VALUE("LINK_STATE", "200"), "PMIX_LINK_STATE 200" },
        { PMIX_VALUE, VALUE("ALLOC_DIRECTIVE", "200"), "PMIX_ALLOC_DIRECTIVE 200" },
        { PMIX_VALUE, VALUE("STRING", "\"a\\u001b[2J\\n\""), "PMIX_STRING \"a\\x1B[2J\\n\"" },
        { PMIX_VALUE, VALUE("DOUBLE", "0.5"), "PMIX_DOUBLE 0.5" },
        { PMIX_VALUE, VALUE("FLOAT", "\"NaN\""), "PMIX_FLOAT nan" },
        { PMIX_VALUE, VALUE("INFO_DIRECTIVES", "[\"required\",65536]"),
          "PMIX_INFO_DIRECTIVES required|0x10000" },
        { PMIX_VALUE, VALUE("BYTE_OBJECT", "\"AAECAwQ=\""),
          "PMIX_BYTE_OBJECT 5 bytes 00010203 04" },
        { PMIX_PROC, "{\"nspace\":\"job\",\"rank\":\"wildcard\"}",
          "{nspace: \"job\", rank: wildcard}" },
        { PMIX_INFO, "{\"key\":\"k\",\"type\":\"PMIX_DATA_ARRAY\",\"value\":" ARRAY("INFO", "["
          INFO("a", "1") "," INFO("b", "2") "]") ",\"flags\":[\"required\"]}",
          "{key: \"k\", PMIX_DATA_ARRAY of 2 PMIX_INFO\n"
          "  {key: \"a\", PMIX_INT 1, flags: none}\n"
          "  {key: \"b\", PMIX_INT 2, flags: none}, flags: required}" },
        { PMIX_QUERY, "{\"keys\":[\"a\",\"b\"],\"qualifiers\":[" INFO("q", "1") "]}",
          "{keys: [\"a\", \"b\"], qualifiers: 1\n  {key: \"q\", PMIX_INT 1, flags: none}}" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        union { pmix_value_t v; pmix_info_t i; pmix_query_t q; pmix_proc_t p; } to;
        struct buf out = BUF_INIT;

        decode_ok(rows[i].type, rows[i].text, &to);
        value_print(rows[i].type, &to, &out);
        assert_string_equal(buf_bytes(&out), rows[i].shown);
        value_clear(rows[i].type, &to);
        buf_clear(&out);
    }
}

/* Numbers of types that nobody knows are shown, not looked into. */
static void test_print_unknown(void **state)
{
    pmix_value_t value = { 71, { .ptr = &value } };
    struct buf out = BUF_INIT;

    (void)state;
    value_print(PMIX_VALUE, &value, &out);
    value_print(26, &value, &out);
    assert_string_equal(buf_bytes(&out), "(type 71)(type 26)");
    value_clear(26, &value);
    value_clear(PMIX_VALUE, &value);
    assert_int_equal(value.type, 0);
    buf_clear(&out);
}

/* A program's locale may have another decimal point. */
static void test_locale(void **state)
{
    char dir[] = "/tmp/test_pmix_value.XXXXXX", command[200];
    double d = -1234.5, back;
    int made;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8", dir);
    made = system(command);
    setenv("LOCPATH", dir, 1);
    if (made == 0) {
        assert_non_null(setlocale(LC_NUMERIC, "de_DE.UTF-8"));
        assert_string_equal(localeconv()->decimal_point, ",");
        written_as(PMIX_DOUBLE, &d, "-1234.5");
        decode_ok(PMIX_DOUBLE, "-1234.5", &back);
        assert_true(back == d);
        setlocale(LC_NUMERIC, "C");
    }
    snprintf(command, sizeof command, "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
    if (made != 0)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_not_written),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_rank_texts),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_table_rows),
        cmocka_unit_test(test_table_refused),
        cmocka_unit_test(test_long_numbers),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_part_refused),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_bad_answers),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_persistent),
        cmocka_unit_test(test_copy_refused),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_print_unknown),
        cmocka_unit_test(test_locale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
