/* test_sealed.c - mpiexec_lite/sealed: an end that was announced is one, whatever was still
 * to be sent to who has gone; any other is told as a cut. */
#include "mpiexec_lite/sealed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct ev_loop *loop;
static struct sealed *one, *other;       /* the two ends of a connection, and */
static int plain_one, plain_other;       /* what their owners have */
static char *why;                        /* the end of one, as it was told; NULL: not yet */

static void on_over(void *host, struct sealed *s, const char *text)
{
    (void)host;
    assert_ptr_equal(s, one);
    assert_null(why);
    why = strdup(text);
    one = NULL;
}

static int set_up(void **state)
{
    struct seal_keys keys;
    struct buf early = BUF_INIT;
    int fd[2];

    (void)state;
    loop = ev_loop_new(0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    seal_derive(&keys, "secret", 6, true);
    one = sealed_new(loop, fd[0], &keys, &early, &plain_one, on_over, NULL);
    seal_derive(&keys, "secret", 6, false);
    other = sealed_new(loop, fd[1], &keys, &early, &plain_other, on_over, NULL);
    assert_true(one && other);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sealed_free(one);
    close(plain_one);
    free(why);
    why = NULL;
    ev_loop_destroy(loop);
    return 0;
}

static void turn(void)
{
    for (int i = 0; i < 20; i++)
        ev_run(loop, EVRUN_NOWAIT);
}

static void says(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void hears(int fd, const char *text)
{
    char got[100];

    assert_int_equal(read(fd, got, sizeof got), strlen(text));
    assert_memory_equal(got, text, strlen(text));
}

/* The other's owner says its last word and leaves. */
static void other_leaves(void)
{
    says(plain_other, "the last word");
    close(plain_other);
    sealed_finish(other);
}

static void an_end_in_order(void **state)
{
    (void)state;
    other_leaves();
    turn();
    hears(plain_one, "the last word");
    shutdown(plain_one, SHUT_WR);
    turn();
    assert_string_equal(why, "");
}

static void an_end_while_something_is_to_be_sent(void **state)
{
    (void)state;
    says(plain_one, "too late");
    other_leaves();
    turn();
    assert_string_equal(why, "");
    hears(plain_one, "the last word");
}

static void a_cut(void **state)
{
    (void)state;
    says(plain_one, "too late");
    sealed_free(other);
    close(plain_other);
    turn();
    assert_string_equal(why, "the connection was cut");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_end_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_while_something_is_to_be_sent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cut, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
