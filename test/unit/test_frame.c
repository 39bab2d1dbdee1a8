/* test_frame.c - wire/frame: both framings, any fragmentation, broken streams.
 *
 * A stream is cut with cut(), which writes what came out as text, a frame a line:
 * its kind (L, B, F, P), '|', the text.  Pieces are heap copies of their exact
 * size, so that ASan sees a byte too far. */
#include "wire/frame.h"

#include "wire/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/fault.h"

/* As a server or client would: the framing changes behind the opening line. */
static void switch_wire(struct framer *f, const struct frame *fr)
{
    if (fr->kind != FRAME_LINE || f->wire == WIRE_2)
        return;
    if ((!strncmp(fr->text, "cmd=init ", 9) || !strncmp(fr->text, "cmd=response_to_init ", 21)) &&
        memmem(fr->text, fr->len, "pmi_version=2", 13))
        f->wire = WIRE_2;
}

/* Feed one piece; frames are appended to got, their raw bytes to raw.  0 or -1. */
static int feed(struct framer *f, const char *piece, size_t n, struct buf *got,
                struct buf *raw, struct err *e)
{
    char *copy = malloc(n ? n : 1), *at = copy;
    struct frame fr;
    size_t left = n;
    int rc;

    memcpy(copy, piece, n);
    while ((rc = framer_next(f, &at, &left, &fr, e)) > 0) {
        buf_char(got, "LBFP"[fr.kind]);
        buf_char(got, '|');
        buf_add(got, fr.text, fr.len);
        buf_char(got, '\n');
        if (raw)
            buf_add(raw, fr.raw, fr.raw_len);
        if (fr.kind == FRAME_LINE || fr.kind == FRAME_BLOCK)
            fr.text[fr.len] = '\0';              /* allowed */
        switch_wire(f, &fr);
        memset(fr.text, '#', fr.len);            /* so is this */
    }
    if (rc == 0)
        assert_int_equal(left, 0);
    free(copy);
    return rc;
}

/* Cut the stream in pieces: first bytes, then step bytes each (0: all the rest). */
static int cut(const char *stream, size_t n, size_t first, size_t step, enum wire wire,
               struct buf *got, struct buf *raw, struct err *e)
{
    struct framer f;
    int rc = 0;

    framer_init(&f, LIMIT_FRAME_RANK);
    f.wire = wire;
    buf_reset(got);
    if (raw)
        buf_reset(raw);
    for (size_t at = 0, piece = first; rc == 0 && at < n; at += piece, piece = step ? step : n) {
        if (piece > n - at)
            piece = n - at;
        rc = feed(&f, stream + at, piece, got, raw, e);
    }
    if (rc == 0) {
        if (f.held.len == 0 || f.handed)
            assert_int_equal(f.offset, n);
        else
            buf_printf(got, "+%zu held\n", f.held.len);
        assert_true(f.held.cap <= 2 * n + 64);
    }
    framer_clear(&f);
    return rc;
}

/* --- streams that are fine --------------------------------------------- */

