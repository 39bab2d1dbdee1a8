/* output.c - see output.h */
#include "mpiexec_lite/output.h"

#include "mpiexec_lite/pattern.h"
#include "mpiexec_lite/sink.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

/* A prompt: a line without an end, and this long nothing behind it. */
static const double PROMPT_AFTER = 0.1;

/* Messages of our own wait for a reader of stderr up to this many bytes. */
enum { TELL_AT_MOST = 1 << 20 };

struct stream {
    struct output *output;       /* borrowed */
    struct sink   *sink;         /* borrowed from the output; NULL: thrown away */
    int            rank, fd;     /* fd: -1 once ended */
    ev_io          readable;
    struct iof     iof;
    TAILQ_ENTRY(stream) in_list; /* of all streams */
};
TAILQ_HEAD(streams, stream);

struct place {                   /* a sink and its name in a list */
    struct sink sink;
    TAILQ_ENTRY(place) in_list;
};
TAILQ_HEAD(places, place);

struct far {                     /* of another node, or of a rank with files of its own */
    struct iof   lines[2];       /* stdout's and stderr's, being put together */
    struct sink *to[2];          /* borrowed; where they go */
};

struct output {
    struct ev_loop    *loop;     /* borrowed, like the five below */
    const struct plan *plan;
    const char        *hostname;
    int                node;
    char              *buffer;
    const struct output_ops *ops;
    void              *host;
    size_t             size;     /* of buffer */
    struct sink        out, err; /* ours; err is not used if both are one place */
    struct sink       *errors;   /* where stderr goes: &err or &out */
    struct places      files;    /* owned */
    struct streams     streams;  /* owned */
    int                open;     /* streams not yet ended */
    unsigned long      untold;   /* messages dropped since the last one that was not */
    bool               failed, direct;   /* direct: one rank, no label: bytes pass as they come */
    double             start;
    ev_timer           prompt;
    struct far        *far;      /* owned: by node, of output_take; NULL before */
    struct stream     *prompter; /* whose held text the timer is for */
    int                input;    /* borrowed: what it may be waiting for; -1: nothing */
};

/* --- places ------------------------------------------------------------ */

/* One pipe or file behind both ("2>&1"): lines of both must go through one sink to
 * stay whole. */
static bool same_place(int a, int b)
{
    struct stat x, y;

    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino && x.st_rdev == y.st_rdev;
}

static void on_resume(void *host, struct sink *s)
{
    struct output *o = host;
    struct stream *st;

    TAILQ_FOREACH(st, &o->streams, in_list)
        if (st->sink == s && st->fd >= 0)
            ev_io_start(o->loop, &st->readable);
    if (o->ops->taken)
        o->ops->taken(o->host);
}

static void on_failed(void *host, struct sink *s, int errnum)
{
    struct output *o = host;
    char what[512];

    if (o->failed)
        return;
    o->failed = true;
    snprintf(what, sizeof what, "write to %s", s->name);
    o->ops->failed(o->host, what, errnum);
    if (o->ops->taken)
        o->ops->taken(o->host);
}

static const struct sink_ops sink_ops = { on_resume, on_failed };

void output_flush(struct output *o)
{
    struct place *p;

    sink_flush(&o->out);
    sink_flush(o->errors);
    TAILQ_FOREACH(p, &o->files, in_list)
        sink_flush(&p->sink);
}

static void expand(struct output *o, const char *pattern, int rank, int node,
                   struct buf *text)
{
    struct pattern_vars vars = { .rank = rank, .node = node,
                                 .host = node == o->node ? o->hostname
                                                         : o->plan->hosts[node].name,
                                 .seconds = (long)(ev_now(o->loop) - o->start) };

    pattern_expand(pattern, &vars, text);
}

/* The place that is this file already, under whatever name; or NULL. */
static struct sink *same_file(struct output *o, int fd)
{
    struct place *p;

