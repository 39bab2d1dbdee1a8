/* seal.h - a byte stream that only its two ends can read or change.
 *
 * What is sent is cut into records:
 *
 *     length     4 bytes, big-endian: bytes that follow, 17 to 65552
 *     sealed     1 to 65536 bytes of the stream, encrypted, and a tag of 16
 *
 * ChaCha20-Poly1305 (RFC 8439), one key per direction; the nonce is four zero
 * bytes and the record's number from 0 on, 8 bytes little-endian; the length is
 * covered by the tag.  So a record that was changed, repeated, left out, moved or
 * sent back to where it came from does not open, and that ends the stream.  Only
 * a cut at its end cannot be seen here: whoever uses it must take an end that was
 * not announced inside for a loss.
 *
 * Pure: no I/O, no clock, no random bytes.  One struct per stream, not
 * thread-safe.  A key must never be given to two streams: nonces start anew. */
#ifndef WIRE_SEAL_H
#define WIRE_SEAL_H

#include "wire/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SEAL_KEY = 32,                       /* bytes of a key */
    SEAL_PLAIN = 65536,                  /* most bytes of the stream in a record */
    SEAL_TAG = 16,
    SEAL_HEAD = 4,
    SEAL_RECORD = SEAL_HEAD + SEAL_PLAIN + SEAL_TAG      /* longest record */
};

struct seal_keys {
    unsigned char send[SEAL_KEY], recv[SEAL_KEY];
};

struct seal {
    struct seal_keys keys;
    uint64_t   sent, received;           /* records so far */
    struct buf held;                     /* owned: beginning of an incomplete record */
    bool       handed;                   /* the last plaintext lies in held: drop it first */
    bool       broken;                   /* a record did not open: nothing does any more */
};

/* The keys of two ends that share a secret: K is its SHA-256, a key HMAC-SHA-256
 * under K of the direction's name.  One end is `first`, the other is not. */
void seal_derive(struct seal_keys *keys, const void *secret, size_t len, bool first);

/* Copies the keys (the caller wipes its own).  Cannot fail. */
void seal_init(struct seal *s, const struct seal_keys *keys);
/* Wipe keys and plaintext and free.  Safe twice, and on a zeroed struct. */
void seal_clear(struct seal *s);

/* Append data, sealed, to out.  Any length; 0 adds nothing.  0, or -1: no memory
 * (out->failed), nothing was added and the stream is as it was; or the stream is
 * broken or cleared. */
int seal_wrap(struct seal *s, const void *data, size_t len, struct buf *out);

/* Take the next record from *data, *len, which are moved past what was used.  A
 * record that lies whole in the caller's bytes is opened where it lies, so these
 * must be writable and are changed.
 * 1: *plain, *plain_len hold what it says (1 byte or more), valid until the next
 * call.  0: all input is used, more is needed; at most SEAL_RECORD bytes are kept.
 * -1: e says why, the stream cannot be continued (and every later call says -1). */
int seal_unwrap(struct seal *s, char **data, size_t *len, char **plain,
                size_t *plain_len, struct err *e);

/* Is the stream in the middle of a record?  Then its end here is a cut. */
bool seal_pending(const struct seal *s);

/* Equal?  Takes the same time wherever they differ. */
bool seal_equal(const void *a, const void *b, size_t n);
/* Zeroes that no compiler leaves out. */
void seal_wipe(void *p, size_t n);
/* Empty b, wiping what it held; keeps the memory. */
void seal_wipe_buf(struct buf *b);

#endif
