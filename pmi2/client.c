/* client.c - the request and reply engine; see client.h
 *
 * A thread that waits for its reply either reads the socket for everybody
 * (c->reading) or sleeps on its call's wake.  Whoever leaves while nobody reads
 * wakes one sleeper, which then reads.  Reading and writing happen without the
 * lock, so that a full socket in one direction never stops the other. */
#include "pmi2/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------ bytes */

/* Sleep until a descriptor that someone made non-blocking is ready. */
static void wait_ready(int fd, short events)
{
    struct pollfd p = { fd, events, 0 };

    poll(&p, 1, -1);
}

static ssize_t send_some(int fd, const char *data, size_t len)
{
    ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

    return n < 0 && errno == ENOTSOCK ? write(fd, data, len) : n;
}

static int send_all(int fd, const char *data, size_t len, struct err *e)
{
    while (len) {
        ssize_t n = send_some(fd, data, len);

        if (n >= 0) {
            data += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            wait_ready(fd, POLLOUT);
        } else if (errno == EPIPE || errno == ECONNRESET) {
            return err_set(e, ERR_OTHER, "the PMI server closed the connection");
        } else if (errno != EINTR) {
            return err_set(e, ERR_OTHER, "cannot write to the PMI server: %s",
                           strerror(errno));
        }
    }
    return 0;
}

double client_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Until there is something to read; false and errno: not by the deadline, if there is
 * one. */
static bool in_time(const struct client *c)
{
    struct pollfd p = { c->fd, POLLIN, 0 };

    while (c->deadline > 0) {
        double left = c->deadline - client_now();

        if (poll(&p, 1, left > 0 ? (int)(left * 1000) + 1 : 0) > 0)
            break;
        if (left <= 0) {
            errno = ETIMEDOUT;
            return false;
        }
    }
    return true;
}

/* Read what there is into c->in, which is used up.  0 at the end of the stream. */
static ssize_t read_some(struct client *c)
{
    ssize_t n;

    for (;;) {
        if (!in_time(c))
            return -1;
        n = read(c->fd, c->in, sizeof c->in);
        if (n >= 0)
            break;
        if (errno == EAGAIN)
            wait_ready(c->fd, POLLIN);
        else if (errno != EINTR)
            break;
    }
    c->at = c->in;
    c->left = n > 0 ? (size_t)n : 0;
    return n;
}

static void trace(const struct client *c, const char *way, const char *data, size_t len)
{
    struct buf line = BUF_INIT;

    if (!c->trace)
        return;
    buf_printf(&line, "libpmi2: rank %d: %s ", c->rank, way);
    buf_escaped(&line, data, len);
    buf_char(&line, '\n');
    if (!line.failed)
        fwrite(buf_bytes(&line), 1, line.len, stderr);
    buf_clear(&line);
}

int client_next_frame(struct client *c, struct frame *f, struct err *e)
{
    int got;

    while ((got = framer_next(&c->framer, &c->at, &c->left, f, e)) == 0) {
        ssize_t n = read_some(c);

        if (n < 0 && errno != ECONNRESET)    /* which is an end, with a request unread */
            return err_set(e, ERR_OTHER, "cannot read from the PMI server: %s",
                           strerror(errno));
        if (n <= 0)
            return err_set(e, ERR_OTHER, "the PMI server closed the connection%s",
                           c->framer.held.len ? " in the middle of a reply" : "");
    }
    if (got < 0)
        return err_context(e, "from the PMI server");
    trace(c, "S>", f->raw, f->raw_len);
    return 0;
}

/* wait seconds for the right to write; false if it did not come. */
static bool lock_writing(struct client *c, int wait)
{
    struct timespec until;

    if (wait < 0)
        return pthread_mutex_lock(&c->writing) == 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += wait;
    return pthread_mutex_timedlock(&c->writing, &until) == 0;
}

