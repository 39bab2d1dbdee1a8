/* fuzz_link.c - a link that hears anything.
 *
 * Input: a byte of options (bit 0: a marker is awaited, 1: its host refuses the third
 * message, 2: and frees the link at its end, 3: it grants nothing), a byte that says how
 * many bytes arrive at once (0: all), then the stream.  Of it, cmd=out is bulk.
 *
 * Properties: a message has a cmd and exactly the payload that it announced; the end is
 * told once, with a reason unless the stream has ended, and nothing comes behind it;
 * bulk never exceeds what was granted; what the link sends itself are whole frames. */
#include "test/fuzz/fuzz.h"

#include "mpiexec_lite/link.h"
#include "wire/limits.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct host {
    struct link *l;
    int          messages;
    bool         closed, ended, refuse, free_at_end, hold;
    size_t       noise;
};

static int on_message(void *host, struct link *l, const struct msg *m, const char *payload,
                      size_t len, struct err *e)
{
    const struct pair *p = msg_find(m, "payload");
    struct host *h = host;
    static volatile char sum;            /* every byte is there */

    MUST(h->l == l && !h->closed && m->cmd);
    MUST(len ? p && payload && strtoull(p->val, NULL, 10) == len : !payload);
    for (size_t i = 0; i < len; i++)
        sum = (char)(sum ^ payload[i]);
    if (h->refuse && ++h->messages == 3)
        return err_set(e, ERR_OTHER, "enough");
    if (h->hold)
        link_hold(l);
    if (strcmp(m->cmd, "out"))
        return 0;
    if (link_take(l, len, e) < 0)
        return -1;
    if (!h->hold)
        link_grant(l, LINK_BULK, len);
    return 0;
}

static void on_closed(void *host, struct link *l, const char *why)
{
    struct host *h = host;

    MUST(h->l == l && !h->closed && (*why || h->ended));
    h->closed = true;
    if (!h->free_at_end)
        return;
    link_free(l);
    h->l = NULL;
}

static void on_room(void *host, struct link *l)
{
    struct host *h = host;

    MUST(h->l == l && !h->closed && link_room(l, LINK_BULK) <= LINK_WINDOW &&
         link_room(l, LINK_DATA) <= LINK_WINDOW);
}

static void on_noise(void *host, struct link *l, const char *text, size_t len)
{
    struct host *h = host;

    MUST(h->l == l && !h->closed && text && len && !h->noise);
    h->noise = len;
}

static void on_spoke(void *host, struct link *l, const char *words)
{
    struct host *h = host;

    MUST(h->l == l && !h->closed && !strchr(words, '\n'));
}

static const struct link_ops ops = { on_message, on_closed, on_room, on_noise, on_spoke };

/* What the link has sent: frames; how much bulk. */
static size_t check_sent(int fd, struct framer *f)
{
    static char data[65536];
    size_t bulk = 0;
    ssize_t n;

    while ((n = recv(fd, data, sizeof data, MSG_DONTWAIT)) > 0) {
        char *at = data;
        size_t len = (size_t)n;
        struct frame fr;
        struct msg m;
        int rc;

        msg_init(&m);
        while ((rc = framer_next(f, &at, &len, &fr, NULL)) > 0) {
            long long want = 0;

            if (fr.kind == FRAME_PAYLOAD) {
                bulk += fr.len;
                continue;
            }
            MUST(wire_v2.parse(&m, fr.text, fr.len, NULL) == 0);
            if (msg_find(&m, "payload"))
                MUST(pair_int(msg_find(&m, "payload"), 1, LINK_PAYLOAD, &want, NULL) == 0);
            framer_expect_payload(f, (size_t)want);
        }
        MUST(rc == 0);
        msg_clear(&m);
    }
    return bulk;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char bulk[LIMIT_CHUNK];
    static struct ev_loop *loop;
    struct host h = { 0 };
    struct framer f;
    size_t at = 2, piece, sent = 0;
    struct msg m;
    int fd[2];

    if (size < 2)
        return 0;
    if (!loop) {
        signal(SIGPIPE, SIG_IGN);
        loop = ev_loop_new(EVBACKEND_POLL);
    }
    MUST(loop && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == 0);
    h.l = link_new(loop, fd[0], fd[0], 1000, 0, &ops, &h);
    MUST(h.l);
    if (data[0] & 1)
        link_await(h.l, "\001P ");
    h.refuse = data[0] & 2;
    h.free_at_end = data[0] & 4;
    h.hold = data[0] & 8;
    piece = data[1] ? data[1] : size;
    framer_init(&f, LIMIT_FRAME_LINK);
    f.wire = WIRE_2;
    msg_init(&m);
    for (int i = 0; i < 8; i++) {
        msg_start(&m, "out");
        link_message(h.l, LINK_BULK, &m, bulk, sizeof bulk, NULL);
    }
    msg_clear(&m);
    while (at < size && !h.closed) {
        size_t n = size - at < piece ? size - at : piece;

        MUST(send(fd[1], data + at, n, MSG_NOSIGNAL) == (ssize_t)n);
        at += n;
        ev_run(loop, EVRUN_NOWAIT);
        sent += check_sent(fd[1], &f);
        MUST(sent <= 8 * sizeof bulk);
        MUST(!h.l || h.l->flow.of[LINK_BULK].credit + sent <= LINK_WINDOW + size / 20 * LINK_WINDOW);
    }
    for (int i = 0; i < 6; i++) {
        ev_run(loop, EVRUN_NOWAIT);
        check_sent(fd[1], &f);
    }
    h.ended = true;
    shutdown(fd[1], SHUT_WR);
    for (int i = 0; i < 10 && !h.closed; i++)
        ev_run(loop, EVRUN_NOWAIT);
    MUST(h.closed);
    link_free(h.l);
    framer_clear(&f);
    close(fd[1]);
    return 0;
}
