/* Tests of mpiexec_lite/timeline*.c: order, critical path in words, and how large a picture
 * of many ranks becomes. */
#include "mpiexec_lite/timeline_impl.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000LL

static void note(struct timeline *t, int job, int rank, enum moment_kind kind, int64_t ms,
                 int value)
{
    timeline_note(t, &(struct moment){ ms * MS, job, rank, kind, value });
}

static void begin(struct timeline *t)
{
    static const int nodes[] = { 0, 0, 1 };

    *t = (struct timeline){ .title = strdup("a <program>") };
    timeline_add_host(t, "near");
    timeline_add_host(t, "f&r");
    t->hosts[0].connected = t->hosts[0].ready = 0;
    t->hosts[1].connected = 20 * MS;
    t->hosts[1].ready = 30 * MS;
    t->hosts[1].unsure = MS;
    timeline_add_job(t, 0, 3, nodes, "prog", -1, 31 * MS);
}

/* What ranks do alike. */
static void start_all(struct timeline *t)
{
    for (int r = 0; r < 3; r++) {
        note(t, 0, r, MOMENT_EXEC, 40 + r, 1000 + r);
        note(t, 0, r, MOMENT_HELLO, 50 + r, 0);
        note(t, 0, r, MOMENT_INIT, 51 + r, 0);
    }
}

static void fence(struct timeline *t, int a, int b, int c, int out)
{
    const int in[] = { a, b, c };

    for (int r = 0; r < 3; r++) {
        note(t, 0, r, MOMENT_ENTER, in[r], 0);
        note(t, 0, r, MOMENT_LEAVE, out, 0);
    }
}

static void end_all(struct timeline *t, int when)
{
    for (int r = 0; r < 3; r++) {
        note(t, 0, r, MOMENT_FINALIZE, when + r, 0);
        note(t, 0, r, MOMENT_EXIT, when + 10 + r, 0);
    }
}

/* The path, a line a step. */
static void path_is(struct timeline *t, const char *want)
{
    struct buf out = BUF_INIT;

    for (size_t i = 0; i < t->npath; i++) {
        buf_printf(&out, "%lld+%lld ", (long long)(t->path[i].from / MS),
                   (long long)((t->path[i].to - t->path[i].from) / MS));
        timeline_say(t, &t->path[i], &out);
        buf_char(&out, '\n');
    }
    assert_false(t->failed);
    assert_string_equal(out.len ? buf_bytes(&out) : "", want);
    buf_clear(&out);
}

static void test_path(void **state)
{
    struct timeline t;
    struct tl_straggler s;

    (void)state;
    begin(&t);
    end_all(&t, 200);                    /* in any order */
    fence(&t, 60, 61, 100, 102);
    fence(&t, 150, 110, 111, 152);
    start_all(&t);
    timeline_close(&t, 220 * MS);
    path_is(&t, "0+31 host f&r was ready last\n"
                "31+11 rank 2 on f&r was started\n"
                "42+58 rank 2 on f&r was last in fence 1; 2 others waited 39.5 ms on average\n"
                "100+2 fence 1 let go of rank 0 on near\n"
                "102+48 rank 0 on near was last in fence 2; 2 others waited 39.5 ms on average\n"
                "150+2 fence 2 let go of rank 2 on f&r\n"
                "152+60 rank 2 on f&r ended last\n");
    s = timeline_straggler(&t);
    assert_int_equal(s.times, 1);
    assert_int_equal(s.waited, 79 * MS);
    assert_int_equal(t.fences[0].last, 2);
    assert_int_equal(t.fences[1].entered, 3);
    timeline_clear(&t);
}

/* The first bad end counts, whoever lived longer; its rank was still in the fence. */
static void test_failure(void **state)
{
    struct timeline t;

    (void)state;
    begin(&t);
    start_all(&t);
    note(&t, 0, 0, MOMENT_ENTER, 60, 0);
    note(&t, 0, 1, MOMENT_EXIT, 90, SIGSEGV);
    note(&t, 0, 0, MOMENT_EXIT, 95, SIGTERM);
    note(&t, 0, 2, MOMENT_EXIT, 120, SIGKILL);
    timeline_close(&t, 130 * MS);
    path_is(&t, "0+31 host f&r was ready last\n"
                "31+10 rank 1 on near was started\n"
                "41+49 rank 1 on near came to a bad end\n");
    assert_int_equal(t.visits[t.ranks[0].fences].leave, 95 * MS);
    timeline_clear(&t);
}

