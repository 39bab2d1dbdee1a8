/* Tests of mpiexec_lite/allocation.c and ranges.c: environments as managers make them. */
#include "mpiexec_lite/alloc.h"
#include "mpiexec_lite/allocation.h"
#include "mpiexec_lite/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define COUNT(a) (sizeof (a) / sizeof *(a))
#define FILE_HERE "@"        /* stands for the path of the file of a row */

/* What the environment of a job has, and the nodes or the error that this gives. */
static const struct {
    const char *name, *kind;
    const char *env[6];
    const char *file;        /* NULL: there is none */
    const char *want;        /* nodes; NULL: an error */
    const char *error;
} jobs[] = {
    { "salloc -N 3 -n 6 (22.05)", "slurm",
      { "SLURM_JOB_NUM_NODES=3", "SLURM_JOB_NODELIST=node[1-3]", "SLURM_NNODES=3",
        "SLURM_NODELIST=node[1-3]", "SLURM_TASKS_PER_NODE=2(x3)" },
      NULL, "node1:2 node2:2 node3:2", NULL },
    { "several groups", "slurm",
      { "SLURM_JOB_NODELIST=tux[07,09-10],gpu1", "SLURM_TASKS_PER_NODE=4,2(x2),1" },
      NULL, "tux07:4 tux09:2 tux10:2 gpu1:1", NULL },
    { "old names", "slurm",
      { "SLURM_NNODES=2", "SLURM_NODELIST=a1,b1", "SLURM_TASKS_PER_NODE=8(x2)" },
      NULL, "a1:8 b1:8", NULL },
    { "one node", "slurm", { "SLURM_JOB_NODELIST=n", "SLURM_TASKS_PER_NODE=16" },
      NULL, "n:16", NULL },
    { "no tasks said", "slurm", { "SLURM_JOB_NODELIST=n[1-2]" }, NULL, "n1:1 n2:1", NULL },
    { "in a step of one node", "slurm",
      { "SLURM_JOB_NUM_NODES=3", "SLURM_JOB_NODELIST=node[1-3]", "SLURM_TASKS_PER_NODE=1",
        "SLURM_JOB_CPUS_PER_NODE=2(x3)" },
      NULL, "node1:2 node2:2 node3:2", NULL },
    { "fewer tasks than nodes", "slurm",
      { "SLURM_JOB_NODELIST=n[1-3]", "SLURM_TASKS_PER_NODE=2(x2)" }, NULL, NULL,
      "SLURM_TASKS_PER_NODE is not of 3 nodes, as SLURM_JOB_NODELIST is" },
    { "more tasks than nodes", "slurm",
      { "SLURM_JOB_NODELIST=n[1-3]", "SLURM_TASKS_PER_NODE=2(x4)" }, NULL, NULL,
      "SLURM_TASKS_PER_NODE is not of 3 nodes, as SLURM_JOB_NODELIST is" },
    { "bad tasks", "slurm", { "SLURM_JOB_NODELIST=n", "SLURM_TASKS_PER_NODE=2(x1" }, NULL, NULL,
      "SLURM_TASKS_PER_NODE: '2(x1' is not COUNT or COUNT(xNODES), with commas" },
    { "no tasks at all", "slurm", { "SLURM_JOB_NODELIST=n", "SLURM_TASKS_PER_NODE=0" }, NULL, NULL,
      "SLURM_TASKS_PER_NODE: '0' is not COUNT or COUNT(xNODES), with commas" },
    { "a comma at the end", "slurm", { "SLURM_JOB_NODELIST=n", "SLURM_TASKS_PER_NODE=1," }, NULL,
      NULL, "SLURM_TASKS_PER_NODE: '1,' is not COUNT or COUNT(xNODES), with commas" },
    { "another number of nodes", "slurm",
      { "SLURM_JOB_NODELIST=n[1-3]", "SLURM_JOB_NUM_NODES=4" }, NULL, NULL,
      "SLURM_JOB_NODELIST: names 3 nodes, but SLURM_JOB_NUM_NODES is 4" },
    { "a list that is none", "slurm", { "SLURM_JOB_NODELIST=n[1-" }, NULL, NULL,
      "SLURM_JOB_NODELIST: 'n[1-' has brackets that do not match" },

    { "qsub -l nodes=2:ppn=2 (Torque)", "pbs", { "PBS_NODEFILE=@", "PBS_JOBID=7.server" },
      "n17\nn17\nn18\nn18\n", "n17:2 n18:2", NULL },
    { "qsub -l select=2:mpiprocs=1 (PBS Pro)", "pbs", { "PBS_NODEFILE=@" },
      "c01.cluster\nc02.cluster\n", "c01.cluster:1 c02.cluster:1", NULL },
    { "no such file", "pbs", { "PBS_NODEFILE=/nowhere/nodes" }, NULL, NULL,
      "PBS_NODEFILE: /nowhere/nodes: No such file or directory" },
    { "an empty file", "pbs", { "PBS_NODEFILE=@" }, "\n", NULL,
      "PBS_NODEFILE: @ names no host" },

    { "bsub -n 6", "lsf", { "LSB_MCPU_HOSTS=hostA 4 hostB 2 ", "LSB_HOSTS=hostA hostB" }, NULL,
      "hostA:4 hostB:2", NULL },
    { "only the file", "lsf", { "LSB_DJOB_HOSTFILE=@" }, "hostA\nhostA\nhostB\n",
      "hostA:2 hostB:1", NULL },
    { "a host without slots", "lsf", { "LSB_MCPU_HOSTS=hostA 4 hostB" }, NULL, NULL,
      "LSB_MCPU_HOSTS: 'hostB ' is not a host and its slots" },
    { "slots that are none", "lsf", { "LSB_MCPU_HOSTS=hostA 4x" }, NULL, NULL,
      "LSB_MCPU_HOSTS: 'hostA 4x' is not a host and its slots" },

    { "qsub -pe mpi 5", "sge", { "PE_HOSTFILE=@", "NSLOTS=5" },
      "n1.x 4 all.q@n1.x UNDEFINED\nn2.x 1 all.q@n2.x <NULL>\n", "n1.x:4 n2.x:1", NULL },
    { "a line without slots", "sge", { "PE_HOSTFILE=@" }, "n1 4 q U\nn2\n", NULL,
      "PE_HOSTFILE: @: 'n2 ' is not a host and its slots" },

    { "qsub of Cobalt", "cobalt", { "COBALT_NODEFILE=@" }, "nid1\nnid2\n", "nid1:1 nid2:1", NULL },
    { "llsubmit", "ll", { "LOADL_HOSTFILE=@" }, "f01\nf01\nf02\n", "f01:2 f02:1", NULL },

    { "of several the first", "slurm",
      { "PBS_NODEFILE=/nowhere", "SLURM_JOB_NODELIST=n" }, NULL, "n:1", NULL },
    { "an empty variable is none", "pbs", { "SLURM_JOB_NODELIST=", "PBS_NODEFILE=@" }, "a\n",
      "a:1", NULL },
};

