/* test_kvs.c - pmi2/kvs: replace, remove, order, growth, a full space. */
#include "pmi2/kvs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/fault.h"

#define PLENTY ((size_t)1 << 30)

/* Heap copies without more behind them than the NUL of the key. */
static int put(struct kvs *kvs, int src, const char *key, const char *value, struct err *e)
{
    size_t n = strlen(value);
    char *k = strdup(key), *v = malloc(n ? n : 1);
    int rc;

    memcpy(v, value, n);
    rc = kvs_put(kvs, src, k, v, n, e);
    free(k);
    free(v);
    return rc;
}

static void assert_value(const struct kvs *kvs, const char *key, const char *want, int src)
{
    struct kvs_entry en;

    if (!want) {
        assert_int_equal(kvs_get(kvs, key, &en), 0);
        return;
    }
    assert_int_equal(kvs_get(kvs, key, &en), 1);
    assert_string_equal(en.key, key);
    assert_string_equal(en.value, want);
    assert_int_equal(en.len, strlen(want));
    assert_int_equal(en.src, src);
}

/* The keys in order, "a b c ". */
static void assert_order(const struct kvs *kvs, const char *want)
{
    char got[200] = "";
    struct kvs_entry en;
    size_t n = 0;

    for (; kvs_at(kvs, n, &en); n++) {
        strcat(got, en.key);
        strcat(got, " ");
    }
    assert_string_equal(got, want);
    assert_int_equal(kvs_count(kvs), n);
    assert_int_equal(kvs_at(kvs, n + 1, &en), 0);
    assert_int_equal(kvs_at(kvs, SIZE_MAX, &en), 0);
}

static void test_empty(void **state)
{
    struct kvs *kvs = kvs_new(1, PLENTY);

    (void)state;
    assert_non_null(kvs);
    assert_value(kvs, "a", NULL, 0);
    assert_int_equal(kvs_remove(kvs, "a"), 0);
    assert_order(kvs, "");
    assert_int_equal(kvs_bytes(kvs), 0);
    kvs_free(kvs);
    kvs_free(NULL);
}

/* One step of a story: '+' put, '-' remove what is there, '!' remove what is not;
 * then what the space holds. */
static const struct { const char *name; char what; const char *key, *value, *order; } story[] = {
    { "first",                          '+', "b",  "1",  "b " },
    { "second",                         '+', "a",  "2",  "b a " },
    { "an empty value",                 '+', "c",  "",   "b a c " },
    { "an empty key",                   '+', "",   "4",  "b a c  " },
    { "replaced: keeps its place",      '+', "b",  "longer than before", "b a c  " },
    { "replaced by less",               '+', "b",  "",   "b a c  " },
    { "removed from the middle",        '-', "a",  NULL, "b c  " },
    { "removed twice",                  '!', "a",  NULL, "b c  " },
    { "was never there",                '!', "x",  NULL, "b c  " },
    { "another one while one is gone",  '+', "d",  "5",  "b c  d " },
    { "put again: its old place",       '+', "a",  "6",  "b a c  d " },
    { "the first removed",              '-', "b",  NULL, "a c  d " },
    { "the last removed",               '-', "d",  NULL, "a c  " },
    { "two more",                       '-', "",   NULL, "a c " },
    { "all removed but one",            '-', "a",  NULL, "c " },
    { "none left",                      '-', "c",  NULL, "" },
    { "and from new",                   '+', "c",  "7",  "c " },
};

static void test_story(void **state)
{
    struct kvs *kvs = kvs_new(2, PLENTY);

    (void)state;
    for (size_t i = 0; i < sizeof story / sizeof *story; i++) {
        struct err e = { 0 };

        print_message("  %s\n", story[i].name);
        if (story[i].what == '+')
            assert_int_equal(put(kvs, (int)i, story[i].key, story[i].value, &e), 0);
        else
            assert_int_equal(kvs_remove(kvs, story[i].key), story[i].what == '-');
        assert_value(kvs, story[i].key, story[i].value, (int)i);
        assert_order(kvs, story[i].order);
        assert_string_equal(e.text, "");
    }
    kvs_free(kvs);
}

