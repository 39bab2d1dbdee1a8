/* test_link.c - mpiexec_lite/link: messages over sockets and pipes, in the order of
 * their classes, against credit; what is no message; who is gone. */
#include "mpiexec_lite/link.h"

#include "mpiexec_lite/now.h"
#include "wire/limits.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define N_OF(a) (sizeof (a) / sizeof *(a))
#define MARKER "\001PROXY "

static struct ev_loop *loop;

/* One end: a link and what it told.  Each message is noted as "cmd/bytes ". */
struct end {
    struct link *l;
    struct link *forward;            /* bulk goes on there */
    struct buf   log, noise, payload, words, why;
    size_t       bulk, data, rooms, held;    /* held: cost of data not granted */
    bool         closed, refuse, free_at_end, hold;      /* hold: no grants */
};

static int on_message(void *host, struct link *l, const struct msg *m, const char *payload,
                      size_t len, struct err *e)
{
    struct end *x = host;
    struct msg copy;

    assert_ptr_equal(l, x->l);
    assert_false(x->closed);
    buf_printf(&x->log, "%s/%zu ", m->cmd, len);
    buf_add(&x->payload, payload, len);
    if (x->refuse)
        return err_set(e, ERR_OTHER, "not %s", m->cmd);
    if (*m->cmd == 'b' && link_take(l, len, e) < 0)
        return -1;
    x->bulk += *m->cmd == 'b' ? len : 0;
    x->data += *m->cmd == 'd' ? len : 0;
    if (x->hold)
        x->held += link_hold(l);
    if (x->forward) {
        msg_init(&copy);
        msg_start(&copy, m->cmd);
        link_message(x->forward, LINK_BULK, &copy, payload, len, l);
        msg_clear(&copy);
    } else if (len && *m->cmd == 'b' && !x->hold) {
        link_grant(l, LINK_BULK, len);
    }
    return 0;
}

static void on_closed(void *host, struct link *l, const char *why)
{
    struct end *x = host;

    assert_false(x->closed);
    x->closed = true;
    buf_str(&x->why, why);
    if (x->free_at_end) {
        link_free(l);
        x->l = NULL;
    }
}

static void on_room(void *host, struct link *l)
{
    struct end *x = host;

    assert_true(link_room(l, LINK_BULK) <= LINK_WINDOW);
    assert_true(link_room(l, LINK_DATA) <= LINK_WINDOW);
    x->rooms++;
}

static void on_noise(void *host, struct link *l, const char *text, size_t len)
{
    struct end *x = host;

    (void)l;
    buf_add(&x->noise, text, len);
}

static void on_spoke(void *host, struct link *l, const char *words)
{
    struct end *x = host;

    (void)l;
    assert_int_equal(x->words.len, 0);
    buf_str(&x->words, words);
}

static const struct link_ops ops = { on_message, on_closed, on_room, on_noise, on_spoke };

static void end_open(struct end *x, int in, int out, double beat, double lease)
{
    *x = (struct end){ .l = link_new(loop, in, out, beat, lease, &ops, x) };
    assert_non_null(x->l);
}

static void end_close(struct end *x)
{
    link_free(x->l);
    buf_clear(&x->log);
    buf_clear(&x->noise);
    buf_clear(&x->payload);
    buf_clear(&x->words);
    buf_clear(&x->why);
}

static const char *text_of(const struct buf *b)
{
    return b->len ? buf_bytes(b) : "";
}

/* Turns of the loop, without waiting. */
static void turns(int n)
{
    while (n--)
        ev_run(loop, EVRUN_NOWAIT);
}

static void nothing(struct ev_loop *l, ev_timer *w, int revents)
{
    (void)w;
    (void)revents;
    ev_break(l, EVBREAK_ONE);
}

/* Run for so long, as a program does: with waits. */
static void run_for(double seconds)
{
    ev_timer t;

    ev_now_update(loop);
    ev_timer_init(&t, nothing, seconds, 0.);
    ev_timer_start(loop, &t);
    ev_run(loop, 0);
    ev_timer_stop(loop, &t);
}