/* Who ends well after that, as it was told to end, has not ended the run; nor has who ends badly
 * before. */
static void test_failure_known(void **state)
{
    struct timeline t;

    (void)state;
    begin(&t);
    start_all(&t);
    note(&t, 0, 0, MOMENT_EXIT, 80, 0x300);
    note(&t, 0, 1, MOMENT_EXIT, 90, SIGSEGV);
    note(&t, 0, 2, MOMENT_EXIT, 120, 0);
    t.broken = 1 + (size_t)timeline_rank(&t, 0, 1);
    timeline_close(&t, 130 * MS);
    path_is(&t, "0+31 host f&r was ready last\n"
                "31+10 rank 1 on near was started\n"
                "41+49 rank 1 on near came to a bad end\n");
    timeline_clear(&t);
}

/* One that does not end the others is not the end of the run. */
static void test_bad_alone(void **state)
{
    struct timeline t;

    (void)state;
    begin(&t);
    start_all(&t);
    note(&t, 0, 1, MOMENT_EXIT, 90, 0x300);
    note(&t, 0, 0, MOMENT_EXIT, 95, 0);
    note(&t, 0, 2, MOMENT_EXIT, 120, 0);
    timeline_close(&t, 130 * MS);
    path_is(&t, "0+31 host f&r was ready last\n"
                "31+11 rank 2 on f&r was started\n"
                "42+78 rank 2 on f&r ended last\n");
    timeline_clear(&t);
}

static void test_spawned(void **state)
{
    static const int nodes[] = { 1 };
    struct timeline t;

    (void)state;
    begin(&t);
    start_all(&t);
    timeline_add_job(&t, 1, 1, nodes, "child", (int)timeline_rank(&t, 0, 1), 70 * MS);
    note(&t, 1, 0, MOMENT_EXEC, 80, 1);
    note(&t, 1, 0, MOMENT_EXIT, 300, 0);
    note(&t, 2, 0, MOMENT_EXIT, 999, 0);         /* a job that nobody knows */
    note(&t, 1, 7, MOMENT_EXIT, 999, 0);
    end_all(&t, 100);
    timeline_close(&t, 310 * MS);
    path_is(&t, "0+31 host f&r was ready last\n"
                "31+10 rank 1 on near was started\n"
                "41+29 rank 1 on near started a job\n"
                "70+10 job 1's rank 0 on f&r was started\n"
                "80+220 job 1's rank 0 on f&r ended last\n");
    timeline_clear(&t);
}

/* Clocks that differ, so that a fence lets go of somebody before the last has come; and
 * fences that take no time at all. */
static void test_skew(void **state)
{
    struct timeline t;

    (void)state;
    begin(&t);
    start_all(&t);
    fence(&t, 60, 60, 60, 60);
    fence(&t, 60, 60, 60, 60);
    fence(&t, 70, 71, 90, 80);
    fence(&t, 85, 86, 91, 92);
    end_all(&t, 100);
    timeline_close(&t, 120 * MS);
    assert_false(t.failed);
    assert_in_range(t.npath, 3, 12);
    for (size_t i = 0; i < t.npath; i++)
        assert_true(t.path[i].to >= t.path[i].from);
    timeline_clear(&t);
}

/* Of a rank whose host has kept no more it is not said that it waits for ever. */
static void test_dropped(void **state)
{
    struct timeline t;

    (void)state;
    begin(&t);
    start_all(&t);
    fence(&t, 60, 60, 60, 62);
    note(&t, 0, 0, MOMENT_ENTER, 70, 0);
    note(&t, 0, 1, MOMENT_ENTER, 70, 0);
    note(&t, 0, 2, MOMENT_ENTER, 70, 0);
    t.hosts[0].dropped = 5;
    end_all(&t, 100);
    timeline_close(&t, 120 * MS);
    assert_int_equal(t.ranks[0].nfences, 1);
    assert_int_equal(t.ranks[1].nfences, 1);
    assert_int_equal(t.ranks[2].nfences, 2);
    timeline_clear(&t);
}

