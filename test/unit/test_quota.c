/* test_quota.c - mpiexec_lite/quota: what cgroups of both versions allow, in a folder that
 * stands for /sys/fs/cgroup. */
#include "mpiexec_lite/quota.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

static char root[] = "/tmp/test_quota.XXXXXX";

static void tell(const char *path, const char *text)
{
    char full[200];
    FILE *f;

    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *c = full + strlen(root) + 1; (c = strchr(c, '/')); *c++ = '/') {
        *c = '\0';
        mkdir(full, 0700);
    }
    f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static const struct { const char *name, *own, *file[4]; int want; } cases[] = {
    { "no file",           NULL, { NULL }, 0 },
    { "no limit",          "0::/a\n", { "a/cpu.max", "max 100000\n" }, 0 },
    { "two processors",    "0::/a\n", { "a/cpu.max", "200000 100000\n" }, 2 },
    { "rounded up",        "0::/a\n", { "a/cpu.max", "150000 100000\n" }, 2 },
    { "less than one",     "0::/a\n", { "a/cpu.max", "5000 100000\n" }, 1 },
    { "of a group above",  "0::/a/b/c\n", { "a/cpu.max", "300000 100000\n" }, 3 },
    { "the least counts",  "0::/a/b\n", { "a/cpu.max", "300000 100000\n",
                                          "a/b/cpu.max", "400000 100000\n" }, 3 },
    { "at the mount",      "0::/\n", { "cpu.max", "400000 100000\n" }, 4 },
    { "cgroups 1",         "4:memory:/x\n3:cpu,cpuacct:/a\n",
      { "cpu/a/cpu.cfs_quota_us", "250000\n", "cpu/a/cpu.cfs_period_us", "100000\n" }, 3 },
    { "cgroups 1, no limit", "1:cpu:/a\n",
      { "cpu/a/cpu.cfs_quota_us", "-1\n", "cpu/a/cpu.cfs_period_us", "100000\n" }, 0 },
    { "not cpu's",         "1:cpuset:/a\n",
      { "cpu/a/cpu.cfs_quota_us", "100000\n", "cpu/a/cpu.cfs_period_us", "100000\n" }, 0 },
    { "no period",         "1:cpu:/a\n", { "cpu/a/cpu.cfs_quota_us", "100000\n" }, 0 },
    { "rubbish",           "rubbish\n0::\n0:\n::::\n0::/a\n", { "a/cpu.max", "x y\n" }, 0 },
    { "zero",              "0::/a\n", { "a/cpu.max", "100000 0\n" }, 0 },
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        char own[60], command[80];

        print_message("  %s\n", cases[i].name);
        snprintf(root, sizeof root, "/tmp/test_quota.XXXXXX");
        assert_non_null(mkdtemp(root));
        snprintf(own, sizeof own, "%s/own", root);
        if (cases[i].own)
            tell("own", cases[i].own);
        for (size_t k = 0; k < 4 && cases[i].file[k]; k += 2)
            tell(cases[i].file[k], cases[i].file[k + 1]);
        assert_int_equal(quota_processors(own, root), cases[i].want);
        snprintf(command, sizeof command, "rm -r %s", root);
        assert_int_equal(system(command), 0);
    }
}

static void test_here(void **state)
{
    (void)state;
    assert_true(usable_processors() >= 1);
    assert_true(usable_processors() <= sysconf(_SC_NPROCESSORS_ONLN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_here),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
