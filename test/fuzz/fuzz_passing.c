/* fuzz_passing.c - what passes is what came, whatever it is and in whatever pieces; whole frames are
 * the same ones then, and where one may come between is never within another. */
#include "test/fuzz/fuzz.h"

#include "mpiexec_lite/passing.h"

#include <string.h>

/* In pieces of `piece` bytes: all that passes, into out; each frame's end, into ends. */
static void pass(const char *data, size_t size, size_t piece, struct buf *out, struct buf *ends)
{
    struct passing p = { 0 };
    struct passed x;

    while (size) {
        const char *at = data;
        size_t len = size < piece ? size : piece, n = len;

        while (passing_next(&p, &at, &len, &x)) {
            MUST(x.len && (!x.text || (x.text == x.data + 6 && x.len == x.text_len + 6)));
            buf_add(out, x.data, x.len);
            if (x.text)
                buf_printf(ends, "%zu ", out->len);
            if (x.text && x.text_len > 4 && *x.text == 'p')      /* raw bytes behind it */
                passing_payload(&p, (unsigned char)x.text[1]);
            MUST(p.held.len <= PASSING_HELD && !(x.text && p.uncut));
        }
        MUST(!len);
        data += n;
        size -= n;
    }
    MUST(!passing_between(&p) || !p.held.len);
    if (p.held.len)
        buf_add(out, buf_bytes(&p.held), p.held.len);
    passing_clear(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf out[2] = { BUF_INIT, BUF_INIT }, ends[2] = { BUF_INIT, BUF_INIT };
    size_t piece = size ? 1 + data[0] % 64 : 1;

    pass((const char *)data, size, size + 1, &out[0], &ends[0]);
    pass((const char *)data, size, piece, &out[1], &ends[1]);
    for (int i = 0; i < 2; i++)
        MUST(out[i].len == size && (!size || !memcmp(buf_bytes(&out[i]), data, size)));
    MUST(ends[0].len == ends[1].len);
    MUST(!ends[0].len || !memcmp(buf_bytes(&ends[0]), buf_bytes(&ends[1]), ends[0].len));
    for (int i = 0; i < 2; i++) {
        buf_clear(&out[i]);
        buf_clear(&ends[i]);
    }
    return 0;
}
