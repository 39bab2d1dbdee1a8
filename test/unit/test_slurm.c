/* Tests of mpiexec_lite/slurm.c: words for Slurm's commands, and what they print. */
#include "mpiexec_lite/slurm.h"

#include "wire/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(a) (sizeof (a) / sizeof *(a))

static const struct {
    struct sched_ask ask;
    const char *want;        /* NULL: an error */
} asked[] = {
    { { .kind = SCHED_QUEUES }, "sinfo --noheader --summarize --format=%R|%a|%l|%F|%C" },
    { { .kind = SCHED_NEW }, "salloc --no-shell --job-name=us" },
    { { .kind = SCHED_NEW, .queue = "big.mem-2", .nodes = "n[1-3,7],m", .nnodes = 4, .ncpus = 8,
        .time = 60 }, "salloc --no-shell --job-name=us --partition=big.mem-2 --nodelist=n[1-3,7],m "
                      "--nodes=4 --ntasks=8 --time=1" },
    { { .kind = SCHED_NEW, .time = UINT32_MAX }, "salloc --no-shell --job-name=us --time=71582789" },
    { { .kind = SCHED_NEW, .queue = "" }, NULL },
    { { .kind = SCHED_NEW, .queue = "a b" }, NULL },
    { { .kind = SCHED_NEW, .queue = "a,b" }, NULL },
    { { .kind = SCHED_NEW, .nodes = "n1\n" }, NULL },
    { { .kind = SCHED_NEW, .nodes = "./hosts" }, NULL },     /* a file's name, to salloc */
    { { .kind = SCHED_EXTEND, .id = "12", .time = 61 }, "scontrol update JobId=12 TimeLimit=+2" },
    { { .kind = SCHED_EXTEND, .id = "12 Nice=-9", .time = 61 }, NULL },
    { { .kind = SCHED_RELEASE, .id = "12" }, "scancel 12" },
    { { .kind = SCHED_RELEASE, .id = "--user=x" }, NULL },
    { { .kind = SCHED_RELEASE, .id = "" }, NULL },
};

static void words(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(asked); i++) {
        struct strlist got = { 0 };
        struct buf line = BUF_INIT;
        struct err e = { 0 };
        int rc = slurm_words(&asked[i].ask, "us", &got, &e);

        print_message("  %zu: %s\n", i, e.text);
        assert_int_equal(rc, asked[i].want ? 0 : -1);
        assert_int_equal(*e.text != '\0', rc < 0);
        for (size_t n = 0; n < got.n; n++)
            buf_printf(&line, n ? " %s" : "%s", got.v[n]);
        if (asked[i].want)
            assert_string_equal(buf_bytes(&line), asked[i].want);
        buf_clear(&line);
        strlist_clear(&got);
    }
}

static const struct {
    const char *text;
    int         n;           /* -1: an error */
    struct sched_queue last;
} printed[] = {
    { "", 0, { .name = "" } },
    { "main|up|1:00:00|1/2/0/3|2/4/0/6\n", 1, { "main", true, 3, 2, 6, 3600 } },
    { "a|up|1:00|0/0/0/0|0/0/0/0\nb|down|2-03:04:05|0/0/0/1|0/0/0/4\n", 2,
      { "b", false, 1, 0, 4, 183845 } },
    { "a|drain|infinite|0/0/0/0|0/0/0/0\n", 1, { .name = "a" } },
    { "a|up|999999-00:00:00|0/0/0/0|0/0/0/0\n", 1, { "a", true, 0, 0, 0, UINT32_MAX } },
    { "a|up|1:00|0/0/0/0|0/0/0/0", -1, { .name = "" } },       /* cut */
    { "a|up|1:00|0/0/0/0|0/0/0/\n", -1, { .name = "" } },
    { "a|up|1:00|0/0/0/0|0/0/0/1/2\n", -1, { .name = "" } },
    { "a|up|1:00|0/0/0/-1|0/0/0/1\n", -1, { .name = "" } },
    { "a|up|1:00|0/0/0/4294967296|0/0/0/1\n", -1, { .name = "" } },
    { "a|up|1:2:3:4:5|0/0/0/0|0/0/0/0\n", -1, { .name = "" } },
    { "a|up|1:|0/0/0/0|0/0/0/0\n", -1, { .name = "" } },
    { "a|up|1-2-3|0/0/0/0|0/0/0/0\n", -1, { .name = "" } },
    { "a|up||0/0/0/0|0/0/0/0\nb|up|1:00|0/0/0/0|0/0/0/0|\n", -1, { .name = "" } },
    { "a b|up|1:00|0/0/0/0|0/0/0/0\n", -1, { .name = "" } },
    { "a\n", -1, { .name = "" } }, { "|\n", -1, { .name = "" } }, { "\n", -1, { .name = "" } },
    { "0123456789012345678901234567890123456789012345678901234567890123|up|1:00|0/0/0/0|0/0/0/0\n",
      -1, { .name = "" } },
};

