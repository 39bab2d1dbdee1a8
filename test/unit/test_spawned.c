/* test_spawned.c - mpiexec_lite/spawned: a further job made from the one that asks for
 * it: what it inherits, what info keys change, where its ranks go, and who is to blame. */
#include "mpiexec_lite/spawned.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/unit/fake_memory.h"

#define N_OF(a) (sizeof (a) / sizeof *(a))

enum { HOSTS = 3, COMMANDS = 3 };

/* --- the parent -------------------------------------------------------- */

/* Ranks 0 and 1 are of the first block, 2 of the second. */
static void make_parent(struct bundle *b)
{
    static const char *const hosts[HOSTS] = { "one", "two", "three" };
    struct plan *p = &b->plan;
    struct err e;
    struct app *a;

    *b = (struct bundle){ .umask = 022, .cwd = strdup("/here"), .jobid = strdup("job0"),
                          .spawner = strdup("former") };
    plan_init(p);
    for (int i = 0; i < HOSTS; i++)
        plan_add_host(p, hosts[i])->slots = 2;
    a = plan_add_app(p);
    a->n = 2;
    a->wdir = strdup("/first");
    strlist_add(&a->argv, "./first");
    a = plan_add_app(p);
    a->n = 1;
    a->path = strdup("/opt/second:/opt");
    strlist_add(&a->argv, "./second");
    strlist_add(&a->argv, "argument");
    a->bind = strdup("rr");
    b->envs = calloc(2, sizeof *b->envs);
    strlist_add(&b->envs[0], "A=first");
    strlist_add(&b->envs[1], "A=second");
    strlist_add(&b->envs[1], "B=b=b");
    strlist_add(&b->envs[1], "AA=x");
    p->label = strdup("[%g.%r] ");
    p->outfile = strdup("out.%g.%r");
    p->stdin_mode = STDIN_ALL;
    p->usize = 12;
    p->keep_going = true;
    p->verbose = 2;
    p->remote.release_bytes = 77;
    assert_int_equal(place_ranks(p, NULL, &b->place, &e), 0);
}

/* Commands: "procs program args..", info as "key", "value", ... */
struct wish {
    const char *program, *args[3];
    int         procs;
    const char *info[10];
};

static void make_request(struct spawn_request *r, const struct wish *w, size_t n)
{
    struct buf text = BUF_INIT;
    struct err e = { 0 };
    struct msg m;

    buf_str(&text, "cmd=spawn;");
    for (size_t i = 0; i < n && w[i].program; i++) {
        buf_printf(&text, "subcmd=%s;maxprocs=%d;", w[i].program, w[i].procs);
        for (int k = 0; k < 3 && w[i].args[k]; k++)
            buf_printf(&text, "argv%d=%s;", k, w[i].args[k]);
        for (int k = 0; k < 10 && w[i].info[k]; k += 2)
            buf_printf(&text, "infokey%d=%s;infoval%d=%s;", k / 2, w[i].info[k], k / 2,
                       w[i].info[k + 1]);
    }
    *r = (struct spawn_request){ 0 };
    msg_init(&m);
    assert_int_equal(wire_v2.parse(&m, buf_bytes(&text), text.len, &e), 0);
    assert_int_equal(spawn_read(r, &m, &e), 0);
    msg_clear(&m);
    buf_clear(&text);
}

/* On hosts that all are listed and alive. */
static int spawn(const struct bundle *parent, int rank, const struct spawn_request *r,
                 const long *used, const char *jobid, struct bundle *out,
                 struct spawn_blame *blame, struct err *e)
{
    static const bool lost[HOSTS];
    struct spawned_hosts hosts = { &parent->plan, HOSTS, lost, used };

    return spawned_bundle(parent, rank, r, &hosts, jobid, out, blame, e);
}

/* Blocks as text: 2 ./a b (wdir) <path> A=x B=y, with ',' between, then where the ranks
 * are. */
