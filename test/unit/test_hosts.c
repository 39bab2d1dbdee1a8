/* Tests of mpiexec_lite/hosts.c and hosts_text.c */
#include "mpiexec_lite/hosts.h"
#include "wire/buf.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define COUNT(a) (sizeof (a) / sizeof *(a))

/* "alice@a:2{bind} HERE:1": our own host is always HERE. */
static char *describe(const struct plan *p)
{
    struct buf b = BUF_INIT;

    buf_str(&b, "");
    for (size_t i = 0; i < p->nhosts; i++) {
        const struct host *h = &p->hosts[i];

        buf_printf(&b, "%s%s%s%s:%d", i ? " " : "", h->user ? h->user : "",
                   h->user ? "@" : "", h->local ? "HERE" : h->name, h->slots);
        if (h->binding)
            buf_printf(&b, "{%s}", h->binding);
    }
    assert_false(b.failed);
    return b.data;
}

/* Reading text, as a list or a file, gives these hosts or this error. */
static void check(const char *name, const char *text, bool file, const char *want,
                  const char *error)
{
    char *copy = strdup(text), *got;     /* heap: ASan sees one byte too far */
    struct err e = { 0 };
    struct hosts h;
    struct plan p;
    int rc;

    print_message("  %s\n", name);
    plan_init(&p);
    hosts_init(&h, &p);
    rc = file ? hosts_add_text(&h, copy, "F", &e) : hosts_add_list(&h, copy, &e);
    got = describe(&p);
    assert_string_equal(e.text, error ? error : "");
    assert_int_equal(rc, error ? -1 : 0);
    if (want)
        assert_string_equal(got, want);
    free(got);
    free(copy);
    hosts_clear(&h);
    plan_clear(&p);
}

static const struct { const char *name, *text, *want; } lists[] = {
    { "one",                "a",                    "a:1" },
    { "some, with slots",   "a,b:4,c.example.org:2", "a:1 b:4 c.example.org:2" },
    { "any order",          "b,a",                  "b:1 a:1" },
    { "blanks around",      " a , b:2\t",           "a:1 b:2" },
    { "again, apart",       "a,b,a:3",              "a:4 b:1" },
    { "again, in capitals", "a,A",                  "a:2" },
    { "user",               "alice@a:2,b",          "alice@a:2 b:1" },
    { "user said once",     "a,alice@a,a",          "alice@a:3" },
    { "user of a domain",   "DOM\\al-ice@a",        "DOM\\al-ice@a:1" },
    { "user with an address", "al@x.org@a",         "al@x.org@a:1" },
    { "odd names",          "_a-b.c_1,1.2.3.400",   "_a-b.c_1:1 1.2.3.400:1" },

    { "range",              "n[1-3]",               "n1:1 n2:1 n3:1" },
    { "range in brackets keeps its comma", "n[1,3-4],m", "n1:1 n3:1 n4:1 m:1" },
    { "padding",            "n[08-11,7]",           "n08:1 n09:1 n10:1 n11:1 n7:1" },
    { "wide padding",       "n[0000000000000000007]", "n0000000000000000007:1" },
    { "growing width",      "n[9-10]",              "n9:1 n10:1" },
    { "range with slots",   "n[1-2]-ib:3",          "n1-ib:3 n2-ib:3" },
    { "several brackets",   "r[1-2]n[01-02]x",      "r1n01x:1 r1n02x:1 r2n01x:1 r2n02x:1" },
    { "adjacent brackets",  "n[0-1][5-6]",          "n05:1 n06:1 n15:1 n16:1" },
    { "overlapping ranges", "n[1-2,2-3]",           "n1:1 n2:2 n3:1" },
    { "user of a range",    "al@n[1-2]:2",          "al@n1:2 al@n2:2" },
    { "large numbers",      "n[9999999999999999998-9999999999999999999]",
      "n9999999999999999998:1 n9999999999999999999:1" },

    { "mpirun_rsh",         "a:2:mlx5_0,b:1:ib0:1", "a:2 b:1" },
    { "IPv4",               "192.0.2.1:2",          "192.0.2.1:2" },
    { "IPv6",               "[2001:db8::1]",        "2001:db8::1:1" },
    { "IPv6 with slots",    "[2001:db8::1]:4",      "2001:db8::1:4" },
    { "IPv6, bare",         "2001:db8::1,a",        "2001:db8::1:1 a:1" },
    { "IPv6, spelt twice",  "[2001:DB8:0::1]:2,2001:db8::1", "2001:db8::1:3" },
    { "IPv6 with scope",    "al@[fe80::1%eth0.5]:2", "al@fe80::1%eth0.5:2" },

    { "this host",          "localhost:2",          "HERE:2" },
    { "by several names",   "localhost,a,127.0.0.1:2,[::1],127.3.2.1,HYDRA_USE_LOCALHOST:4,"
      "LocalHost", "HERE:10 a:1" },
    { "not this host",      "localhost2,local,128.0.0.1",
      "localhost2:1 local:1 128.0.0.1:1" },
};