static void sockets(int fd[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
}

/* A link to a descriptor that the test reads and writes itself. */
static int raw_open(struct end *x, double beat, double lease)
{
    int fd[2];

    sockets(fd);
    fcntl(fd[1], F_SETFL, O_NONBLOCK);
    end_open(x, fd[0], fd[0], beat, lease);
    return fd[1];
}

static void say(int fd, const char *text, size_t len)
{
    assert_int_equal(write(fd, text, len), len);
}

/* A PMI-2 frame of this body. */
static void frame(struct buf *out, const char *body)
{
    buf_printf(out, "%6zu%s", strlen(body), body);
}

static void say_frame(int fd, const char *body)
{
    struct buf b = BUF_INIT;

    frame(&b, body);
    say(fd, buf_bytes(&b), b.len);
    buf_clear(&b);
}

static void post(struct link *l, enum link_class c, const char *cmd, size_t len)
{
    char *payload = malloc(len ? len : 1);
    struct msg m;

    assert_non_null(payload);
    memset(payload, *cmd, len);
    msg_init(&m);
    msg_start(&m, cmd);
    if (c == LINK_DATA)
        msg_str(&m, "job", "J");
    link_message(l, c, &m, payload, len, NULL);
    msg_clear(&m);
    free(payload);
}

/* Read what is there and note the frames as on_message does. */
struct reader { struct framer f; struct buf log; size_t want, bulk; };

static void reader_open(struct reader *r)
{
    *r = (struct reader){ 0 };
    framer_init(&r->f, LIMIT_FRAME_LINK);
    r->f.wire = WIRE_2;
}

static void reader_take(struct reader *r, char *data, size_t len)
{
    struct frame f;
    struct msg m;
    int rc;

    msg_init(&m);
    while ((rc = framer_next(&r->f, &data, &len, &f, NULL)) > 0) {
        const struct pair *p;
        long long n = 0;

        if (f.kind == FRAME_PAYLOAD) {
            r->want -= f.len;
            continue;
        }
        assert_int_equal(wire_v2.parse(&m, f.text, f.len, NULL), 0);
        p = msg_find(&m, "payload");
        if (p)
            assert_int_equal(pair_int(p, 1, LINK_PAYLOAD, &n, NULL), 0);
        buf_printf(&r->log, "%s/%lld ", m.cmd, n);
        if (*m.cmd == 'b' && strcmp(m.cmd, "beat"))
            r->bulk += (size_t)n;
        r->want = (size_t)n;
        if (n)
            framer_expect_payload(&r->f, r->want);
    }
    assert_int_equal(rc, 0);
    msg_clear(&m);
}

/* Until nothing more comes. */
static void reader_read(struct reader *r, int fd)
{
    static char data[65536];
    ssize_t n;

    for (int idle = 0; idle < 3; idle++) {
        turns(2);
        while ((n = read(fd, data, sizeof data)) > 0) {
            reader_take(r, data, (size_t)n);
            turns(2);
            idle = 0;
        }
    }
}

static void reader_close(struct reader *r)
{
    framer_clear(&r->f);
    buf_clear(&r->log);
}

/* --- order ------------------------------------------------------------- */

static void test_classes(void **state)
{
    struct reader r;
    struct end x;
    int fd = raw_open(&x, 100, 0);

    (void)state;
    reader_open(&r);
    post(x.l, LINK_BULK, "b1", 10);
    post(x.l, LINK_BULK, "b2", 0);
    post(x.l, LINK_DATA, "d1", 10);
    post(x.l, LINK_DATA, "d2", 0);
    post(x.l, LINK_CONTROL, "c1", 0);
    post(x.l, LINK_BULK, "b3", 10);
    post(x.l, LINK_CONTROL, "c2", 5);
    assert_false(link_idle(x.l));
    reader_read(&r, fd);
    assert_true(link_idle(x.l));
    assert_string_equal(text_of(&r.log), "c1/0 c2/5 d1/10 d2/0 b1/10 b2/0 b3/10 ");
    reader_close(&r);
    end_close(&x);
    close(fd);
}

/* What is urgent passes what waits for the reader. */
static void test_overtaking(void **state)
{
    struct reader r;
    struct end x;
    int fd = raw_open(&x, 100, 0), small = 4096;
    char *c, *d, *last_bulk, *at;

    (void)state;
    reader_open(&r);
    setsockopt(x.l->out, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    for (int i = 0; i < 4; i++)
        post(x.l, LINK_BULK, "b", LIMIT_CHUNK);
    turns(5);
    for (int i = 0; i < 4; i++)
        post(x.l, LINK_DATA, "d", LIMIT_CHUNK);
    turns(5);
    post(x.l, LINK_CONTROL, "c", 0);
    reader_read(&r, fd);
    c = strstr(text_of(&r.log), "c/0");
    d = strstr(text_of(&r.log), "d/");
    assert_non_null(c);
    assert_non_null(d);
    last_bulk = d;
    for (at = buf_bytes(&r.log); (at = strstr(at, "b/")); at++)
        last_bulk = at;
    assert_true(c < d + 60);             /* behind one batch at most */
    assert_true(last_bulk > c);
    assert_true(d < last_bulk);
    assert_int_equal(r.bulk, 4 * LIMIT_CHUNK);
    reader_close(&r);
    end_close(&x);
    close(fd);
}

/* Within a class nothing changes its order, whatever the reader takes at once. */
static void test_order_in_class(void **state)
{
    struct buf want = BUF_INIT;
    struct reader r;
    struct end x;
    int fd = raw_open(&x, 100, 0);
    char data[700], cmd[20];
    ssize_t n;

    (void)state;
    reader_open(&r);
    for (int i = 0; i < 300; i++) {
        snprintf(cmd, sizeof cmd, "d%d", i);
        post(x.l, LINK_DATA, cmd, (size_t)(i * 7 % 800));
        buf_printf(&want, "d%d/%d ", i, i * 7 % 800);
    }
    for (int idle = 0; idle < 3; idle++) {
        turns(1);
        if ((n = read(fd, data, sizeof data)) > 0) {
            reader_take(&r, data, (size_t)n);
            idle = 0;
        }
    }
    assert_string_equal(text_of(&r.log), text_of(&want));
    reader_close(&r);
    buf_clear(&want);
    end_close(&x);
    close(fd);
}

/* --- credit ------------------------------------------------------------ */

static void test_credit(void **state)
{
    struct reader r;
    struct end x;
    int fd = raw_open(&x, 100, 0);

    (void)state;
    reader_open(&r);
    assert_int_equal(link_room(x.l, LINK_BULK), LINK_WINDOW);
    for (int i = 0; i < 10; i++)
        post(x.l, LINK_BULK, "b", LIMIT_CHUNK);
    assert_int_equal(link_room(x.l, LINK_BULK), 0);
    reader_read(&r, fd);
    assert_int_equal(r.bulk, LINK_WINDOW);
    post(x.l, LINK_DATA, "d", 70000);
    post(x.l, LINK_CONTROL, "c", 0);
    buf_reset(&r.log);
    reader_read(&r, fd);
    assert_string_equal(text_of(&r.log), "c/0 d/70000 ");
    say_frame(fd, "cmd=credit;class=bulk;bytes=32767;");    /* not enough for a whole one */
    reader_read(&r, fd);
    assert_int_equal(r.bulk, LINK_WINDOW);
    say_frame(fd, "cmd=credit;class=bulk;bytes=1;");
    reader_read(&r, fd);
    assert_int_equal(r.bulk, LINK_WINDOW + LIMIT_CHUNK);
    say_frame(fd, "cmd=credit;class=bulk;bytes=131072;");
    reader_read(&r, fd);
    assert_int_equal(r.bulk, 2 * LINK_WINDOW + LIMIT_CHUNK);
    assert_int_equal(link_room(x.l, LINK_BULK), 0);
    say_frame(fd, "cmd=credit;class=bulk;bytes=131072;");
    reader_read(&r, fd);
    assert_int_equal(r.bulk, 10 * LIMIT_CHUNK);
    assert_int_equal(link_room(x.l, LINK_BULK), 13 * LIMIT_CHUNK - 10 * LIMIT_CHUNK);
    assert_true(x.rooms > 0);
    assert_false(x.closed);
    reader_close(&r);
    end_close(&x);
    close(fd);
}

/* Data has its own: without it, it stops, and nothing else does. */
static void test_data_credit(void **state)
{
    struct reader r;
    struct end x;
    int fd = raw_open(&x, 100, 0);

    (void)state;
    reader_open(&r);
    for (int i = 0; i < 3; i++)
        post(x.l, LINK_DATA, "d", 50000);
    post(x.l, LINK_DATA, "e", 0);        /* costs nothing, and keeps its place */
    assert_int_equal(link_room(x.l, LINK_DATA), 0);
    post(x.l, LINK_BULK, "b", LIMIT_CHUNK);
    post(x.l, LINK_CONTROL, "c", 40000);
    reader_read(&r, fd);
    assert_string_equal(text_of(&r.log), "c/40000 d/50000 d/50000 b/32768 ");
    assert_false(link_idle(x.l));
    say_frame(fd, "cmd=credit;class=bulk;bytes=32768;");
    reader_read(&r, fd);
    assert_false(link_idle(x.l));
    say_frame(fd, "cmd=credit;class=data;bytes=50000;");
    reader_read(&r, fd);
    assert_true(link_idle(x.l));
    assert_string_equal(text_of(&r.log), "c/40000 d/50000 d/50000 b/32768 d/50000 e/0 ");
    assert_int_equal(link_room(x.l, LINK_DATA), LINK_WINDOW - 100000);
    assert_int_equal(link_room(x.l, LINK_BULK), LINK_WINDOW);
    reader_close(&r);
    end_close(&x);
    close(fd);
}

/* Data is granted at once; if the host holds it, not before that says so.  Large
 * payloads go, one at a time. */
static void test_data_grants(void **state)
{
    (void)state;
    for (int hold = 0; hold < 2; hold++) {
        enum { PIECES = 10, SIZE = 400000 };
        struct end a, b;
        int fd[2];

        sockets(fd);
        end_open(&a, fd[0], fd[0], 100, 0);
        end_open(&b, fd[1], fd[1], 100, 0);
        b.hold = hold;
        for (int i = 0; i < PIECES; i++)
            post(a.l, LINK_DATA, "d", SIZE);
        for (int i = 1; i <= PIECES; i++) {
            turns(100);
            assert_int_equal(b.data, (hold ? i : PIECES) * SIZE);
            assert_int_equal(b.held, hold ? LINK_WINDOW / 4 * 3 : 0);
            link_grant(b.l, LINK_DATA, b.held);
            b.held = 0;
        }
        assert_true(link_idle(a.l));
        assert_true(a.rooms > 0);
        assert_false(a.closed || b.closed);
        end_close(&a);
        end_close(&b);
    }
}

/* Who sends on without credit is cut off. */
static void test_without_credit(void **state)
{
    static const char *const heads[] = { "cmd=d;job=J;payload=30000;", "cmd=b;payload=30000;" };
    static char payload[30000];

    (void)state;
    for (size_t i = 0; i < N_OF(heads); i++) {
        struct end x;
        int fd = raw_open(&x, 100, 0);

        print_message("  %s\n", heads[i]);
        x.hold = true;
        for (int n = 0; n < 5; n++) {
            assert_false(x.closed);
            say_frame(fd, heads[i]);
            say(fd, payload, sizeof payload);
            turns(2);
        }
        assert_true(x.closed);
        assert_string_equal(text_of(&x.why), i ? "30000 bytes of bulk came without credit" :
                            "30000 bytes of data came without credit");
        end_close(&x);
        close(fd);
    }
}

/* Two links: however much one sends, the other's host has granted what is on its way. */
static void test_grants(void **state)
{
    struct end a, b;
    int fd[2];

    (void)state;
    sockets(fd);
    end_open(&a, fd[0], fd[0], 100, 0);
    end_open(&b, fd[1], fd[1], 100, 0);
    b.hold = true;
    for (int i = 0; i < 40; i++)
        post(a.l, LINK_BULK, "b", 30000);
    turns(100);
    assert_int_equal(b.bulk, 4 * 30000);
    for (int i = 0; i < 100; i++) {
        size_t before = b.bulk;

        if (b.bulk < 40 * 30000)
            link_grant(b.l, LINK_BULK, 30000);
        turns(10);
        assert_true(b.bulk - before <= 2 * 30000);
    }
    assert_int_equal(b.bulk, 40 * 30000);
    assert_true(link_idle(a.l));
    end_close(&a);
    end_close(&b);
}

/* a - b, c - d: what b gets goes on by c.  The chain never waits for a timer, in
 * whichever order its links were made. */
static void test_forward(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct end a, b, c, d;
        int one[2], two[2];
        size_t sent = 0;
        double began;

        sockets(one);
        sockets(two);
        end_open(&a, one[0], one[0], 100, 0);
        if (order) {
            end_open(&c, two[0], two[0], 100, 0);
            end_open(&b, one[1], one[1], 100, 0);
        } else {
            end_open(&b, one[1], one[1], 100, 0);
            end_open(&c, two[0], two[0], 100, 0);
        }
        end_open(&d, two[1], two[1], 100, 0);
        b.forward = c.l;
        began = now_seconds();
        while (d.bulk < 5000000 && now_seconds() - began < 5) {
            while (link_room(a.l, LINK_BULK) >= 20000 && sent < 5000000) {
                post(a.l, LINK_BULK, "b", 20000);
                sent += 20000;
            }
            run_for(0.005);
        }
        print_message("  %s first: %zu bytes in %.2f s\n", order ? "c" : "b", d.bulk,
                      now_seconds() - began);
        assert_int_equal(d.bulk, 5000000);
        assert_int_equal(d.payload.len, 5000000);
        end_close(&a);
        end_close(&b);
        end_close(&c);
        end_close(&d);
    }
}

/* A grant that is made while another link writes goes out before the loop waits. */
static void test_grant_before_waiting(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct reader r;
        struct end b, c;
        int one[2], two[2];

        reader_open(&r);
        sockets(one);
        sockets(two);
        fcntl(one[0], F_SETFL, O_NONBLOCK);
        if (order)
            end_open(&c, two[0], two[0], 100, 0);
        end_open(&b, one[1], one[1], 100, 0);
        if (!order)
            end_open(&c, two[0], two[0], 100, 0);
        b.forward = c.l;
        print_message("  %s first\n", order ? "the next link" : "the link it comes from");
        for (int i = 0; i < 2; i++) {
            static char data[20000];

            say_frame(one[0], "cmd=b;payload=20000;");
            say(one[0], data, sizeof data);
        }
        run_for(0.2);                    /* nothing else happens meanwhile */
        {
            char data[4096];
            ssize_t n = read(one[0], data, sizeof data);

            assert_true(n > 0);
            reader_take(&r, data, (size_t)n);
        }
        assert_non_null(strstr(text_of(&r.log), "credit"));
        reader_close(&r);
        end_close(&b);
        end_close(&c);
        close(one[0]);
        close(two[1]);
    }
}