int client_send(struct client *c, const char *data, size_t len, int wait, struct err *e)
{
    int rc;

    if (!lock_writing(c, wait))
        return err_set(e, ERR_OTHER, "the connection is busy");
    trace(c, "C>", data, len);
    rc = send_all(c->fd, data, len, e);
    if (rc < 0)
        shutdown(c->fd, SHUT_RDWR);      /* who reads should not wait for more */
    pthread_mutex_unlock(&c->writing);
    if (rc < 0) {
        pthread_mutex_lock(&c->lock);
        client_break(c, e);
        pthread_mutex_unlock(&c->lock);
    }
    return rc;
}

/* ------------------------------------------------------------------ state */

static bool usable(const struct client *c)
{
    return c->state == CLIENT_OPENING || c->state == CLIENT_UP;
}

/* Why no request can be made. */
static int unusable(const struct client *c, struct err *e)
{
    if (c->state == CLIENT_BROKEN) {
        *e = c->why;
        return -1;
    }
    return err_set(e, ERR_INIT, "PMI is %s",
                   c->state == CLIENT_DONE ? "finalised" : "not initialised");
}

int client_usable(const struct client *c, struct err *e)
{
    return usable(c) ? 0 : unusable(c, e);
}

static void wake_all(struct client *c)
{
    struct call *k;

    TAILQ_FOREACH(k, &c->calls, link)
        pthread_cond_signal(&k->wake);
    pthread_cond_broadcast(&c->turn);
}

void client_break(struct client *c, const struct err *e)
{
    if (!usable(c))
        return;
    c->state = CLIENT_BROKEN;
    c->why = *e;
    wake_all(c);
}

enum client_state client_state(struct client *c)
{
    enum client_state s;

    pthread_mutex_lock(&c->lock);
    s = c->joining ? CLIENT_SINGLE : c->state;
    pthread_mutex_unlock(&c->lock);
    return s;
}

/* ---------------------------------------------------------------- replies */

static void reply_free(struct reply *r)
{
    if (r)
        msg_clear(&r->m);
    free(r);
}

static int reply_rc(struct reply *r, struct err *e)
{
    const struct pair *p = msg_find(&r->m, "rc");
    long long rc;

    r->answers = p;
    if (!p)
        return 0;
    if (pair_int(p, INT32_MIN, INT32_MAX, &rc, e) < 0)
        return err_context(e, "%.40s", r->m.cmd);
    r->rc = (int)rc;
    return 0;
}

/* Copy and parse a frame.  NULL and e if it is no reply. */
static struct reply *reply_new(const struct frame *f, struct err *e)
{
    struct reply *r = malloc(sizeof *r + f->len + 1);

    if (!r) {
        err_set(e, ERR_NOMEM, "no memory for a reply");
        return NULL;
    }
    msg_init(&r->m);
    memcpy(r->text, f->text, f->len);
    r->text[f->len] = '\0';
    if (wire_v2.parse(&r->m, r->text, f->len, e) < 0 || reply_rc(r, e) < 0) {
        reply_free(r);
        return NULL;
    }
    return r;
}

static struct reply *next_reply(struct client *c, struct err *e)
{
    struct frame f;

    if (client_next_frame(c, &f, e) < 0)
        return NULL;
    if (f.kind != FRAME_BODY) {
        err_set(e, ERR_OTHER, "the PMI server fell back to PMI-1");
        return NULL;
    }
    return reply_new(&f, e);
}

/* Whose reply this is: NULL if nobody's. */
static struct call *call_of(struct client *c, const struct reply *r)
{
    const char *thrid = msg_get(&r->m, "thrid");
    struct call *k;

    TAILQ_FOREACH(k, &c->calls, link)
        if (*k->thrid ? thrid && !strcmp(thrid, k->thrid) : true)
            return k;
    return NULL;
}

static bool answers(const char *reply, const char *cmd)
{
    size_t n = strlen(cmd);

    return !strncmp(reply, cmd, n) && !strcmp(reply + n, "-response");
}

