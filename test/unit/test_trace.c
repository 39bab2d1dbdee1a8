/* test_trace.c - mpiexec_lite/trace: lines that a person can read and replay. */
#include "mpiexec_lite/trace.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

static const struct {
    const char *name;
    int job, rank;
    bool from_client;
    const char *data, *line;
}
lines[] = {
    { "a line", 0, 0, true, "cmd=get_maxes\n", "0 C>S |cmd=get_maxes\\n|" },
    { "a reply", 0, 12, false, "cmd=x rc=0\n", "12 S>C |cmd=x rc=0\\n|" },
    { "nobody yet", 0, -1, true, "cmd=initack pmiid=1\n", "? C>S |cmd=initack pmiid=1\\n|" },
    { "a frame", 0, 1, true, "    14cmd=job-getid;", "1 C>S |    14cmd=job-getid;|" },
    { "backslash, bar, control", 0, 1, true, "a\\b|c\x1b\n", "1 C>S |a\\\\b|c\\x1B\\n|" },
    { "a rank of another job", 7, 2, true, "x\n", "7.2 C>S |x\\n|" },
    { "UTF-8 and not", 0, 1, true, "\xc3\xbc", "1 C>S |\xc3\xbc|" },
    { "not UTF-8", 0, 1, true, "\xff", "1 C>S |\\xFF|" },
};

static void test_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(lines); i++) {
        struct buf b = BUF_INIT;

        print_message("  %s\n", lines[i].name);
        trace_format(&b, lines[i].job, lines[i].rank, lines[i].from_client, lines[i].data,
                     strlen(lines[i].data));
        assert_false(b.failed);
        assert_string_equal(buf_bytes(&b), lines[i].line);
        buf_clear(&b);
    }
}

static void test_file(void **state)
{
    char name[] = "/tmp/test_trace.XXXXXX", text[400];
    struct buf b = BUF_INIT;
    struct err e = { 0 };
    int fd = mkstemp(name);
    ssize_t n;

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    fd = trace_open(name, &e);
    assert_true(fd >= 0);
    trace_format(&b, 0, 3, true, "a", 1);
    trace_write(fd, &b);
    trace_write(fd, &b);
    close(fd);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    n = read(fd, text, sizeof text - 1);
    assert_true(n > 0);
    text[n] = '\0';
    assert_int_equal(*text, '#');
    assert_string_equal(strchr(text, '\n') + 1, "3 C>S |a|\n3 C>S |a|\n");
    close(fd);
    unlink(name);
    assert_int_equal(trace_open("/dev/null/trace", &e), -1);
    assert_string_equal(e.text, "/dev/null/trace: Not a directory");

    /* A full disk is no reason to stop. */
    fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    trace_write(fd, &b);
    close(fd);
    buf_clear(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format), cmocka_unit_test(test_file),
    };

    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
