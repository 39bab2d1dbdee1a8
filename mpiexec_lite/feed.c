/* feed.c - see feed.h */
#include "mpiexec_lite/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

struct reader {
    struct feed *feed;
    int          fd;
    size_t       taken;          /* bytes of feed->data that it has */
    ev_io        writable;
    TAILQ_ENTRY(reader) in_list;
};
TAILQ_HEAD(readers, reader);

struct feed {
    struct ev_loop *loop;
    const struct feed_ops *ops;
    void           *host;
    struct buf      data;        /* what not every reader has yet */
    struct readers  readers;
    bool            ended;       /* nothing follows data */
};

struct feed *feed_new(struct ev_loop *loop, const struct feed_ops *ops, void *host)
{
    struct feed *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    f->loop = loop;
    f->ops = ops;
    f->host = host;
    TAILQ_INIT(&f->readers);
    return f;
}

static void drop(struct reader *r)
{
    struct feed *f = r->feed;

    TAILQ_REMOVE(&f->readers, r, in_list);
    ev_io_stop(f->loop, &r->writable);
    close(r->fd);
    free(r);
}

void feed_free(struct feed *f)
{
    struct reader *r;

    if (!f)
        return;
    while ((r = TAILQ_FIRST(&f->readers)))
        drop(r);
    buf_clear(&f->data);
    free(f);
}

/* Forget what every reader has, and ask for as much. */
static void advance(struct feed *f)
{
    size_t all = f->data.len;
    struct reader *r;

    if (TAILQ_EMPTY(&f->readers)) {
        if (!f->ended)
            f->ops->closed(f->host);
        f->ended = true;
        buf_clear(&f->data);
        return;
    }
    TAILQ_FOREACH(r, &f->readers, in_list)
        if (r->taken < all)
            all = r->taken;
    if (!all)
        return;
    TAILQ_FOREACH(r, &f->readers, in_list)
        r->taken -= all;
    buf_consume(&f->data, all);
    f->ops->credit(f->host, all);
}

/* Write what this reader lacks.  False when it is gone (and dropped). */
static bool push(struct reader *r)
{
    struct feed *f = r->feed;

    while (r->taken < f->data.len) {
        ssize_t n = write(r->fd, buf_bytes(&f->data) + r->taken, f->data.len - r->taken);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            ev_io_start(f->loop, &r->writable);
            return true;
        }
        if (n < 0) {
            if (errno != EPIPE)
                f->ops->failed(f->host, errno);
            drop(r);
            return false;
        }
        r->taken += (size_t)n;
    }
    ev_io_stop(f->loop, &r->writable);
    if (!f->ended)
        return true;
    drop(r);
    return false;
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct reader *r = w->data;
    struct feed *f = r->feed;

    (void)loop;
    (void)revents;
    push(r);
    advance(f);
}

int feed_add(struct feed *f, int fd)
{
    struct reader *r = calloc(1, sizeof *r);

    if (!r) {
        close(fd);
        return -1;
    }
    r->feed = f;
    r->fd = fd;
    ev_io_init(&r->writable, on_writable, fd, EV_WRITE);
    r->writable.data = r;
    TAILQ_INSERT_TAIL(&f->readers, r, in_list);
    return 0;
}

static void push_all(struct feed *f)
{
    struct reader *r, *next;

    for (r = TAILQ_FIRST(&f->readers); r; r = next) {
        next = TAILQ_NEXT(r, in_list);
        push(r);
    }
    advance(f);
}

void feed_write(struct feed *f, const char *data, size_t len)
{
    if (f->ended)
        return;
    buf_add(&f->data, data, len);
    if (f->data.failed) {                /* at most the credit: hardly */
        buf_reset(&f->data);
        f->ended = true;
        f->ops->failed(f->host, ENOMEM);
    }
    push_all(f);
}

void feed_end(struct feed *f)
{
    f->ended = true;
    push_all(f);
}
