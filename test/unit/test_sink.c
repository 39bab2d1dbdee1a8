/* test_sink.c - mpiexec_lite/sink: bytes go out in order to files, pipes and sockets,
 * without blocking and without changing flags that others see. */
#include "mpiexec_lite/sink.h"

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
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/unit/fake_memory.h"

#define N_OF(a) (sizeof (a) / sizeof *(a))

static int resumed, failed_with;

static void on_resume(void *host, struct sink *s)
{
    (void)host;
    (void)s;
    resumed++;
}

static void on_failed(void *host, struct sink *s, int errnum)
{
    (void)host;
    assert_true(s->dead);
    failed_with = errnum;
}

static const struct sink_ops ops = { on_resume, on_failed };

static void start(struct sink *s, int fd, bool owned)
{
    resumed = failed_with = 0;
    assert_int_equal(sink_init(s, ev_default_loop(0), fd, owned, "place", &ops, NULL), 0);
    assert_string_equal(s->name, "place");
}

enum { BYTES = 300000 };

/* Write much, read it back bit by bit; flags of `mine` stay as they are. */
static void through(int mine, int theirs)
{
    char *text = malloc(BYTES), *got = malloc(BYTES);
    int flags = fcntl(mine, F_GETFL);
    struct sink s;
    size_t n = 0;

    assert_non_null(text);
    assert_non_null(got);
    for (size_t i = 0; i < BYTES; i++)
        text[i] = (char)(i * 7 % 251);
    assert_int_equal(fcntl(theirs, F_SETFL, O_NONBLOCK), 0);
    start(&s, mine, false);
    sink_write(&s, text, 100000);
    sink_write(&s, text + 100000, 100000);
    assert_true(sink_full(&s));
    assert_false(sink_idle(&s));
    buf_add(&s.out, text + 200000, BYTES - 200000);      /* as labelled output does */
    sink_flush(&s);
    while (n < BYTES) {
        ssize_t k = read(theirs, got + n, BYTES - n);

        if (k > 0)
            n += (size_t)k;
        ev_run(ev_default_loop(0), EVRUN_NOWAIT);
    }
    assert_memory_equal(got, text, BYTES);
    ev_run(ev_default_loop(0), EVRUN_NOWAIT);
    assert_true(sink_idle(&s));
    assert_false(sink_full(&s));
    assert_int_equal(resumed, 1);
    assert_int_equal(fcntl(mine, F_GETFL), flags);
    assert_int_equal(failed_with, 0);
    sink_clear(&s);
    assert_int_equal(fcntl(mine, F_GETFL), flags);
    free(text);
    free(got);
}

static void test_pipe(void **state)
{
    int p[2];

    (void)state;
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    through(p[1], p[0]);
    close(p[0]);
    close(p[1]);
}

