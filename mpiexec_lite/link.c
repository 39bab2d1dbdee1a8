/* link.c - a link from its beginning to its end, and what comes in over it.  See link.h. */
#include "mpiexec_lite/link_impl.h"

#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/now.h"
#include "wire/limits.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_SIZE = 65536, NOISE_MAX = 65536 };

static_assert(LIMIT_CHUNK == LINK_WINDOW / 4, "bulk comes in quarters of the window");

/* --- end --------------------------------------------------------------- */

static void stop(struct link *l)
{
    ev_io_stop(l->loop, &l->readable);
    ev_io_stop(l->loop, &l->writable);
    ev_timer_stop(l->loop, &l->timer);
    ev_prepare_stop(l->loop, &l->prepare);
}

static void over(struct link *l, const char *why)
{
    if (l->closed)
        return;
    l->closed = true;
    stop(l);
    l->ops->closed(l->host, l, why);
}

void link_shut(struct link *l)
{
    ev_io_stop(l->loop, &l->writable);
    if (l->out >= 0 && l->out == l->in)
        shutdown(l->out, SHUT_WR);
    else if (l->out >= 0)
        close(l->out);
    l->out = -1;
}

void link_free(struct link *l)
{
    if (!l)
        return;
    stop(l);
    if (l->out >= 0 && l->out != l->in)
        close(l->out);
    if (l->in >= 0)
        close(l->in);
    link_drop_pieces(l);
    framer_clear(&l->framer);
    msg_clear(&l->msg);
    buf_clear(&l->head);
    buf_clear(&l->payload);
    buf_clear(&l->noise);
    free(l);
}

/* --- reading ----------------------------------------------------------- */

int link_take(struct link *l, size_t len, struct err *e)
{
    return flow_take(&l->flow, LINK_BULK, len, e);
}

size_t link_hold(struct link *l)
{
    size_t cost = l->fresh;

    l->fresh = 0;
    return cost;
}

/* The class of credit; LINK_CLASSES: none that costs any. */
static enum link_class take_class(const struct msg *m)
{
    const char *name = msg_get(m, "class");
    int c = LINK_DATA;

    while (c < LINK_CLASSES && (!name || strcmp(name, link_class_names[c])))
        c++;
    return (enum link_class)c;
}

static int take_credit(struct link *l, const struct msg *m, struct err *e)
{
    const struct pair *p = msg_find(m, "bytes");
    enum link_class c = take_class(m);
    long long n;

    if (c == LINK_CLASSES)
        return err_set(e, ERR_INVALID_ARG, "credit without class");
    if (!p || pair_int(p, 0, LINK_WINDOW, &n, e) < 0)
        return err_set(e, ERR_INVALID_ARG, "credit without bytes");
    if (flow_credit(&l->flow, c, (size_t)n, e) < 0)
        return -1;
    if (l->ops->room && link_room(l, c))
        l->ops->room(l->host, l);
    return 0;
}

/* It is granted again behind the host, unless that has asked for it (link_hold). */
static int deliver_data(struct link *l, const char *payload, size_t len, struct err *e)
{
    if (flow_take(&l->flow, LINK_DATA, len, e) < 0)
        return -1;
    l->fresh = flow_cost(&l->flow, LINK_DATA, len);
    if (l->ops->message(l->host, l, &l->msg, payload, len, e) < 0)
        return -1;
    link_grant(l, LINK_DATA, link_hold(l));
    return 0;
}

static int deliver(struct link *l, const char *payload, size_t len, struct err *e)
{
    const struct msg *m = &l->msg;

    if (!strcmp(m->cmd, "beat"))
        return 0;
    if (!strcmp(m->cmd, "credit"))
        return take_credit(l, m, e);
    if (len && msg_find(m, "job"))
        return deliver_data(l, payload, len, e);
    return l->ops->message(l->host, l, m, payload, len, e);
}

/* The head of a message: delivered, or kept until its payload is there. */
static int take_head(struct link *l, struct frame *f, struct err *e)
{
    const struct pair *p;
    long long n = 0;

    buf_reset(&l->head);
    buf_add(&l->head, f->text, f->len);
    if (l->head.failed)
        return err_set(e, ERR_NOMEM, "no memory for a message");
    if (wire_v2.parse(&l->msg, buf_bytes(&l->head), l->head.len, e) < 0)
        return -1;
    p = msg_find(&l->msg, "payload");
    if (p && pair_int(p, 0, LINK_PAYLOAD, &n, e) < 0)
        return -1;
    if (!n)
        return deliver(l, NULL, 0, e);
    l->want = (size_t)n;
    framer_expect_payload(&l->framer, l->want);
    return 0;
}

