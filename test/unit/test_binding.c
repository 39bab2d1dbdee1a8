/* test_binding.c - mpiexec_lite/binding: who gets which processors, on a machine that is a
 * folder: two sockets, each a NUMA node, of two cores with two threads; 4 is 0's twin. */
#include "mpiexec_lite/binding.h"

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

#include "test/unit/fake_memory.h"
#include "wire/buf.h"

#define N_OF(a) (sizeof (a) / sizeof *(a))

enum { CPUS = 8 };

static char machine[] = "/tmp/test_binding.XXXXXX";

static void tell(int cpu, const char *folder, const char *file, const char *list)
{
    char path[200];
    FILE *f;

    snprintf(path, sizeof path, "%s/cpu%d/%s", machine, cpu, folder);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/cpu%d/%s/%s", machine, cpu, folder, file);
    f = fopen(path, "a");
    assert_non_null(f);
    fprintf(f, "%s\n", list);
    assert_int_equal(fclose(f), 0);
}

static int make_machine(void **state)
{
    static const char *const twins[] = { "0,4", "1,5", "2,6", "3,7" };
    static const char *const sockets[] = { "0-1,4-5", "2-3,6-7" };

    (void)state;
    assert_non_null(mkdtemp(machine));
    for (int cpu = 0; cpu < CPUS; cpu++) {
        char path[200], from[200];
        int socket = cpu / 2 % 2;

        snprintf(path, sizeof path, "%s/cpu%d", machine, cpu);
        assert_int_equal(mkdir(path, 0755), 0);
        tell(cpu, "topology", "thread_siblings_list", twins[cpu % 4]);
        tell(cpu, socket ? "node1" : "node0", "cpulist", sockets[socket]);
        snprintf(from, sizeof from, "../%s/cpulist", socket ? "node1" : "node0");
        snprintf(path, sizeof path, "%s/cpu%d/topology/core_siblings_list", machine, cpu);
        assert_int_equal(symlink(from, path), 0);
    }
    return 0;
}

static int drop_machine(void **state)
{
    char command[200];

    (void)state;
    snprintf(command, sizeof command, "rm -r %s", machine);
    return system(command);
}

/* "0,4 1,5": sets in their order. */
static void show(const struct binding *b, struct buf *out)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct cpus *s = binding_of(b, (int)i);
        const char *before = i ? " " : "";

        for (size_t cpu = 0; cpu < CPUS_MAX; cpu++)
            if (CPU_ISSET_S(cpu, sizeof *s, s->part)) {
                buf_printf(out, "%s%zu", before, cpu);
                before = ",";
            }
    }
    buf_char(out, '\0');
}

static void allow(struct cpus *s, unsigned bits)
{
    *s = (struct cpus){ 0 };
    for (size_t cpu = 0; cpu < 32; cpu++)
        if (bits >> cpu & 1)
            CPU_SET_S(cpu, sizeof *s, s->part);
}

static const struct { const char *how; unsigned allowed; const char *want; } cases[] = {
    { "none",     0xff, "" },
    { "core",     0xff, "0,4 1,5 2,6 3,7" },
    { "hwthread", 0xff, "0 4 1 5 2 6 3 7" },
    { "socket",   0xff, "0,1,4,5 2,3,6,7" },
    { "numa",     0xff, "0,1,4,5 2,3,6,7" },
    { "rr",       0xff, "0 1 2 3 4 5 6 7" },
    { "user:0,2,1",      0xff, "0 2 1" },
    { "user:0+4,1-3,6",  0xff, "0,4 1,2,3 6" },
    { "user:5+0-1",      0xff, "0,1,5" },
    { "user:3,3",        0xff, "3 3" },
    /* never what the launcher may not use */
    { "core",     0x32, "1,5 4" },
    { "hwthread", 0x32, "1 5 4" },
    { "socket",   0x42, "1 6" },
    { "rr",       0x90, "4 7" },
    { "user:0,1+2,7", 0x06, "1,2" },
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct buf text = BUF_INIT;
        struct cpus allowed;
        struct binding b;
        struct err e = { 0 };

        print_message("  %s of %x\n", cases[i].how, cases[i].allowed);
        allow(&allowed, cases[i].allowed);
        assert_true(binding_is_known(cases[i].how));
        assert_int_equal(binding_init(&b, cases[i].how, machine, &allowed, &e), 0);
        show(&b, &text);
        assert_string_equal(buf_bytes(&text), cases[i].want);
        assert_ptr_equal(binding_of(&b, (int)b.n), binding_of(&b, 0));   /* a round more */
        buf_clear(&text);
        binding_clear(&b);
    }
}

