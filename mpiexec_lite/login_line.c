/* login_line.c - the lines of a login: see login.h. */
#include "mpiexec_lite/login_impl.h"

#include <string.h>

#define CREDENTIAL  "MUNGE:"
#define OUR_VERSION 1L

enum {
    HELLO_LINE = 128,                    /* most bytes of a server's first line */
    HELLO_ROOM = 32 + 16 + 2 * LOGIN_NONCE      /* purpose, numbers, nonce */
};

_Static_assert((int)HELLO_ROOM <= (int)HELLO_LINE, "a line that a client takes");

const struct login_words login_purposes[] = {
    [LOGIN_PROXY] = { "mpiexec_lite-login ", "mpiexec_lite-login/1", "the launcher",
                      "mpiexec_lite" },
    [LOGIN_NAMES] = { "pmi2_server-login ", "pmi2_server-login/1", "the name server",
                      "pmi2_server" },
};

/* Does the line begin as it must, as far as it has come? */
static bool begins(const struct buf *in, const char *with)
{
    size_t n = strlen(with);

    return !memcmp(buf_bytes(in), with, in->len < n ? in->len : n);
}

long login_line_length(struct login *l, const struct buf *in, bool hello)
{
    const char *begin = hello ? login_purposes[l->conf.purpose].hello : CREDENTIAL;
    size_t max = hello ? HELLO_LINE : LOGIN_LINE;
    const char *end;

    if (!in->len)
        return 0;
    if (!begins(in, begin))
        return l->side == LOGIN_SERVER
                   ? err_set(&l->e, ERR_INVALID_VAL, "the peer sent no munge credential")
                   : err_set(&l->e, ERR_INVALID_VAL, "what answers at %s's address is no %s",
                             login_purposes[l->conf.purpose].server,
                             login_purposes[l->conf.purpose].program);
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

void login_write_hello(struct login *l, struct buf *out)
{
    buf_printf(out, "%s%ld ", login_purposes[l->conf.purpose].hello, OUR_VERSION);
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
                   login_purposes[l->conf.purpose].server);
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
                   login_purposes[l->conf.purpose].server, uid);
}

int login_read_hello(struct login *l, const char *line, const char *end)
{
    const char *at = line + strlen(login_purposes[l->conf.purpose].hello), *nonce;
    long long version = read_number(&at, end);

    if (version < 0 || at == end || *at != ' ')
        return not_understood(l);
    if (version != OUR_VERSION)
        return err_set(&l->e, ERR_INVALID_VAL, "%s logs in by version %lld, this program by "
                       "version %ld: install the same mpiexec_lite on all nodes",
                       login_purposes[l->conf.purpose].server, version, OUR_VERSION);
    nonce = at + 1;
    at = l->conf.purpose == LOGIN_NAMES ? memchr(nonce, ' ', (size_t)(end - nonce)) : end;
    if (!at || read_hex(l->nonce[LOGIN_SERVER], LOGIN_NONCE, nonce, at) < 0)
        return not_understood(l);
    if (l->conf.purpose == LOGIN_NAMES && read_owner(l, at, end) < 0)
        return -1;
    return login_make_payload(l);
}

bool login_is_credential(const char *text, size_t len)
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

int login_read_credential(struct login *l, const char *line, const char *end)
{
    if (!login_is_credential(line, (size_t)(end - line)))
        return err_set(&l->e, ERR_INVALID_VAL, "the peer sent no munge credential");
    seal_wipe_buf(&l->ask);
    buf_add(&l->ask, line, (size_t)(end - line));
    if (l->ask.failed)
        return err_set(&l->e, ERR_NOMEM, "out of memory");
    return 0;
}
