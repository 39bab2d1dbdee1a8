/* Tests of mpiexec_lite/oom.c, with files of our own for those of the kernel. */
#include "mpiexec_lite/oom.h"

#include <stdio.h>
#include <sys/stat.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/test_oom.XXXXXX";

static const char *path(const char *name)
{
    static char text[2][200];
    static int turn;

    turn = !turn;
    snprintf(text[turn], sizeof text[turn], "%s/%s", folder, name);
    return text[turn];
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(path(name), "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const struct {
    const char *name, *list, *file, *before, *after, *want;
} cases[] = {
    { "v2", "0::/job/one\n", "job/one/memory.events",
      "low 0\noom 1\noom_kill 3\noom_group_kill 9\n", "low 0\noom 2\noom_kill 4\n",
      "likely out: oom_kill of @/job/one went from 3 to 4" },
    { "v2, nothing was killed", "0::/job/one\n", "job/one/memory.events", "oom_kill 3\n",
      "oom_kill 3\n", "" },
    { "v2, the path is one of outside", "0::/not/here\n", "memory.events", "oom_kill 0\n",
      "oom_kill 1\n", "likely out: oom_kill of @ went from 0 to 1" },
    { "v1", "5:cpu,cpuacct:/x\n4:memory:/job/two\n0::/\n", "memory/job/two/memory.oom_control",
      "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", "under_oom 0\noom_kill 2\n",
      "likely out: oom_kill of @/memory/job/two went from 0 to 2" },
    { "v1, one of several controllers", "4:cpu,memory:/job/two\n",
      "memory/job/two/memory.oom_control", "oom_kill 1\n", "oom_kill 2\n",
      "likely out: oom_kill of @/memory/job/two went from 1 to 2" },
    { "a controller that only sounds like it", "4:notmemory:/job/two\n",
      "memory/job/two/memory.oom_control", "oom_kill 1\n", "oom_kill 2\n", "" },
    { "no count", "0::/job/one\n", "job/one/memory.events", "oom 3\n", "oom 4\n", "" },
    { "no line that is whole", "0::/job/one", "job/one/memory.events", "oom_kill 3\n",
      "oom_kill 4\n", "" },
    { "garbage", "\n::\n:\nx\n", "memory.events", "", "", "" },
};

static void expect(const char *want, const char *seen)
{
    char text[400];
    const char *at = strchr(want, '@');

    if (at)
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - want), want, folder, at + 1);
    assert_string_equal(seen, at ? text : want);
}

static void test_cases(void **state)
{
    static const char *const folders[] = { "job", "job/one", "memory", "memory/job",
                                           "memory/job/two" };
    char text[400];
    struct oom o;

    (void)state;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        assert_int_equal(mkdir(path(folders[i]), 0700), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_message("  %s\n", cases[i].name);
        put("list", cases[i].list);
        put(cases[i].file, cases[i].before);
        oom_begin(&o, path("list"), folder);
        put(cases[i].file, cases[i].after);
        oom_evidence(&o, 0, text, sizeof text);      /* of which the kernel says nothing */
        expect(cases[i].want, text);
        unlink(path(cases[i].file));
    }
    unlink(path("list"));
    for (size_t i = sizeof folders / sizeof *folders; i-- > 0;)
        rmdir(path(folders[i]));
}

static void test_no_list(void **state)
{
    struct oom o;

    (void)state;
    oom_begin(&o, path("none"), folder);
    assert_string_equal(o.path, "");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_no_list),
    };
    int rc;

    if (!mkdtemp(folder))
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return rc;
}
