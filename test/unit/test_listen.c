/* test_listen.c - mpiexec_lite/listen: a loopback port for peers of our own user. */
#include "mpiexec_lite/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/unit/fake_memory.h"

static int accepted = -1;
static char refused[200];

static void on_accepted(void *host, int fd)
{
    assert_string_equal(host, "host");
    accepted = fd;
}

static void on_refused(void *host, const char *why)
{
    assert_string_equal(host, "host");
    snprintf(refused, sizeof refused, "%s", why);
}

static const struct listen_ops ops = { on_accepted, on_refused };
static char host[] = "host";

static struct listener *start(void)
{
    struct err e = { 0 };
    struct listener *l = listen_start(ev_default_loop(0), NULL, &ops, host, &e);

    assert_non_null(l);
    accepted = -1;
    *refused = '\0';
    return l;
}

static struct sockaddr_in address_of(const struct listener *l)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const char *colon = strchr(listen_address(l), ':');

    assert_memory_equal(listen_address(l), "127.0.0.1:", 10);
    to.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    return to;
}

static void test_ours(void **state)
{
    struct listener *l = start();
    struct sockaddr_in to = address_of(l);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char c;

    (void)state;
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    ev_run(ev_default_loop(0), EVRUN_ONCE);
    assert_string_equal(refused, "");
    assert_true(accepted >= 0);
    assert_true(fcntl(accepted, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(read(accepted, &c, 1), 1);
    close(accepted);
    close(fd);
    listen_stop(l);
    assert_int_equal(connect(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                             (struct sockaddr *)&to, sizeof to), -1);
    assert_int_equal(errno, ECONNREFUSED);
}

/* A peer of another user gets no further than accept. */
static void test_other_user(void **state)
{
    struct listener *l;
    struct sockaddr_in to;
    int status;
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        skip();
    l = start();
    to = address_of(l);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        char c;
        int fd;

        if (setuid(12345) < 0 || (fd = socket(AF_INET, SOCK_STREAM, 0)) < 0 ||
            connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
            _exit(2);
        _exit(read(fd, &c, 1) > 0);      /* it is closed */
    }
    ev_run(ev_default_loop(0), EVRUN_ONCE);
    assert_int_equal(accepted, -1);
    assert_string_equal(refused, "PMI port: a connection of another user was refused");
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    listen_stop(l);
}

/* A peer that has closed its end is nobody's. */
static void test_gone(void **state)
{
    struct listener *l = start();
    struct sockaddr_in to = address_of(l);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct linger now = { 1, 0 };

    (void)state;
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    close(fd);
    ev_run(ev_default_loop(0), EVRUN_NOWAIT);
    assert_int_equal(accepted, -1);
    listen_stop(l);
    listen_stop(NULL);
}

static void test_no_descriptor(void **state)
{
    struct rlimit before, none;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_null(listen_start(ev_default_loop(0), NULL, &ops, host, &e));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_string_equal(e.text, "cannot open a PMI port: Too many open files");
}

static void test_no_memory(void **state)
{
    struct err e = { 0 };

    (void)state;
    memory_begin();
    memory_after(0);
    assert_null(listen_start(ev_default_loop(0), NULL, &ops, host, &e));
    memory_end();
    assert_int_equal(e.code, ERR_NOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ours), cmocka_unit_test(test_other_user),
        cmocka_unit_test(test_gone), cmocka_unit_test(test_no_descriptor),
        cmocka_unit_test(test_no_memory),
    };
    int rc = cmocka_run_group_tests_name("listen", tests, NULL, NULL);

    ev_loop_destroy(ev_default_loop(0));
    return rc;
}
