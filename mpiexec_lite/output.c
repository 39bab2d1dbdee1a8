/* output.c - see output.h */
#include "mpiexec_lite/output.h"

#include "mpiexec_lite/pattern.h"
#include "mpiexec_lite/tail.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A prompt: a line without an end, and this long nothing behind it. */
static const double PROMPT_AFTER = 0.1;

struct stream {
    struct output *output;       /* borrowed */
    struct sink   *sink;         /* borrowed from the places; NULL: thrown away */
    int            rank, fd;     /* fd: -1 once ended */
    bool           errors;       /* it is stderr */
    bool           keeps;        /* its end is kept: stderr, also where merged */
    bool           wrote;        /* something has come */
    struct tail    tail;         /* owned */
    ev_io          readable;
    struct iof     iof;
    TAILQ_ENTRY(stream) in_list; /* of all streams */
};
TAILQ_HEAD(streams, stream);

struct far {                     /* of another node, or of a rank with files of its own */
    struct iof   lines[2];       /* stdout's and stderr's, being put together */
    struct sink *to[2];          /* borrowed; where they go */
};

struct output {
    struct output_args args;
    struct places     *places;   /* args.places; and its loop */
    struct ev_loop    *loop;
    TAILQ_ENTRY(output) in_places;
    struct streams     streams;  /* owned */
    int                open;     /* streams not yet ended */
    bool               direct;   /* one rank, no label: bytes pass as they come */
    double             start;
    ev_timer           prompt;
    size_t             nodes;    /* those that come later have no rank of the job */
    struct far        *far;      /* owned: by node, of output_take; NULL before */
    struct stream     *prompter; /* whose held text the timer is for */
    const struct output_tap *tap;        /* borrowed; NULL: nobody reads along */
    void              *tap_host;
    bool               watch_all;
    int               *watched;  /* owned: ranks that are */
    size_t             nwatched;
    int                input;    /* borrowed: what it may be waiting for; -1: nothing */
};

/* --- places ------------------------------------------------------------ */

void outputs_resume(struct places *p, struct sink *s)
{
    struct output *o;
    struct stream *st;

    TAILQ_FOREACH(o, &p->outputs, in_places)
        TAILQ_FOREACH(st, &o->streams, in_list)
            if (st->sink == s && st->fd >= 0)
                ev_io_start(o->loop, &st->readable);
}

static void expand(struct output *o, const char *pattern, int rank, int node,
                   struct buf *text)
{
    const struct output_args *a = &o->args;
    struct pattern_vars vars = { .rank = rank, .job = a->job, .node = node,
                                 .host = node == a->node ? a->hostname
                                                         : a->plan->hosts[node].name,
                                 .seconds = (long)(ev_now(o->loop) - o->start) };

    pattern_expand(pattern, &vars, text);
}

/* Where a rank's stream goes: ours, or the file of its pattern. */
static struct sink *place_for(struct output *o, bool errors, int rank, int node,
                              struct err *e)
{
    struct places *p = o->places;
    const char *pattern = errors ? o->args.plan->errfile : o->args.plan->outfile;
    struct buf name = BUF_INIT;
    struct sink *s = errors ? p->errors : &p->out;

    if (!pattern)
        return s;
    if (p->ops->send)
        return places_of_rank(p, rank, errors, e);
    expand(o, pattern, rank, node, &name);
    if (name.failed)
        err_set(e, ERR_NOMEM, "no memory for an output file");
    s = name.failed ? NULL : places_file(p, buf_bytes(&name), e);
    buf_clear(&name);
    return s;
}

/* --- who reads along --------------------------------------------------- */

static bool is_watched(const struct output *o, int rank)
{
    bool found = o->watch_all;

    for (size_t i = 0; i < o->nwatched && !found; i++)
        found = o->watched[i] == rank;
    return found && o->tap;
}

void output_tap(struct output *o, const struct output_tap *tap, void *host)
{
    o->tap = tap;
    o->tap_host = host;
}

void output_watch(struct output *o, int rank, bool on)
{
    size_t i = 0;
    int *more;

    if (rank < 0) {
        o->watch_all = on;
        return;
    }
    while (i < o->nwatched && o->watched[i] != rank)
        i++;
    if (!on && i < o->nwatched) {
        o->watched[i] = o->watched[--o->nwatched];
    } else if (on && i == o->nwatched) {
        more = realloc(o->watched, (i + 1) * sizeof *more);
        if (!more) {
            places_failed(o->places, "watching output", ENOMEM);
            return;
        }
        o->watched = more;
        o->watched[o->nwatched++] = rank;
    }
}

