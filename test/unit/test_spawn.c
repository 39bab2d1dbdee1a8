/* test_spawn.c - pmi2/spawn: both spellings of a request, what is wrong with one, and
 * the way there and back between servers. */
#include "pmi2/spawn.h"

#include "wire/limits.h"

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
#define X16 "xxxxxxxxxxxxxxxx"
#define X64 X16 X16 X16 X16

/* A request as text: 2 ./a [arg] {key=value} : 1 ./b | key=value */
static void show(const struct spawn_request *r, struct buf *out)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct spawn_command *c = &r->commands[i];

        buf_printf(out, "%s%d %s", i ? " : " : "", c->procs, c->program);
        for (size_t k = 0; k < c->nargs; k++)
            buf_printf(out, " [%s]", c->args[k]);
        assert_true(!c->nargs || !c->args[c->nargs]);
        for (size_t k = 0; k < c->info.n; k++)
            buf_printf(out, " {%s=%s}", c->info.v[k].key, c->info.v[k].value);
    }
    for (size_t i = 0; i < r->preput.n; i++)
        buf_printf(out, " | %s=%s", r->preput.v[i].key, r->preput.v[i].value);
}

static void assert_shows(const struct spawn_request *r, const char *want)
{
    struct buf text = BUF_INIT;

    show(r, &text);
    assert_string_equal(text.len ? buf_bytes(&text) : "", want);
    buf_clear(&text);
}

/* Add a message, in memory of its exact size, to r. */
static int read_text(struct spawn_request *r, enum wire w, const char *text, struct err *e)
{
    char *copy = strdup(text);
    struct msg m;
    int rc;

    assert_non_null(copy);
    msg_init(&m);
    assert_int_equal(codec_of(w)->parse(&m, copy, strlen(copy), e), 0);
    rc = (w == WIRE_1 ? spawn_read_block : spawn_read)(r, &m, e);
    msg_clear(&m);
    free(copy);
    return rc;
}

