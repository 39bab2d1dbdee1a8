/* login.c - see login.h */
#include "mpiexec_lite/login.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CREDENTIAL  "MUNGE:"
#define OUR_VERSION 1L

/* The first line up to the version, the tag of a payload, and what a client calls the
 * server. */
static const struct { const char *hello, *tag, *server, *program; } purposes[] = {
    [LOGIN_PROXY] = { "mpiexec_lite-login ", "mpiexec_lite-login/1", "the launcher",
                      "mpiexec_lite" },
    [LOGIN_NAMES] = { "pmi2_server-login ", "pmi2_server-login/1", "the name server",
                      "pmi2_server" },
};

enum {
    HELLO_LINE = 128,                    /* most bytes of a server's first line */
    /* Names at their longest, the rest as it is, lengths: an ask of this size is never
     * moved, so no copy of a key stays behind. */
    PAYLOAD_ROOM = 2 * LOGIN_NAME + 3 * 32 + 64 + 8 * 2,
    HELLO_ROOM = 32 + 16 + 2 * LOGIN_NONCE      /* purpose, numbers, nonce */
};

_Static_assert((int)PAYLOAD_ROOM <= (int)MUNGER_PAYLOAD, "a payload that munger takes");
_Static_assert((int)HELLO_ROOM <= (int)HELLO_LINE, "a line that a client takes");

enum state { S_HELLO, S_ENCODE, S_PEER, S_DECODE, S_ACCEPTED, S_REFUSED };

/* Where a side goes when it is done with a state. */
static const enum state next_state[2][S_REFUSED + 1] = {
    [LOGIN_CLIENT] = { [S_HELLO] = S_ENCODE, [S_ENCODE] = S_PEER, [S_PEER] = S_DECODE,
                       [S_DECODE] = S_ACCEPTED, [S_ACCEPTED] = S_ACCEPTED,
                       [S_REFUSED] = S_REFUSED },
    [LOGIN_SERVER] = { [S_HELLO] = S_REFUSED, [S_PEER] = S_DECODE, [S_DECODE] = S_ENCODE,
                       [S_ENCODE] = S_ACCEPTED, [S_ACCEPTED] = S_ACCEPTED,
                       [S_REFUSED] = S_REFUSED },
};

static const enum login_want wants[] = {
    [S_HELLO] = LOGIN_READ, [S_ENCODE] = LOGIN_ENCODE, [S_PEER] = LOGIN_READ,
    [S_DECODE] = LOGIN_DECODE, [S_ACCEPTED] = LOGIN_ACCEPTED, [S_REFUSED] = LOGIN_REFUSED,
};

static const char *const side_name[2] = { [LOGIN_CLIENT] = "client",
                                          [LOGIN_SERVER] = "server" };

static enum login_side other(enum login_side side)
{
    return side == LOGIN_CLIENT ? LOGIN_SERVER : LOGIN_CLIENT;
}

static enum login_want want(const struct login *l)
{
    return wants[l->state];
}

static void wipe_keys(struct login *l)
{
    seal_wipe_buf(&l->ask);
    seal_wipe(l->key, sizeof l->key);
    seal_wipe(&l->keys, sizeof l->keys);
}

/* l->e has the reason. */
static enum login_want refuse(struct login *l)
{
    wipe_keys(l);
    l->state = S_REFUSED;
    return want(l);
}

static enum login_want proceed(struct login *l)
{
    l->state = (int)next_state[l->side][l->state];
    return want(l);
}

/* --- payloads ------------------------------------------------------------ */

/* A field of a payload: what it must be, or where it goes. */
struct field {
    const char *name;
    const void *must;                    /* or NULL */
    unsigned char *to;
    size_t      len;
};

enum { FIELDS = 8 };

static void put_node(unsigned char to[4], int node)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)((unsigned)node >> 8 * (3 - i));
}

static uint32_t get_node(const unsigned char from[4])
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* The fields of what `maker` makes, in order.  What the maker alone knows is to be
 * taken from the payload when it is read. */