static const struct { const char *name, *stream, *want; } good[] = {
  { "nothing", "", "" },
  { "one line", "cmd=get_maxes\n", "L|cmd=get_maxes\n" },
  { "half a line", "cmd=get_ma", "+10 held\n" },
  { "a line and a half", "cmd=finalize\ncmd=ge", "L|cmd=finalize\n+6 held\n" },
  { "PMI-1, MPICH 4.0 to server",
    "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_maxes\ncmd=get_appnum\n"
    "cmd=get_my_kvsname\ncmd=get kvsname=kvs_0 key=PMI_process_mapping\ncmd=barrier_in\n"
    "cmd=put kvsname=kvs_0 key=-bcast-1-0 value=2F6465762F73686D\ncmd=barrier_in\n"
    "cmd=finalize\n",
    "L|cmd=init pmi_version=1 pmi_subversion=1\nL|cmd=get_maxes\nL|cmd=get_appnum\n"
    "L|cmd=get_my_kvsname\nL|cmd=get kvsname=kvs_0 key=PMI_process_mapping\n"
    "L|cmd=barrier_in\nL|cmd=put kvsname=kvs_0 key=-bcast-1-0 value=2F6465762F73686D\n"
    "L|cmd=barrier_in\nL|cmd=finalize\n" },
  { "PMI-1, server to MPICH 4.0",
    "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
    "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\ncmd=appnum appnum=0\n"
    "cmd=get_result rc=0 msg=success value=(vector,(0,1,1))\ncmd=barrier_out\n",
    "L|cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
    "L|cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\nL|cmd=appnum appnum=0\n"
    "L|cmd=get_result rc=0 msg=success value=(vector,(0,1,1))\nL|cmd=barrier_out\n" },
  { "PMI-1 over a port, initack and its answer",
    "cmd=initack pmiid=1\ncmd=initack rc=0\ncmd=set size=2\ncmd=set rank=1\ncmd=set debug=0\n",
    "L|cmd=initack pmiid=1\nL|cmd=initack rc=0\nL|cmd=set size=2\nL|cmd=set rank=1\n"
    "L|cmd=set debug=0\n" },
  { "PMI-1 spawn, two blocks and what follows",
    "cmd=get_appnum\n"
    "mcmd=spawn\nnprocs=2\nexecname=./raw1\ntotspawns=2\nspawnssofar=1\nargcnt=2\n"
    "arg1=first arg\narg2=a=b;c\\d\npreput_num=1\npreput_key_0=PARENT_ROOT_PORT_NAME\n"
    "preput_val_0=tag#0$description#host$port#1$\ninfo_num=1\ninfo_key_0=mykey\n"
    "info_val_0=my val\nendcmd\n"
    "mcmd=spawn\nnprocs=1\nexecname=./raw1\ntotspawns=2\nspawnssofar=2\nargcnt=0\n"
    "info_num=0\nendcmd\ncmd=barrier_in\n",
    "L|cmd=get_appnum\n"
    "B|mcmd=spawn\nnprocs=2\nexecname=./raw1\ntotspawns=2\nspawnssofar=1\nargcnt=2\n"
    "arg1=first arg\narg2=a=b;c\\d\npreput_num=1\npreput_key_0=PARENT_ROOT_PORT_NAME\n"
    "preput_val_0=tag#0$description#host$port#1$\ninfo_num=1\ninfo_key_0=mykey\n"
    "info_val_0=my val\nendcmd\n"
    "B|mcmd=spawn\nnprocs=1\nexecname=./raw1\ntotspawns=2\nspawnssofar=2\nargcnt=0\n"
    "info_num=0\nendcmd\nL|cmd=barrier_in\n" },
  { "a block whose arguments look like its end",
    "mcmd=spawn\narg1=endcmd\narg2=x endcmd\nendcmd2\n endcmd\nendcmd \nendcmd\ncmd=a\n",
    "B|mcmd=spawn\narg1=endcmd\narg2=x endcmd\nendcmd2\n endcmd\nendcmd \nendcmd\nL|cmd=a\n" },
  { "a block with empty lines", "mcmd=spawn\n\n\nendcmd\n", "B|mcmd=spawn\n\n\nendcmd\n" },
  { "the shortest block", "mcmd=\nendcmd\n", "B|mcmd=\nendcmd\n" },
  { "PMI-1.2 groups",
    "cmd=init pmi_version=1 pmi_subversion=1\ncmd=barrier_in group=0,1:138734806\n"
    "cmd=barrier_in group=NODE:892717164\ncmd=barrier_in group=WORLD:0\n",
    "L|cmd=init pmi_version=1 pmi_subversion=1\nL|cmd=barrier_in group=0,1:138734806\n"
    "L|cmd=barrier_in group=NODE:892717164\nL|cmd=barrier_in group=WORLD:0\n" },
  { "PMI-2, Slurm's client: length on the left",
    "cmd=init pmi_version=2 pmi_subversion=0\n38    cmd=fullinit;pmirank=1;threaded=FALSE;"
    "14    cmd=job-getid;49    cmd=kvs-put;key=card-1;value=v;;al=1 with space\\;"
    "14    cmd=kvs-fence;38    cmd=kvs-get;jobid=;srcid=0;key=card-0;13    cmd=finalize;",
    "L|cmd=init pmi_version=2 pmi_subversion=0\nF|cmd=fullinit;pmirank=1;threaded=FALSE;\n"
    "F|cmd=job-getid;\nF|cmd=kvs-put;key=card-1;value=v;;al=1 with space\\;\n"
    "F|cmd=kvs-fence;\nF|cmd=kvs-get;jobid=;srcid=0;key=card-0;\nF|cmd=finalize;\n" },
  { "PMI-2, MPICH's client: length on the right",
    "cmd=init pmi_version=2 pmi_subversion=0\n    23cmd=fullinit;pmirank=0;"
    "    46cmd=kvs-put;key=card-0;value=v=0 with space\\x;    14cmd=kvs-fence;"
    "    61cmd=kvs-get;jobid=kvs_2109_0_1579986590_vm;key=-NONEXIST-KEY;"
    "   225cmd=spawn;ncmds=2;preputcount=1;ppkey0=PARENT_ROOT_PORT_NAME;ppval0=tag#0$p;"
    "subcmd=./hp2;maxprocs=2;argc=2;argv0=child arg;argv1=b=2;infokeycount=1;infokey0=mykey;"
    "infoval0=my val;subcmd=./hp2;maxprocs=1;argc=0;infokeycount=0;    13cmd=finalize;",
    "L|cmd=init pmi_version=2 pmi_subversion=0\nF|cmd=fullinit;pmirank=0;\n"
    "F|cmd=kvs-put;key=card-0;value=v=0 with space\\x;\nF|cmd=kvs-fence;\n"
    "F|cmd=kvs-get;jobid=kvs_2109_0_1579986590_vm;key=-NONEXIST-KEY;\n"
    "F|cmd=spawn;ncmds=2;preputcount=1;ppkey0=PARENT_ROOT_PORT_NAME;ppval0=tag#0$p;"
    "subcmd=./hp2;maxprocs=2;argc=2;argv0=child arg;argv1=b=2;infokeycount=1;infokey0=mykey;"
    "infoval0=my val;subcmd=./hp2;maxprocs=1;argc=0;infokeycount=0;\nF|cmd=finalize;\n" },
  { "PMI-2, server to client",
    "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"
    "   113cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=1;size=2;appnum=0;"
    "debugged=FALSE;pmiverbose=FALSE;rc=0;    28cmd=kvs-fence-response;rc=0;",
    "L|cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"
    "F|cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=1;size=2;appnum=0;"
    "debugged=FALSE;pmiverbose=FALSE;rc=0;\nF|cmd=kvs-fence-response;rc=0;\n" },
  { "PMI-2 that initialises anew",
    "cmd=init pmi_version=2 pmi_subversion=0\n    13cmd=finalize;"
    "cmd=init pmi_version=2 pmi_subversion=0\n    23cmd=fullinit;pmirank=0;",
    "L|cmd=init pmi_version=2 pmi_subversion=0\nF|cmd=finalize;\n"
    "L|cmd=init pmi_version=2 pmi_subversion=0\nF|cmd=fullinit;pmirank=0;\n" },
  { "newlines in a PMI-2 value",
    "cmd=init pmi_version=2\n    16cmd=x;v=a\nb\ncmd;",
    "L|cmd=init pmi_version=2\nF|cmd=x;v=a\nb\ncmd;\n" },
  { "bytes over 127", "cmd=put value=\xC3\xA4\xFF\n", "L|cmd=put value=\xC3\xA4\xFF\n" },
};

