/* test_control.c - mpiexec_lite/control: messages between front end and root. */
#include "mpiexec_lite/control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

struct side {
    struct control c;
    char           log[4096];
};

static void note(struct side *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(struct side *s, const char *fmt, ...)
{
    size_t n = strlen(s->log);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(s->log + n, sizeof s->log - n, fmt, ap);
    va_end(ap);
}

static void on_signal(void *host, int signo) { note(host, "signal %d\n", signo); }
static void on_input(void *host, const char *data, size_t len)
{
    note(host, "%.*s", (int)len, data);
}
static void on_end(void *host) { note(host, "end\n"); }
static void on_credit(void *host, size_t bytes) { note(host, "credit %zu\n", bytes); }
static void on_closed(void *host) { note(host, "closed\n"); }
static void on_stopped(void *host) { note(host, "stopped\n"); }

static void on_ending(void *host) { note(host, "ending\n"); }
static void on_rows(void *host, int from) { note(host, "rows %d\n", from); }
static void on_release(void *host, int rank) { note(host, "release %d\n", rank); }
static void on_spawn(void *host, struct spawn_request *want)
{
    note(host, "spawn %d x %s", want->commands[0].procs, want->commands[0].program);
    for (size_t i = 0; i < want->commands[0].nargs; i++)
        note(host, " [%s]", want->commands[0].args[i]);
    note(host, "\n");
}
static void on_table(void *host, int ranks, const char *jobid)
{
    note(host, "table %d %s\n", ranks, jobid);
}
static void on_row(void *host, const struct control_row *row)
{
    note(host, "row %d %d %s %s\n", row->rank, (int)row->pid, row->host, row->program);
}
static void on_daemons(void *host) { note(host, "daemons\n"); }
static void on_aborting(void *host, const char *text) { note(host, "aborting %s\n", text); }

static const struct control_ops root_ops = {
    .signal = on_signal, .input = on_input, .input_end = on_end, .rows = on_rows,
    .release = on_release, .spawn = on_spawn,
};
static const struct control_ops front_ops = {
    .credit = on_credit, .input_closed = on_closed, .stopped = on_stopped, .table = on_table,
    .row = on_row, .daemons = on_daemons, .aborting = on_aborting, .ending = on_ending,
};

static void open_pair(struct side *front, struct side *root)
{
    int sv[2];

    memset(front, 0, sizeof *front);
    memset(root, 0, sizeof *root);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    control_init(&front->c, sv[0], &front_ops, front);
    control_init(&root->c, sv[1], &root_ops, root);
}

static void close_pair(struct side *front, struct side *root)
{
    close(front->c.fd);
    close(root->c.fd);
    control_clear(&front->c);
    control_clear(&root->c);
}

static void test_messages(void **state)
{
    struct side front, root;
    struct err e = { 0 };

    (void)state;
    open_pair(&front, &root);
    assert_int_equal(control_read(&root.c, &e), 1);      /* nothing: does not block */
    control_send(&front.c, "signal", "signo", 15);
    control_send_input(&front.c, "some text\n", 10);
    control_send_input(&front.c, "more", 4);
    control_send(&front.c, "signal", "signo", 2);
    control_send(&front.c, "stdin-eof", NULL, 0);
    assert_int_equal(control_read(&root.c, &e), 1);
    assert_string_equal(root.log, "signal 15\nsome text\nmoresignal 2\nend\n");
    control_send(&root.c, "credit", "bytes", CONTROL_CREDIT);
    control_send(&root.c, "stdin-closed", NULL, 0);
    control_send(&root.c, "stopped", NULL, 0);
    assert_int_equal(control_read(&front.c, &e), 1);
    assert_string_equal(front.log, "credit 65536\nclosed\nstopped\n");
    close_pair(&front, &root);
}

/* What a debugger of the front end sees, and wants. */
static void test_debugger(void **state)
{
    struct control_row row = { 3, 77, "a host", "/a/program" };
    struct spawn_request want = { 0 };
    struct side front, root;
    struct err e = { 0 };

    (void)state;
    open_pair(&front, &root);
    control_send_table(&root.c, 4, "job-1");
    control_send_row(&root.c, &row);
    control_send(&root.c, "daemons", NULL, 0);
    control_send_abort(&root.c, "for; no=reason");
    control_send(&root.c, "ending", NULL, 0);
    assert_int_equal(control_read(&front.c, &e), 1);
    assert_string_equal(front.log, "table 4 job-1\nrow 3 77 a host /a/program\ndaemons\n"
                                   "aborting for; no=reason\nending\n");
    assert_non_null(spawn_add_command(&want));
    want.commands[0].program = strdup("/a/daemon");
    want.commands[0].procs = 1;
    assert_int_equal(spawn_add_arg(&want.commands[0], "two words"), 0);
    assert_int_equal(spawn_add_arg(&want.commands[0], "a;b=c\n"), 0);
    control_send(&front.c, "rows", "from", 64);
    assert_int_equal(control_send_spawn(&front.c, &want, &e), 0);
    control_send(&front.c, "release", "rank", -1);
    assert_int_equal(control_read(&root.c, &e), 1);
    assert_string_equal(root.log, "rows 64\nspawn 1 x /a/daemon [two words] [a;b=c\n]\nrelease -1\n");
    spawn_clear(&want);
    close_pair(&front, &root);
}

/* More than one read holds; pieces arrive as they come. */
static void test_much_input(void **state)
{
    struct side front, root;
    struct err e = { 0 };
    static char text[3000];
    size_t n = 0;

    (void)state;
    memset(text, 'x', sizeof text);
    open_pair(&front, &root);
    for (int i = 0; i < 20; i++) {
        control_send_input(&front.c, text, sizeof text);
        control_send(&front.c, "signal", "signo", 1);
    }
    shutdown(front.c.fd, SHUT_WR);
    while (control_read(&root.c, &e) > 0) {
        n += strlen(root.log);
        root.log[0] = '\0';
    }
    assert_string_equal(e.text, "");
    assert_int_equal(n, 20 * (sizeof text + strlen("signal 1\n")));
    close_pair(&front, &root);
}

static void test_end(void **state)
{
    struct side front, root;
    struct err e = { 0 };

    (void)state;
    open_pair(&front, &root);
    shutdown(front.c.fd, SHUT_RDWR);
    assert_int_equal(control_read(&root.c, &e), 0);
    control_send(&root.c, "credit", "bytes", 1);         /* no SIGPIPE */
    control_send_input(&root.c, "x", 1);
    close_pair(&front, &root);
    front.c.fd = -1;
    assert_int_equal(control_read(&front.c, &e), 0);
}

static const struct { const char *name, *bytes, *error; bool to_front; } broken[] = {
    { "no frame", "hello!", "byte 0: a six-character length expected, found \"hello!\"", false },
    { "no command", "    10signo=1;;;", "first key is 'signo', want cmd", false },
    { "unknown", "    11cmd=reboot;", "unknown message reboot", false },
    { "meant for the other side", "    20cmd=credit;bytes=10;", "unknown message credit",
      false },
    { "the other way round", "    19cmd=signal;signo=1;", "unknown message signal", true },
    { "a spawn of nothing", "    10cmd=spawn;", "no command came", false },
    { "a spawn, to the front end", "    19cmd=spawn;subcmd=a;", "unknown message spawn", true },
    { "no number", "    11cmd=signal;", "signal: no signo", false },
    { "not a number", "    19cmd=signal;signo=x;", "signo=x is not a number", false },
    { "too large a number", "    20cmd=signal;signo=65;", "signo=65 is not within 0..64", false },
    { "more input than was granted", "    24cmd=stdin;payload=65537;",
      "payload=65537 is not within 0..65536", false },
    { "more credit than there is", "    23cmd=credit;bytes=65537;",
      "bytes=65537 is not within 0..65536", true },
};

static void test_broken(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(broken); i++) {
        struct side front, root, *to = broken[i].to_front ? &front : &root;
        struct err e = { 0 };
        int fd;

        print_message("  %s\n", broken[i].name);
        open_pair(&front, &root);
        fd = broken[i].to_front ? root.c.fd : front.c.fd;
        assert_int_equal(write(fd, broken[i].bytes, strlen(broken[i].bytes)),
                         strlen(broken[i].bytes));
        assert_int_equal(control_read(&to->c, &e), -1);
        assert_string_equal(e.text, broken[i].error);
        assert_string_equal(to->log, "");
        close_pair(&front, &root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages), cmocka_unit_test(test_debugger),
        cmocka_unit_test(test_much_input),
        cmocka_unit_test(test_end), cmocka_unit_test(test_broken),
    };

    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
