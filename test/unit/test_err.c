/* test_err.c - wire/err: codes, texts, cutting, errno. */
#include "wire/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ROOM (sizeof ((struct err *)0)->text - 1)

static void test_set(void **state)
{
    struct err e;

    (void)state;
    memset(&e, 'x', sizeof e);
    errno = EPIPE;
    assert_int_equal(err_set(&e, ERR_KEY_LENGTH, "key is %d bytes", 70), -1);
    assert_int_equal(e.code, ERR_KEY_LENGTH);
    assert_string_equal(e.text, "key is 70 bytes");
    assert_int_equal(errno, EPIPE);
}

static void test_nobody_asks(void **state)
{
    (void)state;
    errno = EPIPE;
    assert_int_equal(err_set(NULL, ERR_OTHER, "%d", 1), -1);
    assert_int_equal(err_context(NULL, "%d", 1), -1);
    assert_int_equal(errno, EPIPE);
}

static const struct {
    const char *name;
    size_t text, context;        /* lengths */
    size_t want, want_context;   /* of the result, and of the context in it */
} cut_cases[] = {
    { "fits",                     5,   7,   14,   7 },
    { "fits exactly",             100, 137, ROOM, 137 },
    { "one too many",             100, 138, ROOM, 138 },
    { "a full text gets context", 300, 10,  ROOM, 10 },
    { "context leaves room for 2", 5,  237, ROOM, 237 },
    { "context fills it",         5,   239, ROOM, 239 },
    { "context is cut",           5,   900, ROOM, ROOM },
    { "nothing at all",           0,   0,   2,    0 },
};

static void test_context(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cut_cases / sizeof *cut_cases; i++) {
        char text[1000], context[1000];
        struct err e;

        print_message("  %s\n", cut_cases[i].name);
        memset(text, 't', sizeof text);
        memset(context, 'c', sizeof context);
        text[cut_cases[i].text] = context[cut_cases[i].context] = '\0';
        err_set(&e, ERR_NOMEM, "%s", text);
        assert_int_equal(strlen(e.text), cut_cases[i].text < ROOM ? cut_cases[i].text : ROOM);
        errno = EPIPE;
        assert_int_equal(err_context(&e, "%s", context), -1);
        assert_int_equal(errno, EPIPE);
        assert_int_equal(e.code, ERR_NOMEM);
        assert_int_equal(strlen(e.text), cut_cases[i].want);
        assert_int_equal(strspn(e.text, "c"), cut_cases[i].want_context);
    }
}

static void test_grows_on_its_way_up(void **state)
{
    struct err e;

    (void)state;
    err_set(&e, ERR_KEY_LENGTH, "key is 70 bytes, at most 64");
    err_context(&e, "kvs-put");
    err_context(&e, "rank %d", 3);
    assert_string_equal(e.text, "rank 3: kvs-put: key is 70 bytes, at most 64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_nobody_asks),
        cmocka_unit_test(test_context),
        cmocka_unit_test(test_grows_on_its_way_up),
    };

    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
