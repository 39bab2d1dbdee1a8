/* fuzz_frame.c - a stream gives the same frames however it is cut into pieces.
 *
 * Input: a byte of settings (bit 0: starts as PMI-2; bit 1: frames of at most 48
 * bytes), a byte n, n % 8 sizes of pieces, used in turn, then the stream.  It is
 * cut as a whole, in those pieces, and byte by byte: frames, the place where it
 * breaks and the code of the error must agree, and no more may be held than
 * the limits and one piece. */
#include "test/fuzz/fuzz.h"

#include "wire/frame.h"
#include "wire/limits.h"

#include <string.h>

struct outcome {
    struct buf frames, raw;
    int rc;
    enum err_code code;
    unsigned long long offset;
};

/* The framing changes behind an opening line; a frame with "payload=N" is
 * followed by as many bytes. */
static void react(struct framer *f, const struct frame *fr)
{
    const char *at;

    if (fr->kind == FRAME_LINE && memmem(fr->text, fr->len, "pmi_version=2", 13))
        f->wire = WIRE_2;
    at = memmem(fr->text, fr->len, "payload=", 8);
    if (fr->kind == FRAME_BODY && at && at[8] >= '0' && at[8] <= '9')
        framer_expect_payload(f, (size_t)(at[8] - '0') * 3);
}

static void note(struct outcome *o, const struct frame *fr)
{
    if (fr->kind != FRAME_PAYLOAD) {         /* its pieces depend on the cuts */
        buf_char(&o->frames, '\n');
        buf_char(&o->frames, "LBF"[fr->kind]);
    }
    buf_add(&o->frames, fr->text, fr->len);
    buf_add(&o->raw, fr->raw, fr->raw_len);
    if (fr->kind == FRAME_BODY)
        MUST(fr->len >= 5 && fr->text[fr->len - 1] == ';');
    if (fr->kind != FRAME_PAYLOAD)
        MUST(!memchr(fr->text, '\0', fr->len));
}

static void run(const uint8_t *data, size_t size, const uint8_t *sizes, size_t nsizes,
                int settings, struct outcome *o)
{
    struct framer f;
    struct err e = { 0 };

    *o = (struct outcome){ .frames = BUF_INIT, .raw = BUF_INIT };
    framer_init(&f, settings & 2 ? 48 : LIMIT_FRAME_RANK);
    f.wire = settings & 1 ? WIRE_2 : WIRE_1;
    for (size_t at = 0, k = 0, n; o->rc == 0 && at < size; at += n, k++) {
        char *piece, *p;
        size_t left;
        struct frame fr;

        n = nsizes ? (size_t)sizes[k % nsizes] + 1 : size;
        n = n < size - at ? n : size - at;
        left = n;
        p = piece = malloc(n);
        MUST(piece);
        memcpy(piece, data + at, n);
        while ((o->rc = framer_next(&f, &p, &left, &fr, &e)) > 0) {
            note(o, &fr);
            react(&f, &fr);
            memset(fr.text, 'x', fr.len + (fr.kind == FRAME_LINE || fr.kind == FRAME_BLOCK));
        }
        MUST(o->rc < 0 || left == 0);
        MUST(f.held.cap <= 2 * ((size_t)LIMIT_BLOCK + n) + 64);
        MUST(f.held.len <= (size_t)LIMIT_BLOCK + n);
        free(piece);
    }
    o->code = e.code;
    o->offset = f.offset;
    MUST((o->rc < 0) == (e.code != ERR_NONE));
    framer_clear(&f);
}

static void same(const struct outcome *a, const struct outcome *b)
{
    MUST(a->rc == b->rc && a->code == b->code && a->offset == b->offset);
    MUST(a->frames.len == b->frames.len && a->raw.len == b->raw.len);
    MUST(!a->frames.len || !memcmp(buf_bytes(&a->frames), buf_bytes(&b->frames), a->frames.len));
    MUST(!a->raw.len || !memcmp(buf_bytes(&a->raw), buf_bytes(&b->raw), a->raw.len));
}

static void clear(struct outcome *o)
{
    buf_clear(&o->frames);
    buf_clear(&o->raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t one = 0;
    struct outcome whole, cut, bytes;
    size_t nsizes;
    const uint8_t *sizes;
    int settings;

    if (size < 2)
        return 0;
    settings = data[0];
    nsizes = data[1] % 8;
    sizes = data + 2;
    if (size < 2 + nsizes)
        return 0;
    data += 2 + nsizes;
    size -= 2 + nsizes;
    run(data, size, NULL, 0, settings, &whole);
    run(data, size, sizes, nsizes, settings, &cut);
    run(data, size, &one, 1, settings, &bytes);
    same(&whole, &cut);
    same(&whole, &bytes);
    /* What came out is what went in. */
    MUST(whole.raw.len <= size && (!whole.raw.len ||
                                   !memcmp(buf_bytes(&whole.raw), data, whole.raw.len)));
    clear(&whole);
    clear(&cut);
    clear(&bytes);
    return 0;
}
