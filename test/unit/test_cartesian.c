/* Tests of mpiexec_lite/cartesian.c */
#include "mpiexec_lite/cartesian.h"
#include "wire/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(a) (sizeof (a) / sizeof *(a))
#define X20 "01234567890123456789"
#define X100 X20 X20 X20 X20 X20

/* The job has n0, n1, n2 and this host. */
static const struct { const char *name, *text, *want, *error; } rows[] = {
    { "two dimensions", "dims 4,2\nn0 0,0\nn2 3,1\n", "4,2: 0,0 - 3,1 -", NULL },
    { "one dimension, no line break at the end", "dims 4\nn1 3", "4: - 3 - -", NULL },
    { "comments, blanks, empty lines", "# net\n\n dims\t2,2,2 # three\n\n\tn1   1,0,1#x\n",
      "2,2,2: - 1,0,1 - -", NULL },
    { "any case, and this host", "dims 9\nN1 1\nlocalhost 8\n", "9: - 1 - 8", NULL },
    { "other hosts are passed over", "dims 9\nm1 1\nm1 1\n", "9: - - - -", NULL },
    { "two hosts in one place", "dims 9\nn0 1\nn1 1\n", "9: 1 1 - -", NULL },
    { "no host at all", "dims 9\n", "9: - - - -", NULL },
    { "sixteen dimensions", "dims 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\n",
      "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1: - - - -", NULL },

    { "nothing", "# none\n", NULL, "F has no line dims" },
    { "dims late", "\nn0 1\n", NULL, "F, line 2: dims must come before 'n0'" },
    { "dims again", "dims 4\ndims 4\n", NULL, "F, line 2: dims again" },
    { "no number", "dims 4,x\n", NULL, "F, line 1: want 1 to 16 numbers between commas, not "
      "'4,x'" },
    { "a comma too many", "dims 4,\n", NULL, "F, line 1: want 1 to 16 numbers between commas, "
      "not '4,'" },
    { "seventeen", "dims 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\n", NULL,
      "F, line 1: want 1 to 16 numbers between commas, not "
      "'1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1'" },
    { "a dimension of 0", "dims 4,0\n", NULL, "F, line 1: a dimension of 0 holds no host" },
    { "too large", "dims 2147483648\n", NULL, "F, line 1: want 1 to 16 numbers between commas, "
      "not '2147483648'" },
    { "a coordinate too few", "dims 4,2\nn0 1\n", NULL, "F, line 2: 'n0': want 2 numbers between "
      "commas, not '1'" },
    { "outside", "dims 4,2\nm7 1,2\n", NULL, "F, line 2: 'm7': 2 is not below 2" },
    { "negative", "dims 4\nn0 -1\n", NULL, "F, line 2: 'n0': want 1 numbers between commas, not "
      "'-1'" },
    { "a host again", "dims 4\nn0 1\nN0 1\n", NULL, "F, line 3: 'N0' again" },
    { "a host alone", "dims 4\nn0\n", NULL, "F, line 2: want a host and its coordinates" },
    { "a word too many", "dims 4\nn0 1 1\n", NULL, "F, line 2: want a host and its coordinates" },
    { "a long line", "dims 4\n#" X100 X100 X100 X100 X100 X100 "\n", NULL,
      "F, line 2: more than 599 bytes" },
    { "a long word", "dims 4\nn" X100 X100 X100 " 1\n", NULL,
      "F, line 2: want a host and its coordinates" },
};

static char *describe(const struct plan *p)
{
    struct buf b = BUF_INIT;

    buf_printf(&b, "%s:", p->dims ? p->dims : "");
    for (size_t i = 0; i < p->nhosts; i++)
        buf_printf(&b, " %s", p->hosts[i].coords ? p->hosts[i].coords : "-");
    assert_false(b.failed);
    return b.data;
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *text = strdup(rows[i].text), *got;     /* heap: ASan sees one byte too far */
        struct err e = { 0 };
        struct hosts h;
        struct plan p;
        int rc;

        print_message("  %s\n", rows[i].name);
        plan_init(&p);
        hosts_init(&h, &p);
        assert_int_equal(hosts_add_list(&h, "n[0-2],localhost", &e), 0);
        rc = cartesian_read(&h, text, "F", &e);
        assert_string_equal(e.text, rows[i].error ? rows[i].error : "");
        assert_int_equal(rc, rows[i].error ? -1 : 0);
        got = describe(&p);
        if (rows[i].want)
            assert_string_equal(got, rows[i].want);
        free(got);
        free(text);
        hosts_clear(&h);
        plan_clear(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
