/* test_login.c - mpiexec_lite/login: who is let in, who is not, and what they are
 * told.  munge is played by the test: a credential is its payload in hex. */
#include "mpiexec_lite/login.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/fake_memory.h"

#define N_OF(a) (sizeof (a) / sizeof *(a))
#define UID 1000
#define HELLO_LEN (19 + 2 + 64 + 1)

/* --- munge, as it behaves --------------------------------------------------- */

static struct {
    int   code;                  /* of the next decode */
    uid_t uid;
    long  encoded, decoded;
    char *payload;               /* decode says this instead; borrowed */
    size_t payload_len;
} munge;

static void well(void)
{
    munge.code = MUNGE_OK;
    munge.uid = UID;
    munge.encoded = munge.decoded = 1000;
    munge.payload = NULL;
}

static enum login_want play_encode(struct login *l, struct buf *out)
{
    struct buf cred = BUF_INIT;
    struct munge_result r = { .text = "", .uid = (uid_t)-1 };
    enum login_want w;

    buf_str(&cred, "MUNGE:");
    for (size_t i = 0; i < l->ask.len; i++)
        buf_printf(&cred, "%02x", (unsigned char)buf_bytes(&l->ask)[i]);
    buf_str(&cred, ":");
    r.data = buf_bytes(&cred);
    r.len = cred.len;
    w = login_munged(l, &r, out);
    buf_clear(&cred);
    return w;
}

static unsigned digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

static enum login_want play_decode(struct login *l, struct buf *out)
{
    static const char *const texts[] = {
        [MUNGE_SOCKET] = "munge: /run/munge.socket: Connection refused",
        [MUNGE_INVALID] = "munge: Invalid credential",
        [MUNGE_REPLAYED] = "munge: Replayed credential",
        [MUNGE_UNAUTHORIZED] = "munge: Unauthorized credential",
    };
    struct buf plain = BUF_INIT;
    struct munge_result r = { munge.code, "", NULL, 0, munge.uid, munge.encoded, munge.decoded };
    enum login_want w;

    if (munge.code != MUNGE_OK && munge.code != MUNGE_EXPIRED && munge.code != MUNGE_REWOUND)
        r.text = texts[munge.code];
    for (size_t i = 6; i + 2 < l->ask.len; i += 2)
        buf_char(&plain, (char)(digit(buf_bytes(&l->ask)[i]) << 4 |
                                digit(buf_bytes(&l->ask)[i + 1])));
    buf_str(&plain, "");
    r.data = munge.payload ? munge.payload : buf_bytes(&plain);
    r.len = munge.payload ? munge.payload_len : plain.len;
    w = login_munged(l, &r, out);
    buf_clear(&plain);
    return w;
}

/* --- two ends ---------------------------------------------------------------- */

static bool taken[8];
static int claims;

static bool claim(void *host, int node)
{
    assert_ptr_equal(host, taken);
    claims++;
    if (taken[node])
        return false;
    taken[node] = true;
    return true;
}

struct end {
    struct login l;
    struct login_conf conf;
    struct buf in, out;
};

static unsigned char bytes[LOGIN_RANDOM];

static const unsigned char *random_bytes(void)
{
    static unsigned next = 1;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)((next = next * 1103515245u + 12345u) >> 16);
    return bytes;
}

static struct end make_client(int node)
{
    return (struct end){ .conf = { .job = "job.17", .address = "10.0.0.1:4711", .uid = UID,
                                   .node = node } };
}

static struct end make_server(void)
{
    return (struct end){ .conf = { .job = "job.17", .address = "10.0.0.1:4711", .uid = UID,
                                   .nodes = 8, .claim = claim, .host = taken } };
}

static void set_up(void)
{
    memset(taken, 0, sizeof taken);
    claims = 0;
    well();
}

static void end_clear(struct end *x)
{
    login_clear(&x->l);
    buf_clear(&x->in);
    buf_clear(&x->out);
}

/* What was sent arrives, in pieces of `piece` bytes. */
static enum login_want pass(struct end *from, struct end *to, size_t piece)
{
    enum login_want w = login_input(&to->l, &to->in);

    while (from->out.len) {
        size_t n = from->out.len < piece ? from->out.len : piece;

        buf_add(&to->in, buf_bytes(&from->out), n);
        buf_consume(&from->out, n);
        w = login_input(&to->l, &to->in);
    }
    return w;
}

static enum login_want serve(struct end *x, enum login_want w)
{
    while (w == LOGIN_ENCODE || w == LOGIN_DECODE)
        w = w == LOGIN_ENCODE ? play_encode(&x->l, &x->out) : play_decode(&x->l, &x->out);
    return w;
}

static void start(struct end *c, struct end *s)
{
    assert_int_equal(login_start(&s->l, LOGIN_SERVER, &s->conf, random_bytes(), &s->out),
                     LOGIN_READ);
    assert_int_equal(login_start(&c->l, LOGIN_CLIENT, &c->conf, random_bytes(), &c->out),
                     LOGIN_READ);
}