static void test_every_fragmentation(void **state)
{
    struct buf got = BUF_INIT, raw = BUF_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        size_t n = strlen(good[i].stream);
        struct err e = { 0 };

        print_message("  %s\n", good[i].name);
        for (size_t first = n ? 1 : 0; first <= n; first++)
            for (int rest = 0; rest < 2; rest++) {
                cut(good[i].stream, n, first, rest ? 1 : 0, WIRE_1, &got, &raw, &e);
                assert_string_equal(e.text, "");
                if (n)
                    assert_string_equal(buf_bytes(&got), good[i].want);
                /* What came is what was sent, but for what is still held. */
                assert_true(raw.len <= n);
                if (raw.len)
                    assert_memory_equal(buf_bytes(&raw), good[i].stream, raw.len);
            }
        for (size_t step = 1; step <= n && step < 80; step++) {
            cut(good[i].stream, n, step, step, WIRE_1, &got, NULL, &e);
            assert_string_equal(e.text, "");
            assert_string_equal(buf_bytes(&got), good[i].want);
        }
    }
    buf_clear(&got);
    buf_clear(&raw);
}

/* --- lengths, one frame ------------------------------------------------ */

static const struct { const char *name, *stream, *want, *error; } bodies[] = {
  { "blanks on the left",   "    14cmd=kvs-fence;",      "F|cmd=kvs-fence;\n", NULL },
  { "blanks on the right",  "14    cmd=kvs-fence;",      "F|cmd=kvs-fence;\n", NULL },
  { "blanks on both sides", "  14  cmd=kvs-fence;",      "F|cmd=kvs-fence;\n", NULL },
  { "zeros on the left",    "000014cmd=kvs-fence;",      "F|cmd=kvs-fence;\n", NULL },
  { "blanks, then zeros",   "  0014cmd=kvs-fence;",      "F|cmd=kvs-fence;\n", NULL },
  { "zeros, then blanks",   "0014  cmd=kvs-fence;",      "F|cmd=kvs-fence;\n", NULL },
  { "the shortest body",    "     5cmd=;",               "F|cmd=;\n", NULL },
  { "no ';' at the end",    "    13cmd=kvs-fence",       "F|cmd=kvs-fence;\n", NULL },
  { "no ';', more behind",  "    13cmd=kvs-fence    14cmd=kvs-fence;",
                            "F|cmd=kvs-fence;\nF|cmd=kvs-fence;\n", NULL },
  { "no ';', twice",        "    13cmd=kvs-fence    13cmd=kvs-fence",
                            "F|cmd=kvs-fence;\nF|cmd=kvs-fence;\n", NULL },
  { "no ';', last value ends in ';;'", "    11cmd=x;v=a;;", "F|cmd=x;v=a;;\n", NULL },
  { "six bytes of junk",    "    20cmd=kvs-fence;abcdef", "F|cmd=kvs-fence;abcdef;\n", NULL },
  { "junk ending in ';'",   "    17cmd=kvs-fence;ab;",   "F|cmd=kvs-fence;ab;\n", NULL },
  { "only a length",        "    14",                    "+6 held\n", NULL },
  { "half a length",        "   1",                      "+4 held\n", NULL },
  { "body not whole",       "    14cmd=kvs-fe",          "+16 held\n", NULL },
  { "half of an init",      "cmd=ini",                   "+7 held\n", NULL },
  { "zero",                 "     0cmd=kvs-fence;", "",
    "byte 0: frame length 0 is too short for a message" },
  { "zeros",                "000000", "", "byte 0: frame length 0 is too short for a message" },
  { "blanks only",          "      ", "", "byte 0: frame length 0 is too short for a message" },
  { "four",                 "     4cmd=", "", "byte 0: frame length 4 is too short for a message" },
  { "the most",             " 65536", "+6 held\n", NULL },
  { "one more",             " 65537", "", "byte 0: frame length 65537, at most 65536" },
  { "giant",                "999999", "", "byte 0: frame length 999999, at most 65536" },
  { "negative",             "   -14cmd=kvs-fence;", "", "byte 0: a six-character length" },
  { "plus",                 "   +14cmd=kvs-fence;", "", "byte 0: a six-character length" },
  { "hexadecimal",          "  0x14cmd=kvs-fence;", "", "byte 0: a six-character length" },
  { "tab",                  "\t   14cmd=kvs-fence;", "", "byte 0: a six-character length" },
  { "newline first",        "\n    14cmd=kvs-fence;", "", "byte 0: a six-character length" },
  { "blank between digits", "  1 4 cmd=kvs-fence;", "", "byte 0: a six-character length" },
  { "five characters",      "   14cmd=kvs-fence;", "", "byte 0: a six-character length" },
  { "no length",            "cmd=kvs-fence;", "", "byte 0: a six-character length" },
  { "almost an init",       "cmd=inix pmi_version=2\n", "", "byte 0: a six-character length" },
  { "a block",              "mcmd=spawn\nendcmd\n", "", "byte 0: a six-character length" },
  { "escape sequence",      "\x1B[2J", "", "byte 0: a six-character length" },
  { "the second is broken", "    14cmd=kvs-fence;x", "F|cmd=kvs-fence;\n",
    "byte 20: a six-character length" },
};

