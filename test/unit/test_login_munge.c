/* test_login_munge.c - mpiexec_lite/login with credentials of real munged daemons. */
#include "mpiexec_lite/login.h"
#include "mpiexec_lite/munger.h"

#include "test/unit/fake_munged.h"

#define N_OF(a) (sizeof (a) / sizeof *(a))

static int calls;

static void run_until(int want)
{
    double end = now() + 20;

    while (calls < want && now() < end)
        ev_run(loop, EVRUN_ONCE);
    assert_int_equal(calls, want);
}

static bool taken[4];

static bool claim(void *host, int node)
{
    (void)host;
    return taken[node] ? false : (taken[node] = true);
}

struct end {
    struct login   l;
    struct munger *m;
    struct buf     in, out;
    enum login_want want;
};

static void on_munged(void *user, const struct munge_result *r)
{
    struct end *x = user;

    x->want = login_munged(&x->l, r, &x->out);
    calls++;
}

/* Until it wants to read, or has come to an end. */
static enum login_want serve(struct end *x, enum login_want want)
{
    struct err e;

    x->want = want;
    while (x->want == LOGIN_ENCODE || x->want == LOGIN_DECODE) {
        const char *ask = buf_bytes(&x->l.ask);
        size_t n = x->l.ask.len;

        calls = 0;
        assert_int_equal(x->want == LOGIN_ENCODE ?
                         munger_encode(x->m, ask, n, x->l.reader, on_munged, x, &e) :
                         munger_decode(x->m, ask, n, on_munged, x, &e), 0);
        run_until(1);
    }
    return x->want;
}

static enum login_want pass(struct end *from, struct end *to)
{
    buf_add(&to->in, buf_bytes(&from->out), from->out.len);
    buf_reset(&from->out);
    return serve(to, login_input(&to->l, &to->in));
}

static void start(struct end *x, enum login_side side, int node, const struct munged *d)
{
    struct login_conf conf = { .job = "job", .address = "127.0.0.1:4711", .uid = geteuid(),
                               .node = node, .nodes = 4,
                               .claim = side == LOGIN_SERVER ? claim : NULL };
    unsigned char bytes[LOGIN_RANDOM];

    *x = (struct end){ .m = munger_new(loop, d->socket, NULL) };
    assert_int_equal(getrandom(bytes, sizeof bytes, 0), sizeof bytes);
    assert_int_equal(login_start(&x->l, side, &conf, bytes, &x->out), LOGIN_READ);
}

static void end_clear(struct end *x)
{
    login_clear(&x->l);
    munger_free(x->m);
    buf_clear(&x->in);
    buf_clear(&x->out);
}

/* Two hosts: each with its munged; then a frame each way. */
static void test_login(void **state)
{
    struct end c, s;
    struct seal sc, ss;
    struct buf wire = BUF_INIT;
    struct err e = { 0 };
    char *at, *plain;
    size_t left, n;

    (void)state;
    NEED_MUNGED();
    memset(taken, 0, sizeof taken);
    start(&s, LOGIN_SERVER, 0, &here);
    start(&c, LOGIN_CLIENT, 2, &there);
    assert_int_equal(pass(&s, &c), LOGIN_READ);
    assert_int_equal(pass(&c, &s), LOGIN_ACCEPTED);
    assert_int_equal(s.l.node, 2);
    assert_int_equal(pass(&s, &c), LOGIN_ACCEPTED);
    seal_init(&sc, &c.l.keys);
    seal_init(&ss, &s.l.keys);
    seal_wrap(&sc, "frame", 5, &wire);
    at = buf_bytes(&wire);
    left = wire.len;
    assert_int_equal(seal_unwrap(&ss, &at, &left, &plain, &n, &e), 1);
    assert_memory_equal(plain, "frame", 5);
    seal_clear(&sc);
    seal_clear(&ss);
    buf_clear(&wire);
    end_clear(&c);
    end_clear(&s);
}

/* What was heard on one connection is sent again on it, on another of the same
 * server, and on another server of the same user. */
