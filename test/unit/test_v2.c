/* test_v2.c - wire/v2: ';' and its doubling, what is tolerated, what is not.
 *
 * A parsed message is compared as text: the command, then [key=value] a pair. */
#include "wire/msg.h"

#include "wire/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/fault.h"

static void show(const struct msg *m, struct buf *out)
{
    buf_reset(out);
    buf_printf(out, "%s", m->cmd);
    for (size_t i = 0; i < m->n; i++) {
        assert_int_equal(strlen(m->pairs[i].val), m->pairs[i].len);
        buf_printf(out, "[%s=%s]", m->pairs[i].key, m->pairs[i].val);
    }
}

static const struct { const char *name, *text, *want, *error; } bodies[] = {
  { "command alone",     "cmd=kvs-fence;", "kvs-fence", NULL },
  { "keys",              "cmd=kvs-get;jobid=j;key=k;", "kvs-get[jobid=j][key=k]", NULL },
  { "Q2: rank unknown",  "cmd=fullinit;pmirank=-1;", "fullinit[pmirank=-1]", NULL },
  { "Q2, Q3: Slurm with PMI_ID", "cmd=fullinit;srcid=0;threaded=FALSE;",
                         "fullinit[srcid=0][threaded=FALSE]", NULL },
  { "Q4: abort, Slurm, empty text", "cmd=abort;isworld=TRUE;msg=;",
                         "abort[isworld=TRUE][msg=]", NULL },
  { "Q4: abort, MPICH",  "cmd=abort;exitcode=-1;message=a b;",
                         "abort[exitcode=-1][message=a b]", NULL },
  { "Q5, Q16: empty jobid", "cmd=kvs-get;jobid=;srcid=0;key=k;",
                         "kvs-get[jobid=][srcid=0][key=k]", NULL },
  { "Q9, Q10: spawn, keys repeat",
    "cmd=spawn;ncmds=2;preputcount=0;subcmd=a;maxprocs=2;argc=2;argv0=x y;argv1=b=2;"
    "infokeycount=0;subcmd=b;maxprocs=1;argc=1;argv0=z;",
    "spawn[ncmds=2][preputcount=0][subcmd=a][maxprocs=2][argc=2][argv0=x y][argv1=b=2]"
    "[infokeycount=0][subcmd=b][maxprocs=1][argc=1][argv0=z]", NULL },
  { "Q13: ';' in a value", "cmd=kvs-put;key=k;value=v;;al;", "kvs-put[key=k][value=v;al]", NULL },
  { "only ';'",          "cmd=kvs-put;value=;;;", "kvs-put[value=;]", NULL },
  { "two ';'",           "cmd=kvs-put;value=;;;;;", "kvs-put[value=;;]", NULL },
  { "';' first",         "cmd=kvs-put;value=;;a;x=1;", "kvs-put[value=;a][x=1]", NULL },
  { "';' last",          "cmd=kvs-put;value=a;;;x=1;", "kvs-put[value=a;][x=1]", NULL },
  { "';' many",          "cmd=x;a=;;b;;;;c;;;d=;;;", "x[a=;b;;c;][d=;]", NULL },
  { "a pair in a value", "cmd=x;a=b;;c=d;e=f;", "x[a=b;c=d][e=f]", NULL },
  { "empty, then ';b=c'", "cmd=x;a=;;b=c;", "x[a=;b=c]", NULL },
  { "Q13: raw ';' cannot be known", "cmd=kvs-put;key=k;value=x;y=z;",
                         "kvs-put[key=k][value=x][y=z]", NULL },
  { "Q13, Q14: raw ';' at the end", "cmd=kvs-put;key=k;value=x;;", "kvs-put[key=k][value=x;]",
    NULL },
  { "more ';' at the end", "cmd=x;v=a;;;;", "x[v=a;;]", NULL },
  { "Q15: a tail without '='", "cmd=kvs-fence;abcdef;", "kvs-fence", NULL },
  { "Q15: a tail behind pairs", "cmd=kvs-put;key=k;value=v;\x7F\x01" "AAAA;",
                         "kvs-put[key=k][value=v]", NULL },
  { "Q15: a tail of ';'", "cmd=kvs-put;v=a;b;c;", "kvs-put[v=a]", NULL },
  { "Q17: thrid",        "cmd=kvs-get;thrid=0x7f0011;key=k;", "kvs-get[thrid=0x7f0011][key=k]",
    NULL },
  { "'=' in a value",    "cmd=x;a==b=;", "x[a==b=]", NULL },
  { "newline in a value", "cmd=x;a=1\n2\n;", "x[a=1\n2\n]", NULL },
  { "blanks are text",   "cmd=x; a = b ;", "x[ a = b ]", NULL },
  { "backslash is text", "cmd=x;a=\\;", "x[a=\\]", NULL },
  { "an empty key",      "cmd=x;=v;", "x[=v]", NULL },
  { "a key twice",       "cmd=x;a=1;a=2;", "x[a=1][a=2]", NULL },
  { "cmd again",         "cmd=x;cmd=y;", "x[cmd=y]", NULL },
  { "';' in the command", "cmd=a;;b;", "a;b", NULL },
  { "nothing",           "", "", "no cmd in the message" },
  { "no '='",            "kvs-fence;", "", "no cmd in the message" },
  { "another key first", "key=k;cmd=kvs-get;", "", "first key is 'key', want cmd" },
  { "no command",        "cmd=;key=k;", "", "first key is 'cmd', want cmd" },
  { "blank before cmd",  " cmd=x;", "", "first key is ' cmd', want cmd" },
  { "not closed",        "cmd=kvs-put;v=a", "kvs-put", "v: value not closed by ';'" },
  { "not closed, with ';'", "cmd=kvs-put;v=a;;b", "kvs-put", "v: value not closed by ';'" },
  { "command not closed", "cmd=kvs-fence", "", "cmd: value not closed by ';'" },
};