static void check_bad(const char *stream, size_t n, enum wire wire, const char *want,
                      const char *error)
{
    struct buf got = BUF_INIT;

    for (size_t step = 1; step <= n; step++) {
        struct err e = { 0 };
        int rc = cut(stream, n, step, step, wire, &got, NULL, &e);

        assert_int_equal(rc, error ? -1 : 0);
        assert_string_equal(got.data ? buf_bytes(&got) : "", want);
        if (error && strncmp(e.text, error, strlen(error)))
            assert_string_equal(e.text, error);
        assert_int_equal(e.code != ERR_NONE, error != NULL);
    }
    buf_clear(&got);
}

static void test_lengths(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        print_message("  %s\n", bodies[i].name);
        check_bad(bodies[i].stream, strlen(bodies[i].stream), WIRE_2, bodies[i].want,
                  bodies[i].error);
    }
}

/* --- broken lines ------------------------------------------------------ */

static const struct { const char *name, *stream, *want, *error; } lines[] = {
  { "HTTP",              "GET / HTTP/1.0\r\n", "", "byte 0: a PMI command (cmd=...) expected" },
  { "empty line",        "\n",                 "", "byte 0: a PMI command" },
  { "empty second line", "cmd=a\n\ncmd=b\n",   "L|cmd=a\n", "byte 6: a PMI command" },
  { "blank first",       " cmd=a\n",           "", "byte 0: a PMI command" },
  { "upper case",        "CMD=a\n",            "", "byte 0: a PMI command" },
  { "newline too early", "cm\nd=a\n",          "", "byte 0: a PMI command" },
  { "no '='",            "cmd\n",              "", "byte 0: a PMI command" },
  { "a frame too early", "    14cmd=kvs-fence;", "", "byte 0: a PMI command" },
  { "return, newline",   "cmd=a\r\ncmd=b\n",   "L|cmd=a\r\nL|cmd=b\n", NULL },
  { "after a block",     "mcmd=spawn\nendcmd\nendcmd\n", "B|mcmd=spawn\nendcmd\n",
    "byte 18: a PMI command" },
};

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        print_message("  %s\n", lines[i].name);
        check_bad(lines[i].stream, strlen(lines[i].stream), WIRE_1, lines[i].want,
                  lines[i].error);
    }
}

