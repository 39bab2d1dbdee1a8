/* Tests of mpiexec_lite/tool_stream.c: two ends, whose messages go from one to the other in
 * order, and a pair of sockets at each. */
#include "mpiexec_lite/tool_stream.h"
#include "wire/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PLACE = 3, NUMBER = 7, PIECES = 4096 };

struct end {
    struct tool_streams streams;
    struct end *other;
    int         fd;                  /* of who uses it */
    size_t      bytes;               /* of payload sent to the other end */
};

struct sent { struct end *to; struct buf frame, payload; };

struct way {                         /* what is on its way */
    struct sent v[PIECES];
    size_t      n, next;
};

static struct way way;

static void on_send(void *host, int position, enum link_class c, struct msg *m,
                    const char *payload, size_t len)
{
    struct end *x = host;
    struct sent *s = &way.v[way.n++];

    assert_true(way.n < PIECES);
    assert_int_equal(position, PLACE);
    assert_int_equal(c == LINK_BULK, tool_streams_is_bulk(m->cmd));
    assert_true(len <= LIMIT_CHUNK);
    *s = (struct sent){ .to = x->other };
    assert_int_equal(wire_v2.format(m, LIMIT_FRAME_LINK, &s->frame, NULL), 0);
    buf_add(&s->payload, payload, len);
    x->bytes += len;
}

/* A question that is answered here, with what it says. */
static bool on_asked(void *host, const char *text, size_t len, struct buf *reply)
{
    (void)host;
    if (memcmp(text, "ask", 3))
        return false;
    buf_printf(reply, "%6zu", len);
    buf_add(reply, text, len);
    return true;
}

static const struct tool_streams_ops ops = { .send = on_send };
static const struct tool_streams_ops answers = { .send = on_send, .asked = on_asked };

static int tell(struct end *x, const char *text, const char *payload, size_t len)
{
    struct buf copy = BUF_INIT;
    struct err e = { 0 };
    struct msg m;
    int rc;

    buf_str(&copy, text);
    msg_init(&m);
    msg_start(&m, "");
    assert_int_equal(wire_v2.parse(&m, buf_bytes(&copy), copy.len, &e), 0);
    assert_true(tool_streams_knows(m.cmd));
    rc = tool_streams_told(&x->streams, PLACE, &m, payload, len, &e);
    assert_int_equal(rc < 0, e.code != 0);
    msg_clear(&m);
    buf_clear(&copy);
    return rc;
}

static void deliver(void)
{
    while (way.next < way.n) {
        struct sent s = way.v[way.next++];

        assert_int_equal(tell(s.to, buf_bytes(&s.frame) + 6,
                              s.payload.len ? buf_bytes(&s.payload) : NULL, s.payload.len), 0);
        buf_clear(&s.frame);
        buf_clear(&s.payload);
    }
    way.n = way.next = 0;
}

/* All that happens without anybody else. */
static void settle(struct ev_loop *loop)
{
    for (int idle = 0; idle < 3; idle++) {
        ev_run(loop, EVRUN_NOWAIT);
        if (way.n)
            idle = 0;
        deliver();
    }
}

static void begin(struct end ends[2], struct ev_loop *loop)
{
    for (int i = 0; i < 2; i++) {
        int fd[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
        ends[i] = (struct end){ .other = &ends[!i], .fd = fd[0] };
        tool_streams_init(&ends[i].streams, loop, &ops, &ends[i]);
        assert_int_equal(tool_streams_add(&ends[i].streams, PLACE, NUMBER, fd[1]), 0);
    }
}

static void finish(struct end ends[2], struct ev_loop *loop)
{
    for (int i = 0; i < 2; i++) {
        tool_streams_clear(&ends[i].streams);
        if (ends[i].fd >= 0)
            close(ends[i].fd);
    }
    ev_loop_destroy(loop);
}

static bool is_over(const struct end *x)
{
    return TAILQ_EMPTY(&x->streams.list);
}

static void test_bytes_pass_both_ways(void **state)
{
    struct ev_loop *loop = ev_loop_new(0);
    struct end ends[2];
    char got[16];

    (void)state;
    begin(ends, loop);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(write(ends[i].fd, "hello", 5), 5);
        settle(loop);
        assert_int_equal(read(ends[!i].fd, got, sizeof got), 5);
        assert_memory_equal(got, "hello", 5);
    }
    finish(ends, loop);
}

/* As much as goes, until nothing does. */
static size_t fill(int fd, struct ev_loop *loop, size_t most)
{
    static const char data[10000] = "x";
    size_t sent = 0;

    for (ssize_t n = 1; n > 0 && sent < most; settle(loop)) {
        n = write(fd, data, sizeof data < most - sent ? sizeof data : most - sent);
        sent += n > 0 ? (size_t)n : 0;
    }
    return sent;
}