static void test_socket(void **state)
{
    int sv[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    assert_int_equal(setsockopt(sv[1], SOL_SOCKET, SO_SNDBUF, &(int){ 4096 }, sizeof(int)), 0);
    through(sv[1], sv[0]);
    close(sv[0]);
    close(sv[1]);
}

/* Where it cannot be opened anew (as with another user's terminal), poll is asked. */
static void test_poll(void **state)
{
    static char text[BYTES];
    struct sink s;
    int p[2];
    size_t n = 0;

    (void)state;
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    start(&s, p[1], false);
    if (s.owned)
        close(s.fd);
    s.fd = p[1];
    s.owned = false;
    s.poll = true;
    ev_io_set(&s.writable, p[1], EV_WRITE);
    memset(text, 'x', sizeof text);
    sink_write(&s, text, sizeof text);
    assert_true(sink_full(&s));
    while (n < sizeof text) {
        n += (size_t)read(p[0], text, sizeof text);
        ev_run(ev_default_loop(0), EVRUN_NOWAIT);
    }
    assert_true(sink_idle(&s));
    sink_clear(&s);
    close(p[0]);
    close(p[1]);
}

static void test_reader_gone(void **state)
{
    struct sink s;
    int p[2];

    (void)state;
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    start(&s, p[1], false);
    close(p[0]);
    sink_write(&s, "x", 1);
    assert_int_equal(failed_with, EPIPE);
    failed_with = 0;
    sink_write(&s, "y", 1);
    sink_flush(&s);
    assert_int_equal(failed_with, 0);                    /* told once */
    assert_true(sink_idle(&s));
    sink_clear(&s);
    close(p[1]);
}

/* The reader goes while something waits. */
static void test_reader_goes(void **state)
{
    static char text[BYTES];
    struct sink s;
    int p[2];

    (void)state;
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    start(&s, p[1], false);
    sink_write(&s, text, sizeof text);
    assert_true(sink_full(&s));
    close(p[0]);
    ev_run(ev_default_loop(0), EVRUN_NOWAIT);
    assert_int_equal(failed_with, EPIPE);
    assert_true(sink_idle(&s));
    sink_clear(&s);
    close(p[1]);
}

static char folder[] = "/tmp/test_sink.XXXXXX";
static char file[100], other[100];

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/file", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    unlink(file);
    unlink(other);
    rmdir(folder);
    return 0;
}

static void test_file(void **state)
{
    struct err e = { 0 };
    struct stat st;
    struct sink s;
    int fd;

    (void)state;
    for (int i = 0; i < 2; i++) {                        /* the second time it is emptied */
        fd = sink_open_file(file, &e);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_size, i ? 9 : 0);         /* opening leaves it as it was */
        assert_int_equal(sink_empty_file(fd, file, &e), 0);
        start(&s, fd, true);
        sink_write(&s, "some text", 9);
        assert_true(sink_idle(&s));
        sink_clear(&s);
        assert_int_equal(fcntl(fd, F_GETFD), -1);
        assert_int_equal(stat(file, &st), 0);
        assert_int_equal(st.st_size, 9);
    }
    assert_int_equal(link(file, other), 0);
    assert_int_equal(sink_open_file(file, &e), -1);
    assert_non_null(strstr(e.text, "has 2 names; refusing to empty it"));
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_size, 9);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(symlink(file, other), 0);
    assert_int_equal(sink_open_file(other, &e), -1);
    assert_non_null(strstr(e.text, "is a symbolic link; not followed"));
    assert_int_equal(unlink(other), 0);
    assert_int_equal(sink_open_file("/dev/null/file", &e), -1);
    assert_string_equal(e.text, "/dev/null/file: Not a directory");
    snprintf(other, sizeof other, "%s/new/folder/file", folder);
    fd = sink_open_file(other, &e);
    assert_true(fd >= 0);
    close(fd);
    unlink(other);
    snprintf(other, sizeof other, "%s/new/folder", folder);
    assert_int_equal(rmdir(other), 0);
    snprintf(other, sizeof other, "%s/new", folder);
    assert_int_equal(rmdir(other), 0);
    assert_int_equal(sink_open_file(folder, &e), -1);
    fd = sink_open_file("/dev/null", &e);
    assert_true(fd >= 0);
    close(fd);
}

static void test_other_owner(void **state)
{
    struct err e = { 0 };

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(file, 12345, 12345), 0);
    assert_int_equal(sink_open_file(file, &e), -1);
    assert_non_null(strstr(e.text, "belongs to another user"));
    assert_int_equal(unlink(file), 0);
}

static void test_full_disk(void **state)
{
    struct err e = { 0 };
    struct sink s;
    int fd = sink_open_file("/dev/full", &e);

    (void)state;
    assert_true(fd >= 0);
    start(&s, fd, true);
    sink_write(&s, "x", 1);
    assert_int_equal(failed_with, ENOSPC);
    sink_clear(&s);
}