/* Its first bytes as they are: who shows the error escapes them. */
static void test_garbage_is_shown(void **state)
{
    static const struct { const char *name, *stream; size_t n; enum wire wire; const char *error; }
    cases[] = {
        { "at most 24 bytes", "\x1B[2J;;\xFF rubbish that goes on", 28, WIRE_1,
          "byte 0: a PMI command (cmd=...) expected, found \"\x1B[2J;;\xFF rubbish that goe\"" },
        { "fewer", "hello\n", 6, WIRE_1,
          "byte 0: a PMI command (cmd=...) expected, found \"hello\n\"" },
        { "where a length should be", "abc\ndef;", 8, WIRE_2,
          "byte 0: a six-character length expected, found \"abc\ndef;\"" },
        { "a NUL", "ab\0c\0ef;", 8, WIRE_2,
          "byte 0: a six-character length expected, found \"ab?c?ef;\"" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf got = BUF_INIT;
        struct err e = { 0 };

        print_message("  %s\n", cases[i].name);
        assert_int_equal(cut(cases[i].stream, cases[i].n, cases[i].n, 0, cases[i].wire, &got,
                             NULL, &e), -1);
        assert_int_equal(e.code, ERR_INVALID_ARG);
        assert_string_equal(e.text, cases[i].error);
        buf_clear(&got);
    }
}

/* --- NUL --------------------------------------------------------------- */

#define S(text) text, sizeof text - 1

static const struct {
    const char *name;
    enum wire wire;
    const char *stream;
    size_t n;
    const char *want, *error;
} nuls[] = {
  { "in a line",        WIRE_1, S("cmd=a\0b\n"), "", "byte 5: NUL in a message" },
  { "second line",      WIRE_1, S("cmd=a\ncmd=b\0\n"), "L|cmd=a\n", "byte 11: NUL in a message" },
  { "in a block",       WIRE_1, S("mcmd=spawn\narg1=\0\nendcmd\n"), "", "byte 16: NUL" },
  { "first of all",     WIRE_1, S("\0cmd=a\n"), "", "byte 0: a PMI command" },
  { "in a value",       WIRE_2, S("    12cmd=x;key=a\0;"), "", "byte 17: NUL in a message" },
  { "as a length",      WIRE_2, S("\0\0\0\0\0\016cmd=kvs-fence;"), "", "byte 0: a six" },
  { "six bytes too many, of which the first is the text's NUL",
    WIRE_2, S("    20cmd=kvs-fence;\0bcdef    14cmd=kvs-fence;"),
    "F|cmd=kvs-fence;\nF|cmd=kvs-fence;\n", NULL },
  { "six NULs too many", WIRE_2, S("    20cmd=kvs-fence;\0\0\0\0\0\0"), "F|cmd=kvs-fence;\n",
    NULL },
  { "six too many once, then other ones",
    WIRE_2, S("    20cmd=kvs-fence;\0bcdef    20cmd=kvs-fence;a\0b=c;    20cmd=kvs-fence;key=a;"
              "    14cmd=kvs-fence;"),
    "F|cmd=kvs-fence;\nF|cmd=kvs-fence;\nF|cmd=kvs-fence;\nF|cmd=kvs-fence;\n", NULL },
  { "other ones from a client that counted right",
    WIRE_2, S("    20cmd=kvs-fence;a\0b=c;"), "", "byte 21: NUL" },
  { "one NUL too many",  WIRE_2, S("    15cmd=kvs-fence;\0"), "F|cmd=kvs-fence;\n", NULL },
  { "seven too many",    WIRE_2, S("    21cmd=kvs-fence;\0bcdefg"), "", "byte 20: NUL" },
  { "junk NUL behind text that is not closed",
    WIRE_2, S("    19cmd=kvs-fence\0bcdef"), "", "byte 19: NUL" },
};

static void test_nul(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof nuls / sizeof *nuls; i++) {
        print_message("  %s\n", nuls[i].name);
        check_bad(nuls[i].stream, nuls[i].n, nuls[i].wire, nuls[i].want, nuls[i].error);
    }
}

