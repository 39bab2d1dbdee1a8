/* sink.c - see sink.h */
#include "mpiexec_lite/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WIDE_PIPE = 1 << 20 };    /* the kernel's default limit for users */

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct sink *s = w->data;

    (void)loop;
    (void)revents;
    s->blocked = false;
    sink_flush(s);
    if (s->blocked)
        return;
    ev_io_stop(s->loop, &s->writable);
    s->ops->resume(s->host, s);
}

/* Find the way to write to fd without blocking and without changing flags that
 * other processes see.  Most jobs are short and say little: it is found when there is
 * something to write. */
static void choose_way(struct sink *s)
{
    char path[64];
    struct stat st;
    int again;

    s->chosen = true;
    if (fstat(s->fd, &st) < 0 || S_ISREG(st.st_mode) || s->owned ||
        (fcntl(s->fd, F_GETFL) & O_ACCMODE) == O_RDONLY)         /* it was closed */
        return;
    if (S_ISSOCK(st.st_mode)) {
        s->socket = true;
        return;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", s->fd);
    again = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (again >= 0) {
        s->fd = again;
        s->owned = true;
        ev_io_set(&s->writable, again, EV_WRITE);
    } else {
        s->poll = true;
    }
}

int sink_init(struct sink *s, struct ev_loop *loop, int fd, bool owned, const char *name,
              const struct sink_ops *ops, void *host)
{
    *s = (struct sink){ .loop = loop, .ops = ops, .host = host, .fd = fd, .owned = owned };
    s->name = strdup(name);
    if (!s->name)
        return -1;
    ev_io_init(&s->writable, on_writable, fd, EV_WRITE);
    s->writable.data = s;
    return 0;
}

int sink_init_put(struct sink *s, struct ev_loop *loop, sink_put *put, int rank, bool errors,
                  const struct sink_ops *ops, void *host)
{
    *s = (struct sink){ .loop = loop, .ops = ops, .host = host, .fd = -1, .put = put,
                        .rank = rank, .errors = errors };
    s->name = strdup("");
    ev_io_init(&s->writable, on_writable, 0, EV_WRITE);
    return s->name ? 0 : -1;
}

void sink_go_on(struct sink *s)
{
    if (!s->blocked)
        return;
    s->blocked = false;
    sink_flush(s);
    if (!s->blocked)
        s->ops->resume(s->host, s);
}

void sink_clear(struct sink *s)
{
    ev_io_stop(s->loop, &s->writable);
    if (s->owned)
        close(s->fd);
    buf_clear(&s->out);
    free(s->name);
}

static int check_file(int fd, const char *name, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_set(e, ERR_OTHER, "%s: %s", name, strerror(errno));
    if (S_ISCHR(st.st_mode))
        return 0;
    if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
        return err_set(e, ERR_OTHER, "%s: not a regular file", name);
    if (st.st_uid != geteuid())
        return err_set(e, ERR_OTHER, "%s: belongs to another user", name);
    if (S_ISREG(st.st_mode) && st.st_nlink != 1)
        return err_set(e, ERR_OTHER, "%s: has %ju names; refusing to empty it", name,
                       (uintmax_t)st.st_nlink);
    return 0;
}

int sink_empty_file(int fd, const char *name, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0)
        return err_set(e, ERR_OTHER, "%s: %s", name, strerror(errno));
    return 0;
}

/* The folders in which a file is to be, as far as they are missing. */
static void make_folders(const char *name)
{
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s", name) >= sizeof path)
        return;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);               /* if that fails, so does the opening, and says why */
        *slash = '/';
    }
}

int sink_open_file(const char *name, struct err *e)
{
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    int fd = open(name, flags, 0666);

    if (fd < 0 && errno == ENOENT) {
        make_folders(name);
        fd = open(name, flags, 0666);
    }
    if (fd < 0)
        return err_set(e, ERR_OTHER, "%s: %s", name, errno == ELOOP ?
                       "is a symbolic link; not followed" : strerror(errno));
    if (check_file(fd, name, e) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* One attempt; like write(2). */
static ssize_t write_some(struct sink *s, const char *data, size_t len)
{
    struct pollfd p = { .fd = s->fd, .events = POLLOUT };

    if (s->socket)
        return send(s->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (!s->poll)
        return write(s->fd, data, len);
    if (poll(&p, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(s->fd, data, len < PIPE_BUF ? len : PIPE_BUF);  /* this much fits */
}

static void fail(struct sink *s, int errnum)
{
    s->dead = true;
    buf_clear(&s->out);
    ev_io_stop(s->loop, &s->writable);
    s->ops->failed(s->host, s, errnum);
}

/* Write as much as goes.  The number of bytes taken (all of them if dead). */
static size_t push(struct sink *s, const char *data, size_t len)
{
    size_t done = 0;

    if (s->put)
        return s->put(s->host, s, data, len);
    if (!s->chosen)
        choose_way(s);
    while (done < len && !s->dead) {
        ssize_t n = write_some(s, data + done, len - done);

        if (n >= 0)
            done += (size_t)n;
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            fail(s, errno);
    }
    return s->dead ? len : done;
}

/* A reader that is slower than we are reads faster from a larger pipe: neither
 * side has to be woken for every 64 KiB.  Nothing happens if fd is no pipe. */
static void widen(struct sink *s)
{
    if (!s->widened)
        fcntl(s->fd, F_SETPIPE_SZ, WIDE_PIPE);
    s->widened = true;
}

static void wait_writable(struct sink *s)
{
    s->blocked = true;
    if (s->put)
        return;
    widen(s);
    ev_io_start(s->loop, &s->writable);
}

void sink_flush(struct sink *s)
{
    size_t n;

    if (s->blocked || !s->out.len)
        return;
    n = push(s, buf_bytes(&s->out), s->out.len);
    if (s->dead)
        return;
    buf_consume(&s->out, n);
    if (s->out.len)
        wait_writable(s);
}

void sink_write(struct sink *s, const char *data, size_t len)
{
    size_t n = 0;

    if (s->dead)
        return;
    sink_flush(s);
    if (!s->out.len)
        n = push(s, data, len);
    if (s->dead || n == len)
        return;
    buf_add(&s->out, data + n, len - n);
    if (s->out.failed)
        fail(s, ENOMEM);
    else if (!s->blocked)
        wait_writable(s);
}

/* What goes to a FIFO waits a little for its reader. */
static bool writable_soon(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLOUT };

    return poll(&p, 1, 1000) > 0;
}

int sink_write_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && (errno == EINTR || (errno == EAGAIN && writable_soon(fd))))
            continue;
        if (n < 0)
            return -1;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}