static void test_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++)
        check(lists[i].name, lists[i].text, false, lists[i].want, NULL);
}

#define SLOTS "is not a number of slots (1 or more)"
#define RANGE "is not a range of numbers"
#define NO_NAME "a host has no name (a comma too many, or a blank behind one?)"
#define BRACKETS "has brackets that do not match"

static const struct { const char *name, *text, *error; } bad_lists[] = {
    { "nothing",            "",                 NO_NAME },
    { "nothing between",    "a,,b",             NO_NAME },
    { "nothing at the end", "a,",               NO_NAME },
    { "slots only",         ":2",               NO_NAME },
    { "an option",          "-oProxyCommand=x", "'-oProxyCommand=x' is not a host name" },
    { "an option as user",  "-l@a",             "'-l' is not a user name" },
    { "no user",            "@a",               "'' is not a user name" },
    { "user of the shell",  "a;b@c",            "'a;b' is not a user name" },
    { "a command",          "$(x)",             "'$(x)' is not a host name" },
    { "a blank",            "a b",              "'a b' is not a host name" },
    { "not ASCII",          "k\xc3\xb6ln",      "'k\xc3\xb6ln' is not a host name" },
    { "no slots",           "a:",               "'' " SLOTS },
    { "zero slots",         "a:0",              "'0' " SLOTS },
    { "negative slots",     "a:-1",             "'-1' " SLOTS },
    { "slots and more",     "a:2x",             "'2x' " SLOTS },
    { "huge slots",         "a:99999999999999999999", "'99999999999999999999' " SLOTS },
    { "many slots",         "a:1000001",        "'1000001' " SLOTS },
    { "many slots together", "a:1000000,a",     "'a' has more than 1000000 slots" },
    { "HCA without slots",  "a:mlx5",           "'mlx5' " SLOTS },
    { "no HCA",             "a:2:",
      "behind ':' is neither SLOTS nor SLOTS:HCA[:PORT]" },
    { "bad port",           "a:2:ib0:x",
      "behind ':' is neither SLOTS nor SLOTS:HCA[:PORT]" },
    { "too many parts",     "a:2:ib0:1:2",
      "behind ':' is neither SLOTS nor SLOTS:HCA[:PORT]" },
    { "two users",          "alice@a,bob@a",
      "'a': user 'bob', but it was 'alice' before" },
    { "not closed",         "n[1-2",            "'n[1-2' " BRACKETS },
    { "not opened",         "n1]",              "'n1]' " BRACKETS },
    { "nested",             "n[1-[2-3]]",       "'n[1-[2-3]]' " BRACKETS },
    { "empty brackets",     "n[]",              "'' in 'n[]' " RANGE },
    { "comma at the end",   "n[1,]",            "'' in 'n[1,]' " RANGE },
    { "letters",            "n[a-c]",           "'a-c' in 'n[a-c]' " RANGE },
    { "no end",             "n[1-]",            "'1-' in 'n[1-]' " RANGE },
    { "three",              "n[1-2-3]",         "'1-2-3' in 'n[1-2-3]' " RANGE },
    { "backwards",          "n[3-1]",           "'3-1' in 'n[3-1]' " RANGE },
    { "64 bits",            "node[0-18446744073709551615]",
      "'node[0-18446744073709551615]' is more than 1000000 hosts" },
    { "65 bits",            "n[18446744073709551616-18446744073709551617]",
      "'18446744073709551616-18446744073709551617' in "
      "'n[18446744073709551616-18446744073709551617]' " RANGE },
    { "from a large number to a larger", "n[9999999999999999999-99999999999999999999]",
      "'n[9999999999999999999-99999999999999999999]' is more than 1000000 hosts" },
    { "one too many",       "n[0-1000000]",     "'n[0-1000000]' is more than 1000000 hosts" },
    { "one too many together", "a,n[1-1000][1-1000]", "more than 1000000 hosts" },
    { "many brackets",      "n[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]",
      "more than 1000000 hosts" },
    { "option by a range",  "[1-2]-x,-[1-2]",   "'-1' is not a host name" },
    { "IPv6, not closed",   "[::2",             "'[::2' " BRACKETS },
    { "IPv6, bad",          "[1::2::3]",        "'1::2::3' in '[1::2::3]' " RANGE },
    { "IPv6 and more",      "[fe80::2]x",       "'x' behind ']' makes no sense" },
    { "IPv6, bad scope",    "[fe80::2%;]",      "'fe80::2%;' in '[fe80::2%;]' " RANGE },
    { "IPv6, no scope",     "[fe80::2%]",       "'fe80::2%' in '[fe80::2%]' " RANGE },
};

