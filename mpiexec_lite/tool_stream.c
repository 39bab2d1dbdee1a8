/* tool_stream.c - see tool_stream.h */
#include "mpiexec_lite/tool_stream.h"

#include "mpiexec_lite/passing.h"
#include "wire/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes written here that the other end is told of at once. */
enum { TAKEN_AT_ONCE = STREAM_WINDOW / 2 };

struct tool_stream {
    TAILQ_ENTRY(tool_stream) in_all;
    struct tool_streams *all;
    int        position;
    long long  number;
    int        fd;                   /* owned */
    ev_io      readable, writable;
    size_t     ahead;                /* bytes sent that the other end has not written yet */
    size_t     owed;                 /* bytes written that it has not been told of */
    struct buf out;                  /* owned: not yet written */
    size_t     added;                /* bytes in it that the other end has not sent */
    struct passing asks, told;       /* from here, and to here: where something is answered here */
    struct buf late;                 /* owned: answers of ours, until they may come between */
    bool       served;               /* the other end has let it in */
    bool       ended;                /* the other end has: when all is written so does this */
};

static struct msg *message(struct tool_streams *ss, const char *cmd, int position,
                           long long number)
{
    msg_start(&ss->msg, cmd);
    msg_int(&ss->msg, "position", position);
    msg_int(&ss->msg, "number", number);
    return &ss->msg;
}

static void stream_free(struct tool_stream *s)
{
    ev_io_stop(s->all->loop, &s->readable);
    ev_io_stop(s->all->loop, &s->writable);
    TAILQ_REMOVE(&s->all->list, s, in_all);
    close(s->fd);
    buf_clear(&s->out);
    buf_clear(&s->late);
    passing_clear(&s->asks);
    passing_clear(&s->told);
    free(s);
}

void tool_streams_refuse(struct tool_streams *ss, int position, long long number)
{
    ss->ops->send(ss->host, position, LINK_BULK, message(ss, "tool-close", position, number),
                  NULL, 0);
}

static void stream_end(struct tool_stream *s)
{
    if (!s->ended)
        tool_streams_refuse(s->all, s->position, s->number);
    stream_free(s);
}

/* --- from here --------------------------------------------------------- */

static void write_some(struct tool_stream *s);

/* What may be read: no more than the other end takes, and nothing while our own answers are not
 * taken.  Of one whose other end has gone all is read, as it may have to be read to end, and
 * passed over. */
static size_t room_for(const struct tool_stream *s)
{
    if (s->ended)
        return STREAM_WINDOW;
    return s->added + s->late.len > STREAM_WINDOW ? 0
                                                  : STREAM_WINDOW - s->ahead - s->asks.held.len;
}

static void watch_reading(struct tool_stream *s)
{
    if (room_for(s))
        ev_io_start(s->all->loop, &s->readable);
    else
        ev_io_stop(s->all->loop, &s->readable);
}

static void send_bytes(struct tool_stream *s, const char *data, size_t len)
{
    struct tool_streams *ss = s->all;

    for (size_t n; len; data += n, len -= n) {
        n = len < LIMIT_CHUNK ? len : LIMIT_CHUNK;
        ss->ops->send(ss->host, s->position, LINK_BULK,
                      message(ss, "tool-bytes", s->position, s->number), data, n);
        s->ahead += n;
    }
}

/* What is answered here goes no further. */
static void take_asked(struct tool_stream *s, const char *data, size_t len)
{
    const struct tool_streams_ops *ops = s->all->ops;
    struct passed x;

    while (passing_next(&s->asks, &data, &len, &x))
        if (!x.text || !s->served || !ops->asked(s->all->host, x.text, x.text_len, &s->late))
            send_bytes(s, x.data, x.len);
}

/* Between two frames of the other end's. */
static void add_late(struct tool_stream *s)
{
    if (!s->late.len || !passing_between(&s->told))
        return;
    buf_add(&s->out, buf_bytes(&s->late), s->late.len);
    s->added += s->late.len;
    buf_reset(&s->late);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct tool_stream *s = w->data;
    size_t room = room_for(s);
    char data[LIMIT_CHUNK];
    ssize_t n = recv(s->fd, data, room < sizeof data ? room : sizeof data, MSG_DONTWAIT);

    (void)loop;
    (void)revents;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && !s->ended && s->all->ops->asked)
        take_asked(s, data, (size_t)n);
    else if (n > 0 && !s->ended)
        send_bytes(s, data, (size_t)n);
    add_late(s);
    if (n <= 0 || s->asks.held.failed || s->late.failed || s->out.failed)
        stream_end(s);
    else
        write_some(s);
}