static int take_payload(struct link *l, struct frame *f, struct err *e)
{
    int rc;

    if (!l->payload.len && f->len == l->want)
        return deliver(l, f->text, f->len, e);
    buf_add(&l->payload, f->text, f->len);
    if (l->payload.failed)
        return err_set(e, ERR_NOMEM, "no memory for %zu bytes", l->want);
    if (l->payload.len < l->want)
        return 0;
    rc = deliver(l, buf_bytes(&l->payload), l->payload.len, e);
    buf_consume(&l->payload, l->payload.len);
    return rc;
}

static void take_frames(struct link *l, char *data, size_t len)
{
    struct err e = { 0 };
    struct frame f;
    int rc = 0;

    while (!l->closed && (rc = framer_next(&l->framer, &data, &len, &f, &e)) > 0) {
        rc = f.kind == FRAME_PAYLOAD ? take_payload(l, &f, &e) : take_head(l, &f, &e);
        if (rc < 0)
            break;
    }
    if (rc < 0)
        over(l, e.text);
}

/* Find the first words; before them, everything is noise. */
static void take_first(struct link *l, const char *data, size_t len)
{
    struct buf all;
    char *at, *end;

    buf_add(&l->noise, data, len);
    if (l->noise.failed)
        fatal("out of memory", 0);
    at = memmem(buf_bytes(&l->noise), l->noise.len, l->marker, strlen(l->marker));
    end = at ? memchr(at, '\n', l->noise.len - (size_t)(at - buf_bytes(&l->noise))) : NULL;
    if ((at ? (size_t)(at - buf_bytes(&l->noise)) : l->noise.len) > NOISE_MAX) {
        over(l, "it prints more than 64 KiB before the proxy answers");
        return;
    }
    if (!end)
        return;
    *end = '\0';
    all = l->noise;
    l->noise = (struct buf)BUF_INIT;
    if (at > buf_bytes(&all) && l->ops->noise)
        l->ops->noise(l->host, l, buf_bytes(&all), (size_t)(at - buf_bytes(&all)));
    at += strlen(l->marker);
    l->marker = NULL;
    if (l->ops->spoke)
        l->ops->spoke(l->host, l, at);
    if (!l->closed)
        take_frames(l, end + 1, all.len - (size_t)(end + 1 - buf_bytes(&all)));
    buf_clear(&all);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct link *l = w->data;
    char data[READ_SIZE];
    ssize_t n;

    (void)loop;
    (void)revents;
    n = read(l->in, data, sizeof data);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        if (l->marker && l->noise.len && l->ops->noise)
            l->ops->noise(l->host, l, buf_bytes(&l->noise), l->noise.len);
        over(l, n < 0 && errno != ECONNRESET ? strerror(errno) : "");
        return;
    }
    lease_heard(&l->lease, now_seconds());
    if (l->marker)
        take_first(l, data, (size_t)n);
    else
        take_frames(l, data, (size_t)n);
}

/* --- time -------------------------------------------------------------- */

static void set_timer(struct link *l)
{
    double in = lease_due(&l->lease) - now_seconds();

    ev_timer_stop(l->loop, &l->timer);
    ev_timer_set(&l->timer, in > 0.01 ? in : 0.01, 0.);
    ev_timer_start(l->loop, &l->timer);
}

static void on_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct link *l = w->data;
    char why[80];

    (void)loop;
    (void)revents;
    if (l->marker)                       /* the lease begins with the first words */
        lease_heard(&l->lease, now_seconds());
    switch (lease_tick(&l->lease, now_seconds())) {
    case LEASE_LOST:
        snprintf(why, sizeof why, "no heartbeat for %g s", l->lease.term);
        l->lost = true;
        over(l, why);
        return;
    case LEASE_BEAT:
        if (!l->marker && !l->going)
            link_beat(l);
        lease_said(&l->lease, now_seconds());
        break;
    case LEASE_NOTHING:
        break;
    }
    set_timer(l);
}

void link_set_lease(struct link *l, double beat, double lease)
{
    lease_init(&l->lease, beat, lease, now_seconds());
    set_timer(l);
}

/* --- begin ------------------------------------------------------------- */

void link_await(struct link *l, const char *marker)
{
    l->marker = marker;
}

struct link *link_new(struct ev_loop *loop, int in, int out, double beat, double lease,
                      const struct link_ops *ops, void *host)
{
    struct link *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    *l = (struct link){ .loop = loop, .ops = ops, .host = host, .in = in, .out = out };
    link_write_init(l);
    framer_init(&l->framer, LIMIT_FRAME_LINK - 1);  /* passed on, it may have a ; more */
    l->framer.wire = WIRE_2;
    msg_init(&l->msg);
    fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
    fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
    lease_init(&l->lease, beat, lease, now_seconds());
    ev_io_init(&l->readable, on_readable, in, EV_READ);
    ev_timer_init(&l->timer, on_timer, 0., 0.);
    l->readable.data = l->timer.data = l;
    ev_io_start(loop, &l->readable);
    set_timer(l);
    return l;
}
