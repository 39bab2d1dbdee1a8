/* login_payload.c - what a credential of a login says: see login.h. */
#include "mpiexec_lite/login_impl.h"

#include <inttypes.h>
#include <string.h>

/* Names at their longest, the rest as it is, lengths: an ask of this size is never moved, so
 * no copy of a key stays behind. */
enum { PAYLOAD_ROOM = 2 * LOGIN_NAME + 3 * 32 + 64 + 8 * 2 };

_Static_assert((int)PAYLOAD_ROOM <= (int)MUNGER_PAYLOAD, "a payload that munger takes");

static const char *const side_name[2] = { [LOGIN_CLIENT] = "client",
                                          [LOGIN_SERVER] = "server" };

static enum login_side other(enum login_side side)
{
    return side == LOGIN_CLIENT ? LOGIN_SERVER : LOGIN_CLIENT;
}

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
    const char *tag = login_purposes[l->conf.purpose].tag, *role = side_name[maker];
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

int login_make_payload(struct login *l)
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

int login_check_payload(struct login *l, const void *payload, size_t len)
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

int login_check_uid(struct login *l, uid_t uid)
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