static void show(const struct bundle *b, struct buf *out)
{
    for (size_t i = 0; i < b->plan.napps; i++) {
        const struct app *a = &b->plan.apps[i];

        buf_printf(out, "%s%d", i ? ", " : "", a->n);
        for (size_t k = 0; k < a->argv.n; k++)
            buf_printf(out, " %s", *a->argv.v[k] ? a->argv.v[k] : "''");
        if (a->wdir)
            buf_printf(out, " (%s)", a->wdir);
        if (a->path)
            buf_printf(out, " <%s>", a->path);
        for (size_t k = 0; k < b->envs[i].n; k++)
            buf_printf(out, " %s", b->envs[i].v[k]);
        if (a->bind)
            buf_printf(out, " [%s]", a->bind);
    }
    buf_str(out, " @");
    for (int r = 0; r < b->place.size; r++)
        buf_printf(out, "%d", placement_node(&b->place, r));
}

static const struct {
    const char *name;
    int         rank;                    /* who asks */
    struct wish wishes[COMMANDS];
    long        used[HOSTS];
    const char *want;
} cases[] = {
    { "as the first block of the parent", 0, { { "./c", { 0 }, 1, { 0 } } }, { 0 },
      "1 ./c (/first) A=first @0" },
    { "as the second, of which the rank is that asks", 2, { { "./c", { "x y", "" }, 2, { 0 } } },
      { 0 }, "2 ./c x y '' </opt/second:/opt> A=second B=b=b AA=x [rr] @00" },
    { "wdir", 2, { { "./c", { 0 }, 1, { "wdir", "/else where" } } }, { 0 },
      "1 ./c (/else where) </opt/second:/opt> A=second B=b=b AA=x [rr] @0" },
    { "path", 0, { { "c", { 0 }, 1, { "path", "/a:/b" } } }, { 0 },
      "1 c (/first) </a:/b> A=first @0" },
    { "each command its own", 0, { { "a", { 0 }, 1, { "wdir", "/a" } }, { "b", { 0 }, 2, { 0 } },
      { "c", { "1" }, 1, { "path", "/c" } } }, { 0 },
      "1 a (/a) A=first, 2 b (/first) A=first, 1 c 1 (/first) </c> A=first @0011" },
    { "env: new ones", 0, { { "c", { 0 }, 1, { "env", "X=1\nY=a=b c\n\nZ=" } } }, { 0 },
      "1 c (/first) A=first X=1 Y=a=b c Z= @0" },
    { "env: one that is there", 2, { { "c", { 0 }, 1, { "env", "A=new" } } }, { 0 },
      "1 c </opt/second:/opt> AA=x B=b=b A=new [rr] @0" },
    { "bind", 2, { { "a", { 0 }, 1, { "bind", "user:0+2,1" } }, { "b", { 0 }, 1, { "bind",
      "none" } } }, { 0 }, "1 a </opt/second:/opt> A=second B=b=b AA=x [user:0+2,1], "
      "1 b </opt/second:/opt> A=second B=b=b AA=x [none] @00" },
    { "env: the last of two counts", 0, { { "c", { 0 }, 1, { "env", "X=1\nX=2" } } }, { 0 },
      "1 c (/first) A=first X=2 @0" },
    { "env: not what is the launcher's", 0, { { "c", { 0 }, 1, { "env", "PMI_RANK=9\nX=1\n"
      "PMI_FD=3\nPMI_JOBID=y" } } }, { 0 }, "1 c (/first) A=first X=1 @0" },
    { "env: of one command only", 0, { { "a", { 0 }, 1, { "env", "X=1" } }, { "b", { 0 }, 1,
      { 0 } } }, { 0 }, "1 a (/first) A=first X=1, 1 b (/first) A=first @00" },
    { "host", 0, { { "c", { 0 }, 3, { "host", "two" } } }, { 0 }, "3 c (/first) A=first @111" },
    { "hosts, in their order, in any case", 0, { { "c", { 0 }, 3, { "hosts", "THREE,one" } } },
      { 0 }, "3 c (/first) A=first @220" },
    { "host and hosts: host", 0, { { "c", { 0 }, 1, { "hosts", "two", "host", "three" } } },
      { 0 }, "1 c (/first) A=first @2" },
    { "soft", 0, { { "c", { 0 }, 5, { "soft", "1,4:9:3" } } }, { 0 },
      "4 c (/first) A=first @0011" },
    { "a key that comes twice: the last", 0, { { "c", { 0 }, 1, { "wdir", "/a", "wdir", "/b" } } },
      { 0 }, "1 c (/b) A=first @0" },
    { "free slots first", 0, { { "c", { 0 }, 4, { 0 } } }, { 2, 1, 0 },
      "4 c (/first) A=first @1220" },
    { "all are used: a round more", 0, { { "c", { 0 }, 3, { 0 } } }, { 2, 2, 2 },
      "3 c (/first) A=first @001" },
    { "free slots of the hosts that were asked for", 0, { { "c", { 0 }, 3, { "host",
      "one,two" } } }, { 2, 1, 0 }, "3 c (/first) A=first @100" },
    { "several commands share what is free", 0, { { "a", { 0 }, 1, { 0 } }, { "b", { 0 }, 2,
      { 0 } } }, { 1, 2, 1 }, "1 a (/first) A=first, 2 b (/first) A=first @020" },
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct bundle parent, out;
        struct spawn_request r;
        struct spawn_blame blame;
        struct buf text = BUF_INIT;
        struct err e = { 0 };

        print_message("  %s\n", cases[i].name);
        make_parent(&parent);
        make_request(&r, cases[i].wishes, COMMANDS);
        assert_int_equal(spawn(&parent, cases[i].rank, &r, cases[i].used, "job7", &out, &blame,
                               &e), 0);
        assert_string_equal(e.text, "");
        show(&out, &text);
        assert_string_equal(buf_bytes(&text), cases[i].want);
        assert_int_equal(out.plan.warnings.n, 0);
        buf_clear(&text);
        spawn_clear(&r);
        bundle_clear(&out);
        bundle_clear(&parent);
    }
}