void output_go_on(struct output *o)
{
    struct stream *st;

    TAILQ_FOREACH(st, &o->streams, in_list)
        if (st->fd >= 0 && !(st->sink && sink_full(st->sink)))
            ev_io_start(o->loop, &st->readable);
}

/* Whether a read can be taken by all who want it. */
static bool can_read(const struct stream *st)
{
    const struct output *o = st->output;

    return !(st->sink && sink_full(st->sink)) &&
           (!is_watched(o, st->rank) || o->tap->ready(o->tap_host));
}

/* An unfinished line of somebody who is gone stays unfinished. */
static void let_go(struct sink *s, const struct iof *f)
{
    static const struct iof nobody = { .held = BUF_INIT };

    if (s && s->line.open == f)
        s->line.open = &nobody;
}

/* --- streams ----------------------------------------------------------- */

static void end_stream(struct stream *st)
{
    struct output *o = st->output;

    if (is_watched(o, st->rank))
        o->tap->take(o->tap_host, st->rank, st->errors, NULL, 0);
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

    if (!o->args.plan->label)
        return NULL;
    expand(o, o->args.plan->label, st->rank, o->args.node, text);
    if (text->failed)
        places_failed(o->places, "a label", ENOMEM);
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
        s->line.open = data[len - 1] == '\n' ? NULL : &st->iof;
        return;
    }
    text = label_of(st, &label);
    if (!text && len >= 4096 && !s->line.open)
        whole = iof_whole(&st->iof, data, len);
    if (whole)
        sink_write(s, data, whole);
    iof_feed(&st->iof, &s->line, text, data + whole, len - whole, &s->out);
    places_added(o->places, s);
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

    if (o->input == -1 || st->rank != o->args.plan->stdin_rank)
        return;
    ev_timer_stop(o->loop, &o->prompt);
    o->prompter = NULL;
    if (!st->iof.held.len)
        return;
    o->prompter = st;
    ev_timer_set(&o->prompt, PROMPT_AFTER, 0.);
    ev_timer_start(o->loop, &o->prompt);
}

/* What has been read is passed on; what is known of it stays. */
static void note(struct stream *st, size_t n)
{
    struct output *o = st->output;

    if (!st->wrote && o->args.wrote)
        o->args.wrote(o->args.host, st->rank);
    st->wrote = true;
    if (st->keeps)
        tail_add(&st->tail, o->args.buffer, n);
}

/* One read, forwarded: bytes; 0 at the end (also by an error, which is told); -1 if
 * there is nothing now. */
static ssize_t read_stream(struct stream *st)
{
    struct output *o = st->output;
    ssize_t n;

    do
        n = read(st->fd, o->args.buffer, o->args.size);
    while (n < 0 && errno == EINTR);
    if (n > 0 && is_watched(o, st->rank))
        o->tap->take(o->tap_host, st->rank, st->errors, o->args.buffer, (size_t)n);
    if (n > 0)
        note(st, (size_t)n);
    if (n > 0)
        forward(st, o->args.buffer, (size_t)n);
    if (n >= 0 || errno == EAGAIN)
        return n;
    places_failed(o->places, "read from a rank's output", errno);
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
    if (!can_read(st)) {
        ev_io_stop(loop, w);             /* until on_resume, or output_go_on */
        return;
    }
    n = read_stream(st);
    if (n > 0)
        watch_prompt(st);
    else if (n == 0)
        finish_stream(st);
}

static int add_stream(struct output *o, int rank, bool errors, bool keeps, int fd,
                      struct sink *sink, struct err *e)
{
    struct stream *st = calloc(1, sizeof *st);

    if (!st) {
        close(fd);
        return err_set(e, ERR_NOMEM, "no memory for output of rank %d", rank);
    }
    st->output = o;
    st->rank = rank;
    st->errors = errors;
    st->keeps = keeps;
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
    const struct plan *p = o->args.plan;
    bool shown = p->output_from < 0 || p->output_from == rank;
    struct sink *out = place_for(o, false, rank, o->args.node, e), *err = out;

    if (out && err_fd >= 0)
        err = place_for(o, true, rank, o->args.node, e);
    if (!out || !err) {
        close(out_fd);
        if (err_fd >= 0)
            close(err_fd);
        return -1;
    }
    if (add_stream(o, rank, false, err_fd < 0, out_fd, shown ? out : NULL, e) < 0) {
        if (err_fd >= 0)
            close(err_fd);
        return -1;
    }
    if (err_fd < 0)
        return 0;
    return add_stream(o, rank, true, true, err_fd, shown ? err : NULL, e);
}

/* --- the whole --------------------------------------------------------- */