    TAILQ_FOREACH(p, &o->files, in_list)
        if (same_place(p->sink.fd, fd))
            return &p->sink;
    return NULL;
}

static struct sink *add_file(struct output *o, int fd, const char *name, struct err *e)
{
    struct place *p = calloc(1, sizeof *p);

    if (!p || sink_init(&p->sink, o->loop, fd, true, name, &sink_ops, o) < 0) {
        free(p);
        close(fd);
        err_set(e, ERR_NOMEM, "no memory for an output file");
        return NULL;
    }
    TAILQ_INSERT_TAIL(&o->files, p, in_list);
    return &p->sink;
}

static struct sink *file_named(struct output *o, const char *name, struct err *e)
{
    struct sink *known;
    struct place *p;
    int fd;

    TAILQ_FOREACH(p, &o->files, in_list)
        if (!strcmp(p->sink.name, name))
            return &p->sink;
    fd = sink_open_file(name, e);
    if (fd < 0)
        return NULL;
    known = same_file(o, fd);
    if (known || sink_empty_file(fd, name, e) < 0) {
        close(fd);
        return known;
    }
    return add_file(o, fd, name, e);
}

static size_t put(void *host, struct sink *s, const char *data, size_t len)
{
    struct output *o = host;

    return o->ops->send(o->host, s->rank, s->errors, data, len);
}

/* On another node: what goes to a file of its own there is kept apart here. */
static struct sink *far_place(struct output *o, int rank, bool errors, struct err *e)
{
    struct place *p;

    TAILQ_FOREACH(p, &o->files, in_list)
        if (p->sink.rank == rank && p->sink.errors == errors)
            return &p->sink;
    p = calloc(1, sizeof *p);
    if (!p || sink_init_put(&p->sink, o->loop, put, rank, errors, &sink_ops, o) < 0) {
        free(p);
        err_set(e, ERR_NOMEM, "no memory for output");
        return NULL;
    }
    TAILQ_INSERT_TAIL(&o->files, p, in_list);
    return &p->sink;
}

/* Where a rank's stream goes: ours, or the file of its pattern. */
static struct sink *place_for(struct output *o, const char *pattern, struct sink *ours,
                              int rank, int node, struct err *e)
{
    struct buf name = BUF_INIT;
    struct sink *s = ours;

    if (!pattern)
        return s;
    if (o->ops->send)
        return far_place(o, rank, ours == o->errors && ours != &o->out, e);
    expand(o, pattern, rank, node, &name);
    if (name.failed)
        err_set(e, ERR_NOMEM, "no memory for an output file");
    s = name.failed ? NULL : file_named(o, buf_bytes(&name), e);
    buf_clear(&name);
    return s;
}

/* --- streams ----------------------------------------------------------- */

static void end_stream(struct stream *st)
{
    struct output *o = st->output;

    ev_io_stop(o->loop, &st->readable);
    close(st->fd);
    st->fd = -1;
    if (o->prompter == st) {
        o->prompter = NULL;
        ev_timer_stop(o->loop, &o->prompt);
    }
    o->open--;
}

/* A label for this rank in text, or NULL. */
static const char *label_of(struct stream *st, struct buf *text)
{
    struct output *o = st->output;

    if (!o->plan->label)
        return NULL;
    expand(o, o->plan->label, st->rank, o->node, text);
    if (text->failed)
        on_failed(o, st->sink, ENOMEM);
    return text->failed || !text->len ? NULL : buf_bytes(text);
}

static void forward(struct stream *st, const char *data, size_t len)
{
    struct output *o = st->output;
    struct sink *s = st->sink;
    struct buf label = BUF_INIT;
    const char *text;
    size_t whole = 0;

    if (!s || s->dead)
        return;
    if (o->direct) {
        sink_write(s, data, len);
        return;
    }
    text = label_of(st, &label);
    if (!text && len >= 4096 && !s->line.open)
        whole = iof_whole(&st->iof, data, len);
    if (whole)
        sink_write(s, data, whole);
    iof_feed(&st->iof, &s->line, text, data + whole, len - whole, &s->out);
    if (s->out.failed)
        on_failed(o, s, ENOMEM);
    else if (s->out.len >= IOF_LINE)
        sink_flush(s);
    buf_clear(&label);
}

