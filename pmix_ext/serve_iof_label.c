/* serve_iof_label.c - lines that say whose they are; see serve_iof.h.
 *
 * What ranks write comes in pieces that begin and end anywhere.  So it is kept, of each
 * stream of the job, whether it is in the middle of a line: a label stands where a line
 * begins, and nowhere else.  Bytes of the output are not changed. */
#include "pmix_ext/serve_iof.h"

#include <stdlib.h>
#include <string.h>

bool pull_labels(struct pull *p, int size)
{
    if (!p->shows.tag && !p->shows.rank && !p->shows.time)
        return true;
    p->nstreams = 2 * (size_t)size;
    p->in_line = calloc(p->nstreams / 8 + 1, 1);
    return p->in_line != NULL;
}

/* "2026-11-24T18:00:00Z [job,3]<stdout>: ", or the parts of it that are asked for. */
static void make_label(const struct pull *p, uint32_t rank, bool errors, struct buf *out)
{
    if (p->shows.time)
        ext_add_time(out, (time_t)p->session->ext->ops.now(p->session->ext->host));
    if (p->shows.tag)
        buf_printf(out, "[%s,%u]", p->nspace, rank);
    else if (p->shows.rank)
        buf_printf(out, "[%u]", rank);
    buf_str(out, errors ? "<stderr>: " : "<stdout>: ");
}

void pull_label(struct pull *p, uint32_t rank, bool errors, const char *data, size_t len,
                struct buf *out)
{
    size_t stream = 2 * (size_t)rank + errors;
    struct buf label = BUF_INIT;
    bool in_line = false;

    if (stream < p->nstreams)
        in_line = p->in_line[stream / 8] & 1 << stream % 8;
    make_label(p, rank, errors, &label);
    while (len) {
        const char *end = memchr(data, '\n', len);
        size_t n = end ? (size_t)(end - data) + 1 : len;

        if (!in_line)
            buf_add(out, buf_bytes(&label), label.len);
        buf_add(out, data, n);
        in_line = !end;
        data += n;
        len -= n;
    }
    out->failed |= label.failed;
    buf_clear(&label);
    if (stream >= p->nstreams)
        return;
    p->in_line[stream / 8] &= (unsigned char)~(1u << stream % 8);
    p->in_line[stream / 8] |= (unsigned char)((unsigned)in_line << stream % 8);
}