/* The text with the path of the file for every FILE_HERE. */
static char *placed(const char *text, const char *path)
{
    const char *at = text ? strstr(text, FILE_HERE) : NULL;
    char *out;

    if (!text)
        return NULL;
    if (!at)
        return strdup(text);
    assert_true(asprintf(&out, "%.*s%s%s", (int)(at - text), text, path, at + 1) > 0);
    return out;
}

static void check_job(size_t i)
{
    char path[] = "/tmp/test_allocation.XXXXXX", *env[8] = { NULL }, *error;
    const struct allocation_kind *k;
    struct buf got = BUF_INIT;
    struct err e = { 0 };
    struct hosts h;
    struct plan p;
    int fd = mkstemp(path), rc;

    print_message("  %s: %s\n", jobs[i].kind, jobs[i].name);
    assert_true(fd >= 0);
    if (jobs[i].file)
        assert_int_equal(write(fd, jobs[i].file, strlen(jobs[i].file)), strlen(jobs[i].file));
    close(fd);
    for (size_t n = 0; n < 6 && jobs[i].env[n]; n++)
        env[n] = placed(jobs[i].env[n], path);
    plan_init(&p);
    hosts_init(&h, &p);
    k = allocation_detect(env);
    assert_non_null(k);
    assert_string_equal(k->name, jobs[i].kind);
    rc = allocation_read(k, env, &h, &e);
    error = placed(jobs[i].error, path);
    assert_string_equal(e.text, error ? error : "");
    assert_int_equal(rc, error ? -1 : 0);
    for (size_t n = 0; n < p.nhosts; n++)
        buf_printf(&got, n ? " %s:%d" : "%s:%d", p.hosts[n].name, p.hosts[n].slots);
    if (jobs[i].want)
        assert_string_equal(buf_bytes(&got), jobs[i].want);
    free(error);
    for (size_t n = 0; n < 6; n++)
        free(env[n]);
    buf_clear(&got);
    hosts_clear(&h);
    plan_clear(&p);
    unlink(path);
}