static void lay_out(struct login *l, enum login_side maker, unsigned char node[4],
                    struct field f[FIELDS])
{
    bool ours = maker == l->side, know_node = ours || l->side == LOGIN_CLIENT;
    bool know_nonce = ours || l->side == LOGIN_CLIENT;
    unsigned char *nonce = l->nonce[maker], *key = l->key[maker];
    const char *tag = purposes[l->conf.purpose].tag, *role = side_name[maker];
    const struct field all[FIELDS] = {
        { "protocol version", tag, NULL, strlen(tag) },
        { "role", role, NULL, strlen(role) },
        { "job", l->conf.job, NULL, strlen(l->conf.job) },
        { "node", know_node ? node : NULL, node, 4 },
        { "nonce", know_nonce ? nonce : NULL, nonce, LOGIN_NONCE },
        { "connection", l->nonce[other(maker)], NULL, LOGIN_NONCE },
        { "address", l->conf.address, NULL, strlen(l->conf.address) },
        { "key part", ours ? key : NULL, key, SEAL_KEY },
    };

    memcpy(f, all, sizeof all);
}

/* l->ask = our payload. */
static int make_payload(struct login *l)
{
    struct field f[FIELDS];
    unsigned char node[4];

    put_node(node, l->node);
    lay_out(l, l->side, node, f);
    seal_wipe_buf(&l->ask);
    if (!buf_room(&l->ask, PAYLOAD_ROOM))
        return err_set(&l->e, ERR_NOMEM, "out of memory");
    for (int i = 0; i < FIELDS; i++) {
        buf_char(&l->ask, (char)(f[i].len >> 8));
        buf_char(&l->ask, (char)(f[i].len & 0xFF));
        buf_add(&l->ask, f[i].must, f[i].len);
    }
    return 0;
}

/* Take one field off the front of *at.  False when the payload ends before it does. */
static bool take_field(const unsigned char **at, const unsigned char *end,
                       const unsigned char **field, size_t *len)
{
    if (end - *at < 2)
        return false;
    *len = (size_t)(*at)[0] << 8 | (*at)[1];
    *field = *at + 2;
    if ((size_t)(end - *field) < *len)
        return false;
    *at = *field + *len;
    return true;
}

static int check_field(const struct field *f, const unsigned char *said, size_t len,
                       struct err *e)
{
    if (len == f->len && !f->must)
        memcpy(f->to, said, len);
    else if (len != f->len || !seal_equal(said, f->must, len))
        return err_set(e, ERR_INVALID_VAL, "the credential is for another %s", f->name);
    return 0;
}

/* The peer's payload must say what it must. */
static int check_payload(struct login *l, const void *payload, size_t len)
{
    const unsigned char *at = payload, *end = at + len, *said;
    struct field f[FIELDS];
    unsigned char node[4];
    size_t n;

    put_node(node, l->conf.node);
    lay_out(l, other(l->side), node, f);
    for (int i = 0; i < FIELDS; i++) {
        if (!take_field(&at, end, &said, &n))
            return err_set(&l->e, ERR_INVALID_VAL, "the credential does not say its %s",
                           f[i].name);
        if (check_field(&f[i], said, n, &l->e) < 0)
            return -1;
    }
    if (at != end)
        return err_set(&l->e, ERR_INVALID_VAL, "the credential says too much");
    if (l->side == LOGIN_SERVER && get_node(node) >= (uint32_t)l->conf.nodes)
        return err_set(&l->e, ERR_INVALID_VAL, "no node %" PRIu32 " in this job",
                       get_node(node));
    l->node = (int)get_node(node);
    return 0;
}

static int check_uid(struct login *l, uid_t uid)
{
    l->peer = uid;
    if (l->side == LOGIN_CLIENT && uid != l->reader)
        return err_set(&l->e, ERR_INVALID_VAL, "the credential is uid %ld's, want %ld",
                       (long)uid, (long)l->reader);
    if (l->conf.trusts ? l->conf.trusts(l->conf.host, uid) : uid == l->conf.uid) {
        l->reader = uid;
        return 0;
    }
    return err_set(&l->e, ERR_INVALID_VAL, "the credential is uid %ld's, want %ld", (long)uid,
                   (long)l->conf.uid);
}

/* --- lines ---------------------------------------------------------------- */

