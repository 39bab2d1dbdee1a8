/* test_share.c - pmi2/share: records, chunks, what goes up and what comes down, and how
 * much of it. */
#include "test/unit/fake_tree.h"

#include "mpiexec_lite/link.h"
#include "pmi2/core.h"
#include "test/unit/fake_memory.h"

#define GOT(r, v) r "< cmd=get_result rc=0 value=" v "\n"
#define GET(r, k, v) r "> cmd=get key=" k "\n", GOT(r, v)

/* --- records ----------------------------------------------------------- */

#define N(x) x "\0\0\0"
#define DATA(text) text, sizeof text - 1

static const struct {
    const char *name, *data;
    size_t      len;
    int         rc;
    struct share_record want;
} records[] = {
    { "none", "", 0, 0, { 0 } },
    { "one", DATA(N("\7") N("\1") N("\2") "k\0vw\0"), 1, { 7, "k", "vw", 2, false, false } },
    { "an empty value", DATA(N("\0") N("\1") N("\0") "k\0\0"), 1, { 0, "k", "", 0, false, false } },
    { "an empty key", DATA(N("\0") N("\0") N("\1") "\0v\0"), 1, { 0, "", "v", 1, false, false } },
    { "to be dropped", DATA(N("\0") N("\1") "\377\377\377\377k\0"), 1,
      { 0, "k", NULL, 0, true, false } },
    { "read-only", DATA(N("\7") "\1\0\0\200" N("\2") "k\0vw\0"), 1,
      { 7, "k", "vw", 2, false, true } },
    { "one byte", DATA("\1"), -1, { 0 } },
    { "numbers only", DATA(N("\1") N("\1") N("\1")), -1, { 0 } },
    { "numbers cut off", DATA(N("\1") N("\1") "\1\0\0"), -1, { 0 } },
    { "key cut off", DATA(N("\1") N("\2") N("\1") "k"), -1, { 0 } },
    { "no NUL behind the key", DATA(N("\1") N("\1") N("\1") "kvv\0"), -1, { 0 } },
    { "NUL in the key", DATA(N("\1") N("\3") N("\1") "k\0k\0v\0"), -1, { 0 } },
    { "value cut off", DATA(N("\1") N("\1") N("\2") "k\0v"), -1, { 0 } },
    { "no NUL behind the value", DATA(N("\1") N("\1") N("\1") "k\0v"), -1, { 0 } },
    { "NUL in the value", DATA(N("\1") N("\1") N("\3") "k\0v\0v\0"), -1, { 0 } },
    { "a huge key", DATA(N("\1") "\377\377\377\377" N("\1") "k\0v\0"), -1, { 0 } },
    { "a huge value", DATA(N("\1") N("\1") "\376\377\377\377k\0v\0"), -1, { 0 } },
    { "a rank below zero", DATA("\0\0\0\200" N("\1") N("\1") "k\0v\0"), -1, { 0 } },
};

static void test_records(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(records); i++) {
        char *copy = malloc(records[i].len ? records[i].len : 1);
        const char *at = copy;
        size_t len = records[i].len;
        struct share_record r = { 0 };
        struct err e = { 0 };

        assert_non_null(copy);
        print_message("  %s\n", records[i].name);
        memcpy(copy, records[i].data, len);
        assert_int_equal(share_next(&at, &len, &r, &e), records[i].rc);
        assert_int_equal(e.code != ERR_NONE, records[i].rc < 0);
        if (records[i].rc > 0) {
            assert_int_equal(r.src, records[i].want.src);
            assert_string_equal(r.key, records[i].want.key);
            assert_int_equal(r.drop, records[i].want.drop);
            assert_int_equal(r.fixed, records[i].want.fixed);
            assert_int_equal(r.len, records[i].want.len);
            if (!r.drop)
                assert_string_equal(r.value, records[i].want.value);
            assert_int_equal(len, 0);
        }
        free(copy);
    }
}

