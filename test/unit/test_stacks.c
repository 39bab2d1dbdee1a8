/* test_stacks.c - what eu-stack and gdb print, as stacks; what a helper writes of processes, as
 * records of ranks (crew_stacks). */
#include "mpiexec_lite/census.h"
#include "mpiexec_lite/stack_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct { const char *name, *text, *want; } programs[] = {
    { "eu-stack", "PID 12 - process\nTID 12:\n#0  0x00007f39a1b2c3d4 pause\n"
                  "#1  0x000055d1aa001169 main\n#2  0x000055d1aa0010a5 _start\n",
      "_start\nmain\npause\n" },
    { "eu-stack, no name", "TID 12:\n#0  0x00007f39a1b2c3d4 pause\n#1  0x000055d1aa001169\n",
      "?\npause\n" },
    { "eu-stack, threads", "TID 12:\n#0  0x01 a\n#1  0x02 main\nTID 13:\n"
                           "#0  0x01 b\n#1  0x03 run\n",
      "main\na\n\nrun\nb\n" },
    { "gdb", "warning: something\n0x00007f in pause () at ../sysdeps/pause.c:29\n"
             "#0  0x00007f in pause () at ../sysdeps/pause.c:29\n"
             "#1  main (argc=1, argv=0x7ffd) at /src/a b/x.c:7\n"
             "[Inferior 1 (process 5) detached]\n",
      "main at x.c:7\npause at pause.c:29\n" },
    { "gdb, library", "#0  0x00007f in read () from /lib/libc.so.6\n#1  0x0055 in ?? ()\n",
      "??\nread\n" },
    { "nothing", "", "" },
    { "no frames", "# is\n#x\n#\nptrace: Operation not permitted.\n", "" },
    { "cut", "#0", "?\n" },
    { "cut before it", "#", "" },
    { "cut in blanks", "#0  ", "?\n" },
    { "cut behind the address", "#0  0x00", "?\n" },
};

static void test_programs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct buf out = BUF_INIT;
        size_t len = strlen(programs[i].text);
        char *exact = malloc(len ? len : 1);     /* not a byte beyond is looked at */

        print_message("  %s\n", programs[i].name);
        memcpy(exact, programs[i].text, len);
        buf_str(&out, "");
        stack_program_read(exact, len, &out);
        assert_string_equal(buf_bytes(&out), programs[i].want);
        buf_clear(&out);
        free(exact);
    }
}

/* --- records ----------------------------------------------------------- */

static struct rank ranks[] = { { .rank = 4, .pid = 100 }, { .rank = 6, .pid = 0 },
                               { .rank = 7, .pid = 102 }, { .rank = 9, .pid = 103 } };
static const struct crew crew = { .ranks = ranks, .n = 4 };

static void write_one(struct buf *out, enum census_kind kind, pid_t pid, const char *text)
{
    census_add(out, &(struct census){ .kind = kind, .index = -1, .pid = pid, .text = text,
                                      .text_len = strlen(text) });
}

static void expect(struct buf *records, const struct census *want, size_t n)
{
    const char *at = records->len ? buf_bytes(records) : "";
    size_t len = records->len;
    struct census x;

    for (size_t i = 0; i < n; i++) {
        assert_int_equal(census_next(&at, &len, &x, NULL), 1);
        assert_int_equal(x.kind, want[i].kind);
        assert_int_equal(x.index, want[i].index);
        assert_int_equal(x.text_len, strlen(want[i].text));
        assert_memory_equal(x.text, want[i].text, x.text_len);
    }
    assert_int_equal(len, 0);
    buf_clear(records);
}

static void test_records(void **state)
{
    static const struct census want[] = {
        { .kind = CENSUS_STACK, .index = 7, .text = "ma??in\nf\n" },
        { .kind = CENSUS_NO_STACK, .index = 4, .text = "it is traced" },
        { .kind = CENSUS_NO_STACK, .index = 9, .text = "it was not reached in time" },
    };
    struct buf in = BUF_INIT, out = BUF_INIT;

    (void)state;
    write_one(&in, CENSUS_STACK, 102, "ma\x1b\xffin\nf\n");
    write_one(&in, CENSUS_STACK, 102, "again\n");        /* a rank has one */
    write_one(&in, CENSUS_STACK, 101, "nobody\n");
    write_one(&in, CENSUS_STACK, 0, "nobody\n");
    write_one(&in, CENSUS_PROGRAM, 103, "/bin/x");       /* not its to say */
    write_one(&in, CENSUS_NO_STACK, 100, "it is traced");
    buf_add(&in, "\1\2\3", 3);                           /* cut off */
    crew_stacks(&crew, buf_bytes(&in), in.len, &out);
    expect(&out, want, 3);
    buf_clear(&in);
}

static void test_nothing(void **state)
{
    static const struct census want[] = {
        { .kind = CENSUS_NO_STACK, .index = 4, .text = "it was not reached in time" },
        { .kind = CENSUS_NO_STACK, .index = 7, .text = "it was not reached in time" },
        { .kind = CENSUS_NO_STACK, .index = 9, .text = "it was not reached in time" },
    };
    struct buf out = BUF_INIT;
    pid_t pids[4];

    (void)state;
    crew_stacks(&crew, "", 0, &out);
    expect(&out, want, 3);
    assert_int_equal(crew_pids(&crew, pids), 3);
    assert_int_equal(pids[0] + pids[1] + pids[2], 100 + 102 + 103);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs), cmocka_unit_test(test_records),
        cmocka_unit_test(test_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