/* texts: one message; PMI-1: the block of each command. */
static const struct {
    const char *name;
    enum wire   wire;
    const char *texts[3], *want, *error;     /* one of the two */
} cases[] = {
    /* --- PMI-2 --- */
    { "the least", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=1;" }, "1 a", NULL },
    { "all there is", WIRE_2, { "cmd=spawn;thrid=7;ncmds=2;preputcount=2;ppkey0=PARENT;"
      "ppval0=tag#0$p;ppkey1=k;ppval1=;subcmd=./a;maxprocs=2;argc=2;argv0=a b;argv1=c=d;"
      "infokeycount=2;infokey0=wdir;infoval0=/x y;infokey1=host;infoval1=;subcmd=b;maxprocs=1;"
      "argc=0;infokeycount=0;" },
      "2 ./a [a b] [c=d] {wdir=/x y} {host=} : 1 b | PARENT=tag#0$p | k=", NULL },
    { "';' doubled", WIRE_2, { "cmd=spawn;subcmd=a;;b;maxprocs=1;argv0=;;;argv1=;;;;x;" },
      "1 a;b [;] [;;x]", NULL },
    { "empty arguments", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=1;argc=3;argv0=;argv1=x;"
      "argv2=;" }, "1 a [] [x] []", NULL },
    { "no infokeycount, as Slurm's without info", WIRE_2, { "cmd=spawn;ncmds=1;preputcount=0;"
      "subcmd=a;maxprocs=1;argc=1;argv0=x;" }, "1 a [x]", NULL },
    { "counts behind what they count", WIRE_2, { "cmd=spawn;subcmd=a;argv0=x;argc=1;infokey0=k;"
      "infoval0=v;infokeycount=1;maxprocs=4;ppkey0=p;ppval0=q;preputcount=1;ncmds=1;" },
      "4 a [x] {k=v} | p=q", NULL },
    { "a command that comes twice", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=1;subcmd=a;"
      "maxprocs=2;" }, "1 a : 2 a", NULL },
    { "counts hold for one command", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=1;argc=1;argv0=x;"
      "subcmd=b;maxprocs=1;argv0=y;argv1=z;" }, "1 a [x] : 1 b [y] [z]", NULL },
    { "an info key that comes twice", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=1;infokeycount=2;"
      "infokey0=k;infoval0=a;infokey1=k;infoval1=b;" }, "1 a {k=a} {k=b}", NULL },
    { "keys that nobody knows", WIRE_2, { "cmd=spawn;spawnssofar=1;subcmd=a;maxprocs=1;argvx=1;"
      "argv=2;infokeys=3;arg1=4;nprocs=5;ppkey=6;" }, "1 a", NULL },
    { "no process at all", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=0;" }, "0 a", NULL },
    { "bytes that are not UTF-8", WIRE_2, { "cmd=spawn;subcmd=\xff;maxprocs=1;argv0=\x80\xc0;"
      "infokey0=\xfe;infoval0=\xc3;" }, "1 \xff [\x80\xc0] {\xfe=\xc3}", NULL },
    { "a newline in an argument", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=1;argv0=x\ny=1;" },
      "1 a [x\ny=1]", NULL },

    { "no command", WIRE_2, { "cmd=spawn;" }, NULL, "no command came" },
    { "too few commands", WIRE_2, { "cmd=spawn;ncmds=2;subcmd=a;maxprocs=1;" }, NULL,
      "2 commands were announced, 1 came" },
    { "too many commands", WIRE_2, { "cmd=spawn;ncmds=0;subcmd=a;maxprocs=1;" }, NULL,
      "0 commands were announced, 1 came" },
    { "ncmds is no number", WIRE_2, { "cmd=spawn;ncmds=two;subcmd=a;maxprocs=1;" }, NULL,
      "ncmds=two is not a number" },
    { "ncmds out of range", WIRE_2, { "cmd=spawn;ncmds=99999999;subcmd=a;maxprocs=1;" }, NULL,
      "ncmds=99999999 is not within 0..16384" },
    { "an empty program", WIRE_2, { "cmd=spawn;subcmd=;maxprocs=1;" }, NULL,
      "command 1 has no program" },
    { "no count of processes", WIRE_2, { "cmd=spawn;subcmd=a;subcmd=b;maxprocs=1;" }, NULL,
      "command 1 does not say how many processes" },
    { "none in the second", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=1;subcmd=b;" }, NULL,
      "command 2 does not say how many processes" },
    { "a negative count of processes", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=-1;" }, NULL,
      "maxprocs=-1 is not within" },
    { "a count that is too large", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=2147483648;" }, NULL,
      "maxprocs=2147483648 is not within" },
    { "a count of arguments that is none", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=1;argc=;" },
      NULL, "argc= is not a number" },
    { "too few arguments", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=1;argc=2;argv0=x;" }, NULL,
      "command 1: 2 arguments were announced, 1 came" },
    { "too many arguments", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=1;argc=0;argv0=x;subcmd=b;"
      "maxprocs=1;" }, NULL, "command 1: 0 arguments were announced, 1 came" },
    { "too few info keys", WIRE_2, { "cmd=spawn;subcmd=b;maxprocs=1;subcmd=a;maxprocs=1;"
      "infokeycount=1;" }, NULL, "command 2: 1 info pairs were announced, 0 came" },
    { "an info key without value", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=1;infokey0=k;" },
      NULL, "command 1: the last info key has no value" },
    { "the one before has none", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=1;infokey0=k;infokey1=l;"
      "infoval1=v;" }, NULL, "infokey1: the key before it has no value" },
    { "a value that comes twice", WIRE_2, { "cmd=spawn;subcmd=a;maxprocs=1;infokey0=k;"
      "infoval0=v;infoval0=w;" }, NULL, "infoval0 comes twice" },
    { "too few pairs to put", WIRE_2, { "cmd=spawn;preputcount=2;ppkey0=k;ppval0=v;subcmd=a;"
      "maxprocs=1;" }, NULL, "2 preput pairs were announced, 1 came" },
    { "a pair to put without value", WIRE_2, { "cmd=spawn;ppkey0=k;subcmd=a;maxprocs=1;" }, NULL,
      "the last preput key has no value" },
    { "a value to put without key", WIRE_2, { "cmd=spawn;preputcount=1;ppval0=k;subcmd=a;"
      "maxprocs=1;" }, NULL, "1 preput pairs were announced, 0 came" },
    { "a pair to put with an empty key", WIRE_2, { "cmd=spawn;ppkey0=;ppval0=v;subcmd=a;"
      "maxprocs=1;" }, NULL, "preput key 0 has 0 bytes, 1 to 64 wanted" },
    { "a key to put of 64 bytes", WIRE_2, { "cmd=spawn;ppkey0=" X64 ";ppval0=v;subcmd=a;"
      "maxprocs=1;" }, "1 a | " X64 "=v", NULL },
    { "a key to put of 65 bytes", WIRE_2, { "cmd=spawn;ppkey0=k;ppval0=v;ppkey1=y" X64
      ";ppval1=v;subcmd=a;maxprocs=1;" }, NULL, "preput key 1 has 65 bytes, 1 to 64 wanted" },
    { "a key to put that is not UTF-8", WIRE_2, { "cmd=spawn;ppkey0=\xff;ppval0=v;subcmd=a;"
      "maxprocs=1;" }, NULL, "preput pair 0 is not UTF-8" },
    { "a value to put that is not UTF-8", WIRE_2, { "cmd=spawn;ppkey0=k;ppval0=\xc3;subcmd=a;"
      "maxprocs=1;" }, NULL, "preput pair 0 is not UTF-8" },
    { "a key to put that is reserved", WIRE_2, { "cmd=spawn;ppkey0=PMI_x;ppval0=v;subcmd=a;"
      "maxprocs=1;" }, NULL, "key PMI_x is read-only" },

    /* --- PMI-1 --- */
    { "block: the least", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=a" }, "1 a", NULL },
    { "block: all there is", WIRE_1, { "mcmd=spawn\nnprocs=2\nexecname=./a b\ntotspawns=1\n"
      "spawnssofar=1\nargcnt=2\narg1=first arg\narg2=a=b;c\\d\npreput_num=1\n"
      "preput_key_0=PARENT_ROOT_PORT_NAME\npreput_val_0=tag#0$p a=b\ninfo_num=1\n"
      "info_key_0=wdir\ninfo_val_0=/some dir" },
      "2 ./a b [first arg] [a=b;c\\d] {wdir=/some dir} | PARENT_ROOT_PORT_NAME=tag#0$p a=b",
      NULL },
    { "block: any order", WIRE_1, { "mcmd=spawn\narg1=x\ninfo_key_0=k\ninfo_val_0=v\n"
      "preput_key_0=p\npreput_val_0=q\narg2=y\nargcnt=2\ninfo_num=1\npreput_num=1\nexecname=a\n"
      "nprocs=3" }, "3 a [x] [y] {k=v} | p=q", NULL },
    { "block: empty arguments", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=a\nargcnt=2\narg1=\n"
      "arg2=" }, "1 a [] []", NULL },
    { "block: words of a block as arguments", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=a\n"
      "arg1=endcmd\narg2=mcmd=spawn\narg3=argcnt=9" }, "1 a [endcmd] [mcmd=spawn] [argcnt=9]",
      NULL },
    { "block: infonum (Q11)", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=a\ninfonum=1\n"
      "info_key_0=k\ninfo_val_0=v" }, "1 a {k=v}", NULL },
    { "blocks", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=a\narg1=x\npreput_num=1\n"
      "preput_key_0=k\npreput_val_0=v", "mcmd=spawn\nnprocs=2\nexecname=b\ninfo_num=1\n"
      "info_key_0=i\ninfo_val_0=j", "mcmd=spawn\nnprocs=3\nexecname=c" },
      "1 a [x] : 2 b {i=j} : 3 c | k=v", NULL },
    { "blocks: pairs to put count in the first", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=a\n"
      "preput_num=1\npreput_key_0=k\npreput_val_0=v", "mcmd=spawn\nnprocs=1\nexecname=b\n"
      "preput_num=1\npreput_key_0=k\npreput_val_0=w" }, "1 a : 1 b | k=v", NULL },
    { "blocks: none in the first", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=a",
      "mcmd=spawn\nnprocs=1\nexecname=b\npreput_num=1\npreput_key_0=k\npreput_val_0=w" },
      "1 a : 1 b", NULL },
    { "block: bytes that are not UTF-8", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=\xff\n"
      "arg1=\xc3" }, "1 \xff [\xc3]", NULL },

    { "block: no program", WIRE_1, { "mcmd=spawn\nnprocs=1" }, NULL, "command 1 has no program" },
    { "block: no program in the second", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=a",
      "mcmd=spawn\nnprocs=1" }, NULL, "command 2 has no program" },
    { "block: two programs", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=a\nexecname=b" }, NULL,
      "execname comes twice" },
    { "block: no count of processes", WIRE_1, { "mcmd=spawn\nexecname=a" }, NULL,
      "command 1 does not say how many processes" },
    { "block: too few arguments", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=a\nargcnt=1" }, NULL,
      "command 1: 1 arguments were announced, 0 came" },
    { "block: too few info keys", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=a\ninfo_num=1" },
      NULL, "command 1: 1 info pairs were announced, 0 came" },
    { "block: an info key without value", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=a\n"
      "info_key_0=k" }, NULL, "command 1: the last info key has no value" },
    { "block: too few pairs to put", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=a\n"
      "preput_num=1" }, NULL, "1 preput pairs were announced, 0 came" },
    { "block: a key to put that is reserved", WIRE_1, { "mcmd=spawn\nnprocs=1\nexecname=a\n"
      "preput_key_0=PMI_\npreput_val_0=" }, NULL, "key PMI_ is read-only" },
};