static void test_added_is_read(void **state)
{
    struct buf b = BUF_INIT;
    struct share_record r;
    const char *at;
    size_t len;

    (void)state;
    share_add(&b, 3, "a", "1", 1, false);
    share_add(&b, 99999, "key", "", 0, true);
    share_add(&b, 0, "b", "x;y\n", 4, false);
    at = buf_bytes(&b);
    len = b.len;
    assert_int_equal(share_next(&at, &len, &r, NULL), 1);
    assert_string_equal(r.value, "1");
    assert_int_equal(share_next(&at, &len, &r, NULL), 1);
    assert_int_equal(r.src, 99999);
    assert_string_equal(r.key, "key");
    assert_int_equal(share_next(&at, &len, &r, NULL), 1);
    assert_string_equal(r.value, "x;y\n");
    assert_int_equal(share_next(&at, &len, &r, NULL), 0);
    buf_clear(&b);
}

/* --- much data --------------------------------------------------------- */

static struct fake_tree *open_tree(const char *shape, const char *where, size_t release)
{
    struct server_options o = { .release_bytes = release };
    struct fake_tree *t = malloc(sizeof *t);

    assert_non_null(t);
    assert_true(tree_open(t, shape, where, &o, 7));
    for (int r = 0; r < t->size; r++)
        fake_init(tree_fake(t, (char)('0' + r)), (char)('0' + r), "1", SIZE_MAX);
    return t;
}

static void close_tree(struct fake_tree *t)
{
    for (int i = 0; i < t->n; i++)
        fake_nothing_left(&t->node[i].fake);
    tree_close(t);
    free(t);
}

/* Rank r puts a key whose value is len times fill. */
static void put(struct fake_tree *t, int r, const char *key, char fill, size_t len)
{
    struct buf line = BUF_INIT;
    struct fake *f = tree_fake(t, (char)('0' + r));

    buf_printf(&line, "cmd=put key=%s value=", key);
    for (size_t i = 0; i < len; i++)
        buf_char(&line, fill);
    buf_char(&line, '\n');
    assert_false(line.failed);
    fake_input(f, (char)('0' + r), buf_bytes(&line), line.len, SIZE_MAX);
    fake_expect(f, (char)('0' + r), "cmd=put_result rc=0\n", 20);
    buf_clear(&line);
}

/* Rank r gets it; len 0: there is none. */
static void get(struct fake_tree *t, int r, const char *key, char fill, size_t len)
{
    struct fake *f = tree_fake(t, (char)('0' + r));
    struct fake_link *l = fake_link(f, (char)('0' + r));
    struct buf line = BUF_INIT;

    buf_printf(&line, "cmd=get key=%s\n", key);
    fake_input(f, (char)('0' + r), buf_bytes(&line), line.len, SIZE_MAX);
    tree_settle(t);
    buf_reset(&line);
    buf_str(&line, len ? "cmd=get_result rc=0 value=" : "cmd=get_result rc=1 msg=key_not_found");
    for (size_t i = 0; i < len; i++)
        buf_char(&line, fill);
    buf_char(&line, '\n');
    if (l->sent.len != line.len || memcmp(buf_bytes(&l->sent), buf_bytes(&line), line.len))
        print_error("    rank %d, key %s: %.60s\n", r, key,
                    l->sent.len ? buf_bytes(&l->sent) : "nothing");
    assert_int_equal(l->sent.len, line.len);
    assert_memory_equal(buf_bytes(&l->sent), buf_bytes(&line), line.len);
    buf_consume(&l->sent, l->sent.len);
    buf_clear(&line);
}

static void say(struct fake_tree *t, const char *const *steps)
{
    for (; *steps; steps++)
        tree_step(t, *steps, SIZE_MAX);
}

/* All ranks fence. */
static void fence(struct fake_tree *t)
{
    char step[40];

    for (int i = 0; i < 2 * t->size; i++) {
        snprintf(step, sizeof step, i < t->size ? "%d> cmd=barrier_in\n"
                 : "%d< cmd=barrier_out rc=0\n", i % t->size);
        tree_step(t, step, SIZE_MAX);
    }
}

static const struct { const char *name; size_t keys, len, release; } amounts[] = {
    { "one chunk", 10, 100, 1 << 18 },
    { "several chunks", 300, 500, 1 << 20 },
    { "several chunks, none sent along", 300, 500, 0 },
    { "some are sent along", 300, 500, 100000 },
    { "the longest values", 5, LIMIT_VALUE, 1 << 20 },
    { "the longest values, none sent along", 5, LIMIT_VALUE, 0 },
    { "much, none sent along", 3000, 1000, 0 },
    { "more than may lie about", 3000, 1000, 1 << 24 },
};

