/* hook_run.c - see hook_run.h */
#include "mpiexec_lite/hook_run.h"

#include "wire/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 400 };                    /* bytes of its stderr that are kept: the last */

static const double CLOSE_TIME = 2.0;    /* to end once its stdin is closed, seconds */

/* --- ended ------------------------------------------------------------- */

static void close_fd(struct hook_run *r, int *fd, ev_io *w)
{
    ev_io_stop(r->loop, w);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void hook_run_kill(struct hook_run *r)
{
    if (r->pid > 0)
        kill(-r->pid, SIGKILL);
    if (!r->loop)
        return;
    close_fd(r, &r->in, &r->writable);
    close_fd(r, &r->out, &r->readable);
    close_fd(r, &r->err, &r->worded);
    ev_timer_stop(r->loop, &r->overdue);
    r->n = 0;
    r->over = true;
}

void hook_run_clear(struct hook_run *r)
{
    hook_run_kill(r);
    seal_wipe_buf(&r->to);
    seal_wipe_buf(&r->from);
    buf_clear(&r->to);
    buf_clear(&r->from);
    buf_clear(&r->words);
    free(r->asked);
}

bool hook_run_reaped(struct hook_run *r, pid_t pid)
{
    if (!r->pid || r->pid != pid)
        return false;
    kill(-pid, SIGKILL);                 /* what it has left behind in its group */
    r->pid = 0;
    return true;
}

/* The last of what it has written to stderr is kept.  As read(2). */
static ssize_t take_words(struct hook_run *r)
{
    char text[512];
    ssize_t n = r->err < 0 ? 0 : read(r->err, text, sizeof text);

    if (n > 0)
        buf_add(&r->words, text, (size_t)n);
    if (r->words.len > WORDS)
        buf_consume(&r->words, r->words.len - WORDS);
    return n;
}

/* Its last line; NULL: it has said nothing. */
static const char *last_words(struct hook_run *r)
{
    char *text, *line;

    while (take_words(r) > 0)
        ;
    if (r->words.failed || !r->words.len)
        return NULL;
    text = buf_bytes(&r->words);
    for (size_t n = r->words.len; n && (text[n - 1] == '\n' || !text[n - 1]); n--)
        text[n - 1] = '\0';
    line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    return *line ? line : NULL;
}

static void fail(struct hook_run *r, const char *why)
{
    const char *words = last_words(r);
    char text[WORDS + 200];

    snprintf(text, sizeof text, "%s%s%s", why, words ? "; it said: " : "", words ? words : "");
    hook_run_kill(r);
    r->ops->failed(r->host, r, text);
}

/* --- time -------------------------------------------------------------- */

static void set_timer(struct hook_run *r)
{
    double seconds = r->n ? r->timeout : r->closing ? CLOSE_TIME : 0;

    ev_timer_stop(r->loop, &r->overdue);
    if (!(seconds > 0))
        return;
    ev_now_update(r->loop);
    ev_timer_set(&r->overdue, seconds, 0.);
    ev_timer_start(r->loop, &r->overdue);
}

static void closed(struct hook_run *r)
{
    hook_run_kill(r);
    r->ops->closed(r->host, r);
}

static void on_overdue(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct hook_run *r = w->data;
    char text[100];

    (void)loop;
    (void)revents;
    if (!r->n) {
        closed(r);
        return;
    }
    snprintf(text, sizeof text, "%s: no answer for %g s", hook_name(r->asked[r->first].hook),
             r->timeout);
    fail(r, text);
}

/* --- questions --------------------------------------------------------- */

static void close_input(struct hook_run *r)
{
    if (r->closing && !r->n && !r->to.len)
        close_fd(r, &r->in, &r->writable);
}

static void on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct hook_run *r = w->data;
    ssize_t n = write(r->in, buf_bytes(&r->to), r->to.len);

    (void)loop;
    (void)revents;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0)                           /* its end is seen where it is read */
        n = (ssize_t)r->to.len;
    buf_consume(&r->to, (size_t)n);
    if (r->to.len)
        return;
    seal_wipe_buf(&r->to);
    ev_io_stop(r->loop, w);
    close_input(r);
}

static int make_room(struct hook_run *r)
{
    size_t cap = r->cap ? 2 * r->cap : 8;
    struct question *v;

    if (r->first + r->n < r->cap)
        return 0;
    if (r->first) {
        memmove(r->asked, r->asked + r->first, r->n * sizeof *r->asked);
        r->first = 0;
        return 0;
    }
    v = reallocarray(r->asked, cap, sizeof *v);
    if (!v)
        return -1;
    r->asked = v;
    r->cap = cap;
    return 0;
}