static void test_who_does_not_read_stops_it(void **state)
{
    struct ev_loop *loop = ev_loop_new(0);
    struct end ends[2];
    size_t sent, got = 0;
    char data[8192];
    ssize_t n;

    (void)state;
    begin(ends, loop);
    sent = fill(ends[0].fd, loop, SIZE_MAX);
    assert_true(sent > ends[0].bytes);           /* what more there is waits in its socket */
    assert_true(tool_streams_untaken(&ends[0].streams) > sent - ends[0].bytes);
    assert_int_equal(tool_streams_untaken(&ends[1].streams), 0);
    while ((n = read(ends[1].fd, data, sizeof data)) > 0) {
        got += (size_t)n;
        settle(loop);
    }
    assert_int_equal(got, sent);
    assert_int_equal(ends[0].bytes, sent);
    assert_int_equal(tool_streams_untaken(&ends[0].streams), 0);
    finish(ends, loop);
}

static void test_the_end_comes_behind_the_bytes(void **state)
{
    struct ev_loop *loop = ev_loop_new(0);
    struct end ends[2];
    size_t sent, got = 0;
    char data[8192];
    ssize_t n;

    (void)state;
    begin(ends, loop);
    sent = fill(ends[0].fd, loop, 300000);
    close(ends[0].fd);
    ends[0].fd = -1;
    settle(loop);
    while ((n = read(ends[1].fd, data, sizeof data)) > 0) {
        got += (size_t)n;
        settle(loop);
    }
    assert_int_equal(n, 0);
    assert_int_equal(got, sent);
    assert_true(is_over(&ends[0]) && is_over(&ends[1]));
    finish(ends, loop);
}

/* The other end has gone, and what it asked for is still being said. */
static void test_what_nobody_wants_is_passed_over(void **state)
{
    struct ev_loop *loop = ev_loop_new(0);
    struct end ends[2];

    (void)state;
    begin(ends, loop);
    fill(ends[0].fd, loop, SIZE_MAX);            /* which nobody reads */
    close(ends[0].fd);
    ends[0].fd = -1;
    settle(loop);
    assert_int_equal(fill(ends[1].fd, loop, 1 << 20), 1 << 20);
    close(ends[1].fd);
    ends[1].fd = -1;
    settle(loop);
    assert_true(is_over(&ends[0]) && is_over(&ends[1]));
    finish(ends, loop);
}

static void test_a_lost_way_ends_it(void **state)
{
    struct ev_loop *loop = ev_loop_new(0);
    struct end ends[2];
    char data[1];

    (void)state;
    begin(ends, loop);
    tool_streams_lost(&ends[0].streams, PLACE + 1);
    assert_false(is_over(&ends[0]));
    tool_streams_lost(&ends[0].streams, PLACE);
    assert_true(is_over(&ends[0]));
    assert_int_equal(read(ends[0].fd, data, 1), 0);
    assert_int_equal(way.n, 0);
    finish(ends, loop);
}

static void test_what_makes_no_sense(void **state)
{
    struct ev_loop *loop = ev_loop_new(0);
    char *much = calloc(1, STREAM_WINDOW + 1);
    struct end ends[2];

    (void)state;
    begin(ends, loop);
    assert_int_equal(tell(&ends[0], "cmd=tool-bytes;number=8;", "x", 1), 0);     /* it has ended */
    assert_int_equal(tell(&ends[0], "cmd=tool-bytes;", "x", 1), -1);
    assert_int_equal(tell(&ends[0], "cmd=tool-bytes;number=0;", "x", 1), -1);
    assert_int_equal(tell(&ends[0], "cmd=tool-open;number=7;", NULL, 0), -1);
    assert_int_equal(tell(&ends[0], "cmd=tool-taken;number=7;bytes=1;", NULL, 0), -1);
    assert_int_equal(tell(&ends[0], "cmd=tool-bytes;number=7;", much, STREAM_WINDOW + 1), -1);
    assert_false(tool_streams_knows("tools"));
    assert_false(is_over(&ends[0]));
    finish(ends, loop);
    free(much);
}

/* --- what is answered at this end -------------------------------------- */

#define HELLO  "cmd=init pmi_version=2\n"
#define LET_IN "    43cmd=pmix-tool-connect-response;rc=0;rank=0;"
#define NOT_IN "    36cmd=pmix-tool-connect-response;rc=7;"

static void begin_answering(struct end ends[2], struct ev_loop *loop)
{
    begin(ends, loop);
    ends[0].streams.ops = &answers;
}

static void say(struct end *x, const char *text, struct ev_loop *loop)
{
    assert_int_equal(write(x->fd, text, strlen(text)), strlen(text));
    settle(loop);
}

