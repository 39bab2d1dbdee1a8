/* test_v1.c - wire/v1: what lines and blocks mean, and what a line cannot say.
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
    buf_printf(out, "%s%s", m->block ? "m:" : "", m->cmd);
    for (size_t i = 0; i < m->n; i++) {
        assert_int_equal(strlen(m->pairs[i].val), m->pairs[i].len);
        buf_printf(out, "[%s=%s]", m->pairs[i].key, m->pairs[i].val);
    }
}

static const struct { const char *name, *text, *want, *error; } lines[] = {
  { "command alone",    "cmd=get_maxes", "get_maxes", NULL },
  { "keys",             "cmd=init pmi_version=1 pmi_subversion=1",
                        "init[pmi_version=1][pmi_subversion=1]", NULL },
  { "several blanks",   "cmd=get  kvsname=k\t \tkey=a  ", "get[kvsname=k][key=a]", NULL },
  { "return before the newline", "cmd=get_maxes\r", "get_maxes", NULL },
  { "empty values",     "cmd=get kvsname= key=", "get[kvsname=][key=]", NULL },
  { "Q18: MPICH 4.0's empty put", "cmd=put kvsname=singjob key= value=",
                        "put[kvsname=singjob][key=][value=]", NULL },
  { "'=' in a value",   "cmd=get key=a=b=c", "get[key=a=b=c]", NULL },
  { "'=' in a command", "cmd=a=b", "a=b", NULL },
  { "an empty key",     "cmd=get =x", "get[=x]", NULL },
  { "cmd again",        "cmd=get cmd=put", "get[cmd=put]", NULL },
  { "key twice",        "cmd=get key=a key=b", "get[key=a][key=b]", NULL },
  { "put: the value takes the rest", "cmd=put kvsname=k key=k value=a b=c\\d ",
                        "put[kvsname=k][key=k][value=a b=c\\d ]", NULL },
  { "put: a value that begins blank", "cmd=put key=k value= x", "put[key=k][value= x]", NULL },
  { "put: value before the key", "cmd=put value=a key=k", "put[value=a key=k]", NULL },
  { "get: its value ends at a blank", "cmd=get value=a b=c", "get[value=a][b=c]", NULL },
  { "a port with blanks", "cmd=publish_name service=s port=tag#0$x y$",
                        "publish_name[service=s][port=tag#0$x y$]", NULL },
  { "a reply's value takes the rest", "cmd=get_result rc=0 msg=success value=a b",
                        "get_result[rc=0][msg=success][value=a b]", NULL },
  { "a reply's port takes the rest", "cmd=lookup_result rc=0 info=ok port=a b",
                        "lookup_result[rc=0][info=ok][port=a b]", NULL },
  { "Q19: abort alone", "cmd=abort", "abort", NULL },
  { "Q19: message with blanks", "cmd=abort exitcode=-1 message=PMI_Init failed",
                        "abort[exitcode=-1][message=PMI_Init failed]", NULL },
  { "Q19: old Flux",    "cmd=abort exit_code=3 error_msg=went wrong",
                        "abort[exit_code=3][error_msg=went wrong]", NULL },
  { "group barrier",    "cmd=barrier_in group=0,1:138734806",
                        "barrier_in[group=0,1:138734806]", NULL },
  { "a word without '='", "cmd=abort failed exitcode=1", "abort[exitcode=1]", NULL },
  { "a word without '=' at the end", "cmd=get key=a stray", "get[key=a]", NULL },
  { "mcmd in a line",   " mcmd=x a=b", "x[a=b]", NULL },
  { "backslash is text", "cmd=get key=a\\ b=\\n", "get[key=a\\][b=\\n]", NULL },
  { "bytes over 127",   "cmd=get key=\xC3\xA4", "get[key=\xC3\xA4]", NULL },
  { "nothing",          "", "", "no cmd in the line" },
  { "blanks",           "  \t", "", "no cmd in the line" },
  { "no '=' at all",    "cmd", "", "no cmd in the line" },
  { "another key first", "key=a cmd=get", "", "first key is 'key', want cmd" },
  { "no command",       "cmd= key=a", "", "first key is 'cmd', want cmd" },
  { "no command at the end", "cmd=", "", "first key is 'cmd', want cmd" },
  { "upper case",       "CMD=get", "", "first key is 'CMD', want cmd" },

  { "block",            "mcmd=spawn\nnprocs=2\nexecname=./a b\nendcmd",
                        "m:spawn[nprocs=2][execname=./a b]", NULL },
  { "Q12: any order, repeated keys", "mcmd=spawn\narg1=first arg\nargcnt=2\narg2=a=b;c\\d\n"
                        "preput_num=0\narg1=again\nendcmd",
    "m:spawn[arg1=first arg][argcnt=2][arg2=a=b;c\\d][preput_num=0][arg1=again]", NULL },
  { "Q11: both spellings", "mcmd=spawn\ninfo_num=1\ninfonum=1\nendcmd",
                        "m:spawn[info_num=1][infonum=1]", NULL },
  { "empty argument",   "mcmd=spawn\narg1=\nendcmd", "m:spawn[arg1=]", NULL },
  { "blanks around are text", "mcmd=spawn\narg1=  x \nendcmd", "m:spawn[arg1=  x ]", NULL },
  { "an argument like the end", "mcmd=spawn\narg1=endcmd\nendcmd", "m:spawn[arg1=endcmd]",
    NULL },
  { "lines without '='", "mcmd=spawn\n\nstray\nnprocs=1\nendcmd", "m:spawn[nprocs=1]", NULL },
  { "an argument of several lines", "mcmd=spawn\nnprocs=1\narg1=\nimport os\n\nx = 1\n  y=2\n\narg2=z"
                        "\nargcnt=2\nendcmd",
    "m:spawn[nprocs=1][arg1=\nimport os\n\nx = 1\n  y=2\n][arg2=z][argcnt=2]", NULL },
  { "the last line of all is an argument's", "mcmd=spawn\narg1=a\nb\nendcmd", "m:spawn[arg1=a\nb]",
    NULL },
  { "what has been said already", "mcmd=spawn\nnprocs=1\nargcnt=1\narg1=a\nnprocs=4\nargcnt=9\n"
                        "execname=c\nexecname=d\nendcmd",
    "m:spawn[nprocs=1][argcnt=1][arg1=a\nnprocs=4\nargcnt=9][execname=c][execname=d]", NULL },
  { "what looks like an entry", "mcmd=spawn\narg1=a\narg=b\nargc2=c\ninfo_num1=3\narg2\ninfo_num=0\n"
                        "stray\nendcmd",
    "m:spawn[arg1=a\narg=b\nargc2=c\ninfo_num1=3\narg2][info_num=0]", NULL },
  { "block without command", "mcmd=\nnprocs=1\nendcmd", "m:", "first key is 'mcmd', want cmd" },
};

static void test_parse(void **state)
{
    struct buf shown = BUF_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t n = strlen(lines[i].text);
        char *text = malloc(n + 1);              /* with the newline that may be written */
        struct err e = { 0 };
        struct msg m;
        int rc;

        print_message("  %s\n", lines[i].name);
        memcpy(text, lines[i].text, n);
        text[n] = '\n';
        msg_init(&m);
        rc = wire_v1.parse(&m, text, n, &e);
        assert_string_equal(e.text, lines[i].error ? lines[i].error : "");
        assert_int_equal(rc, lines[i].error ? -1 : 0);
        show(&m, &shown);
        assert_string_equal(buf_bytes(&shown), lines[i].want);
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
  { "command alone",  "barrier_out", NULL, NULL, NULL, NULL, 1024, "cmd=barrier_out\n", NULL },
  { "keys",           "maxes", "rc", "0", "keylen_max", "64", 1024,
    "cmd=maxes rc=0 keylen_max=64\n", NULL },
  { "empty value",    "maxes", "rc", "", "x", "", 1024, "cmd=maxes rc= x=\n", NULL },
  { "last value with blanks", "get_result", "rc", "0", "value", "a b=c\\ ", 1024,
    "cmd=get_result rc=0 value=a b=c\\ \n", NULL },
  { "just fits",      "maxes", "rc", "0", NULL, NULL, 15, "cmd=maxes rc=0\n", NULL },
  { "does not fit",   "maxes", "rc", "0", NULL, NULL, 14, NULL,
    "maxes: line of 15 bytes, at most 14" },
  { "blank",          "appnum", "appnum", "a b", NULL, NULL, 1024, NULL,
    "appnum: PMI-1 cannot carry a blank in appnum" },
  { "tab",            "appnum", "appnum", "a\tb", NULL, NULL, 1024, NULL,
    "appnum: PMI-1 cannot carry a blank in appnum" },
  { "newline",        "appnum", "appnum", "a\nb", NULL, NULL, 1024, NULL,
    "appnum: PMI-1 cannot carry a newline in appnum" },
  { "newline in the rest", "get_result", "rc", "0", "value", "a\n", 1024, NULL,
    "get_result: PMI-1 cannot carry a newline in value" },
  { "the rest is not last", "get_result", "value", "a", "rc", "0", 1024, NULL,
    "get_result: value is not the last key" },
  { "key with a blank", "getbyidx_results", "a b", "x", NULL, NULL, 1024, NULL,
    "PMI-1 cannot carry the word 'a b'" },
  { "command with a blank", "a b_result", "rc", "0", NULL, NULL, 1024, NULL,
    "PMI-1 cannot carry the word 'a b_result'" },
  { "command with a newline", "a\ncmd=abort", NULL, NULL, NULL, NULL, 1024, NULL,
    "PMI-1 cannot carry the word 'a\ncmd=abort'" },
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
        rc = wire_v1.format(&m, formats[i].max, &out, &e);
        assert_string_equal(e.text, formats[i].error ? formats[i].error : "");
        assert_int_equal(rc, formats[i].error ? -1 : 0);
        buf_consume(&out, 7);
        assert_string_equal(buf_bytes(&out), formats[i].want ? formats[i].want : "");
        assert_int_equal(out.len, strlen(buf_bytes(&out)));
        buf_clear(&out);
        msg_clear(&m);
    }
}

static void test_too_many_pairs(void **state)
{
    struct buf text = BUF_INIT;
    struct err e;
    struct msg m;

    (void)state;
    msg_init(&m);
    buf_str(&text, "cmd=x");
    for (int i = 0; i <= LIMIT_PAIRS; i++)
        buf_str(&text, " k=v");
    assert_int_equal(wire_v1.parse(&m, buf_bytes(&text), text.len, &e), -1);
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
    msg_start(&m, "get_result");
    msg_int(&m, "rc", 0);
    msg_str(&m, "value", "0123456789012345678901234567890123456789012345678901234567890123");
    for (long nth = 0;; nth++) {
        struct buf out = BUF_INIT;
        struct err e = { 0 };
        int rc;

        fault_after(nth);
        rc = wire_v1.format(&m, 1024, &out, &e);
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
        cmocka_unit_test(test_too_many_pairs),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("v1", tests, NULL, NULL);
}
