/* test_client_connect.c - connecting to another job: who sends what over the channel, to the
 * server, and in which order; and a channel that is not what it should be.  Hostile data
 * from a real leader: test/sys/connect.py. */
#include "test/unit/fake_server.h"

#define COPIES   FULL "extensions=kvs-copy;"
#define TRUE_FOR "cmd=job-connect-response;rc=0;kvscopy=TRUE;"
#define OWN(id)  "cmd=job-getid-response;rc=0;jobid=" id ";"
#define DATA(next, data) "cmd=kvs-read-response;rc=0;next=" next ";data=" data ";"
#define TAKEN    "cmd=kvs-copy-response;rc=0;"
#define MINE(id, at, last, data) \
    "cmd=kvs-copy;jobid=" id ";index=" at ";last=" last ";data=" data ";"

struct channel {
    struct buf  in, out;
    size_t      read_at;         /* bytes that had gone out when it was read first, plus 1 */
    int         piece;           /* bytes that one call does at most */
    int         read_is, write_is;       /* what they return instead; 0: nothing */
};

static int channel_read(void *buf, int max, void *ctx)
{
    struct channel *x = ctx;
    size_t n = (size_t)(max < x->piece ? max : x->piece);

    if (x->read_is)
        return x->read_is;
    if (!x->read_at)
        x->read_at = x->out.len + 1;
    n = n < x->in.len ? n : x->in.len;
    if (n)
        memcpy(buf, buf_bytes(&x->in), n);
    buf_consume(&x->in, n);
    return (int)n;
}

static int channel_write(const void *buf, int len, void *ctx)
{
    struct channel *x = ctx;
    int n = len < x->piece ? len : x->piece;

    if (x->write_is)
        return x->write_is;
    buf_add(&x->out, buf, (size_t)n);
    return n;
}

static void add_frame(struct buf *b, const char *body, size_t n)
{
    buf_printf(b, "%6zu%.*s", n, (int)n, body);
}

/* Bodies that '|' divides, as frames. */
static void add_frames(struct buf *b, const char *bodies)
{
    while (*bodies) {
        size_t n = strcspn(bodies, "|");

        add_frame(b, bodies, n);
        bodies += n + (bodies[n] == '|');
    }
}

#define REST "and what is behind it"

