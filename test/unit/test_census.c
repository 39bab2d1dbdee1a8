/* test_census.c - mpiexec_lite/census: records there and back, and what is none. */
#include "mpiexec_lite/census.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct census rows[] = {
    { .kind = CENSUS_RANK, .index = 7, .pid = 4000000, .pmi = PMI_INSIDE },
    { .kind = CENSUS_RANK, .index = 8, .pid = 5, .held = true },
    { .kind = CENSUS_RANK, .index = 999999, .pid = 1, .pmi = PMI_DONE, .used = true,
      .usage = { .rss = (uint64_t)1 << 40, .vsize = UINT64_MAX, .cpu = 12345678901, .threads = 65,
                 .priority = -20, .processor = 300, .state = 'D', .op = "info-getnodeattr",
                 .op_time = 86400000 } },
    { .kind = CENSUS_PROGRAM, .index = 3, .text = "/a b/;", .text_len = 6 },
    { .kind = CENSUS_STACK, .index = 5, .pid = 77, .text = "main\na at b.c:1\n", .text_len = 16 },
    { .kind = CENSUS_NO_STACK, .index = 6, .pid = 78, .text = "", .text_len = 0 },
    { .kind = CENSUS_SERVER, .used = true, .usage = { .rss = 5000000, .state = 'R' } },
};
enum { ROWS = sizeof rows / sizeof *rows };

static void write_rows(struct buf *out)
{
    for (int i = 0; i < ROWS; i++)
        census_add(out, &rows[i]);
    assert_false(out->failed);
}

static void test_round_trip(void **state)
{
    struct buf b = BUF_INIT;
    struct err e = { 0 };
    struct census x;
    const char *at;
    size_t len;

    (void)state;
    write_rows(&b);
    at = buf_bytes(&b);
    len = b.len;
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(census_next(&at, &len, &x, &e), 1);
        assert_int_equal(x.kind, rows[i].kind);
        assert_int_equal(x.index, rows[i].index);
        assert_int_equal(x.pid, rows[i].pid);
        assert_int_equal(x.pmi, rows[i].pmi);
        assert_int_equal(x.used, rows[i].used);
        assert_int_equal(x.held, rows[i].held);
        assert_memory_equal(&x.usage, &rows[i].usage, sizeof x.usage);
        assert_int_equal(x.text_len, rows[i].text_len);
        assert_true(!x.text_len || !memcmp(x.text, rows[i].text, x.text_len));
    }
    assert_int_equal(census_next(&at, &len, &x, &e), 0);
    buf_clear(&b);
}

/* Every beginning of it, and every byte of it changed: read, or refused, and no byte beyond
 * looked at (memory of exactly that size). */
static void read_all(const char *data, size_t n)
{
    char *copy = malloc(n ? n : 1);
    const char *at = copy;
    struct err e = { 0 };
    struct census x;
    int got;

    memcpy(copy, data, n);
    while ((got = census_next(&at, &n, &x, &e)) > 0)
        assert_true(x.kind <= CENSUS_NO_STACK && (unsigned)x.pmi <= PMI_DONE && x.pid >= 0 &&
                    strlen(x.usage.op) < sizeof x.usage.op);
    assert_true(got == 0 || e.code);
    free(copy);
}

static void test_damaged(void **state)
{
    struct buf b = BUF_INIT;

    (void)state;
    write_rows(&b);
    for (size_t n = 0; n <= b.len; n++)
        read_all(buf_bytes(&b), n);
    for (size_t i = 0; i < b.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            buf_bytes(&b)[i] ^= (char)(1 << bit);
            read_all(buf_bytes(&b), b.len);
            buf_bytes(&b)[i] ^= (char)(1 << bit);
        }
    buf_clear(&b);
}

static void test_process(void **state)
{
    struct fact_usage u;

    (void)state;
    assert_true(process_usage(getpid(), &u));
    assert_int_equal(u.state, 'R');
    assert_int_equal(u.threads, 1);
    assert_in_range(u.rss, 1 << 16, u.vsize);
    assert_false(process_usage(0, &u));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
