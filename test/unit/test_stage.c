/* test_stage.c - mpiexec_lite/stage: pmi2_proxy beside this program, read and named by
 * its sum.  This test copies itself to a folder of its own and runs there. */
#include "mpiexec_lite/stage.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char beside[PATH_MAX];

static void write_file(const char *text, size_t len)
{
    FILE *f = fopen(beside, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    fclose(f);
}

static void test_beside(void **state)
{
    char path[PATH_MAX], small[4];

    (void)state;
    assert_int_equal(stage_beside(path, sizeof path), 0);
    assert_string_equal(path, beside);
    assert_int_equal(stage_beside(small, sizeof small), -1);
    assert_int_equal(stage_beside(path, strlen(beside)), -1);
    assert_int_equal(stage_beside(path, strlen(beside) + 1), 0);
}

static void test_read(void **state)
{
    struct buf program = BUF_INIT, words = BUF_INIT;
    struct err e = { 0 };

    (void)state;
    write_file("abc", 3);
    assert_int_equal(stage_read(&program, &words, &e), 0);
    assert_int_equal(program.len, 3);
    assert_memory_equal(buf_bytes(&program), "abc", 3);
    assert_non_null(strstr(buf_bytes(&words), "head -c 3 "));
    assert_non_null(strstr(buf_bytes(&words), /* FIPS 180-2, B.1 */
                           "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    buf_clear(&program);
    buf_clear(&words);
}

static void test_large(void **state)
{
    struct buf program = BUF_INIT, words = BUF_INIT;
    size_t n = 1234567;
    char *text = malloc(n);
    struct err e = { 0 };

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)(i * 31 >> 3);
    write_file(text, n);
    assert_int_equal(stage_read(&program, &words, &e), 0);
    assert_int_equal(program.len, n);
    assert_memory_equal(buf_bytes(&program), text, n);
    assert_non_null(strstr(buf_bytes(&words), "head -c 1234567 "));
    free(text);
    buf_clear(&program);
    buf_clear(&words);
}

/* Half a program is none. */
static void test_too_large(void **state)
{
    struct buf program = BUF_INIT, words = BUF_INIT;
    struct err e = { 0 };

    (void)state;
    write_file("", 0);
    assert_int_equal(truncate(beside, 40 << 20), 0);
    if (stage_read(&program, &words, &e) == 0)
        assert_int_equal(program.len, 40 << 20);
    else
        assert_true(*e.text);
    buf_clear(&program);
    buf_clear(&words);
}

static void test_none(void **state)
{
    struct buf program = BUF_INIT, words = BUF_INIT;
    struct err e = { 0 };

    (void)state;
    unlink(beside);
    assert_int_equal(stage_read(&program, &words, &e), -1);
    assert_non_null(strstr(e.text, "-stage-proxy"));
    assert_non_null(strstr(e.text, beside));
    assert_non_null(strstr(e.text, "No such file"));
    buf_clear(&program);
    buf_clear(&words);
}

/* Run a copy of this program in a folder of its own. */
static int run_copy(char **argv)
{
    char dir[] = "/tmp/test_stage.XXXXXX", command[2 * PATH_MAX];
    int rc;

    if (!mkdtemp(dir))
        return 1;
    snprintf(command, sizeof command, "cp '%s' %s/test_stage && %s/test_stage %s", argv[0], dir,
             dir, dir);
    rc = system(command);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) || rc;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside), cmocka_unit_test(test_read),
        cmocka_unit_test(test_large), cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_none),
    };

    if (argc < 2)
        return run_copy(argv);
    snprintf(beside, sizeof beside, "%s/pmi2_proxy", argv[1]);
    return cmocka_run_group_tests_name("stage", tests, NULL, NULL);
}