struct output *output_new(const struct output_args *args, struct err *e)
{
    struct output *o = calloc(1, sizeof *o);

    if (!o) {
        err_set(e, ERR_NOMEM, "no memory for output");
        return NULL;
    }
    *o = (struct output){ .args = *args, .places = args->places, .loop = args->places->loop,
                          .start = ev_now(args->places->loop), .input = -1,
                          .nodes = args->plan->nhosts,
                          .direct = !args->plan->label && plan_size(args->plan) == 1 };
    TAILQ_INIT(&o->streams);
    TAILQ_INSERT_TAIL(&o->places->outputs, o, in_places);
    ev_timer_init(&o->prompt, on_prompt, PROMPT_AFTER, 0.);
    o->prompt.data = o;
    return o;
}

void output_mind_lines(struct output *o)
{
    o->direct = false;
}

void output_set_input(struct output *o, int input)
{
    o->input = input;
}

/* --- output of other nodes --------------------------------------------- */

/* Where the lines of a node are put together: with files, those of a rank. */
static struct far *far_of(struct output *o, int node, int rank)
{
    size_t ranks = (size_t)plan_size(o->args.plan), n = ranks + o->nodes;

    if (!o->far && !(o->far = calloc(n, sizeof *o->far)))
        return NULL;
    return &o->far[rank < 0 ? ranks + (size_t)node : (size_t)rank];
}

static struct sink *far_sink(struct output *o, const struct far *f, bool errors)
{
    if (f->to[errors])
        return f->to[errors];
    return errors ? o->places->errors : &o->places->out;
}

static void far_clear(struct output *o)
{
    size_t n = (size_t)plan_size(o->args.plan) + o->nodes;

    for (size_t i = 0; o->far && i < 2 * n; i++) {
        struct far *f = &o->far[i / 2];

        let_go(far_sink(o, f, i % 2), &f->lines[i % 2]);
        buf_clear(&f->lines[i % 2].held);
    }
    free(o->far);
}

bool output_take(struct output *o, int node, int rank, bool errors, bool flush,
                 const char *data, size_t len)
{
    const char *label = o->args.plan->label ? "" : NULL;      /* the lines have theirs already */
    struct far *f;
    struct iof *lines;
    struct sink *s;

    if ((size_t)node >= o->nodes)
        return true;
    f = far_of(o, node, rank);
    if (!f) {
        places_failed(o->places, "output of another host", ENOMEM);
        return true;
    }
    s = far_sink(o, f, errors);
    if (s->dead)
        return true;
    lines = &f->lines[errors];
    iof_feed(lines, &s->line, label, data, len, &s->out);
    if (flush)
        iof_flush(lines, &s->line, label, &s->out);
    places_added(o->places, s);
    return !sink_full(s);
}

int output_open(struct output *o, int node, int rank, struct err *e)
{
    struct far *f = far_of(o, node, rank);

    if (!f)
        return err_set(e, ERR_NOMEM, "no memory for output");
    f->to[0] = place_for(o, false, rank, node, e);
    f->to[1] = f->to[0] && !o->args.plan->merge ? place_for(o, true, rank, node, e) : f->to[0];
    return f->to[1] ? 0 : -1;
}

void output_end_far(struct output *o)
{
    size_t n = (size_t)plan_size(o->args.plan) + o->nodes;
    const char *label = o->args.plan->label ? "" : NULL;

    for (size_t i = 0; o->far && i < 2 * n; i++) {
        struct far *f = &o->far[i / 2];
        struct sink *s = far_sink(o, f, i % 2);

        if (f->lines[i % 2].held.len && !s->dead)
            iof_flush(&f->lines[i % 2], &s->line, label, &s->out);
    }
}

void output_free(struct output *o)
{
    struct stream *st;

    if (!o)
        return;
    while ((st = TAILQ_FIRST(&o->streams))) {
        TAILQ_REMOVE(&o->streams, st, in_list);
        ev_io_stop(o->loop, &st->readable);
        if (st->fd >= 0)
            close(st->fd);
        let_go(st->sink, &st->iof);
        buf_clear(&st->iof.held);
        tail_clear(&st->tail);
        free(st);
    }
    far_clear(o);
    free(o->watched);
    ev_timer_stop(o->loop, &o->prompt);
    TAILQ_REMOVE(&o->places->outputs, o, in_places);
    free(o);
}

void output_last_words(const struct output *o, int rank, struct buf *out)
{
    const struct stream *st;

    TAILQ_FOREACH(st, &o->streams, in_list)
        if (st->rank == rank)
            tail_text(&st->tail, out);
}

bool output_ended(const struct output *o)
{
    return !o->open;
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
    places_flush(o->places);
}