/* --- raw bytes of a body that is not closed ---------------------------- */

static void test_raw_as_it_came(void **state)
{
    static const char stream[] = "    13cmd=kvs-fence    14cmd=kvs-fence;";
    struct buf got = BUF_INIT, raw = BUF_INIT;
    struct err e = { 0 };

    (void)state;
    for (size_t step = 1; step < sizeof stream; step++) {
        assert_int_equal(cut(stream, sizeof stream - 1, step, step, WIRE_2, &got, &raw, &e), 0);
        assert_string_equal(buf_bytes(&got), "F|cmd=kvs-fence;\nF|cmd=kvs-fence;\n");
        assert_string_equal(buf_bytes(&raw), stream);
    }
    buf_clear(&got);
    buf_clear(&raw);
}

/* --- limits ------------------------------------------------------------ */

/* begin, fill, end: a frame of exactly that many bytes. */
static char *stuffed(const char *begin, const char *end, size_t n)
{
    char *s = malloc(n + 1);

    memset(s, 'x', n);
    memcpy(s, begin, strlen(begin));
    memcpy(s + n - strlen(end), end, strlen(end) + 1);
    return s;
}

static const struct {
    const char *name;
    enum wire wire;
    const char *begin, *end;
    size_t n;
    const char *error;
} limits[] = {
  { "longest line",      WIRE_1, "cmd=a ", "\n", LIMIT_LINE + 1, NULL },
  { "line too long",     WIRE_1, "cmd=a ", "\n", LIMIT_LINE + 2,
    "byte 0: a line longer than 65536 bytes" },
  { "line without end",  WIRE_1, "cmd=a ", "",   LIMIT_LINE + 1,
    "byte 0: a line longer than 65536 bytes" },
  { "longest block",     WIRE_1, "mcmd=spawn\narg1=", "\nendcmd\n", LIMIT_BLOCK, NULL },
  { "block too long",    WIRE_1, "mcmd=spawn\narg1=", "\nendcmd\n", LIMIT_BLOCK + 1,
    "byte 0: an mcmd block longer than 1048576 bytes" },
  { "block without end", WIRE_1, "mcmd=spawn\narg1=", "", LIMIT_BLOCK + 1,
    "byte 0: an mcmd block longer than 1048576 bytes" },
  { "longest body",      WIRE_2, " 65536cmd=a;v=", ";", LIMIT_FRAME_RANK + 6, NULL },
  { "init too long",     WIRE_2, "cmd=init ", "\n", LIMIT_LINE + 2,
    "byte 0: a line longer than 65536 bytes" },
};

