/* test_pmix_put.c - pmix_ext/data: values of ranks, staged and committed. */
#include "pmix_ext/data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int put(struct data *d, int rank, const char *key, pmix_scope_t scope, const char *text)
{
    struct err e = { 0 };

    return data_put(d, rank, key, scope, text, strlen(text), &e);
}

static void is(const struct data *d, int rank, const char *key, const char *text,
               pmix_scope_t scope)
{
    struct datum found;

    assert_true(data_get(d, rank, key, &found));
    assert_string_equal(found.text, text);
    assert_int_equal(found.len, strlen(text));
    assert_int_equal(found.scope, scope);
    assert_int_equal(found.rank, rank);
}

static void test_commits(void **state)
{
    struct data *d = data_new(1, 3);
    struct datum none;
    struct err e = { 0 };

    (void)state;
    assert_int_equal(put(d, 1, "k", PMIX_LOCAL, "one"), 0);
    assert_int_equal(put(d, 1, "k", PMIX_GLOBAL, "two"), 0);
    assert_int_equal(put(d, 2, "k", PMIX_INTERNAL, "of 2"), 0);
    assert_false(data_get(d, 1, "k", &none));
    assert_false(data_committed(d, 1));
    assert_int_equal(data_commit(d, 1, &e), 0);
    is(d, 1, "k", "two", PMIX_GLOBAL);
    assert_true(data_committed(d, 1));
    assert_false(data_committed(d, 2));
    assert_false(data_get(d, 2, "k", &none));
    assert_int_equal(data_committers(d), 1);
    assert_int_equal(data_commit(d, 1, &e), 0);
    assert_int_equal(data_commit(d, 0, &e), 0);
    assert_int_equal(data_committers(d), 2);
    assert_int_equal(put(d, 1, "k", PMIX_REMOTE, ""), 0);
    is(d, 1, "k", "two", PMIX_GLOBAL);
    assert_int_equal(data_commit(d, 1, &e), 0);
    is(d, 1, "k", "", PMIX_REMOTE);
    assert_false(data_get(d, 0, "k", &none));
    assert_false(data_get(d, 1, "1:k", &none));
    data_free(d);
}

static void test_long_keys(void **state)
{
    char key[PMIX_MAX_KEYLEN + 1], other[PMIX_MAX_KEYLEN + 1];
    struct data *d = data_new(1, 1000000);
    struct datum none;
    struct err e = { 0 };

    (void)state;
    memset(key, 'k', sizeof key);
    key[PMIX_MAX_KEYLEN] = '\0';
    memcpy(other, key, sizeof key);
    other[PMIX_MAX_KEYLEN - 1] = 'l';
    assert_int_equal(put(d, 999999, key, PMIX_GLOBAL, "v"), 0);
    assert_int_equal(data_commit(d, 999999, &e), 0);
    is(d, 999999, key, "v", PMIX_GLOBAL);
    assert_false(data_get(d, 999999, other, &none));
    data_free(d);
    data_free(NULL);
}

/* What waits for a commit, and what a job has, ends at its limit; what was there stays. */
static void test_limits(void **state)
{
    enum { SIZE = 1 << 20 };
    char *big = calloc(1, SIZE + 1), key[16];
    struct data *d = data_new(1, 1);
    struct err e = { 0 };
    int n = 0, rc = 0;

    (void)state;
    memset(big, 'x', SIZE);
    while (n <= DATA_STAGED / SIZE && data_put(d, 0, "k", PMIX_GLOBAL, big, SIZE, &e) == 0)
        n++;
    assert_int_equal(n, DATA_STAGED / SIZE - 1);
    assert_non_null(strstr(e.text, "wait for a commit of rank 0"));
    assert_int_equal(data_commit(d, 0, &e), 0);
    for (n = 0; n <= DATA_BYTES / SIZE && rc == 0; n++) {
        snprintf(key, sizeof key, "k%d", n);
        assert_int_equal(data_put(d, 0, key, PMIX_GLOBAL, big, SIZE, &e), 0);
        rc = data_commit(d, 0, &e);
    }
    assert_int_equal(rc, -1);
    assert_int_equal(e.code, ERR_NOMEM);
    is(d, 0, "k0", big, PMIX_GLOBAL);
    data_free(d);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_commits),
                                        cmocka_unit_test(test_long_keys),
                                        cmocka_unit_test(test_limits) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