/* --- what comes in ----------------------------------------------------- */

static const struct { const char *name, *log; } pieces_want = {
    "messages with and without payload", "a/0 b/5 c/0 d/1 e/0 f/12 "
};

static void pieces_text(struct buf *b)
{
    frame(b, "cmd=a;x=y;");
    frame(b, "cmd=beat;");
    frame(b, "cmd=b;payload=5;");
    buf_add(b, "12\0;5", 5);
    frame(b, "cmd=c;payload=0;");
    frame(b, "cmd=d;payload=1;");
    buf_add(b, "x", 1);
    frame(b, "cmd=e;v=a;;b;");
    frame(b, "cmd=f;payload=12;");
    buf_str(b, "     9cmd=a;");
}

static void check_pieces(struct end *x)
{
    assert_string_equal(text_of(&x->log), pieces_want.log);
    assert_int_equal(x->payload.len, 18);
    assert_memory_equal(buf_bytes(&x->payload), "12\0;5x     9cmd=a;", 18);
    assert_false(x->closed);
}

/* In two pieces at every position, and byte by byte. */
static void test_pieces(void **state)
{
    struct buf b = BUF_INIT;

    (void)state;
    print_message("  %s\n", pieces_want.name);
    pieces_text(&b);
    for (size_t cut = 0; cut <= b.len; cut++) {
        struct end x;
        int fd = raw_open(&x, 100, 0);

        if (cut)
            say(fd, buf_bytes(&b), cut);
        turns(2);
        if (cut < b.len)
            say(fd, buf_bytes(&b) + cut, b.len - cut);
        turns(3);
        check_pieces(&x);
        end_close(&x);
        close(fd);
    }
    {
        struct end x;
        int fd = raw_open(&x, 100, 0);

        for (size_t i = 0; i < b.len; i++) {
            say(fd, buf_bytes(&b) + i, 1);
            turns(1);
        }
        turns(2);
        check_pieces(&x);
        end_close(&x);
        close(fd);
    }
    buf_clear(&b);
}

