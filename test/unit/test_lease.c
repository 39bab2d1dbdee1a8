/* test_lease.c - mpiexec_lite/lease: what to do when, as rows of times. */
#include "mpiexec_lite/lease.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

enum { STEPS = 10 };
enum what { TICK, HEARD, SAID };

/* due: what lease_due says behind it; before it, where the tick asks for something. */
struct step { enum what what; double now; int want; double due; };

static const struct {
    const char *name;
    double      beat, term;
    struct step steps[STEPS];
} cases[] = {
    { "nothing before its time", 5, 15, { { TICK, 0, LEASE_NOTHING, 5 },
        { TICK, 4.9, LEASE_NOTHING, 5 } } },
    { "a beat when it is due", 5, 15, { { TICK, 5, LEASE_BEAT, 5 }, { SAID, 5, 0, 10 },
        { TICK, 5, LEASE_NOTHING, 10 }, { TICK, 10, LEASE_BEAT, 10 } } },
    { "who says something needs no beat", 5, 15, { { SAID, 3, 0, 8 },
        { TICK, 5, LEASE_NOTHING, 8 }, { TICK, 8, LEASE_BEAT, 8 } } },
    { "beats go on until the other is lost", 5, 15, { { SAID, 5, 0, 10 }, { SAID, 10, 0, 15 },
        { TICK, 14.9, LEASE_NOTHING, 15 }, { TICK, 15, LEASE_LOST, 15 } } },
    { "who is heard is not lost", 5, 15, { { SAID, 5, 0, 10 }, { SAID, 10, 0, 15 },
        { HEARD, 14, 0, 15 }, { TICK, 15, LEASE_BEAT, 15 }, { SAID, 15, 0, 20 },
        { SAID, 20, 0, 25 }, { SAID, 25, 0, 29 }, { TICK, 28.9, LEASE_NOTHING, 29 },
        { TICK, 29, LEASE_LOST, 29 } } },
    { "a beat before the term", 15, 5, { { TICK, 4, LEASE_NOTHING, 5 },
        { TICK, 5, LEASE_LOST, 5 } } },
    { "both at once: lost", 5, 5, { { TICK, 5, LEASE_LOST, 5 } } },
    { "term 0: never lost", 5, 0, { { TICK, 5, LEASE_BEAT, 5 }, { SAID, 5, 0, 10 },
        { TICK, 10, LEASE_BEAT, 10 }, { SAID, 1e6, 0, 1e6 + 5 },
        { TICK, 1e6 + 5, LEASE_BEAT, 1e6 + 5 } } },
    { "held up: the other has one more term", 5, 15, { { TICK, 100, LEASE_BEAT, 5 },
        { SAID, 100, 0, 105 }, { TICK, 105, LEASE_BEAT, 105 }, { SAID, 105, 0, 110 },
        { SAID, 110, 0, 115 }, { TICK, 114.9, LEASE_NOTHING, 115 },
        { TICK, 115, LEASE_LOST, 115 } } },
    { "held up twice", 5, 15, { { TICK, 100, LEASE_BEAT, 5 }, { SAID, 100, 0, 105 },
        { TICK, 200, LEASE_BEAT, 105 }, { SAID, 200, 0, 205 }, { SAID, 205, 0, 210 },
        { SAID, 210, 0, 215 }, { TICK, 215, LEASE_LOST, 215 } } },
    { "a little late is not held up", 5, 15, { { SAID, 14, 0, 15 },
        { TICK, 15.9, LEASE_LOST, 15 } } },
    { "more than that is", 5, 15, { { SAID, 14, 0, 15 }, { TICK, 16.1, LEASE_NOTHING, 19 } } },
    { "held up with term 0", 5, 0, { { TICK, 500, LEASE_BEAT, 5 } } },
    { "late for a beat: the term begins anew", 5, 15, { { SAID, 8, 0, 13 },
        { TICK, 14.5, LEASE_BEAT, 13 }, { SAID, 14.5, 0, 19.5 }, { SAID, 19, 0, 24 },
        { SAID, 24, 0, 29 }, { SAID, 29, 0, 29.5 }, { TICK, 29.4, LEASE_NOTHING, 29.5 },
        { TICK, 29.5, LEASE_LOST, 29.5 } } },
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++)
        for (double origin = 0; origin < 3e5; origin += 1e5) {
            struct lease l;

            print_message("  %s\n", cases[i].name);
            lease_init(&l, cases[i].beat, cases[i].term, origin);
            for (const struct step *s = cases[i].steps; s->due > 0; s++) {
                double now = origin + s->now;
                double due = lease_due(&l) - origin;

                if (s->what == TICK) {
                    enum lease_action got = lease_tick(&l, now);

                    print_message("    at %g\n", s->now);
                    assert_int_equal(got, s->want);
                    if (s->want == LEASE_NOTHING)
                        due = lease_due(&l) - origin;
                } else if (s->what == HEARD) {
                    lease_heard(&l, now);
                    due = lease_due(&l) - origin;
                } else {
                    lease_said(&l, now);
                    due = lease_due(&l) - origin;
                }
                assert_true(due > s->due - 1e-6 && due < s->due + 1e-6);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases) };

    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