static void flush_held(struct stream *st)
{
    struct buf label = BUF_INIT;

    if (st->sink && !st->sink->dead)
        iof_flush(&st->iof, &st->sink->line, label_of(st, &label), &st->sink->out);
    buf_clear(&label);
}

/* Nothing more has come, what came could be written, and there is nothing for the
 * rank to read: it may be waiting for an answer. */
static bool is_prompt(const struct stream *st)
{
    struct pollfd p[2] = { { .fd = st->fd, .events = POLLIN },
                           { .fd = st->output->input, .events = POLLIN } };

    return !(st->sink && sink_full(st->sink)) && poll(p, 2, 0) == 0;
}

static void on_prompt(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct output *o = w->data;

    (void)revents;
    if (!o->prompter)
        return;
    if (!is_prompt(o->prompter)) {
        ev_timer_start(loop, &o->prompt);
        return;
    }
    flush_held(o->prompter);
    o->prompter = NULL;
}

/* What the rank that reads stdin leaves unfinished may be a prompt. */
static void watch_prompt(struct stream *st)
{
    struct output *o = st->output;

    if (o->input == -1 || st->rank != o->plan->stdin_rank)
        return;
    ev_timer_stop(o->loop, &o->prompt);
    o->prompter = NULL;
    if (!st->iof.held.len)
        return;
    o->prompter = st;
    ev_timer_set(&o->prompt, PROMPT_AFTER, 0.);
    ev_timer_start(o->loop, &o->prompt);
}

/* One read, forwarded: bytes; 0 at the end (also by an error, which is told); -1 if
 * there is nothing now. */
static ssize_t read_stream(struct stream *st)
{
    struct output *o = st->output;
    ssize_t n;

    do
        n = read(st->fd, o->buffer, o->size);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        forward(st, o->buffer, (size_t)n);
    if (n >= 0 || errno == EAGAIN)
        return n;
    if (!o->failed)
        o->ops->failed(o->host, "read from a rank's output", errno);
    o->failed = true;
    return 0;
}

static void finish_stream(struct stream *st)
{
    flush_held(st);
    end_stream(st);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
    struct stream *st = w->data;
    ssize_t n;

    (void)revents;
    if (st->sink && sink_full(st->sink)) {
        ev_io_stop(loop, w);             /* until on_resume */
        return;
    }
    n = read_stream(st);
    if (n > 0)
        watch_prompt(st);
    else if (n == 0)
        finish_stream(st);
}

static int add_stream(struct output *o, int rank, int fd, struct sink *sink, struct err *e)
{
    struct stream *st = calloc(1, sizeof *st);

    if (!st) {
        close(fd);
        return err_set(e, ERR_NOMEM, "no memory for output of rank %d", rank);
    }
    st->output = o;
    st->rank = rank;
    st->fd = fd;
    st->sink = sink;
    ev_io_init(&st->readable, on_readable, fd, EV_READ);
    st->readable.data = st;
    ev_io_start(o->loop, &st->readable);
    TAILQ_INSERT_TAIL(&o->streams, st, in_list);
    o->open++;
    return 0;
}