static void test_large_payload(void **state)
{
    struct end a, b;
    int fd[2];

    (void)state;
    sockets(fd);
    end_open(&a, fd[0], fd[0], 100, 0);
    end_open(&b, fd[1], fd[1], 100, 0);
    post(a.l, LINK_DATA, "d", LINK_PAYLOAD);
    post(a.l, LINK_DATA, "e", 3);
    for (int i = 0; i < 20000 && b.payload.len < LINK_PAYLOAD + 3; i++)
        turns(1);
    assert_string_equal(text_of(&b.log), "d/16777216 e/3 ");
    assert_int_equal(b.l->payload.cap, 0);           /* and none of it is kept */
    end_close(&a);
    end_close(&b);
}

static const struct {
    const char *name, *bytes;
    size_t      len;                     /* 0: of the string */
    const char *why;                     /* contained; "=": exactly "" */
} garbage[] = {
    { "no length", "hello, world", 0, "" },
    { "a line of PMI-1", "cmd=init pmi_version=1\n", 0, "" },
    { "zeros", "\0\0\0\0\0\0\0\0", 8, "" },
    { "a body without cmd", "     4a=b;", 0, "" },
    { "an empty body", "     0", 0, "" },
    { "a payload of less than nothing", "    17cmd=a;payload=-1;", 0, "" },
    { "a payload that is no number", "    16cmd=a;payload=x;", 0, "" },
    { "a payload too long", "    23cmd=a;payload=16777217;", 0, "" },
    { "credit without class", "    19cmd=credit;bytes=1;", 0, "credit without class" },
    { "credit of control", "    33cmd=credit;class=control;bytes=1;", 0, "credit without class" },
    { "credit without bytes", "    22cmd=credit;class=bulk;", 0, "credit without bytes" },
    { "credit of a text", "    30cmd=credit;class=bulk;bytes=x;", 0, "credit without bytes" },
    { "too much credit at once", "    35cmd=credit;class=bulk;bytes=131073;", 0,
      "credit without bytes" },
    { "more credit than there is", "    30cmd=credit;class=bulk;bytes=1;", 0,
      "more credit than there is" },
    { "the same of data", "    30cmd=credit;class=data;bytes=1;", 0, "more credit than there is" },
    { "a closing", "", 0, "=" },
};

