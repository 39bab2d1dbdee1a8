/* test_cmd_name.c - pmi2/cmd_name: publish, lookup, unpublish, whose a name is. */
#include "test/unit/fake_host.h"

#include "pmi2/core.h"

static const struct story stories[] = {
    { "publish, lookup, unpublish", .steps = { "0+1",
        "0> cmd=publish_name service=s port=tag#0$desc 1;x\n",
        "0< cmd=publish_result rc=0 info=ok\n", "0> cmd=lookup_name service=s\n",
        "0< cmd=lookup_result rc=0 info=ok port=tag#0$desc 1;x\n",
        "0> cmd=unpublish_name service=s\n", "0< cmd=unpublish_result rc=0 info=ok\n",
        "0> cmd=lookup_name service=s\n",
        "0< cmd=lookup_result rc=1 info=fail msg=service_not_found\n",
        "0> cmd=unpublish_name service=s\n",
        "0< cmd=unpublish_result rc=14 info=fail msg=service_not_found\n" } },
    { "the same, PMI-2: both names of the port (R9, R10, Q8)", .steps = { "0+2",
        "0} cmd=name-publish;name=s;port=p;;1;infokeycount=0;",
        "0{ cmd=name-publish-response;rc=0;", "0} cmd=name-lookup;name=s;infokeycount=0;",
        "0{ cmd=name-lookup-response;rc=0;found=TRUE;value=p;;1;port=p;;1;",
        "0} cmd=name-unpublish;name=s;infokeycount=0;", "0{ cmd=name-unpublish-response;rc=0;",
        "0} cmd=name-lookup;name=s;",
        "0{ cmd=name-lookup-response;rc=1;found=FALSE;errmsg=service_not_found;",
        "0} cmd=name-unpublish;name=s;",
        "0{ cmd=name-unpublish-response;rc=14;errmsg=service_not_found;" } },
    { "info pairs are taken and ignored (Q8)", .steps = { "0+2",
        "0} cmd=name-publish;name=s;port=p;infokeycount=1;infokey0=a;infoval0=b;",
        "0{ cmd=name-publish-response;rc=0;" } },
    { "a duplicate", .size = 2, .steps = { "0+1", "1+2",
        "0> cmd=publish_name service=s port=p\n", "0< cmd=publish_result rc=0 info=ok\n",
        "0> cmd=publish_name service=s port=q\n",
        "0< cmd=publish_result rc=4 info=fail msg=service_s_is_published_already\n",
        "1} cmd=name-publish;name=s;port=q;",
        "1{ cmd=name-publish-response;rc=4;errmsg=service s is published already;",
        "1} cmd=name-lookup;name=s;",
        "1{ cmd=name-lookup-response;rc=0;found=TRUE;value=p;port=p;" } },
    { "published again after it was taken back", .steps = { "0+2",
        "0} cmd=name-publish;name=s;port=p;", "0} cmd=name-unpublish;name=s;",
        "0} cmd=name-publish;name=s;port=q;", "0} cmd=name-lookup;name=s;",
        "0{ cmd=name-publish-response;rc=0;", "0{ cmd=name-unpublish-response;rc=0;",
        "0{ cmd=name-publish-response;rc=0;",
        "0{ cmd=name-lookup-response;rc=0;found=TRUE;value=q;port=q;" } },
    { "across two jobs: only the owner takes it back", .size = 2, .size2 = 1, .steps = {
        "0+2", "1+1", "A+2", "0} cmd=name-publish;name=s;port=p;",
        "0{ cmd=name-publish-response;rc=0;", "A} cmd=name-lookup;name=s;",
        "A{ cmd=name-lookup-response;rc=0;found=TRUE;value=p;port=p;",
        "A} cmd=name-unpublish;name=s;",
        "A{ cmd=name-unpublish-response;rc=14;errmsg=service s belongs to another job;",
        "A} cmd=name-publish;name=s;port=q;",
        "A{ cmd=name-publish-response;rc=4;errmsg=service s is published already;",
        "1> cmd=unpublish_name service=s\n", "1< cmd=unpublish_result rc=0 info=ok\n" } },
    { "missing arguments", .steps = { "0+1", "0> cmd=publish_name port=p\n",
        "0< cmd=publish_result rc=3 info=fail msg=publish_name:_no_service\n",
        "0> cmd=publish_name service=s\n",
        "0< cmd=publish_result rc=3 info=fail msg=publish_name:_no_port\n",
        "0> cmd=lookup_name\n", "0< cmd=lookup_result rc=3 info=fail msg=lookup_name:_no_service\n",
        "0> cmd=unpublish_name\n",
        "0< cmd=unpublish_result rc=3 info=fail msg=unpublish_name:_no_service\n" } },
    { "missing arguments, PMI-2", .steps = { "0+2", "0} cmd=name-publish;port=p;",
        "0{ cmd=name-publish-response;rc=3;errmsg=name-publish: no name;",
        "0} cmd=name-publish;name=s;",
        "0{ cmd=name-publish-response;rc=3;errmsg=name-publish: no port;",
        "0} cmd=name-lookup;",
        "0{ cmd=name-lookup-response;rc=3;found=FALSE;errmsg=name-lookup: no name;" } },
    { "an empty name", .steps = { "0+2", "0} cmd=name-publish;name=;port=p;",
        "0{ cmd=name-publish-response;rc=3;errmsg=the service name is empty;",
        "0} cmd=name-unpublish;name=;",
        "0{ cmd=name-unpublish-response;rc=3;errmsg=the service name is empty;",
        "0} cmd=name-lookup;name=;",
        "0{ cmd=name-lookup-response;rc=3;found=FALSE;errmsg=the service name is empty;" } },
    { "no name service", .options = { .no_names = true }, .steps = { "0+1",
        "0> cmd=publish_name service=s port=p\n",
        "0< cmd=publish_result rc=14 info=fail msg=there_is_no_name_service\n",
        "0> cmd=lookup_name service=s\n",
        "0< cmd=lookup_result rc=14 info=fail msg=there_is_no_name_service\n" } },
    { "range job: not for the other job", .size2 = 1, .steps = { "0+2", "A+2",
        "0} cmd=name-publish;name=s;port=p;range=job;", "0{ cmd=name-publish-response;rc=0;",
        "A} cmd=name-lookup;name=s;",
        "A{ cmd=name-lookup-response;rc=1;found=FALSE;errmsg=service_not_found;",
        "A} cmd=name-publish;name=s;port=q;infokeycount=1;infokey0=range;infoval0=user;",
        "A{ cmd=name-publish-response;rc=0;", "0} cmd=name-lookup;name=s;",
        "0{ cmd=name-lookup-response;rc=0;found=TRUE;value=p;port=p;",
        "A} cmd=name-lookup;name=s;", "A{ cmd=name-lookup-response;rc=0;found=TRUE;value=q;port=q;",
        "0} cmd=name-unpublish;name=s;", "0{ cmd=name-unpublish-response;rc=0;",
        "0} cmd=name-unpublish;name=s;",
        "0{ cmd=name-unpublish-response;rc=14;errmsg=service s belongs to another job;" } },
    { "names end with their job, but for those that are to stay", .size2 = 1, .steps = {
        "0+2", "A+2", "A} cmd=name-publish;name=s;port=p;", "A{ cmd=name-publish-response;rc=0;",
        "A} cmd=name-publish;name=t;port=p;range=job;", "A{ cmd=name-publish-response;rc=0;",
        "A} cmd=name-publish;name=u;port=p;persistence=first-read;",
        "A{ cmd=name-publish-response;rc=0;",
        "A} cmd=name-publish;name=v;port=p;persistence=indefinite;",
        "A{ cmd=name-publish-response;rc=0;", "0} cmd=name-publish;name=w;port=q;",
        "0{ cmd=name-publish-response;rc=0;", "A.", "*gone job1", "0} cmd=name-lookup;name=s;",
        "0{ cmd=name-lookup-response;rc=1;found=FALSE;errmsg=service_not_found;",
        "0} cmd=name-publish;name=s;port=q;", "0{ cmd=name-publish-response;rc=0;",
        "0} cmd=name-lookup;name=u;",
        "0{ cmd=name-lookup-response;rc=1;found=FALSE;errmsg=service_not_found;",
        "0} cmd=name-lookup;name=v;",
        "0{ cmd=name-lookup-response;rc=0;found=TRUE;value=p;port=p;",
        "0} cmd=name-unpublish;name=v;",
        "0{ cmd=name-unpublish-response;rc=14;errmsg=service v belongs to another job;",
        "0} cmd=name-lookup;name=w;",
        "0{ cmd=name-lookup-response;rc=0;found=TRUE;value=q;port=q;" } },
    { "for the first reader, who may have waited", .size = 2, .size2 = 1, .steps = {
        "0+2", "1+2", "A+2", "0} cmd=name-publish;name=s;port=p;persistence=first-read;",
        "0{ cmd=name-publish-response;rc=0;", "A} cmd=name-lookup;name=s;",
        "A{ cmd=name-lookup-response;rc=0;found=TRUE;value=p;port=p;",
        "A} cmd=name-lookup;name=s;",
        "A{ cmd=name-lookup-response;rc=1;found=FALSE;errmsg=service_not_found;",
        "0} cmd=name-unpublish;name=s;",
        "0{ cmd=name-unpublish-response;rc=14;errmsg=service_not_found;",
        "A} cmd=name-lookup;name=s;wait=TRUE;", "1} cmd=name-lookup;name=s;wait=TRUE;",
        "0} cmd=name-publish;name=s;port=q;persistence=first-read;",
        "0{ cmd=name-publish-response;rc=0;",
        "A{ cmd=name-lookup-response;rc=0;found=TRUE;value=q;port=q;", "1=",
        "0} cmd=name-publish;name=s;port=r;persistence=first-read;",
        "0{ cmd=name-publish-response;rc=0;",
        "1{ cmd=name-lookup-response;rc=0;found=TRUE;value=r;port=r;" } },
    { "nobody has read it who has gone away before", .size = 2, .steps = { "0+2", "1+2",
        "0} cmd=name-lookup;name=s;wait=TRUE;", "0.",
        "1} cmd=name-publish;name=s;port=p;persistence=first-read;",
        "1{ cmd=name-publish-response;rc=0;", "1} cmd=name-lookup;name=s;",
        "1{ cmd=name-lookup-response;rc=0;found=TRUE;value=p;port=p;" } },
    { "options that make no sense", .steps = { "0+2",
        "0} cmd=name-publish;name=s;port=p;range=galaxy;",
        "0{ cmd=name-publish-response;rc=6;errmsg=range: job, user or node wanted, not 'galaxy';",
        "0} cmd=name-publish;name=s;port=p;infokeycount=1;infokey0=persistence;infoval0=x;",
        "0{ cmd=name-publish-response;rc=6;errmsg=persistence: job, first-read or indefinite "
        "wanted, not 'x';", "0} cmd=name-lookup;name=s;wait=maybe;",
        "0{ cmd=name-lookup-response;rc=6;found=FALSE;errmsg=wait=maybe is neither TRUE nor FALSE;",
        "0} cmd=name-lookup;name=s;timeout=-1;",
        "0{ cmd=name-lookup-response;rc=6;found=FALSE;errmsg=timeout=-1 is not within 0..1000000000;" } },
    { "a lookup waits until there is such a name", .size = 2, .size2 = 1, .steps = {
        "0+2", "1+1", "A+2", "0} cmd=name-lookup;name=s;wait=TRUE;", "0=", "0Wname-lookup",
        "A} cmd=name-lookup;name=s;infokeycount=1;infokey0=wait;infoval0=TRUE;", "A=",
        "1> cmd=publish_name service=t port=p\n", "1< cmd=publish_result rc=0 info=ok\n", "0=",
        "1> cmd=publish_name service=s port=p\n",
        "1< cmd=publish_result rc=0 info=ok\n",
        "0{ cmd=name-lookup-response;rc=0;found=TRUE;value=p;port=p;",
        "A{ cmd=name-lookup-response;rc=0;found=TRUE;value=p;port=p;" } },
    { "of range job: for who waits in that job", .size = 2, .size2 = 1, .steps = {
        "0+2", "1+2", "A+2", "0} cmd=name-lookup;name=s;wait=TRUE;",
        "A} cmd=name-lookup;name=s;wait=TRUE;", "1} cmd=name-publish;name=s;port=p;range=job;",
        "1{ cmd=name-publish-response;rc=0;",
        "0{ cmd=name-lookup-response;rc=0;found=TRUE;value=p;port=p;", "A=",
        "1} cmd=name-publish;name=s;port=q;", "1{ cmd=name-publish-response;rc=0;",
        "A{ cmd=name-lookup-response;rc=0;found=TRUE;value=q;port=q;" } },
    { "who waits goes away", .size = 2, .steps = { "0+2", "1+2",
        "0} cmd=name-lookup;name=s;wait=TRUE;", "0.", "1} cmd=name-publish;name=s;port=p;",
        "1{ cmd=name-publish-response;rc=0;" } },
    { "a time-out, and a host without timers: it does not wait", .steps = { "0+2",
        "0} cmd=name-lookup;name=s;timeout=5;",
        "0{ cmd=name-lookup-response;rc=1;found=FALSE;errmsg=service_not_found;" } },
    { "not UTF-8", .steps = { "0+2", "0} cmd=name-publish;name=\xff;port=p;",
        "0{ cmd=name-publish-response;rc=6;errmsg=name-publish: name is not UTF-8;" } },
};