/* Every rank puts, all get everything; twice, so that there are old values. */
static void test_amounts(void **state)
{
    static const char *const shapes[] = { "-00", "-01" };

    (void)state;
    for (size_t i = 0; i < N_OF(amounts); i++)
        for (size_t k = 0; k < N_OF(shapes); k++) {
            struct fake_tree *t = open_tree(shapes[k], "0122", amounts[i].release);

            print_message("  %s, %s\n", amounts[i].name, shapes[k]);
            for (int round = 0; round < 2; round++) {
                char key[40];

                t->largest = 0;          /* of the second round: it is sent along */
                for (size_t n = 0; n < amounts[i].keys; n++) {
                    snprintf(key, sizeof key, "k%zu", n);
                    put(t, (int)((n + (size_t)round) % 4), key, (char)('a' + round + n % 20),
                        amounts[i].len - (size_t)round);
                }
                fence(t);
                for (size_t n = 0; n < amounts[i].keys; n++) {
                    snprintf(key, sizeof key, "k%zu", n);
                    get(t, (int)((n + 1) % 4), key, (char)('a' + round + n % 20),
                        amounts[i].len - (size_t)round);
                    get(t, (int)((n + 2) % 4), key, (char)('a' + round + n % 20),
                        amounts[i].len - (size_t)round);
                }
                get(t, 3, "none", 'x', 0);
            }
            assert_true(t->largest < LIMIT_CHUNK + LIMIT_VALUE + 200 ||
                        amounts[i].release == 0 || amounts[i].release == 100000);
            close_tree(t);
        }
}

/* No message is longer than a link carries, however much the ranks of one node have put
 * between two fences. */
static void test_large_block(void **state)
{
    (void)state;
    for (int from = 0; from < 2; from++) {
        struct fake_tree *t = open_tree("-01", "012", 0);
        char key[40];

        for (int n = 0; n < LINK_PAYLOAD / LIMIT_VALUE + 20; n++) {
            snprintf(key, sizeof key, "k%d", n);
            put(t, from, key, 'v', LIMIT_VALUE);
        }
        put(t, 2, "wide", 'v', LIMIT_VALUE);     /* it can take such values */
        fence(t);
        get(t, 2, "k3", 'v', LIMIT_VALUE);
        print_message("  put by rank %d: %zu bytes in one message\n", from, t->largest);
        assert_true(t->largest <= LINK_PAYLOAD);
        close_tree(t);
    }
}

/* The texts of a ring may be long, too; ten ranks of the longest are no trouble yet. */
static void test_large_ring(void **state)
{
    struct server_options o = { .release_bytes = 0 };
    struct fake_tree *t = malloc(sizeof *t);
    struct buf frame = BUF_INIT;

    (void)state;
    assert_non_null(t);
    assert_true(tree_open(t, "-00", "0121212121", &o, 1));
    for (int r = 0; r < t->size; r++) {
        struct fake *f = tree_fake(t, (char)('0' + r));
        struct buf body = BUF_INIT;

        fake_init(f, (char)('0' + r), "2", SIZE_MAX);
        fake_link(f, (char)('0' + r))->conn->wide = true;
        buf_str(&body, "cmd=ring;ring-left=");
        for (int i = 0; i < 30000; i++)
            buf_char(&body, 'l');
        buf_str(&body, ";ring-right=");
        for (int i = 0; i < 30000; i++)
            buf_char(&body, 'r');
        buf_char(&body, ';');
        buf_reset(&frame);
        fake_frame(&frame, buf_bytes(&body));
        fake_input(f, (char)('0' + r), buf_bytes(&frame), frame.len, SIZE_MAX);
        buf_clear(&body);
    }
    tree_settle(t);
    for (int r = 0; r < t->size; r++) {
        struct fake_link *l = fake_link(tree_fake(t, (char)('0' + r)), (char)('0' + r));

        assert_true(l->sent.len > 60000);
        buf_consume(&l->sent, l->sent.len);
    }
    buf_clear(&frame);
    close_tree(t);
}

/* --- order ------------------------------------------------------------- */

/* What a node has sent later counts, also where the first part still waits at the server
 * above for that server's own ranks. */