/* Up to the client's credential, in c->out. */
static void start_and_ask(struct end *c, struct end *s)
{
    start(c, s);
    assert_int_equal(serve(c, pass(s, c, 1000)), LOGIN_READ);
}

static void assert_refused(struct end *x, enum login_want w, const char *text)
{
    static const unsigned char zeroes[sizeof x->l.key];

    assert_int_equal(w, LOGIN_REFUSED);
    assert_string_equal(x->l.e.text, text);
    assert_int_equal(x->out.len, 0);             /* without a word */
    assert_memory_equal(x->l.key, zeroes, sizeof x->l.key);
    assert_memory_equal(&x->l.keys, zeroes, sizeof x->l.keys);
    assert_int_equal(login_input(&x->l, &x->in), LOGIN_REFUSED);
}

/* --- let in ------------------------------------------------------------------ */

static void test_accept(void **state)
{
    static const size_t pieces[] = { 100000, 1, 2, 100 };

    (void)state;
    set_up();
    for (int i = 0; i < (int)N_OF(pieces); i++) {
        struct end c = make_client(i), s = make_server();
        static const unsigned char zeroes[sizeof c.l.key];

        start(&c, &s);
        assert_int_equal(s.out.len, HELLO_LEN);      /* all that a stranger is told */
        assert_memory_equal(buf_bytes(&s.out), "mpiexec_lite-login 1 ", 21);
        assert_int_equal(serve(&c, pass(&s, &c, pieces[i])), LOGIN_READ);
        assert_int_equal(s.l.node, -1);
        assert_int_equal(serve(&s, pass(&c, &s, pieces[i])), LOGIN_ACCEPTED);
        assert_int_equal(s.l.node, i);
        buf_str(&s.out, "what comes after");
        assert_int_equal(serve(&c, pass(&s, &c, pieces[i])), LOGIN_ACCEPTED);
        assert_string_equal(buf_bytes(&c.in), "what comes after");
        assert_int_equal(c.l.node, i);
        assert_int_equal(claims, i + 1);
        assert_memory_equal(c.l.keys.send, s.l.keys.recv, SEAL_KEY);
        assert_memory_equal(c.l.keys.recv, s.l.keys.send, SEAL_KEY);
        assert_memory_not_equal(c.l.keys.recv, c.l.keys.send, SEAL_KEY);
        assert_memory_equal(c.l.key, zeroes, sizeof c.l.key);
        assert_memory_equal(s.l.key, zeroes, sizeof s.l.key);
        assert_int_equal(login_input(&s.l, &s.in), LOGIN_ACCEPTED);
        login_clear(&s.l);
        assert_memory_equal(&s.l.keys, zeroes, sizeof s.l.keys);
        end_clear(&c);
        end_clear(&s);
    }
}