int output_add(struct output *o, int rank, int out_fd, int err_fd, struct err *e)
{
    const struct plan *p = o->plan;
    bool shown = p->output_from < 0 || p->output_from == rank;
    struct sink *out = place_for(o, p->outfile, &o->out, rank, o->node, e), *err = out;

    if (out && err_fd >= 0)
        err = place_for(o, p->errfile, o->errors, rank, o->node, e);
    if (!out || !err) {
        close(out_fd);
        if (err_fd >= 0)
            close(err_fd);
        return -1;
    }
    if (add_stream(o, rank, out_fd, shown ? out : NULL, e) < 0) {
        if (err_fd >= 0)
            close(err_fd);
        return -1;
    }
    if (err_fd < 0)
        return 0;
    return add_stream(o, rank, err_fd, shown ? err : NULL, e);
}

/* --- the whole --------------------------------------------------------- */

static int init_own(struct output *o)
{
    if (o->ops->send) {
        o->errors = &o->err;
        return sink_init_put(&o->out, o->loop, put, -1, false, &sink_ops, o) |
               sink_init_put(&o->err, o->loop, put, -1, true, &sink_ops, o);
    }
    o->errors = same_place(STDOUT_FILENO, STDERR_FILENO) ? &o->out : &o->err;
    return sink_init(&o->out, o->loop, STDOUT_FILENO, false, "stdout", &sink_ops, o) |
           sink_init(&o->err, o->loop, STDERR_FILENO, false, "stderr", &sink_ops, o);
}

struct output *output_new(struct ev_loop *loop, const struct plan *plan, int node,
                          const char *hostname, char *buffer, size_t size,
                          const struct output_ops *ops, void *host, struct err *e)
{
    struct output *o = calloc(1, sizeof *o);

    if (!o) {
        err_set(e, ERR_NOMEM, "no memory for output");
        return NULL;
    }
    *o = (struct output){ .loop = loop, .plan = plan, .hostname = hostname,
                          .node = node, .buffer = buffer, .size = size, .ops = ops, .host = host,
                          .start = ev_now(loop), .input = -1,
                          .direct = !plan->label && plan_size(plan) == 1 };
    TAILQ_INIT(&o->files);
    TAILQ_INIT(&o->streams);
    if (init_own(o) < 0) {
        err_set(e, ERR_NOMEM, "no memory for output");
        free(o->out.name);
        free(o->err.name);
        free(o);
        return NULL;
    }
    ev_timer_init(&o->prompt, on_prompt, PROMPT_AFTER, 0.);
    o->prompt.data = o;
    return o;
}

void output_set_input(struct output *o, int input)
{
    o->input = input;
}

/* --- output of other nodes --------------------------------------------- */

/* Where the lines of a node are put together: with files, those of a rank. */
static struct far *far_of(struct output *o, int node, int rank)
{
    size_t ranks = (size_t)plan_size(o->plan), n = ranks + o->plan->nhosts;

    if (!o->far && !(o->far = calloc(n, sizeof *o->far)))
        return NULL;
    return &o->far[rank < 0 ? ranks + (size_t)node : (size_t)rank];
}

static void far_clear(struct output *o)
{
    size_t n = (size_t)plan_size(o->plan) + o->plan->nhosts;

    for (size_t i = 0; o->far && i < 2 * n; i++)
        buf_clear(&o->far[i / 2].lines[i % 2].held);
    free(o->far);
}

bool output_take(struct output *o, int node, int rank, bool errors, bool flush,
                 const char *data, size_t len)
{
    const char *label = o->plan->label ? "" : NULL;      /* the lines have theirs already */
    struct far *f = far_of(o, node, rank);
    struct iof *lines;
    struct sink *s;

    if (!f) {
        on_failed(o, &o->out, ENOMEM);
        return true;
    }
    s = rank >= 0 && f->to[errors] ? f->to[errors] : errors ? o->errors : &o->out;
    if (s->dead)
        return true;
    lines = &f->lines[errors];
    iof_feed(lines, &s->line, label, data, len, &s->out);
    if (flush)
        iof_flush(lines, &s->line, label, &s->out);
    if (s->out.failed)
        on_failed(o, s, ENOMEM);
    else if (s->out.len >= IOF_LINE)
        sink_flush(s);
    return !sink_full(s);
}