static void test_order_on_the_way(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        struct server_options o = { .release_bytes = 0 };
        struct fake_tree *t = malloc(sizeof *t);
        static const char *const start[] = { "0+12", "1+12", "2+12", NULL };
        static const char *const first[] = { "2> cmd=put key=k value=old\n",
            "2< cmd=put_result rc=0\n", "2> cmd=barrier_in group=WORLD:1\n", "2=",
            "2> cmd=put key=k value=new\n", "2< cmd=put_result rc=0\n", NULL };
        static const char *const last[] = { "2> cmd=barrier_in group=0,2:2\n",
            "0> cmd=barrier_in group=0,2:2\n", "0< cmd=barrier_out rc=0 tag=2\n",
            "2< cmd=barrier_out rc=0 tag=2\n", "0> cmd=barrier_in group=WORLD:1\n",
            "1> cmd=barrier_in group=WORLD:1\n", "0< cmd=barrier_out rc=0 tag=1\n",
            "1< cmd=barrier_out rc=0 tag=1\n", "2< cmd=barrier_out rc=0 tag=1\n",
            GET("0", "k", "new"), GET("1", "k", "new"), GET("2", "k", "new"), NULL };

        assert_non_null(t);
        assert_true(tree_open(t, "-01", "012", &o, 3));
        print_message("  %s\n", big ? "with more than a chunk" : "little");
        say(t, start);
        say(t, first);
        for (int n = 0; big && n < 100; n++) {
            char key[40];

            snprintf(key, sizeof key, "x%d", n);
            put(t, 2, key, 'x', 1000);
        }
        say(t, last);
        close_tree(t);
    }
}

/* --- what is kept ------------------------------------------------------ */

/* A job that is all on one node tells nobody, and keeps nothing to tell. */
static void test_alone_elsewhere(void **state)
{
    struct fake_tree *t = open_tree("-0", "11", 1 << 18);

    (void)state;
    for (int i = 0; i < 50; i++) {
        put(t, i % 2, "k", (char)('a' + i % 26), 1000);
        fence(t);
    }
    get(t, 0, "k", (char)('a' + 49 % 26), 1000);
    print_message("  kept to be told: %zu bytes\n", t->node[1].fake.job[0]->news.len);
    assert_true(t->node[1].fake.job[0]->news.len < 2000);
    close_tree(t);
}

/* The root keeps no more for a release than goes along with one. */
static void test_news_are_limited(void **state)
{
    struct fake_tree *t = open_tree("-0", "01", 5000);
    char key[40];

    (void)state;
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof key, "k%d", i);
        put(t, 0, key, 'v', 1000);
        assert_true(t->node[0].fake.job[0]->news.len <= 5000);
    }
    fence(t);
    assert_int_equal(t->node[0].fake.job[0]->news.len, 0);
    assert_int_equal(t->node[0].fake.job[0]->again.len, 0);
    get(t, 1, "k77", 'v', 1000);
    close_tree(t);
}

/* A key that is not there is asked for once between two releases. */
static void test_missing_is_asked_once(void **state)
{
    struct fake_tree *t = open_tree("-01", "0122", 0);
    size_t before;

    (void)state;
    get(t, 2, "k", 'x', 0);
    assert_int_equal(t->messages, 4);        /* two up, two down */
    get(t, 2, "k", 'x', 0);
    get(t, 3, "k", 'x', 0);
    get(t, 1, "k", 'x', 0);
    assert_int_equal(t->messages, 4);
    fence(t);
    before = t->messages;
    get(t, 3, "k", 'x', 0);
    assert_int_equal(t->messages, before + 4);
    close_tree(t);
}

/* A value that has come is not asked for again. */
static void test_found_is_asked_once(void **state)
{
    struct fake_tree *t = open_tree("-01", "0122", 0);
    size_t before;

    (void)state;
    put(t, 0, "a", '1', 1);
    put(t, 0, "b", '2', 1);
    fence(t);
    before = t->messages;
    get(t, 2, "a", '1', 1);
    assert_int_equal(t->messages, before + 4);
    get(t, 3, "b", '2', 1);                  /* the rest of the block has come with it */
    get(t, 1, "b", '2', 1);
    assert_int_equal(t->messages, before + 4);
    close_tree(t);
}