/* Does the line begin as it must, as far as it has come? */
static bool begins(const struct buf *in, const char *with)
{
    size_t n = strlen(with);

    return !memcmp(buf_bytes(in), with, in->len < n ? in->len : n);
}

/* Length of the line at the front of in, newline included; 0: not complete; -1: it
 * never can be right. */
static long line_length(struct login *l, const struct buf *in, const char *begin, size_t max)
{
    const char *end;

    if (!in->len)
        return 0;
    if (!begins(in, begin))
        return l->side == LOGIN_SERVER
                   ? err_set(&l->e, ERR_INVALID_VAL, "the peer sent no munge credential")
                   : err_set(&l->e, ERR_INVALID_VAL, "what answers at %s's address is no %s",
                             purposes[l->conf.purpose].server,
                             purposes[l->conf.purpose].program);
    end = memchr(buf_bytes(in), '\n', in->len < max ? in->len : max);
    if (end)
        return end - buf_bytes(in) + 1;
    if (in->len >= max)
        return err_set(&l->e, ERR_LENGTH, "a line of more than %zu bytes", max);
    return 0;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Exactly n bytes in hex, then the line's end.  0, or -1. */
static int read_hex(unsigned char *to, size_t n, const char *text, const char *end)
{
    if ((size_t)(end - text) != 2 * n)
        return -1;
    for (size_t i = 0; i < n; i++) {
        int hi = hex_digit(text[2 * i]), lo = hex_digit(text[2 * i + 1]);

        if (hi < 0 || lo < 0)
            return -1;
        to[i] = (unsigned char)(hi << 4 | lo);
    }
    return 0;
}

static void write_hello(struct login *l, struct buf *out)
{
    buf_printf(out, "%s%ld ", purposes[l->conf.purpose].hello, OUR_VERSION);
    for (int i = 0; i < LOGIN_NONCE; i++)
        buf_printf(out, "%02x", l->nonce[LOGIN_SERVER][i]);
    if (l->conf.purpose == LOGIN_NAMES)
        buf_printf(out, " %lu", (unsigned long)l->conf.uid);
    buf_char(out, '\n');
}

/* A decimal number below 2^32 at *at, which moves behind it.  -1: none, or too large. */
static long long read_number(const char **at, const char *end)
{
    const char *from = *at;
    long long n = 0;

    for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
        if ((n = n * 10 + (**at - '0')) >= UINT32_MAX)
            return -1;
    return *at == from ? -1 : n;
}

static int not_understood(struct login *l)
{
    return err_set(&l->e, ERR_INVALID_VAL, "%s's first line is not understood",
                   purposes[l->conf.purpose].server);
}

/* Whose server it is: only he is told anything, if we trust him. */
static int read_owner(struct login *l, const char *at, const char *end)
{
    long long uid;

    if (at == end || *at++ != ' ' || (uid = read_number(&at, end)) < 0 || at != end)
        return not_understood(l);
    l->reader = (uid_t)uid;
    if (l->conf.trusts(l->conf.host, l->reader))
        return 0;
    return err_set(&l->e, ERR_INVALID_VAL, "%s is uid %lld's, who is not trusted",
                   purposes[l->conf.purpose].server, uid);
}

/* end: the newline. */
static int read_hello(struct login *l, const char *line, const char *end)
{
    const char *at = line + strlen(purposes[l->conf.purpose].hello), *nonce;
    long long version = read_number(&at, end);

    if (version < 0 || at == end || *at != ' ')
        return not_understood(l);
    if (version != OUR_VERSION)
        return err_set(&l->e, ERR_INVALID_VAL, "%s logs in by version %lld, this program by "
                       "version %ld: install the same mpiexec_lite on all nodes",
                       purposes[l->conf.purpose].server, version, OUR_VERSION);
    nonce = at + 1;
    at = l->conf.purpose == LOGIN_NAMES ? memchr(nonce, ' ', (size_t)(end - nonce)) : end;
    if (!at || read_hex(l->nonce[LOGIN_SERVER], LOGIN_NONCE, nonce, at) < 0)
        return not_understood(l);
    if (l->conf.purpose == LOGIN_NAMES && read_owner(l, at, end) < 0)
        return -1;
    return make_payload(l);
}

/* Only what may be in a credential comes to munge. */
static bool is_credential(const char *text, size_t len)
{
    static const char may[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                              "0123456789+/=";
    size_t n = strlen(CREDENTIAL);

    if (len < n + 2 || memcmp(text, CREDENTIAL, n) || text[len - 1] != ':')
        return false;
    for (; n < len - 1; n++)
        if (!memchr(may, text[n], sizeof may - 1))
            return false;
    return true;
}

static int read_credential(struct login *l, const char *line, const char *end)
{
    if (!is_credential(line, (size_t)(end - line)))
        return err_set(&l->e, ERR_INVALID_VAL, "the peer sent no munge credential");
    seal_wipe_buf(&l->ask);
    buf_add(&l->ask, line, (size_t)(end - line));
    if (l->ask.failed)
        return err_set(&l->e, ERR_NOMEM, "out of memory");
    return 0;
}

enum login_want login_input(struct login *l, struct buf *in)
{
    bool hello = l->state == S_HELLO;
    const char *line, *end;
    long n;

    if (want(l) != LOGIN_READ)
        return want(l);
    n = line_length(l, in, hello ? purposes[l->conf.purpose].hello : CREDENTIAL,
                    hello ? HELLO_LINE : LOGIN_LINE);
    if (n == 0)
        return LOGIN_READ;
    if (n < 0)
        return refuse(l);
    line = buf_bytes(in);
    end = line + n - 1;
    /* Whoever sends more before it has been answered does not want the answer. */
    if ((hello || l->side == LOGIN_SERVER) && in->len > (size_t)n) {
        err_set(&l->e, ERR_INVALID_VAL, "the peer speaks out of turn");
        return refuse(l);
    }
    if ((hello ? read_hello(l, line, end) : read_credential(l, line, end)) < 0)
        return refuse(l);
    buf_consume(in, (size_t)n);
    return proceed(l);
}

/* --- what munge says ------------------------------------------------------- */

static int send_credential(struct login *l, const struct munge_result *r, struct buf *out)
{
    if (!is_credential(r->data, r->len) || r->len + 1 > LOGIN_LINE)
        return err_set(&l->e, ERR_OTHER, "munge made a credential of an unknown form");
    if (!buf_room(out, r->len + 1))
        return err_set(&l->e, ERR_NOMEM, "out of memory");
    buf_add(out, r->data, r->len);
    buf_char(out, '\n');
    return 0;
}

/* The last step: after it there is nothing that could fail. */
static void make_keys(struct login *l)
{
    unsigned char secret[2 * SEAL_KEY + 2 * LOGIN_NONCE], *at = secret;

    memcpy(at, l->key[LOGIN_CLIENT], SEAL_KEY);
    memcpy(at += SEAL_KEY, l->key[LOGIN_SERVER], SEAL_KEY);
    memcpy(at += SEAL_KEY, l->nonce[LOGIN_SERVER], LOGIN_NONCE);
    memcpy(at + LOGIN_NONCE, l->nonce[LOGIN_CLIENT], LOGIN_NONCE);
    seal_derive(&l->keys, secret, sizeof secret, l->side == LOGIN_CLIENT);
    seal_wipe(secret, sizeof secret);
    seal_wipe(l->key, sizeof l->key);
}

static enum login_want encoded(struct login *l, const struct munge_result *r,
                               struct buf *out)
{
    size_t before = out->len;

    if (r->code != MUNGE_OK) {
        err_set(&l->e, ERR_OTHER, "%s", r->text);
        return refuse(l);
    }
    if (send_credential(l, r, out) < 0)
        return refuse(l);
    /* Only now: a place that was taken for a login that then failed would be lost. */
    if (l->side == LOGIN_SERVER && l->conf.claim && !l->conf.claim(l->conf.host, l->node)) {
        buf_cut(out, before);
        err_set(&l->e, ERR_OTHER, "node %d has logged in already", l->node);
        l->node = -1;                    /* whoever has the place is not to suffer for it */
        return refuse(l);
    }
    seal_wipe_buf(&l->ask);
    if (l->side == LOGIN_SERVER)
        make_keys(l);
    return proceed(l);
}

/* munge opened the credential but did not like its time: if it is for this very
 * connection it was made just now, by a clock that is not like ours. */
static void say_time(struct login *l, const struct munge_result *r)
{
    const char *what = r->code == MUNGE_EXPIRED ? "expired" : "rewound";
    int64_t s = r->decoded > r->encoded ? r->decoded - r->encoded : r->encoded - r->decoded;

    if (check_uid(l, r->uid) < 0 || check_payload(l, r->data, r->len) < 0)
        err_context(&l->e, "munge credential %s", what);
    else
        err_set(&l->e, ERR_OTHER, "munge credential %s: clocks differ by ~%" PRId64 " s",
                what, s);
}

static enum login_want decoded(struct login *l, const struct munge_result *r)
{
    seal_wipe_buf(&l->ask);
    if (r->code == MUNGE_EXPIRED || r->code == MUNGE_REWOUND) {
        say_time(l, r);
        return refuse(l);
    }
    if (r->code != MUNGE_OK) {
        err_set(&l->e, ERR_OTHER, "%s", r->text);
        return refuse(l);
    }
    if (check_uid(l, r->uid) < 0 || check_payload(l, r->data, r->len) < 0)
        return refuse(l);
    if (l->side == LOGIN_SERVER && make_payload(l) < 0)
        return refuse(l);
    if (l->side == LOGIN_CLIENT)
        make_keys(l);
    return proceed(l);
}

enum login_want login_munged(struct login *l, const struct munge_result *r, struct buf *out)
{
    switch (l->state) {
    case S_ENCODE: return encoded(l, r, out);
    case S_DECODE: return decoded(l, r);
    default:       return want(l);
    }
}

/* --- begin and end --------------------------------------------------------- */

static int check_conf(struct login *l)
{
    size_t job = strlen(l->conf.job), address = strlen(l->conf.address);
    bool right = l->conf.purpose == LOGIN_NAMES ? !job : job && job <= LOGIN_NAME;

    if (!right || !address || address > LOGIN_NAME)
        return err_set(&l->e, ERR_LENGTH, "job id and address have 1 to %d bytes", LOGIN_NAME);
    return 0;
}

enum login_want login_start(struct login *l, enum login_side side,
                            const struct login_conf *conf, const unsigned char *random,
                            struct buf *out)
{
    assert((conf->claim != NULL) == (side == LOGIN_SERVER && conf->purpose == LOGIN_PROXY));
    *l = (struct login){ .conf = *conf, .side = side, .ask = BUF_INIT, .reader = conf->uid };
    l->node = side == LOGIN_CLIENT ? conf->node : -1;
    l->state = side == LOGIN_CLIENT ? S_HELLO : S_PEER;
    memcpy(l->nonce[side], random, LOGIN_NONCE);
    memcpy(l->key[side], random + LOGIN_NONCE, SEAL_KEY);
    if (check_conf(l) < 0)
        return refuse(l);
    if (side == LOGIN_SERVER)
        write_hello(l, out);
    if (out->failed) {
        err_set(&l->e, ERR_NOMEM, "out of memory");
        return refuse(l);
    }
    return want(l);
}

enum login_want login_end(struct login *l, const char *why)
{
    static const char *const waiting[2][S_REFUSED] = {
        [LOGIN_CLIENT] = { [S_HELLO] = "first line", [S_PEER] = "credential: its own messages "
                           "say why it refused this node" },
        [LOGIN_SERVER] = { [S_HELLO] = "", [S_PEER] = "credential" },
    };
    const char *what = l->state < S_REFUSED ? waiting[l->side][l->state] : NULL;

    if (l->state == S_REFUSED)
        return LOGIN_REFUSED;
    if (!what)
        err_set(&l->e, ERR_OTHER, "%s while waiting for %s", why,
                l->state == S_ACCEPTED ? "nothing" : "munge");
    else if (l->side == LOGIN_SERVER)
        err_set(&l->e, ERR_OTHER, "%s while waiting for its %s", why, what);
    else
        err_set(&l->e, ERR_OTHER, "%s while waiting for %s's %s", why,
                purposes[l->conf.purpose].server, what);
    return refuse(l);
}

void login_clear(struct login *l)
{
    wipe_keys(l);
    buf_clear(&l->ask);
    l->state = S_REFUSED;
}
