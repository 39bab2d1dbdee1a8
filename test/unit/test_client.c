/* test_client.c - the client against a server that plays a script (fake_server.h).
 * Whether a call hangs is seen by alarm(); nothing else here depends on time. */
#define PMI2_USE_SLURM_INFO          /* PMI2_Job_Spawn is then the symbol */
#include "pmi2/client.h"
#include "pmi2/pmi2.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/unit/fake_server.h"
#include "test/unit/fault.h"

/* ---------------------------------------------------------------- opening */

static void set_env(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void clear_env(void)
{
    static const char *const names[] = { "PMI_FD", "PMI_PORT", "PMI_ID", "PMI_RANK",
                                         "PMI_JOBID" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

static const struct {
    const char *name, *script[3], *error;    /* NULL: it opens */
} open_cases[] = {
    { "plain", { INIT_OK, FULL }, NULL },
    { "rc last, as Hydra", { "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0",
      "cmd=fullinit-response;rank=1;size=4;appnum=2;rc=0;" }, NULL },
    { "left-justified length, as Slurm", { INIT_OK,
      "!50    cmd=fullinit-response;rc=0;rank=1;size=4;appnum=2;" }, NULL },
    { "version not told", { "cmd=response_to_init rc=0", FULL }, NULL },
    { "PMI-1 only", { "cmd=response_to_init rc=1 pmi_version=1 pmi_subversion=1" },
      "it speaks PMI 1.1" },
    { "PMI-1 with rc=0", { "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1" },
      "it speaks PMI 1.1" },
    { "PMI 3", { "cmd=response_to_init rc=-1 pmi_version=3 pmi_subversion=0" },
      "it speaks PMI 3.0" },
    { "bare refusal, as Flux", { "cmd=response_to_init rc=-1" }, "refuses init" },
    { "refusal of 2.0", { "cmd=response_to_init rc=1 pmi_version=2 pmi_subversion=0" },
      "refuses init" },
    { "no rc", { "cmd=response_to_init pmi_version=2 pmi_subversion=0" }, "refuses" },
    { "version no number", { "cmd=response_to_init rc=0 pmi_version=x" }, "a number" },
    { "other command", { "cmd=barrier_out rc=0" }, "answered by 'barrier_out'" },
    { "no PMI at all", { "!220 smtp ready\n" }, "a PMI command (cmd=...) expected" },
    { "a block", { "!mcmd=spawn\nendcmd\n" }, "block" },
    { "EOF", { "" }, "closed the connection" },
    { "EOF in mid-line", { "$cmd=response_to_in" }, "in the middle of a reply" },
    { "EOF in the value", { INIT_OK, "$    30cmd=fullinit-response;rc=0;x=" }, "middle" },
    { "EOF before fullinit", { INIT_OK, "" }, "closed the connection" },
    { "EOF in mid-frame", { INIT_OK, "$   100cmd=fullinit-resp" }, "middle of a reply" },
    { "EOF in the length", { INIT_OK, "$   1" }, "middle of a reply" },
    { "length 0", { INIT_OK, "!     0" }, "too short" },
    { "negative length", { INIT_OK, "!   -50cmd=fullinit-response;" }, "length" },
    { "length in letters", { INIT_OK, "!abcdefcmd=fullinit-response;" }, "length" },
    { "length too large", { INIT_OK, "!999999cmd=fullinit-response;" }, "at most" },
    { "line again", { INIT_OK, "!cmd=init rc=0\n" }, "fell back to PMI-1" },
    { "no rank", { INIT_OK, "cmd=fullinit-response;rc=0;size=4;" }, "no rank or" },
    { "rank too large", { INIT_OK, "cmd=fullinit-response;rc=0;size=4;rank=4;" },
      "rank 4 of 4" },
    { "negative rank", { INIT_OK, "cmd=fullinit-response;rc=0;size=4;rank=-1;" },
      "not within" },
    { "size 0", { INIT_OK, "cmd=fullinit-response;rc=0;size=0;rank=0;" }, "not within" },
    { "size no number", { INIT_OK, "cmd=fullinit-response;rc=0;size=0x4;rank=0;" },
      "not a number" },
    { "size beyond int", { INIT_OK,
      "cmd=fullinit-response;rc=0;size=99999999999999999999;rank=0;" }, "not within" },
    { "refused", { INIT_OK, "cmd=fullinit-response;rc=3;errmsg=who are you;" },
      "who are you" },
    { "no rc", { INIT_OK, "cmd=fullinit-response;rank=1;size=4;" }, "has no rc" },
    { "rc no number", { INIT_OK, "cmd=fullinit-response;rc=;rank=1;size=4;" },
      "not a number" },
    { "other reply", { INIT_OK, "cmd=kvs-put-response;rc=0;" }, "answered by" },
    { "unclosed rank", { INIT_OK, "cmd=fullinit-response;rc=0;size=4;rank=1;;" },
      "not a number" },
    { "no cmd", { INIT_OK, "rc=0;rank=1;size=4;" }, "first key is" },
};

static void test_open(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof open_cases / sizeof *open_cases; i++) {
        struct client c = CLIENT_INIT(c);
        struct err e = { 0 };
        struct fake f;
        int rc, fd;

        print_message("  %s\n", open_cases[i].name);
        fd = fake_start(&f, open_cases[i].script, i & 1);
        rc = client_open_fd(&c, fd, &id_of_1, &e);
        assert_int_equal(rc, open_cases[i].error ? -1 : 0);
        if (rc < 0) {
            assert_has(e.text, open_cases[i].error);
            assert_int_equal(client_fence(&c, &e), -1);
            assert_has(e.text, open_cases[i].error);
        } else {
            assert_int_equal(c.rank, 1);
            assert_int_equal(c.size, 4);
            assert_int_equal(c.appnum, 2);
            assert_false(c.thrids);
        }
        client_close(&c, &e);
        fake_join(&f);
        assert_string_equal(f.seen[0], "cmd=init pmi_version=2 pmi_subversion=0");
        if (f.requests > 1)
            assert_string_equal(f.seen[1], "cmd=fullinit;pmijobid=job7;pmirank=1;"
                                "threaded=TRUE;extensions=1;");
    }
}

/* What the environment says of us, if it is senseless, is not sent. */
static void test_identity(void **state)
{
    static const char *const script[] = { INIT_OK, FULL, NULL };
    static const struct { struct client_id id; const char *error; } cases[] = {
        { { "\xff", "1" }, "PMI_JOBID" },
        { { "j", "one" }, "PMI_RANK=one is not a number" },
        { { NULL, "-1" }, "PMI_RANK=-1 is not within" },
        { { NULL, "" }, "not a number" },
        { { NULL, NULL }, NULL }, { { "", NULL }, NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct client c = CLIENT_INIT(c);
        struct err e = { 0 };
        struct fake f;
        int rc = client_open_fd(&c, fake_start(&f, script, false), &cases[i].id, &e);

        assert_int_equal(rc, cases[i].error ? -1 : 0);
        if (rc < 0)
            assert_has(e.text, cases[i].error);
        client_close(&c, &e);
        fake_join(&f);
        assert_string_equal(f.seen[1], rc < 0 ? ""
                            : "cmd=fullinit;threaded=TRUE;extensions=1;");
    }
}

/* A word of the list is a whole word. */
static void test_extensions(void **state)
{
    static const struct { const char *reply; bool thrids; } cases[] = {
        { FULL "extensions=thrid;", true }, { FULL "extensions=a,thrid,b;", true },
        { FULL "extensions=thrids,athrid,thri;", false }, { FULL "extensions=;", false },
        { FULL "extensions=,,;", false }, { FULL "extensions=1;", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *script[] = { INIT_OK, cases[i].reply, BYE_THRID, NULL };
        struct client c = CLIENT_INIT(c);
        struct err e = { 0 };
        struct fake f;

        start(&c, &f, script);
        assert_int_equal(c.thrids, cases[i].thrids);
        client_close(&c, &e);
        fake_join(&f);
    }
}

static void *open_by_env(void *arg)
{
    struct err e;

    return client_open(arg, &e) == 0 ? arg : NULL;
}

/* Several threads initialise at once: one does, the others wait for it. */
static void test_open_at_once(void **state)
{
    enum { N = 6 };
    static const char *const script[] = { INIT_OK, FULL, BYE, NULL };
    struct client c = CLIENT_INIT(c);
    pthread_t thread[N];
    struct err e = { 0 };
    struct fake f;
    char fd[16];

    (void)state;
    clear_env();
    snprintf(fd, sizeof fd, "%d", fake_start(&f, script, true));
    setenv("PMI_FD", fd, 1);
    for (int i = 0; i < N; i++)
        pthread_create(&thread[i], NULL, open_by_env, &c);
    for (int i = 0; i < N; i++) {
        void *good;

        pthread_join(thread[i], &good);
        assert_non_null(good);
    }
    assert_int_equal(client_close(&c, &e), 0);
    fake_join(&f);
    assert_int_equal(f.requests, 3);
    clear_env();
}

/* A line that never ends must not be kept for ever. */
static void test_endless_line(void **state)
{
    static char line[CLIENT_REPLY_MAX + 100];
    const char *script[] = { line, NULL };
    struct client c = CLIENT_INIT(c);
    struct err e = { 0 };
    struct fake f;

    (void)state;
    memset(line, 'x', sizeof line - 1);
    memcpy(line, "!cmd=", 5);
    assert_int_equal(client_open_fd(&c, fake_start(&f, script, false), &id_of_1, &e), -1);
    assert_has(e.text, "a line longer than");
    fake_join(&f);
}

/* ---------------------------------------------------------------- replies */

static const struct {
    const char *name, *reply, *value, *error;    /* value NULL, error NULL: not found */
    bool        broken;                          /* later calls fail, too */
} get_cases[] = {
    { "found", GOT "found=TRUE;value=v;", "v", NULL, false },
    { "no found key", "cmd=kvs-get-response;value=v;rc=0;", "v", NULL, false },
    { "semicolons", GOT "found=TRUE;value=a;;b;;;;;", "a;b;;", NULL, 0 },
    { "empty", GOT "found=TRUE;value=;", "", NULL, false },
    { "'=' and newline", GOT "found=TRUE;value=a=\nb;", "a=\nb", NULL, 0 },
    { "last ';' missing", GOT "found=TRUE;value=v", "v", NULL, false },
    { "not found", GOT "found=FALSE;", NULL, NULL, false },
    { "found in lower case", GOT "found=false;", NULL, NULL, false },
    { "unknown keys", "cmd=kvs-get-response;x=1;rc=0;value=v;y=;", "v", NULL, false },
    { "thrid nobody asked for", GOT "thrid=0x1;found=TRUE;value=v;", "v", NULL, false },
    { "refused", "cmd=kvs-get-response;rc=14;errmsg=no;; never;", NULL,
      "kvs-get: no; never", false },
    { "refused without words", "cmd=kvs-get-response;rc=1;", NULL, "refused", false },
    { "strange rc", "cmd=kvs-get-response;rc=-77;", NULL, "refused", false },
    { "found MAYBE", GOT "found=MAYBE;value=v;", NULL, "neither", 0 },
    { "found nothing", GOT "found=TRUE;", NULL, "without value", 0 },
    { "no rc", "cmd=kvs-get-response;found=TRUE;value=v;", NULL, "has no rc", true },
    { "rc is a word", "cmd=kvs-get-response;rc=ok;value=v;", NULL, "not a number", true },
    { "rc too large", "cmd=kvs-get-response;rc=99999999999;", NULL, "not within", true },
    { "other reply", "cmd=kvs-put-response;rc=0;", NULL, "answered by 'kvs-put", true },
    { "name too long", "cmd=kvs-get-responsex;rc=0;", NULL, "answered by", true },
    { "name too short", "cmd=kvs-get;rc=0;", NULL, "answered by", true },
    { "empty cmd", "cmd=;rc=0;value=v;", NULL, "want cmd", true },
    { "EOF", "", NULL, "closed the connection", true },
    { "EOF in mid-reply", "$    60cmd=kvs-get-response;rc=0;val", NULL, "middle", true },
    { "negative length", "!    -6cmd=kvs-get-response;rc=0;", NULL, "length", true },
    { "length too large", "!999999cmd=kvs-get-response;rc=0;", NULL, "at most", true },
    { "length too small", "!     4cmd=", NULL, "too short", true },
    { "hexadecimal length", "!  0x40cmd=kvs-get-response;rc=0;", NULL, "length", true },
    { "PMI-1 reply", "!cmd=get_result rc=0 value=v\n", NULL, "length expected", true },
    { "HTTP", "!HTTP/1.1 400 Bad Request\r\n\r\n", NULL, "length expected", true },
    { "rc swallowed by an unclosed value", "cmd=kvs-get-response;value=v;;rc=0;", NULL,
      "has no rc", true },
};

static void check_get(struct client *c, const char *value, const char *error)
{
    struct buf out = BUF_INIT;
    struct err e = { 0 };
    bool found;
    int rc = client_get(c, NULL, 3, "k", &out, &found, &e);

    assert_int_equal(rc, error ? -1 : 0);
    assert_int_equal(found && rc == 0, value != NULL);
    if (error)
        assert_has(e.text, error);
    if (value) {
        assert_int_equal(out.len, strlen(value));
        assert_memory_equal(out.len ? buf_bytes(&out) : "", value, out.len);
    }
    buf_clear(&out);
}

static void get_case(size_t i, bool bytewise, bool nonblocking)
{
    const char *script[] = { INIT_OK, FULL, get_cases[i].reply,
                             "cmd=kvs-put-response;rc=0;", BYE,
                             NULL };
    struct client c = CLIENT_INIT(c);
    struct err e = { 0 };
    struct fake f;
    int fd = fake_start(&f, script, bytewise);

    print_message("  %s\n", get_cases[i].name);
    if (nonblocking)
        fcntl(fd, F_SETFL, O_NONBLOCK);
    assert_int_equal(client_open_fd(&c, fd, &id_of_1, &e), 0);
    check_get(&c, get_cases[i].value, get_cases[i].error);
    if (get_cases[i].broken)             /* what was read first stays the reason */
        for (int n = 0; n < 3; n++)
            check_get(&c, NULL, get_cases[i].error);
    else
        assert_int_equal(client_put(&c, "k", "v;", &e), 0);
    assert_int_equal(client_close(&c, &e), get_cases[i].broken ? -1 : 0);
    fake_join(&f);
    assert_string_equal(f.seen[2], "cmd=kvs-get;srcid=3;key=k;");
    if (!get_cases[i].broken)
        assert_string_equal(f.seen[3], "cmd=kvs-put;key=k;value=v;;;");
}

static void test_get(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof get_cases / sizeof *get_cases; i++)
        get_case(i, false, false);
}

static void test_get_bytewise(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof get_cases / sizeof *get_cases; i++)
        get_case(i, true, i & 1);
}

/* Requests of every command, byte for byte, and what is made of good replies. */
static void test_commands(void **state)
{
    static const char *const script[] = {
        INIT_OK, FULL,
        "cmd=job-getid-response;rc=0;",
        "cmd=job-getid-response;rc=0;jobid=j1;",
        "cmd=kvs-fence-response;rc=0;",
        "cmd=info-putnodeattr-response;rc=0;",
        "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=x;",
        "cmd=info-getjobattr-response;rc=1;",
        "cmd=info-getjobattr-response;rc=1;errmsg=broken;",
        "cmd=name-publish-response;rc=0;",
        "cmd=name-lookup-response;rc=0;",
        "cmd=name-lookup-response;rc=0;port=p;",
        "cmd=name-lookup-response;rc=0;value=v;port=p;",
        "cmd=name-unpublish-response;rc=1;errmsg=service_not_found;",
        "cmd=job-connect-response;rc=0;kvscopy=FALSE;",
        "cmd=job-connect-response;rc=0;kvscopy=TRUE;",
        "cmd=job-disconnect-response;rc=0;",
        "cmd=ring-response;rc=0;ring-count=3;ring-left=l;ring-right=r;",
        "cmd=ring-response;rc=0;ring-count=4;ring-left=l;ring-right=r;",
        BYE, NULL };
    static const char *const asked[] = {
        "cmd=job-getid;", "cmd=job-getid;", "cmd=kvs-fence;",
        "cmd=info-putnodeattr;key=a;value=x;",
        "cmd=info-getnodeattr;key=a;wait=FALSE;", "cmd=info-getjobattr;key=a;",
        "cmd=info-getjobattr;key=a;", "cmd=name-publish;name=n;port=p;infokeycount=0;",
        "cmd=name-lookup;name=n;infokeycount=0;",
        "cmd=name-lookup;name=n;infokeycount=0;",
        "cmd=name-lookup;name=n;infokeycount=0;",
        "cmd=name-unpublish;name=n;infokeycount=0;", "cmd=job-connect;jobid=o;",
        "cmd=job-connect;jobid=o;", "cmd=job-disconnect;jobid=o;",
        "cmd=ring;ring-count=1;ring-left=m;ring-right=m;",
        "cmd=ring;ring-count=1;ring-left=m;ring-right=m;", "cmd=finalize;" };
    struct client c = CLIENT_INIT(c);
    struct buf out = BUF_INIT, right = BUF_INIT;
    struct err e = { 0 };
    struct fake f;
    bool found;
    int pos = -1;

    (void)state;
    start(&c, &f, script);
    assert_int_equal(client_job_id(&c, &out, &e), -1);
    assert_int_equal(client_job_id(&c, &out, &e), 0);
    assert_int_equal(client_fence(&c, &e), 0);
    assert_int_equal(client_put_attr(&c, "a", "x", &e), 0);
    assert_int_equal(client_get_attr(&c, true, "a", false, &out, &found, &e), 0);
    assert_true(found);
    assert_int_equal(client_get_attr(&c, false, "a", false, &out, &found, &e), 0);
    assert_false(found);
    assert_int_equal(client_get_attr(&c, false, "a", false, &out, &found, &e), -1);
    assert_string_equal(e.text, "info-getjobattr: broken");
    assert_int_equal(client_publish(&c, "n", 0, NULL, "p", &e), 0);
    assert_int_equal(client_lookup(&c, "n", 0, NULL, &out, &e), -1);
    assert_int_equal(client_lookup(&c, "n", 0, NULL, &out, &e), 0);
    assert_int_equal(client_lookup(&c, "n", 0, NULL, &out, &e), 0);
    assert_string_equal(buf_bytes(&out), "j1xpv");
    assert_int_equal(client_unpublish(&c, "n", &e), -1);
    assert_int_equal(client_connect(&c, "o", NULL, &e), 0);
    assert_int_equal(client_connect(&c, "o", NULL, &e), -1);
    assert_int_equal(client_disconnect(&c, "o", &e), 0);
    assert_int_equal(client_ring(&c, "m", &pos, &out, &right, &e), 0);
    assert_int_equal(pos, 3);
    assert_string_equal(buf_bytes(&right), "r");
    assert_int_equal(client_ring(&c, "m", &pos, &out, &right, &e), -1);
    assert_int_equal(client_close(&c, &e), 0);
    fake_join(&f);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        assert_string_equal(f.seen[i + 2], asked[i]);
    buf_clear(&out);
    buf_clear(&right);
}

/* ------------------------------------------------------------- local checks */

static void test_checks(void **state)
{
    static const char *const script[] = { INIT_OK, FULL, BYE, NULL };
    char key[66], value[LIMIT_VALUE_OLD + 2], name[LIMIT_SERVICE + 2];
    struct client c = CLIENT_INIT(c);
    struct buf out = BUF_INIT;
    struct err e = { 0 };
    struct fake f;
    bool found;
    size_t i;

    const struct { const char *name, *key, *value; enum err_code code; } puts[] = {
        { "no key", NULL, "v", ERR_INVALID_KEY }, { "empty", "", "v", ERR_INVALID_KEY },
        { "long key", key, "v", ERR_KEY_LENGTH },
        { "no UTF-8", "\xc3(", "v", ERR_INVALID_KEY },
        { "no value", "k", NULL, ERR_INVALID_VAL },
        { "value no UTF-8", "k", "\xff", ERR_INVALID_VAL },
        { "surrogate", "k", "\xed\xa0\x80", ERR_INVALID_VAL },
        { "long value", "k", value, ERR_VAL_LENGTH },
    };
    const struct client_info no_key = { "", "v" }, no_value = { "wait", NULL };
    const struct { int n; const struct client_info *of; const char *why; } infos[] = {
        { -1, &no_key, "name-lookup: -1 info pairs, at most 4" },
        { 5, &no_key, "name-lookup: 5 info pairs, at most 4" },
        { 1, NULL, "name-lookup: no info pairs" },
        { 1, &no_key, "name-lookup: no info key" },
        { 1, &no_value, "name-lookup: no info value" },
    };

    (void)state;
    memset(key, 'k', 65);
    memset(value, 'v', LIMIT_VALUE_OLD + 1);
    memset(name, 'n', LIMIT_SERVICE + 1);
    key[65] = value[LIMIT_VALUE_OLD + 1] = name[LIMIT_SERVICE + 1] = '\0';
    start(&c, &f, script);
    for (i = 0; i < sizeof puts / sizeof *puts; i++) {
        print_message("  %s\n", puts[i].name);
        assert_int_equal(client_put(&c, puts[i].key, puts[i].value, &e), -1);
        assert_int_equal(e.code, puts[i].code);
        assert_int_equal(client_put_attr(&c, puts[i].key, puts[i].value, &e), -1);
        assert_int_equal(e.code, puts[i].code);
    }
    assert_int_equal(client_get(&c, NULL, -1, key, &out, &found, &e), -1);
    assert_int_equal(client_get(&c, "\xff", -1, "k", &out, &found, &e), -1);
    assert_int_equal(client_get_attr(&c, true, "", false, &out, &found, &e), -1);
    assert_int_equal(client_publish(&c, name, 0, NULL, "p", &e), -1);
    assert_int_equal(e.code, ERR_LENGTH);
    assert_int_equal(client_publish(&c, "n", 0, NULL, NULL, &e), -1);
    assert_int_equal(client_lookup(&c, NULL, 0, NULL, &out, &e), -1);
    for (i = 0; i < sizeof infos / sizeof *infos; i++) {
        assert_int_equal(client_lookup(&c, "n", infos[i].n, infos[i].of, &out, &e), -1);
        assert_string_equal(e.text, infos[i].why);
    }
    assert_int_equal(client_connect(&c, NULL, NULL, &e), -1);
    assert_int_equal(client_close(&c, &e), 0);
    fake_join(&f);
    assert_int_equal(f.requests, 3);     /* nothing of this went out */
}

static void test_order(void **state)
{
    struct client c = CLIENT_INIT(c);
    struct err e = { 0 };

    (void)state;
    assert_int_equal(client_fence(&c, &e), -1);
    assert_int_equal(e.code, ERR_INIT);
    assert_int_equal(client_close(&c, &e), -1);
    assert_int_equal(e.code, ERR_INIT);
    assert_int_equal(client_state(&c), CLIENT_NEW);
}

/* ------------------------------------------------------------------ threads */

struct getter {
    struct client *c;
    char           key[16];
    const char    *value;    /* wanted; NULL: any end will do */
    pthread_t      thread;
    bool           good;
};

static void *get_one(void *arg)
{
    struct getter *g = arg;
    struct buf out = BUF_INIT;
    struct err e = { 0 };
    bool found = false;
    int rc = client_get(g->c, NULL, -1, g->key, &out, &found, &e);

    g->good = g->value ? rc == 0 && found && !strcmp(buf_bytes(&out), g->value) : rc < 0;
    buf_clear(&out);
    return NULL;
}

/* A server that answers a batch of requests in reverse order, value = key. */
struct batcher {
    int       fd, batch, rounds;
    pthread_t thread;
};

static void answer_by_key(struct fake *f, const char *req)
{
    const char *key = strstr(req, ";key=");
    char reply[128];

    if (strstr(req, "cmd=finalize"))
        send_framed(f, BYE_THRID, req);
    if (!key)
        return;
    snprintf(reply, sizeof reply, GOT_THRID "found=TRUE;value=%.*s;",
             (int)strcspn(key + 5, ";"), key + 5);
    send_framed(f, reply, req);
}

static void *batch_run(void *arg)
{
    struct batcher *b = arg;
    struct fake f = { .fd = b->fd };
    char line[SEEN], **reqs = calloc((size_t)b->batch, sizeof *reqs), *last;

    read_line(b->fd, line, sizeof line);
    fake_write(&f, INIT_OK "\n", sizeof INIT_OK);
    free(read_frame(b->fd));
    send_framed(&f, FULL_THRID, "");
    for (int r = 0; r < b->rounds; r++) {
        for (int i = 0; i < b->batch; i++)
            reqs[i] = read_frame(b->fd);
        for (int i = b->batch - 1; i >= 0; i--) {
            if (reqs[i])
                answer_by_key(&f, reqs[i]);
            free(reqs[i]);
        }
    }
    last = read_frame(b->fd);
    if (last)
        answer_by_key(&f, last);
    free(last);
    free(reqs);
    close(b->fd);
    return NULL;
}

static void run_getters(struct client *c, struct getter *g, int n)
{
    for (int i = 0; i < n; i++) {
        g[i].c = c;
        snprintf(g[i].key, sizeof g[i].key, "key-%d", i);
        if (g[i].value)
            g[i].value = g[i].key;
        pthread_create(&g[i].thread, NULL, get_one, &g[i]);
    }
    for (int i = 0; i < n; i++)
        pthread_join(g[i].thread, NULL);
}

/* All threads' requests are under way before the first is answered. */
static void test_out_of_order(void **state)
{
    enum { N = 12, ROUNDS = 20 };
    struct client c = CLIENT_INIT(c);
    struct batcher b = { .batch = N, .rounds = ROUNDS };
    struct getter g[N];
    struct err e = { 0 };
    int sv[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    b.fd = sv[1];
    pthread_create(&b.thread, NULL, batch_run, &b);
    assert_int_equal(client_open_fd(&c, sv[0], &id_of_1, &e), 0);
    assert_true(c.thrids);
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < N; i++)
            g[i].value = "its key";
        run_getters(&c, g, N);
        for (int i = 0; i < N; i++)
            assert_true(g[i].good);
    }
    assert_int_equal(client_close(&c, &e), 0);
    pthread_join(b.thread, NULL);
}

/* The server goes while all wait: all come back with an error. */
static void test_eof_for_all(void **state)
{
    enum { N = 8 };
    struct client c = CLIENT_INIT(c);
    struct batcher b = { .batch = 2, .rounds = 0 };
    struct getter g[N] = { { .value = NULL } };
    struct err e = { 0 };
    int sv[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    b.fd = sv[1];
    pthread_create(&b.thread, NULL, batch_run, &b);
    assert_int_equal(client_open_fd(&c, sv[0], &id_of_1, &e), 0);
    run_getters(&c, g, N);
    for (int i = 1; i < N; i++)          /* one of them may have been answered */
        g[0].good += g[i].good;
    assert_int_equal(client_close(&c, &e), -1);
    assert_has(e.text, "PMI");
    pthread_join(b.thread, NULL);
}

static const struct { const char *name, *reply, *error; } thrid_cases[] = {
    { "unknown", "cmd=kvs-get-response;thrid=99;rc=0;value=v;", "to no request" },
    { "none", GOT "value=v;", "to no request" },
    { "none, with words", "cmd=error-response;rc=3;errmsg=bad frame;", "bad frame" },
    { "empty", "cmd=kvs-get-response;thrid=;rc=0;value=v;", "to no request" },
    { "a pointer", "cmd=kvs-get-response;thrid=0x7ffd00000000;rc=0;", "to no request" },
    { "same number, other text", "cmd=kvs-get-response;thrid=0@;rc=0;", "to no request" },
    { "right, other command", "cmd=kvs-put-response;thrid=@;rc=0;", "answered by" },
    { "first of two counts", GOT_THRID "thrid=99;value=v;", NULL },
    { "last", GOT "found=TRUE;value=v;thrid=@;", NULL },
};

static void test_thrid(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof thrid_cases / sizeof *thrid_cases; i++) {
        const char *script[] = { INIT_OK, FULL_THRID, thrid_cases[i].reply,
                                 BYE_THRID, NULL };
        bool ok = !thrid_cases[i].error;
        struct client c = CLIENT_INIT(c);
        struct err e = { 0 };
        struct fake f;

        print_message("  %s\n", thrid_cases[i].name);
        start(&c, &f, script);
        check_get(&c, ok ? "v" : NULL, thrid_cases[i].error);
        assert_int_equal(client_close(&c, &e), ok ? 0 : -1);
        fake_join(&f);
        assert_string_equal(f.seen[2], "cmd=kvs-get;thrid=1;srcid=3;key=k;");
    }
}

/* With an unknown server there is never a second request before the reply. */
static void *turns_run(void *arg)
{
    struct batcher *b = arg;
    struct fake f = { .fd = b->fd };
    char line[SEEN], *req;

    read_line(b->fd, line, sizeof line);
    fake_write(&f, INIT_OK "\n", sizeof INIT_OK);
    for (int i = 0; (req = read_frame(b->fd)); i++) {
        struct pollfd p = { b->fd, POLLIN, 0 };
        char reply[128], *key = strstr(req, ";key=");

        sched_yield();
        b->rounds += poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
        snprintf(reply, sizeof reply, GOT "value=%.*s;",
                 key ? (int)strcspn(key + 5, ";") : 0, key ? key + 5 : "");
        send_framed(&f, i ? strstr(req, "finalize") ? BYE : reply
                        : FULL, req);
        free(req);
    }
    close(b->fd);
    return NULL;
}

static void test_turns(void **state)
{
    enum { N = 8 };
    struct client c = CLIENT_INIT(c);
    struct batcher b = { .rounds = 0 };
    struct getter g[N];
    struct err e = { 0 };
    int sv[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    b.fd = sv[1];
    pthread_create(&b.thread, NULL, turns_run, &b);
    assert_int_equal(client_open_fd(&c, sv[0], &id_of_1, &e), 0);
    for (int r = 0; r < 10; r++) {
        for (int i = 0; i < N; i++)
            g[i].value = "its key";
        run_getters(&c, g, N);
        for (int i = 0; i < N; i++)
            assert_true(g[i].good);
    }
    assert_int_equal(client_close(&c, &e), 0);
    pthread_join(b.thread, NULL);
    assert_int_equal(b.rounds, 0);       /* requests seen too early */
}

/* There, a wait for an attribute is asked again and again, so that others can put it
 * (this process has threads: the fake is one). */
static void test_wait_in_turns(void **state)
{
    static const char *const script[] = { INIT_OK, FULL,
        "cmd=info-getnodeattr-response;rc=0;found=FALSE;",
        "cmd=info-getnodeattr-response;rc=0;found=FALSE;",
        "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=v;", BYE, NULL };
    struct client c = CLIENT_INIT(c);
    struct buf out = BUF_INIT;
    struct err e = { 0 };
    bool found = false;
    struct fake f;

    (void)state;
    start(&c, &f, script);
    assert_int_equal(client_get_attr(&c, true, "a", true, &out, &found, &e), 0);
    assert_true(found);
    assert_string_equal(buf_bytes(&out), "v");
    assert_int_equal(client_close(&c, &e), 0);
    fake_join(&f);
    for (int i = 2; i < 5; i++)
        assert_string_equal(f.seen[i], "cmd=info-getnodeattr;key=a;wait=FALSE;");
    buf_clear(&out);
}

/* Finalize while another thread waits for what never comes. */
static void test_close_frees_waiter(void **state)
{
    static const char *const script[] = { INIT_OK, FULL_THRID,
        "!     ", "$23cmd=x", NULL };
    struct client c = CLIENT_INIT(c);
    struct getter g = { .c = &c, .key = "k", .value = NULL };
    struct err e = { 0 };
    struct fake f;

    (void)state;
    start(&c, &f, script);
    pthread_create(&g.thread, NULL, get_one, &g);
    client_close(&c, &e);
    pthread_join(g.thread, NULL);
    assert_true(g.good);
    fake_join(&f);
}

/* ------------------------------------------------------------ large and long */

static void test_large(void **state)
{
    static char value[60001], reply[60100], back[60100];
    const char *script[] = { INIT_OK, FULL_THRID, "cmd=kvs-put-response;thrid=@;rc=0;",
                             reply, BYE_THRID, NULL };
    struct client c = CLIENT_INIT(c);
    struct err e = { 0 };
    struct fake f;
    int fd, small = 2048;

    (void)state;
    memset(value, 'V', 60000);
    snprintf(reply, sizeof reply, GOT_THRID "value=%s;", value);
    fd = fake_start(&f, script, false);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    setsockopt(f.fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    assert_int_equal(client_open_fd(&c, fd, &id_of_1, &e), 0);
    assert_int_equal(client_put(&c, "k", value, &e), 0);
    check_get(&c, value, NULL);
    memset(back, ';', 60000);            /* doubled, it no longer fits */
    assert_int_equal(client_put(&c, "k", back, &e), -1);
    assert_int_equal(e.code, ERR_VAL_LENGTH);
    assert_int_equal(client_close(&c, &e), 0);
    fake_join(&f);
}

/* -------------------------------------------------- broken replies, no memory */

static uint32_t dice(uint32_t *seed)     /* xorshift */
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* A good reply with some bytes changed, doubled or cut; then the end. */
static void damage(char *out, size_t max, const char *body, uint32_t seed)
{
    static const char bytes[] = ";;==@!%0 9\n\xff-cmdtr";
    int n = snprintf(out, max, "$%6zu%s", strlen(body), body);

    for (uint32_t i = dice(&seed) % 4; i < 4; i++) {
        uint32_t at = 1 + dice(&seed) % (uint32_t)(n - 1);

        switch (dice(&seed) % 4) {
        case 0:
            out[at] = '\0';              /* cut */
            return;
        case 1:
            out[at] = out[1 + dice(&seed) % (uint32_t)(n - 1)];
            break;
        default:
            out[at] = bytes[dice(&seed) % (sizeof bytes - 1)];
        }
    }
}

/* Whatever comes, a call ends, and so does the client; sanitizers see the rest. */
static void test_damaged(void **state)
{
    static const char *const bodies[] = {
        GOT_THRID "found=TRUE;value=some;;thing=1;", GOT_THRID "found=FALSE;",
        "cmd=kvs-get-response;thrid=1;rc=14;errmsg=who;;knows;",
    };
    char reply[256];

    (void)state;
    for (uint32_t seed = 1; seed <= 1500; seed++) {
        const char *script[] = { INIT_OK, FULL_THRID, reply, NULL };
        struct client c = CLIENT_INIT(c);
        struct buf out = BUF_INIT;
        struct err e = { 0 };
        struct fake f;
        bool found;

        damage(reply, sizeof reply, bodies[seed % 3], seed * 2654435761u);
        start(&c, &f, script);
        if (client_get(&c, NULL, -1, "k", &out, &found, &e) < 0)
            assert_true(e.text[0]);
        assert_int_equal(client_close(&c, &e), -1);
        fake_join(&f);
        buf_clear(&out);
    }
}

/* The fake as a process of its own, whose allocations are not counted. */
static int fake_fork(struct fake *f, const char *const *script, pid_t *pid)
{
    int sv[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    *pid = fork();
    if (*pid == 0) {
        close(sv[0]);
        *f = (struct fake){ .fd = sv[1], .script = script };
        fake_run(f);
        _exit(0);
    }
    close(sv[1]);
    return sv[0];
}

static int whole_life(struct client *c, int fd)
{
    const char *cmd = "c";
    int procs = 1;
    struct client_spawn s = { 1, &cmd, NULL, NULL, &procs, NULL, NULL, 0, NULL };
    struct buf out = BUF_INIT;
    struct err e = { 0 };
    bool found;
    int bad = client_open_fd(c, fd, &id_of_1, &e) < 0;

    bad += client_put(c, "k", "v", &e) < 0;
    bad += client_get(c, NULL, -1, "k", &out, &found, &e) < 0;
    bad += client_spawn(c, &s, &out, NULL, &e) < 0;
    bad += client_close(c, &e) < 0;
    buf_clear(&out);
    return bad;
}

/* Every allocation of a client's life fails once: errors, never a hang or a crash. */
static void test_no_memory(void **state)
{
    static const char *const script[] = { INIT_OK, FULL, "cmd=kvs-put-response;rc=0;",
        GOT "value=v;", "cmd=spawn-response;rc=0;jobid=j;", BYE, NULL };
    bool hit = true;

    (void)state;
    fault_begin();
    for (long nth = 0; hit; nth++) {
        struct client c = CLIENT_INIT(c);
        struct fake f;
        pid_t pid;
        int fd = fake_fork(&f, script, &pid), bad;

        fault_after(nth);
        bad = whole_life(&c, fd);
        hit = fault_hit;
        fault_end();
        waitpid(pid, NULL, 0);
        assert_int_equal(bad > 0, hit);
    }
}

/* --------------------------------------------------------------------- spawn */

#define SPAWNED "cmd=spawn-response;rc=0;jobid=j2;"

static const struct {
    const char *name, *reply, *id;
    int         rc, errors[3];
} spawn_cases[] = {
    { "good", SPAWNED "nerrs=0;errcodes=0,0,0;", "j2", 0, { 0 } },
    { "no error list", SPAWNED, "j2", 0, { 0 } },
    { "one error", SPAWNED "errcodes=0,7,0;", "j2", 0, { 0, 7, 0 } },
    { "short list", SPAWNED "errcodes=5;", "j2", 0, { 5, 0, 0 } },
    { "long list", SPAWNED "errcodes=1,2,3,4,5;", "j2", 0, { 1, 2, 3 } },
    { "senseless list", SPAWNED "errcodes=1,x,99999999999999;",
      "j2", 0, { 1, 0, 0 } },
    { "refused", "cmd=spawn-response;rc=14;errmsg=no;", NULL, -1, { 14, 14, 14 } },
    { "no job id", "cmd=spawn-response;rc=0;", NULL, -1, { 14, 14, 14 } },
};

static const char spawn_request[] =
    "cmd=spawn;ncmds=2;preputcount=1;ppkey0=P;ppval0=tag#0$p;;;"
    "subcmd=./child;maxprocs=2;argc=2;argv0=child arg;argv1=b=2;infokeycount=1;"
    "infokey0=mykey;infoval0=my val;subcmd=./child;maxprocs=1;argc=0;infokeycount=0;";

static void test_spawn(void **state)
{
    const char *cmds[] = { "./child", "./child" }, *argv[] = { "child arg", "b=2", NULL };
    const char **argvs[] = { argv, NULL };
    int argcs[] = { 2, 0 }, maxprocs[] = { 2, 1 }, ninfos[] = { 1, 0 };
    const struct client_info info = { "mykey", "my val" }, preput = { "P", "tag#0$p;" };
    const struct client_info *infos[] = { &info, NULL };
    struct client_spawn s = { 2, cmds, argcs, argvs, maxprocs, ninfos, infos, 1,
                              &preput };

    (void)state;
    for (size_t i = 0; i < sizeof spawn_cases / sizeof *spawn_cases; i++) {
        const char *script[] = { INIT_OK, FULL, spawn_cases[i].reply,
                                 BYE, NULL };
        struct client c = CLIENT_INIT(c);
        int errors[3] = { -9, -9, -9 };
        struct buf id = BUF_INIT;
        struct err e = { 0 };
        struct fake f;

        print_message("  %s\n", spawn_cases[i].name);
        s.argcs = i & 1 ? NULL : argcs;  /* the end of argv says as much */
        start(&c, &f, script);
        assert_int_equal(client_spawn(&c, &s, &id, errors, &e), spawn_cases[i].rc);
        if (spawn_cases[i].id)
            assert_string_equal(buf_bytes(&id), spawn_cases[i].id);
        assert_memory_equal(errors, spawn_cases[i].errors, sizeof errors);
        assert_int_equal(client_close(&c, &e), 0);
        fake_join(&f);
        assert_string_equal(f.seen[2], spawn_request);
        buf_clear(&id);
    }
}

static void test_spawn_checks(void **state)
{
    static const char *const script[] = { INIT_OK, FULL, BYE, NULL };
    const char *cmd = "c", *none = NULL, *argv[] = { "a", NULL, "b" };
    const char **argvs[] = { argv };
    int three = 3, minus = -1, one = 1;
    const struct client_info bad = { "", "v" }, half = { "k", NULL };
    const struct client_info *infos[] = { &half };
    const struct { const char *name; struct client_spawn s; } cases[] = {
        { "no command", { 0, &cmd, NULL, NULL, &one, NULL, NULL, 0, NULL } },
        { "negative count", { -1, &cmd, NULL, NULL, &one, NULL, NULL, 0, NULL } },
        { "cmds NULL", { 1, NULL, NULL, NULL, &one, NULL, NULL, 0, NULL } },
        { "command NULL", { 1, &none, NULL, NULL, &one, NULL, NULL, 0, NULL } },
        { "maxprocs NULL", { 1, &cmd, NULL, NULL, NULL, NULL, NULL, 0, NULL } },
        { "maxprocs negative", { 1, &cmd, NULL, NULL, &minus, NULL, NULL, 0, NULL } },
        { "argument NULL", { 1, &cmd, &three, argvs, &one, NULL, NULL, 0, NULL } },
        { "argc negative", { 1, &cmd, &minus, argvs, &one, NULL, NULL, 0, NULL } },
        { "info NULL", { 1, &cmd, NULL, NULL, &one, &one, infos, 0, NULL } },
        { "preput key", { 1, &cmd, NULL, NULL, &one, NULL, NULL, 1, &bad } },
        { "preput NULL", { 1, &cmd, NULL, NULL, &one, NULL, NULL, 1, NULL } },
        { "preput negative", { 1, &cmd, NULL, NULL, &one, NULL, NULL, -1, &bad } },
    };
    struct client c = CLIENT_INIT(c);
    struct buf id = BUF_INIT;
    struct err e = { 0 };
    struct fake f;

    (void)state;
    start(&c, &f, script);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_message("  %s\n", cases[i].name);
        assert_int_equal(client_spawn(&c, &cases[i].s, &id, NULL, &e), -1);
    }
    assert_int_equal(client_close(&c, &e), 0);
    fake_join(&f);
    assert_int_equal(f.requests, 3);
}

/* --------------------------------------------------------------------- abort */

static void test_abort(void **state)
{
    static const char *const script[] = { INIT_OK, FULL, "", NULL };
    struct client c = CLIENT_INIT(c);
    struct err e = { 0 };
    struct fake f;

    (void)state;
    start(&c, &f, script);
    client_abort(&c, true, 0, "two\nlines; one");
    assert_int_equal(client_fence(&c, &e), -1);
    assert_has(e.text, "PMI2_Abort");
    assert_int_equal(client_close(&c, &e), -1);
    fake_join(&f);
    assert_string_equal(f.seen[2], "cmd=abort;isworld=TRUE;msg=two\nlines;; one;");
}

/* ----------------------------------------------------------------- bootstrap */

static const struct { const char *fd, *port, *rank, *error; } env_cases[] = {
    { "x", NULL, NULL, "not a number" },
    { "-1", NULL, NULL, "not within" },
    { "99999999999", NULL, NULL, "not within" },
    { "987654", NULL, NULL, "not an open descriptor" },
    { NULL, "nocolon", NULL, "not host:port" },
    { NULL, ":1", NULL, "not host:port" },
    { NULL, "127.0.0.1:", NULL, "PMI_PORT" },
    { NULL, "127.0.0.1:x", NULL, "PMI_PORT" },
    { NULL, "127.0.0.1:1", NULL, "PMI_PORT" },
    { NULL, "::1:4711", NULL, "not host:port" },
};

static void test_env(void **state)
{
    (void)state;
    clear_env();
    for (size_t i = 0; i < sizeof env_cases / sizeof *env_cases; i++) {
        struct client c = CLIENT_INIT(c);
        struct err e = { 0 };

        set_env("PMI_FD", env_cases[i].fd);
        set_env("PMI_PORT", env_cases[i].port);
        print_message("  %s %s\n", env_cases[i].fd ? "PMI_FD" : "PMI_PORT",
                      env_cases[i].fd ? env_cases[i].fd : env_cases[i].port);
        assert_int_equal(client_open(&c, &e), -1);
        assert_has(e.text, env_cases[i].error);
        assert_int_equal(client_open(&c, &e), -1);
        client_close(&c, &e);
    }
    clear_env();
}

static const struct {
    const char *name, *value;    /* in the environment; NULL: not set */
    bool        node, told;      /* told: the server says that it is right */
    const char *key, *want;      /* want NULL: the server is asked, and says "asked" */
} constant_cases[] = {
    { "PMI_UNIVERSE_SIZE", "12", false, true, "universeSize", "12" },
    { "PMI_PROCESS_MAPPING", "(vector,(0,2,2))", false, true, "PMI_process_mapping",
      "(vector,(0,2,2))" },
    { "PMI_LOCAL_RANKS", "2,3", true, true, "localRanks", "2,3" },
    { "PMI_LOCAL_RANKS", "2,3", false, true, "localRanks", "2,3" },
    { "MPI_LOCALNRANKS", "2", true, true, "localRanksCount", "2" },
    { "PMI_UNIVERSE_SIZE", NULL, false, true, "universeSize", NULL },
    { "PMI_UNIVERSE_SIZE", "12", true, true, "universeSize", NULL },
    { "PMI_UNIVERSE_SIZE", "12", false, false, "universeSize", NULL },
    { "PMI_UNIVERSE_SIZE", "12", false, true, "hasNameServ", NULL },
};

/* What is in the environment costs no request: they are counted. */
static void test_constants(void **state)
{
    (void)state;
    clear_env();
    for (size_t i = 0; i < sizeof constant_cases / sizeof *constant_cases; i++) {
        const char *script[] = { INIT_OK, constant_cases[i].told ? FULL "extensions=constants;"
                                 : FULL, constant_cases[i].want ? BYE : constant_cases[i].node
                                 ? "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=asked;"
                                 : "cmd=info-getjobattr-response;rc=0;found=TRUE;value=asked;",
                                 BYE, NULL };
        const char *want = constant_cases[i].want ? constant_cases[i].want : "asked";
        struct client c = CLIENT_INIT(c);
        struct buf out = BUF_INIT;
        struct err e = { 0 };
        bool found = false;
        struct fake f;

        print_message("  %s for %s\n", constant_cases[i].name, constant_cases[i].key);
        set_env(constant_cases[i].name, constant_cases[i].value);
        assert_int_equal(client_open_fd(&c, fake_start(&f, script, false), &id_of_1, &e), 0);
        unsetenv(constant_cases[i].name);        /* it was read once, by init */
        for (int n = 0; n < (constant_cases[i].want ? 3 : 1); n++) {
            buf_reset(&out);
            assert_int_equal(client_get_attr(&c, constant_cases[i].node, constant_cases[i].key,
                                             false, &out, &found, &e), 0);
            assert_true(found);
            assert_string_equal(buf_bytes(&out), want);
        }
        assert_int_equal(client_close(&c, &e), 0);
        assert_int_equal(client_get_attr(&c, constant_cases[i].node, constant_cases[i].key,
                                         false, &out, &found, &e), -1);
        assert_int_equal(e.code, ERR_INIT);
        fake_join(&f);
        assert_int_equal(f.requests, constant_cases[i].want ? 3 : 4);
        buf_clear(&out);
    }
}

/* The hint goes to a server that knows it, and to no other. */
static void test_read_only(void **state)
{
    static const struct { const char *full, *request; } rows[] = {
        { FULL, "cmd=kvs-put;key=k;value=v;" },
        { FULL "extensions=read-only;", "cmd=kvs-put;key=k;value=v;read-only=TRUE;" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *script[] = { INIT_OK, rows[i].full, "cmd=kvs-put-response;rc=0;",
                                 "cmd=kvs-put-response;rc=4;errmsg=key k is read-only;", BYE,
                                 NULL };
        struct client c = CLIENT_INIT(c);
        struct err e = { 0 };
        struct fake f;

        assert_int_equal(client_open_fd(&c, fake_start(&f, script, false), &id_of_1, &e), 0);
        assert_int_equal(client_put_read_only(&c, "k", "v", &e), 0);
        assert_int_equal(client_put(&c, "k", "w", &e), -1);
        assert_int_equal(e.code, ERR_INVALID_KEY);
        assert_int_equal(client_close(&c, &e), 0);
        fake_join(&f);
        assert_string_equal(f.seen[2], rows[i].request);
    }
}

static void *accept_run(void *arg)
{
    struct fake *f = arg;
    int fd = accept(f->fd, NULL, NULL);

    close(f->fd);
    f->fd = fd;
    return fake_run(f);
}

static void test_port(void **state)
{
    static const char *const script[] = { INIT_OK, FULL_THRID,
        BYE_THRID, NULL };
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof a;
    struct client c = CLIENT_INIT(c);
    struct fake f = { .script = script };
    struct err e = { 0 };
    char port[64];

    (void)state;
    clear_env();
    f.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f.fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(f.fd, 1), 0);
    assert_int_equal(getsockname(f.fd, (struct sockaddr *)&a, &len), 0);
    snprintf(port, sizeof port, "localhost:%d", ntohs(a.sin_port));
    setenv("PMI_PORT", port, 1);
    setenv("PMI_ID", "1", 1);
    setenv("PMI_RANK", "0", 1);          /* PMI_ID wins */
    pthread_create(&f.thread, NULL, accept_run, &f);
    assert_int_equal(client_open(&c, &e), 0);
    assert_int_equal(client_open(&c, &e), 0);        /* again: nothing happens */
    assert_int_equal(client_close(&c, &e), 0);
    assert_int_equal(client_open(&c, &e), -1);
    assert_int_equal(e.code, ERR_INIT);
    fake_join(&f);
    assert_string_equal(f.seen[1], "cmd=fullinit;pmirank=1;threaded=TRUE;extensions=1;");
    clear_env();
}

/* ----------------------------------------------------------------- singleton */

static void test_singleton(void **state)
{
    struct client c = CLIENT_INIT(c);
    struct buf out = BUF_INIT, right = BUF_INIT;
    struct err e = { 0 };
    bool found;
    int pos;

    (void)state;
    clear_env();
    assert_int_equal(client_open(&c, &e), 0);
    assert_int_equal(c.size, 1);
    assert_int_equal(c.appnum, 0);
    assert_int_equal(client_put(&c, "k", "first", &e), 0);
    assert_int_equal(client_put(&c, "k", "second", &e), 0);
    assert_int_equal(client_fence(&c, &e), 0);
    check_get(&c, "second", NULL);
    assert_int_equal(client_job_id(&c, &out, &e), 0);
    assert_has(buf_bytes(&out), "singleton_");
    assert_int_equal(client_get(&c, buf_bytes(&out), -1, "k", &right, &found, &e), 0);
    assert_true(found);
    assert_int_equal(client_get(&c, "other", -1, "k", &right, &found, &e), -1);
    assert_int_equal(client_get_attr(&c, true, "k", false, &out, &found, &e), 0);
    assert_false(found);                 /* attributes are not keys */
    assert_int_equal(client_get_attr(&c, true, "k", true, &out, &found, &e), -1);
    assert_int_equal(client_put_attr(&c, "k", "attr", &e), 0);
    assert_int_equal(client_get_attr(&c, true, "k", true, &out, &found, &e), 0);
    assert_true(found);
    assert_int_equal(client_get_attr(&c, false, "no-such", false, &out, &found, &e), 0);
    assert_false(found);
    assert_int_equal(client_ring(&c, "me", &pos, &out, &right, &e), 0);
    setenv("PMI2_LAUNCHER", "/no/such/launcher", 1);
    assert_int_equal(client_publish(&c, "n", 0, NULL, "p", &e), -1);
    assert_has(e.text, "name-publish: this process was started without a launcher, and cannot "
                       "start /no/such/launcher: No such file");
    assert_int_equal(client_connect(&c, "j", NULL, &e), -1);
    setenv("PMI2_LAUNCHER", "/bin/true", 1);
    assert_int_equal(client_lookup(&c, "n", 0, NULL, &out, &e), -1);
    assert_has(e.text, "closed the connection");
    setenv("PMI2_LAUNCHER", "", 1);
    assert_int_equal(client_unpublish(&c, "n", &e), -1);
    assert_has(e.text, "it starts none");
    unsetenv("PMI2_LAUNCHER");
    assert_int_equal(client_disconnect(&c, "j", &e), -1);
    assert_has(e.text, "not connected");
    assert_int_equal(client_state(&c), CLIENT_SINGLE);
    check_get(&c, "second", NULL);
    assert_int_equal(client_close(&c, &e), 0);
    assert_int_equal(client_put(&c, "k", "v", &e), -1);
    assert_int_equal(e.code, ERR_INIT);
    buf_clear(&out);
    buf_clear(&right);
}

/* --------------------------------------------------------- the library's calls */

#define ATTR(v) "cmd=info-getnodeattr-response;thrid=@;rc=0;found=TRUE;value=" v ";"

static const struct { const char *value; int max, rc, n, first; } int_cases[] = {
    { ATTR("7"), 2, PMI2_SUCCESS, 1, 7 },
    { ATTR("7,-8"), 2, PMI2_SUCCESS, 2, 7 },
    { ATTR("-2147483648, 1"), 2, PMI2_SUCCESS, 2, INT32_MIN },
    { ATTR("1,2,3"), 2, PMI2_ERR_NOMEM, 3, 1 },
    { ATTR("1,2"), 0, PMI2_ERR_NOMEM, 2, -1 },
    { ATTR(""), 2, PMI2_ERR_INVALID_VAL, 0, -1 },
    { ATTR("x"), 2, PMI2_ERR_INVALID_VAL, 0, -1 },
    { ATTR("1,"), 2, PMI2_ERR_INVALID_VAL, 1, 1 },
    { ATTR("1;;2"), 2, PMI2_ERR_INVALID_VAL, 0, -1 },
    { ATTR("99999999999"), 2, PMI2_ERR_INVALID_VAL, 0, -1 },
};

static void check_ints(void)
{
    for (size_t i = 0; i < sizeof int_cases / sizeof *int_cases; i++) {
        int array[2] = { -1, -1 }, n = -1, found = -1;
        int max = int_cases[i].max;
        int rc = PMI2_Info_GetNodeAttrIntArray_wait("a", array, max, &n, &found, 1);

        assert_int_equal(rc, int_cases[i].rc);
        assert_int_equal(found, 1);
        assert_int_equal(n, int_cases[i].n);
        assert_int_equal(array[0], int_cases[i].first);
    }
}

static void check_buffers(void)
{
    char text[8] = "xxxxxxx";
    int n = 7, found = 7;

    assert_int_equal(PMI2_Info_GetNodeAttr("a", text, 5, &found, 0), PMI2_SUCCESS);
    assert_string_equal(text, "four");
    assert_int_equal(PMI2_Info_GetNodeAttr("a", text, 4, &found, 0), PMI2_ERR_NOMEM);
    assert_string_equal(text, "");
    assert_int_equal(found, 1);
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", text, 4, &n), PMI2_SUCCESS);
    assert_int_equal(n, -4);
    assert_string_equal(text, "fou");
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", NULL, 0, &n), PMI2_SUCCESS);
    assert_int_equal(n, 4);
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", text, 8, &n), PMI2_ERR_OTHER);
    assert_has(PMI2_Error_message(), "no key 'k'");
    assert_int_equal(PMI2_KVS_Get(NULL, -1, "k", text, 8, &n), PMI2_ERR_OTHER);
    assert_has(PMI2_Error_message(), "kvs-get: away");
    assert_int_equal(PMI2_KVS_Put("PMI_x", "v"), PMI2_ERR_INVALID_KEY);
}

static void check_arguments(void)
{
    char text[8];
    int n;

    assert_int_equal(PMI2_KVS_Get(NULL, 0, "k", NULL, 8, &n), PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMI2_KVS_Get(NULL, 0, "k", text, 8, NULL), PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMI2_KVS_Get(NULL, 0, "k", text, -8, &n), PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMI2_Info_GetJobAttr("k", text, 0, &n), PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMI2_Info_GetJobAttr("k", text, 8, NULL), PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMI2_Info_GetJobAttrIntArray("k", NULL, 8, &n, &n),
                     PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMI2_Job_GetId(NULL, 8), PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMI2_Job_GetId(text, -8), PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMI2_Job_GetRank(NULL), PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMI2_Nameserv_lookup("n", NULL, NULL, 8), PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMIX_Ring("v", &n, &n, text, NULL, 8), PMI2_ERR_INVALID_ARG);
    assert_int_equal(PMI2_Job_Spawn_kv(0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL,
                                       text, 8, NULL), PMI2_ERR_INVALID_NUM_ARGS);
    assert_string_equal(PMI2_Error_text(0), "success");
    assert_string_equal(PMI2_Error_text(5), "key too long");
    assert_string_equal(PMI2_Error_text(99), "unknown error code");
    assert_string_equal(PMI2_Error_text(-99), "unknown error code");
}

/* Both layouts of a spawn become one request. */
static void check_spawns(void)
{
    const char *cmd = "c", *argv[] = { "a", NULL }, **argvs[] = { argv };
    char key[][4] = { "k0", "k1", "p" }, val[][4] = { "v0", "v1", "q" };
    const struct MPID_Info slurm[] = { { .key = key[0], .value = val[0] },
        { .key = key[1], .value = val[1] }, { .key = key[2], .value = val[2] } };
    const struct MPID_Info *infos[] = { slurm }, *preput[] = { &slurm[2] };
    const PMI2_keyval_t mpich[] = { { "k0", "v0" }, { "k1", "v1" }, { "p", "q" } };
    const PMI2_keyval_t *kvs[] = { mpich };
    int argc = 1, procs = 2, ninfo = 2, errors[2];
    char id[8];

    assert_int_equal(PMI2_Job_Spawn(1, &cmd, &argc, argvs, &procs, &ninfo, infos, 1,
                                    preput, id, sizeof id, errors), PMI2_SUCCESS);
    assert_string_equal(id, "j3");
    assert_int_equal(errors[1], 6);
    assert_int_equal(PMI2_Job_Spawn_kv(1, &cmd, &argc, argvs, &procs, &ninfo, kvs, 1,
                                       mpich + 2, id, 2, errors), PMI2_ERR_NOMEM);
    ninfo = -1;
    assert_int_equal(PMI2_Job_Spawn(1, &cmd, &argc, argvs, &procs, &ninfo, infos, 0, NULL,
                                    id, sizeof id, errors), PMI2_ERR_INVALID_ARG);
}

/* The library has one connection a process, so this is its one test here. */
static void test_library(void **state)
{
    const char *script[LINES] = { INIT_OK, FULL_THRID };
    enum { INTS = sizeof int_cases / sizeof *int_cases };
    const char *const rest[] = {
        ATTR("four"), ATTR("four"), GOT_THRID "value=four;",
        GOT_THRID "value=four;",
        GOT_THRID "found=FALSE;",
        "cmd=kvs-get-response;thrid=@;rc=1;errmsg=away;",
        "cmd=kvs-put-response;thrid=@;rc=4;errmsg=read-only;",
        "cmd=spawn-response;thrid=@;rc=0;jobid=j3;errcodes=0,6;",
        "cmd=spawn-response;thrid=@;rc=0;jobid=j3;errcodes=0,6;",
        BYE_THRID };
    int spawned = -1, size = -1, rank = -1, appnum = -1, version = -1, sub = -1;
    char number[16];
    struct fake f;

    (void)state;
    clear_env();
    for (size_t i = 0; i < INTS; i++)
        script[2 + i] = int_cases[i].value;
    memcpy(script + 2 + INTS, rest, sizeof rest);
    assert_int_equal(PMI2_KVS_Fence(), PMI2_ERR_INIT);
    assert_int_equal(PMI2_Initialized(), 0);
    snprintf(number, sizeof number, "%d", fake_start(&f, script, false));
    setenv("PMI_FD", number, 1);
    assert_int_equal(PMI2_Init_version(&spawned, &size, &rank, &appnum, &version, &sub),
                     PMI2_SUCCESS);
    assert_int_equal(PMI2_Init(NULL, NULL, NULL, NULL), 0);
    assert_int_equal(spawned * 1000 + size * 100 + rank * 10 + appnum, 412);
    assert_int_equal(version * 10 + sub, 20);
    assert_int_equal(PMI2_Initialized(), 1);
    check_ints();
    check_buffers();
    check_spawns();
    check_arguments();
    assert_int_equal(PMI2_Finalize(), PMI2_SUCCESS);
    assert_int_equal(PMI2_Initialized(), 0);
    assert_int_equal(PMI2_Job_GetRank(&rank), PMI2_ERR_INIT);
    fake_join(&f);
    spawned = f.requests - 3;            /* the two before finalize */
    assert_has(f.seen[spawned], ";ncmds=1;preputcount=1;ppkey0=p;ppval0=q;subcmd=c;"
               "maxprocs=2;argc=1;argv0=a;infokeycount=2;infokey0=k0;infoval0=v0;"
               "infokey1=k1;infoval1=v1;");
    assert_string_equal(strchr(f.seen[spawned] + 17, ';'),
                        strchr(f.seen[spawned + 1] + 17, ';'));
    clear_env();
}

/* What PMI2_Abort prints and how it ends, in a child; the rank is test_library's. */
static void test_library_abort(void **state)
{
    char text[4000], out[2048] = "";
    int p[2], status;
    ssize_t n = 0, r;
    pid_t pid;

    (void)state;
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    memcpy(text, "one\n\ntwo\n", 9);
    assert_int_equal(pipe(p), 0);
    pid = fork();
    if (pid == 0) {
        dup2(p[1], STDERR_FILENO);
        PMI2_Abort(0, text);
    }
    close(p[1]);
    while ((r = read(p[0], out + n, sizeof out - 1 - (size_t)n)) > 0)
        n += r;
    close(p[0]);
    waitpid(pid, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_has(out, "[rank 1] abort: one\n[rank 1] abort: \n[rank 1] abort: two\n");
    assert_int_equal(n, PMI_MAX_MSG_STRING + 4 * strlen("[rank 1] abort: ") + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_extensions),
        cmocka_unit_test(test_open_at_once),
        cmocka_unit_test(test_endless_line),
        cmocka_unit_test(test_get),
        cmocka_unit_test(test_get_bytewise),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_out_of_order),
        cmocka_unit_test(test_eof_for_all),
        cmocka_unit_test(test_thrid),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_wait_in_turns),
        cmocka_unit_test(test_close_frees_waiter),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_spawn),
        cmocka_unit_test(test_spawn_checks),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_env),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_port),
        cmocka_unit_test(test_singleton),
        cmocka_unit_test(test_library),
        cmocka_unit_test(test_library_abort),
    };

    alarm(120);                          /* a call that hangs ends here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
