/* passing.c - see passing.h */
#include "mpiexec_lite/passing.h"

#include "wire/limits.h"

#include <string.h>

enum { LENGTH = 6, OPENING = 256 };      /* bytes of a length field; of the opening line at most */

void passing_clear(struct passing *p)
{
    buf_clear(&p->held);
}

/* Hold n bytes of this frame, as far as they have come; whether they have. */
static bool hold(struct passing *p, size_t n, const char **data, size_t *len)
{
    size_t more = n > p->held.len ? n - p->held.len : 0;

    if (more > *len)
        more = *len;
    buf_add(&p->held, *data, more);
    *data += more;
    *len -= more;
    return p->held.len >= n;
}

static bool hand_out(struct passing *p, struct passed *out)
{
    *out = (struct passed){ .data = buf_bytes(&p->held), .len = p->held.len };
    p->handed = true;
    return true;
}

/* Both ends open with one line. */
static bool take_opening(struct passing *p, const char **data, size_t *len, struct passed *out)
{
    size_t room = OPENING - p->held.len, most = room < *len ? room : *len;
    const char *end = memchr(*data, '\n', most);

    hold(p, p->held.len + (end ? (size_t)(end - *data) + 1 : most), data, len);
    if (p->held.failed)
        return false;
    p->opened = end;
    p->uncut = !end && p->held.len == OPENING;
    return (p->opened || p->uncut) && hand_out(p, out);
}

/* The body's length; -1: that is none. */
static long body_length(const char *field)
{
    long n = 0;
    int i = 0;

    while (i < LENGTH - 1 && field[i] == ' ')
        i++;
    for (; i < LENGTH; i++) {
        if (field[i] < '0' || field[i] > '9')
            return -1;
        n = n * 10 + (field[i] - '0');
    }
    return n;
}

static bool take_frame(struct passing *p, const char **data, size_t *len, struct passed *out)
{
    size_t whole;
    long body;

    if (!hold(p, LENGTH, data, len))
        return false;
    body = body_length(buf_bytes(&p->held));
    if (body < 0) {
        p->uncut = true;
        return hand_out(p, out);
    }
    whole = LENGTH + (size_t)body;
    if (!hold(p, whole < PASSING_HELD ? whole : PASSING_HELD, data, len))
        return false;
    p->rest = whole - p->held.len;
    hand_out(p, out);
    if (!p->rest) {
        out->text = out->data + LENGTH;
        out->text_len = (size_t)body;
    }
    return true;
}

bool passing_next(struct passing *p, const char **data, size_t *len, struct passed *out)
{
    size_t n = p->rest && p->rest < *len && !p->uncut ? p->rest : *len;

    if (p->handed)
        buf_reset(&p->held);
    p->handed = false;
    if (!*len || p->held.failed)
        return false;
    if (!p->rest && !p->uncut)
        return p->opened ? take_frame(p, data, len, out) : take_opening(p, data, len, out);
    *out = (struct passed){ .data = *data, .len = n };
    p->rest -= p->rest ? n : 0;
    *data += n;
    *len -= n;
    return true;
}

void passing_payload(struct passing *p, size_t n)
{
    p->rest = n;
}

bool passing_between(const struct passing *p)
{
    return p->opened && !p->uncut && !p->rest && (p->handed || !p->held.len);
}
