/* test_seal.c - wire/seal: what was sealed opens once, in order, unchanged, or not
 * at all. */
#include "wire/seal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "test/unit/fake_memory.h"

static struct seal a, b;         /* the two ends of a stream */
static struct buf wire;          /* what a has sent */

static void set_up(void)
{
    struct seal_keys ka, kb;

    seal_derive(&ka, "secret", 6, true);
    seal_derive(&kb, "secret", 6, false);
    seal_init(&a, &ka);
    seal_init(&b, &kb);
    wire = (struct buf)BUF_INIT;
}

static void tear_down(void)
{
    seal_clear(&a);
    seal_clear(&b);
    buf_clear(&wire);
}

/* Open a copy of data, in pieces of `piece` bytes; what it says is added to said.
 * 0 at its end, or -1. */
static int open_pieces(struct seal *s, const void *data, size_t len, size_t piece,
                       struct buf *said, struct err *e)
{
    int rc = 0;

    for (size_t at = 0; at < len && rc == 0; at += piece) {
        size_t n = len - at < piece ? len - at : piece, plain_len;
        char *copy = malloc(n), *in = copy, *plain;   /* ASan sees a byte too far */

        assert_non_null(copy);
        memcpy(copy, (const char *)data + at, n);
        while ((rc = seal_unwrap(s, &in, &n, &plain, &plain_len, e)) > 0) {
            assert_true(plain_len > 0 && plain_len <= SEAL_PLAIN);
            buf_add(said, plain, plain_len);
        }
        if (rc == 0)
            assert_int_equal(n, 0);
        free(copy);
    }
    return rc;
}

static char *make_bytes(size_t len)
{
    char *p = malloc(len ? len : 1);

    assert_non_null(p);
    for (size_t i = 0; i < len; i++)
        p[i] = (char)(i * 7 + (i >> 8));
    return p;
}

static void test_there(void **state)
{
    static const size_t lens[] = { 1, 2, 100, SEAL_PLAIN - 1, SEAL_PLAIN, SEAL_PLAIN + 1,
                                   3 * SEAL_PLAIN, 1000003 };
    static const size_t pieces[] = { 1 << 30, 1, 3, SEAL_HEAD, 1000, SEAL_RECORD,
                                     SEAL_RECORD + 1 };
    struct err e = { 0 };

    (void)state;
    set_up();
    assert_int_equal(seal_wrap(&a, NULL, 0, &wire), 0);
    assert_int_equal(wire.len, 0);
    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++)
        for (size_t j = 0; j < sizeof pieces / sizeof *pieces; j++) {
            size_t n = lens[i], records = (n + SEAL_PLAIN - 1) / SEAL_PLAIN;
            struct buf said = BUF_INIT;
            char *data = make_bytes(n);

            assert_int_equal(seal_wrap(&a, data, n, &wire), 0);
            assert_int_equal(wire.len, n + records * (SEAL_HEAD + SEAL_TAG));
            assert_int_equal(open_pieces(&b, buf_bytes(&wire), wire.len, pieces[j], &said, &e), 0);
            assert_false(seal_pending(&b));
            assert_int_equal(said.len, n);
            assert_memory_equal(buf_bytes(&said), data, n);
            buf_consume(&wire, wire.len);
            buf_clear(&said);
            free(data);
        }
    tear_down();
}

/* Both ways at once, appended to what waits already; keys differ by direction. */
static void test_both_ways(void **state)
{
    struct buf back = BUF_INIT, said = BUF_INIT;
    struct err e = { 0 };

    (void)state;
    set_up();
    assert_memory_not_equal(a.keys.send, a.keys.recv, SEAL_KEY);
    assert_memory_equal(a.keys.send, b.keys.recv, SEAL_KEY);
    assert_memory_equal(a.keys.recv, b.keys.send, SEAL_KEY);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(seal_wrap(&a, "to b;", 5, &wire), 0);
        assert_int_equal(seal_wrap(&b, "to a;", 5, &back), 0);
    }
    assert_int_equal(open_pieces(&b, buf_bytes(&wire), wire.len, 7, &said, &e), 0);
    assert_int_equal(open_pieces(&a, buf_bytes(&back), back.len, 9, &said, &e), 0);
    assert_string_equal(buf_bytes(&said), "to b;to b;to b;to a;to a;to a;");
    assert_null(memmem(buf_bytes(&wire), wire.len, "to b", 4));
    buf_clear(&back);
    buf_clear(&said);
    tear_down();
}

