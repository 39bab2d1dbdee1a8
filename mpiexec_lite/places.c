/* places.c - see places.h */
#include "mpiexec_lite/places.h"

#include "mpiexec_lite/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Messages of our own wait for a reader of stderr up to this many bytes. */
enum { TELL_AT_MOST = 1 << 20 };

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
    struct places *p = host;

    outputs_resume(p, s);
    if (p->ops->taken)
        p->ops->taken(p->host);
}

void places_failed(struct places *p, const char *what, int errnum)
{
    if (p->failed)
        return;
    p->failed = true;
    p->ops->failed(p->host, what, errnum);
}

static void on_failed(void *host, struct sink *s, int errnum)
{
    struct places *p = host;
    char what[512];

    snprintf(what, sizeof what, "write to %s", s->name);
    places_failed(p, what, errnum);
    if (p->ops->taken)
        p->ops->taken(p->host);
}

static const struct sink_ops sink_ops = { on_resume, on_failed };

void places_added(struct places *p, struct sink *s)
{
    if (s->out.failed)
        on_failed(p, s, ENOMEM);
    else if (s->out.len >= IOF_LINE)
        sink_flush(s);
}

/* --- files ------------------------------------------------------------- */

/* The place that is this file already, under whatever name; or NULL. */
static struct sink *same_file(struct places *p, int fd)
{
    struct place *x;

    TAILQ_FOREACH(x, &p->files, in_list)
        if (same_place(x->sink.fd, fd))
            return &x->sink;
    return NULL;
}

static struct sink *add_file(struct places *p, int fd, const char *name, struct err *e)
{
    struct place *x = calloc(1, sizeof *x);

    if (!x || sink_init(&x->sink, p->loop, fd, true, name, &sink_ops, p) < 0) {
        free(x);
        close(fd);
        err_set(e, ERR_NOMEM, "no memory for an output file");
        return NULL;
    }
    TAILQ_INSERT_TAIL(&p->files, x, in_list);
    return &x->sink;
}

struct sink *places_file(struct places *p, const char *name, struct err *e)
{
    struct sink *known;
    struct place *x;
    int fd;

    TAILQ_FOREACH(x, &p->files, in_list)
        if (!strcmp(x->sink.name, name))
            return &x->sink;
    fd = sink_open_file(name, e);
    if (fd < 0)
        return NULL;
    known = same_file(p, fd);
    if (known || sink_empty_file(fd, name, e) < 0) {
        close(fd);
        return known;
    }
    return add_file(p, fd, name, e);
}

static size_t put(void *host, struct sink *s, const char *data, size_t len)
{
    struct places *p = host;

    return p->ops->send(p->host, s->rank, s->errors, data, len);
}

struct sink *places_of_rank(struct places *p, int rank, bool errors, struct err *e)
{
    struct place *x;

    TAILQ_FOREACH(x, &p->files, in_list)
        if (x->sink.rank == rank && x->sink.errors == errors)
            return &x->sink;
    x = calloc(1, sizeof *x);
    if (!x || sink_init_put(&x->sink, p->loop, put, rank, errors, &sink_ops, p) < 0) {
        free(x);
        err_set(e, ERR_NOMEM, "no memory for output");
        return NULL;
    }
    TAILQ_INSERT_TAIL(&p->files, x, in_list);
    return &x->sink;
}

/* --- the whole --------------------------------------------------------- */

static int init_own(struct places *p)
{
    if (p->ops->send) {
        p->errors = &p->err;
        return sink_init_put(&p->out, p->loop, put, -1, false, &sink_ops, p) |
               sink_init_put(&p->err, p->loop, put, -1, true, &sink_ops, p);
    }
    p->errors = same_place(STDOUT_FILENO, STDERR_FILENO) ? &p->out : &p->err;
    return sink_init(&p->out, p->loop, STDOUT_FILENO, false, "stdout", &sink_ops, p) |
           sink_init(&p->err, p->loop, STDERR_FILENO, false, "stderr", &sink_ops, p);
}

int places_init(struct places *p, struct ev_loop *loop, const struct places_ops *ops,
                void *host, struct err *e)
{
    *p = (struct places){ .loop = loop, .ops = ops, .host = host };
    TAILQ_INIT(&p->files);
    TAILQ_INIT(&p->outputs);
    return init_own(p) < 0 ? err_set(e, ERR_NOMEM, "no memory for output") : 0;
}

void places_clear(struct places *p)
{
    struct place *x;

    if (!p->loop)
        return;
    while ((x = TAILQ_FIRST(&p->files))) {
        TAILQ_REMOVE(&p->files, x, in_list);
        sink_clear(&x->sink);
        free(x);
    }
    sink_clear(&p->out);
    sink_clear(&p->err);
    p->loop = NULL;
}

void places_flush(struct places *p)
{
    struct place *x;

    sink_flush(&p->out);
    sink_flush(p->errors);
    TAILQ_FOREACH(x, &p->files, in_list)
        sink_flush(&x->sink);
}

bool places_flushed(const struct places *p)
{
    const struct place *x;

    TAILQ_FOREACH(x, &p->files, in_list)
        if (!sink_idle(&x->sink))
            return false;
    return sink_idle(&p->out) && sink_idle(p->errors);
}

bool places_full(const struct places *p)
{
    const struct place *x;

    TAILQ_FOREACH(x, &p->files, in_list)
        if (sink_full(&x->sink) && !x->sink.dead)
            return true;
    return (sink_full(&p->out) && !p->out.dead) ||
           (sink_full(p->errors) && !p->errors->dead);
}

void places_go_on(struct places *p)
{
    struct place *x;

    sink_go_on(&p->out);
    sink_go_on(&p->err);
    TAILQ_FOREACH(x, &p->files, in_list)
        sink_go_on(&x->sink);
}

/* What ranks have not ended stands apart. */
static void end_open_line(struct sink *s)
{
    if (s->line.open)
        buf_char(&s->out, '\n');
    s->line.open = NULL;
}

bool places_line(struct places *p, bool errors, const char *line, size_t len)
{
    struct sink *s = errors ? p->errors : &p->out;

    if (s->dead || s->out.len > TELL_AT_MOST)
        return false;
    end_open_line(s);
    buf_add(&s->out, line, len);
    buf_char(&s->out, '\n');
    if (s->out.failed)
        on_failed(p, s, ENOMEM);
    sink_flush(s);
    return true;
}

void places_tell(struct places *p, const char *line)
{
    struct sink *s = p->errors;

    if (s->dead)
        return;
    if (s->out.len > TELL_AT_MOST) {     /* nobody reads; -vv could fill the memory */
        p->untold++;
        return;
    }
    if (p->untold)
        buf_printf(&s->out, "mpiexec_lite: (%lu messages lost)\n", p->untold);
    p->untold = 0;
    end_open_line(s);
    buf_printf(&s->out, "mpiexec_lite: %s\n", line);
    if (s->out.failed) {                 /* no memory: a message is worth a direct write */
        dprintf(STDERR_FILENO, "mpiexec_lite: %s\n", line);
        on_failed(p, s, ENOMEM);
    }
    sink_flush(s);
}