/* --- from the other end ------------------------------------------------ */

static void tell_taken(struct tool_stream *s)
{
    struct tool_streams *ss = s->all;
    struct msg *m;

    if (s->ended || !s->owed || (s->out.len && s->owed < TAKEN_AT_ONCE))
        return;
    m = message(ss, "tool-taken", s->position, s->number);
    msg_int(m, "bytes", (long long)s->owed);
    ss->ops->send(ss->host, s->position, LINK_CONTROL, m, NULL, 0);
    s->owed = 0;
}

/* As much as goes now.  It may be freed. */
static void write_some(struct tool_stream *s)
{
    ssize_t n = 0;

    while (s->out.len && (n = send(s->fd, buf_bytes(&s->out), s->out.len,
                                   MSG_DONTWAIT | MSG_NOSIGNAL)) > 0) {
        size_t ours = (size_t)n < s->added ? (size_t)n : s->added;

        buf_consume(&s->out, (size_t)n);
        s->added -= ours;                /* first: then no more is told than was written */
        s->owed += (size_t)n - ours;
    }
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        stream_end(s);
        return;
    }
    if (!s->out.len && s->ended) {
        stream_free(s);
        return;
    }
    tell_taken(s);
    if (s->out.len)
        ev_io_start(s->all->loop, &s->writable);
    else
        ev_io_stop(s->all->loop, &s->writable);
    watch_reading(s);
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    (void)loop;
    (void)revents;
    write_some(w->data);
}

static bool begins(const struct passed *x, const char *head)
{
    return x->text && x->text_len > strlen(head) && !memcmp(x->text, head, strlen(head));
}

#define LET_IN "cmd=pmix-tool-connect-response;"

/* A frame that the other end has sent: whether it lets the tool in; what comes behind it. */
static void look_at_told(struct tool_stream *s, const struct passed *x)
{
    struct buf copy = BUF_INIT;
    struct err e = { 0 };
    long long n;
    struct msg m;

    if (!begins(x, LET_IN) && !begins(x, "cmd=pmix-iof-data;"))
        return;
    buf_add(&copy, x->text, x->text_len);
    msg_init(&m);
    if (!copy.failed && wire_v2.parse(&m, buf_bytes(&copy), copy.len, &e) == 0) {
        if (msg_find(&m, "payload") && msg_number(&m, "payload", 0, INT64_MAX, &n, &e) == 0)
            passing_payload(&s->told, (size_t)n);
        else if (begins(x, LET_IN))
            s->served = msg_number(&m, "rc", 0, 0, &n, &e) == 0;
    }
    msg_clear(&m);
    buf_clear(&copy);
}

static void take_told(struct tool_stream *s, const char *data, size_t len)
{
    struct passed x;

    while (passing_next(&s->told, &data, &len, &x)) {
        buf_add(&s->out, x.data, x.len);
        look_at_told(s, &x);
        add_late(s);
    }
}

static int on_bytes(struct tool_stream *s, const struct msg *m, const char *payload, size_t len,
                    struct err *e)
{
    (void)m;
    if (len > STREAM_WINDOW - (s->out.len - s->added) - s->told.held.len || s->ended)
        return err_set(e, ERR_INVALID_ARG, "more of a tool's bytes than were asked for");
    if (s->all->ops->asked)
        take_told(s, payload, len);
    else
        buf_add(&s->out, payload, len);
    if (s->out.failed || s->told.held.failed)
        stream_end(s);
    else
        write_some(s);
    return 0;
}

static int on_taken(struct tool_stream *s, const struct msg *m, const char *payload, size_t len,
                    struct err *e)
{
    long long bytes;

