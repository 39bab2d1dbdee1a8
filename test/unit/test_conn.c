/* test_conn.c - mpiexec_lite/conn: a socket, its watchers and the server core. */
#include "mpiexec_lite/conn.h"

#include <fcntl.h>
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

#include "test/unit/fake_memory.h"

enum { PEERS = 2 };

struct world {
    struct pmi_conn_env env;
    struct job      *job;
    struct pmi_conn  conn[PEERS];
    int              fd[PEERS];      /* the ranks' ends */
    int              closed[PEERS], initialized;
    char             buffer[4096];
};

static struct world w;

static size_t on_send(void *host, void *link, const char *data, size_t len)
{
    (void)host;
    return pmi_conn_send(link, data, len);
}

static void on_fail(void *host, void *link, struct member *m, const char *why)
{
    (void)host;
    (void)m;
    (void)why;
    pmi_conn_fail(link);
}

static void on_member(void *host, struct member *m)
{
    (void)host;
    (void)m;
    w.initialized++;
}

static void on_stuck(void *host, struct job *j, int missing, int waiting)
{
    (void)host;
    (void)j;
    (void)missing;
    (void)waiting;
}

static void on_log(void *host, enum log_level level, struct member *m, const char *text)
{
    (void)host;
    (void)level;
    (void)m;
    (void)text;
}

static const struct host_ops host_ops = {
    .send = on_send, .fail = on_fail, .initialized = on_member, .finalized = on_member,
    .stuck = on_stuck, .log = on_log,
};

static void on_closed(void *host, struct pmi_conn *c, struct member *m)
{
    (void)m;
    struct world *world = host;

    assert_int_equal(c->fd, -1);
    assert_null(c->core);
    world->closed[c - world->conn]++;
}

static int broken;

static void on_broken(void *host, struct pmi_conn *c, const char *why)
{
    (void)host;
    assert_true(c->failed);
    assert_string_equal(why, "no memory for replies");
    broken++;
}

static const struct pmi_conn_ops conn_ops = { on_closed, on_broken, .refused = NULL };