/* The first time, all of a small exchange comes with one answer; from then on it goes
 * along with the release, and is not asked for at all. */
static void test_small_is_asked_once(void **state)
{
    struct fake_tree *t = open_tree("-01", "0122", 1000);

    (void)state;
    for (int round = 0; round < 3; round++) {
        char fill = (char)('1' + round);
        size_t before;

        put(t, 0, "a", fill, 1);
        put(t, 1, "b", fill, 1);
        put(t, 3, "c", 'z', 2);
        put(t, 3, "c", fill, 1);             /* of two the last one counts */
        fence(t);
        before = t->messages;
        for (int i = 0; i < 10; i++)         /* by looking, and by the index */
            for (int r = 3; r >= 0; r--) {
                get(t, r, "a", fill, 1);
                get(t, r, "b", fill, 1);
                get(t, r, "c", fill, 1);
            }
        assert_int_equal(t->messages - before, round ? 0 : 4);   /* two up, two down */
    }
    close_tree(t);
}

/* A small exchange that nobody reads costs no data, and can be had as long as there is no
 * other; of an older one keys are asked for one by one. */
static void test_held(void **state)
{
    struct fake_tree *t = open_tree("-01", "0122", 1000);
    size_t before;

    (void)state;
    put(t, 0, "a", '1', 500);
    fence(t);
    assert_int_equal(t->largest, 0);
    put(t, 0, "b", '2', 500);
    put(t, 0, "c", '3', 300);
    fence(t);
    fence(t);
    assert_int_equal(t->largest, 0);
    before = t->messages;
    get(t, 2, "b", '2', 500);
    assert_int_equal(t->messages - before, 4);
    get(t, 3, "c", '3', 300);
    get(t, 1, "c", '3', 300);                /* node 1 has passed it on */
    fence(t);                                /* still the same */
    before = t->messages;
    get(t, 1, "b", '2', 500);
    assert_int_equal(t->messages, before);
    get(t, 2, "a", '1', 500);
    assert_int_equal(t->messages - before, 4);
    get(t, 2, "d", 'x', 0);
    assert_int_equal(t->messages - before, 8);
    close_tree(t);
}

/* A server in the middle has what one release held, and is asked for that of a later. */
static void test_held_anew(void **state)
{
    struct fake_tree *t = open_tree("-01", "0122", 1000);
    size_t before;

    (void)state;
    put(t, 0, "a", '1', 1);
    fence(t);
    get(t, 1, "a", '1', 1);
    put(t, 0, "b", '2', 1);
    fence(t);                                /* sent along, and not read */
    put(t, 0, "a", '3', 1);
    fence(t);
    before = t->messages;
    get(t, 2, "a", '3', 1);
    get(t, 1, "a", '3', 1);
    assert_int_equal(t->messages - before, 4);
    close_tree(t);
}

/* Ranks of several nodes ask at the same time, for one key that there is and one that there
 * is not: the first question is shared. */
static void test_held_is_shared(void **state)
{
    static const char *const ask[] = { "|stop", "1> cmd=get key=a\n", "2> cmd=get key=none\n",
        "3> cmd=get key=a\n", "|2>1", "2=", "3=", "1=", "|1>0", "|0>1", GOT("1", "v"), "2=",
        "|1>2", GOT("3", "v"), "2=", "|go", "2< cmd=get_result rc=1 msg=key_not_found\n", NULL };
    struct fake_tree *t = open_tree("-01", "0122", 1000);
    size_t before;

    (void)state;
    put(t, 0, "a", 'v', 1);
    fence(t);
    before = t->messages;
    say(t, ask);
    assert_int_equal(t->messages - before, 4 + 4);
    close_tree(t);
}

