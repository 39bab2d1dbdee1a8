/* link_write.c - what a link has to send: frames that wait, in their classes, and go out a
 * loop turn at a time.  See link.h. */
#include "mpiexec_lite/link_impl.h"

#include "mpiexec_lite/fatal.h"
#include "mpiexec_lite/now.h"
#include "wire/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { WRITE_SIZE = 65536, WRITE_PIECES = 64 };

const char *const link_class_names[LINK_CLASSES] = { "control", "data", "bulk" };

/* --- pieces ------------------------------------------------------------ */

struct blob {
    unsigned refs;
    size_t   len, payload;               /* of len */
    char     data[];
};

struct frame_piece {                     /* one frame that waits */
    struct piece piece;                  /* first: the flow knows no more */
    size_t       len;
    struct link *from;                   /* who gets credit when it has gone; or NULL */
    struct blob *shared;                 /* where its bytes are, or NULL: */
    char         data[];
};

struct blob *blob_new(const char *frame, size_t frame_len, const char *payload, size_t len)
{
    struct blob *b = malloc(sizeof *b + frame_len + len);

    if (!b)
        fatal("out of memory", 0);
    b->refs = 1;
    b->len = frame_len + len;
    b->payload = len;
    memcpy(b->data, frame, frame_len);
    if (len)
        memcpy(b->data + frame_len, payload, len);
    return b;
}

void blob_drop(struct blob *b)
{
    if (!--b->refs)
        free(b);
}

static struct frame_piece *whole(struct piece *p)
{
    return (struct frame_piece *)p;
}

static void piece_free(struct piece *p)
{
    if (whole(p)->shared)
        blob_drop(whole(p)->shared);
    free(p);
}

void link_drop_pieces(struct link *l)
{
    struct piece *p;

    while ((p = flow_drop(&l->flow)))
        piece_free(p);
    while ((p = STAILQ_FIRST(&l->now))) {
        STAILQ_REMOVE_HEAD(&l->now, next);
        piece_free(p);
    }
}

/* --- writing ----------------------------------------------------------- */

/* What goes out in the next writes: whole frames, up to about WRITE_SIZE. */
static void fill(struct link *l)
{
    struct piece *p;

    while (l->going < WRITE_SIZE && (p = flow_next(&l->flow, l->going > 0))) {
        STAILQ_INSERT_TAIL(&l->now, p, next);
        l->going += whole(p)->len;
        if (whole(p)->from)
            link_grant(whole(p)->from, p->class, p->cost);
    }
}

/* So many bytes of l->now have gone. */
static void gone(struct link *l, size_t n)
{
    struct piece *p;

    l->going -= n;
    n += l->done;
    while ((p = STAILQ_FIRST(&l->now)) && n >= whole(p)->len) {
        n -= whole(p)->len;
        STAILQ_REMOVE_HEAD(&l->now, next);
        piece_free(p);
    }
    l->done = n;
}

static ssize_t write_pieces(struct link *l)
{
    struct iovec v[WRITE_PIECES];
    struct piece *p;
    int n = 0;

    STAILQ_FOREACH(p, &l->now, next) {
        struct frame_piece *f = whole(p);
        size_t skip = n ? 0 : l->done;

        v[n++] = (struct iovec){ (f->shared ? f->shared->data : f->data) + skip,
                                 f->len - skip };
        if (n == WRITE_PIECES)
            break;
    }
    return writev(l->out, v, n);
}

static void flush(struct link *l)
{
    ssize_t n = 0;

    if (l->closed || l->out < 0)
        return;
    for (;;) {
        if (!l->going)
            fill(l);
        if (!l->going)
            break;
        n = write_pieces(l);
        if (n > 0) {
            gone(l, (size_t)n);
            lease_said(&l->lease, now_seconds());
        } else if (n == 0 || errno != EINTR) {
            break;
        }
    }
    if (l->going && n < 0 && errno == EAGAIN)
        ev_io_start(l->loop, &l->writable);
    else
        ev_io_stop(l->loop, &l->writable);       /* after an error: reading sees the end */
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop;
    (void)revents;
    flush(w->data);
}

