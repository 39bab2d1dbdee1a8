/* Tests of pmix_ext/value_growing.c: an array of any length has what was written to it. */
#include "pmix_ext/value_growing.h"

#include "test/unit/fault.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

enum { SIZE = 288, WORDS = SIZE / sizeof(uint64_t), MANY = 40000 };      /* 11 MB */

/* Elements are all zero at first, and what was written to those before them is still there. */
static void fill(struct growing *g, size_t n)
{
    while (g->n < n) {
        uint64_t *to = grow(g);

        assert_non_null(to);
        for (int i = 0; i < WORDS; i++)
            assert_int_equal(to[i], 0);
        to[0] = g->n;
        to[WORDS - 1] = ~g->n;
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t *at = (const void *)(g->at + i * g->size);

        assert_int_equal(at[0], i + 1);
        assert_int_equal(at[WORDS - 1], ~(i + 1));
    }
}

static void test_lengths(void **state)
{
    static const size_t lengths[] = { 0, 1, 4, 5, 8, 1000, 7281, 7282, 8192, 8193, MANY };

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct growing g = { .size = SIZE };

        fill(&g, lengths[i]);
        if (lengths[i]) {
            g.at = grown(&g);
            fill(&g, g.n);
            assert_in_range(malloc_usable_size(g.at), g.n * SIZE, g.n * SIZE + 8192);
        }
        free(g.at);
    }
}

/* One that was complete goes on. */
static void test_again(void **state)
{
    struct growing g = { .size = SIZE };

    (void)state;
    fill(&g, MANY / 2);
    g.at = grown(&g);
    g.room = g.n;
    fill(&g, MANY);
    free(g.at);
}

/* Where there is no room for the longest array, there is for this one. */
static void test_little_room(void **state)
{
    struct growing g = { .size = SIZE };
    struct rlimit before, little;
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages;

    (void)state;
    fault_begin();
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu", &pages), 1);
    fclose(f);
    getrlimit(RLIMIT_AS, &before);
    little = before;
    little.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + (64ul << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    fill(&g, MANY);
    while (grow(&g))                     /* and when there is none for it, that is said */
        ;
    fill(&g, MANY);
    setrlimit(RLIMIT_AS, &before);
    free(g.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_little_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