/* Written and parsed it is the same. */
static void there_and_back(const struct spawn_request *r, const char *want)
{
    struct spawn_request back = { 0 };
    struct buf out = BUF_INIT;
    struct err e = { 0 };
    char *exact;

    assert_int_equal(spawn_write(r, &out, &e), 0);
    exact = malloc(out.len);
    assert_non_null(exact);
    memcpy(exact, buf_bytes(&out), out.len);
    assert_int_equal(spawn_parse(&back, exact, out.len, &e), 0);
    assert_shows(&back, want);
    spawn_clear(&back);
    for (size_t n = 0; n < out.len; n++) {           /* cut short anywhere it is none */
        assert_int_equal(spawn_parse(&back, exact, n, &e), -1);
        assert_true(*e.text);
        spawn_clear(&back);
    }
    free(exact);
    buf_clear(&out);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct spawn_request r = { 0 };
        struct err e = { 0 };
        int rc = 0;

        print_message("  %s\n", cases[i].name);
        for (int k = 0; k < 3 && cases[i].texts[k] && rc == 0; k++)
            rc = read_text(&r, cases[i].wire, cases[i].texts[k], &e);
        assert_int_equal(rc, cases[i].error ? -1 : 0);
        if (cases[i].error) {
            assert_non_null(strstr(e.text, cases[i].error));
        } else {
            assert_shows(&r, cases[i].want);
            there_and_back(&r, cases[i].want);
        }
        spawn_clear(&r);
        assert_null(r.commands);
        assert_int_equal(r.n + r.preput.n, 0);
    }
}

