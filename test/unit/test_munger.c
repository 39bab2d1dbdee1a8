/* test_munger.c - mpiexec_lite/munger, and its helper, against a real munged. */
#include "mpiexec_lite/munger.h"

#include "test/unit/fake_munged.h"
#include "test/unit/fake_memory.h"

#if defined(__has_include)
#if __has_include(<munge.h>)
#include <munge.h>
_Static_assert((int)EMUNGE_SOCKET == MUNGE_SOCKET, "code");
_Static_assert((int)EMUNGE_CRED_INVALID == MUNGE_INVALID, "code");
_Static_assert((int)EMUNGE_CRED_EXPIRED == MUNGE_EXPIRED, "code");
_Static_assert((int)EMUNGE_CRED_REWOUND == MUNGE_REWOUND, "code");
_Static_assert((int)EMUNGE_CRED_REPLAYED == MUNGE_REPLAYED, "code");
_Static_assert((int)EMUNGE_CRED_UNAUTHORIZED == MUNGE_UNAUTHORIZED, "code");
/* munge_helper.c's own: OPT_... and CIPHER_AES128, MAC_SHA256 */
_Static_assert(MUNGE_OPT_CIPHER_TYPE == 0 && MUNGE_OPT_MAC_TYPE == 1 && MUNGE_OPT_TTL == 4 &&
               MUNGE_OPT_ENCODE_TIME == 6 && MUNGE_OPT_DECODE_TIME == 7 &&
               MUNGE_OPT_SOCKET == 8 && MUNGE_OPT_UID_RESTRICTION == 9, "option");
_Static_assert(MUNGE_CIPHER_AES128 == 4 && MUNGE_MAC_SHA256 == 5, "type");
#endif
#endif

#define N_OF(a) (sizeof (a) / sizeof *(a))

/* --- asking --------------------------------------------------------------------- */

struct asked {                           /* a request and what came of it */
    int    done, code;
    uid_t  uid;
    long   encoded, decoded;
    char   text[400], data[9000];
    size_t len;
};

static int calls;

static void on_done(void *user, const struct munge_result *r)
{
    struct asked *a = user;

    a->done++;
    calls++;
    a->code = r->code;
    a->uid = r->uid;
    a->encoded = (long)r->encoded;
    a->decoded = (long)r->decoded;
    a->len = r->len;
    snprintf(a->text, sizeof a->text, "%s", r->text);
    assert_true(r->len < sizeof a->data);
    memcpy(a->data, r->data, r->len + 1);
    assert_int_equal(a->data[r->len], 0);
}

static void run_until(int want)
{
    double end = now() + 20;

    while (calls < want && now() < end)
        ev_run(loop, EVRUN_ONCE);
    assert_int_equal(calls, want);
}

static void wait_for(struct asked *a)
{
    double end = now() + 20;

    while (!a->done && now() < end)
        ev_run(loop, EVRUN_ONCE);
    assert_int_equal(a->done, 1);
}

static void encode(struct munger *m, const void *payload, size_t len, struct asked *a)
{
    struct err e = { 0 };

    memset(a, 0, sizeof *a);
    assert_int_equal(munger_encode(m, payload, len, geteuid(), on_done, a, &e), 0);
    assert_int_equal(a->done, 0);        /* never from inside */
    wait_for(a);
}

static void decode(struct munger *m, const char *cred, struct asked *a)
{
    struct err e = { 0 };

    memset(a, 0, sizeof *a);
    assert_int_equal(munger_decode(m, cred, strlen(cred), on_done, a, &e), 0);
    assert_int_equal(a->done, 0);
    wait_for(a);
}

static struct munger *ask_at(const struct munged *d)
{
    struct munger *m = munger_new(loop, d->socket, NULL);

    assert_non_null(m);
    return m;
}

static void make(struct munger *m, const char *payload, struct asked *a)
{
    encode(m, payload, strlen(payload), a);
    assert_string_equal(a->text, "");
    assert_int_equal(a->code, MUNGE_OK);
    assert_memory_equal(a->data, "MUNGE:", 6);
}

/* --- what munge says --------------------------------------------------------------- */

