/* seal.c - see seal.h; the only file that knows libsodium. */
#include "wire/seal.h"

#include <sodium.h>
#include <string.h>

_Static_assert(SEAL_KEY == crypto_aead_chacha20poly1305_ietf_KEYBYTES, "key");
_Static_assert(SEAL_TAG == crypto_aead_chacha20poly1305_ietf_ABYTES, "tag");
_Static_assert(SEAL_KEY == crypto_auth_hmacsha256_BYTES, "derived key");
_Static_assert(crypto_hash_sha256_BYTES == crypto_auth_hmacsha256_KEYBYTES, "K");

enum { NONCE = crypto_aead_chacha20poly1305_ietf_NPUBBYTES, NONCE_ZEROES = NONCE - 8 };

static void make_key(unsigned char key[SEAL_KEY], const unsigned char *k, const char *name)
{
    crypto_auth_hmacsha256(key, (const unsigned char *)name, strlen(name), k);
}

void seal_derive(struct seal_keys *keys, const void *secret, size_t len, bool first)
{
    unsigned char k[crypto_hash_sha256_BYTES];

    crypto_hash_sha256(k, secret, len);
    make_key(first ? keys->send : keys->recv, k, "mpiexec_lite 1: first to second");
    make_key(first ? keys->recv : keys->send, k, "mpiexec_lite 1: second to first");
    sodium_memzero(k, sizeof k);
}

void seal_init(struct seal *s, const struct seal_keys *keys)
{
    /* It only picks the fastest code for this processor and readies the random
     * generator, which is not used here: without it everything works, slower. */
    if (sodium_init() < 0)
        (void)0;
    *s = (struct seal){ .keys = *keys, .held = BUF_INIT };
}

void seal_clear(struct seal *s)
{
    seal_wipe_buf(&s->held);
    buf_clear(&s->held);
    sodium_memzero(s, sizeof *s);
    s->broken = true;                    /* nothing may be sealed with a key of zeroes */
}

/* --- records ------------------------------------------------------------ */

static void put_nonce(unsigned char nonce[NONCE], uint64_t number)
{
    memset(nonce, 0, NONCE_ZEROES);
    for (int i = 0; i < 8; i++)
        nonce[NONCE_ZEROES + i] = (unsigned char)(number >> 8 * i);
}

static void put_length(unsigned char head[SEAL_HEAD], size_t n)
{
    for (int i = 0; i < SEAL_HEAD; i++)
        head[i] = (unsigned char)(n >> 8 * (SEAL_HEAD - 1 - i));
}