static void recorded(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(jobs); i++)
        check_job(i);
}

static void kinds(void **state)
{
    char *none[] = { (char *)"PATH=/bin", NULL };
    struct err e = { 0 };
    struct hosts h;
    struct plan p;

    (void)state;
    assert_null(allocation_detect(none));
    assert_null(allocation_find("loom"));
    assert_ptr_equal(allocation_find("SLURM"), allocation_find("slurm"));
    plan_init(&p);
    hosts_init(&h, &p);
    assert_int_equal(allocation_read(allocation_find("slurm"), none, &h, &e), -1);
    assert_string_equal(e.text, "this is no job of slurm: there is no variable SLURM_JOB_NODELIST");
    hosts_clear(&h);
    plan_clear(&p);
}

static const struct { const char *names[6], *want; } lists[] = {
    { { NULL }, "" },
    { { "a" }, "a" },
    { { "n1", "n2", "n3" }, "n[1-3]" },
    { { "n1", "n3", "n4", "m", "n5" }, "n1,n[3-4],m,n5" },
    { { "n08", "n09", "n10", "n11" }, "n[08-11]" },
    { { "n9", "n10", "n11" }, "n9,n[10-11]" },
    { { "n3", "n2", "n1" }, "n3,n2,n1" },
    { { "n01", "n2" }, "n01,n2" },
    { { "a1", "b2" }, "a1,b2" },
    { { "1", "2" }, "[1-2]" },
    { { "10.0.0.1", "10.0.0.2" }, "10.0.0.[1-2]" },
    { { "n", "n1" }, "n,n1" },
    { { "a", "b" }, "a,b" },
    { { "n123456789012345678901", "n123456789012345678902" },
      "n123456789012345678901,n123456789012345678902" },
};

static void short_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++) {
        struct ranges r = { 0 };

        for (size_t n = 0; n < 6 && lists[i].names[n]; n++)
            ranges_add(&r, lists[i].names[n]);
        assert_string_equal(ranges_text(&r), lists[i].want);
        ranges_clear(&r);
    }
}

static const struct { const char *text, *want; } requests[] = {
    { "4", "--nodes=4" },
    { "2-4", "--nodes=2-4" },
    { "4:30", "--nodes=4|--time=30" },
    { "4:1-00:30:00,partition=debug", "--nodes=4|--time=1-00:30:00|--partition=debug" },
    { "1,ntasks-per-node=2,comment=a b", "--nodes=1|--ntasks-per-node=2|--comment=a b" },
    { "", NULL }, { "0", NULL }, { "x", NULL }, { "4:", NULL }, { "4:soon", NULL },
    { "4,", NULL }, { "4,debug", NULL }, { "4,partition=", NULL }, { "4,--x=1", NULL },
    { "4 -w n", NULL },
};

static void own_allocation(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(requests); i++) {
        struct strlist words = { 0 };
        struct buf got = BUF_INIT;
        struct err e = { 0 };
        int rc = alloc_words(requests[i].text, &words, &e);

        print_message("  '%s': %s\n", requests[i].text, e.text);
        assert_int_equal(rc, requests[i].want ? 0 : -1);
        assert_int_equal(*e.text != '\0', rc < 0);
        for (size_t n = 0; n < words.n; n++)
            buf_printf(&got, n ? "|%s" : "%s", words.v[n]);
        if (requests[i].want)
            assert_string_equal(buf_bytes(&got), requests[i].want);
        buf_clear(&got);
        strlist_clear(&words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded), cmocka_unit_test(kinds), cmocka_unit_test(short_lists),
        cmocka_unit_test(own_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