int output_open(struct output *o, int node, int rank, struct err *e)
{
    const struct plan *p = o->plan;
    struct far *f = far_of(o, node, rank);

    if (!f)
        return err_set(e, ERR_NOMEM, "no memory for output");
    f->to[0] = place_for(o, p->outfile, &o->out, rank, node, e);
    f->to[1] = f->to[0] && !p->merge ? place_for(o, p->errfile, o->errors, rank, node, e)
                                     : f->to[0];
    return f->to[1] ? 0 : -1;
}

void output_end_far(struct output *o)
{
    size_t n = (size_t)plan_size(o->plan) + o->plan->nhosts;
    const char *label = o->plan->label ? "" : NULL;

    for (size_t i = 0; o->far && i < 2 * n; i++) {
        struct far *f = &o->far[i / 2];
        struct sink *s = f->to[i % 2] ? f->to[i % 2] : i % 2 ? o->errors : &o->out;

        if (f->lines[i % 2].held.len && !s->dead)
            iof_flush(&f->lines[i % 2], &s->line, label, &s->out);
    }
}

bool output_full(const struct output *o)
{
    const struct place *p;

    TAILQ_FOREACH(p, &o->files, in_list)
        if (sink_full(&p->sink) && !p->sink.dead)
            return true;
    return (sink_full(&o->out) && !o->out.dead) ||
           (sink_full(o->errors) && !o->errors->dead);
}

void output_go_on(struct output *o)
{
    struct place *p;

    sink_go_on(&o->out);
    sink_go_on(&o->err);
    TAILQ_FOREACH(p, &o->files, in_list)
        sink_go_on(&p->sink);
}

void output_free(struct output *o)
{
    struct stream *st;
    struct place *p;

    if (!o)
        return;
    while ((st = TAILQ_FIRST(&o->streams))) {
        TAILQ_REMOVE(&o->streams, st, in_list);
        ev_io_stop(o->loop, &st->readable);
        if (st->fd >= 0)
            close(st->fd);
        buf_clear(&st->iof.held);
        free(st);
    }
    while ((p = TAILQ_FIRST(&o->files))) {
        TAILQ_REMOVE(&o->files, p, in_list);
        sink_clear(&p->sink);
        free(p);
    }
    far_clear(o);
    ev_timer_stop(o->loop, &o->prompt);
    sink_clear(&o->out);
    sink_clear(&o->err);
    free(o);
}

bool output_ended(const struct output *o)
{
    return !o->open;
}

bool output_flushed(const struct output *o)
{
    const struct place *p;

    TAILQ_FOREACH(p, &o->files, in_list)
        if (!sink_idle(&p->sink))
            return false;
    return sink_idle(&o->out) && sink_idle(o->errors);
}

void output_close_streams(struct output *o)
{
    struct stream *st;

    TAILQ_FOREACH(st, &o->streams, in_list) {
        if (st->fd < 0)
            continue;
        while (read_stream(st) > 0)
            ;
        finish_stream(st);
    }
    output_flush(o);
}

void output_tell(struct output *o, const char *line)
{
    struct sink *s = o->errors;

    if (s->dead)
        return;
    if (s->out.len > TELL_AT_MOST) {     /* nobody reads; -vv could fill the memory */
        o->untold++;
        return;
    }
    if (o->untold)
        buf_printf(&s->out, "mpiexec_lite: (%lu messages lost)\n", o->untold);
    o->untold = 0;
    if (s->line.open)
        buf_char(&s->out, '\n');
    s->line.open = NULL;
    buf_printf(&s->out, "mpiexec_lite: %s\n", line);
    if (s->out.failed) {                 /* no memory: a message is worth a direct write */
        dprintf(STDERR_FILENO, "mpiexec_lite: %s\n", line);
        on_failed(o, s, ENOMEM);
    }
    sink_flush(s);
}
