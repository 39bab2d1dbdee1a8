/* test_ask.c - pmi2/ask: what servers ask of each other, who waits for it, and answers
 * that nobody expects. */
#include "test/unit/fake_tree.h"

#include "pmi2/core.h"

static struct fake_tree *open_tree(const char *where)
{
    static const struct server_options o = { .release_bytes = 0 };
    struct fake_tree *t = malloc(sizeof *t);

    assert_non_null(t);
    assert_true(tree_open(t, "-01", where, &o, 1));
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

static void say(struct fake_tree *t, const char *const *steps)
{
    for (; *steps; steps++)
        tree_step(t, *steps, SIZE_MAX);
}

static size_t waiting(const struct fake_tree *t, int from, int to)
{
    size_t n = 0;

    for (const struct tree_mail *m = t->node[from].to[to].first; m; m = m->next)
        n++;
    return n;
}

/* Equal questions, of ranks here and of servers below, are one message. */
static void test_shared(void **state)
{
    static const char *const ask[] = { "|stop", "2> cmd=get key=k\n", "3> cmd=get key=k\n",
        "2=", "|2>1", "1> cmd=get key=k\n", NULL };
    static const char *const end[] = { "|go", "1< cmd=get_result rc=1 msg=key_not_found\n",
        "2< cmd=get_result rc=1 msg=key_not_found\n",
        "3< cmd=get_result rc=1 msg=key_not_found\n", NULL };
    struct fake_tree *t = open_tree("0122");

    (void)state;
    say(t, ask);
    assert_int_equal(waiting(t, 2, 1), 0);
    assert_int_equal(t->messages, 1);
    assert_int_equal(waiting(t, 1, 0), 1);
    say(t, end);
    assert_int_equal(t->messages, 4);
    close_tree(t);
}

/* Names are asked for one by one. */
static void test_names(void **state)
{
    static const char *const ask[] = { "|stop", "1> cmd=lookup_name service=s\n",
        "2> cmd=lookup_name service=s\n", "3> cmd=lookup_name service=s\n", "|2>1", NULL };
    static const char *const end[] = { "|go",
        "1< cmd=lookup_result rc=1 info=fail msg=service_not_found\n",
        "2< cmd=lookup_result rc=1 info=fail msg=service_not_found\n",
        "3< cmd=lookup_result rc=1 info=fail msg=service_not_found\n", NULL };
    struct fake_tree *t = open_tree("0122");

    (void)state;
    say(t, ask);
    assert_int_equal(waiting(t, 1, 0), 3);
    say(t, end);
    close_tree(t);
}

/* The server below is gone while it waits: its answer goes nowhere, others get theirs. */
static void test_asker_gone(void **state)
{
    static const char *const ask[] = { "|stop", "2> cmd=get key=k\n", "|2>1",
        "1> cmd=get key=k\n", "2> cmd=lookup_name service=s\n", NULL };
    static const char *const end[] = { "|go", "1< cmd=get_result rc=1 msg=key_not_found\n",
        "2=", NULL };
    struct fake_tree *t = open_tree("012");
    struct tree_mail *m;

    (void)state;
    say(t, ask);
    while ((m = tree_take(&t->node[2].to[1])))
        tree_mail_free(m);
    peer_free(t->node[1].down[2]);
    t->node[1].down[2] = NULL;
    say(t, end);
    assert_int_equal(waiting(t, 1, 2), 0);
    close_tree(t);
}

/* The server above is gone: who waits is left to the end of his connection. */
static void test_above_gone(void **state)
{
    static const char *const ask[] = { "|stop", "2> cmd=get key=k\n", "2> cmd=get_appnum\n",
        "3> cmd=lookup_name service=s\n", NULL };
    static const char *const end[] = { "2.", "3.", NULL };
    struct fake_tree *t = open_tree("0122");

    (void)state;
    say(t, ask);
    peer_free(t->node[2].up);
    t->node[2].up = NULL;
    while (t->node[2].to[1].first)
        tree_mail_free(tree_take(&t->node[2].to[1]));
    say(t, end);
    close_tree(t);
}

/* All servers go while questions are under way (ASan: nothing is left). */
static void test_all_gone(void **state)
{
    static const char *const ask[] = { "|stop", "2> cmd=get key=k\n", "2> cmd=get key=l\n",
        "3> cmd=lookup_name service=s\n", "|2>1", "1> cmd=get key=k\n", NULL };
    struct fake_tree *t = open_tree("0122");

    (void)state;
    say(t, ask);
    close_tree(t);
}

/* Answers to node 1, whose rank has asked for key k as number 1. */
static const struct {
    const char *name, *body, *payload;
    size_t      len;
    int         rc;
    const char *reply;                   /* "": it still waits */
} answers[] = {
    { "the value", "cmd=answer;job=job0;id=1;rc=0;",
      "\1\0\0\0\1\0\0\0\1\0\0\0" "k\0v\0", 16, 0, "cmd=get_result rc=0 value=v\n" },
    { "there is none", "cmd=answer;job=job0;id=1;rc=1;", "", 0, 0,
      "cmd=get_result rc=1 msg=key_not_found\n" },
    { "another's value", "cmd=answer;job=job0;id=1;rc=0;",
      "\1\0\0\0\1\0\0\0\1\0\0\0" "x\0v\0", 16, 0, "cmd=get_result rc=1 msg=key_not_found\n" },
    { "data that is cut off", "cmd=answer;job=job0;id=1;rc=0;", "\1\0\0\0\1", 5, -1, "" },
    { "another number", "cmd=answer;job=job0;id=2;rc=0;", "", 0, -1, "" },
    { "no number", "cmd=answer;job=job0;rc=0;", "", 0, -1, "" },
    { "miss is no truth", "cmd=answer;job=job0;id=1;rc=0;miss=2;", "", 0, -1, "" },
    { "rc out of range", "cmd=answer;job=job0;id=1;rc=-1;", "", 0, -1, "" },
};

static void test_answers(void **state)
{
    static const char *const ask[] = { "|stop", "1> cmd=get key=k\n", "1=", NULL };

    (void)state;
    for (size_t i = 0; i < N_OF(answers); i++) {
        struct fake_tree *t = open_tree("012");
        struct fake_link *l = fake_link(tree_fake(t, '1'), '1');
        struct buf frame = BUF_INIT;
        struct err e = { 0 };

        print_message("  %s\n", answers[i].name);
        say(t, ask);
        fake_frame(&frame, answers[i].body);
        assert_int_equal(tree_hand(&t->node[0].to[1], buf_bytes(&frame), frame.len,
                                   answers[i].payload, answers[i].len, &e), answers[i].rc);
        assert_int_equal(*e.text != '\0', answers[i].rc < 0);
        assert_string_equal(l->sent.len ? buf_bytes(&l->sent) : "", answers[i].reply);
        buf_consume(&l->sent, l->sent.len);
        buf_clear(&frame);
        close_tree(t);
    }
}

/* The second answer to a question has no question any more. */
static void test_twice(void **state)
{
    static const char *const ask[] = { "1> cmd=get key=k\n",
        "1< cmd=get_result rc=1 msg=key_not_found\n", NULL };
    struct fake_tree *t = open_tree("012");
    struct buf frame = BUF_INIT;
    struct err e = { 0 };

    (void)state;
    say(t, ask);
    fake_frame(&frame, "cmd=answer;job=job0;id=1;rc=0;");
    assert_int_equal(tree_hand(&t->node[0].to[1], buf_bytes(&frame), frame.len, NULL, 0, &e),
                     -1);
    assert_non_null(strstr(e.text, "no question 1"));
    buf_clear(&frame);
    close_tree(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared), cmocka_unit_test(test_names),
        cmocka_unit_test(test_asker_gone), cmocka_unit_test(test_above_gone),
        cmocka_unit_test(test_all_gone), cmocka_unit_test(test_answers),
        cmocka_unit_test(test_twice),
    };

    return cmocka_run_group_tests_name("ask", tests, NULL, NULL);
}