/* What comes in a frame that is not one spawn. */
static void test_parse(void **state)
{
    static const struct { const char *name, *text; int rc; const char *error; } frames[] = {
        { "a request", "    30cmd=spawn;subcmd=a;maxprocs=1;", 0, NULL },
        { "nothing", "", -1, "not one frame" },
        { "no length", "cmd=spawn;subcmd=a;maxprocs=1;", -1, "not one frame" },
        { "more than one", "    30cmd=spawn;subcmd=a;maxprocs=1;    10cmd=spawn;", -1,
          "not one frame" },
        { "no message", "    10abcdefghij", -1, NULL },
        { "no commands", "    10cmd=spawn;", -1, "no command came" },
    };

    (void)state;
    for (size_t i = 0; i < N_OF(frames); i++) {
        struct spawn_request r = { 0 };
        struct err e = { 0 };
        char *exact = malloc(strlen(frames[i].text) + 1);

        assert_non_null(exact);
        memcpy(exact, frames[i].text, strlen(frames[i].text));
        print_message("  %s\n", frames[i].name);
        assert_int_equal(spawn_parse(&r, exact, strlen(frames[i].text), &e), frames[i].rc);
        assert_int_equal(e.code != ERR_NONE, frames[i].rc < 0);
        if (frames[i].error)
            assert_non_null(strstr(e.text, frames[i].error));
        spawn_clear(&r);
        free(exact);
    }
}

/* Values as long as a put may have them; all that a message holds. */
static void test_large(void **state)
{
    struct spawn_request r = { 0 };
    struct buf text = BUF_INIT, out = BUF_INIT;
    struct err e = { 0 };

    (void)state;
    for (int more = 0; more < 2; more++) {
        buf_str(&text, "cmd=spawn;ppkey0=k;ppval0=");
        for (int i = 0; i < LIMIT_VALUE + more; i++)
            buf_char(&text, 'x');
        buf_str(&text, ";subcmd=a;maxprocs=1;");
        e = (struct err){ 0 };
        assert_int_equal(read_text(&r, WIRE_2, buf_bytes(&text), &e), -more);
        assert_int_equal(e.code, more ? ERR_VAL_LENGTH : 0);
        spawn_clear(&r);
        buf_clear(&text);
    }
    buf_str(&text, "cmd=spawn;subcmd=a;maxprocs=1;argc=16000;");
    for (int i = 0; i < 16000; i++)
        buf_printf(&text, "argv%d=%d;", i, i);
    assert_int_equal(read_text(&r, WIRE_2, buf_bytes(&text), &e), 0);
    assert_int_equal(r.commands[0].nargs, 16000);
    assert_string_equal(r.commands[0].args[15999], "15999");
    assert_int_equal(spawn_write(&r, &out, &e), 0);
    spawn_clear(&r);
    assert_int_equal(spawn_parse(&r, buf_bytes(&out), out.len, &e), 0);
    assert_int_equal(r.commands[0].nargs, 16000);
    spawn_clear(&r);
    buf_clear(&text);
    buf_clear(&out);
}