static void test_similar_keys(void **state)
{
    static const char *const keys[] = { "a", "A", "a ", " a", "aa", "a\xC3\xA4", "a;", "a=" };
    struct kvs *kvs = kvs_new(3, PLENTY);
    struct err e;

    (void)state;
    for (int i = 0; i < 8; i++)
        assert_int_equal(put(kvs, i, keys[i], keys[7 - i], &e), 0);
    for (int i = 0; i < 8; i++)
        assert_value(kvs, keys[i], keys[7 - i], i);
    assert_value(kvs, "aaa", NULL, 0);
    kvs_free(kvs);
}

/* What is in the space may lie at any address; values are of all lengths. */
static void test_lengths(void **state)
{
    struct kvs *kvs = kvs_new(4, PLENTY);
    char key[40], *value = malloc(2000);

    (void)state;
    memset(value, 'v', 2000);
    for (size_t n = 0; n < 2000; n++) {
        struct err e;

        memset(key, 'k', sizeof key);
        snprintf(key + n % 20, sizeof key - 20, "%zu", n);
        assert_int_equal(kvs_put(kvs, -(int)n, key, value, n, &e), 0);
    }
    for (size_t n = 0; n < 2000; n++) {
        struct kvs_entry en;

        memset(key, 'k', sizeof key);
        snprintf(key + n % 20, sizeof key - 20, "%zu", n);
        assert_int_equal(kvs_get(kvs, key, &en), 1);
        assert_int_equal(en.len, n);
        assert_int_equal(en.src, -(int)n);
        assert_memory_equal(en.value, value, n);
        assert_int_equal(en.value[n], 0);
    }
    free(value);
    kvs_free(kvs);
}

static void test_growth(void **state)
{
    enum { N = 100000 };
    struct kvs *kvs = kvs_new(0x9E3779B97F4A7C15, PLENTY);
    struct kvs_entry en;
    char key[32], value[64];
    struct err e;

    (void)state;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < N; i++) {
            snprintf(key, sizeof key, "card-%d", i);
            snprintf(value, sizeof value, "%d of round %d", i, round);
            assert_int_equal(kvs_put(kvs, i % 7, key, value, strlen(value), &e), 0);
        }
    assert_int_equal(kvs_count(kvs), N);
    for (int i = 0; i < N; i++) {
        snprintf(key, sizeof key, "card-%d", i);
        snprintf(value, sizeof value, "%d of round 1", i);
        assert_int_equal(kvs_get(kvs, key, &en), 1);
        assert_string_equal(en.value, value);
        assert_int_equal(kvs_at(kvs, (size_t)i, &en), 1);
        assert_string_equal(en.key, key);
        assert_int_equal(en.src, i % 7);
    }
    for (int i = 0; i < N; i += 2) {
        snprintf(key, sizeof key, "card-%d", i);
        assert_int_equal(kvs_remove(kvs, key), 1);
    }
    assert_int_equal(kvs_count(kvs), N / 2);
    for (int i = 0; i < N; i++) {
        snprintf(key, sizeof key, "card-%d", i);
        assert_int_equal(kvs_get(kvs, key, &en), i % 2);
    }
    assert_int_equal(kvs_at(kvs, 10, &en), 1);
    assert_string_equal(en.key, "card-21");
    kvs_free(kvs);
}

static void test_full(void **state)
{
    struct kvs *kvs = kvs_new(5, 100);
    struct err e = { 0 };
    size_t used;

    (void)state;
    assert_int_equal(put(kvs, 0, "a", "1", &e), 0);
    assert_int_equal(put(kvs, 0, "b", "2", &e), 0);
    used = kvs_bytes(kvs);
    assert_true(used <= 100);
    assert_int_equal(put(kvs, 1, "c", "a value that is far too long for what is left of it, "
                         "whatever a record costs", &e), -1);
    assert_int_equal(e.code, ERR_NOMEM);
    assert_string_equal(e.text, "the key-value space is full (100 bytes)");
    assert_int_equal(put(kvs, 1, "a", "neither can a value that is there already grow beyond "
                         "what is left of it", &e), -1);
    assert_int_equal(kvs_bytes(kvs), used);
    assert_value(kvs, "a", "1", 0);
    assert_value(kvs, "c", NULL, 0);
    assert_order(kvs, "a b ");
    assert_int_equal(put(kvs, 1, "d", "4", &e), 0);      /* less still fits */
    assert_order(kvs, "a b d ");
    assert_int_equal(kvs_put(kvs, 0, "e", "", SIZE_MAX, &e), -1);
    assert_int_equal(kvs_put(kvs, 0, "e", "", SIZE_MAX - 20, &e), -1);
    kvs_free(kvs);
}