static void test_limits(void **state)
{
    static const size_t steps[] = { 0, 1, 1000, 16384 };
    struct buf got = BUF_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        char *s = stuffed(limits[i].begin, limits[i].end, limits[i].n);

        print_message("  %s\n", limits[i].name);
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            size_t first = steps[k] ? steps[k] : limits[i].n;
            struct err e = { 0 };

            if (limits[i].n > LIMIT_LINE * 2 && steps[k] == 1)
                continue;                        /* slow: see below */
            assert_int_equal(cut(s, limits[i].n, first, steps[k], limits[i].wire, &got, NULL,
                                 &e), limits[i].error ? -1 : 0);
            assert_string_equal(e.text, limits[i].error ? limits[i].error : "");
            if (limits[i].error)
                assert_int_equal(e.code, ERR_LENGTH);
        }
        free(s);
    }
    buf_clear(&got);
}

/* Bytes one at a time must not be looked at again and again. */
static void test_a_byte_at_a_time_is_linear(void **state)
{
    char *s = stuffed("mcmd=spawn\narg1=", "\nendcmd\n", LIMIT_BLOCK);
    struct buf got = BUF_INIT;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(cut(s, LIMIT_BLOCK, 1, 1, WIRE_1, &got, NULL, &e), 0);
    assert_int_equal(got.len, LIMIT_BLOCK + 2);
    free(s);
    buf_clear(&got);
}

static void test_idle_holds_no_memory(void **state)
{
    char *s = stuffed(" 65536cmd=a;v=", ";", LIMIT_FRAME_RANK + 6);
    struct framer f;
    struct frame fr;
    struct err e;
    char *at = s;
    size_t n = 100;

    (void)state;
    framer_init(&f, LIMIT_FRAME_RANK);
    f.wire = WIRE_2;
    assert_int_equal(framer_next(&f, &at, &n, &fr, &e), 0);
    n = LIMIT_FRAME_RANK + 6 - 100;
    assert_int_equal(framer_next(&f, &at, &n, &fr, &e), 1);
    assert_int_equal(fr.len, LIMIT_FRAME_RANK);
    assert_int_equal(framer_next(&f, &at, &n, &fr, &e), 0);
    assert_null(f.held.data);
    framer_clear(&f);
    free(s);
}