static void test_no_memory(void **state)
{
    static char text[BYTES];
    struct sink s;
    int p[2];

    (void)state;
    memory_begin();
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    memory_after(0);
    assert_int_equal(sink_init(&s, ev_default_loop(0), p[1], false, "x", &ops, NULL), -1);
    memory_end();
    start(&s, p[1], false);
    memory_after(0);
    sink_write(&s, text, sizeof text);
    memory_end();
    assert_int_equal(failed_with, ENOMEM);
    sink_clear(&s);
    close(p[0]);
    close(p[1]);
}

/* --- bytes that go elsewhere ------------------------------------------- */

static struct { char got[4096]; size_t n, room; int calls, rank; bool errors; } taker;

static size_t take_some(void *host, struct sink *s, const char *data, size_t len)
{
    size_t n = len < taker.room ? len : taker.room;

    assert_ptr_equal(host, &taker);
    assert_true(len > 0);
    assert_true(taker.n + n < sizeof taker.got);
    memcpy(taker.got + taker.n, data, n);
    taker.n += n;
    taker.room -= n;
    taker.calls++;
    taker.rank = s->rank;
    taker.errors = s->errors;
    return n;
}

static void start_put(struct sink *s)
{
    memset(&taker, 0, sizeof taker);
    resumed = failed_with = 0;
    assert_int_equal(sink_init_put(s, ev_default_loop(0), take_some, 7, true, &ops, &taker), 0);
}

static void test_put(void **state)
{
    struct sink s;

    (void)state;
    start_put(&s);
    taker.room = 8;
    sink_write(&s, "hello ", 6);
    assert_true(sink_idle(&s) && !sink_full(&s));
    assert_int_equal(taker.rank, 7);
    assert_true(taker.errors);
    sink_write(&s, "world", 5);              /* two fit */
    assert_true(sink_full(&s) && !sink_idle(&s));
    taker.calls = 0;
    sink_write(&s, ", and", 5);              /* waits; nobody is asked in vain */
    sink_flush(&s);
    assert_int_equal(taker.calls, 0);
    taker.room = 1;
    sink_go_on(&s);                          /* not enough */
    assert_true(sink_full(&s));
    assert_int_equal(resumed, 0);
    taker.room = 100;
    sink_go_on(&s);
    assert_int_equal(resumed, 1);
    assert_true(sink_idle(&s) && !sink_full(&s));
    sink_go_on(&s);                          /* it was not full */
    assert_int_equal(resumed, 1);
    sink_write(&s, "!", 1);
    assert_int_equal(taker.n, 17);
    assert_memory_equal(taker.got, "hello world, and!", 17);
    sink_clear(&s);
}

/* Nothing fits for long; it is freed with what waits. */
static void test_put_nothing(void **state)
{
    struct sink s;

    (void)state;
    start_put(&s);
    for (int i = 0; i < 100; i++)
        sink_write(&s, "0123456789", 10);
    assert_int_equal(s.out.len, 1000);
    assert_int_equal(taker.calls, 1);
    sink_go_on(&s);
    assert_int_equal(taker.calls, 2);
    assert_int_equal(resumed, 0);
    sink_clear(&s);
    memory_begin();
    memory_after(0);
    assert_int_equal(sink_init_put(&s, ev_default_loop(0), take_some, 0, false, &ops, &taker),
                     -1);
    memory_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipe), cmocka_unit_test(test_socket), cmocka_unit_test(test_poll),
        cmocka_unit_test(test_reader_gone), cmocka_unit_test(test_reader_goes),
        cmocka_unit_test(test_file), cmocka_unit_test(test_other_owner),
        cmocka_unit_test(test_full_disk), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_put), cmocka_unit_test(test_put_nothing),
    };
    int rc;

    signal(SIGPIPE, SIG_IGN);
    rc = cmocka_run_group_tests_name("sink", tests, make_folder, drop_folder);
    ev_loop_destroy(ev_default_loop(0));
    return rc;
}