static void test_parse(void **state)
{
    struct buf shown = BUF_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        size_t n = strlen(bodies[i].text);
        char *text = malloc(n ? n : 1);          /* no NUL behind it */
        struct err e = { 0 };
        struct msg m;
        int rc;

        print_message("  %s\n", bodies[i].name);
        memcpy(text, bodies[i].text, n);
        msg_init(&m);
        rc = wire_v2.parse(&m, text, n, &e);
        assert_string_equal(e.text, bodies[i].error ? bodies[i].error : "");
        assert_int_equal(rc, bodies[i].error ? -1 : 0);
        show(&m, &shown);
        assert_string_equal(buf_bytes(&shown), bodies[i].want);
        msg_clear(&m);
        free(text);
    }
    buf_clear(&shown);
}

static const struct {
    const char *name, *cmd;
    const char *key1, *val1, *key2, *val2;
    size_t max;
    const char *want, *error;
} formats[] = {
  { "command alone", "kvs-fence", NULL, NULL, NULL, NULL, 1000, "    14cmd=kvs-fence;", NULL },
  { "keys",          "kvs-fence-response", "rc", "0", "x", "", 1000,
    "    31cmd=kvs-fence-response;rc=0;x=;", NULL },
  { "';' is doubled", "kvs-put", "value", "a;b;", "x", ";", 1000,
    "    30cmd=kvs-put;value=a;;b;;;x=;;;", NULL },
  { "';' in the command", "a;b", NULL, NULL, NULL, NULL, 1000, "     9cmd=a;;b;", NULL },
  { "newline is text", "x", "v", "1\n2", NULL, NULL, 1000, "    12cmd=x;v=1\n2;", NULL },
  { "just fits",     "kvs-fence", NULL, NULL, NULL, NULL, 14, "    14cmd=kvs-fence;", NULL },
  { "does not fit",  "kvs-fence", NULL, NULL, NULL, NULL, 13, NULL,
    "kvs-fence: message of 14 bytes, at most 13" },
};

static void test_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct buf out = BUF_INIT;
        struct err e = { 0 };
        struct msg m;
        int rc;

        print_message("  %s\n", formats[i].name);
        msg_init(&m);
        msg_start(&m, formats[i].cmd);
        if (formats[i].key1)
            msg_str(&m, formats[i].key1, formats[i].val1);
        if (formats[i].key2)
            msg_str(&m, formats[i].key2, formats[i].val2);
        buf_str(&out, "before;");
        rc = wire_v2.format(&m, formats[i].max, &out, &e);
        assert_string_equal(e.text, formats[i].error ? formats[i].error : "");
        assert_int_equal(rc, formats[i].error ? -1 : 0);
        buf_consume(&out, 7);
        assert_string_equal(buf_bytes(&out), formats[i].want ? formats[i].want : "");
        assert_int_equal(out.len, strlen(buf_bytes(&out)));
        buf_clear(&out);
        msg_clear(&m);
    }
}

