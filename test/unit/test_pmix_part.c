/* test_pmix_part.c - pmix-part on a fake host: requests that come in parts, and who begins and
 * never ends. */
#include "pmix_ext/commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MUST assert_true
#include "test/unit/fake_ext.h"

/* The next frame has this in it. */
static void has(struct host *h, const char *words)
{
    char *text = frame(h);

    print_message("  %s\n", text ? text : "nothing");
    assert_non_null(text);
    assert_non_null(strstr(text, words));
    free(text);
}

static void nothing(struct host *h)
{
    assert_null(frame(h));
}

static void said(struct host *h, const char *text, const char *words)
{
    say(h, text, true);
    has(h, words);
}

static void test_a_request(void **state)
{
    struct host *h = start(1, 1, 1, 1);

    (void)state;
    for (int i = 0; i < 3; i++) {
        said(h, "cmd=pmix-part;thrid=2;size=30;", "cmd=pmix-part-response;thrid=2;rc=0;status=0;");
        said(h, "cmd=pmix-part;thrid=3;data=cmd=pmix-ca;", "thrid=3;rc=0;status=0;");
        said(h, "cmd=pmix-part;thrid=4;data=pabilities;;thr;", "thrid=4;rc=0;status=0;");
        say(h, "cmd=pmix-part;thrid=5;data=id=w;;;", true);
        has(h, "cmd=pmix-capabilities-response;thrid=w;rc=0;status=0;");
        has(h, "cmd=pmix-part-response;thrid=5;rc=0;status=0;");
        nothing(h);
        assert_int_equal(h->ext->whole_bytes, 0);
    }
    stop(h);
}

static void test_what_is_wrong(void **state)
{
    static const struct { const char *name, *part[4], *words; } rows[] = {
        { "neither", { "cmd=pmix-part;" }, "status=-27;" },
        { "both", { "cmd=pmix-part;size=5;data=x;" }, "status=-27;" },
        { "not begun", { "cmd=pmix-part;data=x;" }, "no request has been begun" },
        { "too long", { "cmd=pmix-part;size=25165825;" }, "status=-27;" },
        { "nothing of it", { "cmd=pmix-part;size=0;" }, "status=-27;" },
        { "two at a time", { "cmd=pmix-part;size=9;", "cmd=pmix-part;size=9;" }, "status=-28;" },
        { "more than its size", { "cmd=pmix-part;size=3;", "cmd=pmix-part;data=1234;" },
          "more than the request's size" },
        { "which ends it", { "cmd=pmix-part;size=3;", "cmd=pmix-part;data=1234;",
                             "cmd=pmix-part;data=1;" }, "no request has been begun" },
        { "within itself", { "cmd=pmix-part;size=21;",
                             "cmd=pmix-part;data=cmd=pmix-part;;size=5;;;" },
          "no extended request" },
        { "of PMI", { "cmd=pmix-part;size=13;", "cmd=pmix-part;data=cmd=finalize;;;" },
          "no extended request" },
        { "not known", { "cmd=pmix-part;size=16;", "cmd=pmix-part;data=cmd=pmix-nix123;;;" },
          "cmd=pmix-nix123-response;" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct host *h = start(1, 1, 1, 1);
        int k = 0;

        print_message("  %s\n", rows[i].name);
        for (; k < 3 && rows[i].part[k + 1]; k++) {
            say(h, rows[i].part[k], true);
            free(frame(h));
        }
        said(h, rows[i].part[k], rows[i].words);
        assert_false(h->failed);
        stop(h);
    }
}

/* One that does not go on is forgotten, and its room is free again. */
static void test_patience(void **state)
{
    struct host *h = start(1, 1, 1, 1);

    (void)state;
    said(h, "cmd=pmix-part;thrid=2;size=25165824;", "rc=0");
    assert_int_equal(h->ext->whole_bytes, LIMIT_WHOLE);
    assert_true(turn(h));
    assert_int_equal(h->ext->whole_bytes, 0);
    said(h, "cmd=pmix-part;thrid=3;data=cmd=p;", "not gone on with in time");
    stop(h);
}

/* --- many -------------------------------------------------------------- */

enum { MANY = LIMIT_WHOLES / LIMIT_WHOLE + 3 };

static struct conn *begin(struct host *h, struct host *link)
{
    struct party who = { .uid = 7, .tool = true };

    *link = (struct host){ .tool = conn_new_tool(h->server, &who, link) };
    assert_non_null(link->tool);
    say(link, "cmd=init pmi_version=2 pmi_subversion=0\n", false);
    say(link, "cmd=pmix-tool-connect;thrid=1;", true);
    buf_reset(&link->sent);
    say(link, "cmd=pmix-part;thrid=2;size=25165824;", true);
    return link->tool;
}

/* No more of them are let in than there is room for; the others are in their turn as those go,
 * and a short one does not come before them. */
static void test_many_at_once(void **state)
{
    struct host *h = start(1, 1, 1, 1), links[MANY];
    enum { ROOM = LIMIT_WHOLES / LIMIT_WHOLE };

    (void)state;
    for (int i = 0; i < MANY; i++)
        begin(h, &links[i]);
    say(h, "cmd=pmix-part;thrid=2;size=40;", true);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(links[i].sent.len > 0, i < ROOM);
    nothing(h);
    for (int i = 0; i < MANY; i++) {
        assert_true(h->ext->whole_bytes <= LIMIT_WHOLES);
        conn_free(links[i].tool);
        buf_clear(&links[i].sent);
        if (i + ROOM < MANY)
            assert_true(links[i + ROOM].sent.len > 0);
    }
    has(h, "thrid=2;rc=0;status=0;");
    assert_int_equal(h->ext->whole_bytes, 40);
    stop(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request), cmocka_unit_test(test_what_is_wrong),
        cmocka_unit_test(test_patience), cmocka_unit_test(test_many_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