static void test_garbage(void **state)
{
    int wrong = 0;

    (void)state;
    for (size_t i = 0; i < N_OF(garbage); i++)
        for (int at_once = 0; at_once < 2; at_once++) {
            struct end x;
            int fd = raw_open(&x, 100, 0);
            size_t len = garbage[i].len ? garbage[i].len : strlen(garbage[i].bytes);

            print_message("  %s\n", garbage[i].name);
            x.free_at_end = true;
            post(x.l, LINK_CONTROL, "c", 100);
            for (size_t k = 0; k < len && !x.closed; k += at_once ? len : 1) {
                say(fd, garbage[i].bytes + k, at_once ? len : 1);
                turns(1);
            }
            if (!len)
                close(fd);
            turns(2);
            if (!x.closed || (*garbage[i].why == '=' ? x.why.len != 0
                              : !x.why.len || !strstr(text_of(&x.why), garbage[i].why))) {
                print_error("    closed %d, '%s'\n", x.closed, text_of(&x.why));
                wrong++;
            }
            assert_string_equal(text_of(&x.log), "");
            end_close(&x);
            if (len)
                close(fd);
        }
    assert_int_equal(wrong, 0);
}

/* The host may refuse a message, and free the link at once. */
static void test_refused(void **state)
{
    (void)state;
    for (int freed = 0; freed < 2; freed++) {
        struct end x;
        int fd = raw_open(&x, 100, 0);
        struct buf b = BUF_INIT;

        x.refuse = true;
        x.free_at_end = freed;
        frame(&b, "cmd=a;");
        frame(&b, "cmd=b;");
        say(fd, buf_bytes(&b), b.len);
        turns(3);
        assert_true(x.closed);
        assert_string_equal(text_of(&x.why), "not a");
        assert_string_equal(text_of(&x.log), "a/0 ");
        if (x.l) {                       /* it takes no more, and says so */
            assert_int_equal(link_room(x.l, LINK_BULK), 0);
            post(x.l, LINK_CONTROL, "c", 0);
            post(x.l, LINK_BULK, "b", 10);
            assert_true(link_idle(x.l));
        }
        buf_clear(&b);
        end_close(&x);
        close(fd);
    }
}

