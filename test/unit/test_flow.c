/* test_flow.c - mpiexec_lite/flow: what goes next, against which credit. */
#include "mpiexec_lite/flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))
enum { WINDOW = 100, PIECES = 64 };

/* A story is words, and what is said to each is in the row beside it:
 *     c5 d5 b5    a piece of 5 bytes is added; its name is its number, in order
 *     go          what can, goes: its names, or -
 *     one         one piece goes that may be behind another (busy), or -
 *     +d5 +b5     credit comes: ok, or no
 *     ?d ?b       room
 *     <d5 <b5     5 bytes come: ok, or no
 *     >d5 >b5     what cost so much is dealt with: the credit that is told
 *     idle        yes or no */
static const struct { const char *name, *words, *want; } stories[] = {
    { "nothing", "go idle ?d ?b", "- yes 100 100" },
    { "classes", "b5 d5 c5 b0 d0 c0 idle go idle", "no 2,5,1,4,0,3 yes" },
    { "control costs nothing", "c1000 c1000 go", "0,1" },
    { "each class pays for itself", "b20 d30 go ?d ?b", "1,0 70 80" },
    { "what waits takes room", "b25 d70 ?d ?b", "30 75" },
    { "data without credit lets bulk pass", "d60 d60 b20 go go +d60 go", "0,2 - ok 1" },
    { "bulk without credit stops nobody", "b25 b25 b25 b25 b25 go d50 c5 go +b25 go",
      "0,1,2,3 6,5 ok 4" },
    { "bulk waits for data that can go", "d10 b10 d10 go", "0,2,1" },
    { "what is free waits behind what is not", "d60 d60 d0 b0 go c0 go +d60 go",
      "0,3 4 ok 1,2" },
    { "just enough", "d50 d51 go +d0 go +d1 go ?d", "0 ok - ok 1 0" },
    { "bulk is alone", "b10 one b0 c5 one one go one", "- 2 - 0,1 -" },
    { "data is not", "d10 one b10 one", "0 -" },
    { "free bulk is not", "b0 one", "0" },
    { "a large piece takes three quarters", "d5000 ?d d0 go ?d", "25 0,1 25" },
    { "and waits for so much", "d26 d5000 go +d0 go +d1 go ?d", "0 ok - ok 1 0" },
    { "more credit than there is", "+d1 +b1 d10 go +b1 +d11 +d10 +d1", "no no 0 no no ok no" },
    { "bulk's credit is not data's", "d80 d80 b10 go +d10 go +d50 go", "0,2 ok - ok 1" },
    { "what came is granted in quarters", "<d24 >d24 <d1 >d1 <b25 >b25", "ok 0 ok 25 ok 25" },
    { "the window of data", "<d60 <d41 <d40 <d1 <b25", "ok no ok no ok" },
    { "what is owed is not free", "<d20 >d20 <d75 <d6 <d5 >d80", "ok 0 ok no ok 100" },
    { "the window of bulk", "<b25 <b25 <b25 <b25 <b1", "ok ok ok ok no" },
    { "bulk in too large a piece", "<b26 <b25", "no ok" },
    { "a large payload came", "<d5000 <d26 <d25 >d75 >d25", "ok no ok 75 25" },
    { "two large ones", "<d75 <d5000 >d75 <d5000", "ok no 75 ok" },
    { "more dealt with than came", "<d30 >d90 >d90 <d100", "ok 30 0 ok" },
    { "empty payloads", "<d0 <b0 >d0 >b0 d0 b0 go", "ok ok 0 0 0,1" },
};

struct numbered { struct piece piece; int number; };

static struct numbered all[PIECES];
static int used;

static enum link_class class_of(char c)
{
    return c == 'c' ? LINK_CONTROL : c == 'd' ? LINK_DATA : LINK_BULK;
}

static void tell_piece(char *out, size_t size, const struct piece *p)
{
    size_t len = strlen(out);

    snprintf(out + len, size - len, len ? ",%d" : "%d", ((const struct numbered *)p)->number);
}

