/* test_rank_states.c - mpiexec_lite/rank_states: what the launcher knows of a rank -> the
 * standard's state.
 *
 * R10-13: a row for each thing that can be known; every state that this launcher can be in is
 * reached, and no other; what fits none is UNDEF. */
#include "mpiexec_lite/rank_states.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

#define EXITED(code) W_EXITCODE(code, 0)

static const struct {
    const char        *name;
    struct rank_state  rank;
    bool               ending;           /* its job */
    pmix_proc_state_t  want;
} cases[] = {
    { "not started yet", { .pid = 0 }, false, PMIX_PROC_STATE_PREPPED },
    { "its job ends before it is started", { .pid = 0 }, true, PMIX_PROC_STATE_FAILED_TO_LAUNCH },
    { "started elsewhere, pid not known", { .pid = -1 }, false, PMIX_PROC_STATE_LAUNCH_UNDERWAY },
    { "runs", { .pid = 5 }, false, PMIX_PROC_STATE_RUNNING },
    { "runs while its job is ended", { .pid = 5 }, true, PMIX_PROC_STATE_RUNNING },
    { "between init and finalize", { .pid = 5, .pmi = PMI_INSIDE }, false,
      PMIX_PROC_STATE_CONNECTED },
    { "after finalize", { .pid = 5, .pmi = PMI_DONE }, false, PMIX_PROC_STATE_RUNNING },
    { "its program could not be started", { .pid = 0, .unstarted = true }, false,
      PMIX_PROC_STATE_FAILED_TO_START },
    { "which ends its job", { .pid = 0, .unstarted = true }, true,
      PMIX_PROC_STATE_FAILED_TO_START },
    { "0, without PMI", { .pid = 5, .ended = true }, false, PMIX_PROC_STATE_TERMINATED },
    { "0, after finalize", { .pid = 5, .ended = true, .pmi = PMI_DONE }, false,
      PMIX_PROC_STATE_TERMINATED },
    { "0, without finalize", { .pid = 5, .ended = true, .pmi = PMI_INSIDE }, false,
      PMIX_PROC_STATE_TERM_WO_SYNC },
    { "3", { .pid = 5, .ended = true, .wstatus = EXITED(3) }, false,
      PMIX_PROC_STATE_TERM_NON_ZERO },
    { "3, without finalize", { .pid = 5, .ended = true, .pmi = PMI_INSIDE, .wstatus = EXITED(3) },
      false, PMIX_PROC_STATE_TERM_NON_ZERO },
    { "a signal", { .pid = 5, .ended = true, .wstatus = SIGSEGV }, false,
      PMIX_PROC_STATE_ABORTED_BY_SIG },
    { "a signal, and then its job was ended", { .pid = 5, .ended = true, .wstatus = SIGSEGV },
      true, PMIX_PROC_STATE_ABORTED_BY_SIG },
    { "ours, as its job was ended", { .pid = 5, .ended = true, .followed = true,
                                      .wstatus = SIGTERM }, true, PMIX_PROC_STATE_KILLED_BY_CMD },
    { "ours, as somebody ordered for it alone",
      { .pid = 5, .ended = true, .commanded = true, .wstatus = SIGKILL }, false,
      PMIX_PROC_STATE_KILLED_BY_CMD },
    { "told to end, and exits with 0", { .pid = 5, .ended = true, .commanded = true }, false,
      PMIX_PROC_STATE_TERMINATED },
    { "abort", { .pid = 5, .ended = true, .aborted = true, .wstatus = EXITED(1) }, true,
      PMIX_PROC_STATE_CALLED_ABORT },
    { "abort, and ended for it", { .pid = 5, .ended = true, .aborted = true, .followed = true,
                                   .wstatus = SIGKILL }, true, PMIX_PROC_STATE_CALLED_ABORT },
    { "its node is lost", { .pid = -1, .ended = true, .lost = true }, true,
      PMIX_PROC_STATE_COMM_FAILED },
    { "in a phase of PMI that is not known", { .pid = 5, .pmi = (enum pmi_phase)3 }, false,
      PMIX_PROC_STATE_UNDEF },
    { "ended with a status that is no end",
      { .pid = 5, .ended = true, .wstatus = W_STOPCODE(SIGSTOP) }, false, PMIX_PROC_STATE_UNDEF },
};
enum { CASES = sizeof cases / sizeof *cases };

/* What this launcher tells apart: all but what others do (restart, migrate, watch bounds). */
static const pmix_proc_state_t reached[] = {
    PMIX_PROC_STATE_PREPPED, PMIX_PROC_STATE_LAUNCH_UNDERWAY, PMIX_PROC_STATE_RUNNING,
    PMIX_PROC_STATE_CONNECTED, PMIX_PROC_STATE_TERMINATED, PMIX_PROC_STATE_KILLED_BY_CMD,
    PMIX_PROC_STATE_FAILED_TO_START, PMIX_PROC_STATE_ABORTED_BY_SIG,
    PMIX_PROC_STATE_TERM_WO_SYNC, PMIX_PROC_STATE_COMM_FAILED, PMIX_PROC_STATE_CALLED_ABORT,
    PMIX_PROC_STATE_TERM_NON_ZERO, PMIX_PROC_STATE_FAILED_TO_LAUNCH, PMIX_PROC_STATE_UNDEF,
};

static void test_states(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        print_message("  %s\n", cases[i].name);
        assert_int_equal(rank_state_of(&cases[i].rank, cases[i].ending), cases[i].want);
        if (cases[i].want == PMIX_PROC_STATE_UNDEF)
            continue;
        /* The standard's boundary between those that live and those that do not. */
        assert_int_equal(cases[i].want <= PMIX_PROC_STATE_UNTERMINATED,
                         !cases[i].rank.ended && !cases[i].rank.unstarted &&
                         cases[i].want != PMIX_PROC_STATE_FAILED_TO_LAUNCH);
    }
}

static void test_all_are_reached(void **state)
{
    size_t rows = 0;

    (void)state;
    for (size_t i = 0; i < sizeof reached / sizeof *reached; i++) {
        size_t n = 0;

        for (size_t k = 0; k < CASES; k++)
            n += cases[k].want == reached[i];
        print_message("  %d\n", reached[i]);
        assert_true(n > 0);
        rows += n;
    }
    assert_int_equal(rows, CASES);       /* so there is no other */
}

static void test_held(void **state)
{
    (void)state;
    assert_int_equal(rank_lives_as(5, PMI_NONE, true), PMIX_EXT_PROC_STATE_HELD);
    assert_int_equal(rank_lives_as(5, PMI_INSIDE, false), PMIX_PROC_STATE_CONNECTED);
    assert_int_equal(rank_lives_as(0, PMI_NONE, true), PMIX_PROC_STATE_LAUNCH_UNDERWAY);
    assert_true(PMIX_EXT_PROC_STATE_HELD < PMIX_PROC_STATE_UNTERMINATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states), cmocka_unit_test(test_all_are_reached),
        cmocka_unit_test(test_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