static void say(struct fake *f, const char *form, int n, const char *tail)
{
    struct buf step = BUF_INIT;

    buf_printf(&step, form, n);
    buf_str(&step, tail);
    fake_step(f, buf_bytes(&step), SIZE_MAX);
    buf_clear(&step);
}

/* So many names and no more; one taken back makes room. */
static void test_many(void **state)
{
    struct fake *f = malloc(sizeof *f);

    (void)state;
    assert_non_null(f);
    assert_true(fake_open(f, &(struct story){ .size = 1 }));
    fake_step(f, "0+2", SIZE_MAX);
    for (int i = 0; i < LIMIT_NAMES; i++) {
        say(f, "0} cmd=name-publish;name=s%d;", i, "port=p;");
        fake_step(f, "0{ cmd=name-publish-response;rc=0;", SIZE_MAX);
    }
    fake_step(f, "0} cmd=name-publish;name=more;port=p;", SIZE_MAX);
    fake_step(f, "0{ cmd=name-publish-response;rc=2;errmsg=more than 10000 names are "
              "published;", SIZE_MAX);
    fake_step(f, "0} cmd=name-unpublish;name=s5;", SIZE_MAX);
    fake_step(f, "0{ cmd=name-unpublish-response;rc=0;", SIZE_MAX);
    fake_step(f, "0} cmd=name-publish;name=more;port=p;", SIZE_MAX);
    fake_step(f, "0{ cmd=name-publish-response;rc=0;", SIZE_MAX);
    fake_close(f);
    free(f);
}