/* Nothing of an earlier login makes the keys of a later one. */
static void test_fresh(void **state)
{
    unsigned char seen[4][SEAL_KEY];

    (void)state;
    set_up();
    for (int i = 0; i < 2; i++) {
        struct end c = make_client(i), s = make_server();

        start_and_ask(&c, &s);
        assert_int_equal(serve(&s, pass(&c, &s, 1000)), LOGIN_ACCEPTED);
        memcpy(seen[2 * i], s.l.keys.send, SEAL_KEY);
        memcpy(seen[2 * i + 1], s.l.keys.recv, SEAL_KEY);
        end_clear(&c);
        end_clear(&s);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(seen[i], seen[j], SEAL_KEY);
}

/* --- refused by what the credential says -------------------------------------- */

static const struct {
    const char *name;
    const char *job, *address;           /* the client's, if not NULL */
    int         node;
    bool        place_taken;
    int         code;                    /* munge's, at the server */
    uid_t       uid;
    long        encoded, decoded;
    int         known;                   /* the node that the server then knows, or -1 */
    const char *error;
} server_cases[] = {
    { "another job", "job.18", NULL, 3, false, 0, UID, 0, 0, -1,
      "the credential is for another job" },
    { "a job with a longer name", "job.170", NULL, 3, false, 0, UID, 0, 0, -1,
      "the credential is for another job" },
    { "another launcher", NULL, "10.0.0.2:4711", 3, false, 0, UID, 0, 0, -1,
      "the credential is for another address" },
    { "one node too many", NULL, NULL, 8, false, 0, UID, 0, 0, -1, "no node 8 in this job" },
    { "a negative node", NULL, NULL, -1, false, 0, UID, 0, 0, -1,
      "no node 4294967295 in this job" },
    { "a node that is there", NULL, NULL, 3, true, 0, UID, 0, 0, -1,
      "node 3 has logged in already" },
    { "another user", NULL, NULL, 3, false, 0, UID + 1, 0, 0, -1,
      "the credential is uid 1001's, want 1000" },
    { "root is another user", NULL, NULL, 3, false, 0, 0, 0, 0, -1,
      "the credential is uid 0's, want 1000" },
    { "used before", NULL, NULL, 3, false, MUNGE_REPLAYED, UID, 1000, 1000, -1,
      "munge: Replayed credential" },
    { "forged", NULL, NULL, 3, false, MUNGE_INVALID, (uid_t)-1, 0, 0, -1,
      "munge: Invalid credential" },
    { "made for another user", NULL, NULL, 3, false, MUNGE_UNAUTHORIZED, (uid_t)-1, 0, 0, -1,
      "munge: Unauthorized credential" },
    { "no munged", NULL, NULL, 3, false, MUNGE_SOCKET, (uid_t)-1, 0, 0, -1,
      "munge: /run/munge.socket: Connection refused" },
    { "slow clock", NULL, NULL, 3, false, MUNGE_EXPIRED, UID, 1000, 1061, 3,
      "munge credential expired: clocks differ by ~61 s" },
    { "fast clock", NULL, NULL, 3, false, MUNGE_REWOUND, UID, 4600, 1000, 3,
      "munge credential rewound: clocks differ by ~3600 s" },
    { "old, and not ours", "job.1", NULL, 3, false, MUNGE_EXPIRED, UID, 1000, 9000, -1,
      "munge credential expired: the credential is for another job" },
    { "old, and another user's", NULL, NULL, 3, false, MUNGE_EXPIRED, 0, 1000, 9000, -1,
      "munge credential expired: the credential is uid 0's, want 1000" },
};

static void test_server_refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(server_cases); i++) {
        struct end c = make_client(server_cases[i].node), s = make_server();

        print_message("  %s\n", server_cases[i].name);
        set_up();
        taken[3] = server_cases[i].place_taken;
        if (server_cases[i].job)
            c.conf.job = server_cases[i].job;
        if (server_cases[i].address)
            c.conf.address = server_cases[i].address;
        start_and_ask(&c, &s);
        munge.code = server_cases[i].code;
        munge.uid = server_cases[i].uid;
        munge.encoded = server_cases[i].encoded;
        munge.decoded = server_cases[i].decoded;
        assert_refused(&s, serve(&s, pass(&c, &s, 1000)), server_cases[i].error);
        assert_int_equal(s.l.node, server_cases[i].known);
        assert_int_equal(claims, server_cases[i].place_taken);
        end_clear(&c);

        /* The place is as it was: the true one comes after. */
        end_clear(&s);
        c = make_client(2);
        s = make_server();
        well();
        start_and_ask(&c, &s);
        assert_int_equal(serve(&s, pass(&c, &s, 1000)), LOGIN_ACCEPTED);
        end_clear(&c);
        end_clear(&s);
    }
}

/* A credential that was heard on one connection is worth nothing on another, not
 * even where munge would take it a second time (another host's munged). */
static void test_other_connection(void **state)
{
    struct end c = make_client(3), s = make_server(), again = make_server();

    (void)state;
    set_up();
    start_and_ask(&c, &s);
    assert_int_equal(login_start(&again.l, LOGIN_SERVER, &again.conf, random_bytes(), &again.out),
                     LOGIN_READ);
    buf_reset(&again.out);
    assert_refused(&again, serve(&again, pass(&c, &again, 1000)),
                   "the credential is for another connection");
    assert_int_equal(claims, 0);
    end_clear(&c);
    end_clear(&s);
    end_clear(&again);
}

/* What one end made is not taken from the other. */
static void test_reflected(void **state)
{
    struct end c = make_client(3), s = make_server(), s2 = make_server();
    struct buf reply = BUF_INIT;

    (void)state;
    set_up();
    start_and_ask(&c, &s);
    buf_add(&c.in, buf_bytes(&c.out), c.out.len);            /* to the client itself */
    buf_add(&s.in, buf_bytes(&c.out), c.out.len);
    buf_reset(&c.out);
    assert_refused(&c, serve(&c, login_input(&c.l, &c.in)), "the credential is for another role");

    assert_int_equal(serve(&s, login_input(&s.l, &s.in)), LOGIN_ACCEPTED);
    buf_add(&reply, buf_bytes(&s.out), s.out.len);           /* the server's to a server */
    login_start(&s2.l, LOGIN_SERVER, &s2.conf, bytes, &s2.out);
    buf_reset(&s2.out);
    buf_add(&s2.in, buf_bytes(&reply), reply.len);
    assert_refused(&s2, serve(&s2, login_input(&s2.l, &s2.in)),
                   "the credential is for another role");
    buf_clear(&reply);
    end_clear(&c);
    end_clear(&s);
    end_clear(&s2);
}

