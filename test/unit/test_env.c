/* Tests of mpiexec_lite/env.c */
#include "mpiexec_lite/env.h"
#include "wire/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(a) (sizeof (a) / sizeof *(a))
#define MOST 8

static const char *const outer_text[] = {
    "PATH=/bin", "HOME=/root", "A=outer", "EMPTY=",
    "PMI_FD=5", "PMI_RANK=0", "PMI_DEBUG=1", "PMI2_DEBUG=1", "PMI2_X=1", "PMIX_RANK=3",
    "SLURM_PMIX_MAPPING_SERV=x", "SLURM_PMI2_Y=x", "HYDI_CONTROL_FD=4",
    "MPI_LOCALNRANKS=2", "MPI_LOCALRANKID=1", "SLURM_JOB_ID=9", "PMIPATH=kept", NULL
};

/* As environ is declared.  Nothing writes to it. */
static char *const *outer_env(void)
{
    return (char *const *)outer_text;
}

#define DEBUG "PMI_DEBUG=1 PMI2_DEBUG=1"
#define REST "SLURM_JOB_ID=9 PMIPATH=kept"
#define GFORTRAN "GFORTRAN_UNBUFFERED_PRECONNECTED=y"

/* job: -genv...; block: -env...; want: the result, blanks between. */
static const struct {
    const char *name;
    struct { enum inherit inherit; const char *names[MOST], *set[MOST]; } job, block;
    const char *want;
} cases[] = {
    { "everything but what an outer launcher left", { 0 }, { 0 },
      "PATH=/bin HOME=/root A=outer EMPTY= " DEBUG " " REST " " GFORTRAN },
    { "nothing", { .inherit = INHERIT_NONE }, { 0 }, "" },
    { "nothing, and one set", { .inherit = INHERIT_NONE }, { .set = { "A=1" } }, "A=1" },
    { "a list", { .inherit = INHERIT_LIST, .names = { "HOME", "NONE", "PMI_FD" } }, { 0 },
      "HOME=/root " GFORTRAN },
    { "the block's rule replaces the job's", { .inherit = INHERIT_NONE },
      { .inherit = INHERIT_LIST, .names = { "A" } }, "A=outer " GFORTRAN },
    { "back to all", { .inherit = INHERIT_NONE }, { .inherit = INHERIT_ALL },
      "PATH=/bin HOME=/root A=outer EMPTY= " DEBUG " " REST " " GFORTRAN },
    { "user beats inherited", { .set = { "A=job" } }, { 0 },
      "PATH=/bin HOME=/root EMPTY= " DEBUG " " REST " A=job " GFORTRAN },
    { "block beats job", { .inherit = INHERIT_NONE, .set = { "A=job", "B=job" } },
      { .set = { "A=block" } }, "B=job A=block" },
    { "the last of several", { .inherit = INHERIT_NONE, .set = { "A=1", "B=2", "A=3" } },
      { 0 }, "B=2 A=3" },
    { "only the first = splits", { .inherit = INHERIT_NONE, .set = { "A=b=c" } }, { 0 },
      "A=b=c" },
    { "A is not AB", { .inherit = INHERIT_NONE, .set = { "AB=1", "A=2" } }, { 0 },
      "AB=1 A=2" },
    { "the launcher's own cannot be set",
      { .inherit = INHERIT_NONE, .set = { "PMI_RANK=7", "PMI_ID=1", "PMI_FOO=1" } },
      { 0 }, "PMI_FOO=1" },
    { "the user's GFORTRAN variable",
      { .inherit = INHERIT_LIST, .set = { "GFORTRAN_UNBUFFERED_PRECONNECTED=n" } }, { 0 },
      "GFORTRAN_UNBUFFERED_PRECONNECTED=n" },
};

static void add_all(struct strlist *l, const char *const *from)
{
    for (; *from; from++)
        assert_int_equal(strlist_add(l, *from), 0);
}

