/* login.h - two processes prove to each other who they are, over a connection that anybody
 * may have made.  What for is their purpose:
 *
 *     LOGIN_PROXY   a proxy calls its launcher (-launcher tcp); both have one uid
 *     LOGIN_NAMES   a launcher calls a pmi2_server of another host (--listen)
 *
 *     server -> client   "mpiexec_lite-login 1 NONCE\n"    version, 32 bytes in hex; or
 *                        "pmi2_server-login 1 NONCE UID\n"    and whose server it is
 *     client -> server   "MUNGE:...:\n"                    its credential
 *     server -> client   "MUNGE:...:\n"                    its credential
 *     both               sealed records (wire/seal.h)
 *
 * The client has dialled.  A credential's payload is, each with its length in two bytes,
 * big-endian, before it:
 *
 *     "mpiexec_lite-login/1" or "pmi2_server-login/1", "client" or "server", job id
 *     (names: empty), node (4 bytes, big-endian; names: 0), the maker's nonce, its
 *     peer's nonce, the server's address:port as the client dialled it, the maker's part
 *     of the key (32 bytes)
 *
 * munge encrypts it, for the peer's uid alone, and proves the maker's; the fields bind it
 * to this purpose, job, node and connection, and to its direction.  All must be right,
 * and the uid one that is trusted.
 * The secret of seal_derive is client's part, server's part, server's nonce,
 * client's nonce; the client is `first`.  A stranger has from us a version and 32
 * random bytes, and nothing else: refused means closed without a word.
 *
 * Pure: bytes and munge's results go in, bytes and questions to munge come out; no
 * I/O, no clock, no random bytes.  The caller closes what is refused, and what has
 * not come to an end after 10 seconds; it logs the reason (no more than 3 a second:
 * strangers can make them).  One struct per connection, not thread-safe. */
#ifndef MPIEXEC_LITE_LOGIN_H
#define MPIEXEC_LITE_LOGIN_H

#include "mpiexec_lite/munger.h"

#include "wire/buf.h"
#include "wire/seal.h"

enum {
    LOGIN_NONCE = 32,
    LOGIN_RANDOM = LOGIN_NONCE + SEAL_KEY,
    LOGIN_NAME = 255,                    /* most bytes of job id and of address */
    LOGIN_LINE = MUNGER_CREDENTIAL       /* most bytes of a line, newline included */
};

enum login_side { LOGIN_CLIENT, LOGIN_SERVER };
enum login_purpose { LOGIN_PROXY, LOGIN_NAMES };

struct login_conf {              /* all borrowed; outlives the login */
    const char *job;             /* its id; not secret */
    const char *address;         /* "ADDRESS:PORT" as it was put on the client's command
                                    line and dialled: both sides have the same text */
    uid_t uid;                   /* our effective uid */
    int   node;                  /* client: its index.  Server: not used */
    int   nodes;                 /* server: indices are 0 to nodes - 1.  Client: not used */
    /* Server: is this node still expected?  True takes its place: it is asked once
     * per accepted login, as the last thing before it is accepted, and must say
     * false from then on.  Must not call back.  Client, and names: NULL. */
    bool (*claim)(void *host, int node);
    void *host;
    enum login_purpose purpose;
    /* Is this uid trusted as the peer's?  NULL: our own only. */
    bool (*trusts)(void *host, uid_t uid);
};

/* What the caller is to do now. */
enum login_want {
    LOGIN_READ,                  /* give what arrives to login_input */
    LOGIN_ENCODE,                /* have l->ask made into a credential for l->reader, then
                                    login_munged */
    LOGIN_DECODE,                /* have l->ask, a credential, decoded, then login_munged */
    LOGIN_ACCEPTED,              /* l->node and l->keys are valid */
    LOGIN_REFUSED                /* close the connection; l->e.text says why */
};

struct login {
    struct login_conf conf;
    enum login_side   side;
    int               state;
    unsigned char     nonce[2][LOGIN_NONCE], key[2][SEAL_KEY];   /* by login_side */
    struct buf        ask;       /* owned: what munge is to be asked; wiped when answered */
    uid_t             reader;    /* who may decode our credential: the peer */
    int               node;      /* the peer's at the server, our own at the client.  -1
                                    until the peer's credential was right in everything.
                                    A server that refuses with a node here refuses a true
                                    proxy, because of its clock or of our own munge: that
                                    node cannot come, and there is no use in waiting */
    uid_t             peer;      /* when ACCEPTED: who it is */
    struct seal_keys  keys;      /* when ACCEPTED; wiped by login_clear */
    struct err        e;         /* when REFUSED.  Holds no byte that a peer chose */
};

/* random: LOGIN_RANDOM bytes of getrandom(), never used before, which are copied and
 * the caller's to wipe.  A server's first line is added to out. */
enum login_want login_start(struct login *l, enum login_side side,
                            const struct login_conf *conf, const unsigned char *random,
                            struct buf *out);

/* in: all bytes that came and were not yet used.  A line that is complete is taken
 * from it; what follows belongs to the stream after the login and stays.  While munge
 * is asked nothing is taken: the peer need not be read until it has answered. */
enum login_want login_input(struct login *l, struct buf *in);

/* What munge said to l->ask.  The bytes to send are added to out. */
enum login_want login_munged(struct login *l, const struct munge_result *r,
                             struct buf *out);

/* The connection ends before the login did: "why" ("connection closed", "no answer for
 * 10 s") is completed with what was waited for.  LOGIN_REFUSED. */
enum login_want login_end(struct login *l, const char *why);

/* Wipe and free.  Safe twice, and on a zeroed struct. */
void login_clear(struct login *l);

#endif