/* A launcher that is not the one that was dialled, or not of this user. */
static void test_client_refuses(void **state)
{
    static const struct {
        const char *name, *job, *address;
        int   node, code;
        uid_t uid;
        const char *error;
    } cases[] = {
        { "another job", "job.18", NULL, 3, 0, UID, "the credential is for another job" },
        { "another address", NULL, "10.0.0.2:1", 3, 0, UID,
          "the credential is for another address" },
        { "another node", NULL, NULL, 4, 0, UID, "the credential is for another node" },
        { "another user", NULL, NULL, 3, 0, 4, "the credential is uid 4's, want 1000" },
        { "another server, of the same job", NULL, NULL, -1, 0, UID,
          "the credential is for another nonce" },
        { "used before", NULL, NULL, 3, MUNGE_REPLAYED, UID, "munge: Replayed credential" },
        { "slow clock", NULL, NULL, 3, MUNGE_EXPIRED, UID,
          "munge credential expired: clocks differ by ~0 s" },
    };

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct end c = make_client(3), s = make_server();

        print_message("  %s\n", cases[i].name);
        set_up();
        start_and_ask(&c, &s);
        assert_int_equal(serve(&s, pass(&c, &s, 1000)), LOGIN_ACCEPTED);
        if (cases[i].job)                        /* the client thinks of another */
            c.l.conf.job = cases[i].job;
        if (cases[i].address)
            c.l.conf.address = cases[i].address;
        if (cases[i].node >= 0)
            c.l.conf.node = cases[i].node;
        else
            c.l.nonce[LOGIN_SERVER][31] ^= 1;
        munge.code = cases[i].code;
        munge.uid = cases[i].uid;
        assert_refused(&c, serve(&c, pass(&s, &c, 1000)), cases[i].error);
        end_clear(&c);
        end_clear(&s);
    }
}

/* The client's nonce is in the server's credential: an old one does not do. */
static void test_old_server(void **state)
{
    struct end c = make_client(3), s = make_server(), c2 = make_client(3);

    (void)state;
    set_up();
    start_and_ask(&c, &s);
    assert_int_equal(serve(&s, pass(&c, &s, 1000)), LOGIN_ACCEPTED);
    /* The same server's nonce, repeated by a liar. */
    login_start(&c2.l, LOGIN_CLIENT, &c2.conf, random_bytes(), &c2.out);
    memcpy(c2.l.nonce[LOGIN_SERVER], s.l.nonce[LOGIN_SERVER], LOGIN_NONCE);
    c2.l.state = c.l.state;
    assert_refused(&c2, serve(&c2, pass(&s, &c2, 1000)),
                   "the credential is for another connection");
    end_clear(&c);
    end_clear(&s);
    end_clear(&c2);
}

/* Every bit of a payload counts but those that are the client's to choose; were
 * these changed on the way, the ends would not have the same keys.  And every length
 * but the right one is wrong. */
static void test_payload(void **state)
{
    struct end c = make_client(3), s = make_server(), s0;
    size_t len, accepted = 0;
    char *exact;

    (void)state;
    set_up();
    start(&c, &s);
    s0 = s;                                      /* holds no memory but out */
    assert_int_equal(pass(&s, &c, 1000), LOGIN_ENCODE);
    len = c.l.ask.len;
    exact = malloc(len + 1);
    assert_non_null(exact);
    memcpy(exact, buf_bytes(&c.l.ask), len);
    exact[len] = 'x';
    assert_int_equal(serve(&c, LOGIN_ENCODE), LOGIN_READ);
    munge.payload = exact;
    for (size_t n = 0; n <= len + 1; n++) {
        struct end fresh = s0;
        char *cut = malloc(n ? n : 1);           /* ASan: not a byte more is read */
        enum login_want w;

        assert_non_null(cut);
        fresh.in = fresh.out = (struct buf)BUF_INIT;
        memcpy(cut, exact, n);
        munge.payload = cut;
        munge.payload_len = n;
        buf_add(&fresh.in, buf_bytes(&c.out), c.out.len);
        memset(taken, 0, sizeof taken);
        w = serve(&fresh, login_input(&fresh.l, &fresh.in));
        assert_int_equal(w, n == len ? LOGIN_ACCEPTED : LOGIN_REFUSED);
        free(cut);
        end_clear(&fresh);
    }
    munge.payload = exact;
    munge.payload_len = len;
    for (size_t i = 0; i < len * 8; i++) {
        struct end fresh = s0;

        fresh.in = fresh.out = (struct buf)BUF_INIT;
        exact[i / 8] ^= (char)(1 << i % 8);
        buf_add(&fresh.in, buf_bytes(&c.out), c.out.len);
        memset(taken, 0, sizeof taken);
        accepted += serve(&fresh, login_input(&fresh.l, &fresh.in)) == LOGIN_ACCEPTED;
        exact[i / 8] ^= (char)(1 << i % 8);
        end_clear(&fresh);
    }
    assert_int_equal(accepted, 3 + 8 * LOGIN_NONCE + 8 * SEAL_KEY);  /* 3: nodes 0 to 7 */
    free(exact);
    end_clear(&c);
    end_clear(&s);
}