static void test_bad_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad_lists); i++)
        check(bad_lists[i].name, bad_lists[i].text, false, NULL, bad_lists[i].error);
}

static const struct { const char *name, *text, *want; } files[] = {
    { "one a line",         "a\nb:2\n",             "a:1 b:2" },
    { "no newline",         "a\nb",                 "a:1 b:1" },
    { "comments and blanks", "# x\n\n \t\n  a  # y\nb:2#z\n", "a:1 b:2" },
    { "Hydra",              "a:2 binding=user:0,2\nb:3 user=alice binding=core\n",
      "a:2{user:0,2} alice@b:3{core}" },
    { "Open MPI",           "a slots=2 max_slots=4\nb max-slots=4\nbob@c slots=3\n",
      "a:2 b:1 bob@c:3" },
    { "capital settings",   "a SLOTS=2\n",          "a:2" },
    { "PBS",                "a\na\nb\nb\na\n",      "a:3 b:2" },
    { "Slurm",              "n[01-02,04] slots=2\n", "n01:2 n02:2 n04:2" },
    { "Flux, two on a line", "n[1-2],m3\n",         "n1:1 n2:1 m3:1" },
    { "mpirun_rsh",         "a:2:mlx5_0\nb:1:ib0:1\n", "a:2 b:1" },
    { "IPv6",               "[2001:db8::1]:4 user=al\n2001:db8::2 slots=2\n",
      "al@2001:db8::1:4 2001:db8::2:2" },
    { "DOS",                "\xef\xbb\xbf" "a:2\r\n\r\n# x\r\nb\r\n", "a:2 b:1" },
    { "the same binding",   "a binding=core\na\na binding=core\n", "a:3{core}" },
    { "this host",          "localhost slots=2\na\n127.0.0.1\n", "HERE:3 a:1" },
};

static const struct { const char *name, *text, *error; } bad_files[] = {
    { "empty",              "",                 "F names no host" },
    { "only comments",      "# a\n",            "F names no host" },
    { "unknown word",       "a\nb 4\n",
      "F, line 2: '4' is not slots=, max_slots=, user= or binding=" },
    { "bad slots",          "\na slots=x\n",    "F, line 2: 'x' " SLOTS },
    { "slots twice",        "a slots=2 slots=3\n", "F, line 1: slots are given twice" },
    { "slots in two ways",  "a:2 slots=3\n",    "F, line 1: slots are given twice" },
    { "user twice",         "b@a user=c\n",     "F, line 1: the user is given twice" },
    { "bad user",           "a user=\n",        "F, line 1: '' is not a user name" },
    { "binding twice",      "a binding=x binding=y\n",
      "F, line 1: binding= is given twice" },
    { "no binding",         "a binding=\n",     "F, line 1: binding= is empty" },
    { "two bindings",       "a binding=x\nb\na binding=y\n",
      "F, line 3: 'a': binding 'y', but it was 'x' before" },
    { "more than the most", "a slots=4 max_slots=2\n",
      "F, line 1: 4 slots are more than max_slots=2" },
    { "bad most",           "a max_slots=0\n",
      "F, line 1: '0' is not a number of max_slots (1 or more)" },
    { "bad name",           "a\nb\n/etc/passwd\n",
      "F, line 3: '/etc/passwd' is not a host name" },
    { "blank in a range",   "n[1, 2]\n",
      "F, line 1: '2]' is not slots=, max_slots=, user= or binding=" },
};

