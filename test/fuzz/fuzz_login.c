/* fuzz_login.c - nobody is let in but who says everything right.
 *
 * Input: 4 bytes of how, then bytes. munge is played: what a credential "decodes" to
 * is chosen by the input.
 *     [0]  what munge says to a decode (codes[])
 *     [1]  bit 4: the purpose is names; 0: another uid; 1: the place is taken (proxies);
 *          2, 3: what the rest is -
 *          0 the server's input; 1 changes of a true payload: place (2 bytes), XOR;
 *          2 the payload; 3 the client's input
 *     [2]  how many bytes arrive at once, less one
 *     [3]  bytes cut off the payload's end; or, over 127, added (256 - it) */
#include "test/fuzz/fuzz.h"

#include "mpiexec_lite/login.h"

#include <string.h>

#define UID 7
#define NODES 3

enum { SERVER_INPUT, CHANGES, PAYLOAD, CLIENT_INPUT };

static const int codes[] = { MUNGE_OK, MUNGE_UNREACHABLE, MUNGE_SOCKET, MUNGE_INVALID,
                             MUNGE_EXPIRED, MUNGE_REWOUND, MUNGE_REPLAYED, MUNGE_UNAUTHORIZED };

static unsigned char random_bytes[2][LOGIN_RANDOM];

struct play {
    const uint8_t *how;
    struct buf payload;          /* what munge says */
    struct buf truth;            /* what a true client would have made it say */
    int        claims;
};

static bool is_names(const struct play *p)
{
    return p->how[1] & 16;
}

static int nodes(const struct play *p)
{
    return is_names(p) ? 1 : NODES;
}

/* "mpiexec_lite-login 1 " or "pmi2_server-login 1 ", nonce, " 7", newline. */
static size_t hello_len(const struct play *p)
{
    return is_names(p) ? 18 + 2 + 64 + 2 + 1 : 19 + 2 + 64 + 1;
}

static bool is_taken(const struct play *p)
{
    return !is_names(p) && p->how[1] & 2;
}

static bool trusts(void *host, uid_t uid)
{
    MUST(is_names(host));
    return uid == UID;
}

static bool claim(void *host, int node)
{
    struct play *p = host;

    MUST(node >= 0 && node < NODES);
    MUST(p->claims++ == 0);
    return !is_taken(p);
}

static void must_be_zero(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        MUST(!((const unsigned char *)p)[i]);
}

static struct login_conf conf(enum login_side side, struct play *p)
{
    if (is_names(p))
        return (struct login_conf){ .purpose = LOGIN_NAMES, .job = "", .address = "h:1",
                                    .uid = UID, .nodes = 1, .trusts = trusts, .host = p };
    return (struct login_conf){ .job = "j1", .address = "h:1", .uid = UID, .node = 1,
                                .nodes = NODES, .claim = side == LOGIN_SERVER ? claim : NULL,
                                .host = p };
}

static int code(const struct play *p)
{
    return codes[p->how[0] % (sizeof codes / sizeof *codes)];
}

static uid_t uid(const struct play *p)
{
    return p->how[1] & 1 ? UID + 1 : UID;
}

/* May this payload be let in?  Said in another way than login.c says it: nonce and key
 * part are the maker's to choose, a server's node too; they lie behind "j1" and "h:1". */
static bool is_true(const struct play *p, enum login_side side)
{
    struct buf a = BUF_INIT, b = BUF_INIT;
    size_t tag = is_names(p) ? 2 + 19 + 2 + 6 + 2 : 2 + 20 + 2 + 6 + 2 + 2;
    size_t nonce = tag + 2 + 4, key;
    const char *said = buf_bytes(&p->payload);
    bool same;

    key = nonce + 2 * (2 + LOGIN_NONCE) + 2 + 3;
    if (code(p) != MUNGE_OK || uid(p) != UID || p->payload.len != p->truth.len)
        return false;
    if (side == LOGIN_SERVER && (said[tag + 2] || said[tag + 3] || said[tag + 4] ||
                                 (unsigned char)said[tag + 5] >= nodes(p)))
        return false;
    buf_add(&a, said, p->payload.len);
    buf_add(&b, buf_bytes(&p->truth), p->truth.len);
    memset(buf_bytes(&a) + key + 2, 0, SEAL_KEY);
    memset(buf_bytes(&b) + key + 2, 0, SEAL_KEY);
    if (side == LOGIN_SERVER) {
        memset(buf_bytes(&a) + nonce + 2, 0, LOGIN_NONCE);
        memset(buf_bytes(&b) + nonce + 2, 0, LOGIN_NONCE);
        buf_bytes(&a)[tag + 5] = buf_bytes(&b)[tag + 5];
    }
    MUST(!a.failed && !b.failed);
    same = !memcmp(buf_bytes(&a), buf_bytes(&b), a.len);
    buf_clear(&a);
    buf_clear(&b);
    return same;
}

static void check_verdict(const struct login *l, enum login_want want, const struct play *p)
{
    if (want == LOGIN_ACCEPTED) {
        MUST(is_true(p, l->side));
        MUST(l->side == LOGIN_CLIENT || (p->claims == !is_names(p) && !is_taken(p)));
        MUST(l->node >= 0 && l->node < nodes(p));
        MUST(l->peer == UID && l->reader == UID);
        MUST(memcmp(l->keys.send, l->keys.recv, SEAL_KEY) != 0);
    }
    if (want == LOGIN_REFUSED) {
        MUST(*l->e.text);
        for (const char *c = l->e.text; *c; c++)
            MUST(*c >= ' ' && *c < 0x7F);
        must_be_zero(&l->keys, sizeof l->keys);
    }
    if (want == LOGIN_ACCEPTED || want == LOGIN_REFUSED)
        must_be_zero(l->key, sizeof l->key);
}