static const struct { size_t value; const char *digits; } sizes[] = {
    { 0,      "    11" }, { 88,   "    99" }, { 89,    "   100" }, { 988,    "   999" },
    { 989,    "  1000" }, { 9988, "  9999" }, { 65525, " 65536" }, { 99988,  " 99999" },
    { 99989,  "100000" }, { 999988, "999999" }, { 999989, NULL },
};

static void test_length_field(void **state)
{
    char *val = malloc(1000000);

    (void)state;
    memset(val, 'v', 1000000);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct buf out = BUF_INIT;
        struct err e = { 0 };
        struct msg m;

        print_message("  a value of %zu bytes\n", sizes[i].value);
        msg_init(&m);
        msg_start(&m, "x");
        msg_bytes(&m, "val", val, sizes[i].value);
        assert_int_equal(wire_v2.format(&m, LIMIT_FRAME_LINK, &out, &e),
                         sizes[i].digits ? 0 : -1);
        if (sizes[i].digits)
            assert_memory_equal(buf_bytes(&out), sizes[i].digits, 6);
        buf_clear(&out);
    }
    free(val);
}

/* Every short text over the letters that matter parses back as it was. */
static void test_every_short_value(void **state)
{
    static const char letters[] = ";=a";
    struct buf out = BUF_INIT;

    (void)state;
    for (unsigned n = 0; n <= 7; n++) {
        unsigned all = 1;

        for (unsigned i = 0; i < n; i++)
            all *= 3;
        for (unsigned k = 0; k < all; k++) {
            char text[8] = "";
            struct err e = { 0 };
            struct msg m, back;

            for (unsigned i = 0, rest = k; i < n; i++, rest /= 3)
                text[i] = letters[rest % 3];
            msg_init(&m);
            msg_init(&back);
            msg_start(&m, "x");
            msg_str(&m, "k", text);
            msg_str(&m, "last", "z");
            buf_reset(&out);
            assert_int_equal(wire_v2.format(&m, 100, &out, &e), 0);
            assert_int_equal(wire_v2.parse(&back, buf_bytes(&out) + 6, out.len - 6, &e), 0);
            assert_int_equal(back.n, 2);
            assert_string_equal(msg_get(&back, "k"), text);
            assert_string_equal(msg_get(&back, "last"), "z");
        }
    }
    buf_clear(&out);
}

static void test_too_many_pairs(void **state)
{
    struct buf text = BUF_INIT;
    struct err e;
    struct msg m;

    (void)state;
    msg_init(&m);
    buf_str(&text, "cmd=x;");
    for (int i = 0; i <= LIMIT_PAIRS; i++)
        buf_str(&text, "k=v;");
    assert_int_equal(wire_v2.parse(&m, buf_bytes(&text), text.len, &e), -1);
    assert_int_equal(e.code, ERR_NUM_ARGS);
    assert_int_equal(m.n, LIMIT_PAIRS);
    msg_clear(&m);
    buf_clear(&text);
}

static void test_no_memory(void **state)
{
    struct msg m;

    (void)state;
    fault_begin();
    msg_init(&m);
    msg_start(&m, "kvs-get-response");
    msg_str(&m, "value", "0123456789;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;");
    for (long nth = 0;; nth++) {
        struct buf out = BUF_INIT;
        struct err e = { 0 };
        int rc;

        fault_after(nth);
        rc = wire_v2.format(&m, 1024, &out, &e);
        fault_end();
        assert_int_equal(rc, fault_hit ? -1 : 0);
        if (fault_hit) {
            assert_int_equal(e.code, ERR_NOMEM);
            assert_int_equal(out.len, 0);
        }
        buf_clear(&out);
        if (!fault_hit)
            break;
    }
    msg_clear(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_length_field),
        cmocka_unit_test(test_every_short_value),
        cmocka_unit_test(test_too_many_pairs),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("v2", tests, NULL, NULL);
}
