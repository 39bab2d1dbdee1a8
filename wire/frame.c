/* frame.c - see frame.h
 *
 * find_end() looks at the bytes from the start of a frame and says where the
 * frame ends, if that can be told yet.  Everything else is moving bytes. */
#include "wire/frame.h"

#include "wire/limits.h"

#include <string.h>

#define LENGTH_FIELD 6
#define SHORTEST     5       /* a body: "cmd=;" */
#define MISCOUNT     6       /* an MPICH 4.0 client counts as many bytes too many, in all
                                its messages: what happens to lie behind them, mostly the
                                NUL of its text first, else of an older message */

void framer_init(struct framer *f, size_t max)
{
    *f = (struct framer){ .wire = WIRE_1, .max = max, .held = BUF_INIT };
}

void framer_clear(struct framer *f)
{
    buf_clear(&f->held);
}

static bool starts(const char *s, size_t len, const char *with)
{
    size_t n = strlen(with);

    return !memcmp(s, with, len < n ? len : n);
}

/* What a stream holds that is not PMI, shown in an error: its first bytes as they
 * are, for whoever shows them to escape. */
static int garbage(struct framer *f, const char *s, size_t len, const char *want,
                   struct err *e)
{
    char found[24 + 1];
    size_t n = len < 24 ? len : 24;

    for (size_t i = 0; i < n; i++)
        found[i] = s[i] ? s[i] : '?';
    found[n] = '\0';
    return err_set(e, ERR_INVALID_ARG, "byte %llu: %s expected, found \"%s\"", f->offset,
                   want, found);
}

static int too_long(struct framer *f, const char *what, size_t max, struct err *e)
{
    return err_set(e, ERR_LENGTH, "byte %llu: %s longer than %zu bytes", f->offset, what,
                   max);
}

/* End of one line starting at s, its newline included; 0 if not there yet. */
static int line_end(struct framer *f, const char *s, size_t len, size_t from, size_t *end,
                    struct err *e)
{
    const char *nl = memchr(s + from, '\n', len - from);
    size_t have = nl ? (size_t)(nl - s) : len;

    if (have > f->max)
        return too_long(f, "a line", f->max, e);
    *end = nl ? have + 1 : 0;
    return 0;
}

/* A block ends with a line that is just "endcmd". */
static int block_end(struct framer *f, const char *s, size_t len, size_t from, size_t *end,
                     struct err *e)
{
    static const char last[] = "\nendcmd\n";
    const char *at = memmem(s + from, len - from, last, sizeof last - 1);
    size_t have = at ? (size_t)(at - s) + sizeof last - 1 : len;

    if (have > LIMIT_BLOCK)
        return too_long(f, "an mcmd block", LIMIT_BLOCK, e);
    *end = at ? have : 0;
    return 0;
}

/* Decimal digits with blanks on either side; every other byte is an error. */
static int body_end(struct framer *f, const char *s, size_t len, size_t *end, struct err *e)
{
    size_t i = 0, n = 0, have = len < LENGTH_FIELD ? len : LENGTH_FIELD;

    while (i < have && s[i] == ' ')
        i++;
    for (; i < have && s[i] >= '0' && s[i] <= '9'; i++)
        n = n * 10 + (size_t)(s[i] - '0');
    while (i < have && s[i] == ' ')
        i++;
    if (i < have)
        return garbage(f, s, len, "a six-character length", e);
    if (have < LENGTH_FIELD)
        return 0;
    if (n < SHORTEST)
        return err_set(e, ERR_LENGTH, "byte %llu: frame length %zu is too short for "
                       "a message", f->offset, n);
    if (n > f->max)
        return err_set(e, ERR_LENGTH, "byte %llu: frame length %zu, at most %zu",
                       f->offset, n, f->max);
    *end = LENGTH_FIELD + n;
    return 0;
}

/* Where the frame that starts at s ends: *end, 0 if more input is needed, or -1.
 * Nothing that ends a frame lies before s + from. */
static int find_end(struct framer *f, const char *s, size_t len, size_t from,
                    enum frame_kind *kind, size_t *end, struct err *e)
{
    *end = 0;
    if (f->wire == WIRE_2 && !starts(s, len, "cmd=init")) {
        *kind = FRAME_BODY;
        return body_end(f, s, len, end, e);
    }
    /* A PMI-2 client that initialises anew opens with a line again. */
    if (starts(s, len, "cmd=")) {
        *kind = FRAME_LINE;
        return line_end(f, s, len, from, end, e);
    }
    if (starts(s, len, "mcmd=")) {
        *kind = FRAME_BLOCK;
        return block_end(f, s, len, from > 8 ? from - 8 : 0, end, e);
    }
    return garbage(f, s, len, "a PMI command (cmd=...)", e);
}

/* Add the ';' that is missing at the end of a body.  There is no room for it where
 * a body lies in the input, so that one is copied. */