static void withdraw(struct call *k)
{
    struct client *c = k->c;

    TAILQ_REMOVE(&c->calls, k, link);
    c->ncalls--;
    pthread_cond_signal(&c->turn);
    if (!c->ncalls)
        pthread_cond_broadcast(&c->idle);
}

/* A posted call has a part of its reply, or (r NULL) gets none any more.  c->lock is held,
 * but not while it is told. */
static void finish(struct call *k, struct reply *r, const struct err *why)
{
    const char *more = r ? msg_get(&r->m, "more") : NULL;
    bool last = !more || strcmp(more, "TRUE") != 0;
    struct client *c = k->c;

    if (last)
        withdraw(k);
    pthread_mutex_unlock(&c->lock);
    k->done(k, r, last, why);
    reply_free(r);
    pthread_mutex_lock(&c->lock);
}

/* c->lock is held, but not while the host is told. */
static void tell(struct client *c, struct reply *r)
{
    pthread_mutex_unlock(&c->lock);
    c->told(c->host, &r->m);
    reply_free(r);
    pthread_mutex_lock(&c->lock);
}

/* Hand r to whom it belongs.  c->lock is held; r is freed on failure. */
static int deliver(struct client *c, struct reply *r, struct err *e)
{
    struct call *k = r->answers ? call_of(c, r) : NULL;
    const char *text = msg_get(&r->m, "errmsg");

    if (!r->answers && c->told) {
        tell(c, r);
        return 0;
    }
    if (!r->answers)
        err_set(e, ERR_OTHER, "%.40s has no rc", r->m.cmd);
    else if (!k || k->reply)
        err_set(e, ERR_OTHER, "a reply to no request: %.40s%s%.80s", r->m.cmd,
                text ? ": " : "", text ? text : "");
    else if (!answers(r->m.cmd, k->req.cmd))
        err_set(e, ERR_OTHER, "%s was answered by '%.40s'", k->req.cmd, r->m.cmd);
    else {
        if (k->done) {
            finish(k, r, NULL);
        } else {
            k->reply = r;
            pthread_cond_signal(&k->wake);
        }
        return 0;
    }
    reply_free(r);
    return -1;
}

/* Read one reply for whoever it is.  c->lock is held, but not while reading. */
static void read_one(struct client *c)
{
    struct err e = { ERR_NONE, "" };
    struct reply *r;

    c->reading = true;
    pthread_mutex_unlock(&c->lock);
    r = next_reply(c, &e);
    pthread_mutex_lock(&c->lock);
    c->reading = false;
    if (!r || deliver(c, r, &e) < 0) {
        e.code = ERR_OTHER;
        err_context(&e, "the PMI connection is broken");
        client_break(c, &e);
    }
}

/* ------------------------------------------------------------------ calls */

void call_start(struct call *k, struct client *c, const char *cmd)
{
    k->c = c;
    k->done = NULL;
    k->reply = NULL;
    k->waiting = false;
    k->thrid[0] = '\0';
    pthread_cond_init(&k->wake, NULL);
    msg_init(&k->req);
    msg_start(&k->req, cmd);
    pthread_mutex_lock(&c->lock);
    if (c->thrids && c->state == CLIENT_UP)
        snprintf(k->thrid, sizeof k->thrid, "%u", ++c->next_thrid);
    pthread_mutex_unlock(&c->lock);
    if (*k->thrid)
        msg_str(&k->req, "thrid", k->thrid);
}

void call_end(struct call *k)
{
    reply_free(k->reply);
    msg_clear(&k->req);
    pthread_cond_destroy(&k->wake);
}