/* --- a resident server, and timers ---------------------------------------- */

static struct { struct name_ask *ask[4]; int n; unsigned timer; double seconds; bool none; } asked;

static bool take_ask(void *host, struct name_ask *a)
{
    (void)host;
    if (!asked.none)
        asked.ask[asked.n++] = a;
    return !asked.none;
}

static void take_timer(void *host, unsigned id, double seconds)
{
    (void)host;
    asked.timer = id;
    asked.seconds = seconds;
}

static struct fake *open_asking(int size, int size2)
{
    struct fake *f = malloc(sizeof *f);

    assert_non_null(f);
    assert_true(fake_open(f, &(struct story){ .size = size, .size2 = size2 }));
    memset(&asked, 0, sizeof asked);
    f->server->ops.name = take_ask;
    f->server->ops.timer = take_timer;
    return f;
}

/* Later, and in any order; the replies of a connection come in order all the same. */
static void test_resident(void **state)
{
    struct fake *f = open_asking(2, 1);
    const struct name_want *w;
    struct err why;

    (void)state;
    fake_step(f, "0+2", SIZE_MAX);
    fake_step(f, "1+1", SIZE_MAX);
    fake_step(f, "0} cmd=name-publish;name=s;port=p;range=node;persistence=indefinite;", SIZE_MAX);
    fake_step(f, "0} cmd=name-lookup;name=t;timeout=7;", SIZE_MAX);
    fake_step(f, "1> cmd=lookup_name service=u\n", SIZE_MAX);
    fake_step(f, "0=", SIZE_MAX);
    assert_int_equal(asked.n, 3);
    w = name_wants(asked.ask[0]);
    assert_int_equal(w->op, NAME_PUBLISH);
    assert_string_equal(w->port, "p");
    assert_int_equal(w->range, RANGE_NODE);
    assert_int_equal(w->persistence, PERSIST_INDEFINITE);
    assert_ptr_equal(name_job(asked.ask[0]), f->job[0]);
    w = name_wants(asked.ask[1]);
    assert_true(w->wait && w->timeout == 7);
    name_done(asked.ask[1], "found", NULL);
    fake_step(f, "0=", SIZE_MAX);
    name_done(asked.ask[2], NULL, NULL);
    fake_step(f, "1< cmd=lookup_result rc=1 info=fail msg=service_not_found\n", SIZE_MAX);
    err_set(&why, ERR_INVALID_KEY, "no");
    name_done(asked.ask[0], NULL, &why);
    fake_step(f, "0{ cmd=name-publish-response;rc=4;errmsg=no;", SIZE_MAX);
    fake_step(f, "0{ cmd=name-lookup-response;rc=0;found=TRUE;value=found;port=found;", SIZE_MAX);
    fake_close(f);
    free(f);
}