static int close_body(struct framer *f, struct frame *fr)
{
    if (!f->handed) {
        buf_add(&f->held, fr->text, fr->len);
        buf_char(&f->held, ';');
        if (f->held.failed)
            return -1;
        f->handed = true;
        fr->text = buf_bytes(&f->held);
    } else {
        buf_char(&f->held, ';');
        if (f->held.failed)
            return -1;
        fr->raw = buf_bytes(&f->held);       /* it may have moved */
        fr->text = buf_bytes(&f->held) + LENGTH_FIELD;
    }
    fr->len++;
    return 0;
}

/* How much of a body is the message.  A NUL where the excess would begin gives a client
 * that miscounts away. */
static size_t counted_right(struct framer *f, const char *text, size_t len)
{
    const char *nul = memchr(text, '\0', len);
    size_t right = len > MISCOUNT ? len - MISCOUNT : 0;

    if (right >= SHORTEST && text[right - 1] == ';' && (f->miscounts || nul == text + right)) {
        f->miscounts = true;
        return right;
    }
    if (nul && nul - text >= SHORTEST && nul[-1] == ';' && text + len - nul <= MISCOUNT)
        return (size_t)(nul - text);
    return len;
}

static int hand_out(struct framer *f, char *s, size_t end, enum frame_kind kind,
                    struct frame *out, struct err *e)
{
    char *nul;

    *out = (struct frame){ kind, s, end - 1, s, end };
    if (kind == FRAME_BODY) {
        out->text += LENGTH_FIELD;
        out->len = counted_right(f, out->text, end - LENGTH_FIELD);
    }
    nul = memchr(out->text, '\0', out->len);
    if (nul)
        return err_set(e, ERR_INVALID_VAL, "byte %llu: NUL in a message",
                       f->offset + (size_t)(nul - s));
    if (kind == FRAME_BODY && out->text[out->len - 1] != ';' && close_body(f, out) < 0)
        return err_set(e, ERR_NOMEM, "no memory for a frame");
    f->offset += end;
    return 1;
}

/* Continue the frame that began in an earlier call. */
static int from_held(struct framer *f, char **data, size_t *len, struct frame *out,
                     struct err *e)
{
    while (*len) {
        enum frame_kind kind;
        size_t end, had = f->held.len, piece;

        /* Up to what can end the frame: its length once that is known, or the
         * next newline; so no byte of the frame after it is copied. */
        if (f->wire == WIRE_2 && buf_bytes(&f->held)[0] != 'c') {
            if (find_end(f, buf_bytes(&f->held), had, 0, &kind, &end, e) < 0)
                return -1;
            piece = end ? end - had : LENGTH_FIELD - had;
        } else {
            char *nl = memchr(*data, '\n', *len);

            piece = nl ? (size_t)(nl - *data) + 1 : *len;
        }
        if (piece > *len)
            piece = *len;
        buf_add(&f->held, *data, piece);
        if (f->held.failed)
            return err_set(e, ERR_NOMEM, "no memory for a frame");
        *data += piece;
        *len -= piece;
        if (find_end(f, buf_bytes(&f->held), f->held.len, f->scanned, &kind, &end, e) < 0)
            return -1;
        f->scanned = f->held.len;
        if (end && end <= f->held.len) {
            f->handed = true;
            return hand_out(f, buf_bytes(&f->held), end, kind, out, e);
        }
    }
    return 0;
}

static int from_input(struct framer *f, char **data, size_t *len, struct frame *out,
                      struct err *e)
{
    enum frame_kind kind;
    size_t end;

    if (!*len)
        return 0;
    if (find_end(f, *data, *len, 0, &kind, &end, e) < 0)
        return -1;
    if (end && end <= *len) {
        char *s = *data;

        *data += end;
        *len -= end;
        return hand_out(f, s, end, kind, out, e);
    }
    buf_add(&f->held, *data, *len);
    if (f->held.failed)
        return err_set(e, ERR_NOMEM, "no memory for a frame");
    f->scanned = *len;
    *data += *len;
    *len = 0;
    return 0;
}

static int payload(struct framer *f, char **data, size_t *len, struct frame *out)
{
    size_t n = f->payload < *len ? f->payload : *len;

    if (!n)
        return 0;
    *out = (struct frame){ FRAME_PAYLOAD, *data, n, *data, n };
    *data += n;
    *len -= n;
    f->payload -= n;
    f->offset += n;
    return 1;
}

int framer_next(struct framer *f, char **data, size_t *len, struct frame *out,
                struct err *e)
{
    if (f->handed) {
        f->handed = false;
        f->scanned = 0;
        buf_consume(&f->held, f->held.len);
    }
    if (f->payload)
        return payload(f, data, len, out);
    return f->held.len ? from_held(f, data, len, out, e) : from_input(f, data, len, out, e);
}