/* A payload whose parts are all there, one of them of another length. */
static void test_field_lengths(void **state)
{
    static const struct { const char *name; int field, by; const char *error; } cases[] = {
        { "short node", 3, -1, "the credential is for another node" },
        { "long node", 3, 1, "the credential is for another node" },
        { "no node", 3, -4, "the credential is for another node" },
        { "short nonce", 4, -1, "the credential is for another nonce" },
        { "long nonce", 4, 1, "the credential is for another nonce" },
        { "short connection", 5, -1, "the credential is for another connection" },
        { "short address", 6, -1, "the credential is for another address" },
        { "short key part", 7, -1, "the credential is for another key part" },
        { "no key part", 7, -32, "the credential is for another key part" },
        { "long key part", 7, 1, "the credential is for another key part" },
    };

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct end c = make_client(3), s = make_server();
        struct buf changed = BUF_INIT;
        const unsigned char *at;

        print_message("  %s\n", cases[i].name);
        set_up();
        start(&c, &s);
        assert_int_equal(pass(&s, &c, 1000), LOGIN_ENCODE);
        at = (const unsigned char *)buf_bytes(&c.l.ask);
        for (int f = 0; f < 8; f++) {
            int n = at[0] << 8 | at[1], m = n + (f == cases[i].field ? cases[i].by : 0);

            buf_char(&changed, (char)(m >> 8));
            buf_char(&changed, (char)m);
            for (int j = 0; j < m; j++)
                buf_char(&changed, j < n ? (char)at[2 + j] : 'x');
            at += 2 + n;
        }
        assert_int_equal(serve(&c, LOGIN_ENCODE), LOGIN_READ);
        munge.payload = buf_bytes(&changed);
        munge.payload_len = changed.len;
        assert_refused(&s, serve(&s, pass(&c, &s, 1000)), cases[i].error);
        buf_clear(&changed);
        end_clear(&c);
        end_clear(&s);
    }
}

/* The keys are made as login.h says: another program could make them. */
static void test_keys(void **state)
{
    struct end c = make_client(3), s = make_server();
    unsigned char secret[4 * 32];
    struct seal_keys want;

    (void)state;
    set_up();
    start(&c, &s);
    memcpy(secret, c.l.key[LOGIN_CLIENT], 32);
    memcpy(secret + 32, s.l.key[LOGIN_SERVER], 32);
    memcpy(secret + 64, s.l.nonce[LOGIN_SERVER], 32);
    memcpy(secret + 96, c.l.nonce[LOGIN_CLIENT], 32);
    seal_derive(&want, secret, sizeof secret, true);
    assert_int_equal(serve(&c, pass(&s, &c, 1000)), LOGIN_READ);
    assert_int_equal(serve(&s, pass(&c, &s, 1000)), LOGIN_ACCEPTED);
    assert_int_equal(serve(&c, pass(&s, &c, 1000)), LOGIN_ACCEPTED);
    assert_memory_equal(&c.l.keys, &want, sizeof want);
    end_clear(&c);
    end_clear(&s);
}

/* --- refused by how they speak ------------------------------------------------ */

static const struct { const char *name, *text; size_t repeat; const char *error; } lines[] = {
    { "http", "GET / HTTP/1.0\r\n", 1, "the peer sent no munge credential" },
    { "http, its first byte", "G", 1, "the peer sent no munge credential" },
    { "tls", "\x16\x03\x01\x02", 1, "the peer sent no munge credential" },
    { "nothing yet", "", 1, NULL },
    { "a beginning", "MUNGE:AwQ", 1, NULL },
    { "an empty line", "\n", 1, "the peer sent no munge credential" },
    { "empty", "MUNGE::\n", 1, "the peer sent no munge credential" },
    { "not closed", "MUNGE:AwQ\n", 1, "the peer sent no munge credential" },
    { "CR LF", "MUNGE:AwQ=:\r\n", 1, "the peer sent no munge credential" },
    { "a blank", "MUNGE:Aw Q=:\n", 1, "the peer sent no munge credential" },
    { "two", "MUNGE:AwQ=::\n", 1, "the peer sent no munge credential" },
    { "an escape", "MUNGE:\033[2J:\n", 1, "the peer sent no munge credential" },
    { "more behind it", "MUNGE:AwQ=:\nx", 1, "the peer speaks out of turn" },
    { "twice", "MUNGE:AwQ=:\nMUNGE:AwQ=:\n", 1, "the peer speaks out of turn" },
    { "endless", "A", 8186, "a line of more than 8192 bytes" },
    { "almost endless", "A", 8185, NULL },
    { "endless at once", "A", 100000, "a line of more than 8192 bytes" },
};