/* --- first words ------------------------------------------------------- */

static const struct { const char *name, *before; size_t len; } noises[] = {
    { "none", "", 0 },
    { "a line", "Welcome to node 7\n", 0 },
    { "lines without an end", "hello\r\nworld", 0 },
    { "what begins like a marker", "\001\001PROX\001PROXY", 0 },
    { "NULs", "a\0b\0\n", 5 },
    { "a frame", "    10cmd=a;x=y;", 0 },
};

static void test_marker(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_OF(noises); i++) {
        size_t len = noises[i].len ? noises[i].len : strlen(noises[i].before);
        struct buf b = BUF_INIT;

        print_message("  %s\n", noises[i].name);
        buf_add(&b, noises[i].before, len);
        buf_str(&b, MARKER "1 0.1.0 node7\n");
        pieces_text(&b);
        for (size_t cut = 0; cut <= b.len + 1; cut++) {
            struct end x;
            int fd = raw_open(&x, 100, 0);

            link_await(x.l, MARKER);
            for (size_t k = 0; cut > b.len && k < b.len; k++) {
                say(fd, buf_bytes(&b) + k, 1);
                turns(1);
            }
            if (cut && cut <= b.len)
                say(fd, buf_bytes(&b), cut);
            turns(2);
            if (cut < b.len)
                say(fd, buf_bytes(&b) + cut, b.len - cut);
            turns(3);
            assert_int_equal(x.noise.len, len);
            if (len)
                assert_memory_equal(buf_bytes(&x.noise), noises[i].before, len);
            assert_string_equal(text_of(&x.words), "1 0.1.0 node7");
            check_pieces(&x);
            end_close(&x);
            close(fd);
        }
        buf_clear(&b);
    }
}