/* What munge says to what it is asked. */
static enum login_want play_munge(struct login *l, struct play *p, enum login_want want,
                                  struct buf *out)
{
    struct munge_result r = { .text = "", .data = "MUNGE:AAAA:", .len = 11, .uid = (uid_t)-1 };
    size_t before = out->len;

    if (want == LOGIN_DECODE) {
        MUST(l->ask.len > 7 && l->ask.len < LOGIN_LINE);
        MUST(!memcmp(buf_bytes(&l->ask), "MUNGE:", 6));
        MUST(strlen(buf_bytes(&l->ask)) == l->ask.len);
        r = (struct munge_result){ code(p), code(p) == MUNGE_OK ? "" : "munge: no",
                                   buf_bytes(&p->payload), p->payload.len, uid(p), 1000, 2000 };
    }
    want = login_munged(l, &r, out);
    MUST(out->len == before || out->len == before + 12);
    if (l->side == LOGIN_SERVER)         /* nothing for who is not let in */
        MUST((out->len > before) == (want == LOGIN_ACCEPTED));
    check_verdict(l, want, p);
    return want;
}

/* Feed the login, some bytes at a time. */
static enum login_want feed(struct login *l, struct play *p, const char *data, size_t n,
                            struct buf *out)
{
    enum login_want want = LOGIN_READ;
    struct buf in = BUF_INIT;
    size_t step = (size_t)p->how[2] + 1;

    for (size_t at = 0; at < n && want == LOGIN_READ; at += step) {
        buf_add(&in, data + at, n - at < step ? n - at : step);
        want = login_input(l, &in);
        MUST(want != LOGIN_READ || in.len < LOGIN_LINE);
        check_verdict(l, want, p);
        while (want == LOGIN_ENCODE || want == LOGIN_DECODE)
            want = play_munge(l, p, want, out);
    }
    MUST(!in.failed);
    buf_clear(&in);
    return want;
}

/* The payload that the other side would make, for this very connection. */
static void find_truth(struct play *p, const struct buf *hello)
{
    struct login_conf c = conf(LOGIN_CLIENT, p);
    struct buf in = BUF_INIT, out = BUF_INIT;
    struct login client;

    login_start(&client, LOGIN_CLIENT, &c, random_bytes[LOGIN_CLIENT], &out);
    buf_add(&in, buf_bytes(hello), hello->len);
    MUST(login_input(&client, &in) == LOGIN_ENCODE);
    buf_add(&p->truth, buf_bytes(&client.ask), client.ask.len);
    login_clear(&client);
    buf_clear(&in);
    buf_clear(&out);
}

static void make_payload(struct play *p, int kind, const uint8_t *data, size_t size)
{
    size_t cut = p->how[3] < 128 ? p->how[3] : 0, more = p->how[3] < 128 ? 0 : 256u - p->how[3];

    if (kind == PAYLOAD) {
        buf_add(&p->payload, data, size);
        buf_str(&p->payload, "");
        return;
    }
    buf_add(&p->payload, buf_bytes(&p->truth), p->truth.len);
    for (; kind == CHANGES && size >= 3; data += 3, size -= 3)
        buf_bytes(&p->payload)[(data[0] << 8 | data[1]) % p->payload.len] ^= (char)data[2];
    buf_cut(&p->payload, p->payload.len > cut ? p->payload.len - cut : 0);
    while (more--)
        buf_char(&p->payload, 'x');
}

static void fuzz_server(struct play *p, int kind, const uint8_t *data, size_t size)
{
    static const char line[] = "MUNGE:AAAA:\n";
    struct login_conf c = conf(LOGIN_SERVER, p);
    struct buf out = BUF_INIT;
    enum login_want want;
    struct login l;

    MUST(login_start(&l, LOGIN_SERVER, &c, random_bytes[LOGIN_SERVER], &out) == LOGIN_READ);
    MUST(out.len == hello_len(p));
    find_truth(p, &out);
    make_payload(p, kind, data, size);
    if (kind == SERVER_INPUT)
        want = feed(&l, p, (const char *)data, size, &out);
    else
        want = feed(&l, p, line, sizeof line - 1, &out);
    MUST(out.len == hello_len(p) + (want == LOGIN_ACCEPTED ? 12 : 0));
    if (kind != SERVER_INPUT)
        MUST((want == LOGIN_ACCEPTED) == (is_true(p, LOGIN_SERVER) && !is_taken(p)));
    login_clear(&l);
    buf_clear(&out);
}

static void fuzz_client(struct play *p, const uint8_t *data, size_t size)
{
    struct login_conf c = conf(LOGIN_CLIENT, p);
    struct buf out = BUF_INIT;
    struct login l;

    /* No truth is known for it: whatever munge says is what it made itself. */
    login_start(&l, LOGIN_CLIENT, &c, random_bytes[LOGIN_CLIENT], &out);
    buf_str(&p->payload, "");
    buf_str(&p->truth, "x");
    feed(&l, p, (const char *)data, size, &out);
    MUST(out.len == 0 || out.len == 12);
    login_clear(&l);
    buf_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct play p = { .how = data };
    int kind;

    if (size < 4 || size > 20000)
        return 0;
    memset(random_bytes[LOGIN_CLIENT], 'c', LOGIN_RANDOM);
    memset(random_bytes[LOGIN_SERVER], 's', LOGIN_RANDOM);
    kind = data[1] >> 2 & 3;
    if (kind == CLIENT_INPUT)
        fuzz_client(&p, data + 4, size - 4);
    else
        fuzz_server(&p, kind, data + 4, size - 4);
    buf_clear(&p.payload);
    buf_clear(&p.truth);
    return 0;
}