static void start(void)
{
    static const int appnums[PEERS];
    struct server_options options = { .pmi1_subversion = 1 };
    struct job_spec spec = { .id = "job", .size = PEERS, .universe = -1, .appnums = appnums };

    memset(&w, 0, sizeof w);
    w.env = (struct pmi_conn_env){ .loop = ev_default_loop(0), .buffer = w.buffer,
                                   .size = sizeof w.buffer, .ops = &conn_ops, .host = &w };
    w.env.server = server_new(&host_ops, &w, 1, &options);
    assert_non_null(w.env.server);
    w.job = server_add_job(w.env.server, &spec, NULL);
    assert_non_null(w.job);
    for (int i = 0; i < PEERS; i++) {
        int sv[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
        assert_int_equal(fcntl(sv[1], F_SETFL, O_NONBLOCK), 0);
        w.fd[i] = sv[1];
        assert_int_equal(pmi_conn_init(&w.conn[i], &w.env, w.job, job_member(w.job, i), sv[0]),
                         0);
    }
}

static void stop(void)
{
    for (int i = 0; i < PEERS; i++) {
        pmi_conn_close(&w.conn[i]);
        pmi_conn_close(&w.conn[i]);
        if (w.fd[i] >= 0)
            close(w.fd[i]);
    }
    server_free(w.env.server);
}

static void say(int i, const char *text)
{
    assert_int_equal(write(w.fd[i], text, strlen(text)), strlen(text));
}

static void turn(void)
{
    ev_run(ev_default_loop(0), EVRUN_NOWAIT);
}

static void expect(int i, const char *want)
{
    char got[1000];
    ssize_t n = read(w.fd[i], got, sizeof got - 1);

    got[n > 0 ? n : 0] = '\0';
    assert_string_equal(got, want);
}

static void test_dialogue(void **state)
{
    (void)state;
    start();
    say(0, "cmd=init pmi_version=1 pmi_sub");
    turn();
    expect(0, "");
    say(0, "version=1\ncmd=barrier_in\n");
    turn();
    assert_int_equal(w.initialized, 1);
    expect(0, "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n");
    say(1, "cmd=init pmi_version=1 pmi_subversion=1\ncmd=barrier_in\ncmd=finalize\n");
    turn();
    expect(0, "cmd=barrier_out rc=0\n");
    expect(1, "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n"
           "cmd=barrier_out rc=0\ncmd=finalize_ack rc=0\n");
    close(w.fd[1]);
    w.fd[1] = -1;
    turn();
    assert_int_equal(w.closed[1], 1);
    assert_int_equal(w.closed[0], 0);
    stop();
}

/* What breaks framing gets its reply, then the end. */
static void test_broken(void **state)
{
    char c;

    (void)state;
    start();
    say(0, "nonsense\n");
    turn();
    turn();
    expect(0, "cmd=error_result rc=3 msg=byte_0:_a_PMI_command_(cmd_...)_expected,_found_"
           "\"nonsense\\n\"\n");
    assert_int_equal(read(w.fd[0], &c, 1), 0);
    assert_int_equal(w.closed[0], 1);
    pmi_conn_fail(&w.conn[0]);
    assert_int_equal(pmi_conn_send(&w.conn[0], "x", 1), 0);
    stop();
}

/* What a process wrote before it ended is served. */
static void test_drain(void **state)
{
    (void)state;
    start();
    for (int i = 0; i < 200; i++)
        say(0, i ? "cmd=put key=k value=v\n" : "cmd=init pmi_version=1 pmi_subversion=1\n");
    say(0, "cmd=finalize\n");
    shutdown(w.fd[0], SHUT_WR);
    pmi_conn_drain(&w.conn[0]);
    assert_int_equal(w.closed[0], 1);
    assert_int_equal(w.initialized, 2);                  /* and finalized */
    pmi_conn_drain(&w.conn[0]);
    stop();
}

/* A peer that does not read its replies is not read either, until it does; nothing
 * is lost and what is kept is bounded. */
static void test_slow_reader(void **state)
{
    enum { ROUNDS = 20000 };
    static const char get[] = "cmd=get key=k\n";
    char value[1100] = "cmd=put key=k value=";
    size_t sent = 0, got = 0, reply, most = 0;
    static char sink[65536];
    ssize_t n;

    (void)state;
    start();
    memset(value + strlen(value), 'v', 1000);
    strcat(value, "\n");
    say(0, "cmd=init pmi_version=1 pmi_subversion=1\n");
    say(0, value);
    turn();
    while (read(w.fd[0], sink, sizeof sink) > 0)
        ;
    reply = strlen("cmd=get_result rc=0 value=\n") + 1000;
    for (int idle = 0; idle < 3;) {                      /* until it takes no more */
        n = write(w.fd[0], get, sizeof get - 1);
        idle = n == sizeof get - 1 ? 0 : idle + 1;
        sent += n == sizeof get - 1;
        turn();
        most = w.conn[0].out.len > most ? w.conn[0].out.len : most;
        assert_true(sent < 1000000);
    }
    assert_true(w.conn[0].held);
    assert_true(most < 2 * (1 << 20) + sizeof w.buffer / (sizeof get - 1) * reply);
    for (int idle = 0; got < sent * reply && idle < 100;) {
        n = read(w.fd[0], sink, sizeof sink);
        got += n > 0 ? (size_t)n : 0;
        idle = n > 0 ? 0 : idle + 1;
        turn();
    }
    assert_int_equal(got, sent * reply);
    assert_false(w.conn[0].held);
    assert_int_equal(w.closed[0], 0);
    stop();
}

/* A peer with too many requests open is not read; an answer lets it go on. */
static void test_parked(void **state)
{
    static const char wait[] = "    52cmd=info-getnodeattr;thrid=00000000;key=a;wait=TRUE;";
    static char sink[65536];
    size_t got = 0;
    ssize_t n;

    (void)state;
    start();
    for (int i = 0; i < PEERS; i++)
        say(i, "cmd=init pmi_version=2 pmi_subversion=0\n    13cmd=fullinit;");
    turn();
    while (read(w.fd[0], sink, sizeof sink) > 0 || read(w.fd[1], sink, sizeof sink) > 0)
        ;
    for (int i = 0; i < 1024; i++) {
        say(0, wait);
        turn();
    }
    say(0, "    14cmd=job-getid;");
    turn();
    assert_true(w.conn[0].held);
    expect(0, "");
    say(1, "    37cmd=info-putnodeattr;key=a;value=val;");
    turn();
    turn();
    for (int i = 0; i < 20; i++) {
        n = read(w.fd[0], sink, sizeof sink);
        got += n > 0 ? (size_t)n : 0;
        turn();
    }
    assert_false(w.conn[0].held);
    assert_int_equal(got, 1024 * strlen("    71cmd=info-getnodeattr-response;thrid=00000000;rc=0;"
                                        "found=TRUE;value=val;") +
                     strlen("    38cmd=job-getid-response;rc=0;jobid=job;"));
    stop();
}

/* The peer goes while replies wait. */
static void test_goes(void **state)
{
    static const char get[] = "cmd=get_my_kvsname\n";

    (void)state;
    start();
    say(0, "cmd=init pmi_version=1 pmi_subversion=1\n");
    for (int i = 0; !w.conn[0].out.len && i < 100000; i++) {
        assert_int_equal(write(w.fd[0], get, sizeof get - 1), sizeof get - 1);
        turn();
    }
    assert_true(w.conn[0].out.len > 0);
    close(w.fd[0]);
    w.fd[0] = -1;
    turn();
    turn();
    assert_int_equal(w.closed[0], 1);
    stop();
}

static void test_no_memory(void **state)
{
    struct pmi_conn c;
    int sv[2];

    (void)state;
    memory_begin();
    start();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    memory_after(0);
    assert_int_equal(pmi_conn_init(&c, &w.env, w.job, NULL, sv[0]), -1);
    memory_end();
    assert_int_equal(fcntl(sv[0], F_GETFD), -1);
    assert_int_equal(c.fd, -1);
    close(sv[1]);
    for (int i = 0; i < 100000 && !w.conn[0].failed && !w.conn[0].out.len; i++) {
        memory_after(0);                                  /* no room for what must wait */
        pmi_conn_send(&w.conn[0], "0123456789", 10);
        memory_end();
    }
    assert_true(w.conn[0].failed);
    assert_int_equal(broken, 1);
    turn();
    assert_int_equal(w.closed[0], 1);
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dialogue), cmocka_unit_test(test_broken),
        cmocka_unit_test(test_drain), cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_parked), cmocka_unit_test(test_goes),
        cmocka_unit_test(test_no_memory),
    };
    int rc = cmocka_run_group_tests_name("conn", tests, NULL, NULL);

    ev_loop_destroy(ev_default_loop(0));
    return rc;
}