static void test_much_noise(void **state)
{
    static char text[100000];
    struct end x;
    int fd = raw_open(&x, 100, 0);

    (void)state;
    memset(text, 'n', sizeof text);
    link_await(x.l, MARKER);
    say(fd, text, 65000);
    turns(3);
    assert_false(x.closed);
    say(fd, text, 600);
    turns(3);
    assert_true(x.closed);
    assert_non_null(strstr(text_of(&x.why), "64 KiB"));
    assert_int_equal(x.words.len, 0);
    end_close(&x);
    close(fd);
    fd = raw_open(&x, 100, 0);           /* as much as may be, and then the words */
    link_await(x.l, MARKER);
    say(fd, text, 65000);
    turns(2);
    say(fd, MARKER "x\n", sizeof MARKER + 1);
    turns(2);
    assert_string_equal(text_of(&x.words), "x");
    assert_int_equal(x.noise.len, 65000);
    end_close(&x);
    close(fd);
    fd = raw_open(&x, 100, 0);           /* more, and the words come with the last of it */
    link_await(x.l, MARKER);
    say(fd, text, 65000);
    turns(2);
    memcpy(text + 600, MARKER "x\n", sizeof MARKER + 1);
    say(fd, text, 600 + sizeof MARKER + 1);
    turns(3);
    assert_true(x.closed);
    assert_non_null(strstr(text_of(&x.why), "64 KiB"));
    assert_int_equal(x.words.len, 0);
    end_close(&x);
    close(fd);
}

static void test_noise_and_the_end(void **state)
{
    struct end x;
    int fd = raw_open(&x, 100, 0);

    (void)state;
    link_await(x.l, MARKER);
    x.free_at_end = true;
    say(fd, "pmi2_proxy: not found\n", 22);
    close(fd);
    turns(4);
    assert_true(x.closed);
    assert_string_equal(text_of(&x.why), "");
    assert_string_equal(text_of(&x.noise), "pmi2_proxy: not found\n");
    end_close(&x);
}

/* --- time -------------------------------------------------------------- */

static void test_silence(void **state)
{
    double began = now_seconds();
    struct reader r;
    struct end x;
    int fd = raw_open(&x, 0.05, 0.3);

    (void)state;
    reader_open(&r);
    while (!x.closed && now_seconds() - began < 5)
        run_for(0.02);
    assert_true(x.closed);
    assert_non_null(strstr(text_of(&x.why), "0.3 s"));
    assert_true(now_seconds() - began > 0.28);
    reader_read(&r, fd);
    assert_non_null(strstr(text_of(&r.log), "beat/0 beat/0 beat/0 "));
    reader_close(&r);
    end_close(&x);
    close(fd);
}

/* Two that have nothing to say stay together. */
static void test_beats(void **state)
{
    struct end a, b;
    int fd[2];

    (void)state;
    sockets(fd);
    end_open(&a, fd[0], fd[0], 0.05, 0.3);
    end_open(&b, fd[1], fd[1], 0.05, 0.3);
    run_for(1.);
    assert_false(a.closed || b.closed);
    assert_string_equal(text_of(&a.log), "");        /* beats are nobody else's business */
    end_close(&a);
    end_close(&b);
}

/* Who does not read is lost all the same, however much waits for it. */
static void test_stopped(void **state)
{
    double began = now_seconds();
    struct end x;
    int fd = raw_open(&x, 0.05, 0.3);

    (void)state;
    x.free_at_end = true;
    for (int i = 0; i < 100; i++)
        post(x.l, LINK_DATA, "d", 100000);
    while (!x.closed && now_seconds() - began < 5)
        run_for(0.02);
    assert_true(x.closed);
    assert_non_null(strstr(text_of(&x.why), "0.3 s"));
    end_close(&x);
    close(fd);
}

static void test_no_term(void **state)
{
    struct end x;
    int fd = raw_open(&x, 0.02, 0);

    (void)state;
    run_for(0.5);
    assert_false(x.closed);
    end_close(&x);
    close(fd);
}

/* --- ends -------------------------------------------------------------- */

