/* test_feed.c - mpiexec_lite/feed: stdin to one rank or to all, and credit for what
 * every one of them has. */
#include "mpiexec_lite/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/unit/fake_memory.h"

#define N_OF(a) (sizeof (a) / sizeof *(a))

static size_t credit;
static int closed;

static void on_credit(void *host, size_t bytes)
{
    (void)host;
    assert_true(bytes > 0);
    credit += bytes;
}

static void on_closed(void *host)
{
    (void)host;
    closed++;
}

static int failed;

static void on_failed(void *host, int errnum)
{
    (void)host;
    assert_int_equal(errnum, ENOMEM);
    failed++;
}

static const struct feed_ops ops = { on_credit, on_closed, on_failed };

/* A pipe as small as the system makes them; its write end does not block. */
static void small_pipe(int p[2])
{
    assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
    assert_true(fcntl(p[1], F_SETPIPE_SZ, 4096) >= 4096);
}

static struct feed *start(void)
{
    credit = 0;
    closed = 0;
    return feed_new(ev_default_loop(0), &ops, NULL);
}

static size_t drain(int fd, char *out, size_t size)
{
    ssize_t n = read(fd, out, size);

    return n > 0 ? (size_t)n : 0;
}

static void test_one(void **state)
{
    char out[100];
    int p[2];
    struct feed *f = start();

    (void)state;
    small_pipe(p);
    assert_int_equal(feed_add(f, p[1]), 0);
    feed_write(f, "hello ", 6);
    feed_write(f, "world", 5);
    assert_int_equal(credit, 11);
    assert_int_equal(drain(p[0], out, sizeof out), 11);
    assert_memory_equal(out, "hello world", 11);
    feed_end(f);
    assert_int_equal(read(p[0], out, 1), 0);             /* end of file */
    feed_write(f, "late", 4);
    assert_int_equal(closed, 0);
    feed_free(f);
    close(p[0]);
}

/* Credit is what the slowest has; all get the same bytes. */
static void test_all(void **state)
{
    enum { READERS = 3, BYTES = 20000 };
    static char text[BYTES], got[READERS][BYTES + 1];
    size_t n[READERS] = { 0 };
    int p[READERS][2];
    struct feed *f = start();

    (void)state;
    for (size_t i = 0; i < BYTES; i++)
        text[i] = (char)('a' + i % 26);
    for (int r = 0; r < READERS; r++) {
        small_pipe(p[r]);
        assert_int_equal(feed_add(f, p[r][1]), 0);
    }
    feed_write(f, text, BYTES);
    assert_true(credit < BYTES);
    while (n[0] < BYTES || n[1] < BYTES || n[2] < BYTES) {
        size_t least = BYTES;

        for (int r = 0; r < READERS; r++)        /* rank 2 reads little at a time */
            n[r] += drain(p[r][0], got[r] + n[r], r == 2 ? 1000 : BYTES);
        ev_run(ev_default_loop(0), EVRUN_NOWAIT);
        for (int r = 0; r < READERS; r++)
            least = n[r] < least ? n[r] : least;
        assert_true(credit >= least);
        assert_true(credit <= least + 4096);             /* what a pipe holds */
    }
    assert_int_equal(credit, BYTES);
    feed_end(f);
    for (int r = 0; r < READERS; r++) {
        assert_memory_equal(got[r], text, BYTES);
        assert_int_equal(read(p[r][0], got[r], 1), 0);
        close(p[r][0]);
    }
    assert_int_equal(closed, 0);
    feed_free(f);
}

/* A reader that goes does not hold the others up; when the last goes, it is told. */
static void test_gone(void **state)
{
    static char text[8192];
    int p[2][2];
    struct feed *f = start();

    (void)state;
    for (int r = 0; r < 2; r++) {
        small_pipe(p[r]);
        assert_int_equal(feed_add(f, p[r][1]), 0);
    }
    feed_write(f, text, sizeof text);
    assert_int_equal(drain(p[0][0], text, sizeof text), 4096);
    close(p[1][0]);
    ev_run(ev_default_loop(0), EVRUN_NOWAIT);
    assert_int_equal(drain(p[0][0], text, sizeof text), 4096);
    ev_run(ev_default_loop(0), EVRUN_NOWAIT);
    assert_int_equal(credit, sizeof text);
    assert_int_equal(closed, 0);
    close(p[0][0]);
    feed_write(f, "x", 1);
    assert_int_equal(closed, 1);
    feed_write(f, "y", 1);
    assert_int_equal(closed, 1);
    feed_free(f);
}

static void test_nobody(void **state)
{
    struct feed *f = start();

    (void)state;
    feed_write(f, "x", 1);
    assert_int_equal(closed, 1);
    feed_free(f);
    feed_free(NULL);
}

static void test_no_memory(void **state)
{
    struct feed *f;
    int p[2];

    (void)state;
    memory_begin();
    memory_after(0);
    assert_null(start());
    memory_end();
    f = start();
    small_pipe(p);
    memory_after(0);
    assert_int_equal(feed_add(f, p[1]), -1);
    memory_end();
    assert_int_equal(fcntl(p[1], F_GETFD), -1);          /* taken all the same */
    close(p[0]);
    small_pipe(p);
    assert_int_equal(feed_add(f, p[1]), 0);
    memory_after(0);
    feed_write(f, "x", 1);
    memory_end();
    assert_int_equal(failed, 1);
    feed_free(f);
    close(p[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one), cmocka_unit_test(test_all), cmocka_unit_test(test_gone),
        cmocka_unit_test(test_nobody), cmocka_unit_test(test_no_memory),
    };
    int rc;

    signal(SIGPIPE, SIG_IGN);
    rc = cmocka_run_group_tests_name("feed", tests, NULL, NULL);
    ev_loop_destroy(ev_default_loop(0));
    return rc;
}
