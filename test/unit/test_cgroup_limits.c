/* Tests of mpiexec_lite/cgroup_limits.c: the narrowest of a group and those above it. */
#include "mpiexec_lite/cgroup_limits.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))

static const struct { const char *name, *text; } files[] = {
    { "own",                    "0::/a/b\n" },
    { "elsewhere",              "12:cpu:/x\n0::/no/such\n" },
    { "old",                    "3:memory:/x\n" },
    { "old-group",              "9:name=systemd:/\n8:pids:/p\n4:memory:/m/n\n3:cpu,cpuacct:/c\n" },
    { "both",                   "8:pids:/p\n0::/a/b\n" },
    { "damaged",                "\n8\n8:\n8:pids\n8:pids:\n8:pids:p\n" },
    { "g/pids/p/pids.max",      "7\n" },
    { "g/pids/p/pids.current",  "3\n" },
    { "g/memory/m/memory.limit_in_bytes",    "5000\n" },
    { "g/memory/m/n/memory.limit_in_bytes",  "9223372036854771712\n" },
    { "g/cpu,cpuacct/c/cpu.cfs_quota_us",    "25000\n" },
    { "g/cpu,cpuacct/c/cpu.cfs_period_us",   "100000\n" },
    { "g/cpu,cpuacct/cpu.cfs_quota_us",      "-1\n" },
    { "g/cpu,cpuacct/cpu.cfs_period_us",     "100000\n" },
    { "g/a/memory.max",         "1000\n" },
    { "g/a/b/memory.max",       "max\n" },
    { "g/a/pids.max",           "50\n" },
    { "g/a/pids.current",       "48\n" },
    { "g/a/b/pids.max",         "10\n" },
    { "g/a/b/pids.current",     "1\n" },
    { "g/a/b/cpu.max",          "150000 100000\n" },
    { "g/a/cpu.max",            "max 100000\n" },
};

static void test_limits(void **state)
{
    static const struct { const char *own; struct cgroup_limits want; } rows[] = {
        { "own", { 1000, 2, 1.5 } }, { "elsewhere", { -1, -1, -1 } }, { "old", { -1, -1, -1 } },
        { "none", { -1, -1, -1 } }, { "old-group", { 5000, 4, 0.25 } }, { "both", { 1000, 2, 1.5 } },
        { "damaged", { -1, -1, -1 } },
    };
    char folder[] = "/tmp/test_cgroup.XXXXXX", path[PATH_MAX], own[PATH_MAX], command[100];

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "cd %s && mkdir -p g/a/b g/pids/p g/memory/m/n g/cpu,cpuacct/c",
             folder);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < N_OF(files); i++) {
        FILE *f;

        snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
        f = fopen(path, "w");
        assert_non_null(f);
        fputs(files[i].text, f);
        fclose(f);
    }
    snprintf(path, sizeof path, "%s/g", folder);
    for (size_t i = 0; i < N_OF(rows); i++) {
        struct cgroup_limits seen;

        print_message("  %s\n", rows[i].own);
        snprintf(own, sizeof own, "%s/%s", folder, rows[i].own);
        cgroup_limits_read(&seen, own, path);
        assert_int_equal(seen.memory, rows[i].want.memory);
        assert_int_equal(seen.pids, rows[i].want.pids);
        assert_true(seen.cpus > rows[i].want.cpus - 1e-9 && seen.cpus < rows[i].want.cpus + 1e-9);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_limits) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
