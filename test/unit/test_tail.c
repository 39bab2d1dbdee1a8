/* Tests of mpiexec_lite/tail.c */
#include "mpiexec_lite/tail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct { const char *name, *text, *want; } cases[] = {
    { "nothing", "", "" },
    { "no end of line", "abc", "abc" },
    { "one line", "abc\n", "abc\n" },
    { "an empty line", "\n", "\n" },
    { "as many as are kept", "1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n" },
    { "more", "1\n2\n3\n4\n5\n6\n7\n", "3\n4\n5\n6\n7\n" },
    { "more, the last not ended", "1\n2\n3\n4\n5\n6", "2\n3\n4\n5\n6" },
    { "empty lines count", "1\n\n\n\n\n\n6\n", "\n\n\n\n6\n" },
};

static void check(struct tail *t, const char *want, size_t len)
{
    struct buf out = BUF_INIT;

    tail_text(t, &out);
    assert_int_equal(out.len, len);
    if (len)
        assert_memory_equal(buf_bytes(&out), want, len);
    buf_clear(&out);
    tail_clear(t);
}

/* At once, and byte by byte. */
static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tail t = { NULL, 0 };

        print_message("  %s\n", cases[i].name);
        tail_add(&t, cases[i].text, strlen(cases[i].text));
        check(&t, cases[i].want, strlen(cases[i].want));
        for (const char *p = cases[i].text; *p; p++)
            tail_add(&t, p, 1);
        check(&t, cases[i].want, strlen(cases[i].want));
    }
}

/* Of a line that is longer than the ring its end; behind it whole lines only. */
static void test_long(void **state)
{
    static char text[3 * TAIL_SIZE];
    struct tail t = { NULL, 0 };

    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i % 23);
    tail_add(&t, text, sizeof text);
    check(&t, text + sizeof text - TAIL_SIZE, TAIL_SIZE);
    for (size_t n = 1; n < 700; n += 97) {
        for (size_t at = 0; at < sizeof text; at += n)
            tail_add(&t, text + at, at + n < sizeof text ? n : sizeof text - at);
        check(&t, text + sizeof text - TAIL_SIZE, TAIL_SIZE);
    }
    tail_add(&t, text, sizeof text);
    tail_add(&t, "\nlast\n", 6);
    check(&t, "last\n", 5);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