static void test_no_room_at_all(void **state)
{
    struct kvs *kvs = kvs_new(5, 0);
    struct err e;

    (void)state;
    assert_int_equal(put(kvs, 0, "", "", &e), -1);
    assert_value(kvs, "", NULL, 0);
    assert_order(kvs, "");
    kvs_free(kvs);
}

/* Filled to the last byte: the same keys are refused for ever, the rest stays. */
static void test_filled_to_the_end(void **state)
{
    struct kvs *kvs = kvs_new(6, 4096);
    struct err e;
    char key[16];
    int n = 0, rc;

    (void)state;
    do {
        snprintf(key, sizeof key, "%d", n);
        rc = put(kvs, n, key, key, &e);
    } while (rc == 0 && ++n);
    assert_true(kvs_bytes(kvs) <= 4096 && kvs_bytes(kvs) > 4096 - 40);
    assert_int_equal(kvs_count(kvs), n);
    assert_int_equal(put(kvs, 0, "0", "as long as the one that did not fit", &e), -1);
    for (int i = 0; i < n; i++) {
        snprintf(key, sizeof key, "%d", i);
        assert_value(kvs, key, key, i);
    }
    kvs_free(kvs);
}

static void test_no_memory(void **state)
{
    char key[16], value[200];

    (void)state;
    fault_begin();
    memset(value, 'v', sizeof value);
    fault_after(0);
    assert_null(kvs_new(7, PLENTY));
    assert_true(fault_hit);
    for (long nth = 0;; nth++) {
        struct kvs *kvs = kvs_new(7, PLENTY);
        int done = 0, rc = 0;
        struct err e = { 0 };
        bool hit;

        fault_after(nth);
        for (; done < 200 && rc == 0; done += rc == 0) {
            snprintf(key, sizeof key, "%d", done);
            rc = kvs_put(kvs, done, key, value, sizeof value, &e);
        }
        hit = fault_hit;
        fault_end();
        assert_int_equal(rc, hit ? -1 : 0);
        if (hit)
            assert_string_equal(e.text, "no memory for the key-value space");
        assert_int_equal(kvs_count(kvs), done);
        if (hit)
            assert_value(kvs, key, NULL, 0);
        for (int more = 0; more < 40; more++, done++) {  /* it goes on */
            snprintf(key, sizeof key, "%d", done);
            assert_int_equal(kvs_put(kvs, done, key, key, strlen(key), &e), 0);
            assert_value(kvs, key, key, done);
        }
        assert_int_equal(kvs_count(kvs), done);
        kvs_free(kvs);
        if (!hit)
            break;
    }
}

/* The keys of a block, each with a blank behind it. */
static const char *keys_of(struct kvs *kvs, uint32_t block)
{
    static char text[200];
    struct kvs_entry en;
    uint32_t at = 0;

    *text = '\0';
    while (kvs_block_at(kvs, block, &at, &en)) {
        assert_int_equal(en.block, block);
        strcat(strcat(text, en.key), " ");
    }
    return text;
}

static void put_in(struct kvs *kvs, uint32_t block, const char *key)
{
    kvs_block_use(kvs, block);
    assert_int_equal(kvs_put(kvs, 0, key, "v", 1, NULL), 0);
}