static void queues(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(printed); i++) {
        struct sched_queue *v;
        struct err e = { 0 };
        size_t n;
        int rc = slurm_queues(printed[i].text, &v, &n, &e);

        print_message("  %zu: %s\n", i, e.text);
        assert_int_equal(rc, printed[i].n < 0 ? -1 : 0);
        if (rc == 0)
            assert_int_equal(n, printed[i].n);
        if (rc == 0 && n) {
            const struct sched_queue *a = &v[n - 1], *b = &printed[i].last;

            assert_string_equal(a->name, b->name);
            assert_int_equal(a->up, b->up);
            assert_int_equal(a->nodes, b->nodes);
            assert_int_equal(a->idle, b->idle);
            assert_int_equal(a->cpus, b->cpus);
            assert_int_equal(a->limit, b->limit);
        }
        free(v);
    }
}

static void too_many(void **state)
{
    struct buf text = BUF_INIT;
    struct sched_queue *v;
    struct err e = { 0 };
    size_t n;

    (void)state;
    for (int i = 0; i <= SLURM_QUEUES; i++)
        buf_printf(&text, "q%d|up|1:00|0/0/0/0|0/0/0/0\n", i);
    assert_int_equal(slurm_queues(buf_bytes(&text), &v, &n, &e), -1);
    assert_null(v);
    buf_clear(&text);
}

static void granted(void **state)
{
    static const struct { const char *words, *id; } rows[] = {
        { "salloc: Granted job allocation 17\n", "17" },
        { "salloc: Pending job allocation 3\nsalloc: Granted job allocation 3", "3" },
        { "salloc: Pending job allocation 3\n", NULL }, { "", NULL },
        { "salloc: Granted job allocation \n", NULL },
        { "salloc: Granted job allocation 3; rm\n", NULL },
        { "salloc: Granted job allocation 123456789012345678901234\n", NULL },
    };
    char id[SCHED_ID];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(slurm_granted(rows[i].words, id), rows[i].id != NULL);
        if (rows[i].id)
            assert_string_equal(id, rows[i].id);
    }
}

static void shown(void **state)
{
    static const struct { const char *text, *nodes; uint32_t time; } rows[] = {
        { "node[1-2]|5:00\n", "node[1-2]", 300 }, { "n1|UNLIMITED\n", "n1", 0 },
        { "|1-00:00:00", "", 86400 }, { "", NULL, 0 }, { "n1\n", NULL, 0 },
        { "n1|5:00\nn2|5:00\n", NULL, 0 }, { "n 1|5:00\n", NULL, 0 }, { "n1|a b\n", NULL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *text = strdup(rows[i].text);
        uint32_t time = 0;

        assert_non_null(text);
        assert_int_equal(slurm_shown(text, &time), rows[i].nodes ? 0 : -1);
        if (rows[i].nodes) {
            assert_string_equal(text, rows[i].nodes);
            assert_int_equal(time, rows[i].time);
        }
        free(text);
    }
}

static void environment(void **state)
{
    char *envp[] = { (char *)(uintptr_t)"SLURM_JOB_ID=3", (char *)(uintptr_t)"PATH=/bin",
                     (char *)(uintptr_t)"SLURM_CONF=/c", (char *)(uintptr_t)"SALLOC_PARTITION=x",
                     (char *)(uintptr_t)"LANG=de_DE", NULL };
    struct strlist got = { 0 };
    struct err e = { 0 };

    (void)state;
    assert_int_equal(slurm_environment(envp, &got, &e), 0);
    assert_int_equal(got.n, 2);
    assert_string_equal(got.v[0], "PATH=/bin");
    assert_string_equal(got.v[1], "SLURM_CONF=/c");
    strlist_clear(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words), cmocka_unit_test(queues), cmocka_unit_test(too_many),
        cmocka_unit_test(granted), cmocka_unit_test(shown), cmocka_unit_test(environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