/* While the question is on its way, others release more than can be held. */
static void test_held_no_longer(void **state)
{
    static const char *const start[] = { "0+12", "1+12", "2+12", "0> cmd=put key=a value=v\n",
        "0< cmd=put_result rc=0\n", "0> cmd=barrier_in group=WORLD:1\n",
        "1> cmd=barrier_in group=WORLD:1\n", "2> cmd=barrier_in group=WORLD:1\n",
        "0< cmd=barrier_out rc=0 tag=1\n", "1< cmd=barrier_out rc=0 tag=1\n",
        "2< cmd=barrier_out rc=0 tag=1\n", "|stop", "2> cmd=get key=a\n", "2=", NULL };
    static const char *const end[] = { "0> cmd=barrier_in group=0,1:2\n",
        "1> cmd=barrier_in group=0,1:2\n", "|1>0", "0< cmd=barrier_out rc=0 tag=2\n", "|go",
        "1< cmd=barrier_out rc=0 tag=2\n", GOT("2", "v"), GET("1", "a", "v"), NULL };
    struct server_options o = { .release_bytes = 1000 };
    struct fake_tree *t = malloc(sizeof *t);

    (void)state;
    assert_non_null(t);
    assert_true(tree_open(t, "-01", "012", &o, 3));
    say(t, start);
    put(t, 0, "b", 'w', 600);
    put(t, 0, "c", 'x', 600);
    say(t, end);
    get(t, 2, "b", 'w', 600);
    close_tree(t);
}

/* Data from below that makes no sense ends nobody's loop. */
static void test_garbage_on_its_way(void **state)
{
    struct fake_tree *t = open_tree("-01", "012", 0);
    size_t n = 3 * LIMIT_CHUNK;
    char *noise = malloc(n);
    struct buf frame = BUF_INIT;
    struct err e = { 0 };
    int rc;

    (void)state;
    assert_non_null(noise);
    memset(noise, 0xee, n);
    t->any_answer = true;
    fake_frame(&frame, "cmd=fence-in;job=job0;fence=WORLD:0;count=1;seen=0;");
    rc = tree_hand(&t->node[2].to[1], buf_bytes(&frame), frame.len, noise, n, &e);
    assert_int_equal(rc, -1);                /* if it were kept, sending it would not end */
    buf_clear(&frame);
    free(noise);
    tree_close(t);
    free(t);
}

/* --- many nodes, at random --------------------------------------------- */

/* Ranks put and get at random between fences; no key is put by two in one round.  What
 * they get behind a fence is what was put before it, or by their own node since. */
static void test_random(void **state)
{
    enum { KEYS = 12, RANKS = 6 };
    static const char *const shapes[] = { "-0000", "-0011", "-0123", "-0112" };
    static const size_t releases[] = { 0, 100, 400, 100000 };

    (void)state;
    srand(4711);
    for (size_t i = 0; i < 16; i++) {
        struct fake_tree *t = open_tree(shapes[i % 4], i % 3 ? "012344" : "011234",
                                        releases[i / 4]);
        char value[KEYS] = { 0 };
        size_t len[KEYS] = { 0 };

        for (int round = 0; round < 30; round++) {
            bool taken[KEYS] = { false };

            for (int n = rand() % 8; n > 0; n--) {
                int k = rand() % KEYS;
                char key[8];

                if (taken[k])
                    continue;
                taken[k] = true;
                snprintf(key, sizeof key, "k%d", k);
                value[k] = (char)('a' + rand() % 26);
                len[k] = 1 + (size_t)rand() % 100;
                if (rand() % 3 == 0)
                    put(t, k % RANKS, key, 'z', 3);  /* and at once again */
                put(t, k % RANKS, key, value[k], len[k]);
            }
            fence(t);
            for (int n = rand() % 40; n > 0; n--) {
                int k = rand() % KEYS;
                char key[8];

                snprintf(key, sizeof key, "k%d", k);
                get(t, rand() % RANKS, key, value[k], len[k]);
            }
        }
        close_tree(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records), cmocka_unit_test(test_added_is_read),
        cmocka_unit_test(test_amounts), cmocka_unit_test(test_large_block),
        cmocka_unit_test(test_large_ring), cmocka_unit_test(test_order_on_the_way),
        cmocka_unit_test(test_alone_elsewhere), cmocka_unit_test(test_news_are_limited),
        cmocka_unit_test(test_missing_is_asked_once),
        cmocka_unit_test(test_found_is_asked_once), cmocka_unit_test(test_small_is_asked_once),
        cmocka_unit_test(test_held), cmocka_unit_test(test_held_anew),
        cmocka_unit_test(test_held_is_shared), cmocka_unit_test(test_held_no_longer),
        cmocka_unit_test(test_garbage_on_its_way),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}