static void test_blocks(void **state)
{
    struct kvs *kvs = kvs_new(1, 1 << 20);
    struct kvs_entry en;
    uint32_t a, b, empty;

    (void)state;
    assert_int_equal(kvs_put(kvs, 0, "none", "v", 1, NULL), 0);
    assert_int_equal(kvs_get(kvs, "none", &en), 1);
    assert_int_equal(en.block, 0);
    a = kvs_block_new(kvs);
    assert_int_equal(a, 1);
    assert_int_equal(kvs_put(kvs, 0, "a1", "v", 1, NULL), 0);    /* a new one is in use */
    b = kvs_block_new(kvs);
    empty = kvs_block_new(kvs);
    put_in(kvs, b, "b1");
    put_in(kvs, a, "a2");
    put_in(kvs, b, "b2");
    put_in(kvs, a, "a3");
    put_in(kvs, 0, "zero");
    assert_string_equal(keys_of(kvs, a), "a1 a2 a3 ");
    assert_string_equal(keys_of(kvs, b), "b1 b2 ");
    assert_string_equal(keys_of(kvs, empty), "");
    put_in(kvs, b, "a2");                    /* it moves with its new value */
    put_in(kvs, a, "a1");                    /* and here to the end */
    assert_string_equal(keys_of(kvs, a), "a3 a1 ");
    assert_string_equal(keys_of(kvs, b), "b1 b2 a2 ");
    assert_int_equal(kvs_remove(kvs, "a3"), 1);
    assert_int_equal(kvs_remove(kvs, "b1"), 1);
    assert_string_equal(keys_of(kvs, a), "a1 ");
    assert_string_equal(keys_of(kvs, b), "b2 a2 ");
    put_in(kvs, 0, "b2");
    put_in(kvs, a, "b1");
    assert_string_equal(keys_of(kvs, a), "a1 b1 ");
    assert_string_equal(keys_of(kvs, b), "a2 ");
    kvs_free(kvs);
}

/* Many, while the arena moves. */
static void test_many_blocks(void **state)
{
    struct kvs *kvs = kvs_new(1, 1 << 24);

    (void)state;
    for (uint32_t n = 1; n <= 3000; n++) {
        assert_int_equal(kvs_block_new(kvs), n);
        for (int k = 0; k < 3; k++) {
            char key[40];

            snprintf(key, sizeof key, "%u.%d", n, k);
            put_in(kvs, n, key);
        }
    }
    for (uint32_t n = 1; n <= 3000; n++) {
        char want[60];

        snprintf(want, sizeof want, "%u.0 %u.1 %u.2 ", n, n, n);
        assert_string_equal(keys_of(kvs, n), want);
    }
    kvs_free(kvs);
}

/* --- sweeping ---------------------------------------------------------- */

/* A value that is put again and again takes no more room than a few. */
static void test_put_again(void **state)
{
    struct kvs *kvs = kvs_new(1, PLENTY);
    char value[2000];
    struct err e;

    (void)state;
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    assert_int_equal(put(kvs, 0, "stays", "here", &e), 0);
    for (int i = 0; i < 100000; i++) {
        value[0] = (char)('a' + i % 26);
        assert_int_equal(put(kvs, 1, "again", value, &e), 0);
        assert_int_equal(put(kvs, 2, "gone", "x", &e), 0);
        assert_int_equal(kvs_remove(kvs, "gone"), 1);
    }
    assert_true(kvs_bytes(kvs) < 20000);
    assert_value(kvs, "stays", "here", 0);
    assert_value(kvs, "again", value, 1);
    assert_order(kvs, "stays again ");
    kvs_free(kvs);
}

/* The same in a space that has just room for what lives. */
static void test_put_again_in_little(void **state)
{
    struct kvs *kvs = kvs_new(1, 3000);
    struct err e;
    char key[20];

    (void)state;
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "k%d", i % 40);
        assert_int_equal(put(kvs, i, key, "some text that takes room", &e), 0);
    }
    for (int i = 0; i < 40; i++) {
        snprintf(key, sizeof key, "k%d", i);
        assert_value(kvs, key, "some text that takes room", 1960 + i);
    }
    kvs_free(kvs);
}

enum { KEYS = 24, BLOCKS = 8 };

/* What the space should hold. */
struct copy {
    int      at[KEYS];               /* time of the put; 0: not there */
    uint32_t block[KEYS];
};

static void text_at(char *out, int time)
{
    snprintf(out, 300, "%d-%*s", time, time * 7919 % 200, "");
}

