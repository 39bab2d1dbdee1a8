/* Tests of mpiexec_lite/explain_svg.c: a picture says of each processor whose it is, and what
 * it has no room for. */
#include "mpiexec_lite/explain_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int count(const char *in, const char *what)
{
    int n = 0;

    for (; (in = strstr(in, what)); in += strlen(what))
        n++;
    return n;
}

/* An answer of one host of this kind; it is used up. */
static char *picture(json_t *host, size_t hosts)
{
    json_t *list = json_array(), *a;
    struct buf out = BUF_INIT;
    char *text;

    for (size_t i = 0; i < hosts; i++)
        json_array_append(list, host);
    json_decref(host);
    a = json_pack("{s:{s:i, s:i, s:i}, s:[{s:i, s:i, s:[s,s], s:s}], s:o}", "summary", "ranks", 4,
                  "hosts", (int)hosts, "hosts_with_ranks", (int)hosts, "programs", "first_rank", 0,
                  "ranks", 4, "argv", "./app", "<a&b>\n", "by", "-n", "hosts", list);
    assert_non_null(a);
    explain_svg(a, &out);
    json_decref(a);
    assert_false(out.failed);
    text = strndup(buf_bytes(&out), out.len);
    buf_clear(&out);
    assert_non_null(text);
    return text;
}

static json_t *host_of(const char *ranks, int count, int slots, const char *const *drawn)
{
    json_t *h = json_pack("{s:s, s:i, s:i, s:s, s:s, s:s}", "name", "node1", "slots", slots,
                          "count", count, "ranks", ranks, "by", "-hosts", "reached", "ssh");
    json_t *list = json_array();

    for (; drawn && *drawn; drawn++)
        json_array_append_new(list, json_string(*drawn));
    json_object_set_new(h, "binding", json_pack("{s:s, s:s, s:o}", "to", "core", "by", "-bind-to",
                                                "drawn", list));
    return h;
}

/* What the picture has beside its legend, which shows one of each kind. */
static const struct {
    const char *name, *ranks;
    int         count, slots;
    const char *drawn[5];
    int         sockets, cores, first, second, many, free, barred;
} cases[] = {
    { "a core each", "0-1", 2, 2, { "rank 0: [BB/..][../--] 0-1", "rank 1: [../..][BB/--] 4-5" },
      2, 4, 2, 2, 0, 2, 2 },
    { "cores of a thread", "0", 1, 1, { "rank 0: [B/.][./.] 0" }, 2, 4, 1, 0, 0, 3, 0 },
    { "two share", "0-2", 3, 2, { "rank 0: [B/.] 0", "rank 1: [./B] 1", "rank 2: [B/.] 0" },
      1, 2, 0, 1, 1, 0, 0 },
    { "no sockets", "1", 1, 1, { "rank 1: [B] 0" }, 1, 1, 0, 1, 0, 0, 0 },
    { "slots", "0-1", 2, 4, { NULL }, 0, 0, 1, 1, 0, 2, 0 },
    { "more ranks than slots", "0-1,8-9", 4, 1, { NULL }, 0, 0, 2, 2, 0, 0, 0 },
    { "none", "", 0, 3, { NULL }, 0, 0, 0, 0, 0, 3, 0 },
};

static void test_cells(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = picture(host_of(cases[i].ranks, cases[i].count, cases[i].slots,
                                     cases[i].drawn), 1);

        print_message("  %s\n", cases[i].name);
        assert_int_equal(count(text, "class=\"socket\""), cases[i].sockets);
        assert_int_equal(count(text, "class=\"core\""), cases[i].cores);
        assert_int_equal(count(text, "class=\"r0\"") - 1, cases[i].first);
        assert_int_equal(count(text, "class=\"r1\""), cases[i].second);
        assert_int_equal(count(text, "class=\"many\"") - 1, cases[i].many);
        assert_int_equal(count(text, "class=\"free\"") - 1, cases[i].free);
        assert_int_equal(count(text, "class=\"barred\"") - 1, cases[i].barred);
        assert_non_null(strstr(text, "./app &#60;a&#38;b&#62;\\x0A  [-n]"));
        free(text);
    }
}

static void test_much(void **state)
{
    static const struct { int count, slots; size_t hosts; const char *want; } much[] = {
        { 100000, 100000, 1, "of 100000 ranks and 100000 slots the first 256" },
        { 1, 1, 500, "and 460 hosts more" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof much / sizeof *much; i++) {
        char ranks[32], *text;

        snprintf(ranks, sizeof ranks, "0-%d", much[i].count - 1);
        text = picture(host_of(ranks, much[i].count, much[i].slots, NULL), much[i].hosts);
        assert_non_null(strstr(text, much[i].want));
        assert_in_range(strlen(text), 1000, 60000);
        free(text);
    }
}

/* Long numbers of ranks stay within their squares. */
static void test_long_numbers(void **state)
{
    char *text = picture(host_of("9998-10001", 4, 4, NULL), 1);

    (void)state;
    assert_int_equal(count(text, "class=\"long\""), 2);
    assert_non_null(strstr(text, ">9999<"));
    assert_non_null(strstr(text, ">10001<"));
    free(text);
}

/* A socket that is wider than the picture goes on below. */
static void test_wide(void **state)
{
    static const char *drawn[2];
    char line[400] = "rank 0: [B", *text;
    int x, most = 0;

    (void)state;
    for (int i = 0; i < 127; i++)
        strcat(line, "/.");
    strcat(line, "] 0");
    drawn[0] = line;
    text = picture(host_of("0", 1, 1, drawn), 1);
    assert_int_equal(count(text, "class=\"core\""), 128);
    for (const char *at = text; (at = strstr(at, "class=\"core\" x=\"")); at++)
        if (sscanf(at, "class=\"core\" x=\"%d", &x) == 1 && x > most)
            most = x;
    assert_in_range(most, 800, 960);
    free(text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells), cmocka_unit_test(test_much),
        cmocka_unit_test(test_long_numbers), cmocka_unit_test(test_wide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
