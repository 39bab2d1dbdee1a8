/* munger.c - see munger.h
 *
 * The helper answers in the order it was asked, so the requests that wait are a queue,
 * and the first of it is the oldest: its deadline is the only one that counts. */
#include "mpiexec_lite/munger.h"

#include "mpiexec_lite/munge_helper.h"

#include "wire/buf.h"
#include "wire/seal.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct request {
    munge_done *done;                    /* NULL: cancelled */
    void       *user;
    double      deadline;                /* of the monotonic clock */
};

struct munger {
    struct ev_loop *loop;                /* borrowed */
    char       *socket, *library;        /* owned, or NULL */
    int         fd, pidfd;               /* owned: the helper; -1 when there is none */
    ev_io       readable, writable;
    ev_timer    overdue;                 /* for the oldest request */
    struct buf  in, out;                 /* owned */
    struct request queue[MUNGER_FLIGHT]; /* a ring; the oldest is queue[first] */
    unsigned    first, n;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void arm(struct munger *m)
{
    ev_timer_stop(m->loop, &m->overdue);
    if (!m->n || m->fd < 0)
        return;
    /* The loop's time may be behind: then it fires early, and is armed again. */
    ev_timer_set(&m->overdue, m->queue[m->first].deadline - now(), 0.);
    ev_timer_start(m->loop, &m->overdue);
}

/* It was killed, so waiting for it takes no time.  Somebody else may have reaped it,
 * and on a kernel without pidfds somebody else must: it ends as its socket does. */
static void end_helper(struct munger *m)
{
    siginfo_t info;

    if (m->fd < 0)
        return;
    ev_io_stop(m->loop, &m->readable);
    ev_io_stop(m->loop, &m->writable);
    ev_timer_stop(m->loop, &m->overdue);
    close(m->fd);
    m->fd = -1;
    if (m->pidfd >= 0) {
        syscall(SYS_pidfd_send_signal, m->pidfd, SIGKILL, NULL, 0);
        while (waitid(P_PIDFD, (id_t)m->pidfd, &info, WEXITED) < 0 && errno == EINTR)
            ;
        close(m->pidfd);
        m->pidfd = -1;
    }
    seal_wipe_buf(&m->in);
    seal_wipe_buf(&m->out);
}

/* Take the oldest request off the queue and tell whoever made it. */
static void finish(struct munger *m, const struct munge_result *r)
{
    struct request q = m->queue[m->first];

    m->first = (m->first + 1) % MUNGER_FLIGHT;
    m->n--;
    if (q.done)
        q.done(q.user, r);
}

/* The helper is of no use any more: nor are the requests that wait for it.  Those
 * that the callbacks make go to the next helper. */
static void give_up(struct munger *m, const char *why)
{
    struct munge_result r = { .code = MUNGE_UNREACHABLE, .text = why, .data = "",
                              .uid = (uid_t)-1 };

    end_helper(m);
    for (unsigned left = m->n; left; left--)
        finish(m, &r);
    arm(m);
}

/* Hand out the answer that begins in m->in.  1, or 0 if it is not complete, or -1
 * if it makes no sense. */
static int take_answer(struct munger *m)
{
    struct munge_result r;
    struct munge_answer a;
    char text[MUNGE_TEXT];
    char data[MUNGER_CREDENTIAL + 1];

    if (m->in.len < sizeof a)
        return 0;
    memcpy(&a, buf_bytes(&m->in), sizeof a);
    if (a.text >= sizeof text || a.data >= sizeof data || !m->n)
        return -1;
    if (m->in.len < sizeof a + a.text + a.data)
        return 0;
    memcpy(text, buf_bytes(&m->in) + sizeof a, a.text);
    text[a.text] = '\0';
    memcpy(data, buf_bytes(&m->in) + sizeof a + a.text, a.data);
    data[a.data] = '\0';
    buf_consume(&m->in, sizeof a + a.text + a.data);
    r = (struct munge_result){ a.code, text, data, a.data, a.uid, a.encoded, a.decoded };
    finish(m, &r);
    seal_wipe(data, sizeof data);
    return 1;
}

static const char gone[] = "munge: its helper process ended";

/* Take in what the helper has said.  1: something; 0: nothing; -1 and *why: it is of
 * no use any more. */
static int take_in(struct munger *m, const char **why)
{
    char *to = buf_room(&m->in, MUNGE_ANSWER);
    ssize_t n;
    int rc;

    *why = to ? gone : "munge: no memory";
    if (!to)
        return -1;
    n = read(m->fd, to, MUNGE_ANSWER);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return -1;
    buf_commit(&m->in, (size_t)n);
    while ((rc = take_answer(m)) > 0)
        ;
    if (!m->in.len)
        seal_wipe_buf(&m->in);
    return rc < 0 ? -1 : 1;
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct munger *m = w->data;
    const char *why;

    (void)loop;
    (void)revents;
    if (take_in(m, &why) < 0)
        give_up(m, why);
    else
        arm(m);
}

static void on_overdue(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct munger *m = w->data;
    char text[MUNGE_TEXT];
    const char *why;
    int rc;

    (void)loop;
    (void)revents;
    while ((rc = take_in(m, &why)) > 0)  /* it may be us who are late */
        ;
    if (rc == 0 && m->n && now() >= m->queue[m->first].deadline) {
        snprintf(text, sizeof text, "munge does not answer%s%.150s%s: nothing for %.0f s",
                 m->socket ? " (" : "", m->socket ? m->socket : "", m->socket ? ")" : "",
                 MUNGER_DEADLINE);
        why = text;
        rc = -1;
    }
    if (rc < 0)
        give_up(m, why);
    else
        arm(m);
}

/* Send what can be sent.  0, or -1: the helper is gone. */
static int flush(struct munger *m)
{
    while (m->out.len) {
        ssize_t n = send(m->fd, buf_bytes(&m->out), m->out.len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            ev_io_start(m->loop, &m->writable);
            return 0;
        }
        if (n < 0)
            return -1;
        buf_consume(&m->out, (size_t)n);
    }
    seal_wipe_buf(&m->out);
    ev_io_stop(m->loop, &m->writable);
    return 0;
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct munger *m = w->data;

    (void)loop;
    (void)revents;
    if (flush(m) < 0)
        give_up(m, gone);
}

static int start_helper(struct munger *m, struct err *e)
{
    pid_t parent = getpid(), pid;
    int pair[2];

    if (m->fd >= 0)
        return 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(e, ERR_OTHER, "munge: cannot start its helper: %s", strerror(errno));
    pid = fork();
    if (pid == 0)
        munge_helper_run(pair[1], m->socket, m->library, parent);
    close(pair[1]);
    if (pid < 0 || fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0) {
        err_set(e, ERR_OTHER, "munge: cannot start its helper: %s", strerror(errno));
        close(pair[0]);
        return -1;
    }
    m->fd = pair[0];
    m->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    ev_io_set(&m->readable, m->fd, EV_READ);
    ev_io_set(&m->writable, m->fd, EV_WRITE);
    ev_io_start(m->loop, &m->readable);
    return 0;
}

static int ask(struct munger *m, const struct munge_question *q, const void *data,
               munge_done *done, void *user, struct err *e)
{
    size_t before;

    if (m->n == MUNGER_FLIGHT)
        return err_set(e, ERR_OTHER, "munge: %d requests wait for it already", MUNGER_FLIGHT);
    if (start_helper(m, e) < 0)
        return -1;
    before = m->out.len;
    buf_add(&m->out, q, sizeof *q);
    buf_add(&m->out, data, q->len);
    if (m->out.failed) {
        m->out.failed = false;
        buf_cut(&m->out, before);
        return err_set(e, ERR_NOMEM, "munge: out of memory");
    }
    m->queue[(m->first + m->n++) % MUNGER_FLIGHT] =
        (struct request){ done, user, now() + MUNGER_DEADLINE };
    if (m->n == 1)
        arm(m);
    if (!ev_is_active(&m->writable))
        ev_io_start(m->loop, &m->writable);      /* a failure shows there, not in here */
    return 0;
}

int munger_encode(struct munger *m, const void *payload, size_t len, uid_t reader,
                  munge_done *done, void *user, struct err *e)
{
    struct munge_question q = { .len = (uint32_t)len, .reader = reader };

    if (len > MUNGER_PAYLOAD)
        return err_set(e, ERR_LENGTH, "munge: a payload of %zu bytes, at most %d", len,
                       MUNGER_PAYLOAD);
    return ask(m, &q, payload, done, user, e);
}

int munger_decode(struct munger *m, const char *credential, size_t len, munge_done *done,
                  void *user, struct err *e)
{
    struct munge_question q = { .decode = true, .len = (uint32_t)len };

    if (len > MUNGER_CREDENTIAL || memchr(credential, '\0', len))
        return err_set(e, ERR_LENGTH, "munge: not a credential");
    return ask(m, &q, credential, done, user, e);
}

void munger_cancel(struct munger *m, const void *user)
{
    for (unsigned i = 0; i < m->n; i++) {
        struct request *q = &m->queue[(m->first + i) % MUNGER_FLIGHT];

        if (q->user == user)
            q->done = NULL;
    }
}

static char *copy(const char *text, bool *failed)
{
    char *to = text ? strdup(text) : NULL;

    *failed |= text && !to;
    return to;
}

struct munger *munger_new(struct ev_loop *loop, const char *socket, const char *library)
{
    struct munger *m = calloc(1, sizeof *m);
    bool failed = false;

    if (!m)
        return NULL;
    m->loop = loop;
    m->fd = m->pidfd = -1;
    ev_io_init(&m->readable, on_readable, -1, EV_READ);
    ev_io_init(&m->writable, on_writable, -1, EV_WRITE);
    ev_timer_init(&m->overdue, on_overdue, 0., 0.);
    m->readable.data = m->writable.data = m->overdue.data = m;
    m->socket = copy(socket, &failed);
    m->library = copy(library, &failed);
    if (failed) {
        munger_free(m);
        return NULL;
    }
    return m;
}

void munger_free(struct munger *m)
{
    if (!m)
        return;
    end_helper(m);
    buf_clear(&m->in);
    buf_clear(&m->out);
    free(m->socket);
    free(m->library);
    free(m);
}