/* The form is the one in seal.h: another program could write it. */
static void test_form(void **state)
{
    unsigned char nonce[12] = { 0, 0, 0, 0, 1 }, k[32], key[32], want[4 + 3 + 16] = { 0, 0, 0, 19 };
    static const char name[] = "mpiexec_lite 1: first to second";

    (void)state;
    set_up();
    crypto_hash_sha256(k, (const unsigned char *)"secret", 6);
    crypto_auth_hmacsha256(key, (const unsigned char *)name, strlen(name), k);
    assert_int_equal(seal_wrap(&a, "0", 1, &wire), 0);
    buf_consume(&wire, wire.len);
    assert_int_equal(seal_wrap(&a, "abc", 3, &wire), 0);
    crypto_aead_chacha20poly1305_ietf_encrypt(want + 4, NULL, (const unsigned char *)"abc", 3,
                                              want, 4, NULL, nonce, key);
    assert_int_equal(wire.len, sizeof want);
    assert_memory_equal(buf_bytes(&wire), want, sizeof want);
    tear_down();
}

/* No byte, no bit of it, of any record can be changed. */
static void test_flips(void **state)
{
    (void)state;
    set_up();
    seal_wrap(&a, "first", 5, &wire);
    seal_wrap(&a, "the second record", 17, &wire);
    for (size_t i = 0; i < wire.len * 8; i++) {
        struct buf said = BUF_INIT;
        struct seal fresh = b;
        struct err e = { 0 };
        int rc;

        buf_bytes(&wire)[i / 8] ^= (char)(1 << i % 8);
        rc = open_pieces(&fresh, buf_bytes(&wire), wire.len, i % 2 ? 5 : 1000, &said, &e);
        /* A longer length than was sent is a record that never is complete. */
        if (rc == 0)
            assert_true(seal_pending(&fresh));
        else
            assert_non_null(strstr(e.text, "sealed record "));
        assert_true(said.len == 0 || (said.len == 5 && !memcmp(buf_bytes(&said), "first", 5)));
        assert_int_equal(said.len, i / 8 < 25 ? 0 : 5);
        buf_bytes(&wire)[i / 8] ^= (char)(1 << i % 8);
        buf_clear(&said);
        seal_clear(&fresh);
    }
    tear_down();
}

/* Records in another order, twice, left out, or sent back. */
static void test_order(void **state)
{
    static const struct { const char *name, *order, *want; bool ok; } cases[] = {
        { "as sent", "012", "012", true },
        { "exchanged", "021", "0", false },
        { "later first", "1", "", false },
        { "repeated at once", "00", "0", false },
        { "repeated later", "0120", "012", false },
        { "one left out", "02", "0", false },
        { "sent back", "x", "", false },
        { "sent back later", "01x", "01", false },
        { "of another stream", "y", "", false },
    };
    struct buf rec[3] = { BUF_INIT, BUF_INIT, BUF_INIT }, x = BUF_INIT, y = BUF_INIT;
    struct seal_keys keys;
    struct seal stranger;

    (void)state;
    set_up();
    for (int i = 0; i < 3; i++)
        seal_wrap(&a, (char[]){ (char)('0' + i) }, 1, &rec[i]);
    seal_wrap(&b, "x", 1, &x);
    seal_derive(&keys, "Secret", 6, true);
    seal_init(&stranger, &keys);
    seal_wrap(&stranger, "y", 1, &y);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf said = BUF_INIT, sent = BUF_INIT;
        struct seal fresh = b;
        struct err e = { 0 };
        int rc;

        print_message("  %s\n", cases[i].name);
        for (const char *c = cases[i].order; *c; c++) {
            struct buf *r = *c == 'x' ? &x : *c == 'y' ? &y : &rec[*c - '0'];

            buf_add(&sent, buf_bytes(r), r->len);
        }
        rc = open_pieces(&fresh, buf_bytes(&sent), sent.len, 1000, &said, &e);
        assert_int_equal(rc, cases[i].ok ? 0 : -1);
        buf_str(&said, "");
        assert_string_equal(buf_bytes(&said), cases[i].want);
        if (!cases[i].ok)            /* and nothing opens any more */
            assert_int_equal(open_pieces(&fresh, buf_bytes(&rec[0]), rec[0].len, 1000, &said,
                                         &e), -1);
        buf_clear(&said);
        buf_clear(&sent);
        seal_clear(&fresh);
    }
    for (int i = 0; i < 3; i++)
        buf_clear(&rec[i]);
    buf_clear(&x);
    buf_clear(&y);
    seal_clear(&stranger);
    tear_down();
}