/* --- file -------------------------------------------------------------- */

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static const struct {
    const char *name, *text, *info[8], *want, *error;
} files[] = {
    { "keys", "wdir = /w\npath=/p:/q\n", { 0 }, "4 c (/w) </p:/q> A=first @0011", NULL },
    { "blanks, comments, no line break at the end", "# keys\n\n  # more\n\t wdir \t= \t/w x \r\n"
      "soft =1:3", { 0 }, "3 c (/w x) A=first @001", NULL },
    { "a value with '=' and '#'", "wdir = a=b #c", { 0 }, "4 c (a=b #c) A=first @0011", NULL },
    { "lines of env add up", "env = X=1\nenv = Y=a b\nenv=A=new", { 0 },
      "4 c (/first) Y=a b X=1 A=new @0011", NULL },
    { "the last of two counts", "wdir = /a\nwdir = /b", { 0 }, "4 c (/b) A=first @0011", NULL },
    { "the command's own before the file's", "wdir = /a\nsoft = 1\nenv = X=1",
      { "wdir", "/own", "env", "Y=2" }, "1 c (/own) A=first Y=2 @0", NULL },
    { "hosts of the file", "hosts = three,one", { 0 }, "4 c (/first) A=first @2200", NULL },
    { "hosts of the command, host of the file", "host = three", { "hosts", "two" },
      "4 c (/first) A=first @1111", NULL },
    { "binding", "bind = core", { 0 }, "4 c (/first) A=first [core] @0011", NULL },
    { "an empty file", "", { 0 }, "4 c (/first) A=first @0011", NULL },
    { "no '='", "\nwdir = /\nhosts two\n", { 0 }, NULL,
      "file info-file:3: 'key = value' wanted, not 'hosts two'" },
    { "no key", "= two", { 0 }, NULL, "file info-file:1: 'key = value' wanted, not '= two'" },
    { "another file", "\nfile = x", { 0 }, NULL, "file info-file:2: a file cannot name another" },
    { "soft that is none", "\n\nsoft = some", { 0 }, NULL, "file info-file:3: soft: numbers" },
    { "env that is none", "env = A=1\nenv = B", { 0 }, NULL, "file info-file:2: env: NAME=VALUE" },
    { "a host that is none", "\nhost = o/ne", { 0 }, NULL, "file info-file:2: 'o/ne' is not a" },
    { "a hostfile that is not there", "hostfile = no-file", { 0 }, NULL,
      "file info-file:1: hostfile: no-file: No such file" },
    { "a file that is not there", "x = y", { "file", "no-file" }, NULL,
      "file: no-file: No such file or directory" },
    { "a folder", "x = y", { "file", "." }, NULL, "file: .: not a regular file" },
    { "the command's own soft is wrong", "wdir = /", { "soft", "x" }, NULL, "soft: numbers" },
};