static void test_lines(void **state)
{
    (void)state;
    set_up();
    for (size_t i = 0; i < N_OF(lines); i++) {
        struct end s = make_server();
        enum login_want w;

        print_message("  %s\n", lines[i].name);
        login_start(&s.l, LOGIN_SERVER, &s.conf, random_bytes(), &s.out);
        buf_reset(&s.out);
        if (lines[i].repeat > 1)
            buf_str(&s.in, "MUNGE:");
        for (size_t j = 0; j < lines[i].repeat; j++)
            buf_str(&s.in, lines[i].text);
        w = login_input(&s.l, &s.in);
        if (lines[i].error)
            assert_refused(&s, w, lines[i].error);
        else
            assert_int_equal(w, LOGIN_READ);
        end_clear(&s);
    }
}

static void test_nul(void **state)
{
    struct end s = make_server();

    (void)state;
    login_start(&s.l, LOGIN_SERVER, &s.conf, random_bytes(), &s.out);
    buf_reset(&s.out);
    buf_add(&s.in, "MUNGE:A\0B=:\n", 12);
    assert_refused(&s, login_input(&s.l, &s.in), "the peer sent no munge credential");
    end_clear(&s);
}

#define HEX32 "0123456789abcdef0123456789abcdef"
#define STRANGE "the launcher's first line is not understood"
#define NOT_OURS "what answers at the launcher's address is no mpiexec_lite"

static const struct { const char *name, *text, *error; } hellos[] = {
    { "right", "mpiexec_lite-login 1 " HEX32 HEX32 "\n", NULL },
    { "ssh", "SSH-2.0-OpenSSH\r\n", NOT_OURS },
    { "an empty line", "\n", NOT_OURS },
    { "a later version", "mpiexec_lite-login 2 whatever\n",
      "the launcher logs in by version 2, this program by version 1: install the same "
      "mpiexec_lite on all nodes" },
    { "a giant version", "mpiexec_lite-login 99999999999999999999 x\n", STRANGE },
    { "no version", "mpiexec_lite-login  " HEX32 HEX32 "\n", STRANGE },
    { "a negative version", "mpiexec_lite-login -1 " HEX32 HEX32 "\n", STRANGE },
    { "nothing else", "mpiexec_lite-login 1\n", STRANGE },
    { "a short nonce", "mpiexec_lite-login 1 " HEX32 "0123456789abcdef0123456789abcde\n", STRANGE },
    { "a long nonce", "mpiexec_lite-login 1 " HEX32 HEX32 "0\n", STRANGE },
    { "large hex", "mpiexec_lite-login 1 0123456789ABCDEF0123456789abcdef" HEX32 "\n", STRANGE },
    { "CR LF", "mpiexec_lite-login 1 " HEX32 HEX32 "\r\n", STRANGE },
    { "no hex", "mpiexec_lite-login 1 g123456789abcdef0123456789abcdef" HEX32 "\n", STRANGE },
    { "endless", "mpiexec_lite-login 1 " HEX32 HEX32 HEX32 HEX32 "\n",
      "a line of more than 128 bytes" },
    { "more behind it", "mpiexec_lite-login 1 " HEX32 HEX32 "\nM", "the peer speaks out of turn" },
};

static void test_hellos(void **state)
{
    (void)state;
    set_up();
    for (size_t i = 0; i < N_OF(hellos); i++) {
        struct end c = make_client(0);
        enum login_want w;

        print_message("  %s\n", hellos[i].name);
        login_start(&c.l, LOGIN_CLIENT, &c.conf, random_bytes(), &c.out);
        buf_str(&c.in, hellos[i].text);
        w = login_input(&c.l, &c.in);
        if (hellos[i].error)
            assert_refused(&c, w, hellos[i].error);
        else
            assert_int_equal(w, LOGIN_ENCODE);
        end_clear(&c);
    }
}

/* Nothing is taken while munge is asked; what is answered out of turn is not heard. */
static void test_waits(void **state)
{
    struct end c = make_client(3), s = make_server();
    struct munge_result r = { .text = "", .data = "" };

    (void)state;
    set_up();
    start(&c, &s);
    assert_int_equal(login_munged(&s.l, &r, &s.out), LOGIN_READ);
    assert_int_equal(pass(&s, &c, 1000), LOGIN_ENCODE);
    buf_str(&c.in, "MUNGE:00:\n");
    assert_int_equal(login_input(&c.l, &c.in), LOGIN_ENCODE);
    assert_int_equal(c.in.len, 10);
    end_clear(&c);
    end_clear(&s);
}