/* Answers to those who are gone, and what is never answered. */
static void test_resident_gone(void **state)
{
    struct fake *f = open_asking(1, 1);

    (void)state;
    fake_step(f, "0+2", SIZE_MAX);
    fake_step(f, "A+2", SIZE_MAX);
    fake_step(f, "0} cmd=name-lookup;name=s;", SIZE_MAX);
    fake_step(f, "A} cmd=name-lookup;name=s;", SIZE_MAX);
    fake_step(f, "0} cmd=name-lookup;name=t;", SIZE_MAX);
    fake_step(f, "0.", SIZE_MAX);
    fake_step(f, "A.", SIZE_MAX);
    name_done(asked.ask[0], "p", NULL);
    server_remove_job(f->job[1]);
    f->job[1] = NULL;
    assert_null(name_job(asked.ask[1]));
    name_done(asked.ask[1], "p", NULL);
    fake_close(f);
    free(f);
}

/* The host has timers and no server. */
static void test_timer(void **state)
{
    struct fake *f = open_asking(2, 0);
    unsigned first;

    (void)state;
    asked.none = true;
    fake_step(f, "0+2", SIZE_MAX);
    fake_step(f, "1+2", SIZE_MAX);
    fake_step(f, "0} cmd=name-lookup;name=s;timeout=5;", SIZE_MAX);
    fake_step(f, "0=", SIZE_MAX);
    assert_true(asked.seconds == 5);
    first = asked.timer;
    server_timer(f->server, first + 1);
    fake_step(f, "0=", SIZE_MAX);
    server_timer(f->server, first);
    fake_step(f, "0{ cmd=name-lookup-response;rc=1;found=FALSE;errmsg=service_not_found;", SIZE_MAX);
    fake_step(f, "0} cmd=name-lookup;name=s;timeout=5;", SIZE_MAX);
    assert_int_not_equal(asked.timer, first);
    first = asked.timer;
    fake_step(f, "1} cmd=name-publish;name=s;port=p;", SIZE_MAX);
    fake_step(f, "1{ cmd=name-publish-response;rc=0;", SIZE_MAX);
    fake_step(f, "0{ cmd=name-lookup-response;rc=0;found=TRUE;value=p;port=p;", SIZE_MAX);
    assert_true(asked.timer == first && asked.seconds <= 0);     /* stopped */
    server_timer(f->server, first);
    fake_step(f, "0=", SIZE_MAX);
    fake_close(f);
    free(f);
}