static void assert_block(struct kvs *kvs, const struct copy *c, uint32_t block)
{
    struct kvs_entry en;
    uint32_t at = 0;
    int seen = 0, last = 0, want = 0;

    for (int k = 0; k < KEYS; k++)
        want += c->at[k] && c->block[k] == block;
    for (; kvs_block_at(kvs, block, &at, &en); seen++) {
        int k = atoi(en.key + 1);

        assert_int_equal(c->block[k], block);
        assert_int_equal(atoi(en.value), c->at[k]);
        assert_true(c->at[k] > last);
        last = c->at[k];
    }
    assert_int_equal(seen, want);
}

static void assert_copy(struct kvs *kvs, const struct copy *c, const uint32_t *blocks)
{
    char key[20], value[300];

    for (int k = 0; k < KEYS; k++) {
        snprintf(key, sizeof key, "k%d", k);
        text_at(value, c->at[k]);
        assert_value(kvs, key, c->at[k] ? value : NULL, c->at[k]);
    }
    for (int b = 0; b < BLOCKS; b++)
        assert_block(kvs, c, blocks[b]);
}

static void test_random(void **state)
{
    struct kvs *kvs = kvs_new(1, PLENTY);
    uint32_t blocks[BLOCKS] = { 0 };
    struct copy c = { 0 };
    struct err e;

    (void)state;
    srand(7);
    for (int b = 0; b < BLOCKS; b++) {
        blocks[b] = kvs_block_new(kvs);
        assert_int_equal(put(kvs, 0, "first", "x", &e), 0);
    }
    for (int time = 1; time < 20000; time++) {
        int k = rand() % KEYS, b = rand() % BLOCKS;
        char key[20], value[300];

        snprintf(key, sizeof key, "k%d", k);
        if (rand() % 4 == 0) {
            assert_int_equal(kvs_remove(kvs, key), c.at[k] != 0);
            c.at[k] = 0;
        } else {
            if (rand() % 8 == 0) {           /* an old block is let go */
                kvs_block_new(kvs);
                for (int i = 0; i < KEYS; i++)
                    if (c.block[i] == blocks[b])
                        c.block[i] = 0;
                blocks[b] = kvs_block_last(kvs);
            }
            kvs_block_use(kvs, blocks[b]);
            text_at(value, time);
            assert_int_equal(put(kvs, time, key, value, &e), 0);
            c.at[k] = time;
            c.block[k] = blocks[b];
        }
        if (time % 16 == 0)
            assert_copy(kvs, &c, blocks);
    }
    assert_true(kvs_bytes(kvs) < 32768);
    kvs_free(kvs);
}

/* A key that is fixed is put no more, through all that happens to the store, until it is
 * removed. */
static void test_fixed(void **state)
{
    struct kvs *k = kvs_new(1, 1 << 16);
    struct kvs_entry en;
    struct err e = { 0 };

    (void)state;
    assert_non_null(k);
    kvs_fix(k, "none");
    assert_int_equal(kvs_put(k, 1, "k", "v", 1, &e), 0);
    assert_int_equal(kvs_get(k, "k", &en), 1);
    assert_false(en.fixed);
    kvs_fix(k, "k");
    for (int i = 0; i < 5000; i++)       /* grown and swept */
        assert_int_equal(kvs_put(k, 2, i % 2 ? "a" : "b", "0123456789", 10, &e), 0);
    assert_int_equal(kvs_put(k, 2, "k", "w", 1, &e), -1);
    assert_int_equal(e.code, ERR_INVALID_KEY);
    assert_int_equal(kvs_get(k, "k", &en), 1);
    assert_true(en.fixed);
    assert_string_equal(en.value, "v");
    assert_int_equal(kvs_remove(k, "k"), 1);
    assert_int_equal(kvs_put(k, 2, "k", "w", 1, &e), 0);
    assert_int_equal(kvs_get(k, "k", &en), 1);
    assert_false(en.fixed);
    kvs_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_story),
        cmocka_unit_test(test_similar_keys),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_no_room_at_all),
        cmocka_unit_test(test_filled_to_the_end),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_many_blocks),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_put_again),
        cmocka_unit_test(test_put_again_in_little),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests_name("kvs", tests, NULL, NULL);
}