static void hears(struct end *x, const char *text)
{
    char got[1000] = "";
    ssize_t n = read(x->fd, got, sizeof got - 1);

    got[n < 0 ? 0 : n] = '\0';
    assert_string_equal(got, text);
}

/* In order: who says what (0: the tool), and what both hear of it. */
static const struct { const char *name; struct { int who; const char *says, *tool, *other; } v[9]; }
asked[] = {
    { "who has not been let in asks the other end", {
        { 0, HELLO, "", HELLO }, { 1, HELLO, HELLO, "" },
        { 0, "     4ask;", "", "     4ask;" },
        { 1, NOT_IN, NOT_IN, "" },
        { 0, "     4ask;", "", "     4ask;" } } },
    { "who was asks us", {
        { 0, HELLO, "", HELLO }, { 1, HELLO LET_IN, HELLO LET_IN, "" },
        { 0, "     4ask;     5other     7ask-me;", "     4ask;     7ask-me;", "     5other" } } },
    { "an answer waits for the end of a frame", {
        { 0, HELLO, "", HELLO }, { 1, HELLO LET_IN, HELLO LET_IN, "" },
        { 1, "    10abc", "", "" },
        { 0, "     4ask;", "", "" },
        { 1, "de", "", "" },
        { 1, "fghij     ", "    10abcdefghij     4ask;", "" },
        { 1, "1x", "     1x", "" } } },
    { "and of what comes behind it", {
        { 0, HELLO, "", HELLO }, { 1, HELLO LET_IN, HELLO LET_IN, "" },
        { 1, "    28cmd=pmix-iof-data;payload=9;123", "    28cmd=pmix-iof-data;payload=9;123", "" },
        { 0, "     4ask;", "", "" },
        { 1, "456789", "456789     4ask;", "" } } },
    { "where nothing can be told from what the other end answers all", {
        { 0, HELLO, "", HELLO }, { 1, HELLO LET_IN, HELLO LET_IN, "" },
        { 0, "ouch!!     4ask;", "", "ouch!!     4ask;" } } },
};

static void test_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct ev_loop *loop = ev_loop_new(0);
        struct end ends[2];

        print_message("  %s\n", asked[i].name);
        begin_answering(ends, loop);
        for (int k = 0; asked[i].v[k].says; k++) {
            say(&ends[asked[i].v[k].who], asked[i].v[k].says, loop);
            hears(&ends[0], asked[i].v[k].tool);
            hears(&ends[1], asked[i].v[k].other);
        }
        finish(ends, loop);
    }
}

/* Who asks on and does not read is not read; all is answered in the end, among what the other
 * end says. */
static void test_answers_are_bounded(void **state)
{
    enum { FRAME = 1006, QUESTIONS = 4000, WORDS = 40 };
    static char questions[QUESTIONS * FRAME], data[8192];
    struct ev_loop *loop = ev_loop_new(0);
    struct end ends[2];
    size_t sent = 0, got = 0;
    ssize_t n;

    (void)state;
    for (size_t i = 0; i < QUESTIONS; i++)
        memcpy(questions + i * FRAME, "  1000ask", 9);
    begin_answering(ends, loop);
    say(&ends[0], HELLO, loop);
    say(&ends[1], HELLO LET_IN, loop);
    hears(&ends[0], HELLO LET_IN);
    do {
        n = write(ends[0].fd, questions + sent, sizeof questions - sent);
        sent += n > 0 ? (size_t)n : 0;
        settle(loop);
    } while (n > 0);
    assert_true(sent < sizeof questions);
    for (int i = 0; i < WORDS; i++) {
        memcpy(data, "  1000other", 11);
        assert_int_equal(write(ends[1].fd, data, FRAME), FRAME);
        settle(loop);
    }
    while (sent < sizeof questions || n > 0) {
        if (sent < sizeof questions &&
            (n = write(ends[0].fd, questions + sent, sizeof questions - sent)) > 0)
            sent += (size_t)n;
        settle(loop);
        n = read(ends[0].fd, data, sizeof data);
        got += n > 0 ? (size_t)n : 0;
    }
    assert_int_equal(got, sizeof questions + WORDS * FRAME);
    assert_int_equal(read(ends[1].fd, data, sizeof data), sizeof HELLO - 1);
    assert_int_equal(tool_streams_untaken(&ends[0].streams), 0);
    finish(ends, loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_pass_both_ways),
        cmocka_unit_test(test_who_does_not_read_stops_it),
        cmocka_unit_test(test_the_end_comes_behind_the_bytes),
        cmocka_unit_test(test_what_nobody_wants_is_passed_over),
        cmocka_unit_test(test_a_lost_way_ends_it),
        cmocka_unit_test(test_what_makes_no_sense),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_answers_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