static const struct row {
    const char *name;
    int         master;
    const char *comes, *goes;            /* over the channel */
    bool        first;                   /* we send first */
    const char *error;                   /* NULL: it works */
    const char *script[10];              /* of the server, behind fullinit */
    const char *asked[10];               /* of it; NULL: not looked at */
} rows[] = {
    { "the master begins", 1, MINE("j2", "0", "TRUE", "1 1 kv"), MINE("j1", "0", "TRUE", "1 1 ab"),
      true, NULL, { TRUE_FOR, OWN("j1"), DATA("0", "1 1 ab"), TAKEN },
      { "cmd=job-connect;jobid=j2;", "cmd=job-getid;", "cmd=kvs-read;index=0;",
        MINE("j2", "0", "TRUE", "1 1 kv") } },
    { "who is not waits", 0, MINE("j2", "0", "TRUE", "1 1 kv"), MINE("j1", "0", "TRUE", "1 1 ab"),
      false, NULL, { TRUE_FOR, OWN("j1"), TAKEN, DATA("0", "1 1 ab") }, { NULL } },
    { "nobody is: ours comes first", -1, MINE("j2", "0", "TRUE", ""), MINE("j1", "0", "TRUE", ""),
      true, NULL, { TRUE_FOR, OWN("j1"), DATA("0", ""), TAKEN }, { NULL } },
    { "nobody is: theirs comes first", -1, MINE("j2", "0", "TRUE", ""),
      MINE("j3", "0", "TRUE", ""), false, NULL, { TRUE_FOR, OWN("j3"), TAKEN, DATA("0", "") },
      { NULL } },
    { "several parts", 1, MINE("j2", "0", "FALSE", "1 2 k;;;;") "|" MINE("j2", "1", "TRUE", "1 1 lv"),
      MINE("j1", "0", "FALSE", "1 2 a;;;;") "|" MINE("j1", "1", "TRUE", "1 1 bc"), true, NULL,
      { TRUE_FOR, OWN("j1"), DATA("1", "1 2 a;;;;"), DATA("0", "1 1 bc"), TAKEN, TAKEN },
      { "cmd=job-connect;jobid=j2;", "cmd=job-getid;", "cmd=kvs-read;index=0;",
        "cmd=kvs-read;index=1;", MINE("j2", "0", "FALSE", "1 2 k;;;;"),
        MINE("j2", "1", "TRUE", "1 1 lv") } },
    { "connected already: the channel is not touched", 1, "", "", false, NULL,
      { "cmd=job-connect-response;rc=0;kvscopy=FALSE;" }, { NULL } },
    { "our server refuses: the rest is read, and they are told", 0,
      MINE("j2", "0", "FALSE", "1 1 kv") "|" MINE("j2", "1", "TRUE", "1 1 lv"),
      "cmd=kvs-copy;jobid=j1;errmsg=kvs-copy: no room;", false, "no room",
      { TRUE_FOR, OWN("j1"), "cmd=kvs-copy-response;rc=2;errmsg=no room;" },
      { "cmd=job-connect;jobid=j2;", "cmd=job-getid;", MINE("j2", "0", "FALSE", "1 1 kv") } },
    { "our server has no keys: they are told", 1, "", "cmd=kvs-copy;jobid=j1;errmsg=kvs-read: no;",
      true, "kvs-read: no", { TRUE_FOR, OWN("j1"), "cmd=kvs-read-response;rc=14;errmsg=no;" },
      { NULL } },
    { "... in the middle of them", 1, "",
      MINE("j1", "0", "FALSE", "1 1 ab") "|cmd=kvs-copy;jobid=j1;errmsg=kvs-read: no;", true,
      "kvs-read: no",
      { TRUE_FOR, OWN("j1"), DATA("1", "1 1 ab"), "cmd=kvs-read-response;rc=14;errmsg=no;" },
      { NULL } },
    { "a reply without data", 1, "",
      "cmd=kvs-copy;jobid=j1;errmsg=kvs-read: the reply has no data;", true, "no data",
      { TRUE_FOR, OWN("j1"), "cmd=kvs-read-response;rc=0;next=0;" }, { NULL } },
    { "the other side says why not", 0, "cmd=kvs-copy;jobid=j2;errmsg=too busy;", "", false,
      "the other side: too busy", { TRUE_FOR, OWN("j1") }, { NULL } },
    { "another job is at the other end", 0, MINE("j4", "0", "TRUE", ""), "", false,
      "job j4 is at the other end", { TRUE_FOR, OWN("j1") }, { NULL } },
    { "it ends in the middle", 0, MINE("j2", "0", "FALSE", ""), "", false, "ended before",
      { TRUE_FOR, OWN("j1"), TAKEN }, { NULL } },
};

static void open_client(struct client *c, struct fake *f, const char **script,
                        const char *const *more)
{
    size_t n = 0;

    script[n++] = INIT_OK;
    script[n++] = COPIES;
    while (*more)
        script[n++] = *more++;
    script[n++] = BYE;
    script[n] = NULL;
    start(c, f, script);
}

static void check_row(const struct row *r, int piece)
{
    struct channel x = { .piece = piece };
    struct client_channel ch = { channel_read, channel_write, &x, r->master };
    struct client c = CLIENT_INIT(c);
    struct buf want = BUF_INIT;
    const char *script[16];
    struct err e = { 0 };
    struct fake f;
    int rc;

    add_frames(&x.in, r->comes);
    if (!r->error)
        buf_str(&x.in, REST);
    add_frames(&want, r->goes);
    open_client(&c, &f, script, r->script);
    rc = client_connect(&c, "j2", &ch, &e);
    assert_int_equal(rc, r->error ? -1 : 0);
    if (r->error)
        assert_has(e.text, r->error);
    else
        assert_string_equal(buf_bytes(&x.in), REST);
    assert_string_equal(x.out.len ? buf_bytes(&x.out) : "", want.len ? buf_bytes(&want) : "");
    if (x.read_at && want.len)
        assert_int_equal(x.read_at > want.len, r->first);
    assert_int_equal(client_close(&c, &e), 0);
    fake_join(&f);
    for (int i = 0; r->asked[i]; i++)
        assert_string_equal(f.seen[i + 2], r->asked[i]);
    buf_clear(&x.in);
    buf_clear(&x.out);
    buf_clear(&want);
}