static size_t get_length(const unsigned char head[SEAL_HEAD])
{
    return (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
}

/* One record of n plain bytes.  Its size. */
static size_t write_record(struct seal *s, unsigned char *to, const unsigned char *from,
                           size_t n)
{
    unsigned char nonce[NONCE];

    put_length(to, n + SEAL_TAG);
    put_nonce(nonce, s->sent++);
    crypto_aead_chacha20poly1305_ietf_encrypt(to + SEAL_HEAD, NULL, from, n, to, SEAL_HEAD,
                                              NULL, nonce, s->keys.send);
    return SEAL_HEAD + n + SEAL_TAG;
}

int seal_wrap(struct seal *s, const void *data, size_t len, struct buf *out)
{
    size_t records = len / SEAL_PLAIN + (len % SEAL_PLAIN != 0), room;
    const unsigned char *from = data;
    unsigned char *to;

    if (s->broken)
        return -1;
    if (!len)
        return 0;
    if (__builtin_mul_overflow(records, SEAL_HEAD + SEAL_TAG, &room) ||
        __builtin_add_overflow(room, len, &room))
        room = SIZE_MAX;                 /* buf_room refuses it */
    to = (unsigned char *)buf_room(out, room);   /* all at once: or nothing is sealed */
    if (!to)
        return -1;
    while (len) {
        size_t n = len < SEAL_PLAIN ? len : SEAL_PLAIN;

        to += write_record(s, to, from, n);
        from += n;
        len -= n;
    }
    buf_commit(out, room);
    return 0;
}

static int fail(struct seal *s, struct err *e, enum err_code code, const char *why)
{
    s->broken = true;
    seal_wipe_buf(&s->held);
    return err_set(e, code, "sealed record %llu: %s", (unsigned long long)s->received, why);
}

/* The whole size of the record that begins here, or 0 if it cannot be one. */
static size_t record_size(const char *head)
{
    size_t n = get_length((const unsigned char *)head);

    return n > SEAL_TAG && n <= SEAL_PLAIN + SEAL_TAG ? SEAL_HEAD + n : 0;
}

/* Open a whole record in place. */
static int open_record(struct seal *s, char *record, size_t size, char **plain,
                       size_t *plain_len, struct err *e)
{
    unsigned char *head = (unsigned char *)record, *sealed = head + SEAL_HEAD;
    unsigned char nonce[NONCE];

    put_nonce(nonce, s->received);
    if (crypto_aead_chacha20poly1305_ietf_decrypt(sealed, NULL, NULL, sealed,
                                                  size - SEAL_HEAD, head, SEAL_HEAD, nonce,
                                                  s->keys.recv) < 0)
        return fail(s, e, ERR_INVALID_VAL, "forged or damaged");
    s->received++;
    *plain = record + SEAL_HEAD;
    *plain_len = size - SEAL_HEAD - SEAL_TAG;
    return 1;
}

/* Fill held up to want bytes.  1 when it has them, 0 when the input ended before. */
static int gather(struct seal *s, char **data, size_t *len, size_t want, struct err *e)
{
    size_t n = want > s->held.len ? want - s->held.len : 0;

    if (n > *len)
        n = *len;
    if (n)
        buf_add(&s->held, *data, n);
    if (s->held.failed)
        return fail(s, e, ERR_NOMEM, "out of memory");
    *data += n;
    *len -= n;
    return s->held.len >= want;
}

/* A record that does not lie whole in the input, or whose beginning is held. */
static int unwrap_held(struct seal *s, char **data, size_t *len, char **plain,
                       size_t *plain_len, struct err *e)
{
    size_t size;
    int rc = gather(s, data, len, SEAL_HEAD, e);

    if (rc <= 0)
        return rc;
    size = record_size(buf_bytes(&s->held));
    if (!size)
        return fail(s, e, ERR_LENGTH, "impossible length");
    rc = gather(s, data, len, size, e);
    if (rc <= 0)
        return rc;
    s->handed = true;
    return open_record(s, buf_bytes(&s->held), size, plain, plain_len, e);
}

int seal_unwrap(struct seal *s, char **data, size_t *len, char **plain,
                size_t *plain_len, struct err *e)
{
    char *record = *data;
    size_t size;

    if (s->broken)
        return err_set(e, ERR_INVALID_VAL, "the sealed stream is broken");
    if (s->handed)
        buf_reset(&s->held);
    s->handed = false;
    if (!*len)
        return 0;
    if (s->held.len || *len < SEAL_HEAD)
        return unwrap_held(s, data, len, plain, plain_len, e);
    size = record_size(record);
    if (!size)
        return fail(s, e, ERR_LENGTH, "impossible length");
    if (size > *len)
        return unwrap_held(s, data, len, plain, plain_len, e);
    *data += size;
    *len -= size;
    return open_record(s, record, size, plain, plain_len, e);
}

bool seal_pending(const struct seal *s)
{
    return s->held.len && !s->handed;
}

/* --- secrets ------------------------------------------------------------ */

bool seal_equal(const void *a, const void *b, size_t n)
{
    return sodium_memcmp(a, b, n) == 0;
}

void seal_wipe(void *p, size_t n)
{
    if (n)
        sodium_memzero(p, n);
}

void seal_wipe_buf(struct buf *b)
{
    seal_wipe(b->data, b->cap);
    buf_reset(b);
}
