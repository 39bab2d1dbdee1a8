/* Tests of mpiexec_lite/card.c */
#include "mpiexec_lite/card.h"

#include <signal.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *host(void *at, int rank)
{
    (void)at;
    return rank < 4 ? "node1" : "node2";
}

static const char *program(void *at, int rank)
{
    (void)at;
    (void)rank;
    return "app";
}

#define RAN .pid = 100, .ended = true
#define LATE RAN, .followed = true

static struct rank_state several[] = {
    { RAN, .pmi = PMI_INSIDE, .wstatus = SIGSEGV },
    { RAN, .pmi = PMI_DONE }, { RAN },
    { LATE, .wstatus = SIGTERM, .pmi = PMI_INSIDE }, { LATE, .wstatus = SIGKILL },
    { LATE, .pmi = PMI_DONE }, { LATE, .lost = true, .wstatus = SIGKILL },
    { .pid = 0 },
};
/* 0 failed; 1, 5 and 9 waited; 2 to 4, 6 and 8 had not come; 7 had finalized */
static struct rank_state fence[] = {
    { RAN, .pmi = PMI_INSIDE, .wstatus = SIGSEGV },
    { LATE, .pmi = PMI_INSIDE, .fenced = true },
    { LATE, .pmi = PMI_INSIDE }, { LATE, .pmi = PMI_INSIDE }, { LATE },
    { LATE, .pmi = PMI_INSIDE, .fenced = true },
    { LATE }, { LATE, .pmi = PMI_DONE }, { LATE },
    { LATE, .pmi = PMI_INSIDE, .fenced = true },
    { RAN, .pmi = PMI_DONE }, { LATE, .lost = true },
};
static struct rank_state far[] = {
    { RAN, .pmi = PMI_INSIDE, .wstatus = SIGSEGV }, { LATE, .fenced = true },
#define AWAY { LATE }, { LATE, .fenced = true }
    AWAY, AWAY, AWAY, AWAY, AWAY, AWAY, AWAY, AWAY,
};
static struct rank_state unstarted[] = { { .pid = -1, .unstarted = true }, { LATE } };

static const struct {
    const char *name;
    struct rank_state *ranks;
    int size, culprit;
    const char *memory, *words, *want;
} cases[] = {
    { "nobody is to blame", several, 8, -1, "", "", "" },
    { "one rank", several, 1, 0, "", "",
      "    first    rank 0 on node1 (pid 100, app), 1.500 s after the start, inside PMI\n" },
    { "all there is to say", several, 8, 0, "gone", "one\ntwo\n",
      "    first    rank 0 on node1 (pid 100, app), 1.500 s after the start, inside PMI\n"
      "    memory   gone\n"
      "    stderr   one\n"
      "             two\n"
      "    others   2 ended before, 2 killed, 1 ended when told to, "
      "1 lost, 1 never ran; 2 had finalized\n" },
    { "words that are no text", several, 1, 0, "", "a\x1b[31m\n\nb",
      "    first    rank 0 on node1 (pid 100, app), 1.500 s after the start, inside PMI\n"
      "    stderr   a\\x1B[31m\n"
      "             \n"
      "             b\n" },
    { "a fence", fence, 12, 0, "", "",
      "    first    rank 0 on node1 (pid 100, app), 1.500 s after the start, inside PMI\n"
      "    others   1 ended before, 9 ended when told to, 1 lost; 2 had finalized\n"
      "    fence    3 waited in one; not there: ranks 2-3 on node1, rank 4 on node2, "
      "rank 6 on node2, rank 8 on node2\n" },
    { "a fence, many are not there", far, 18, 0, "", "",
      "    first    rank 0 on node1 (pid 100, app), 1.500 s after the start, inside PMI\n"
      "    others   17 ended when told to\n"
      "    fence    9 waited in one; not there: rank 2 on node1, rank 4 on node2, rank 6 on node2, "
      "rank 8 on node2, rank 10 on node2, rank 12 on node2 and 2 more\n" },
    { "not started", unstarted, 2, 0, "", "",
      "    others   1 ended when told to\n" },
};

static void test_job(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct launch l = { .hostname = host, .program = program, .size = cases[i].size,
                            .ranks = cases[i].ranks, .culprit = cases[i].culprit };
        struct buf out = BUF_INIT;

        print_message("  %s\n", cases[i].name);
        card_job(&l, 1.5, cases[i].memory, cases[i].words, &out);
        assert_string_equal(out.len ? buf_bytes(&out) : "", cases[i].want);
        buf_clear(&out);
    }
}

#define LINE "=================================================================================" "==\n"
#define HYDRA(code) "\n" LINE "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n" \
    "=   PID 100 RUNNING AT node1\n=   EXIT CODE: " code "\n=   CLEANING UP REMAINING PROCESSES\n" \
    "=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n" LINE

static const struct { const char *name; struct rank_state rank; bool failed; const char *want; } banners[] = {
    { "a signal", { RAN, .wstatus = SIGKILL }, true,
      HYDRA("9") "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n" },
    { "an exit inside PMI", { RAN, .pmi = PMI_INSIDE, .wstatus = 7 << 8 }, true, HYDRA("7") },
    { "abort", { RAN, .aborted = true, .wstatus = 7 << 8 }, true, "" },
    { "no failure", { RAN, .wstatus = 7 << 8 }, false, "" },
    { "not started", { .unstarted = true }, true, "" },
};

static void test_banner(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof banners / sizeof *banners; i++) {
        struct rank_state rank = banners[i].rank;
        struct launch l = { .hostname = host, .program = program, .size = 1, .ranks = &rank,
                            .culprit_failed = banners[i].failed };
        struct buf out = BUF_INIT;

        print_message("  %s\n", banners[i].name);
        card_banner(&l, &out);
        assert_string_equal(out.len ? buf_bytes(&out) : "", banners[i].want);
        buf_clear(&out);
    }
}

static const struct { int left, nodes; const char *lost, *want; } receipts[] = {
    { 0, 1, "", "    0 processes left on 1 node\n" },
    { 1, 4, "", "    1 process left on 4 nodes\n" },
    { 0, 3, "b\x1b, c", "    0 processes left on 3 nodes; not confirmed: b\\x1B, c\n" },
};

static void test_receipt(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof receipts / sizeof *receipts; i++) {
        struct buf out = BUF_INIT;

        card_receipt(receipts[i].left, receipts[i].nodes, receipts[i].lost, &out);
        assert_string_equal(buf_bytes(&out), receipts[i].want);
        buf_clear(&out);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job),
        cmocka_unit_test(test_banner),
        cmocka_unit_test(test_receipt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