static void test_login_replay(void **state)
{
    struct end c, s, s2, s3;
    struct buf heard = BUF_INIT;

    (void)state;
    NEED_MUNGED();
    memset(taken, 0, sizeof taken);
    start(&s, LOGIN_SERVER, 0, &here);
    start(&s2, LOGIN_SERVER, 0, &here);
    start(&s3, LOGIN_SERVER, 0, &there);
    start(&c, LOGIN_CLIENT, 1, &here);
    assert_int_equal(pass(&s, &c), LOGIN_READ);
    buf_add(&heard, buf_bytes(&c.out), c.out.len);
    assert_int_equal(pass(&c, &s), LOGIN_ACCEPTED);
    buf_add(&s2.in, buf_bytes(&heard), heard.len);
    assert_int_equal(serve(&s2, login_input(&s2.l, &s2.in)), LOGIN_REFUSED);
    assert_string_equal(s2.l.e.text, "munge: Replayed credential");
    buf_add(&s3.in, buf_bytes(&heard), heard.len);
    assert_int_equal(serve(&s3, login_input(&s3.l, &s3.in)), LOGIN_REFUSED);
    assert_string_equal(s3.l.e.text, "the credential is for another connection");
    buf_clear(&heard);
    end_clear(&c);
    end_clear(&s);
    end_clear(&s2);
    end_clear(&s3);
}

/* Another user who knows everything but the key: the payload is right, his uid is not. */
static void test_login_other_user(void **state)
{
    struct end c, s;
    char cred[9000], text[100];

    (void)state;
    NEED_ROOT();
    memset(taken, 0, sizeof taken);
    start(&s, LOGIN_SERVER, 0, &here);
    start(&c, LOGIN_CLIENT, 1, &here);
    buf_add(&c.in, buf_bytes(&s.out), s.out.len);
    buf_reset(&s.out);
    assert_int_equal(login_input(&c.l, &c.in), LOGIN_ENCODE);
    assert_int_equal(as_nobody("munge", buf_bytes(&c.l.ask), c.l.ask.len, cred, sizeof cred), 0);
    buf_str(&s.in, cred);
    assert_int_equal(serve(&s, login_input(&s.l, &s.in)), LOGIN_REFUSED);
    snprintf(text, sizeof text, "the credential is uid %d's, want 0", NOBODY);
    assert_string_equal(s.l.e.text, text);
    assert_int_equal(s.out.len, 0);
    assert_false(taken[1]);
    end_clear(&c);
    end_clear(&s);
}

/* The other host's clock is wrong. */
static void test_login_clock(void **state)
{
    static const struct { const char *offset, *error; long low, high; } cases[] = {
        { "+50s", NULL, 0, 0 }, { "-50s", NULL, 0, 0 },
        { "+70s", "munge credential rewound: clocks differ by ~%ld s", 65, 71 },
        { "-70s", "munge credential expired: clocks differ by ~%ld s", 69, 75 },
        { "-2h", "munge credential expired: clocks differ by ~%ld s", 7199, 7205 },
    };

    (void)state;
    NEED_MUNGED();
    if (!faketime_library()) {
        print_message("  faketime is not installed\n");
        skip();
    }
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct end c, s;
        struct munged d;
        long seconds = 0;

        memset(taken, 0, sizeof taken);
        assert_int_equal(munged_start(&d, "skewed", cases[i].offset), 0);
        start(&s, LOGIN_SERVER, 0, &here);
        start(&c, LOGIN_CLIENT, 1, &d);
        assert_int_equal(pass(&s, &c), LOGIN_READ);
        assert_int_equal(pass(&c, &s), cases[i].error ? LOGIN_REFUSED : LOGIN_ACCEPTED);
        if (cases[i].error) {
            print_message("  %s: %s\n", cases[i].offset, s.l.e.text);
            assert_int_equal(sscanf(s.l.e.text, "munge credential %*[a-z]: clocks differ by ~%ld s",
                                    &seconds), 1);
            assert_memory_equal(s.l.e.text, cases[i].error, 24);
            assert_in_range(seconds, cases[i].low, cases[i].high);
            assert_int_equal(s.l.node, 1);       /* the launcher can name it */
        }
        end_clear(&c);
        end_clear(&s);
        munged_stop(&d);
        unlink(d.socket);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_login), cmocka_unit_test(test_login_replay),
        cmocka_unit_test(test_login_other_user), cmocka_unit_test(test_login_clock),
    };

    return cmocka_run_group_tests_name("login_munge", tests, set_up_group, tear_down_group);
}