static void test_build(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err e = { 0 };
        struct plan p;
        struct app *a;
        struct strlist out = { 0 };
        struct buf got = BUF_INIT, want = BUF_INIT;

        print_message("  %s\n", cases[i].name);
        plan_init(&p);
        a = plan_add_app(&p);
        assert_non_null(a);
        p.env.inherit = cases[i].job.inherit;
        a->env.inherit = cases[i].block.inherit;
        add_all(&p.env.names, cases[i].job.names);
        add_all(&p.env.set, cases[i].job.set);
        add_all(&a->env.names, cases[i].block.names);
        add_all(&a->env.set, cases[i].block.set);
        assert_int_equal(env_build(&p, 0, outer_env(), &out, &e), 0);
        buf_str(&got, "");
        for (size_t k = 0; k < out.n; k++)
            buf_printf(&got, "%s%s", k ? " " : "", out.v[k]);
        buf_printf(&want, "%s%sPMI_VERSION=1 PMI_SUBVERSION=1", cases[i].want,
                   *cases[i].want ? " " : "");
        assert_string_equal(buf_bytes(&got), buf_bytes(&want));
        buf_clear(&want);
        buf_clear(&got);
        strlist_clear(&out);
        plan_clear(&p);
    }
}

/* What a manager has set for its job is dropped by its launcher; where it is found is not,
 * nor what the user sets. */
static void test_managers(void **state)
{
    static const char *const env[] = {
        "A=1", "SLURM_JOB_ID=9", "SLURM_CONF=/c", "SBATCH_X=1", "PBS_JOBID=7", "LSB_Q=1",
        "JOB_ID=3", "JOB_IDS=4", NULL
    };
    static const struct { enum launcher launcher; const char *want; } rows[] = {
        { LAUNCHER_SSH, "A=1 SLURM_JOB_ID=9 SLURM_CONF=/c SBATCH_X=1 PBS_JOBID=7 LSB_Q=1 JOB_ID=3 "
                        "JOB_IDS=4" },
        { LAUNCHER_SLURM, "A=1 SLURM_CONF=/c PBS_JOBID=7 LSB_Q=1 JOB_ID=3 JOB_IDS=4 "
                          "SLURM_NNODES=me" },
        { LAUNCHER_PBS, "A=1 SLURM_JOB_ID=9 SLURM_CONF=/c SBATCH_X=1 LSB_Q=1 JOB_ID=3 JOB_IDS=4" },
        { LAUNCHER_SGE, "A=1 SLURM_JOB_ID=9 SLURM_CONF=/c SBATCH_X=1 PBS_JOBID=7 LSB_Q=1 "
                        "JOB_IDS=4" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct strlist out = { 0 };
        struct buf got = BUF_INIT;
        struct err e = { 0 };
        struct plan p;

        plan_init(&p);
        p.remote.launcher = rows[i].launcher;
        assert_non_null(plan_add_app(&p));
        if (rows[i].launcher == LAUNCHER_SLURM)
            assert_int_equal(strlist_add(&p.env.set, "SLURM_NNODES=me"), 0);
        assert_int_equal(env_build(&p, 0, (char *const *)env, &out, &e), 0);
        for (size_t k = 0; k < out.n && strncmp(out.v[k], "GFORTRAN", 8) != 0; k++)
            buf_printf(&got, "%s%s", k ? " " : "", out.v[k]);
        assert_string_equal(buf_bytes(&got), rows[i].want);
        buf_clear(&got);
        strlist_clear(&out);
        plan_clear(&p);
    }
}

static const struct {
    const char *name;
    struct rank_env rank;
    const char *want;
} ranks[] = {
    { "descriptor", { 6, NULL, 1, 4, 1, 2, "job.1", false, "node-a" },
      "PMI_FD=6 PMI_RANK=1 PMI_SIZE=4 PMI_JOBID=job.1 MPI_LOCALNRANKS=2 "
      "MPI_LOCALRANKID=1 PMI_HOSTNAME=node-a" },
    { "spawned", { 6, NULL, 0, 1, 0, 1, "job.2", true, NULL },
      "PMI_FD=6 PMI_RANK=0 PMI_SIZE=1 PMI_JOBID=job.2 PMI_SPAWNED=1 MPI_LOCALNRANKS=1 "
      "MPI_LOCALRANKID=0" },
    { "port: PMI_ID and no PMI_FD", { 6, "127.0.0.1:34405", 3, 4, 3, 4, "j", true, "h" },
      "PMI_PORT=127.0.0.1:34405 PMI_ID=3 PMI_RANK=3 PMI_SIZE=4 PMI_JOBID=j PMI_SPAWNED=1 "
      "MPI_LOCALNRANKS=4 MPI_LOCALRANKID=3 PMI_HOSTNAME=h" },
};

static void test_rank(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ranks); i++) {
        struct err e = { 0 };
        char text[ENV_RANK_TEXT], *vars[ENV_RANK_MAX];
        struct buf got = BUF_INIT;
        int n = env_rank_vars(&ranks[i].rank, text, sizeof text, vars, &e);

        print_message("  %s\n", ranks[i].name);
        assert_in_range(n, 1, ENV_RANK_MAX - 1);
        assert_null(vars[n]);
        for (int k = 0; k < n; k++)
            buf_printf(&got, "%s%s", k ? " " : "", vars[k]);
        assert_string_equal(buf_bytes(&got), ranks[i].want);
        buf_clear(&got);
    }
}

