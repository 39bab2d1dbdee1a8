/* test_noise.c - mpiexec_lite/noise: what hosts say, and what is told of it. */
#include "mpiexec_lite/noise.h"
#include "wire/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/fake_memory.h"

#define N_OF(a) (sizeof (a) / sizeof *(a))

static const char *const hosts[] = { "a", "b", "c" };

/* said: "host line" each; NULL: what was kept is shown. */
static const struct { const char *name, *said[12], *want; } cases[] = {
    { "one line", { "a hello" }, "a: hello|" },
    { "two hosts, one line", { "a hello", "b hello" }, "a and 1 more: hello|" },
    { "all hosts", { "b hello", "a hello", "c hello" }, "b and 2 more: hello|" },
    { "a host that says it twice counts once", { "a hi", "a hi", "b hi", "b hi" },
      "a and 1 more: hi|" },
    { "different lines, as they came first", { "a x", "a y", "b y", "b x", "c z" },
      "a and 1 more: x|a and 1 more: y|c: z|" },
    { "a line that begins as another", { "a hello", "b hello world", "c hell" },
      "a: hello|b: hello world|c: hell|" },
    { "line breaks do not count", { "a hi\n", "b hi\r\n", "c hi" }, "a and 2 more: hi|" },
    { "blanks do", { "a hi", "b hi ", "c  hi" }, "a: hi|b: hi |c:  hi|" },
    { "empty lines", { "a ", "a \n", "b \r\n", "b \n\n" }, "" },
    { "what was shown begins anew", { "a hi", "b hi", "-", "c hi", "a hi" },
      "a and 1 more: hi|c and 1 more: hi|" },
};

static void tell(void *host, const char *text)
{
    buf_str(host, text);
    buf_char(host, '|');
}

static void say(struct noise *n, const char *said)
{
    const char *host = NULL;

    for (size_t i = 0; i < N_OF(hosts); i++)
        if (*said == *hosts[i])
            host = hosts[i];
    if (host)
        noise_add(n, host, said + 2, strlen(said + 2));
    else
        noise_show(n);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct buf told = BUF_INIT;
        struct noise n = { .tell = tell, .host = &told };

        print_message("  %s\n", cases[i].name);
        for (const char *const *said = cases[i].said; *said; said++)
            say(&n, *said);
        noise_show(&n);
        noise_show(&n);                  /* nothing is told twice */
        assert_string_equal(told.len ? buf_bytes(&told) : "", cases[i].want);
        buf_clear(&told);
    }
}

/* What is more than is kept is told at once; no line is lost, none told twice. */
static void test_many(void **state)
{
    struct buf told = BUF_INIT, want = BUF_INIT;
    struct noise n = { .tell = tell, .host = &told };
    char line[40];

    (void)state;
    for (int i = 0; i < 3 * NOISE_LINES + 1; i++) {
        int len = snprintf(line, sizeof line, "line %d", i);

        noise_add(&n, hosts[i % 3], line, (size_t)len);
        buf_printf(&want, "%s: %s|", hosts[i % 3], line);
    }
    assert_true(told.len);
    noise_show(&n);
    assert_string_equal(buf_bytes(&told), buf_bytes(&want));
    buf_clear(&told);
    buf_clear(&want);
}

static void test_long(void **state)
{
    struct buf told = BUF_INIT;
    struct noise n = { .tell = tell, .host = &told };
    static char line[100000];

    (void)state;
    memset(line, 'x', sizeof line);
    noise_add(&n, "a", line, sizeof line);
    noise_add(&n, "b", line, sizeof line - 1);
    noise_show(&n);
    assert_memory_equal(buf_bytes(&told), "a and 1 more: xxx", 17);
    assert_true(told.len > 1000 && told.len < 2000);
    noise_add(&n, "a", "forgotten", 9);
    noise_clear(&n);
    noise_show(&n);
    assert_int_equal(strstr(buf_bytes(&told), "forgotten") != NULL, 0);
    buf_clear(&told);
}

static void test_no_memory(void **state)
{
    struct buf told = BUF_INIT;
    struct noise n = { .tell = tell, .host = &told };

    (void)state;
    memory_begin();
    buf_str(&told, "|");                 /* its own memory is there */
    memory_after(0);
    noise_add(&n, "a", "hi", 2);
    memory_end();
    noise_show(&n);
    assert_string_equal(buf_bytes(&told), "|a: hi|");
    buf_clear(&told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_many),
        cmocka_unit_test(test_long), cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("noise", tests, NULL, NULL);
}