static void test_cut(void **state)
{
    (void)state;
    set_up();
    seal_wrap(&a, "whole", 5, &wire);
    for (size_t n = 0; n <= wire.len; n++) {
        struct buf said = BUF_INIT;
        struct seal fresh = b;
        struct err e = { 0 };

        assert_int_equal(open_pieces(&fresh, buf_bytes(&wire), n, 2, &said, &e), 0);
        assert_int_equal(said.len, n < wire.len ? 0 : 5);
        assert_int_equal(seal_pending(&fresh), n > 0 && n < wire.len);
        buf_clear(&said);
        seal_clear(&fresh);
    }
    tear_down();
}

/* A length that cannot be is refused before a byte of the record came. */
static void test_lengths(void **state)
{
    static const struct { unsigned char head[4]; const char *error; } cases[] = {
        { { 0, 0, 0, 0 }, "impossible" }, { { 0, 0, 0, 16 }, "impossible" },
        { { 0, 0, 0, 17 }, NULL }, { { 0, 1, 0, 16 }, NULL },
        { { 0, 1, 0, 17 }, "impossible" }, { { 0, 2, 0, 0 }, "impossible" },
        { { 0x80, 0, 0, 20 }, "impossible" }, { { 255, 255, 255, 255 }, "impossible" },
        { { 'G', 'E', 'T', ' ' }, "impossible" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece <= 4; piece += 3) {
            struct buf said = BUF_INIT;
            struct err e = { 0 };

            set_up();
            assert_int_equal(open_pieces(&b, cases[i].head, 4, piece, &said, &e),
                             cases[i].error ? -1 : 0);
            if (cases[i].error)
                assert_string_equal(e.text, "sealed record 0: impossible length");
            tear_down();
        }
}

static void test_clear(void **state)
{
    static const unsigned char zeroes[SEAL_KEY];
    struct seal none = { 0 };

    (void)state;
    set_up();
    seal_clear(&a);
    assert_memory_equal(a.keys.send, zeroes, SEAL_KEY);
    assert_memory_equal(a.keys.recv, zeroes, SEAL_KEY);
    assert_int_equal(seal_wrap(&a, "x", 1, &wire), -1);      /* never with an empty key */
    assert_int_equal(wire.len, 0);
    seal_clear(&a);
    seal_clear(&none);
    tear_down();
}

static void test_no_memory(void **state)
{
    struct buf said = BUF_INIT;
    struct err e = { 0 };
    char *big;

    (void)state;
    memory_begin();
    set_up();
    big = make_bytes(200000);
    memory_after(0);
    assert_int_equal(seal_wrap(&a, big, 200000, &wire), -1);
    memory_end();
    assert_int_equal(wire.len, 0);
    buf_clear(&wire);
    assert_int_equal(seal_wrap(&a, big, 200000, &wire), 0);  /* as if nothing had been */
    assert_int_equal(open_pieces(&b, buf_bytes(&wire), wire.len, 1 << 20, &said, &e), 0);
    assert_memory_equal(buf_bytes(&said), big, 200000);

    buf_consume(&wire, wire.len);
    seal_wrap(&a, "x", 1, &wire);
    {
        char *at = buf_bytes(&wire), *plain;
        size_t n = 3, plain_len;

        buf_clear(&b.held);
        memory_after(0);
        assert_int_equal(seal_unwrap(&b, &at, &n, &plain, &plain_len, &e), -1);
        memory_end();
        assert_int_equal(e.code, ERR_NOMEM);
    }
    buf_clear(&said);
    tear_down();
    free(big);
}

static void test_equal(void **state)
{
    char text[] = "secret";

    (void)state;
    assert_true(seal_equal("abcd", "abcd", 4));
    assert_true(seal_equal("abcd", "abcx", 3));
    assert_true(seal_equal("", "", 0));
    assert_false(seal_equal("abcd", "abcx", 4));
    assert_false(seal_equal("abcd", "xbcd", 4));
    seal_wipe(text, sizeof text);
    assert_memory_equal(text, "\0\0\0\0\0\0", 7);
    seal_wipe(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there), cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_form), cmocka_unit_test(test_flips),
        cmocka_unit_test(test_order), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_lengths), cmocka_unit_test(test_clear),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_equal),
    };

    return cmocka_run_group_tests_name("seal", tests, NULL, NULL);
}