static void carry_out(struct flow *f, const char *word, char *out, size_t size)
{
    enum link_class c = class_of(word[0] == '+' || word[0] == '<' || word[0] == '>' ||
                                 word[0] == '?' ? word[1] : word[0]);
    size_t n = strtoul(word + (strchr("+<>", *word) ? 2 : 1), NULL, 10);
    struct piece *p;
    struct err e;

    *out = '\0';
    if (!strcmp(word, "go")) {
        while ((p = flow_next(f, false)))
            tell_piece(out, size, p);
    } else if (!strcmp(word, "one")) {
        if ((p = flow_next(f, true)))
            tell_piece(out, size, p);
    } else if (!strcmp(word, "idle")) {
        snprintf(out, size, "%s", flow_idle(f) ? "yes" : "no");
        return;
    } else if (*word == '?') {
        snprintf(out, size, "%zu", flow_room(f, c));
    } else if (*word == '+') {
        snprintf(out, size, "%s", flow_credit(f, c, n, &e) < 0 ? "no" : "ok");
    } else if (*word == '<') {
        snprintf(out, size, "%s", flow_take(f, c, n, &e) < 0 ? "no" : "ok");
    } else if (*word == '>') {
        snprintf(out, size, "%zu", flow_grant(f, c, n));
    } else {
        all[used].number = used;
        flow_add(f, c, &all[used++].piece, n);
        return;
    }
    if (!*out)
        snprintf(out, size, "-");
}

static void test_stories(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(stories); i++) {
        char words[200], got[400] = "", out[200], *at;
        struct flow f;

        print_message("  %s\n", stories[i].name);
        flow_init(&f, WINDOW);
        used = 0;
        snprintf(words, sizeof words, "%s", stories[i].words);
        for (char *w = strtok_r(words, " ", &at); w; w = strtok_r(NULL, " ", &at)) {
            carry_out(&f, w, out, sizeof out);
            if (*out)
                snprintf(got + strlen(got), sizeof got - strlen(got), *got ? " %s" : "%s", out);
        }
        assert_string_equal(got, stories[i].want);
    }
}

static void test_texts(void **state)
{
    struct flow f;
    struct err e;

    (void)state;
    flow_init(&f, WINDOW);
    assert_int_equal(flow_take(&f, LINK_DATA, 90, &e), 0);
    assert_int_equal(flow_take(&f, LINK_DATA, 30, &e), -1);
    assert_string_equal(e.text, "30 bytes of data came without credit");
    assert_int_equal(flow_take(&f, LINK_BULK, 30, &e), -1);
    assert_string_equal(e.text, "30 bytes of bulk came without credit");
    assert_int_equal(flow_credit(&f, LINK_DATA, 1, &e), -1);
    assert_string_equal(e.text, "more credit than there is");
    assert_int_equal(flow_credit(&f, LINK_CONTROL, 0, &e), -1);
}

/* All of it comes out, whatever it waits for. */
static void test_drop(void **state)
{
    struct flow f;
    struct piece *p;
    int n = 0;

    (void)state;
    flow_init(&f, WINDOW);
    assert_null(flow_drop(&f));
    for (int i = 0; i < 12; i++)
        flow_add(&f, (enum link_class)(i % 3), &all[i].piece, 90);
    while ((p = flow_drop(&f)))
        n++;
    assert_int_equal(n, 12);
    assert_true(flow_idle(&f));
    assert_int_equal(flow_room(&f, LINK_DATA), WINDOW);
    assert_int_equal(flow_room(&f, LINK_BULK), WINDOW);
}

/* Two ends, with pieces of any size: all arrives in the order of its class, nothing is
 * refused, and in the end all credit is back or owed. */
static void test_random(void **state)
{
    (void)state;
    srand(1);
    for (int run = 0; run < 3000; run++) {
        size_t window = 4 + (size_t)rand() % 200, open[LINK_CLASSES] = { 0 }, told;
        int added = 0, gone = 0, seen[LINK_CLASSES] = { -1, -1, -1 };
        struct flow a, b;
        struct piece *p;
        struct err e;

        flow_init(&a, window);
        flow_init(&b, window);
        while (gone < PIECES) {
            enum link_class c = (enum link_class)(rand() % LINK_CLASSES);
            size_t most = c == LINK_BULK ? window / 4 : window * 2;

            if (added < PIECES) {
                all[added].number = added;
                flow_add(&a, c, &all[added++].piece, (size_t)rand() % (most + 1));
            }
            while (rand() % 3 && (p = flow_next(&a, false))) {
                assert_int_equal(flow_take(&b, p->class, p->cost, &e), 0);
                open[p->class] += p->cost;
                assert_true(open[p->class] <= window);
                assert_true(((struct numbered *)p)->number > seen[p->class]);
                seen[p->class] = ((struct numbered *)p)->number;
                gone++;
            }
            for (int k = LINK_DATA; k < LINK_CLASSES; k++) {
                size_t some = rand() % 2 ? open[k] : open[k] / 2;

                open[k] -= some;
                told = flow_grant(&b, (enum link_class)k, some);
                assert_int_equal(flow_credit(&a, (enum link_class)k, told, &e), 0);
            }
        }
        for (int k = LINK_DATA; k < LINK_CLASSES; k++)
            assert_int_equal(a.of[k].credit + b.of[k].owed + b.of[k].open, window);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stories), cmocka_unit_test(test_texts),
        cmocka_unit_test(test_drop), cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