static const struct { const char *name; size_t service, port; const char *reply; } longs[] = {
    { "the longest", LIMIT_SERVICE, LIMIT_PORT, "0{ cmd=name-publish-response;rc=0;" },
    { "name too long", LIMIT_SERVICE + 1, 1,
      "0{ cmd=name-publish-response;rc=8;errmsg=name-publish: name is 1025 bytes, at most 1024;" },
    { "port too long", 1, LIMIT_PORT + 1,
      "0{ cmd=name-publish-response;rc=8;errmsg=name-publish: port is 1025 bytes, at most 1024;" },
};

static void test_long(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(longs); i++) {
        struct fake *f = malloc(sizeof *f);
        struct buf step = BUF_INIT;

        print_message("  %s\n", longs[i].name);
        assert_non_null(f);
        assert_true(fake_open(f, &(struct story){ .size = 1 }));
        fake_step(f, "0+2", SIZE_MAX);
        buf_str(&step, "0} cmd=name-publish;name=");
        for (size_t k = 0; k < longs[i].service; k++)
            buf_char(&step, 'n');
        buf_str(&step, ";port=");
        for (size_t k = 0; k < longs[i].port; k++)
            buf_char(&step, 'p');
        buf_char(&step, ';');
        fake_step(f, buf_bytes(&step), SIZE_MAX);
        fake_step(f, longs[i].reply, SIZE_MAX);
        buf_clear(&step);
        fake_close(f);
        free(f);
    }
}