/* Join the calls under way, when there is room. */
static int enter(struct call *k, struct err *e)
{
    struct client *c = k->c;
    int rc = 0;

    pthread_mutex_lock(&c->lock);
    while (usable(c) && c->ncalls >= (*k->thrid ? CLIENT_CALLS : 1))
        pthread_cond_wait(&c->turn, &c->lock);
    if (usable(c)) {
        TAILQ_INSERT_TAIL(&c->calls, k, link);
        c->ncalls++;
    } else {
        rc = unusable(c, e);
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* Wait for k's reply, reading if nobody else does. */
static int await(struct call *k, struct err *e)
{
    struct client *c = k->c;
    int rc = 0;

    pthread_mutex_lock(&c->lock);
    while (!k->reply && usable(c)) {
        if (c->reading || c->served) {
            k->waiting = true;
            pthread_cond_wait(&k->wake, &c->lock);
            k->waiting = false;
        } else {
            read_one(c);
        }
    }
    if (!k->reply)
        rc = unusable(c, e);
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* One sleeper takes over reading.  c->lock is held. */
static void appoint_reader(struct client *c)
{
    struct call *k;

    TAILQ_FOREACH(k, &c->calls, link)
        if (k->waiting && !k->reply) {
            pthread_cond_signal(&k->wake);
            return;
        }
}

static void leave(struct call *k)
{
    struct client *c = k->c;

    pthread_mutex_lock(&c->lock);
    withdraw(k);
    if (!c->reading)
        appoint_reader(c);
    pthread_mutex_unlock(&c->lock);
}

/* The server said no: its words and, where it means one of ours, its code.  (Of rc=1,
 * not initialised, others than us make "failed".) */
static int refused(const struct call *k, struct err *e)
{
    const char *text = msg_get(&k->reply->m, "errmsg"), *cmd = k->req.cmd;
    int rc = k->reply->rc;

    err_set(e, rc >= ERR_NOMEM && rc <= ERR_OTHER ? (enum err_code)rc : ERR_OTHER,
            "%.200s", text && *text ? text : "refused by the server");
    return strncmp(e->text, cmd, strlen(cmd)) ? err_context(e, "%s", cmd) : -1;
}

/* Send a formatted frame and have its reply. */
static int exchange(struct call *k, const struct buf *frame, struct err *e)
{
    int rc = enter(k, e);

    if (rc < 0)
        return rc;
    rc = client_send(k->c, buf_bytes(frame), frame->len, -1, e);
    if (rc == 0)
        rc = await(k, e);
    leave(k);
    return rc;
}

int call_run(struct call *k, struct err *e)
{
    struct buf frame = BUF_INIT;
    int rc, cancel;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    rc = wire_v2.format(&k->req, CLIENT_REQUEST_MAX, &frame, e);
    if (rc == 0)
        rc = exchange(k, &frame, e);
    buf_clear(&frame);
    pthread_setcancelstate(cancel, NULL);
    return rc == 0 && k->reply->rc ? refused(k, e) : rc;
}

/* --- posted calls, and the thread that reads for them ------------------- */

int call_post(struct call *k, struct err *e)
{
    struct buf frame = BUF_INIT;
    struct client *c = k->c;
    struct err broken;
    int rc = wire_v2.format(&k->req, CLIENT_REQUEST_MAX, &frame, e);

    if (rc == 0)
        rc = enter(k, e);
    if (rc == 0)                         /* from here on k is done's; a failure is told there */
        client_send(c, buf_bytes(&frame), frame.len, -1, &broken);
    buf_clear(&frame);
    return rc;
}

int call_expect(struct call *k, struct err *e)
{
    return enter(k, e);
}

void call_forget(struct call *k)
{
    leave(k);
}

static struct call *first_posted(struct client *c)
{
    struct call *k;

    TAILQ_FOREACH(k, &c->calls, link)
        if (k->done)
            break;
    return k;
}

void client_serve(struct client *c, client_told *told, void *host)
{
    struct err why = { ERR_NONE, "" };
    struct call *k;

    pthread_mutex_lock(&c->lock);
    c->told = told;
    c->host = host;
    while (usable(c))
        read_one(c);
    unusable(c, &why);
    while ((k = first_posted(c)))
        finish(k, NULL, &why);
    c->served = false;
    pthread_cond_broadcast(&c->idle);
    pthread_mutex_unlock(&c->lock);
}