static void test_round(void **state)
{
    static char big[MUNGER_PAYLOAD + 1];
    static const size_t lens[] = { 0, 1, 300, MUNGER_PAYLOAD };
    struct asked cred, said;
    struct munger *m;
    struct err e;

    (void)state;
    NEED_MUNGED();
    m = ask_at(&here);
    assert_int_equal(getrandom(big, sizeof big, 0), sizeof big);
    for (size_t i = 0; i < N_OF(lens); i++) {
        encode(m, big, lens[i], &cred);
        assert_int_equal(cred.code, MUNGE_OK);
        assert_int_equal(cred.uid, (uid_t)-1);
        decode(m, cred.data, &said);
        assert_int_equal(said.code, MUNGE_OK);
        assert_string_equal(said.text, "");
        assert_int_equal(said.uid, geteuid());
        assert_int_equal(said.len, lens[i]);
        assert_memory_equal(said.data, big, lens[i]);
        assert_true(said.encoded > 0 && labs(said.encoded - time(NULL)) < 10);
        assert_true(said.decoded >= said.encoded && said.decoded - said.encoded < 10);
    }
    assert_int_equal(munger_encode(m, big, sizeof big, geteuid(), on_done, &said, &e), -1);
    assert_string_equal(e.text, "munge: a payload of 4097 bytes, at most 4096");
    assert_int_equal(munger_decode(m, "MUNGE:\0:", 8, on_done, &said, &e), -1);
    munger_free(m);
    munger_free(NULL);
}

static void test_replay(void **state)
{
    struct asked cred, said;
    struct munger *m, *other;

    (void)state;
    NEED_MUNGED();
    m = ask_at(&here);
    other = ask_at(&there);
    make(m, "used once", &cred);
    decode(m, cred.data, &said);
    assert_int_equal(said.code, MUNGE_OK);
    for (int i = 0; i < 2; i++) {
        decode(m, cred.data, &said);
        assert_int_equal(said.code, MUNGE_REPLAYED);
        assert_string_equal(said.text, "munge: Replayed credential");
    }
    decode(other, cred.data, &said);     /* munge does not see it; login does, by its nonce */
    assert_int_equal(said.code, MUNGE_OK);
    munger_free(m);
    munger_free(other);
}

/* No bit of a credential can be changed. */
static void test_forged(void **state)
{
    static const char *const junk[] = { "", "MUNGE::", "MUNGE:AAAA:", "MUNGE:", "x",
                                        "MUNGE:====:" };
    static struct asked cred, said, all[64];
    struct munger *m;
    size_t bits, sent = 0;
    struct err e;

    (void)state;
    NEED_MUNGED();
    m = ask_at(&here);
    make(m, "a payload", &cred);
    decode(m, cred.data, &said);         /* else a bit that base64 ignores would do */
    assert_int_equal(said.code, MUNGE_OK);
    bits = cred.len * 8;
    for (size_t i = 0; i < bits; i += sent) {
        calls = 0;
        for (sent = 0; sent < 64 && i + sent < bits; sent++) {
            struct asked *a = &all[sent];
            size_t at = i + sent;

            a->done = 0;
            cred.data[at / 8] ^= (char)(1 << at % 8);    /* never NUL: none has one bit only */
            assert_int_equal(munger_decode(m, cred.data, cred.len, on_done, a, &e), 0);
            cred.data[at / 8] ^= (char)(1 << at % 8);
        }
        run_until((int)sent);
        for (size_t j = 0; j < sent; j++) {
            assert_int_not_equal(all[j].code, MUNGE_OK);
            assert_true(*all[j].text);
        }
    }
    for (size_t i = 0; i < N_OF(junk); i++) {
        decode(m, junk[i], &said);
        assert_int_not_equal(said.code, MUNGE_OK);
        assert_memory_equal(said.text, "munge: ", 7);
        assert_int_equal(said.len, 0);
    }
    munger_free(m);
}

static void test_other_user(void **state)
{
    char out[9000];
    struct asked cred, said;
    struct munger *m;

    (void)state;
    NEED_ROOT();
    m = ask_at(&here);
    make(m, "not for nobody's eyes", &cred);
    assert_int_equal(as_nobody("unmunge", cred.data, cred.len, out, sizeof out),
                     MUNGE_UNAUTHORIZED);
    assert_null(strstr(out, "eyes"));
    assert_int_equal(as_nobody("munge", "hello", 5, out, sizeof out), 0);
    out[strcspn(out, "\n")] = '\0';
    decode(m, out, &said);
    assert_int_equal(said.code, MUNGE_OK);       /* munge says who, and no more */
    assert_int_equal(said.uid, NOBODY);
    munger_free(m);
}