/* --- tags -------------------------------------------------------------- */

static void test_tags(void **state)
{
    static const struct { const char *port, *text; } plain[] = {
        { "", "" }, { "tag#0$", "tag#0$" }, { "\x1f", "\x1f" }, { "\x1fjob", "\x1fjob" },
        { "\x1fjob\x1f", "\x1fjob\x1f" }, { "\x1fjob\x1f" "1\x1fs", "\x1fjob\x1f" "1\x1fs" },
        { "\x1fjob\x1f" "1\x1fx\x1ft", "\x1fjob\x1f" "1\x1fx\x1ft" },
        { "\x1fjob\x1f\x1fs\x1ft", "\x1fjob\x1f\x1fs\x1ft" },
        { "\x1fjob\x1f" "99999999999\x1fs\x1ft", "\x1fjob\x1f" "99999999999\x1fs\x1ft" },
        { "x\x1fjob\x1f" "1\x1fs\x1ft", "x\x1fjob\x1f" "1\x1fs\x1ft" },
    };
    struct name_tag tag = { "a-job", 5, 4294967294u, true }, found;
    char text[NAME_TAG + 8];

    (void)state;
    for (size_t i = 0; i < N_OF(plain); i++) {
        assert_string_equal(name_untag(plain[i].port, &found), plain[i].text);
        assert_null(found.nspace);
    }
    name_write_tag(&tag, text);
    strcat(text, "{};\x1f");
    assert_string_equal(name_untag(text, &found), "{};\x1f");
    assert_int_equal(found.nspace_len, 5);
    assert_memory_equal(found.nspace, "a-job", 5);
    assert_int_equal(found.rank, 4294967294u);
    assert_true(found.json);
    tag.json = false;
    name_write_tag(&tag, text);
    assert_string_equal(name_untag(text, &found), "");
    assert_false(found.json);
    assert_string_equal(name_untag(text, NULL), "");
}

int main(void)
{
    const struct CMUnitTest more[] = { cmocka_unit_test(test_tags), cmocka_unit_test(test_many),
                                       cmocka_unit_test(test_long),
                                       cmocka_unit_test(test_resident),
                                       cmocka_unit_test(test_resident_gone),
                                       cmocka_unit_test(test_timer) };

    return stories_run("cmd_name", stories, N_OF(stories), more, N_OF(more));
}
