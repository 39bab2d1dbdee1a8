/* iof.c - see iof.h */
#include "mpiexec_lite/iof.h"

#include <string.h>

/* A line, or a piece of one, of f goes to out. */
static void piece(struct iof *f, struct iof_line *line, const char *label, const char *data,
                  size_t len, struct buf *out)
{
    if (label && line->open && line->open != f)
        buf_char(out, '\n');
    if (label && line->open != f)
        buf_str(out, label);
    buf_add(out, data, len);
    line->open = len && data[len - 1] == '\n' ? NULL : f;
}

void iof_flush(struct iof *f, struct iof_line *line, const char *label, struct buf *out)
{
    if (!f->held.len)
        return;
    piece(f, line, label, buf_bytes(&f->held), f->held.len, out);
    buf_consume(&f->held, f->held.len);
}

void iof_hold(struct iof *f, struct iof_line *line, const char *label, const char *data,
              size_t len, struct buf *out)
{
    buf_add(&f->held, data, len);
    if (f->held.failed)
        out->failed = true;
    if (f->held.len >= IOF_LINE)
        iof_flush(f, line, label, out);
}

/* The end of the line that was begun earlier. */
static size_t end_held(struct iof *f, struct iof_line *line, const char *label,
                       const char *data, size_t len, struct buf *out)
{
    const char *nl = memchr(data, '\n', len);
    size_t n = nl ? (size_t)(nl - data) + 1 : len;

    iof_hold(f, line, label, data, n, out);
    if (nl)
        iof_flush(f, line, label, out);
    return n;
}

void iof_feed(struct iof *f, struct iof_line *line, const char *label, const char *data,
              size_t len, struct buf *out)
{
    const char *end = data + len, *nl;

    if (f->held.len)
        data += end_held(f, line, label, data, len, out);
    if (!label && (nl = memrchr(data, '\n', (size_t)(end - data)))) {
        piece(f, line, label, data, (size_t)(nl + 1 - data), out);
        data = nl + 1;
    }
    while (label && (nl = memchr(data, '\n', (size_t)(end - data)))) {
        piece(f, line, label, data, (size_t)(nl + 1 - data), out);
        data = nl + 1;
    }
    if (data < end)
        iof_hold(f, line, label, data, (size_t)(end - data), out);
}

size_t iof_whole(const struct iof *f, const char *data, size_t len)
{
    const char *nl = f->held.len ? NULL : memrchr(data, '\n', len);

    return nl ? (size_t)(nl + 1 - data) : 0;
}