static void test_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(files); i++)
        check(files[i].name, files[i].text, true, files[i].want, NULL);
    for (size_t i = 0; i < COUNT(bad_files); i++)
        check(bad_files[i].name, bad_files[i].text, true, NULL, bad_files[i].error);
}

/* Is text, in brackets if need be, our own host? */
static bool is_here(const char *text)
{
    struct err e = { 0 };
    struct hosts h;
    struct plan p;
    bool local;

    plan_init(&p);
    hosts_init(&h, &p);
    assert_int_equal(hosts_add_list(&h, text, &e), 0);
    local = p.hosts[0].local;
    hosts_clear(&h);
    plan_clear(&p);
    return local;
}

/* Our name, its first part, and every address of our interfaces. */
static void test_own_names(void **state)
{
    char own[256] = "", text[INET6_ADDRSTRLEN];
    struct ifaddrs *all, *i;

    (void)state;
    gethostname(own, sizeof own - 1);
    assert_true(is_here(own));
    own[strcspn(own, ".")] = '\0';
    assert_true(is_here(own));
    own[strlen(own) - 1] = '\0';
    assert_false(*own && is_here(own));
    assert_int_equal(getifaddrs(&all), 0);
    for (i = all; i; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET) {
            inet_ntop(AF_INET, &((struct sockaddr_in *)i->ifa_addr)->sin_addr, text,
                      sizeof text);
            assert_true(is_here(text));
        } else if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET6) {
            inet_ntop(AF_INET6, &((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr, text,
                      sizeof text);
            assert_true(is_here(text));
        }
    freeifaddrs(all);
}

/* A long name is refused where it becomes too long. */
static void test_long_name(void **state)
{
    char name[400];

    (void)state;
    memset(name, 'a', sizeof name);
    name[255] = '\0';
    check("longest", name, false, NULL, NULL);
    name[255] = 'a';
    name[256] = '\0';
    check("too long", name, false, NULL,
          "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...' is too long a host name");
    memcpy(name + 252, "[1-2][1-2][1-2][1-2]", 21);
    check("too long by ranges", name, false, NULL,
          "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...' is too long a host name");
}

/* A million hosts, and each found again. */
static void test_a_million(void **state)
{
    struct err e = { 0 };
    struct hosts h;
    struct plan p;

    (void)state;
    plan_init(&p);
    hosts_init(&h, &p);
    assert_int_equal(hosts_add_list(&h, "n[000001-500000]:2,n[500000-1]", &e), -1);
    assert_int_equal(hosts_add_list(&h, "n[000001-499999]", &e), 0);
    assert_int_equal(p.nhosts, 500000);
    assert_string_equal(p.hosts[499999].name, "n500000");
    assert_int_equal(p.hosts[0].slots, 3);
    assert_int_equal(p.hosts[499998].slots, 3);
    assert_int_equal(p.hosts[499999].slots, 2);
    hosts_clear(&h);
    plan_clear(&p);
}

/* What a block picks, after the nodes were put in order and ours was dropped. */
static void test_arranged(void **state)
{
    struct app a = { 0 };
    struct err e = { 0 };
    struct hosts h;
    struct plan p;
    long slots;
    char *got;

    (void)state;
    plan_init(&p);
    hosts_init(&h, &p);
    assert_int_equal(hosts_add_list(&h, "c:3,localhost:9,a,b:3,d", &e), 0);
    assert_int_equal(hosts_skip_local(&h, &e), 0);
    assert_int_equal(hosts_order(&h, false, &e), 0);
    h.fixed = p.nhosts;
    assert_int_equal(hosts_pick(&h, "b,localhost,c:2,e:2,b,e", NULL, &a, &slots, &e), 0);
    got = describe(&p);
    assert_string_equal(got, "a:1 d:1 c:3 b:3 e:3");
    assert_int_equal(slots, 3 + 2 + 2 + 1);
    assert_int_equal(a.nnodes, 3);
    assert_int_equal(a.nodes[0], 3);
    assert_int_equal(a.nodes[1], 2);
    assert_int_equal(a.nodes[2], 4);
    free(a.nodes);
    free(got);
    hosts_clear(&h);
    plan_clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_bad_lists),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_own_names),
        cmocka_unit_test(test_long_name),
        cmocka_unit_test(test_a_million),
        cmocka_unit_test(test_arranged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