/* munge cannot make a credential, or makes a strange one. */
static void test_encode_fails(void **state)
{
    static char giant[LOGIN_LINE + 1];
    static const struct { const char *name; int code; const char *text, *cred, *error; } cases[] = {
        { "no munge", MUNGE_UNREACHABLE, "munge is not installed: x", "",
          "munge is not installed: x" },
        { "no munged", MUNGE_SOCKET, "munge: /s: Connection refused", "",
          "munge: /s: Connection refused" },
        { "empty", 0, "", "", "munge made a credential of an unknown form" },
        { "not munge's", 0, "", "HUNGE:AAAA:", "munge made a credential of an unknown form" },
        { "two lines", 0, "", "MUNGE:A\nA:", "munge made a credential of an unknown form" },
        { "too long", 0, "", giant, "munge made a credential of an unknown form" },
    };

    (void)state;
    memset(giant, 'A', LOGIN_LINE);
    memcpy(giant, "MUNGE:", 6);
    giant[LOGIN_LINE - 1] = ':';
    for (size_t i = 0; i < N_OF(cases); i++)
        for (int side = 0; side < 2; side++) {
            struct end c = make_client(3), s = make_server(), *x = side ? &s : &c;
            struct munge_result r = { cases[i].code, cases[i].text, cases[i].cred,
                                      strlen(cases[i].cred), (uid_t)-1, 0, 0 };

            print_message("  %s at the %s\n", cases[i].name, side ? "server" : "client");
            set_up();
            start(&c, &s);
            assert_int_equal(pass(&s, &c, 1000), LOGIN_ENCODE);
            if (side) {
                assert_int_equal(serve(&c, LOGIN_ENCODE), LOGIN_READ);
                assert_int_equal(pass(&c, &s, 1000), LOGIN_DECODE);
                assert_int_equal(play_decode(&s.l, &s.out), LOGIN_ENCODE);
            }
            assert_refused(x, login_munged(&x->l, &r, &x->out), cases[i].error);
            assert_int_equal(claims, 0);         /* the place is still open */
            end_clear(&c);
            end_clear(&s);
        }
}

static void test_end(void **state)
{
    struct end c = make_client(3), s = make_server();

    (void)state;
    set_up();
    start(&c, &s);
    buf_reset(&s.out);
    assert_refused(&c, login_end(&c.l, "no answer for 10 s"),
                   "no answer for 10 s while waiting for the launcher's first line");
    assert_refused(&s, login_end(&s.l, "connection closed"),
                   "connection closed while waiting for its credential");
    assert_refused(&s, login_end(&s.l, "again"),
                   "connection closed while waiting for its credential");
    end_clear(&c);
    end_clear(&s);

    c = make_client(3);
    s = make_server();
    start(&c, &s);
    assert_int_equal(pass(&s, &c, 1000), LOGIN_ENCODE);
    assert_int_equal(serve(&c, LOGIN_ENCODE), LOGIN_READ);
    assert_int_equal(pass(&c, &s, 1000), LOGIN_DECODE);
    assert_refused(&s, login_end(&s.l, "late"), "late while waiting for munge");
    assert_int_equal(login_end(&c.l, "connection closed"), LOGIN_REFUSED);
    assert_string_equal(c.l.e.text, "connection closed while waiting for the launcher's "
                        "credential: its own messages say why it refused this node");
    end_clear(&c);
    end_clear(&s);
}

static void test_names(void **state)
{
    static char longest[LOGIN_NAME + 2];
    struct end c = make_client(3), s = make_server();
    struct login none = { 0 };

    (void)state;
    set_up();
    memset(longest, 'n', LOGIN_NAME);
    c.conf.job = s.conf.job = c.conf.address = s.conf.address = longest;
    start_and_ask(&c, &s);
    assert_int_equal(serve(&s, pass(&c, &s, 1000)), LOGIN_ACCEPTED);
    assert_int_equal(serve(&c, pass(&s, &c, 1000)), LOGIN_ACCEPTED);
    end_clear(&c);
    end_clear(&s);

    longest[LOGIN_NAME] = 'n';
    assert_int_equal(login_start(&c.l, LOGIN_CLIENT, &c.conf, random_bytes(), &c.out),
                     LOGIN_REFUSED);
    assert_string_equal(c.l.e.text, "job id and address have 1 to 255 bytes");
    c.conf.job = "";
    c.conf.address = "a:1";
    assert_int_equal(login_start(&c.l, LOGIN_CLIENT, &c.conf, random_bytes(), &c.out),
                     LOGIN_REFUSED);
    end_clear(&c);
    login_clear(&none);
    login_clear(&none);
}

/* Whatever allocation fails: refused with that reason, or it went well. */
static void test_no_memory(void **state)
{
    bool hit = true;

    (void)state;
    memory_begin();
    for (long n = 0; hit; n++) {
        struct end c = make_client(3), s = make_server();
        enum login_want w;

        set_up();
        start_and_ask(&c, &s);
        pass(&c, &s, 100000);                    /* the server has its question */
        end_clear(&c);
        c = make_client(3);
        memory_after(n);
        w = login_start(&c.l, LOGIN_CLIENT, &c.conf, bytes, &c.out);
        buf_str(&c.in, "mpiexec_lite-login 1 " HEX32 HEX32 "\n");
        if (!c.in.failed)
            w = login_input(&c.l, &c.in);
        if (w == LOGIN_ENCODE && !memory_hit) {
            struct munge_result r = { .text = "", .data = "MUNGE:00:", .len = 9 };

            w = login_munged(&c.l, &r, &c.out);
        }
        hit = memory_hit;
        memory_end();
        if (w == LOGIN_REFUSED)
            assert_string_equal(c.l.e.text, "out of memory");
        assert_true(hit || w == LOGIN_READ);
        end_clear(&c);
        end_clear(&s);
    }
}

