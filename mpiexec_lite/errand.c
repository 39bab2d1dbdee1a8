/* errand.c - see errand.h */
#include "mpiexec_lite/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const double GRACE = 2.0;         /* seconds from SIGTERM to SIGKILL */

static void close_end(struct errand *x, int *fd, ev_io *w)
{
    ev_io_stop(x->loop, w);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void quiet(struct errand *x)
{
    if (!x->loop)
        return;
    ev_timer_stop(x->loop, &x->limit);
    close_end(x, &x->out, &x->said);
    close_end(x, &x->err, &x->worded);
}

void errand_clear(struct errand *x)
{
    quiet(x);
    if (x->pid > 0)
        kill(-x->pid, SIGKILL);
    x->pid = 0;
    buf_clear(&x->text);
    buf_clear(&x->words);
}

void errand_stop(struct errand *x)
{
    if (!x->pid || x->ending)
        return;
    x->ending = true;
    kill(-x->pid, SIGTERM);
    ev_timer_stop(x->loop, &x->limit);
    ev_timer_set(&x->limit, GRACE, 0.);
    ev_timer_start(x->loop, &x->limit);
}

static void on_limit(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct errand *x = w->data;

    (void)loop;
    (void)revents;
    if (x->ending) {
        kill(-x->pid, SIGKILL);
        return;
    }
    x->late = true;
    errand_stop(x);
}

/* --- what it says ------------------------------------------------------ */

/* As read(2). */
static ssize_t take(struct errand *x, int fd, struct buf *to)
{
    char bytes[4096];
    ssize_t n = read(fd, bytes, sizeof bytes);

    if (n > 0 && to->len + (size_t)n <= ERRAND_SAYS)
        buf_add(to, bytes, (size_t)n);
    else if (n > 0)
        x->flooded = true;
    return n;
}

static void read_some(struct errand *x, int *fd, ev_io *w, struct buf *to)
{
    ssize_t n = take(x, *fd, to);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_end(x, fd, w);
    if (x->flooded)
        errand_stop(x);
}

static void on_said(struct ev_loop *loop, ev_io *w, int revents)
{
    struct errand *x = w->data;

    (void)loop;
    (void)revents;
    read_some(x, &x->out, w, &x->text);
}

static void on_worded(struct ev_loop *loop, ev_io *w, int revents)
{
    struct errand *x = w->data;

    (void)loop;
    (void)revents;
    read_some(x, &x->err, w, &x->words);
}

const char *errand_words(struct errand *x)
{
    struct buf line = BUF_INIT;
    const char *from;

    while (x->words.len && strchr("\r\n", buf_bytes(&x->words)[x->words.len - 1]))
        buf_cut(&x->words, x->words.len - 1);
    if (!x->words.len)
        return "";
    from = memrchr(buf_bytes(&x->words), '\n', x->words.len);
    from = from ? from + 1 : buf_bytes(&x->words);
    buf_escaped(&line, from, strlen(from));
    buf_clear(&x->words);
    x->words = line;
    return line.len ? buf_bytes(&line) : "";
}

/* --- its end ----------------------------------------------------------- */

/* Somebody that it has left behind may still have its pipes: only what is there counts. */
bool errand_reaped(struct errand *x, pid_t pid, int wstatus)
{
    if (!x->pid || x->pid != pid)
        return false;
    kill(-pid, SIGKILL);
    x->pid = 0;
    x->wstatus = wstatus;
    while (x->out >= 0 && !x->flooded && take(x, x->out, &x->text) > 0)
        ;
    while (x->err >= 0 && !x->flooded && take(x, x->err, &x->words) > 0)
        ;
    quiet(x);
    x->done(x->who);
    return true;
}

bool errand_good(const struct errand *x)
{
    return !x->late && !x->flooded && !x->text.failed && !x->words.failed &&
           WIFEXITED(x->wstatus) && WEXITSTATUS(x->wstatus) == 0;
}

/* --- its start --------------------------------------------------------- */

static int execute(struct errand *x, const char *path, char *const *argv, char *const *envp,
                   const struct inherited *user, const int theirs[3], struct err *e)
{
    const struct child_spec spec = { .path = path, .argv = argv, .envp = envp, .dir = "/",
                                     .in = theirs[0], .out = theirs[1], .err = theirs[2],
                                     .keep = -1, .user = user };
    const char *step;
    pid_t pid = child_start(&spec, &step);

    if (pid < 0)
        return err_set(e, ERR_OTHER, "%s: %s: %s", argv[0], step, strerror(errno));
    x->pid = pid;
    return 0;
}

static int keep_end(const int fd[2])
{
    if (fd[0] < 0)
        return -1;
    close(fd[1]);
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    return fd[0];
}

static void watch(struct errand *x, double seconds)
{
    ev_io_init(&x->said, on_said, x->out, EV_READ);
    ev_io_init(&x->worded, on_worded, x->err, EV_READ);
    ev_timer_init(&x->limit, on_limit, seconds, 0.);
    x->said.data = x->worded.data = x->limit.data = x;
    if (!x->pid)
        return;
    ev_now_update(x->loop);
    ev_io_start(x->loop, &x->said);
    ev_io_start(x->loop, &x->worded);
    ev_timer_start(x->loop, &x->limit);
}

int errand_find(const char *name, char *path, size_t size, int *status, struct err *e)
{
    const char *dirs = getenv("PATH");

    return program_find(name, NULL, NULL, dirs ? dirs : "/usr/bin:/bin", path, size, status, e);
}

int errand_start(struct errand *x, struct ev_loop *loop, char *const *argv, char *const *envp,
                 const struct inherited *user, double seconds, void (*done)(void *), void *who,
                 bool *missing, struct err *e)
{
    int out[2] = { -1, -1 }, err[2] = { -1, -1 }, nothing = -1, status = 0, rc = 0;
    char path[PATH_MAX];

    *x = (struct errand){ .loop = loop, .out = -1, .err = -1, .done = done, .who = who };
    if (errand_find(argv[0], path, sizeof path, &status, e) < 0)
        rc = -1;
    else if ((nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0 ||
             pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
        rc = err_set(e, ERR_OTHER, "%s: no descriptors for it: %s", argv[0], strerror(errno));
    else
        rc = execute(x, path, argv, envp, user, (int[]){ nothing, out[1], err[1] }, e);
    *missing = status != 0;
    if (nothing >= 0)
        close(nothing);
    x->out = keep_end(out);
    x->err = keep_end(err);
    watch(x, seconds);
    return rc;
}
