/* login.c - see login.h.  Here: its course. */
#include "mpiexec_lite/login_impl.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

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

/* --- what comes ------------------------------------------------------------- */

enum login_want login_input(struct login *l, struct buf *in)
{
    bool hello = l->state == S_HELLO;
    const char *line, *end;
    long n;

    if (want(l) != LOGIN_READ)
        return want(l);
    n = login_line_length(l, in, hello);
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
    if ((hello ? login_read_hello(l, line, end) : login_read_credential(l, line, end)) < 0)
        return refuse(l);
    buf_consume(in, (size_t)n);
    return proceed(l);
}

/* --- what munge says ------------------------------------------------------- */

static int send_credential(struct login *l, const struct munge_result *r, struct buf *out)
{
    if (!login_is_credential(r->data, r->len) || r->len + 1 > LOGIN_LINE)
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

    if (login_check_uid(l, r->uid) < 0 || login_check_payload(l, r->data, r->len) < 0)
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
    if (login_check_uid(l, r->uid) < 0 || login_check_payload(l, r->data, r->len) < 0)
        return refuse(l);
    if (l->side == LOGIN_SERVER && login_make_payload(l) < 0)
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
        login_write_hello(l, out);
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
                login_purposes[l->conf.purpose].server, what);
    return refuse(l);
}

void login_clear(struct login *l)
{
    wipe_keys(l);
    buf_clear(&l->ask);
    l->state = S_REFUSED;
}