static void test_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(files); i++) {
        struct wish w = { "c", { 0 }, 4, { "file", "info-file" } };
        struct bundle parent, out;
        struct spawn_request r;
        struct spawn_blame blame;
        struct buf text = BUF_INIT;
        struct err e = { 0 };

        print_message("  %s\n", files[i].name);
        memcpy(w.info + 2, files[i].info, sizeof files[i].info);
        make_parent(&parent);
        make_request(&r, &w, 1);
        write_file("info-file", files[i].text);
        assert_int_equal(spawn(&parent, 0, &r, NULL, "j", &out, &blame, &e),
                         files[i].want ? 0 : -1);
        unlink("info-file");
        if (files[i].want) {
            show(&out, &text);
            assert_string_equal(buf_bytes(&text), files[i].want);
        } else if (strncmp(e.text, files[i].error, strlen(files[i].error)) != 0) {
            assert_string_equal(e.text, files[i].error);
        }
        buf_clear(&text);
        spawn_clear(&r);
        bundle_clear(&out);
        bundle_clear(&parent);
    }
}

/* What does not depend on the request. */
static void test_inherited(void **state)
{
    static const struct wish w = { "c", { 0 }, 1, { 0 } };
    struct bundle parent, out, sent;
    struct spawn_request r;
    struct spawn_blame blame;
    struct buf bytes = BUF_INIT;
    struct err e = { 0 };

    (void)state;
    make_parent(&parent);
    make_request(&r, &w, 1);
    assert_int_equal(spawn(&parent, 2, &r, NULL, "job7", &out, &blame, &e), 0);
    bundle_clear(&parent);               /* nothing of it is borrowed */
    spawn_clear(&r);
    assert_string_equal(out.jobid, "job7");
    assert_string_equal(out.spawner, "job0");
    assert_string_equal(out.cwd, "/here");
    assert_int_equal(out.umask, 022);
    assert_int_equal(out.plan.nhosts, HOSTS);
    assert_string_equal(out.plan.hosts[2].name, "three");
    assert_string_equal(out.plan.label, "[%g.%r] ");
    assert_string_equal(out.plan.outfile, "out.%g.%r");
    assert_int_equal(out.plan.stdin_mode, STDIN_NONE);
    assert_int_equal(out.plan.usize, 12);
    assert_true(out.plan.keep_going);
    assert_int_equal(out.plan.verbose, 2);
    assert_int_equal(out.plan.remote.release_bytes, 77);
    bundle_write(&out, &bytes);          /* as it goes to other hosts */
    assert_int_equal(bundle_read(&sent, buf_bytes(&bytes), bytes.len, &e), 0);
    assert_string_equal(sent.spawner, "job0");
    buf_clear(&bytes);
    bundle_clear(&sent);
    bundle_clear(&out);
}

/* Keys that change nothing are named. */
static void test_unknown(void **state)
{
    static const struct wish w[] = {
        { "./a", { 0 }, 1, { "arch", "x86", "wdir", "/", "bind", "shelf" } },
        { "./b", { 0 }, 1, { "WDIR", "/" } },
        { "./c", { 0 }, 1, { "file", "other-keys" } },
    };
    static const char *const warnings[] = {
        "spawn of ./a: info key arch changes nothing",
        "spawn of ./a: bind shelf changes nothing: a value of -bind-to is wanted",
        "spawn of ./b: info key WDIR changes nothing",
        "spawn of ./c: info key arch (line 2 of its file) changes nothing",
        "spawn of ./c: bind user: changes nothing: a value of -bind-to is wanted",
    };
    const char *other = "\n arch = x\nbind=user:\n";
    struct bundle parent, out;
    struct spawn_request r;
    struct spawn_blame blame;
    struct err e = { 0 };

    (void)state;
    make_parent(&parent);
    strlist_add(&parent.plan.warnings, "about the command line");
    make_request(&r, w, N_OF(w));
    write_file("other-keys", other);
    assert_int_equal(spawn(&parent, 0, &r, NULL, "j", &out, &blame, &e), 0);
    unlink("other-keys");
    assert_int_equal(out.plan.warnings.n, N_OF(warnings));
    for (size_t i = 0; i < N_OF(warnings); i++)
        assert_string_equal(out.plan.warnings.v[i], warnings[i]);
    spawn_clear(&r);
    bundle_clear(&out);
    bundle_clear(&parent);
}

