/* test_pmix_log.c - pmix-log on a fake host: what its log answers is the caller's status. */
#include "pmix_ext/commands.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MUST assert_true
#include "test/unit/fake_ext.h"

#define TEXT "cmd=pmix-log;thrid=2;data=[{\"key\":\"pmix.log.stderr\",\"type\":\"PMIX_STRING\"," \
             "\"value\":\"word\"}];"

/* R10-29: the host's log has a status, which is that of the channel and, as there is no other,
 * of the request. */
static void test_status(void **state)
{
    static const struct { int errnum; pmix_status_t status; } rows[] = {
        { 0, PMIX_SUCCESS }, { ENOTSUP, PMIX_ERR_NOT_SUPPORTED },
        { EAGAIN, PMIX_ERR_OUT_OF_RESOURCE }, { ENOSPC, PMIX_ERR_OUT_OF_RESOURCE },
        { EFBIG, PMIX_ERR_OUT_OF_RESOURCE }, { EIO, PMIX_ERROR }, { ELOOP, PMIX_ERROR },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct host *h = start(1, 1, 1, 1);
        char channel[100], whole[40], *text;

        h->log_errno = rows[i].errnum;
        h->logs = true;
        say(h, TEXT, true);
        text = frame(h);
        assert_non_null(text);
        snprintf(channel, sizeof channel,
                 "results=[{\"key\":\"pmix.log.stderr\",\"status\":%d}];", rows[i].status);
        snprintf(whole, sizeof whole, ";status=%d;", rows[i].status);
        assert_non_null(strstr(text, channel));
        assert_non_null(strstr(text, whole));
        assert_int_equal(!strstr(text, ";rc=0;"), rows[i].errnum != 0);
        assert_string_equal(buf_bytes(&h->logged), "1 3 - word\n");
        free(text);
        stop(h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
