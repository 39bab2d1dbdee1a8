/* test_address.c - mpiexec_lite/address: HOST:PORT. */
#include "mpiexec_lite/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct { const char *text; unsigned usual; const char *host; unsigned port; } good[] = {
    { "node1:17653", 0, "node1", 17653 }, { "10.0.0.1:1", 5, "10.0.0.1", 1 },
    { "10.0.0.1", 17653, "10.0.0.1", 17653 }, { "a:65535", 0, "a", 65535 },
    { "a:00080", 0, "a", 80 },
};

static const struct { const char *text; unsigned usual; const char *error; } bad[] = {
    { "", 5, "'' has no host" }, { ":5", 0, "':5' has no host" },
    { "a", 0, "'a' has no port from 1 to 65535" }, { "a:", 5, "'a:' has no port from 1 to 65535" },
    { "a:0", 5, "'a:0' has no port from 1 to 65535" },
    { "a:65536", 0, "'a:65536' has no port from 1 to 65535" },
    { "a:99999999999999999999", 0, "'a:99999999999999999999' has no port from 1 to 65535" },
    { "a:-1", 0, "'a:-1' has no port from 1 to 65535" },
    { "a:1 ", 0, "'a:1 ' has no port from 1 to 65535" },
    { "a:1:2", 0, "'a:1:2' has no port from 1 to 65535" },
    { "/a/b:1", 0, "'/a/b:1' has no host" },
};

static void test_good(void **state)
{
    struct address a;
    struct err e;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(address_read(&a, good[i].text, good[i].usual, &e), 0);
        assert_string_equal(a.host, good[i].host);
        assert_int_equal(a.port, good[i].port);
    }
}

static void test_bad(void **state)
{
    char text[ADDRESS_HOST + 4];
    struct address a;
    struct err e;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(address_read(&a, bad[i].text, bad[i].usual, &e), -1);
        assert_string_equal(e.text, bad[i].error);
    }
    memset(text, 'a', sizeof text);
    strcpy(text + ADDRESS_HOST, ":1");
    assert_int_equal(address_read(&a, text, 0, &e), -1);
    strcpy(text + ADDRESS_HOST - 1, ":1");
    assert_int_equal(address_read(&a, text, 0, &e), 0);
    assert_int_equal(strlen(a.host), ADDRESS_HOST - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
