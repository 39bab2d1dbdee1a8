/* Tests of pmix_ext/value_run.c: what is read in a run of members is what is read token by
 * token, and what is refused is refused with the same words. */
#include "pmix_ext/value.h"
#include "test/unit/spaced.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* What came of a text: the value, written again, or the error without the byte's number. */
static struct buf outcome(pmix_data_type_t type, const char *text, size_t len)
{
    char *exact = malloc(len + !len);    /* ASan sees one byte too far */
    struct buf out = BUF_INIT;
    struct err e = { 0 };
    char *byte;
    void *values;
    size_t n;

    memcpy(exact, text, len);
    if (value_decode_array(type, exact, len, "v", &values, &n, &e) == 0) {
        assert_int_equal(value_encode_array(type, values, n, "v", &out, &e), 0);
        value_free_array(type, values, n);
    } else {
        byte = strstr(e.text, "byte ");
        if (byte)
            memmove(byte, byte + strcspn(byte, ":"), strlen(byte + strcspn(byte, ":")) + 1);
        buf_printf(&out, "%d %s", (int)e.code, e.text);
    }
    free(exact);
    return out;
}

static void same_either_way(pmix_data_type_t type, const char *text, size_t len)
{
    struct buf other = spaced(text, len);
    struct buf a = outcome(type, text, len), b = outcome(type, buf_bytes(&other), other.len);

    assert_string_equal(buf_bytes(&a), buf_bytes(&b));
    buf_clear(&a);
    buf_clear(&b);
    buf_clear(&other);
}

#define PROC(rank)      "[{\"nspace\":\"j\",\"rank\":" rank "}]"
#define STATE(state)    "[{\"proc\":{\"nspace\":\"j\",\"rank\":0},\"hostname\":\"h\"," \
                        "\"executable_name\":\"e\",\"pid\":1,\"exit_code\":0,\"state\":" state "}]"
#define HOST(host)      "[{\"proc\":{\"nspace\":\"j\",\"rank\":0},\"hostname\":" host "," \
                        "\"executable_name\":\"e\",\"pid\":-1,\"exit_code\":0,\"state\":15}]"
#define TIME(sec, usec) "[{\"sec\":" sec ",\"usec\":" usec "}]"