void hook_run_asked(struct hook_run *r, enum hook hook, int rank)
{
    if (r->over)
        return;
    if (r->to.failed || make_room(r) < 0) {
        fail(r, "no memory to ask it");
        return;
    }
    r->asked[r->first + r->n++] = (struct question){ hook, rank };
    ev_io_start(r->loop, &r->writable);
    if (r->n == 1)
        set_timer(r);
}

void hook_run_close(struct hook_run *r)
{
    if (r->over || r->closing)
        return;
    r->closing = true;
    close_input(r);
    set_timer(r);
}

/* --- answers ----------------------------------------------------------- */

static void take_answer(struct hook_run *r, size_t len)
{
    struct question q;

    if (!r->n) {
        fail(r, "it has said something unasked");
        return;
    }
    q = r->asked[r->first++];
    r->n--;
    set_timer(r);
    r->ops->answer(r->host, r, q.hook, q.rank, buf_bytes(&r->from), len);
    if (r->over)
        return;
    seal_wipe(buf_bytes(&r->from), len);
    buf_consume(&r->from, len + 1);
    close_input(r);
}

static void take_lines(struct hook_run *r)
{
    char *end;

    while (!r->over && r->from.len &&
           (end = memchr(buf_bytes(&r->from), '\n', r->from.len)))
        take_answer(r, (size_t)(end - buf_bytes(&r->from)));
    if (!r->over && r->from.len > HOOK_LINE)
        fail(r, "an answer of it is too long");
}

static void ended(struct hook_run *r)
{
    char text[100];

    if (r->closing && !r->n) {
        closed(r);
        return;
    }
    snprintf(text, sizeof text, "%s%sit has ended%s", r->n ? hook_name(r->asked[r->first].hook) : "",
             r->n ? ": " : "", r->n ? " without an answer" : "");
    fail(r, text);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct hook_run *r = w->data;
    char *to = buf_room(&r->from, 16384);
    ssize_t n = to ? read(r->out, to, 16384) : -1;

    (void)loop;
    (void)revents;
    if (!to) {
        fail(r, "no memory for its answer");
        return;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        ended(r);
        return;
    }
    buf_commit(&r->from, (size_t)n);
    take_lines(r);
}

static void on_worded(struct ev_loop *loop, ev_io *w, int revents)
{
    struct hook_run *r = w->data;

    (void)loop;
    (void)revents;
    if (take_words(r) == 0)
        close_fd(r, &r->err, &r->worded);
}

/* --- started ----------------------------------------------------------- */

static void watch(struct hook_run *r)
{
    ev_io_init(&r->writable, on_writable, r->in, EV_WRITE);
    ev_io_init(&r->readable, on_readable, r->out, EV_READ);
    ev_io_init(&r->worded, on_worded, r->err, EV_READ);
    ev_timer_init(&r->overdue, on_overdue, 0., 0.);
    r->writable.data = r->readable.data = r->worded.data = r->overdue.data = r;
}

static int execute(struct hook_run *r, const char *path, const struct inherited *user,
                   const int theirs[3], struct err *e)
{
    char *argv[] = { (char *)(uintptr_t)"mpiexec_lite", (char *)(uintptr_t)"--run-provider",
                     (char *)(uintptr_t)path, NULL };
    char *envp[] = { NULL };
    struct child_spec spec = { .path = "/proc/self/exe", .argv = argv, .envp = envp, .dir = "/",
                               .in = theirs[0], .out = theirs[1], .err = theirs[2], .keep = -1,
                               .user = user };
    const char *step;
    pid_t pid = child_start(&spec, &step);

    if (pid < 0)
        return err_set(e, ERR_OTHER, "it cannot be started: %s: %s", step, strerror(errno));
    r->pid = pid;
    return 0;
}

/* The end of a pipe that is ours; the other one is closed. */
static int keep_end(const int fd[2], int ours)
{
    if (fd[0] < 0)
        return -1;
    close(fd[!ours]);
    fcntl(fd[ours], F_SETFL, O_NONBLOCK);
    return fd[ours];
}

int hook_run_start(struct hook_run *r, struct ev_loop *loop, const char *path,
                   const struct inherited *user, const struct hook_run_ops *ops, void *host,
                   struct err *e)
{
    int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 }, rc;

    *r = (struct hook_run){ .ops = ops, .host = host, .loop = loop, .timeout = HOOK_TIMEOUT,
                            .in = -1, .out = -1, .err = -1 };
    provider_name(path, r->name);
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
        rc = err_set(e, ERR_OTHER, "no descriptors for it: %s", strerror(errno));
    else
        rc = execute(r, path, user, (int[]){ in[0], out[1], err[1] }, e);
    r->in = keep_end(in, 1);
    r->out = keep_end(out, 0);
    r->err = keep_end(err, 0);
    watch(r);
    if (rc == 0) {
        ev_io_start(loop, &r->readable);
        ev_io_start(loop, &r->worded);
    }
    return rc;
}