/* --- payload ----------------------------------------------------------- */

static void test_payload(void **state)
{
    static const char stream[] = "     6cmd=a;\0raw\n\xFF    14     6cmd=b;";
    struct err e;

    (void)state;
    for (size_t step = 1; step < sizeof stream; step++) {
        struct buf got = BUF_INIT, raw = BUF_INIT;
        struct framer f;
        bool asked = false;

        framer_init(&f, LIMIT_FRAME_LINK);
        f.wire = WIRE_2;
        for (size_t at = 0; at < sizeof stream - 1; at += step) {
            size_t n = sizeof stream - 1 - at < step ? sizeof stream - 1 - at : step;
            char *copy = malloc(n), *p = copy;
            struct frame fr;
            int rc;

            memcpy(copy, stream + at, n);
            while ((rc = framer_next(&f, &p, &n, &fr, &e)) > 0) {
                buf_add(fr.kind == FRAME_PAYLOAD ? &raw : &got, fr.text, fr.len);
                if (!asked)
                    framer_expect_payload(&f, 12);
                asked = true;
            }
            assert_int_equal(rc, 0);
            free(copy);
        }
        assert_string_equal(buf_bytes(&got), "cmd=a;cmd=b;");
        assert_int_equal(raw.len, 12);
        assert_memory_equal(buf_bytes(&raw), "\0raw\n\xFF    14", 12);
        assert_int_equal(f.offset, sizeof stream - 1);
        framer_clear(&f);
        buf_clear(&got);
        buf_clear(&raw);
    }
}

/* --- no memory --------------------------------------------------------- */

static const struct { const char *name; enum wire wire; const char *stream; } oom[] = {
    { "a line in pieces",        WIRE_1, "cmd=barrier_in group=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,"
                                         "15,16,17,18,19,20,21,22,23,24,25,26,27:138734806\n" },
    { "a body in pieces",        WIRE_2, "    14cmd=kvs-fence;" },
    { "a body that is not closed", WIRE_2, "    13cmd=kvs-fence" },
    /* 63 bytes with its length: the added ';' needs more than the first 64 */
    { "not closed, and just fits", WIRE_2, "    57cmd=kvs-put;key=k;value=0123456789012345678901"
                                           "234567890123" },
};

static void test_no_memory(void **state)
{
    struct buf got = BUF_INIT;

    (void)state;
    fault_begin();
    for (size_t i = 0; i < sizeof oom / sizeof *oom; i++) {
        size_t n = strlen(oom[i].stream);

        print_message("  %s\n", oom[i].name);
        for (size_t split = 1; split <= n; split++)
            for (long nth = 0;; nth++) {
                char *copies[2] = { malloc(split), malloc(n - split + 1) };
                struct framer f;
                struct frame fr;
                struct err e = { 0 };
                int rc = 0;

                memcpy(copies[0], oom[i].stream, split);
                memcpy(copies[1], oom[i].stream + split, n - split);
                framer_init(&f, LIMIT_FRAME_RANK);
                f.wire = oom[i].wire;
                fault_after(nth);
                for (int k = 0; k < 2 && rc == 0; k++) {
                    char *at = copies[k];
                    size_t left = k ? n - split : split;

                    rc = framer_next(&f, &at, &left, &fr, &e);
                }
                fault_end();
                if (rc < 0)
                    assert_int_equal(e.code, ERR_NOMEM);
                assert_int_equal(rc, fault_hit ? -1 : 1);
                framer_clear(&f);
                free(copies[0]);
                free(copies[1]);
                if (!fault_hit)
                    break;
            }
    }
    buf_clear(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_fragmentation),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_garbage_is_shown),
        cmocka_unit_test(test_nul),
        cmocka_unit_test(test_raw_as_it_came),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_a_byte_at_a_time_is_linear),
        cmocka_unit_test(test_idle_holds_no_memory),
        cmocka_unit_test(test_payload),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