    (void)payload;
    (void)len;
    if (msg_number(m, "bytes", 0, (long long)s->ahead, &bytes, e) < 0)
        return -1;
    s->ahead -= (size_t)bytes;
    watch_reading(s);
    return 0;
}

static int on_close(struct tool_stream *s, const struct msg *m, const char *payload, size_t len,
                    struct err *e)
{
    (void)m;
    (void)payload;
    (void)len;
    (void)e;
    s->ended = true;
    if (s->told.held.len)                /* of a frame that has no end */
        buf_add(&s->out, buf_bytes(&s->told.held), s->told.held.len);
    write_some(s);
    return 0;
}

static const struct {
    const char *cmd;
    bool        bulk;
    int       (*run)(struct tool_stream *s, const struct msg *m, const char *payload, size_t len,
                     struct err *e);
} rows[] = {
    { "tool-open", true, NULL },         /* the root's affair */
    { "tool-bytes", true, on_bytes },
    { "tool-taken", false, on_taken },
    { "tool-close", true, on_close },
};
enum { ROWS = sizeof rows / sizeof *rows };

static int find_row(const char *cmd)
{
    int i = 0;

    while (i < ROWS && strcmp(rows[i].cmd, cmd))
        i++;
    return i;
}

bool tool_streams_knows(const char *cmd)
{
    return find_row(cmd) < ROWS;
}

bool tool_streams_is_bulk(const char *cmd)
{
    int i = find_row(cmd);

    return i < ROWS && rows[i].bulk;
}

static struct tool_stream *find(struct tool_streams *ss, int position, long long number)
{
    struct tool_stream *s;

    TAILQ_FOREACH(s, &ss->list, in_all)
        if (s->number == number && s->position == position)
            return s;
    return NULL;
}

int tool_streams_told(struct tool_streams *ss, int position, const struct msg *m,
                      const char *payload, size_t len, struct err *e)
{
    int row = find_row(m->cmd);
    struct tool_stream *s;
    long long number;

    if (msg_number(m, "number", 1, INT64_MAX, &number, e) < 0)
        return -1;
    if (row == ROWS || !rows[row].run)
        return err_set(e, ERR_INVALID_ARG, "%.40s has no place here", m->cmd);
    s = find(ss, position, number);
    return s ? rows[row].run(s, m, payload, len, e) : 0;
}

/* --- all of them ------------------------------------------------------- */

void tool_streams_init(struct tool_streams *ss, struct ev_loop *loop,
                       const struct tool_streams_ops *ops, void *host)
{
    *ss = (struct tool_streams){ .loop = loop, .ops = ops, .host = host };
    TAILQ_INIT(&ss->list);
    msg_init(&ss->msg);
}

void tool_streams_clear(struct tool_streams *ss)
{
    struct tool_stream *s;

    if (!ss->loop)
        return;
    while ((s = TAILQ_FIRST(&ss->list)))
        stream_free(s);
    msg_clear(&ss->msg);
}

int tool_streams_add(struct tool_streams *ss, int position, long long number, int fd)
{
    struct tool_stream *s = calloc(1, sizeof *s);

    if (!s) {
        close(fd);
        return -1;
    }
    *s = (struct tool_stream){ .all = ss, .position = position, .number = number, .fd = fd };
    TAILQ_INSERT_TAIL(&ss->list, s, in_all);
    ev_io_init(&s->readable, on_readable, fd, EV_READ);
    ev_io_init(&s->writable, on_writable, fd, EV_WRITE);
    s->readable.data = s->writable.data = s;
    ev_io_start(ss->loop, &s->readable);
    return 0;
}

size_t tool_streams_untaken(const struct tool_streams *ss)
{
    const struct tool_stream *s;
    size_t n = 0;
    int unread;

    TAILQ_FOREACH(s, &ss->list, in_all)
        if (!s->ended)
            n += s->ahead + (ioctl(s->fd, FIONREAD, &unread) == 0 ? (size_t)unread : 0);
    return n;
}

void tool_streams_lost(struct tool_streams *ss, int position)
{
    struct tool_stream *s, *next;

    for (s = TAILQ_FIRST(&ss->list); s; s = next) {
        next = TAILQ_NEXT(s, in_all);
        if (s->position == position)
            stream_free(s);
    }
}