/* --- munge is not well ----------------------------------------------------------- */

static void expect(struct munger *m, const char *text, double within)
{
    struct asked a;
    double t = now();

    encode(m, "x", 1, &a);
    print_message("  %s (%.2f s)\n", a.text, now() - t);
    assert_int_not_equal(a.code, MUNGE_OK);
    assert_int_equal(a.len, 0);
    if (text)
        assert_string_equal(a.text, text);
    assert_true(now() - t < within);
}

static void test_absent(void **state)
{
    char text[200], path[100];
    struct munged d;
    struct munger *m;

    (void)state;
    NEED_MUNGED();
    snprintf(path, sizeof path, "%s/none.sock", dir);
    snprintf(text, sizeof text, "munge: %s: No such file or directory", path);
    m = munger_new(loop, path, NULL);
    expect(m, text, 1);
    munger_free(m);

    assert_int_equal(munged_start(&d, "dead", NULL), 0);
    munged_stop(&d);
    snprintf(text, sizeof text, "munge: %s: Connection refused", d.socket);
    m = ask_at(&d);
    expect(m, text, 1);
    assert_int_equal(unlink(d.socket), 0);
    assert_int_equal(munged_start(&d, "dead", NULL), 0);     /* and is there again */
    {
        struct asked a;

        make(m, "again", &a);
    }
    munged_stop(&d);
    munger_free(m);
}

static void test_no_library(void **state)
{
    struct munger *m = munger_new(loop, NULL, "libmunge.so.99");

    (void)state;
    expect(m, "munge is not installed: libmunge.so.99: cannot open shared object file: No such "
           "file or directory (Debian package libmunge2)", 2);
    munger_free(m);
    m = munger_new(loop, NULL, "libm.so.6");
    expect(m, NULL, 2);
    munger_free(m);
}

/* Where munged usually is, there may be none: the path is named all the same. */
static void test_usual_socket(void **state)
{
    struct munger *m = munger_new(loop, NULL, NULL);
    struct asked a;

    (void)state;
    NEED_MUNGED();
    encode(m, "x", 1, &a);
    if (a.code != MUNGE_OK)
        assert_non_null(strstr(a.text, "munge.socket.2: "));
    munger_free(m);
}