/* What no frame can hold is an error where it is written. */
static void test_too_large(void **state)
{
    static char line[300000] = "mcmd=spawn\nnprocs=1\nexecname=a\narg1=";
    struct spawn_request r = { 0 };
    struct buf out = BUF_INIT;
    struct err e = { 0 };

    (void)state;
    memset(line + strlen(line), ';', sizeof line - 1 - strlen(line));
    assert_int_equal(read_text(&r, WIRE_1, line, &e), 0);
    assert_int_equal(spawn_write(&r, &out, &e), 0);
    assert_true(out.len > 500000);                   /* doubled */
    buf_reset(&out);
    assert_int_equal(read_text(&r, WIRE_1, line, &e), 0);
    assert_int_equal(spawn_write(&r, &out, &e), -1);
    assert_int_equal(e.code, ERR_LENGTH);
    assert_int_equal(out.len, 0);
    spawn_clear(&r);
    buf_clear(&out);
}

static void test_asking(void **state)
{
    struct spawn_request r = { 0 };
    struct err e = { 0 };

    (void)state;
    assert_int_equal(spawn_size(&r), 0);
    assert_int_equal(read_text(&r, WIRE_2, "cmd=spawn;subcmd=a;maxprocs=2147483647;infokey0=k;"
                               "infoval0=old;infokey1=l;infoval1=;infokey2=k;infoval2=new;"
                               "subcmd=b;maxprocs=2147483647;", &e), 0);
    assert_true(spawn_size(&r) == 2 * 2147483647LL);
    assert_string_equal(spawn_info(&r.commands[0], "k"), "new");
    assert_string_equal(spawn_info(&r.commands[0], "l"), "");
    assert_null(spawn_info(&r.commands[0], "m"));
    assert_null(spawn_info(&r.commands[1], "k"));
    spawn_clear(&r);
}

/* Reading, writing and parsing fail cleanly wherever memory ends. */
static void test_no_memory(void **state)
{
    static const char text[] = "cmd=spawn;preputcount=1;ppkey0=k;ppval0=v;subcmd=a;maxprocs=1;"
        "argv0=0;argv1=1;argv2=2;argv3=3;argv4=4;argv5=5;infokey0=k;infoval0=v;infokey1=k;"
        "infoval1=v;infokey2=k;infoval2=v;infokey3=k;infoval3=v;infokey4=k;infoval4=v;"
        "subcmd=b;maxprocs=1;subcmd=c;maxprocs=1;subcmd=d;maxprocs=1;subcmd=e;maxprocs=1;";
    static const char shown[] = "1 a [0] [1] [2] [3] [4] [5] {k=v} {k=v} {k=v} {k=v} {k=v} : "
        "1 b : 1 c : 1 d : 1 e | k=v";
    struct msg m;
    char *copy;
    long n = 0;

    (void)state;
    memory_begin();
    copy = strdup(text);
    assert_non_null(copy);
    msg_init(&m);
    assert_int_equal(wire_v2.parse(&m, copy, strlen(copy), NULL), 0);
    do {
        struct spawn_request r = { 0 }, back = { 0 };
        long live = memory_live;
        struct buf out = BUF_INIT;
        struct err e = { 0 };
        int rc;

        memory_after(n++);
        rc = spawn_read(&r, &m, &e);
        if (rc == 0)
            rc = spawn_write(&r, &out, &e);
        if (rc == 0)
            rc = spawn_parse(&back, buf_bytes(&out), out.len, &e);
        memory_end();
        assert_int_equal(rc, memory_hit ? -1 : 0);
        if (memory_hit)                  /* a parser tells no memory from too many pairs */
            assert_true(e.code == ERR_NOMEM || (out.len && e.code == ERR_NUM_ARGS));
        else
            assert_shows(&back, shown);
        spawn_clear(&r);
        spawn_clear(&back);
        buf_clear(&out);
        assert_int_equal(memory_live, live);
    } while (memory_hit);
    assert_true(n > 40);
    msg_clear(&m);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_parse),
        cmocka_unit_test(test_large), cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_asking), cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("spawn", tests, NULL, NULL);
}