static void test_nothing(void **state)
{
    static const char *const names[] = { "a.json", "a.svg", "a.HTML" };
    struct timeline t;

    (void)state;
    begin(&t);
    timeline_close(&t, 0);               /* no rank ran */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buf out = BUF_INIT;

        timeline_writer(names[i])(&t, &out);
        assert_true(out.len && !out.failed);
        assert_null(strstr(buf_bytes(&out), "nan"));
        buf_clear(&out);
    }
    assert_null(timeline_writer("json"));
    assert_null(timeline_writer("a.txt"));
    timeline_clear(&t);
}

static const struct { int64_t ns; const char *want; } times[] = {
    { 0, "0 µs" }, { 7400, "7 µs" }, { 12340000, "12.3 ms" }, { 250 * MS, "250 ms" },
    { 1250 * MS, "1.25 s" }, { 3600000 * MS, "3600 s" },
};

static void test_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        assert_string_equal(timeline_time(times[i].ns).text, times[i].want);
}

/* A run that is as long: x never falls, from the left to the right. */
static void test_axis(void **state)
{
    static const int64_t ends[] = { 1, 150 * MS, 1000 * MS, 3600000 * MS };

    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct timeline t;
        struct tl_axis a;
        double before = 0;

        begin(&t);
        start_all(&t);
        end_all(&t, (int)(ends[i] / MS) - 20);
        timeline_close(&t, ends[i]);
        timeline_axis(&t, 100, 1100, &a);
        assert_in_range(a.n, 1, AXIS_PIECES);
        for (int k = 0; k <= 1000; k++) {
            double x = timeline_x(&a, t.end / 1000 * k);

            assert_true(x >= before && x >= 100 && x <= 1100);
            before = x;
        }
        for (int k = 0; k < a.n; k++)
            assert_in_range((a.at[k + 1] - a.at[k]) / timeline_step(&a, k), 0, 30);
        assert_true(timeline_x(&a, t.end + 1) == 1100);
        timeline_clear(&t);
    }
}

/* 10,000 ranks on 500 hosts: the picture stays small, and each rank is in one of its rows. */
static void test_many(void **state)
{
    enum { RANKS = 10000, EACH = 20 };
    int *nodes = malloc(RANKS * sizeof *nodes);
    struct timeline t = { .title = strdup("many") };
    struct buf svg = BUF_INIT, json = BUF_INIT;
    struct tl_rows rows;

    (void)state;
    for (int h = 0; h < RANKS / EACH; h++) {
        char name[20];

        snprintf(name, sizeof name, "n%d", h);
        timeline_add_host(&t, name);
    }
    for (int i = 0; i < RANKS; i++)
        nodes[i] = i / EACH;
    timeline_add_job(&t, 0, RANKS, nodes, "p", -1, 0);
    for (int i = 0; i < RANKS; i++) {
        note(&t, 0, i, MOMENT_EXEC, 10 + i % 7, 1);
        for (int k = 1; k < 20; k++) {
            note(&t, 0, i, MOMENT_ENTER, 100 * k + i % 50, 0);
            note(&t, 0, i, MOMENT_LEAVE, 100 * k + 60, 0);
        }
        note(&t, 0, i, MOMENT_EXIT, 2000 + i % 10, 0);
    }
    timeline_close(&t, 2020 * MS);
    assert_true(timeline_rows(&t, 48, &rows));
    assert_in_range(rows.n, 40, 48);
    for (int i = 1; i < RANKS; i++)
        assert_true(rows.row[i] < rows.n && rows.row[i] >= rows.row[i - 1]);
    timeline_rows_clear(&rows);
    timeline_svg(&t, &svg);
    timeline_json(&t, &json);
    assert_in_range(svg.len, 10000, 2000000);
    assert_in_range(json.len, 10000, 80000000);
    assert_non_null(strstr(buf_bytes(&svg), "was last in fence 7; 9999 others waited"));
    buf_clear(&svg);
    buf_clear(&json);
    timeline_clear(&t);
    free(nodes);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path), cmocka_unit_test(test_failure), cmocka_unit_test(test_failure_known),
        cmocka_unit_test(test_bad_alone), cmocka_unit_test(test_spawned),
        cmocka_unit_test(test_skew), cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_nothing), cmocka_unit_test(test_times),
        cmocka_unit_test(test_axis), cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