static bool any_child(pid_t pid)
{
    siginfo_t info;

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* The helper of m is the youngest process whose parent we are. */
static pid_t helper(void)
{
    char path[64], text[4096], *at;
    pid_t last = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    f = fopen(path, "r");
    if (!f || !fgets(text, sizeof text, f))
        text[0] = '\0';
    if (f)
        fclose(f);
    for (at = text; *at; at += strspn(at, " \n")) {
        pid_t pid = (pid_t)strtol(at, &at, 10);

        if (pid != here.pid && pid != there.pid)
            last = pid;
    }
    return last;
}

/* A munged that is stopped: the error comes in time, and others, which did answer while
 * we slept over the deadline ourselves, are heard. */
static void test_stopped(void **state)
{
    static struct asked dumb[3], well, after;
    char text[200];
    struct munger *stopped, *m;
    struct err e;
    double t = now();
    pid_t pid;

    (void)state;
    NEED_MUNGED();
    stopped = ask_at(&there);
    m = ask_at(&here);
    memset(dumb, 0, sizeof dumb);
    memset(&well, 0, sizeof well);
    kill(there.pid, SIGSTOP);
    for (size_t i = 0; i < N_OF(dumb); i++)
        assert_int_equal(munger_encode(stopped, "x", 1, geteuid(), on_done, &dumb[i], &e), 0);
    pid = helper();
    assert_true(pid > 0);
    assert_int_equal(munger_encode(m, "x", 1, geteuid(), on_done, &well, &e), 0);
    ev_run(loop, EVRUN_NOWAIT);                  /* they are sent */
    ev_run(loop, EVRUN_NOWAIT);
    if (well.done)                               /* too fast for this: once more */
        assert_int_equal(munger_encode(m, "x", 1, geteuid(), on_done,
                                       memset(&well, 0, sizeof well), &e), 0);
    ev_run(loop, EVRUN_NOWAIT);
    nap(MUNGER_DEADLINE + 0.2 - (now() - t));
    wait_for(&dumb[0]);
    wait_for(&dumb[1]);
    wait_for(&dumb[2]);
    wait_for(&well);
    print_message("  %s (%.2f s)\n", dumb[0].text, now() - t);
    assert_true(now() - t < 6);
    snprintf(text, sizeof text, "munge does not answer (%s): nothing for 5 s", there.socket);
    for (size_t i = 0; i < N_OF(dumb); i++) {
        assert_int_equal(dumb[i].code, MUNGE_UNREACHABLE);
        assert_string_equal(dumb[i].text, text);
    }
    assert_int_equal(well.code, MUNGE_OK);
    assert_false(any_child(pid));                /* ended and reaped */
    kill(there.pid, SIGCONT);
    make(stopped, "awake", &after);
    munger_free(stopped);
    munger_free(m);
}

/* --- the helper ------------------------------------------------------------------ */

static struct munger *the_munger;
static struct asked cancelled, asked_again;

static void on_done_cancel(void *user, const struct munge_result *r)
{
    struct err e;

    on_done(user, r);
    munger_cancel(the_munger, &cancelled);
    assert_int_equal(munger_encode(the_munger, "y", 1, geteuid(), on_done, &asked_again, &e), 0);
}

/* A helper that dies fails what it was asked; requests made on hearing that, go to the
 * next one. */
static void test_helper_dies(void **state)
{
    static struct asked a, b;
    struct err e;

    (void)state;
    NEED_MUNGED();
    the_munger = ask_at(&here);
    make(the_munger, "x", &a);
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    memset(&cancelled, 0, sizeof cancelled);
    memset(&asked_again, 0, sizeof asked_again);
    kill(helper(), SIGKILL);
    assert_int_equal(munger_encode(the_munger, "1", 1, geteuid(), on_done_cancel, &a, &e), 0);
    assert_int_equal(munger_encode(the_munger, "2", 1, geteuid(), on_done, &b, &e), 0);
    assert_int_equal(munger_encode(the_munger, "3", 1, geteuid(), on_done, &cancelled, &e), 0);
    wait_for(&asked_again);
    assert_string_equal(a.text, "munge: its helper process ended");
    assert_string_equal(b.text, "munge: its helper process ended");
    assert_int_equal(asked_again.code, MUNGE_OK);
    assert_int_equal(cancelled.done, 0);
    munger_free(the_munger);
}

static void test_many(void **state)
{
    static struct asked all[MUNGER_FLIGHT + 1];
    struct munger *m;
    struct err e;

    (void)state;
    NEED_MUNGED();
    m = ask_at(&here);
    memset(all, 0, sizeof all);
    calls = 0;
    for (int i = 0; i < MUNGER_FLIGHT; i++)
        assert_int_equal(munger_encode(m, "x", 1, geteuid(), on_done, &all[i], &e), 0);
    assert_int_equal(munger_encode(m, "x", 1, geteuid(), on_done, &all[MUNGER_FLIGHT], &e), -1);
    assert_string_equal(e.text, "munge: 64 requests wait for it already");
    munger_cancel(m, &all[5]);
    munger_cancel(m, &all[63]);
    run_until(MUNGER_FLIGHT - 2);
    for (int i = 0; i < MUNGER_FLIGHT; i++)
        assert_int_equal(all[i].done, i != 5 && i != 63);
    make(m, "room again", &all[0]);
    munger_free(m);

    m = ask_at(&here);                           /* freed while it is asked */
    calls = 0;
    assert_int_equal(munger_encode(m, "x", 1, geteuid(), on_done, &all[0], &e), 0);
    munger_free(m);
    ev_run(loop, EVRUN_NOWAIT);
    assert_int_equal(calls, 0);
    assert_int_equal(helper(), 0);
}

static int count_open(void)
{
    int n = 0;

    for (int i = 0; i < 200; i++)
        n += fcntl(i, F_GETFD) >= 0;
    return n;
}

static unsigned long long status_field(pid_t pid, const char *name, int base)
{
    char path[64], line[200];
    unsigned long long value = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name)))
            value = strtoull(line + strlen(name) + 1, NULL, base);
    fclose(f);
    return value;
}