static const struct {
    const char *name;
    struct wish wishes[COMMANDS];
    size_t      command;
    int         code;
    const char *error;
} wrong[] = {
    { "no process", { { "c", { 0 }, 0, { 0 } } }, 0, EINVAL, "no process of c is wanted" },
    { "no process of the second", { { "a", { 0 }, 1, { 0 } }, { "b", { 0 }, 0, { 0 } } }, 1,
      EINVAL, "no process of b is wanted" },
    { "soft: none fits", { { "a", { 0 }, 1, { 0 } }, { "b", { 0 }, 2, { "soft", "3:9" } } }, 1,
      EINVAL, "soft: no number of '3:9' is at most 2" },
    { "soft: 0", { { "a", { 0 }, 2, { "soft", "0,3" } } }, 0, EINVAL, "no process of a" },
    { "soft: no list", { { "a", { 0 }, 1, { "soft", "some" } } }, 0, EINVAL, "not 'some'" },
    { "env: no '='", { { "a", { 0 }, 1, { "env", "X=1\nY\nZ=2" } } }, 0, EINVAL,
      "env: NAME=VALUE, one a line, wanted" },
    { "env: no name", { { "a", { 0 }, 1, { "env", "=1" } } }, 0, EINVAL, "env: NAME=VALUE" },
    { "a name that is no host's", { { "a", { 0 }, 1, { "host", "one" } }, { "b", { 0 }, 1,
      { "host", "one,fo/ur" } } }, 1, EHOSTUNREACH, "'fo/ur' is not a host name" },
    { "no host", { { "a", { 0 }, 1, { "host", "," } } }, 0, EHOSTUNREACH,
      "a host has no name (a comma too many, or a blank behind one?)" },
    { "an empty list of hosts", { { "a", { 0 }, 1, { "hosts", "" } } }, 0, EHOSTUNREACH,
      "a host has no name (a comma too many, or a blank behind one?)" },
    { "too many", { { "a", { 0 }, 1, { 0 } }, { "b", { 0 }, PLAN_RANKS_MAX, { 0 } } }, 0, EINVAL,
      "1000001 processes, at most 1000000" },
    { "far too many", { { "a", { 0 }, 2147483647, { 0 } }, { "b", { 0 }, 2147483647, { 0 } },
      { "c", { 0 }, 2147483647, { 0 } } }, 0, EINVAL, "6442450941 processes, at most 1000000" },
};

static void test_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(wrong); i++) {
        struct bundle parent, out;
        struct spawn_request r;
        struct spawn_blame blame = { 99, 99 };
        struct err e = { 0 };

        print_message("  %s\n", wrong[i].name);
        make_parent(&parent);
        make_request(&r, wrong[i].wishes, COMMANDS);
        assert_int_equal(spawn(&parent, 0, &r, NULL, "j", &out, &blame, &e), -1);
        if (!strstr(e.text, wrong[i].error))
            print_message("    %s\n", e.text);
        assert_non_null(strstr(e.text, wrong[i].error));
        assert_int_equal(blame.command, wrong[i].command);
        assert_int_equal(blame.code, wrong[i].code);
        spawn_clear(&r);
        bundle_clear(&out);
        bundle_clear(&parent);
    }
}

/* The launcher knows two hosts more than the parent, and has lost one. */
static const struct {
    const char *name, *host;             /* NULL: anywhere */
    int         rc;
    const char *want;                    /* names of all hosts, or where the ranks are */
} others[] = {
    { "anywhere is on the listed ones that live", NULL, 0, "0022" },
    { "a later one", "five", 0, "4444" },
    { "the lost one, for whoever asks has to hear it", "two", 0, "1111" },
    { "a new one", "five,new,four", 1, "one two three four five new" },
    { "no more new ones than there are processes without a slot", "n[1-9],two", 1,
      "one two three four five n1 n2" },
    { "no new one where known ones have room", "n[1-9],five,two,one", 0, "4110" },
    { "new ones, a range", "u@n[1-2],one", 1, "one two three four five n1 n2" },
};