/* Before each wait, behind everybody else: what this loop turn has queued goes out in
 * one write. */
static void on_prepare(struct ev_loop *loop, ev_prepare *w, int revents)
{
    struct link *l = w->data;

    (void)loop;
    (void)revents;
    if (!ev_is_active(&l->writable))
        flush(l);
}

static void add(struct link *l, enum link_class c, struct frame_piece *p, size_t payload)
{
    flow_add(&l->flow, c, &p->piece, payload);
    if (!ev_is_pending(&l->prepare))     /* the loop may be past it, before its wait */
        ev_feed_event(l->loop, &l->prepare, EV_PREPARE);
}

static void queue(struct link *l, enum link_class c, const char *frame, size_t frame_len,
                  const char *payload, size_t len, struct link *from)
{
    struct frame_piece *p = malloc(sizeof *p + frame_len + len);

    if (!p)
        fatal("out of memory", 0);
    *p = (struct frame_piece){ .len = frame_len + len, .from = from };
    memcpy(p->data, frame, frame_len);
    if (len)
        memcpy(p->data + frame_len, payload, len);
    add(l, c, p, len);
}

void link_send(struct link *l, enum link_class c, const char *frame, size_t frame_len,
               const char *payload, size_t len)
{
    if (!l->closed)
        queue(l, c, frame, frame_len, payload, len, NULL);
}

void link_send_blob(struct link *l, enum link_class c, struct blob *b)
{
    struct frame_piece *p = l->closed ? NULL : malloc(sizeof *p);

    if (l->closed)
        return;
    if (!p)
        fatal("out of memory", 0);
    *p = (struct frame_piece){ .len = b->len, .shared = b };
    b->refs++;
    add(l, c, p, b->payload);
}

void link_message(struct link *l, enum link_class c, struct msg *m, const char *payload,
                  size_t len, struct link *from)
{
    struct buf frame = BUF_INIT;

    if (l->closed)
        return;
    if (len)
        msg_int(m, "payload", (long long)len);
    if (wire_v2.format(m, LIMIT_FRAME_LINK, &frame, NULL) < 0 || frame.failed)
        fatal("a message to another server is too long, or there is no memory", 0);
    queue(l, c, buf_bytes(&frame), frame.len, payload, len, from);
    buf_clear(&frame);
}

size_t link_room(const struct link *l, enum link_class c)
{
    return l->closed ? 0 : flow_room(&l->flow, c);
}

void link_beat(struct link *l)
{
    struct msg m;

    msg_init(&m);
    msg_start(&m, "beat");
    link_message(l, LINK_CONTROL, &m, NULL, 0, NULL);
    msg_clear(&m);
}

static void send_credit(struct link *l, enum link_class c, size_t n)
{
    struct msg m;

    msg_init(&m);
    msg_start(&m, "credit");
    msg_str(&m, "class", link_class_names[c]);
    msg_int(&m, "bytes", (long long)n);
    link_message(l, LINK_CONTROL, &m, NULL, 0, NULL);
    msg_clear(&m);
}

void link_grant(struct link *l, enum link_class c, size_t cost)
{
    size_t n = flow_grant(&l->flow, c, cost);

    if (n)
        send_credit(l, c, n);
}

bool link_idle(const struct link *l)
{
    return flow_idle(&l->flow) && !l->going;
}

void link_write_init(struct link *l)
{
    flow_init(&l->flow, LINK_WINDOW);
    STAILQ_INIT(&l->now);
    ev_io_init(&l->writable, on_writable, l->out, EV_WRITE);
    ev_prepare_init(&l->prepare, on_prepare);
    ev_set_priority(&l->prepare, EV_MINPRI);
    l->writable.data = l->prepare.data = l;
    ev_prepare_start(l->loop, &l->prepare);
}