static void test_row(void **state)
{
    check_row(*state, 100000);
    check_row(*state, 1);
}

/* What its functions return, and what they are. */
static const struct { int master, read_is, write_is; const char *error; } broken[] = {
    { 1, 0, -1, "cannot be written to (-1)" }, { 1, 0, 100000, "cannot be written to (100000)" },
    { 0, -1, 0, "cannot be read from (-1)" }, { 0, 7, 0, "cannot be read from (7)" },
};

static void test_broken(void **state)
{
    static const char *const more[] = { TRUE_FOR, OWN("j1"), DATA("0", "1 1 ab"), NULL };

    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct channel x = { .piece = 10, .read_is = broken[i].read_is,
                             .write_is = broken[i].write_is };
        struct client_channel ch = { channel_read, channel_write, &x, broken[i].master };
        struct client c = CLIENT_INIT(c);
        const char *script[16];
        struct err e = { 0 };
        struct fake f;

        open_client(&c, &f, script, broken[i].master ? more : (const char *const[]){
                    TRUE_FOR, OWN("j1"), NULL });
        assert_int_equal(client_connect(&c, "j2", &ch, &e), -1);
        assert_has(e.text, broken[i].error);
        client_close(&c, &e);
        fake_join(&f);
    }
}

static void test_none(void **state)
{
    static const char *const more[] = { TRUE_FOR, TRUE_FOR, NULL };
    struct client_channel ch = { NULL, channel_write, NULL, 1 };
    struct client c = CLIENT_INIT(c);
    const char *script[16];
    struct err e = { 0 };
    struct fake f;

    (void)state;
    open_client(&c, &f, script, more);
    assert_int_equal(client_connect(&c, "j2", NULL, &e), -1);
    assert_has(e.text, "there is no channel");
    assert_int_equal(client_connect(&c, "j2", &ch, &e), -1);
    assert_has(e.text, "there is no channel");
    assert_int_equal(client_close(&c, &e), 0);
    fake_join(&f);
}

/* A server that says TRUE and has not said that it takes copies: Slurm's never does. */
static void test_old_server(void **state)
{
    static const char *const script[] = { INIT_OK, FULL, TRUE_FOR, BYE, NULL };
    struct channel x = { .piece = 10 };
    struct client_channel ch = { channel_read, channel_write, &x, 1 };
    struct client c = CLIENT_INIT(c);
    struct err e = { 0 };
    struct fake f;

    (void)state;
    start(&c, &f, script);
    assert_int_equal(client_connect(&c, "j2", &ch, &e), -1);
    assert_has(e.text, "cannot take a copy");
    assert_int_equal(x.out.len, 0);
    assert_int_equal(client_close(&c, &e), 0);
    fake_join(&f);
}

int main(void)
{
    enum { N = sizeof rows / sizeof *rows };
    struct CMUnitTest tests[N + 3];

    for (size_t i = 0; i < N; i++)
        tests[i] = (struct CMUnitTest){ rows[i].name, test_row, NULL, NULL, (void *)&rows[i] };
    tests[N] = (struct CMUnitTest)cmocka_unit_test(test_broken);
    tests[N + 1] = (struct CMUnitTest)cmocka_unit_test(test_none);
    tests[N + 2] = (struct CMUnitTest)cmocka_unit_test(test_old_server);
    alarm(60);                           /* a call that hangs ends here */
    return cmocka_run_group_tests_name("client_connect", tests, NULL, NULL);
}
