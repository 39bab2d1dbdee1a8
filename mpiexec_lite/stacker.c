/* stacker.c - see stacker.h */
#include "mpiexec_lite/stacker.h"

#include "mpiexec_lite/stack_helper.h"
#include "pmix_ext/facts.h"

#include <ev.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static const double LIMIT = 5.0;         /* s; a tool's query lasts longer */
enum { MOST = 4 << 20, PIECE = 65536 };  /* bytes: of all stacks of a node; of a read */

struct stacking {
    TAILQ_ENTRY(stacking) in_list;
    struct stacker *in;
    struct stack_ask ask;
    pid_t    pid;                        /* of the helper; it is killed before it is forgotten */
    int      fd;                         /* owned: what it finds comes there */
    struct buf found;                    /* owned */
    ev_io    readable;
    ev_timer limit;
};

/* It may have ended and been reaped: then its end of the pipe was closed, and fd has said so. */
static void stacking_free(struct stacking *x, bool ended)
{
    if (!ended)
        kill(x->pid, SIGKILL);
    TAILQ_REMOVE(&x->in->list, x, in_list);
    ev_io_stop(x->in->loop, &x->readable);
    ev_timer_stop(x->in->loop, &x->limit);
    close(x->fd);
    buf_clear(&x->found);
    free(x);
}

static void finish(struct stacking *x, bool ended)
{
    struct stacker *in = x->in;
    struct buf found = x->found;
    struct stack_ask ask = x->ask;

    x->found = (struct buf)BUF_INIT;
    stacking_free(x, ended);
    in->done(in->host, &ask, found.len ? buf_bytes(&found) : "", found.len);
    buf_clear(&found);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct stacking *x = w->data;
    char *to = buf_room(&x->found, PIECE);
    ssize_t n = to ? read(x->fd, to, PIECE) : -1;

    (void)loop;
    (void)revents;
    if (to && n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        buf_commit(&x->found, (size_t)n);
    if (n <= 0 || x->found.len > MOST)
        finish(x, n == 0);
}

static void on_limit(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop;
    (void)revents;
    finish(w->data, false);
}

/* The helper's pid, and where it writes to; -1. */
static pid_t begin(const pid_t *pids, size_t n, bool threads, int *fd)
{
    pid_t parent = getpid(), pid;
    int p[2];

    if (pipe2(p, O_CLOEXEC) < 0)
        return -1;
    fcntl(p[0], F_SETFL, O_NONBLOCK);
    pid = fork();
    if (pid == 0)
        stack_helper_run(p[1], pids, n, threads, parent);
    close(p[1]);
    if (pid < 0)
        close(p[0]);
    *fd = p[0];
    return pid;
}

int stacker_ask(struct stacker *s, const struct stack_ask *ask, const pid_t *pids, size_t n)
{
    struct stacking *x = calloc(1, sizeof *x);

    if (!x)
        return -1;
    *x = (struct stacking){ .in = s, .ask = *ask };
    x->pid = begin(pids, n, ask->what & FACT_THREADS, &x->fd);
    if (x->pid < 0) {
        free(x);
        return -1;
    }
    TAILQ_INSERT_TAIL(&s->list, x, in_list);
    ev_io_init(&x->readable, on_readable, x->fd, EV_READ);
    ev_timer_init(&x->limit, on_limit, LIMIT, 0.);
    x->readable.data = x->limit.data = x;
    ev_io_start(s->loop, &x->readable);
    ev_timer_start(s->loop, &x->limit);
    return 0;
}

void stacker_init(struct stacker *s, struct ev_loop *loop,
                  void (*done)(void *, const struct stack_ask *, const char *, size_t), void *host)
{
    *s = (struct stacker){ .loop = loop, .done = done, .host = host };
    TAILQ_INIT(&s->list);
}

void stacker_clear(struct stacker *s)
{
    while (s->loop && !TAILQ_EMPTY(&s->list))
        stacking_free(TAILQ_FIRST(&s->list), false);
}