/* Every size up to the needed one is refused, and nothing is written behind it. */
static void test_rank_too_small(void **state)
{
    char *vars[ENV_RANK_MAX], text[ENV_RANK_TEXT];
    size_t needed = strlen(ranks[0].want) + 2;

    (void)state;
    for (size_t size = 0; size < needed - 1; size++) {
        struct err e = { 0 };

        memset(text, 'x', sizeof text);
        assert_int_equal(env_rank_vars(&ranks[0].rank, text, size, vars, &e), -1);
        assert_int_equal(e.code, ERR_LENGTH);
        assert_int_equal(text[size], 'x');
    }
    assert_int_equal(env_rank_vars(&ranks[0].rank, text, needed, vars, NULL), 7);
}

static const int three[] = { 1, 4, 6 };
static const struct {
    const char *name;
    struct env_constants k;
    const char *want;
} constants[] = {
    { "all", { 8, 1, "(vector,(0,1,8))", three, 3 },
      "PMI_UNIVERSE_SIZE=8 PMI_APPNUM=1 PMI_PROCESS_MAPPING=(vector,(0,1,8)) "
      "PMI_LOCAL_RANKS=1,4,6" },
    { "no universe", { -1, 0, "(vector,(0,1,1))", three, 1 },
      "PMI_APPNUM=0 PMI_PROCESS_MAPPING=(vector,(0,1,1)) PMI_LOCAL_RANKS=1" },
};

static void test_constants(void **state)
{
    int many[2000];
    char mapping[5000];
    struct env_constants large = { 1, 0, mapping, many, 2000 };
    struct strlist out = { 0 };
    struct err e = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT(constants); i++) {
        struct buf got = BUF_INIT;

        print_message("  %s\n", constants[i].name);
        assert_int_equal(env_add_constants(&constants[i].k, &out, &e), 0);
        for (size_t k = 0; k < out.n; k++) {
            buf_printf(&got, "%s%s", k ? " " : "", out.v[k]);
            assert_true(env_is_ours(out.v[k], env_name_len(out.v[k])));
        }
        assert_string_equal(buf_bytes(&got), constants[i].want);
        buf_clear(&got);
        strlist_clear(&out);
    }
    for (int i = 0; i < 2000; i++)
        many[i] = i;
    memset(mapping, 'x', sizeof mapping - 1);
    mapping[sizeof mapping - 1] = '\0';
    assert_int_equal(env_add_constants(&large, &out, &e), 0);
    assert_int_equal(out.n, 2);          /* what is too long is left out */
    strlist_clear(&out);
}

static void test_get(void **state)
{
    (void)state;
    assert_string_equal(env_get(outer_env(), "A"), "outer");
    assert_string_equal(env_get(outer_env(), "EMPTY"), "");
    assert_null(env_get(outer_env(), "HOM"));
    assert_null(env_get(outer_env(), "HOME2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build), cmocka_unit_test(test_managers),
        cmocka_unit_test(test_rank),
        cmocka_unit_test(test_rank_too_small),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_get),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