static void test_others(void **state)
{
    static const bool lost[HOSTS + 2] = { false, true };
    struct bundle parent, all;

    (void)state;
    make_parent(&parent);
    make_parent(&all);
    assert_non_null(plan_add_host(&all.plan, "four"));
    assert_non_null(plan_add_host(&all.plan, "five"));
    for (size_t i = 0; i < N_OF(others); i++) {
        struct spawned_hosts hosts = { &all.plan, HOSTS, lost, NULL };
        struct wish w = { "c", { 0 }, 4, { "host", others[i].host } };
        struct spawn_request r;
        struct spawn_blame blame;
        struct buf text = BUF_INIT;
        struct bundle out;
        struct err e = { 0 };

        print_message("  %s\n", others[i].name);
        if (!others[i].host)
            w.info[0] = NULL;
        make_request(&r, &w, 1);
        assert_int_equal(spawned_bundle(&parent, 0, &r, &hosts, "j", &out, &blame, &e),
                         others[i].rc);
        assert_string_equal(e.text, "");
        for (int k = 0; k < out.place.size; k++)
            buf_printf(&text, "%d", placement_node(&out.place, k));
        for (size_t k = 0; others[i].rc && k < out.plan.nhosts; k++)
            buf_printf(&text, "%s%s", k ? " " : "", out.plan.hosts[k].name);
        assert_string_equal(buf_bytes(&text), others[i].want);
        buf_clear(&text);
        spawn_clear(&r);
        bundle_clear(&out);
    }
    bundle_clear(&parent);
    bundle_clear(&all);
}

/* As many as there may be; a name of any length. */
static void test_large(void **state)
{
    static const struct wish most = { "c", { 0 }, PLAN_RANKS_MAX, { 0 } };
    static char name[400];
    struct wish named = { "c", { 0 }, 1, { "host", name } };
    struct bundle parent, out;
    struct spawn_request r;
    struct spawn_blame blame;
    struct err e = { 0 };

    (void)state;
    make_parent(&parent);
    make_request(&r, &most, 1);
    assert_int_equal(spawn(&parent, 0, &r, NULL, "j", &out, &blame, &e), 0);
    assert_int_equal(out.place.size, PLAN_RANKS_MAX);
    spawn_clear(&r);
    bundle_clear(&out);
    memset(name, 'x', sizeof name - 1);
    make_request(&r, &named, 1);
    assert_int_equal(spawn(&parent, 0, &r, NULL, "j", &out, &blame, &e), -1);
    assert_int_equal(blame.code, EHOSTUNREACH);
    spawn_clear(&r);
    bundle_clear(&out);
    bundle_clear(&parent);
}

/* It fails cleanly wherever memory ends. */
static void test_no_memory(void **state)
{
    static const struct wish w[] = {
        { "./a", { "1", "2" }, 2, { "wdir", "/a", "path", "/b", "host", "two,one" } },
        { "./b", { 0 }, 1, { "env", "A=1\nB=2", "arch", "x", "soft", "1", "bind", "core" } },
        { "./c", { 0 }, 1, { "file", "more-keys" } },
    };
    static const long used[HOSTS] = { 1, 0, 0 };
    struct bundle parent;
    struct spawn_request r;
    long n = 0;

    (void)state;
    memory_begin();
    make_parent(&parent);
    make_request(&r, w, N_OF(w));
    write_file("more-keys", "env = C=1\nenv = D=2\narch = x\nbind = x\nhosts = one\n");
    do {
        long live = memory_live;
        struct spawn_blame blame = { 99, 0 };
        struct bundle out;
        struct err e = { 0 };
        int rc;

        memory_after(n++);
        rc = spawn(&parent, 0, &r, used, "j", &out, &blame, &e);
        memory_end();
        assert_int_equal(rc, memory_hit ? -1 : 0);
        assert_true(!memory_hit || e.code == ERR_NOMEM);
        assert_true(blame.command < N_OF(w));
        bundle_clear(&out);
        assert_int_equal(memory_live, live);
    } while (memory_hit);
    assert_true(n > 60);
    unlink("more-keys");
    spawn_clear(&r);
    bundle_clear(&parent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_file),
        cmocka_unit_test(test_inherited), cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_wrong), cmocka_unit_test(test_others), cmocka_unit_test(test_large),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("spawned", tests, NULL, NULL);
}