static const char *const senseless[] = {
    "", "cores", "Core", "core:2", "board", "user", "user:", "user:,", "user:1,", "user:,1",
    "user:x", "user:1x", "user:-1", "user:2-1", "user:1+", "user:1-", "user:8192", "user: 1",
    "user:99999999999999999999",
};

static void test_senseless(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(senseless); i++) {
        struct cpus allowed;
        struct binding b;
        struct err e = { 0 };

        print_message("  '%s'\n", senseless[i]);
        allow(&allowed, 0xff);
        assert_false(binding_is_known(senseless[i]));
        assert_int_equal(binding_init(&b, senseless[i], machine, &allowed, &e), -1);
        assert_non_null(strstr(e.text, "is no binding"));
        binding_clear(&b);
    }
}

/* What the machine cannot give is said. */
static void test_not_there(void **state)
{
    struct cpus allowed;
    struct binding b;
    struct err e = { 0 };

    (void)state;
    allow(&allowed, 1 << 9);             /* of which the machine tells nothing */
    assert_int_equal(binding_init(&b, "socket", machine, &allowed, &e), -1);
    assert_non_null(strstr(e.text, "/cpu9/topology/core_siblings_list: not told"));
    binding_clear(&b);
    assert_int_equal(binding_init(&b, "numa", machine, &allowed, &e), -1);
    binding_clear(&b);
    assert_int_equal(binding_init(&b, "user:0,3", machine, &allowed, &e), -1);
    assert_non_null(strstr(e.text, "none of the processors of user:0,3 may be used"));
    binding_clear(&b);
    for (const char *const *list = (const char *const[]){ "", "0-", "0 1", "0-9000", NULL }; *list;
         list++) {
        char path[200];
        FILE *f;

        snprintf(path, sizeof path, "%s/cpu9", machine);
        mkdir(path, 0755);
        snprintf(path, sizeof path, "%s/cpu9/topology", machine);
        mkdir(path, 0755);
        snprintf(path, sizeof path, "%s/cpu9/topology/thread_siblings_list", machine);
        f = fopen(path, "w");
        assert_non_null(f);
        fprintf(f, "%s\n", *list);
        fclose(f);
        assert_int_equal(binding_init(&b, "core", machine, &allowed, &e), -1);
        assert_non_null(strstr(e.text, "thread_siblings_list: no list of processors"));
        binding_clear(&b);
    }
}

static void test_no_memory(void **state)
{
    struct cpus allowed;
    long n = 0;

    (void)state;
    allow(&allowed, 0xff);
    memory_begin();
    do {
        long live = memory_live;
        struct binding b;
        struct err e = { 0 };
        int rc;

        memory_after(n++);
        rc = binding_init(&b, "user:0-3,4,5", machine, &allowed, &e);
        memory_end();
        assert_int_equal(rc, memory_hit ? -1 : 0);
        assert_true(!memory_hit || e.code == ERR_NOMEM);
        binding_clear(&b);
        assert_int_equal(memory_live, live);
    } while (memory_hit);
    assert_int_equal(n, 2);
}

static void test_allowed(void **state)
{
    struct cpus allowed;
    struct err e = { 0 };
    cpu_set_t now;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_int_equal(binding_allowed(&allowed, &e), 0);
    assert_int_equal(CPU_COUNT_S(sizeof allowed, allowed.part), CPU_COUNT(&now));
    assert_memory_equal(&allowed.part[0], &now, sizeof now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_senseless),
        cmocka_unit_test(test_not_there), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_allowed),
    };

    return cmocka_run_group_tests(tests, make_machine, drop_machine);
}
