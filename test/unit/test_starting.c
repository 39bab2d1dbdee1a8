/* test_starting.c - mpiexec_lite/starting: when a job that a rank starts has come up. */
#include "mpiexec_lite/starting.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))
enum { RANKS = 3, POSITIONS = 4 };

/* A story is words: w2 position 2 has ranks, s2 it has spoken, f1 rank 1 does not run, as
 * of ENOENT, e1 the same, as of EACCES; c the others are cancelled; o open, d done, r
 * refused: what is so while ranks run; O, D, R: once they have ended. */
static const struct { const char *name, *words; int codes[RANKS]; } stories[] = {
    { "ranks of this host only", "d D", { 0 } },
    { "others are awaited", "w1 w3 o O s1 o O s3 d D", { 0 } },
    { "in any order", "w1 w2 w3 s3 s1 o s2 d", { 0 } },
    { "once each", "w2 w2 w1 s2 s2 o s1 d", { 0 } },
    { "who was not awaited, or came later", "w2 s1 s3 s4 s9 o s2 d", { 0 } },
    { "a failure: when all have ended", "w1 f2 o O s1 o R", { 0, 0, ENOENT } },
    { "here", "f0 o R", { ENOENT } },
    { "told after its position has spoken", "w1 w2 s1 f1 o O s2 o R", { 0, ENOENT } },
    { "the first reason counts", "f1 e1 e0 o R", { EACCES, ENOENT } },
    { "the others are cancelled", "f1 c R", { ECANCELED, ENOENT, ECANCELED } },
    { "all of them", "f0 f1 f2 o R", { ENOENT, ENOENT, ENOENT } },
};

static void play(struct starting *x, const char *word)
{
    static const char states[] = "odrODR";
    int n = atoi(word + 1);

    switch (*word) {
    case 'w': starting_await(x, n); break;
    case 's': starting_said(x, n); break;
    case 'f': starting_failed(x, n, ENOENT); break;
    case 'e': starting_failed(x, n, EACCES); break;
    case 'c': starting_cancel(x); break;
    default:
        assert_non_null(strchr(states, *word));
        n = (int)(strchr(states, *word) - states);
        assert_int_equal(starting_look(x, n > 2), n % 3);
    }
}

static void test_stories(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(stories); i++) {
        struct starting x;

        print_message("  %s\n", stories[i].name);
        assert_int_equal(starting_init(&x, RANKS, POSITIONS, NULL), 0);
        for (const char *word = stories[i].words; *word; word += strcspn(word, " "))
            play(&x, word += *word == ' ');
        assert_memory_equal(x.codes, stories[i].codes, sizeof stories[i].codes);
        starting_clear(&x);
        starting_clear(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_stories) };

    return cmocka_run_group_tests_name("starting", tests, NULL, NULL);
}