/* --- another purpose: names ----------------------------------------------------- */

static uid_t trusted;                    /* beside our own */

static bool trusts(void *host, uid_t uid)
{
    (void)host;
    return uid == UID || uid == trusted;
}

static struct end make_names(uid_t uid)
{
    return (struct end){ .conf = { .purpose = LOGIN_NAMES, .job = "", .address = "10.0.0.1:9",
                                   .uid = uid, .nodes = 1, .trusts = trusts } };
}

/* A user's launcher at root's server, say: each credential is for the other's uid. */
static void test_name_server(void **state)
{
    static const struct { uid_t server, client, trusted; const char *error; } cases[] = {
        { UID, UID, UID, NULL },
        { 0, UID, 0, NULL },
        { UID, 0, 0, NULL },
        { 0, 4294967294, 4294967294, "the name server is uid 0's, who is not trusted" },
        { 7, UID, 0, "the name server is uid 7's, who is not trusted" },
        { UID, 7, 0, "the credential is uid 7's, want 1000" },
    };

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct end c = make_names(cases[i].client), s = make_names(cases[i].server);
        enum login_want w;

        print_message("  server %u, client %u\n", (unsigned)cases[i].server,
                      (unsigned)cases[i].client);
        set_up();
        trusted = cases[i].trusted;
        start(&c, &s);
        w = pass(&s, &c, 1000);
        if (cases[i].error && w == LOGIN_REFUSED) {
            assert_refused(&c, w, cases[i].error);
        } else {
            assert_int_equal(c.l.reader, cases[i].server);
            assert_int_equal(serve(&c, w), LOGIN_READ);
            munge.uid = cases[i].client;
            w = serve(&s, pass(&c, &s, 1000));
            if (cases[i].error) {
                assert_refused(&s, w, cases[i].error);
            } else {
                assert_int_equal(w, LOGIN_ACCEPTED);
                assert_int_equal(s.l.peer, cases[i].client);
                assert_int_equal(s.l.reader, cases[i].client);
                munge.uid = cases[i].server;
                assert_int_equal(serve(&c, pass(&s, &c, 1000)), LOGIN_ACCEPTED);
                assert_memory_equal(c.l.keys.send, s.l.keys.recv, SEAL_KEY);
            }
        }
        end_clear(&c);
        end_clear(&s);
    }
}

/* Who says that he is one, and proves to be another whom we would trust, too. */
static void test_names_uid(void **state)
{
    struct end c = make_names(UID), s = make_names(0);

    (void)state;
    set_up();
    trusted = 0;
    start_and_ask(&c, &s);
    assert_int_equal(serve(&s, pass(&c, &s, 1000)), LOGIN_ACCEPTED);
    munge.uid = UID;
    assert_refused(&c, serve(&c, pass(&s, &c, 1000)), "the credential is uid 1000's, want 0");
    end_clear(&c);
    end_clear(&s);
}

/* A credential of one purpose is worth nothing for the other. */
static void test_purposes(void **state)
{
    struct end c = make_names(UID), s = make_names(UID), proxy = make_server();

    (void)state;
    set_up();
    start_and_ask(&c, &s);
    assert_int_equal(login_start(&proxy.l, LOGIN_SERVER, &proxy.conf, random_bytes(), &proxy.out),
                     LOGIN_READ);
    buf_reset(&proxy.out);
    assert_refused(&proxy, serve(&proxy, pass(&c, &proxy, 1000)),
                   "the credential is for another protocol version");
    end_clear(&c);
    c = make_client(0);
    assert_int_equal(login_start(&c.l, LOGIN_CLIENT, &c.conf, random_bytes(), &c.out),
                     LOGIN_READ);
    buf_str(&c.in, "pmi2_server-login 1 ");
    assert_refused(&c, login_input(&c.l, &c.in),
                   "what answers at the launcher's address is no mpiexec_lite");
    end_clear(&c);
    end_clear(&s);
    end_clear(&proxy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accept), cmocka_unit_test(test_fresh),
        cmocka_unit_test(test_server_refuses), cmocka_unit_test(test_other_connection),
        cmocka_unit_test(test_reflected), cmocka_unit_test(test_client_refuses),
        cmocka_unit_test(test_old_server), cmocka_unit_test(test_payload),
        cmocka_unit_test(test_field_lengths), cmocka_unit_test(test_keys),
        cmocka_unit_test(test_lines), cmocka_unit_test(test_nul), cmocka_unit_test(test_hellos),
        cmocka_unit_test(test_waits), cmocka_unit_test(test_encode_fails),
        cmocka_unit_test(test_end), cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_name_server), cmocka_unit_test(test_names_uid),
        cmocka_unit_test(test_purposes),
    };

    return cmocka_run_group_tests_name("login", tests, NULL, NULL);
}