static void assert_fds(pid_t pid)
{
    char path[64], to[200];
    ssize_t n;

    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, i);
        n = readlink(path, to, sizeof to - 1);
        to[n > 0 ? n : 0] = '\0';
        if (i < 3)
            assert_string_equal(to, "/dev/null");
        else if (i == 3)
            assert_memory_equal(to, "socket:", 7);
        else
            assert_int_equal(n, -1);
    }
}

/* It holds nothing of ours, and leaves nothing. */
static void test_helper(void **state)
{
    int before = count_open(), extra = open("/dev/zero", O_RDONLY);
    struct munger *m;
    struct asked a;
    pid_t pid;

    (void)state;
    NEED_MUNGED();
    m = ask_at(&here);
    assert_int_equal(helper(), 0);               /* not before it is needed */
    make(m, "x", &a);
    pid = helper();
    assert_true(pid > 0);
    if (geteuid() == 0)                          /* it lets nobody else look */
        assert_fds(pid);
    assert_int_equal(status_field(pid, "NoNewPrivs:", 10), 1);
    assert_true(status_field(pid, "SigBlk:", 16) & 1ULL << (SIGTERM - 1));
    make(m, "y", &a);
    assert_int_equal(helper(), pid);             /* one for all */
    kill(pid, SIGKILL);
    while (waitpid(-1, NULL, 0) < 0)             /* somebody else's loop reaps it */
        assert_int_equal(errno, EINTR);
    munger_free(m);
    close(extra);
    assert_int_equal(count_open(), before);
}

/* Its parent is killed: so is it. */
static void test_orphan(void **state)
{
    int p[2], status;
    pid_t parent, pid = 0;
    double end = now() + 5;

    (void)state;
    NEED_MUNGED();
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    kill(there.pid, SIGSTOP);
    parent = fork();
    if (parent == 0) {
        struct ev_loop *own = fatal_loop_new();
        struct munger *m = munger_new(own, there.socket, NULL);
        struct asked a;

        here.pid = there.pid = -1;
        if (munger_encode(m, "x", 1, geteuid(), on_done, &a, NULL) < 0)
            _exit(1);
        pid = helper();
        if (write(p[1], &pid, sizeof pid) != sizeof pid)
            _exit(1);
        ev_run(own, 0);
        _exit(1);
    }
    assert_int_equal(read(p[0], &pid, sizeof pid), sizeof pid);
    nap(0.1);                                    /* it is in libmunge by now */
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    while (waitpid(pid, &status, WNOHANG) == 0 && now() < end)   /* we are the subreaper */
        nap(0.005);
    assert_true(now() < end);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    kill(there.pid, SIGCONT);
    close(p[0]);
    close(p[1]);
}

static void test_no_memory(void **state)
{
    struct munger *m = NULL;
    struct asked a;
    struct err e;

    (void)state;
    memory_begin();
    NEED_MUNGED();
    for (long n = 0; !m; n++) {
        memory_after(n);
        m = munger_new(loop, here.socket, "libmunge.so.2");
        memory_end();
    }
    make(m, "x", &a);
    memset(&a, 0, sizeof a);
    munger_free(m);
    m = ask_at(&here);
    memory_after(0);
    assert_int_equal(munger_encode(m, "x", 1, geteuid(), on_done, &a, &e), -1);
    memory_end();
    assert_string_equal(e.text, "munge: out of memory");
    make(m, "x", &a);
    munger_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round), cmocka_unit_test(test_replay),
        cmocka_unit_test(test_forged), cmocka_unit_test(test_other_user),
        cmocka_unit_test(test_absent), cmocka_unit_test(test_no_library),
        cmocka_unit_test(test_usual_socket), cmocka_unit_test(test_helper_dies),
        cmocka_unit_test(test_many), cmocka_unit_test(test_helper),
        cmocka_unit_test(test_orphan), cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("munger", tests, set_up_group, tear_down_group);
}
