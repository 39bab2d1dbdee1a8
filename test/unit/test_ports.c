/* Tests of mpiexec_lite/ports.c */
#include "mpiexec_lite/ports.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

static struct sockaddr_in here(void)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int new_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    return fd;
}

/* A port that is taken, by *fd. */
static int taken(int *fd)
{
    struct sockaddr_in me = here();

    *fd = new_socket();
    assert_int_equal(ports_bind(*fd, NULL, &me), 0);
    assert_int_not_equal(me.sin_port, 0);
    return ntohs(me.sin_port);
}

static void test_taken(void **state)
{
    int fd, other = new_socket(), port = taken(&fd);
    struct port_range only = { port, port };
    struct sockaddr_in me = here();

    (void)state;
    assert_int_equal(ports_bind(other, &only, &me), -1);
    assert_int_equal(errno, EADDRINUSE);
    close(fd);
    close(other);
}

/* The next port of the range, as far as nobody else has it. */
static void test_range(void **state)
{
    int fd, other = new_socket(), port = taken(&fd), high = port < 65500 ? port + 35 : port;
    struct port_range range = { port, high };
    struct sockaddr_in me = here();
    int rc = ports_bind(other, &range, &me);

    (void)state;
    if (rc == 0)
        assert_in_range(ntohs(me.sin_port), port + 1, high);
    else
        assert_int_equal(errno, EADDRINUSE);
    close(fd);
    close(other);
}

/* What is wrong with the socket is not tried port by port. */
static void test_no_socket(void **state)
{
    struct port_range range = { 1, 65535 };
    struct sockaddr_in me = here();

    (void)state;
    assert_int_equal(ports_bind(-1, &range, &me), -1);
    assert_int_equal(errno, EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken), cmocka_unit_test(test_range),
        cmocka_unit_test(test_no_socket),
    };

    return cmocka_run_group_tests_name("ports", tests, NULL, NULL);
}