static const struct { const char *name; pmix_data_type_t type; const char *text; } texts[] = {
    { "a row as it is written", PMIX_PROC_INFO, HOST("\"node0\"") },
    { "no string", PMIX_PROC_INFO, HOST("null") },
    { "an empty string", PMIX_PROC_INFO, HOST("\"\"") },
    { "escapes", PMIX_PROC_INFO, HOST("\"a\\u0041\\n\\\\\"") },
    { "UTF-8", PMIX_PROC_INFO, HOST("\"stra\xc3\x9f" "e\"") },
    { "not UTF-8", PMIX_PROC_INFO, HOST("\"abcdefgh\xff\"") },
    { "bytes", PMIX_PROC_INFO, HOST("{\"base64\":\"/w==\"}") },
    { "a control character", PMIX_PROC_INFO, HOST("\"abcdefghi\x1f\"") },
    { "a number for a string", PMIX_PROC_INFO, HOST("5") },
    { "state at its limit", PMIX_PROC_INFO, STATE("255") },
    { "state over it", PMIX_PROC_INFO, STATE("256") },
    { "state below 0", PMIX_PROC_INFO, STATE("-1") },
    { "a point", PMIX_PROC_INFO, STATE("1.0") },
    { "an exponent", PMIX_PROC_INFO, STATE("1e1") },
    { "a zero before", PMIX_PROC_INFO, STATE("01") },
    { "no number", PMIX_PROC_INFO, STATE("") },
    { "half a number", PMIX_PROC_INFO, STATE("-") },
    { "a rank", PMIX_PROC, PROC("4294967279") },
    { "a rank that has a name", PMIX_PROC, PROC("4294967295") },
    { "a rank by name", PMIX_PROC, PROC("\"wildcard\"") },
    { "a rank over the limit", PMIX_PROC, PROC("4294967296") },
    { "a rank below 0", PMIX_PROC, PROC("-0") },
    { "the least and the most", PMIX_TIMEVAL, TIME("-9223372036854775808", "9223372036854775807") },
    { "18 digits", PMIX_TIMEVAL, TIME("999999999999999999", "-999999999999999999") },
    { "19 digits", PMIX_TIMEVAL, TIME("1000000000000000000", "-1000000000000000000") },
    { "20 digits", PMIX_TIMEVAL, TIME("10000000000000000000", "0") },
    { "members in another order", PMIX_PROC, "[{\"rank\":1,\"nspace\":\"j\"}]" },
    { "a member twice", PMIX_PROC, "[{\"nspace\":\"j\",\"nspace\":\"j\",\"rank\":1}]" },
    { "a member too many", PMIX_PROC, "[{\"nspace\":\"j\",\"rank\":1,\"x\":1}]" },
    { "a member missing", PMIX_PROC, "[{\"nspace\":\"j\"}]" },
    { "none at all", PMIX_PROC, "[{}]" },
    { "nested, one missing", PMIX_PROC_INFO, "[{\"proc\":{\"nspace\":\"j\"},\"hostname\":\"h\"}]" },
    { "a comma at the end", PMIX_PROC, "[{\"nspace\":\"j\",\"rank\":1,}]" },
    { "a comma too many", PMIX_PROC, "[{,\"nspace\":\"j\",\"rank\":1}]" },
    { "infos", PMIX_INFO, "[{\"key\":\"a\",\"type\":\"PMIX_INT\",\"value\":1},{\"key\":\"b\","
      "\"type\":\"PMIX_PROC\",\"value\":{\"nspace\":\"j\",\"rank\":2},\"flags\":[\"required\"]}]" },
    { "an array of records in a record", PMIX_NODE_STATS, "[{\"node\":\"a\",\"diskstats\":[]}]" },
};

static void test_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        print_message("  %s\n", texts[i].name);
        same_either_way(texts[i].type, texts[i].text, strlen(texts[i].text));
    }
}

/* Wherever a text ends too early. */
static void test_cut(void **state)
{
    static const char text[] = HOST("\"node0\"");

    (void)state;
    for (size_t len = 0; len < sizeof text; len++)
        same_either_way(PMIX_PROC_INFO, text, len);
}

/* A namespace of n bytes, which has room for PMIX_MAX_NSLEN. */
static void test_room(void **state)
{
    char text[PMIX_MAX_NSLEN + 100];

    (void)state;
    for (int n = PMIX_MAX_NSLEN - 1; n <= PMIX_MAX_NSLEN + 1; n++) {
        snprintf(text, sizeof text, "[{\"nspace\":\"%0*d\",\"rank\":1}]", n, 0);
        same_either_way(PMIX_PROC, text, strlen(text));
    }
}

/* An array of more bytes than pages are asked for at once: every element is there. */
static void test_long(void **state)
{
    enum { N = 3000 };
    pmix_proc_t *procs = calloc(N, sizeof *procs);
    struct buf text = BUF_INIT;
    struct err e = { 0 };
    void *back;
    size_t n;

    (void)state;
    for (int i = 0; i < N; i++) {
        snprintf(procs[i].nspace, sizeof procs[i].nspace, "job%d", i);
        procs[i].rank = (pmix_rank_t)i;
    }
    assert_int_equal(value_encode_array(PMIX_PROC, procs, N, "v", &text, &e), 0);
    assert_int_equal(value_decode_array(PMIX_PROC, buf_bytes(&text), text.len, "v", &back, &n, &e),
                     0);
    assert_int_equal(n, N);
    assert_memory_equal(back, procs, N * sizeof *procs);
    value_free_array(PMIX_PROC, back, n);
    buf_clear(&text);
    free(procs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