static void test_pipes(void **state)
{
    struct end a, b;
    int there[2], back[2];

    (void)state;
    assert_int_equal(pipe2(there, O_CLOEXEC), 0);
    assert_int_equal(pipe2(back, O_CLOEXEC), 0);
    end_open(&a, back[0], there[1], 100, 0);
    end_open(&b, there[0], back[1], 100, 0);
    post(a.l, LINK_DATA, "d", 500000);
    post(b.l, LINK_CONTROL, "c", 3);
    turns(100);
    assert_string_equal(text_of(&b.log), "d/500000 ");
    assert_string_equal(text_of(&a.log), "c/3 ");
    link_shut(a.l);
    turns(5);
    assert_true(b.closed);
    assert_string_equal(text_of(&b.why), "");
    assert_false(a.closed);
    link_free(b.l);
    b.l = NULL;
    post(a.l, LINK_CONTROL, "c", 3);     /* goes nowhere */
    turns(5);
    assert_true(a.closed);
    end_close(&a);
    end_close(&b);
}

/* After link_shut the other end may still speak. */
static void test_shut(void **state)
{
    struct end a, b;
    int fd[2];

    (void)state;
    sockets(fd);
    end_open(&a, fd[0], fd[0], 100, 0);
    end_open(&b, fd[1], fd[1], 100, 0);
    post(a.l, LINK_CONTROL, "c", 3);
    turns(3);
    link_shut(a.l);
    link_shut(a.l);
    post(b.l, LINK_CONTROL, "d", 4);
    turns(5);
    assert_string_equal(text_of(&a.log), "d/4 ");
    assert_string_equal(text_of(&b.log), "c/3 ");
    assert_true(b.closed);
    end_close(&a);
    end_close(&b);
}

/* Links are freed with all that waits: nothing is lost or freed twice (ASan). */
static void test_free_with_much(void **state)
{
    (void)state;
    link_free(NULL);
    for (int turn = 0; turn < 3; turn++) {
        struct end x;
        int fd = raw_open(&x, 100, 0);

        for (int i = 0; i < 20; i++) {
            post(x.l, LINK_CONTROL, "c", 1000);
            post(x.l, LINK_DATA, "d", 100000);
            post(x.l, LINK_BULK, "b", LIMIT_CHUNK);
        }
        turns(turn);
        say(fd, "    17cmd=a;payload=10;", 23);
        turns(turn);
        end_close(&x);
        close(fd);
    }
}

static void test_blobs(void **state)
{
    enum { LINKS = 5 };
    struct end x[LINKS];
    struct reader r;
    int fd[LINKS];

    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        char *payload = malloc(300000);
        struct blob *b;

        assert_non_null(payload);
        memset(payload, 'p', 300000);
        b = blob_new("    21cmd=d;payload=300000;", 27, payload, 300000);
        free(payload);
        for (int i = 0; i < LINKS; i++) {
            fd[i] = raw_open(&x[i], 100, 0);
            post(x[i].l, LINK_DATA, "a", (size_t)i);
            link_send_blob(x[i].l, LINK_DATA, b);
            post(x[i].l, LINK_DATA, "z", 0);
        }
        blob_drop(b);
        turns(turn);
        end_close(&x[1]);                /* one goes before it has sent all */
        reader_open(&r);
        reader_read(&r, fd[2]);
        assert_string_equal(text_of(&r.log), "a/2 d/300000 z/0 ");
        reader_close(&r);
        for (int i = 0; i < LINKS; i++) {
            if (i != 1)
                end_close(&x[i]);
            close(fd[i]);
        }
    }
    {
        struct end y;                    /* a link that is over takes none */
        int other = raw_open(&y, 100, 0);
        struct blob *b = blob_new("     6cmd=a;", 12, NULL, 0);

        close(other);
        turns(3);
        assert_true(y.closed);
        link_send_blob(y.l, LINK_DATA, b);
        assert_true(link_idle(y.l));
        blob_drop(b);
        end_close(&y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes), cmocka_unit_test(test_overtaking),
        cmocka_unit_test(test_order_in_class), cmocka_unit_test(test_credit),
        cmocka_unit_test(test_data_credit), cmocka_unit_test(test_data_grants),
        cmocka_unit_test(test_without_credit),
        cmocka_unit_test(test_grants), cmocka_unit_test(test_forward),
        cmocka_unit_test(test_grant_before_waiting), cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_large_payload), cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_marker),
        cmocka_unit_test(test_much_noise), cmocka_unit_test(test_noise_and_the_end),
        cmocka_unit_test(test_silence), cmocka_unit_test(test_beats),
        cmocka_unit_test(test_stopped), cmocka_unit_test(test_no_term),
        cmocka_unit_test(test_pipes), cmocka_unit_test(test_shut),
        cmocka_unit_test(test_free_with_much), cmocka_unit_test(test_blobs),
    };
    int rc;

    signal(SIGPIPE, SIG_IGN);
    loop = ev_loop_new(0);
    rc = cmocka_run_group_tests_name("link", tests, NULL, NULL);
    ev_loop_destroy(loop);
    return rc;
}
